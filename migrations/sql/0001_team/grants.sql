-- Who may do what. Roles get the columns that their process writes and nothing else; nobody gets DELETE or TRUNCATE.

GRANT USAGE ON SCHEMA public TO corrigenda_ingest, corrigenda_conflict, corrigenda_reviewer, corrigenda_recall,
    corrigenda_indexer, corrigenda_definer, corrigenda_search, corrigenda_backup, corrigenda_auditor;

GRANT SELECT ON teams, team_clock TO corrigenda_ingest, corrigenda_conflict, corrigenda_reviewer, corrigenda_recall,
    corrigenda_indexer;
GRANT SELECT ON profiles TO corrigenda_ingest, corrigenda_conflict, corrigenda_recall;
GRANT SELECT ON ledger TO corrigenda_ingest, corrigenda_conflict, corrigenda_reviewer, corrigenda_recall;
GRANT INSERT ON ledger TO corrigenda_ingest, corrigenda_conflict, corrigenda_reviewer;
GRANT UPDATE (revision, closed_at, ledger_head) ON team_clock
TO corrigenda_ingest, corrigenda_conflict, corrigenda_reviewer;
GRANT SELECT, INSERT ON idempotency_records TO corrigenda_ingest, corrigenda_conflict;

-- The admin service is served by ingest; teams themselves are made by the migrator.
GRANT UPDATE (name, review_period_days, review_start_minute, time_zone, trusts_declared_groups, clock_mode, driven_now,
    version, opened_at, revision, recorded_at) ON teams TO corrigenda_ingest;
GRANT INSERT, UPDATE (name, revision, recorded_at) ON profiles TO corrigenda_ingest;
GRANT SELECT, INSERT, UPDATE (expires_at, revoked_at, revision, recorded_at) ON api_keys TO corrigenda_ingest;

GRANT SELECT, INSERT ON ingests, evidence_fragments TO corrigenda_ingest;
GRANT SELECT ON evidence_fragments TO corrigenda_conflict, corrigenda_recall, corrigenda_indexer;

GRANT SELECT ON ALL TABLES IN SCHEMA public TO corrigenda_backup, corrigenda_auditor;
-- Every service checks at its start that the schema is the one it was built for.
GRANT SELECT ON alembic_version TO corrigenda_ingest, corrigenda_conflict, corrigenda_reviewer, corrigenda_recall,
    corrigenda_indexer;

-- The owners of the definer functions see every team, in the tables and columns that their functions read.
CREATE POLICY definer_authenticates ON api_keys FOR SELECT TO corrigenda_definer USING (true);
GRANT SELECT (team_id, profile_id, key_id, key_hash, scopes, expires_at, revoked_at) ON api_keys TO corrigenda_definer;
GRANT SELECT (team_id, clock_mode, driven_now) ON teams TO corrigenda_definer;
GRANT SELECT (team_id, closed_at), UPDATE (closed_at) ON team_clock TO corrigenda_definer;

-- Whoever may execute a trigger function can hang it on a table of their own, history triggers included.
REVOKE EXECUTE ON FUNCTION refuse_change() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION keep_clock_forward() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION keep_driven_clock() FROM PUBLIC;

REVOKE EXECUTE ON FUNCTION authenticate(uuid, bytea) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION close_instant(timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION authenticate(uuid, bytea) TO corrigenda_ingest, corrigenda_conflict, corrigenda_recall;
GRANT EXECUTE ON FUNCTION close_instant(timestamptz) TO corrigenda_ingest, corrigenda_conflict, corrigenda_recall;

-- Last, because the migrator may not touch what it has given away.
GRANT CREATE ON SCHEMA public TO corrigenda_definer;
ALTER FUNCTION authenticate(uuid, bytea) OWNER TO corrigenda_definer;
ALTER FUNCTION close_instant(timestamptz) OWNER TO corrigenda_definer;
REVOKE CREATE ON SCHEMA public FROM corrigenda_definer;
