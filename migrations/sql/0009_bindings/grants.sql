GRANT SELECT ON observation_bindings, entity_merges TO corrigenda_ingest, corrigenda_conflict, corrigenda_recall;
GRANT INSERT ON observation_bindings, entity_merges TO corrigenda_ingest;

-- The indexer leaves quarantined text alone until an administrator has released it.
GRANT SELECT (team_id, fragment_id, kind, status, reason) ON review_items TO corrigenda_indexer;

GRANT SELECT ON ALL TABLES IN SCHEMA public TO corrigenda_backup, corrigenda_auditor;
