CREATE FUNCTION keep_sources_history() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (NEW.team_id, NEW.source_id)
            IS DISTINCT FROM (OLD.team_id, OLD.source_id)
            OR NEW.revision <= OLD.revision OR NEW.recorded_at <= OLD.recorded_at
            OR NEW.version <> OLD.version + 1
        THEN
            RAISE EXCEPTION USING
                ERRCODE = 'ZC003',
                MESSAGE = 'the new version of a row of sources does not go on from the last one',
                TABLE = TG_TABLE_NAME;
        END IF;
        UPDATE public.sources_history AS h SET recorded_to = NEW.recorded_at
        WHERE h.team_id = OLD.team_id AND h.source_id = OLD.source_id AND h.version = OLD.version;
    ELSIF NEW.version <> 1 THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ZC003',
            MESSAGE = 'the first version of a row is 1',
            TABLE = TG_TABLE_NAME;
    END IF;
    INSERT INTO public.sources_history (
        team_id, source_id, source_group, source_key, version, speakers, authoritative_for_all,
        authoritative_for, record, lifecycle, revision, recorded_from, recorded_to
    ) VALUES (
        NEW.team_id, NEW.source_id, NEW.source_group, NEW.source_key, NEW.version, NEW.speakers,
        NEW.authoritative_for_all, NEW.authoritative_for, NEW.record, NEW.lifecycle, NEW.revision,
        NEW.recorded_at, 'infinity'
    );
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION keep_sources_history() IS
'Trigger of sources: ends the last version where the new one begins.';

CREATE TRIGGER sources_history AFTER INSERT OR UPDATE ON sources
FOR EACH ROW EXECUTE FUNCTION keep_sources_history();

CREATE FUNCTION keep_source_states_history() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (NEW.team_id, NEW.source_key)
            IS DISTINCT FROM (OLD.team_id, OLD.source_key)
            OR NEW.revision <= OLD.revision OR NEW.recorded_at <= OLD.recorded_at
            OR NEW.version <> OLD.version + 1
        THEN
            RAISE EXCEPTION USING
                ERRCODE = 'ZC003',
                MESSAGE = 'the new version of a row of source_states does not go on from the last one',
                TABLE = TG_TABLE_NAME;
        END IF;
        UPDATE public.source_states_history AS h SET recorded_to = NEW.recorded_at
        WHERE h.team_id = OLD.team_id AND h.source_key = OLD.source_key AND h.version = OLD.version;
    ELSIF NEW.version <> 1 THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ZC003',
            MESSAGE = 'the first version of a row is 1',
            TABLE = TG_TABLE_NAME;
    END IF;
    INSERT INTO public.source_states_history (
        team_id, source_key, version, first_user, current_revision, prior_revision, revision, recorded_from,
        recorded_to
    ) VALUES (
        NEW.team_id, NEW.source_key, NEW.version, NEW.first_user, NEW.current_revision, NEW.prior_revision,
        NEW.revision, NEW.recorded_at, 'infinity'
    );
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION keep_source_states_history() IS
'Trigger of source_states: ends the last version where the new one begins.';

CREATE TRIGGER source_states_history AFTER INSERT OR UPDATE ON source_states
FOR EACH ROW EXECUTE FUNCTION keep_source_states_history();
