GRANT SELECT ON search_documents, search_refresh_intents TO corrigenda_recall, corrigenda_indexer;
GRANT INSERT ON search_refresh_intents TO corrigenda_ingest, corrigenda_reviewer;

GRANT INSERT, UPDATE (version, lexemes, embedding, embedding_space, recorded_from, recorded_to) ON search_documents
TO corrigenda_indexer;
GRANT UPDATE (consumed_at) ON search_refresh_intents TO corrigenda_indexer;

GRANT SELECT ON ALL TABLES IN SCHEMA public TO corrigenda_backup, corrigenda_auditor;

CREATE POLICY definer_polls ON search_refresh_intents FOR SELECT TO corrigenda_definer USING (true);
GRANT SELECT (team_id, revision, recorded_at, consumed_at) ON search_refresh_intents TO corrigenda_definer;
CREATE POLICY definer_polls ON search_documents FOR SELECT TO corrigenda_definer USING (true);
GRANT SELECT (team_id, fragment_id, embedding_space) ON search_documents TO corrigenda_definer;

-- A policy that is simply true leaves the planner free to use the text index; search_text and search_near filter by the
-- team themselves.
CREATE POLICY search_matches ON search_documents FOR SELECT TO corrigenda_search USING (true);
CREATE POLICY search_matches ON supports FOR SELECT TO corrigenda_search USING (true);
CREATE POLICY search_matches ON support_decisions FOR SELECT TO corrigenda_search USING (true);
CREATE POLICY search_matches ON carriages FOR SELECT TO corrigenda_search USING (true);
CREATE POLICY search_matches ON relationships_history FOR SELECT TO corrigenda_search USING (true);
CREATE POLICY search_matches ON case_members FOR SELECT TO corrigenda_search USING (true);
CREATE POLICY search_matches ON case_members_history FOR SELECT TO corrigenda_search USING (true);
CREATE POLICY search_matches ON conflict_cases_history FOR SELECT TO corrigenda_search USING (true);
GRANT SELECT (team_id, fragment_id, lexemes, embedding, embedding_space, recorded_from, recorded_to)
ON search_documents TO corrigenda_search;
CREATE POLICY search_matches ON entity_names FOR SELECT TO corrigenda_search USING (true);
GRANT SELECT (team_id, entity_id, normal_name, given_by, is_primary, is_confirmed, recorded_at)
ON entity_names TO corrigenda_search;
GRANT SELECT (team_id, support_id, statement_id, fragment_id, recorded_at) ON supports TO corrigenda_search;
GRANT SELECT (team_id, support_id, kind, authority, revision, recorded_at) ON support_decisions TO corrigenda_search;
GRANT SELECT (team_id, statement_id, relationship_id, revision, recorded_at) ON carriages TO corrigenda_search;
GRANT SELECT (
    team_id, relationship_id, version, owner_id, subject_id, object_entity_id, polarity, status, tier, valid_from, valid_to,
    valid_from_basis, recorded_from
)
ON relationships_history TO corrigenda_search;
GRANT SELECT (team_id, conflict_id, position_id, relationship_id) ON case_members TO corrigenda_search;
GRANT SELECT (team_id, conflict_id, position_id, relationship_id, version, present, recorded_from)
ON case_members_history TO corrigenda_search;
GRANT SELECT (team_id, conflict_id, status, preferred_position_id, effective_at, revision, recorded_from)
ON conflict_cases_history TO corrigenda_search;

REVOKE EXECUTE ON FUNCTION keep_document_forward() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION team_lexemes(uuid, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION team_lexemes(uuid, text[]) TO corrigenda_indexer, corrigenda_search;
REVOKE EXECUTE ON FUNCTION edges_of_fragment(uuid, uuid, timestamptz, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION edges_of_fragment(uuid, uuid, timestamptz, timestamptz)
TO corrigenda_recall, corrigenda_search;

REVOKE EXECUTE ON FUNCTION is_large_team(uuid, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION is_large_team(uuid, timestamptz) TO corrigenda_search;
REVOKE EXECUTE ON FUNCTION at_least(text[], integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION at_least(text[], integer) TO corrigenda_search;
REVOKE EXECUTE ON FUNCTION stale_teams(integer) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION search_text(text[], timestamptz, timestamptz, integer, boolean) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION search_names(text, uuid, timestamptz) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION search_near(halfvec, text, timestamptz, timestamptz, integer, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION stale_teams(integer) TO corrigenda_indexer;
REVOKE EXECUTE ON FUNCTION teams_in_other_spaces(text, boolean, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION teams_in_other_spaces(text, boolean, integer) TO corrigenda_indexer;
REVOKE EXECUTE ON FUNCTION sample_document(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sample_document(text) TO corrigenda_indexer, corrigenda_recall;
GRANT EXECUTE ON FUNCTION search_text(text[], timestamptz, timestamptz, integer, boolean) TO corrigenda_recall;
GRANT EXECUTE ON FUNCTION search_names(text, uuid, timestamptz) TO corrigenda_recall;
GRANT EXECUTE ON FUNCTION search_near(halfvec, text, timestamptz, timestamptz, integer, boolean) TO corrigenda_recall;
GRANT CREATE ON SCHEMA public TO corrigenda_definer, corrigenda_search;
ALTER FUNCTION stale_teams(integer) OWNER TO corrigenda_definer;
ALTER FUNCTION teams_in_other_spaces(text, boolean, integer) OWNER TO corrigenda_definer;
ALTER FUNCTION sample_document(text) OWNER TO corrigenda_definer;
ALTER FUNCTION search_text(text[], timestamptz, timestamptz, integer, boolean) OWNER TO corrigenda_search;
ALTER FUNCTION search_names(text, uuid, timestamptz) OWNER TO corrigenda_search;
ALTER FUNCTION search_near(halfvec, text, timestamptz, timestamptz, integer, boolean) OWNER TO corrigenda_search;
REVOKE CREATE ON SCHEMA public FROM corrigenda_definer, corrigenda_search;
