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
RETURNS TABLE (support_id uuid, relationship_id uuid, outline text)
LANGUAGE sql STABLE AS $$
    -- No search path of its own and nothing but one SELECT: the planner writes it into the query that asks. The version
    -- that a view knows is the last one that began by then, since versions leave no gap; asked for in this way it comes
    -- from the primary key whatever the statistics say.
    SELECT s.support_id, h.relationship_id,
        concat(
            h.relationship_id, ' ', h.owner_id, ' ', h.subject_id, ' ', h.object_entity_id, ' ',
            h.status, ' ', h.tier, ' ', h.polarity, ' ', decided.authority
        )
    FROM public.supports AS s
    CROSS JOIN LATERAL (
        SELECT c.relationship_id
        FROM public.carriages AS c
        WHERE c.team_id = p_team_id AND c.statement_id = s.statement_id AND c.recorded_at <= p_known_at
        ORDER BY c.revision DESC
        LIMIT 1
    ) AS carried
    CROSS JOIN LATERAL (
        SELECT v.relationship_id, v.owner_id, v.subject_id, v.object_entity_id, v.status, v.tier, v.polarity,
            v.valid_from, v.valid_to, v.valid_from_basis
        FROM public.relationships_history AS v
        WHERE v.team_id = p_team_id
            AND v.relationship_id = carried.relationship_id
            AND v.recorded_from <= p_known_at
        ORDER BY v.version DESC
        LIMIT 1
    ) AS h
    CROSS JOIN LATERAL (
        SELECT x.kind, x.authority
        FROM public.support_decisions AS x
        WHERE x.team_id = p_team_id AND x.support_id = s.support_id AND x.recorded_at <= p_known_at
        ORDER BY x.revision DESC
        LIMIT 1
    ) AS decided
    WHERE s.team_id = p_team_id
        AND s.fragment_id = p_fragment_id
        AND s.recorded_at <= p_known_at
        AND h.status IN ('active', 'competing', 'superseded')
        AND h.valid_from <= p_valid_at
        AND h.valid_to > p_valid_at
        AND decided.kind IN ('grant', 'reinstate')
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
'What makes a fragment eligible in a view: its effective supports whose relationship is in force then. The outline has
what ranks a fragment, and whose names go with it.';

CREATE FUNCTION is_large_team(p_team_id uuid, p_known_at timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        -- Up to here looking at every document costs less than choosing among them does.
        SELECT EXISTS (
            SELECT 1 FROM public.search_documents AS d
            WHERE d.team_id = p_team_id AND d.recorded_from <= p_known_at
            OFFSET 8000
        )
    );
END
$$;

COMMENT ON FUNCTION is_large_team(uuid, timestamptz) IS
'Whether a view knows more than 8,000 documents: the same answer whatever is recorded later.';

CREATE FUNCTION at_least(p_lexemes text[], p_least integer) RETURNS tsquery
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    -- A lexeme in quotes is text, whatever it holds, once its own quotes and backslashes are doubled.
    WITH RECURSIVE quoted AS (
        SELECT l.place, '''' || replace(replace(l.lexeme, '\', '\\'), '''', '''''') || '''' AS lexeme
        FROM unnest(p_lexemes) WITH ORDINALITY AS l (lexeme, place)
    ),
    chosen AS (
        SELECT q.place, 1 AS size, q.lexeme AS together FROM quoted AS q
        UNION ALL
        SELECT q.place, c.size + 1, c.together || ' & ' || q.lexeme
        FROM chosen AS c
        JOIN quoted AS q ON q.place > c.place
        WHERE c.size < p_least
    )
    SELECT string_agg('(' || c.together || ')', ' | ')::tsquery FROM chosen AS c WHERE c.size = p_least
$$;

COMMENT ON FUNCTION at_least(text[], integer) IS
'The query for documents with at least so many of the lexemes; null if there are not so many.';

