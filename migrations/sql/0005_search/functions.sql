CREATE FUNCTION team_lexemes(p_team_id uuid, p_terms text[]) RETURNS tsvector
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    -- The last twelve digits of a UUIDv7 are random: a posting list of the index holds one team's documents only.
    SELECT array_to_tsvector(ARRAY(SELECT right(p_team_id::text, 12) || '/' || term FROM unnest(p_terms) AS term))
$$;

COMMENT ON FUNCTION team_lexemes(uuid, text[]) IS 'The terms of a text as search_documents.lexemes holds them.';

CREATE FUNCTION keep_document_forward() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.version < OLD.version THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ZC003',
            MESSAGE = 'an older search document never replaces a newer one',
            TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END
$$;

COMMENT ON FUNCTION keep_document_forward() IS 'Trigger of search_documents: the version only rises.';

CREATE TRIGGER search_documents_forward BEFORE UPDATE ON search_documents
FOR EACH ROW EXECUTE FUNCTION keep_document_forward();

CREATE FUNCTION edges_of_fragment(
    p_team_id uuid, p_fragment_id uuid, p_valid_at timestamptz, p_known_at timestamptz
)
RETURNS TABLE (support_id uuid, relationship_id uuid)
LANGUAGE sql STABLE AS $$
    -- No search path of its own and nothing but one SELECT: the planner writes it into the query that asks. The version
    -- that a view knows is the last one that began by then, since versions leave no gap; asked for in this way it comes
    -- from the primary key whatever the statistics say.
    SELECT s.support_id, h.relationship_id
    FROM public.supports AS s
    CROSS JOIN LATERAL (
        SELECT c.relationship_id
        FROM public.carriages AS c
        WHERE c.team_id = p_team_id AND c.statement_id = s.statement_id AND c.recorded_at <= p_known_at
        ORDER BY c.revision DESC
        LIMIT 1
    ) AS carried
    CROSS JOIN LATERAL (
        SELECT v.relationship_id, v.status, v.valid_from, v.valid_to, v.valid_from_basis
        FROM public.relationships_history AS v
        WHERE v.team_id = p_team_id
            AND v.relationship_id = carried.relationship_id
            AND v.recorded_from <= p_known_at
        ORDER BY v.version DESC
        LIMIT 1
    ) AS h
    WHERE s.team_id = p_team_id
        AND s.fragment_id = p_fragment_id
        AND s.recorded_at <= p_known_at
        AND h.status IN ('active', 'competing', 'superseded')
        AND h.valid_from <= p_valid_at
        AND h.valid_to > p_valid_at
        AND (
            SELECT x.kind
            FROM public.support_decisions AS x
            WHERE x.team_id = p_team_id AND x.support_id = s.support_id AND x.recorded_at <= p_known_at
            ORDER BY x.revision DESC
            LIMIT 1
        ) IN ('grant', 'reinstate')
        -- The winner of a case counts as starting at the cutoff, unless it has a start of its own.
        AND (
            h.valid_from_basis IN ('evidence_time', 'stated_time', 'observed_time')
            OR coalesce(
                (
                    SELECT min(k.effective_at)
                    FROM public.case_members AS m
                    CROSS JOIN LATERAL (
                        SELECT v.present
                        FROM public.case_members_history AS v
                        WHERE v.team_id = p_team_id
                            AND v.conflict_id = m.conflict_id
                            AND v.position_id = m.position_id
                            AND v.relationship_id = m.relationship_id
                            AND v.recorded_from <= p_known_at
                        ORDER BY v.version DESC
                        LIMIT 1
                    ) AS member
                    CROSS JOIN LATERAL (
                        SELECT v.status, v.effective_at, v.preferred_position_id
                        FROM public.conflict_cases_history AS v
                        WHERE v.team_id = p_team_id
                            AND v.conflict_id = m.conflict_id
                            AND v.recorded_from <= p_known_at
                        ORDER BY v.revision DESC
                        LIMIT 1
                    ) AS k
                    WHERE m.team_id = p_team_id
                        AND m.relationship_id = h.relationship_id
                        AND member.present
                        AND k.status = 'resolved'
                        AND k.preferred_position_id = m.position_id
                ),
                '-infinity'
            ) <= p_valid_at
        )
