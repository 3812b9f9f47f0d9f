CREATE FUNCTION keep_relationships_history() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (NEW.team_id, NEW.relationship_id, NEW.owner_id, NEW.event, NEW.first_recorded_at)
            IS DISTINCT FROM (OLD.team_id, OLD.relationship_id, OLD.owner_id, OLD.event, OLD.first_recorded_at)
            OR NEW.revision <= OLD.revision OR NEW.recorded_at <= OLD.recorded_at
            OR NEW.version <> OLD.version + 1
        THEN
            RAISE EXCEPTION USING
                ERRCODE = 'ZC003',
                MESSAGE = 'the new version of a row of relationships does not go on from the last one',
                TABLE = TG_TABLE_NAME;
        END IF;
        UPDATE public.relationships_history AS h SET recorded_to = NEW.recorded_at
        WHERE h.team_id = OLD.team_id AND h.relationship_id = OLD.relationship_id AND h.version = OLD.version;
    ELSIF NEW.version <> 1 THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ZC003',
            MESSAGE = 'the first version of a row is 1',
            TABLE = TG_TABLE_NAME;
    END IF;
    INSERT INTO public.relationships_history (
        team_id, relationship_id, version, owner_id, subject_id, predicate, scope, object_entity_id, value_type,
        value_canonical, value_unit, value_display, object_key, polarity, status, tier, facet, valid_from, valid_to,
        valid_from_basis, valid_to_basis, record, slot_exclusive, event, first_recorded_at, revision, recorded_from,
        recorded_to
    ) VALUES (
        NEW.team_id, NEW.relationship_id, NEW.version, NEW.owner_id, NEW.subject_id, NEW.predicate, NEW.scope,
        NEW.object_entity_id, NEW.value_type, NEW.value_canonical, NEW.value_unit, NEW.value_display, NEW.object_key,
        NEW.polarity, NEW.status, NEW.tier, NEW.facet, NEW.valid_from, NEW.valid_to, NEW.valid_from_basis,
        NEW.valid_to_basis, NEW.record, NEW.slot_exclusive, NEW.event, NEW.first_recorded_at, NEW.revision,
        NEW.recorded_at, 'infinity'
    );
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION keep_relationships_history() IS
'Trigger of relationships: ends the last version where the new one begins.';

CREATE TRIGGER relationships_history AFTER INSERT OR UPDATE ON relationships
FOR EACH ROW EXECUTE FUNCTION keep_relationships_history();

CREATE FUNCTION keep_review_items_history() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (NEW.team_id, NEW.item_id, NEW.owner_id, NEW.kind, NEW.opened_at)
            IS DISTINCT FROM (OLD.team_id, OLD.item_id, OLD.owner_id, OLD.kind, OLD.opened_at)
            OR NEW.revision <= OLD.revision OR NEW.recorded_at <= OLD.recorded_at
            OR NEW.version <> OLD.version + 1
        THEN
            RAISE EXCEPTION USING
                ERRCODE = 'ZC003',
                MESSAGE = 'the new version of a row of review_items does not go on from the last one',
                TABLE = TG_TABLE_NAME;
        END IF;
        UPDATE public.review_items_history AS h SET recorded_to = NEW.recorded_at
        WHERE h.team_id = OLD.team_id AND h.item_id = OLD.item_id AND h.version = OLD.version;
    ELSIF NEW.version <> 1 THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ZC003',
            MESSAGE = 'the first version of a row is 1',
            TABLE = TG_TABLE_NAME;
    END IF;
    INSERT INTO public.review_items_history (
        team_id, item_id, version, kind, status, owner_id, reason, ingest_id, fragment_id, statement_id, subject_id,
        predicate, scope, incoming, opposing, details, decision_id, opened_at, revision, recorded_from, recorded_to
    ) VALUES (
        NEW.team_id, NEW.item_id, NEW.version, NEW.kind, NEW.status, NEW.owner_id, NEW.reason, NEW.ingest_id,
        NEW.fragment_id, NEW.statement_id, NEW.subject_id, NEW.predicate, NEW.scope, NEW.incoming, NEW.opposing,
        NEW.details, NEW.decision_id, NEW.opened_at, NEW.revision, NEW.recorded_at, 'infinity'
    );
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION keep_review_items_history() IS
'Trigger of review_items: ends the last version where the new one begins.';

CREATE TRIGGER review_items_history AFTER INSERT OR UPDATE ON review_items
FOR EACH ROW EXECUTE FUNCTION keep_review_items_history();

CREATE FUNCTION reviewer_only_closes() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF current_user = 'corrigenda_reviewer' THEN
        IF OLD.status NOT IN ('active', 'competing') OR NEW.valid_to > OLD.valid_to
            OR NEW.status <> 'superseded' AND NOT (
                OLD.status = 'competing' AND NEW.status = 'competing' AND EXISTS (
                    SELECT 1
                    FROM public.relationships AS r
                    WHERE r.team_id = OLD.team_id AND r.subject_id = OLD.subject_id AND r.predicate = OLD.predicate
                      AND r.scope = OLD.scope AND r.owner_id = OLD.owner_id AND r.facet = OLD.facet
                      AND r.relationship_id <> OLD.relationship_id
                      AND r.status IN ('active', 'competing', 'superseded')
                      AND tstzrange(r.valid_from, r.valid_to) && tstzrange(NEW.valid_from, NEW.valid_to)
                )
            )
        THEN
            RAISE EXCEPTION USING
                ERRCODE = 'ZC002',
                MESSAGE = format('the reviewer may close a losing relationship and nothing else: %s to %s',
                                 OLD.status, NEW.status),
                TABLE = TG_TABLE_NAME;
        END IF;
    END IF;
    RETURN NEW;
END
$$;

COMMENT ON FUNCTION reviewer_only_closes() IS
'Trigger of relationships: the reviewer''s role only turns active or competing into superseded, with no later end; one side of a dispute that goes on beside it may stay competing.';

CREATE TRIGGER relationships_reviewer BEFORE UPDATE ON relationships
FOR EACH ROW EXECUTE FUNCTION reviewer_only_closes();