CREATE FUNCTION search_text(
    p_terms text[], p_valid_at timestamptz, p_known_at timestamptz, p_limit integer, p_is_large boolean DEFAULT NULL
)
RETURNS TABLE (fragment_id uuid, place bigint, outlines text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    c_sample CONSTANT integer := 500;
    -- More of the sample have a frequent word: more than one document in a hundred.
    c_frequent CONSTANT integer := 5;
    v_team_id uuid := nullif(current_setting('app.team_id', true), '')::uuid;
    v_lexemes text[] := tsvector_to_array(team_lexemes(v_team_id, p_terms));
    v_telling tsquery := at_least(v_lexemes, 1);
    v_frequent text[] := '{}';
    v_any tsquery;
    v_combined text[];
    v_size integer := 1;
    v_before tsquery;
    v_now tsquery;
    v_sample tsvector[];
    v_found uuid[];
    v_outlines text[];
    v_more uuid[];
    v_more_outlines text[];
BEGIN
    IF v_telling IS NULL THEN
        RETURN;
    END IF;
    -- In a large team the words that many documents have do not lead: they order what the telling words find.
    IF coalesce(p_is_large, is_large_team(v_team_id, p_known_at)) THEN
        v_sample := ARRAY(
            SELECT d.lexemes
            FROM search_documents AS d
            WHERE d.team_id = v_team_id AND d.recorded_from <= p_known_at AND d.recorded_to > p_known_at
            ORDER BY uuid_hash_extended(d.fragment_id, 0)
            LIMIT c_sample
        );
        -- Materialized, or the sample would be matched once for the filter and once more for the order.
        v_frequent := ARRAY(
            WITH counted AS MATERIALIZED (
                SELECT q.lexeme, (SELECT count(*) FROM unnest(v_sample) AS s WHERE s @@ q.query) AS documents
                FROM (SELECT l, at_least(ARRAY[l], 1) FROM unnest(v_lexemes) AS l OFFSET 0) AS q (lexeme, query)
            )
            SELECT c.lexeme FROM counted AS c WHERE c.documents > c_frequent ORDER BY c.documents, c.lexeme
        );
        v_telling := at_least(ARRAY(SELECT l FROM unnest(v_lexemes) AS l WHERE l <> ALL (v_frequent)), 1);
        v_any := at_least(v_frequent, 1);
        -- The combinations of more would be too many.
        v_combined := v_frequent[1:5];
    END IF;
    -- OFFSET 0 keeps the planner from taking the halves apart: rank first, then ask the best ones for their edges until
    -- enough have any. What is not in force never takes a place of what is. Lexemes have no positions: the rank says
    -- how many of them a document has. Edges are asked for in the list of columns, since a join would have all
    -- documents sorted before the first one is asked.
    SELECT coalesce(array_agg(f.fragment_id), '{}'), coalesce(array_agg(f.outlines), '{}')
    INTO v_found, v_outlines
    FROM (
        SELECT asked.fragment_id, asked.outlines
        FROM (
            SELECT ranked.fragment_id, (
                SELECT string_agg(e.outline, ',')
                FROM edges_of_fragment(v_team_id, ranked.fragment_id, p_valid_at, p_known_at) AS e
            ) AS outlines
            FROM (
                SELECT d.fragment_id, ts_rank(d.lexemes, v_telling) AS telling, ts_rank(d.lexemes, v_any) AS frequent,
                    d.recorded_from
                FROM search_documents AS d
                WHERE d.lexemes @@ v_telling
                    AND d.team_id = v_team_id
                    AND d.recorded_from <= p_known_at
                    AND d.recorded_to > p_known_at
                ORDER BY telling DESC, frequent DESC, d.recorded_from DESC, d.fragment_id
                OFFSET 0
            ) AS ranked
            OFFSET 0
        ) AS asked
        WHERE asked.outlines IS NOT NULL
        LIMIT p_limit
    ) AS f;
    IF cardinality(v_found) = p_limit OR v_any IS NULL THEN
        RETURN QUERY
        SELECT f.fragment_id, f.place, f.outlines
        FROM unnest(v_found, v_outlines) WITH ORDINALITY AS f (fragment_id, outlines, place);
        RETURN;
    END IF;
    -- Then those that have only frequent words, but more of them together than many documents have.
    LOOP
        v_before := at_least(v_combined, v_size + 1);
        EXIT WHEN (SELECT count(*) FROM unnest(v_sample) AS s WHERE s @@ v_before) <= c_frequent;
        v_size := v_size + 1;
    END LOOP;
    SELECT array_agg(f.fragment_id), array_agg(f.outlines)
    INTO v_more, v_more_outlines
    FROM (
        SELECT asked.fragment_id, asked.outlines
        FROM (
            SELECT ranked.fragment_id, (
                SELECT string_agg(e.outline, ',')
                FROM edges_of_fragment(v_team_id, ranked.fragment_id, p_valid_at, p_known_at) AS e
            ) AS outlines
            FROM (
                SELECT d.fragment_id, ts_rank(d.lexemes, v_any) AS frequent, d.recorded_from
                FROM search_documents AS d
                WHERE d.lexemes @@ v_before
                    AND (d.lexemes @@ v_telling) IS NOT TRUE
                    AND d.team_id = v_team_id
                    AND d.recorded_from <= p_known_at
                    AND d.recorded_to > p_known_at
                ORDER BY frequent DESC, d.recorded_from DESC, d.fragment_id
                OFFSET 0
            ) AS ranked
            OFFSET 0
        ) AS asked
        WHERE asked.outlines IS NOT NULL
        LIMIT p_limit - cardinality(v_found)
    ) AS f;
    v_found := v_found || v_more;
    v_outlines := v_outlines || v_more_outlines;
    -- Of those that have as many together as many have, the latest: they are never far. Then those with one less.
    WHILE cardinality(v_found) < p_limit AND v_size >= 0 LOOP
        v_now := CASE v_size WHEN 0 THEN v_any ELSE at_least(v_combined, v_size) END;
        SELECT array_agg(f.fragment_id), array_agg(f.outlines)
        INTO v_more, v_more_outlines
        FROM (
            SELECT asked.fragment_id, asked.outlines
            FROM (
                SELECT latest.fragment_id, (
                    SELECT string_agg(e.outline, ',')
                    FROM edges_of_fragment(v_team_id, latest.fragment_id, p_valid_at, p_known_at) AS e
                ) AS outlines
                FROM (
                    SELECT d.fragment_id, d.lexemes
                    FROM search_documents AS d
                    WHERE d.team_id = v_team_id AND d.recorded_from <= p_known_at AND d.recorded_to > p_known_at
                    ORDER BY d.recorded_from DESC, d.fragment_id
                    OFFSET 0
                ) AS latest
                WHERE latest.lexemes @@ v_now
                    AND (latest.lexemes @@ v_before) IS NOT TRUE
                    AND (latest.lexemes @@ v_telling) IS NOT TRUE
                OFFSET 0
            ) AS asked
            WHERE asked.outlines IS NOT NULL
            LIMIT p_limit - cardinality(v_found)
        ) AS f;
        v_found := v_found || v_more;
        v_outlines := v_outlines || v_more_outlines;
        v_before := v_now;
        v_size := v_size - 1;
    END LOOP;
    RETURN QUERY
    SELECT f.fragment_id, f.place, f.outlines
    FROM unnest(v_found, v_outlines) WITH ORDINALITY AS f (fragment_id, outlines, place);
END
$$;

COMMENT ON FUNCTION search_text(text[], timestamptz, timestamptz, integer, boolean) IS
'Lexical branch of recall in the transaction''s team: eligible fragments for any of the terms, the best ones first.';

CREATE FUNCTION search_near(
    p_embedding halfvec, p_space text, p_valid_at timestamptz, p_known_at timestamptz, p_limit integer,
    p_is_large boolean DEFAULT NULL
)
RETURNS TABLE (fragment_id uuid, place bigint, outlines text, approximate boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
-- The index is asked for more until enough are eligible. It cannot be given a second order, so nothing is to be sorted.
SET hnsw.iterative_scan = strict_order SET hnsw.ef_search = 80 SET enable_seqscan = off SET enable_sort = off AS $$
DECLARE
    v_team_id uuid := nullif(current_setting('app.team_id', true), '')::uuid;
    v_found uuid[];
    v_outlines text[];
BEGIN
    IF coalesce(p_is_large, is_large_team(v_team_id, p_known_at)) THEN
        SELECT array_agg(f.fragment_id), array_agg(f.outlines)
        INTO v_found, v_outlines
        FROM (
            SELECT asked.fragment_id, asked.outlines
            FROM (
                SELECT d.fragment_id, (
                    SELECT string_agg(e.outline, ',')
                    FROM edges_of_fragment(v_team_id, d.fragment_id, p_valid_at, p_known_at) AS e
                ) AS outlines
                FROM search_documents AS d
                WHERE d.team_id = v_team_id
                    AND d.embedding_space = p_space
                    AND d.recorded_from <= p_known_at
                    AND d.recorded_to > p_known_at
                ORDER BY d.embedding <#> p_embedding
                OFFSET 0
            ) AS asked
            WHERE asked.outlines IS NOT NULL
            LIMIT p_limit
        ) AS f;
        IF cardinality(v_found) = p_limit THEN
            RETURN QUERY
            SELECT f.fragment_id, f.place, f.outlines, true
            FROM unnest(v_found, v_outlines) WITH ORDINALITY AS f (fragment_id, outlines, place);
            RETURN;
        END IF;
    END IF;
    -- A small team, or an index that gave up before it had found enough: every document is looked at.
    RETURN QUERY
    SELECT asked.fragment_id, row_number() OVER (), asked.outlines, false
    FROM (
        SELECT ranked.fragment_id, (
            SELECT string_agg(e.outline, ',')
            FROM edges_of_fragment(v_team_id, ranked.fragment_id, p_valid_at, p_known_at) AS e
        ) AS outlines
        FROM (
            SELECT d.fragment_id, (d.embedding <#> p_embedding) + 0 AS distance, d.recorded_from
            FROM search_documents AS d
            WHERE d.team_id = v_team_id
                AND d.embedding_space = p_space
                AND d.recorded_from <= p_known_at
                AND d.recorded_to > p_known_at
            -- The sum keeps the vector index, which may leave some out, from serving this order.
            ORDER BY distance, d.recorded_from DESC, d.fragment_id
            OFFSET 0
        ) AS ranked
        OFFSET 0
    ) AS asked
    WHERE asked.outlines IS NOT NULL
    LIMIT p_limit;
END
$$;

COMMENT ON FUNCTION search_near(halfvec, text, timestamptz, timestamptz, integer, boolean) IS
'Vector branch of recall in the transaction''s team: eligible fragments by the nearness of their embedding, in one space.';

CREATE FUNCTION search_names(p_text text, p_reader_id uuid, p_known_at timestamptz)
RETURNS TABLE (entity_id uuid, place integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    v_team_id uuid := nullif(current_setting('app.team_id', true), '')::uuid;
    -- Whatever stands for itself in a pattern and for others too, after a backslash; 37 is the percent sign.
    v_pattern text := chr(37) || regexp_replace(p_text, '([\\_' || chr(37) || '])', '\\\1', 'g') || chr(37);
    -- The index knows three letters in a row; without them it would read the names of every team.
    v_has_letters boolean := p_text ~ '[a-z0-9]{3}';
BEGIN
    RETURN QUERY
    SELECT n.entity_id,
        min(
            CASE
                WHEN n.normal_name = p_text THEN 0
                WHEN starts_with(n.normal_name, p_text) THEN 1
                WHEN strpos(n.normal_name, ' ' || p_text) > 0 THEN 2
                ELSE 3
            END
        )
    FROM (
        SELECT i.entity_id, i.normal_name, i.given_by, i.is_primary, i.is_confirmed, i.recorded_at
        FROM entity_names AS i
        WHERE v_has_letters AND i.normal_name LIKE v_pattern AND i.team_id = v_team_id
        UNION ALL
        SELECT t.entity_id, t.normal_name, t.given_by, t.is_primary, t.is_confirmed, t.recorded_at
        FROM entity_names AS t
        WHERE NOT v_has_letters AND strpos(t.normal_name, p_text) > 0 AND t.team_id = v_team_id
    ) AS n
    WHERE n.recorded_at <= p_known_at
        -- By the names that the team has for it, and those that the reader gave.
        AND (
            n.is_primary OR n.is_confirmed OR n.given_by = p_reader_id
            OR EXISTS (
                SELECT 1
                FROM entity_names AS o
                WHERE o.team_id = v_team_id AND o.entity_id = n.entity_id AND o.normal_name = n.normal_name
                    AND o.given_by <> n.given_by AND o.recorded_at <= p_known_at
            )
        )
    GROUP BY n.entity_id;
END
$$;

COMMENT ON FUNCTION search_names(text, uuid, timestamptz) IS
'Entities of the transaction''s team with a text in a name that a reader may know, and how well it fits, from 0.';

CREATE FUNCTION stale_teams(p_limit integer) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    RETURN QUERY
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
    LIMIT p_limit;
END
$$;

COMMENT ON FUNCTION stale_teams(integer) IS 'Teams whose search documents are behind, the longest waiting first.';

CREATE FUNCTION teams_in_other_spaces(p_space text, p_unembedded boolean, p_limit integer) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    RETURN QUERY
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
    LIMIT p_limit;
END
$$;

COMMENT ON FUNCTION teams_in_other_spaces(text, boolean, integer) IS
'Teams with documents that are embedded in another space, or not at all if that is asked.';

CREATE FUNCTION sample_document(p_space text) RETURNS TABLE (team_id uuid, fragment_id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT t.team_id, d.fragment_id
    FROM public.teams AS t
    CROSS JOIN LATERAL (
        SELECT x.fragment_id
        FROM public.search_documents AS x
        WHERE x.team_id = t.team_id AND x.embedding_space = p_space
        LIMIT 1
    ) AS d
    LIMIT 1;
END
$$;

COMMENT ON FUNCTION sample_document(text) IS 'Any one document of a space, whose text may be embedded anew to compare.';
