-- History: the table of all versions is written by these triggers and by nobody else.

CREATE FUNCTION guard_history() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- Depth 1 is a statement of somebody's own; a history trigger of the versioned table makes it 2.
    IF TG_OP = 'INSERT' AND pg_trigger_depth() >= 2 THEN
        RETURN NEW;
    ELSIF TG_OP = 'UPDATE' AND pg_trigger_depth() >= 2 AND OLD.recorded_to = 'infinity' THEN
        OLD.recorded_to := NEW.recorded_to;
        IF OLD IS NOT DISTINCT FROM NEW THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION USING
        ERRCODE = 'ZC001',
        MESSAGE = format('%s on %s is refused: history is written by its trigger alone', TG_OP, TG_TABLE_NAME),
        TABLE = TG_TABLE_NAME;
END
$$;

COMMENT ON FUNCTION guard_history() IS 'Trigger of history tables: a version is inserted once and ended once.';

CREATE FUNCTION keep_predicates_history() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (NEW.team_id, NEW.predicate)
            IS DISTINCT FROM (OLD.team_id, OLD.predicate)
            OR NEW.revision <= OLD.revision OR NEW.recorded_at <= OLD.recorded_at
            OR NEW.version <> OLD.version + 1
        THEN
            RAISE EXCEPTION USING
                ERRCODE = 'ZC003',
                MESSAGE = 'the new version of a row of predicates does not go on from the last one',
                TABLE = TG_TABLE_NAME;
        END IF;
        UPDATE public.predicates_history AS h SET recorded_to = NEW.recorded_at
        WHERE h.team_id = OLD.team_id AND h.predicate = OLD.predicate AND h.version = OLD.version;
    ELSIF NEW.version <> 1 THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ZC003',
            MESSAGE = 'the first version of a row is 1',
            TABLE = TG_TABLE_NAME;
    END IF;
    INSERT INTO public.predicates_history (
        team_id, predicate, version, aliases, subject_kinds, object_kinds, value_types, unit, relationship_kind,
        current_cardinality, supersession_basis, same_moment_policy, start_granularity, pii_class, review_after_days,
        lifecycle, revision, recorded_from, recorded_to
    ) VALUES (
        NEW.team_id, NEW.predicate, NEW.version, NEW.aliases, NEW.subject_kinds, NEW.object_kinds, NEW.value_types,
        NEW.unit, NEW.relationship_kind, NEW.current_cardinality, NEW.supersession_basis, NEW.same_moment_policy,
        NEW.start_granularity, NEW.pii_class, NEW.review_after_days, NEW.lifecycle, NEW.revision, NEW.recorded_at,
        'infinity'
    );
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION keep_predicates_history() IS
'Trigger of predicates: ends the last version where the new one begins.';

CREATE TRIGGER predicates_history AFTER INSERT OR UPDATE ON predicates
FOR EACH ROW EXECUTE FUNCTION keep_predicates_history();
