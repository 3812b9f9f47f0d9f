-- The one exception to immutability. A text is replaced by its tombstone and by nothing else, by one function and by
-- nobody else: it writes what erased_texts says, and the triggers compare each changed column with erased_texts again.

CREATE FUNCTION is_recorded_erasure(p_table text, p_key text[], p_old jsonb, p_new jsonb) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    RETURN (
        SELECT count(*) FILTER (WHERE n.key <> 'erasure_id') > 0
            AND bool_and(
                n.key = 'erasure_id'
                OR EXISTS (
                    SELECT 1
                    FROM public.erased_texts AS e
                    WHERE e.team_id = (p_new ->> 'team_id')::uuid AND e.table_name = p_table AND e.row_key = p_key
                        AND e.column_name = n.key
                        AND CASE jsonb_typeof(n.value)
                            WHEN 'string' THEN n.value #>> '{}' = e.tombstone
                            ELSE n.value = e.tombstone::jsonb
                        END
                )
            )
        FROM jsonb_each(p_new) AS n
        WHERE n.value IS DISTINCT FROM p_old -> n.key
    );
END
$$;

COMMENT ON FUNCTION is_recorded_erasure(text, text[], jsonb, jsonb) IS
'Whether all that an update changes are texts, and each becomes the tombstone that erased_texts has for it.';

CREATE FUNCTION refuse_all_but_erasure() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    -- The arguments of the trigger name the primary key behind the team.
    IF TG_OP = 'UPDATE' AND is_recorded_erasure(
        TG_TABLE_NAME,
        ARRAY(SELECT to_jsonb(NEW) ->> k.name FROM unnest(TG_ARGV) WITH ORDINALITY AS k (name, place) ORDER BY k.place),
        to_jsonb(OLD),
        to_jsonb(NEW)
    ) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION USING
        ERRCODE = 'ZC001',
        MESSAGE = format('%s on %s is refused: only recorded texts are erased', TG_OP, TG_TABLE_NAME),
        TABLE = TG_TABLE_NAME;
END
$$;

COMMENT ON FUNCTION refuse_all_but_erasure() IS
'Trigger for the eraser''s role alone: lets it replace texts by their recorded tombstones and do nothing else.';

CREATE FUNCTION erase_texts(p_erasure_id uuid, p_revision bigint) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    v_team_id uuid := nullif(current_setting('app.team_id', true), '')::uuid;
    v_row record;
    v_assignments text;
    v_condition text;
    v_found integer;
    v_rows integer := 0;
BEGIN
    FOR v_row IN
        SELECT e.table_name, e.row_key, jsonb_object_agg(e.column_name, e.tombstone) AS tombstones,
            jsonb_object_agg(e.column_name, encode(e.entered, 'hex')) AS entered,
            ('public.' || quote_ident(e.table_name))::regclass AS relation
        FROM public.erased_texts AS e
        WHERE e.team_id = v_team_id AND e.erasure_id = p_erasure_id
        GROUP BY e.table_name, e.row_key
    LOOP
        SELECT string_agg(
            quote_ident(a.attname) || ' = ' || quote_literal(v_row.tombstones ->> a.attname::text) || '::'
                || format_type(a.atttypid, a.atttypmod),
            ', '
        )
        INTO v_assignments
        FROM pg_attribute AS a
        WHERE a.attrelid = v_row.relation AND a.attnum > 0 AND NOT a.attisdropped AND v_row.tombstones ? a.attname::text;
        -- A text that is part of the key is found by the hash that is recorded for it.
        SELECT string_agg(
            CASE
                WHEN v_row.tombstones ? a.attname::text
                THEN 'encode(sha256(convert_to(' || quote_ident(a.attname) || ', ''UTF8'')), ''hex'') = '
                    || quote_literal(v_row.entered ->> a.attname::text)
                ELSE quote_ident(a.attname) || ' = ' || quote_literal(v_row.row_key[k.place - 1]) || '::'
                    || format_type(a.atttypid, a.atttypmod)
            END,
            ' AND '
        )
        INTO v_condition
        FROM pg_index AS i
        CROSS JOIN LATERAL unnest(i.indkey::smallint[]) WITH ORDINALITY AS k (number, place)
        JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.number
        WHERE i.indrelid = v_row.relation AND i.indisprimary AND k.place > 1;
        IF v_row.table_name = 'evidence_fragments' THEN
            v_assignments := v_assignments || ', erasure_id = ' || quote_literal(p_erasure_id) || '::uuid';
        END IF;
        EXECUTE 'UPDATE public.' || quote_ident(v_row.table_name) || ' SET ' || v_assignments
            || ' WHERE team_id = $1 AND ' || v_condition
        USING v_team_id;
        GET DIAGNOSTICS v_found = ROW_COUNT;
        IF v_found <> 1 THEN
            RAISE EXCEPTION USING
                ERRCODE = 'ZC001',
                MESSAGE = format('an erased text of %s is not the one that was recorded', v_row.table_name),
                TABLE = v_row.table_name;
        END IF;
        v_rows := v_rows + 1;
    END LOOP;
    -- An empty document at this revision: an indexer that read the text before comes too late to put it back.
    INSERT INTO public.search_documents (
        team_id, fragment_id, version, lexemes, embedding, embedding_space, recorded_from, recorded_to
    )
    SELECT f.team_id, f.fragment_id, p_revision, ''::tsvector, NULL, NULL, f.recorded_at, 'infinity'
    FROM public.evidence_fragments AS f
    WHERE f.team_id = v_team_id AND f.erasure_id = p_erasure_id
    ON CONFLICT (team_id, fragment_id) DO UPDATE
    SET version = p_revision, lexemes = ''::tsvector, embedding = NULL, embedding_space = NULL;
    -- What tells nearly equal texts is made from the text and goes with it.
    DELETE FROM public.text_bands AS b
    WHERE b.team_id = v_team_id AND b.fragment_id IN (
        SELECT f.fragment_id
        FROM public.evidence_fragments AS f
        WHERE f.team_id = v_team_id AND f.erasure_id = p_erasure_id
    );
    RETURN v_rows;
END
$$;

COMMENT ON FUNCTION erase_texts(uuid, bigint) IS
'Replaces the texts of an erasure of the transaction''s team by their recorded tombstones, and takes away what finds them; returns the number of rows.';
