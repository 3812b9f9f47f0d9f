GRANT SELECT ON sources, sources_history, source_states, source_states_history, fragment_retirements
TO corrigenda_ingest, corrigenda_conflict, corrigenda_recall;

GRANT INSERT ON sources, source_states, fragment_retirements TO corrigenda_ingest;
GRANT UPDATE (version, speakers, authoritative_for_all, authoritative_for, record, lifecycle, revision, recorded_at)
ON sources TO corrigenda_ingest;
GRANT UPDATE (version, current_revision, prior_revision, revision, recorded_at) ON source_states TO corrigenda_ingest;

GRANT SELECT ON ALL TABLES IN SCHEMA public TO corrigenda_backup, corrigenda_auditor;

REVOKE EXECUTE ON FUNCTION keep_sources_history() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION keep_source_states_history() FROM PUBLIC;
