GRANT SELECT ON conflict_cases, conflict_cases_history, case_positions, case_positions_history, case_members,
    case_members_history, case_events, case_evaluations, case_lease
TO corrigenda_ingest, corrigenda_conflict, corrigenda_reviewer, corrigenda_recall;
GRANT SELECT ON review_runs TO corrigenda_conflict, corrigenda_reviewer;
GRANT SELECT ON review_reservations TO corrigenda_reviewer;
GRANT SELECT ON alerts TO corrigenda_ingest, corrigenda_conflict, corrigenda_reviewer;

-- A placement or a decision opens and refreshes cases; it may not write a column that says how one ended.
GRANT INSERT ON conflict_cases, case_positions, case_members, case_events, case_lease
TO corrigenda_ingest, corrigenda_conflict;
GRANT UPDATE (version, revision, recorded_at) ON conflict_cases TO corrigenda_ingest, corrigenda_conflict;
GRANT UPDATE (next_review_at, claim_token, lease_expires_at, attempts, attempts_date) ON case_lease
TO corrigenda_ingest, corrigenda_conflict;

GRANT UPDATE (version, present, counted_groups, authoritative_groups, support_digest, last_seen_at, revision,
    recorded_at) ON case_positions TO corrigenda_ingest, corrigenda_conflict, corrigenda_reviewer;
GRANT UPDATE (version, relationship_version, present, revision, recorded_at) ON case_members
TO corrigenda_ingest, corrigenda_conflict, corrigenda_reviewer;

-- Only the reviewer closes a case.
GRANT UPDATE (status, version, resolved_at, dismissed_at, effective_at, effective_time_basis, preferred_position_id,
    resolution_reason, policy_version, revision, recorded_at) ON conflict_cases TO corrigenda_reviewer;
GRANT INSERT ON case_events, case_evaluations, review_runs, review_reservations, alerts TO corrigenda_reviewer;
GRANT UPDATE (next_review_at, claim_token, lease_expires_at, attempts, attempts_date, last_evaluated_at) ON case_lease
TO corrigenda_reviewer;
GRANT UPDATE (status, claim_token, lease_expires_at, started_at, finished_at, examined_cases, resolved_cases,
    dismissed_cases, marked_overdue_cases, kept_cases, left_cases, failed_cases) ON review_runs TO corrigenda_reviewer;

-- ReviewNow queues a run.
GRANT INSERT ON review_runs TO corrigenda_conflict;

GRANT SELECT ON ALL TABLES IN SCHEMA public TO corrigenda_backup, corrigenda_auditor;

CREATE POLICY definer_polls ON teams FOR SELECT TO corrigenda_definer USING (true);
CREATE POLICY definer_polls ON team_clock FOR SELECT TO corrigenda_definer USING (true);
CREATE POLICY definer_polls ON case_lease FOR SELECT TO corrigenda_definer USING (true);
CREATE POLICY definer_polls ON review_runs FOR SELECT TO corrigenda_definer USING (true);
CREATE POLICY definer_polls ON conflict_cases FOR SELECT TO corrigenda_definer USING (true);
GRANT SELECT (team_id, next_review_at, lease_expires_at, on_driven_clock) ON case_lease TO corrigenda_definer;
GRANT SELECT (team_id, status, opened_at) ON conflict_cases TO corrigenda_definer;
GRANT SELECT (team_id, status, requested_at, lease_expires_at) ON review_runs TO corrigenda_definer;

REVOKE EXECUTE ON FUNCTION keep_conflict_cases_history() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION keep_case_positions_history() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION keep_case_members_history() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION keep_case_lifecycle() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION keep_claim_forward() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION keep_lease_clock() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION move_leases_to_real_time() FROM PUBLIC;

REVOKE EXECUTE ON FUNCTION due_teams(integer) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION review_gauges() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION due_teams(integer), review_gauges() TO corrigenda_reviewer;
GRANT CREATE ON SCHEMA public TO corrigenda_definer;
ALTER FUNCTION due_teams(integer) OWNER TO corrigenda_definer;
ALTER FUNCTION review_gauges() OWNER TO corrigenda_definer;
REVOKE CREATE ON SCHEMA public FROM corrigenda_definer;
