GRANT SELECT ON relationships, relationships_history, carriages, supports, support_decisions, decisions, timeline_decisions,
    transitions, cross_references, reference_decisions, review_items, review_items_history
TO corrigenda_ingest, corrigenda_conflict, corrigenda_recall;

GRANT INSERT ON supports TO corrigenda_ingest;
-- A decision of an owner is written by the service that took it.
GRANT INSERT ON relationships, carriages, support_decisions, decisions, timeline_decisions, transitions,
    cross_references, reference_decisions, review_items TO corrigenda_ingest, corrigenda_conflict;
GRANT UPDATE (version, facet, status, tier, valid_from, valid_to, valid_from_basis, valid_to_basis, record,
    slot_exclusive, revision, recorded_at) ON relationships TO corrigenda_ingest, corrigenda_conflict;
GRANT UPDATE (version, status, reason, statement_id, incoming, opposing, details, decision_id, revision, recorded_at)
ON review_items TO corrigenda_ingest, corrigenda_conflict;

-- The reviewer reads what its policy reads, which is no text, and closes losing relationships.
GRANT SELECT ON relationships, relationships_history, carriages, supports, support_decisions, transitions,
    cross_references, reference_decisions TO corrigenda_reviewer;
GRANT UPDATE (status, valid_to, valid_to_basis, version, revision, recorded_at) ON relationships TO corrigenda_reviewer;
GRANT INSERT ON transitions TO corrigenda_reviewer;
GRANT SELECT (team_id, fragment_id, author_id, content_sha256, normal_sha256, source_type, claimed_authority,
    source_group, source_key, source_revision, derived_from_fragment_ids,
    inherited_labels, occurred_at, scan_verdict, revision, recorded_at) ON evidence_fragments TO corrigenda_reviewer;

GRANT SELECT ON ALL TABLES IN SCHEMA public TO corrigenda_backup, corrigenda_auditor;

REVOKE EXECUTE ON FUNCTION keep_relationships_history() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION keep_review_items_history() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION reviewer_only_closes() FROM PUBLIC;
