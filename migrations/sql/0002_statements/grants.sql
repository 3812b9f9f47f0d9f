GRANT SELECT ON predicates, predicates_history, predicate_aliases, entities, entity_names, entity_contexts
TO corrigenda_ingest, corrigenda_conflict, corrigenda_recall;
GRANT SELECT ON observations, verification_events, statements
TO corrigenda_ingest, corrigenda_conflict, corrigenda_recall;
GRANT SELECT ON evidence_occurrences TO corrigenda_ingest, corrigenda_recall;

GRANT INSERT ON predicates, predicate_aliases, entities, entity_names, entity_contexts, evidence_occurrences,
    observations, verification_events, statements TO corrigenda_ingest;
GRANT UPDATE (version, aliases, subject_kinds, object_kinds, value_types, unit, relationship_kind,
    current_cardinality, supersession_basis, same_moment_policy, start_granularity, pii_class, review_after_days,
    lifecycle, revision, recorded_at) ON predicates TO corrigenda_ingest;
GRANT UPDATE (predicate, active, revision, recorded_at) ON predicate_aliases TO corrigenda_ingest;

GRANT SELECT ON ALL TABLES IN SCHEMA public TO corrigenda_backup, corrigenda_auditor;

REVOKE EXECUTE ON FUNCTION guard_history() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION keep_predicates_history() FROM PUBLIC;