$$;

COMMENT ON FUNCTION edges_of_fragment(uuid, uuid, timestamptz, timestamptz) IS
'What makes a fragment eligible in a view: its effective supports whose relationship is in force then.';

CREATE FUNCTION search_text(p_terms text[], p_valid_at timestamptz, p_known_at timestamptz, p_limit integer)
RETURNS TABLE (fragment_id uuid, score real)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    v_team_id uuid := nullif(current_setting('app.team_id', true), '')::uuid;
    v_query tsquery;
BEGIN
    -- A lexeme in quotes is text, whatever it holds, once its own quotes and backslashes are doubled.
    SELECT string_agg('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''', ' | ')::tsquery
    INTO v_query
    FROM unnest(team_lexemes(v_team_id, p_terms));
    IF v_query IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY
    -- OFFSET 0 keeps the planner from taking the two halves apart: rank first, then ask the best ones for eligibility
    -- until enough have it. What is not in force never takes a place of what is.
    SELECT ranked.fragment_id, ranked.score
    FROM (
        SELECT d.fragment_id, ts_rank(d.lexemes, v_query) AS score, d.recorded_from
        FROM search_documents AS d
        WHERE d.lexemes @@ v_query
            AND d.team_id = v_team_id
            AND d.recorded_from <= p_known_at
            AND d.recorded_to > p_known_at
        ORDER BY score DESC, d.recorded_from DESC, d.fragment_id
        OFFSET 0
    ) AS ranked
    WHERE EXISTS (
        SELECT 1 FROM edges_of_fragment(v_team_id, ranked.fragment_id, p_valid_at, p_known_at) OFFSET 0
    )
    ORDER BY ranked.score DESC, ranked.recorded_from DESC, ranked.fragment_id
    LIMIT p_limit;
END
$$;

COMMENT ON FUNCTION search_text(text[], timestamptz, timestamptz, integer) IS
'Lexical branch of recall in the transaction''s team: eligible fragments for any of the terms, the best ones first.';

CREATE FUNCTION stale_teams(p_limit integer) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT t.team_id
    FROM public.teams AS t
    CROSS JOIN LATERAL (
        SELECT i.recorded_at
        FROM public.search_refresh_intents AS i
        WHERE i.team_id = t.team_id AND i.consumed_at = 'infinity'
        ORDER BY i.revision
        LIMIT 1
    ) AS oldest
    ORDER BY oldest.recorded_at, t.team_id
    LIMIT p_limit
$$;

COMMENT ON FUNCTION stale_teams(integer) IS 'Teams whose search documents are behind, the longest waiting first.';

CREATE FUNCTION teams_in_other_spaces(p_space text, p_unembedded boolean, p_limit integer) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    -- Less and greater, each from the index: "another one" would read every document of every team.
    SELECT t.team_id
    FROM public.teams AS t
    WHERE EXISTS (
            SELECT 1 FROM public.search_documents AS d
            WHERE d.team_id = t.team_id AND d.embedding_space < p_space
        )
        OR EXISTS (
            SELECT 1 FROM public.search_documents AS d
            WHERE d.team_id = t.team_id AND d.embedding_space > p_space
        )
        OR (
            p_unembedded
            AND EXISTS (
                SELECT 1 FROM public.search_documents AS d
                WHERE d.team_id = t.team_id AND d.embedding_space IS NULL
            )
        )
    ORDER BY t.team_id
    LIMIT p_limit
$$;

COMMENT ON FUNCTION teams_in_other_spaces(text, boolean, integer) IS
'Teams with documents that are embedded in another space, or not at all if that is asked.';

CREATE FUNCTION sample_document(p_space text) RETURNS TABLE (team_id uuid, fragment_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT t.team_id, d.fragment_id
    FROM public.teams AS t
    CROSS JOIN LATERAL (
        SELECT x.fragment_id
        FROM public.search_documents AS x
        WHERE x.team_id = t.team_id AND x.embedding_space = p_space
        LIMIT 1
    ) AS d
    LIMIT 1
$$;

COMMENT ON FUNCTION sample_document(text) IS 'Any one document of a space, whose text may be embedded anew to compare.';
