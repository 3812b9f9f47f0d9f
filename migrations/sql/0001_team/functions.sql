-- Functions and triggers of the team's own tables. The setting app.team_id is read in every one of them by the same
-- expression: an unset or empty setting is no team, and no team sees no row.

CREATE FUNCTION refuse_change() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = 'ZC001',
        MESSAGE = format('%s on %s is refused: the table keeps its rows', TG_OP, TG_TABLE_NAME),
        TABLE = TG_TABLE_NAME;
END
$$;

COMMENT ON FUNCTION refuse_change() IS 'Trigger of every immutable table: refuses everyone, the owner included.';

CREATE FUNCTION keep_clock_forward() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.revision < OLD.revision OR NEW.closed_at < OLD.closed_at THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ZC003',
            MESSAGE = 'a team clock never goes back',
            TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END
$$;

COMMENT ON FUNCTION keep_clock_forward() IS 'Trigger of team_clock: revision and closed_at only rise.';

CREATE FUNCTION keep_driven_clock() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF OLD.clock_mode = 'open' AND NEW.clock_mode <> 'open' THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ZC003',
            MESSAGE = 'a team is opened once and for good',
            TABLE = TG_TABLE_NAME;
    ELSIF NEW.driven_now < OLD.driven_now THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ZC003',
            MESSAGE = 'a driven clock never goes back',
            TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END
$$;

COMMENT ON FUNCTION keep_driven_clock() IS 'Trigger of teams: opened for good; a driven clock only goes on.';

CREATE TRIGGER team_clock_forward BEFORE UPDATE ON team_clock
FOR EACH ROW EXECUTE FUNCTION keep_clock_forward();

CREATE TRIGGER teams_driven_clock BEFORE UPDATE ON teams
FOR EACH ROW EXECUTE FUNCTION keep_driven_clock();

CREATE FUNCTION authenticate(p_key_id uuid, p_key_hash bytea)
RETURNS TABLE (
    team_id uuid,
    profile_id uuid,
    key_id uuid,
    scopes text[],
    expires_at timestamptz,
    revoked_at timestamptz
)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 1 SET search_path = pg_catalog, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT k.team_id, k.profile_id, k.key_id, k.scopes, k.expires_at, k.revoked_at
    FROM public.api_keys AS k
    WHERE k.key_id = p_key_id AND k.key_hash = p_key_hash;
END
$$;

COMMENT ON FUNCTION authenticate(uuid, bytea) IS
'Who a key is: no row for an unknown key. Expired and revoked keys are returned; the caller judges them by real time.';

CREATE FUNCTION close_instant(p_instant timestamptz) RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    v_team_id uuid := nullif(current_setting('app.team_id', true), '')::uuid;
    v_closed_at timestamptz;
    v_now timestamptz;
BEGIN
    SELECT c.closed_at INTO v_closed_at FROM public.team_clock AS c WHERE c.team_id = v_team_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'ZC005', MESSAGE = 'the transaction serves no team that has a clock';
    END IF;
    IF v_closed_at >= p_instant THEN
        RETURN v_closed_at;
    END IF;
    SELECT c.closed_at INTO v_closed_at FROM public.team_clock AS c WHERE c.team_id = v_team_id FOR UPDATE;
    -- The clock is read after the lock: a commit that held the lock may have been recorded meanwhile.
    SELECT greatest(v_closed_at, coalesce(t.driven_now, clock_timestamp())) INTO v_now
    FROM public.teams AS t WHERE t.team_id = v_team_id;
    IF p_instant > v_now THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ZC004',
            MESSAGE = 'the instant lies in the future of the team''s clock';
    END IF;
    v_closed_at := greatest(v_closed_at, p_instant);
    UPDATE public.team_clock AS c SET closed_at = v_closed_at WHERE c.team_id = v_team_id;
    RETURN v_closed_at;
END
$$;

COMMENT ON FUNCTION close_instant(timestamptz) IS
'Settles an instant of the transaction''s team: no later commit is recorded at or before it. Returns the closed instant.';
