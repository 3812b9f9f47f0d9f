-- The notifier reads what it tells, which is no text of anybody's, and keeps how far it has told it.
GRANT USAGE ON SCHEMA public TO corrigenda_notifier;
GRANT SELECT ON alembic_version TO corrigenda_notifier;
GRANT SELECT (team_id, revision, closed_at) ON team_clock TO corrigenda_notifier;
GRANT SELECT (team_id, driven_now) ON teams TO corrigenda_notifier;
GRANT SELECT (team_id, event_id, conflict_id, action, resulting_status, version, revision, recorded_at) ON case_events
TO corrigenda_notifier;
GRANT SELECT (team_id, conflict_id, kind) ON conflict_cases TO corrigenda_notifier;
GRANT SELECT (team_id, item_id, version, kind, owner_id, revision, recorded_from) ON review_items_history
TO corrigenda_notifier;
GRANT SELECT, INSERT, UPDATE (after_revision, after_id, status, attempts, next_attempt_at, lease_expires_at,
    delivered_at, claim_token, problem) ON webhook_cursors TO corrigenda_notifier;
GRANT INSERT ON alerts TO corrigenda_notifier;

GRANT SELECT ON webhook_cursors TO corrigenda_backup, corrigenda_auditor;

REVOKE EXECUTE ON FUNCTION keep_webhook_cursor_forward() FROM PUBLIC;
