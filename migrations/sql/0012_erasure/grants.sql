-- The eraser's role sees and writes the texts of the tables below and nothing else, in the transaction's team: it serves no
-- traffic and owns one function.

GRANT USAGE ON SCHEMA public TO corrigenda_eraser;
GRANT SELECT ON erasures, erased_texts TO corrigenda_eraser;
-- The digests of erased texts are for the auditor: whoever writes them does not read them.
GRANT INSERT ON erasures, erased_texts TO corrigenda_ingest;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO corrigenda_backup, corrigenda_auditor;

GRANT SELECT (team_id, ingest_id, result), UPDATE (result) ON ingests TO corrigenda_eraser;
GRANT SELECT (team_id, profile_id, idempotency_key, response),
    UPDATE (response)
ON idempotency_records TO corrigenda_eraser;
GRANT SELECT (team_id, fragment_id, content, content_sha256, normal_sha256, metadata, erasure_id, recorded_at),
    UPDATE (content, content_sha256, normal_sha256, metadata, erasure_id)
ON evidence_fragments TO corrigenda_eraser;
GRANT SELECT (team_id, occurrence_id, metadata), UPDATE (metadata) ON evidence_occurrences TO corrigenda_eraser;
GRANT SELECT (team_id, entity_id, normal_name, given_by, name),
    UPDATE (normal_name, name)
ON entity_names TO corrigenda_eraser;
GRANT SELECT (team_id, entity_id, context_key, context_value),
    UPDATE (context_value)
ON entity_contexts TO corrigenda_eraser;
GRANT SELECT (team_id, observation_id, proposal_id, subject_ref, subject_phrase, predicate_phrase, object_ref, object_phrase, mentions, value_canonical, value_display, scope, comment),
    UPDATE (proposal_id, subject_ref, subject_phrase, predicate_phrase, object_ref, object_phrase, mentions, value_canonical, value_display, scope, comment)
ON observations TO corrigenda_eraser;
GRANT SELECT (team_id, verification_id, reason), UPDATE (reason) ON verification_events TO corrigenda_eraser;
GRANT SELECT (team_id, statement_id, revision, scope, value_canonical, value_display, object_key),
    UPDATE (scope, value_canonical, value_display, object_key)
ON statements TO corrigenda_eraser;
GRANT SELECT (team_id, relationship_id, scope, value_canonical, value_display, object_key),
    UPDATE (scope, value_canonical, value_display, object_key)
ON relationships TO corrigenda_eraser;
GRANT SELECT (team_id, relationship_id, version, scope, value_canonical, value_display, object_key),
    UPDATE (scope, value_canonical, value_display, object_key)
ON relationships_history TO corrigenda_eraser;
GRANT SELECT (team_id, decision_id, reason, details), UPDATE (reason, details) ON decisions TO corrigenda_eraser;
GRANT SELECT (team_id, decision_id, entry, closing_object_key),
    UPDATE (closing_object_key)
ON timeline_decisions TO corrigenda_eraser;
GRANT SELECT (team_id, transition_id, closing_object_key),
    UPDATE (closing_object_key)
ON transitions TO corrigenda_eraser;
GRANT SELECT (team_id, item_id, scope, details), UPDATE (scope, details) ON review_items TO corrigenda_eraser;
GRANT SELECT (team_id, item_id, version, scope, details),
    UPDATE (scope, details)
ON review_items_history TO corrigenda_eraser;
GRANT SELECT (team_id, conflict_id, scope, object_key),
    UPDATE (scope, object_key)
ON conflict_cases TO corrigenda_eraser;
GRANT SELECT (team_id, conflict_id, revision, scope, object_key),
    UPDATE (scope, object_key)
ON conflict_cases_history TO corrigenda_eraser;
GRANT SELECT (team_id, conflict_id, position_id, position_key),
    UPDATE (position_key)
ON case_positions TO corrigenda_eraser;
GRANT SELECT (team_id, conflict_id, position_id, version, position_key),
    UPDATE (position_key)
ON case_positions_history TO corrigenda_eraser;
GRANT SELECT (team_id, evaluation_id, snapshot, decision),
    UPDATE (snapshot, decision)
ON case_evaluations TO corrigenda_eraser;
GRANT INSERT, SELECT (team_id, fragment_id, version), UPDATE (version, lexemes, embedding, embedding_space)
ON search_documents TO corrigenda_eraser;
GRANT DELETE, SELECT (team_id, fragment_id) ON text_bands TO corrigenda_eraser;

REVOKE EXECUTE ON FUNCTION refuse_all_but_erasure() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION is_recorded_erasure(text, text[], jsonb, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION is_recorded_erasure(text, text[], jsonb, jsonb) TO corrigenda_eraser;
REVOKE EXECUTE ON FUNCTION erase_texts(uuid, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION erase_texts(uuid, bigint) TO corrigenda_ingest;
GRANT CREATE ON SCHEMA public TO corrigenda_eraser;
ALTER FUNCTION erase_texts(uuid, bigint) OWNER TO corrigenda_eraser;
REVOKE CREATE ON SCHEMA public FROM corrigenda_eraser;
