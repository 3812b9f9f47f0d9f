CREATE FUNCTION keep_conflict_cases_history() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (NEW.team_id, NEW.conflict_id, NEW.kind, NEW.subject_id, NEW.predicate, NEW.scope, NEW.object_key,
            NEW.opened_at, NEW.review_due_at, NEW.first_contradiction_at, NEW.previous_conflict_id)
            IS DISTINCT FROM (OLD.team_id, OLD.conflict_id, OLD.kind, OLD.subject_id, OLD.predicate, OLD.scope, OLD.object_key,
            OLD.opened_at, OLD.review_due_at, OLD.first_contradiction_at, OLD.previous_conflict_id)
            OR NEW.revision <= OLD.revision OR NEW.recorded_at <= OLD.recorded_at
            OR NEW.version NOT IN (OLD.version, OLD.version + 1)
        THEN
            RAISE EXCEPTION USING
                ERRCODE = 'ZC003',
                MESSAGE = 'the new version of a row of conflict_cases does not go on from the last one',
                TABLE = TG_TABLE_NAME;
        END IF;
        UPDATE public.conflict_cases_history AS h SET recorded_to = NEW.recorded_at
        WHERE h.team_id = OLD.team_id AND h.conflict_id = OLD.conflict_id AND h.revision = OLD.revision;
    ELSIF NEW.version <> 1 THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ZC003',
            MESSAGE = 'the first version of a row is 1',
            TABLE = TG_TABLE_NAME;
    END IF;
    INSERT INTO public.conflict_cases_history (
        team_id, conflict_id, kind, subject_id, predicate, scope, object_key, status, version, opened_at,
        review_due_at, first_contradiction_at, resolved_at, dismissed_at, effective_at, effective_time_basis,
        preferred_position_id, resolution_reason, policy_version, previous_conflict_id, revision, recorded_from,
        recorded_to
    ) VALUES (
        NEW.team_id, NEW.conflict_id, NEW.kind, NEW.subject_id, NEW.predicate, NEW.scope, NEW.object_key, NEW.status,
        NEW.version, NEW.opened_at, NEW.review_due_at, NEW.first_contradiction_at, NEW.resolved_at, NEW.dismissed_at,
        NEW.effective_at, NEW.effective_time_basis, NEW.preferred_position_id, NEW.resolution_reason,
        NEW.policy_version, NEW.previous_conflict_id, NEW.revision, NEW.recorded_at, 'infinity'
    );
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION keep_conflict_cases_history() IS
'Trigger of conflict_cases: ends the last version where the new one begins.';

CREATE TRIGGER conflict_cases_history AFTER INSERT OR UPDATE ON conflict_cases
FOR EACH ROW EXECUTE FUNCTION keep_conflict_cases_history();

CREATE FUNCTION keep_case_positions_history() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (NEW.team_id, NEW.conflict_id, NEW.position_id, NEW.position_key, NEW.first_seen_at)
            IS DISTINCT FROM (OLD.team_id, OLD.conflict_id, OLD.position_id, OLD.position_key, OLD.first_seen_at)
            OR NEW.revision <= OLD.revision OR NEW.recorded_at <= OLD.recorded_at
            OR NEW.version <> OLD.version + 1
        THEN
            RAISE EXCEPTION USING
                ERRCODE = 'ZC003',
                MESSAGE = 'the new version of a row of case_positions does not go on from the last one',
                TABLE = TG_TABLE_NAME;
        END IF;
        UPDATE public.case_positions_history AS h SET recorded_to = NEW.recorded_at
        WHERE h.team_id = OLD.team_id AND h.conflict_id = OLD.conflict_id AND h.position_id = OLD.position_id AND h.version = OLD.version;
    ELSIF NEW.version <> 1 THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ZC003',
            MESSAGE = 'the first version of a row is 1',
            TABLE = TG_TABLE_NAME;
    END IF;
    INSERT INTO public.case_positions_history (
        team_id, conflict_id, position_id, version, position_key, present, counted_groups, authoritative_groups,
        support_digest, first_seen_at, last_seen_at, revision, recorded_from, recorded_to
    ) VALUES (
        NEW.team_id, NEW.conflict_id, NEW.position_id, NEW.version, NEW.position_key, NEW.present, NEW.counted_groups,
        NEW.authoritative_groups, NEW.support_digest, NEW.first_seen_at, NEW.last_seen_at, NEW.revision,
        NEW.recorded_at, 'infinity'
    );
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION keep_case_positions_history() IS
'Trigger of case_positions: ends the last version where the new one begins.';

CREATE TRIGGER case_positions_history AFTER INSERT OR UPDATE ON case_positions
FOR EACH ROW EXECUTE FUNCTION keep_case_positions_history();

CREATE FUNCTION keep_case_members_history() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (NEW.team_id, NEW.conflict_id, NEW.position_id, NEW.relationship_id, NEW.owner_id)
            IS DISTINCT FROM (OLD.team_id, OLD.conflict_id, OLD.position_id, OLD.relationship_id, OLD.owner_id)
            OR NEW.revision <= OLD.revision OR NEW.recorded_at <= OLD.recorded_at
            OR NEW.version <> OLD.version + 1
        THEN
            RAISE EXCEPTION USING
                ERRCODE = 'ZC003',
                MESSAGE = 'the new version of a row of case_members does not go on from the last one',
                TABLE = TG_TABLE_NAME;
        END IF;
        UPDATE public.case_members_history AS h SET recorded_to = NEW.recorded_at
        WHERE h.team_id = OLD.team_id AND h.conflict_id = OLD.conflict_id AND h.position_id = OLD.position_id AND h.relationship_id = OLD.relationship_id AND h.version = OLD.version;
    ELSIF NEW.version <> 1 THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ZC003',
            MESSAGE = 'the first version of a row is 1',
            TABLE = TG_TABLE_NAME;
    END IF;
    INSERT INTO public.case_members_history (
        team_id, conflict_id, position_id, relationship_id, version, relationship_version, owner_id, present,
        revision, recorded_from, recorded_to
    ) VALUES (
        NEW.team_id, NEW.conflict_id, NEW.position_id, NEW.relationship_id, NEW.version, NEW.relationship_version,
        NEW.owner_id, NEW.present, NEW.revision, NEW.recorded_at, 'infinity'
    );
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION keep_case_members_history() IS
'Trigger of case_members: ends the last version where the new one begins.';

CREATE TRIGGER case_members_history AFTER INSERT OR UPDATE ON case_members
FOR EACH ROW EXECUTE FUNCTION keep_case_members_history();

CREATE FUNCTION keep_case_lifecycle() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_allowed boolean;
BEGIN
    IF TG_OP = 'INSERT' THEN
        v_allowed := NEW.status = 'open';
    ELSE
        v_allowed := CASE OLD.status
            WHEN 'open' THEN NEW.status IN ('open', 'overdue', 'resolved', 'dismissed')
            WHEN 'overdue' THEN NEW.status IN ('overdue', 'resolved', 'dismissed')
            ELSE false
        END;
    END IF;
    IF NOT v_allowed THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ZC002',
            MESSAGE = CASE TG_OP
                WHEN 'INSERT' THEN format('a case begins open, not %s', NEW.status)
                ELSE format('a case that is %s does not become %s', OLD.status, NEW.status)
            END,
            TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END
$$;

COMMENT ON FUNCTION keep_case_lifecycle() IS
'Trigger of conflict_cases: opened as open, closed for good, never overdue and then open again.';

CREATE TRIGGER conflict_cases_lifecycle BEFORE INSERT OR UPDATE ON conflict_cases
FOR EACH ROW EXECUTE FUNCTION keep_case_lifecycle();

CREATE FUNCTION keep_claim_forward() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.claim_token < OLD.claim_token THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ZC003',
            MESSAGE = 'a fencing token never goes back',
            TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END
$$;

COMMENT ON FUNCTION keep_claim_forward() IS 'Trigger of case_lease and review_runs: the fencing token only rises.';

CREATE TRIGGER case_lease_claim_forward BEFORE UPDATE ON case_lease
FOR EACH ROW EXECUTE FUNCTION keep_claim_forward();

CREATE TRIGGER review_runs_claim_forward BEFORE UPDATE ON review_runs
FOR EACH ROW EXECUTE FUNCTION keep_claim_forward();

CREATE FUNCTION keep_lease_clock() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT t.clock_mode = 'driven' INTO NEW.on_driven_clock FROM public.teams AS t WHERE t.team_id = NEW.team_id;
    RETURN NEW;
END
$$;

COMMENT ON FUNCTION keep_lease_clock() IS 'Trigger of case_lease: a new lease says which clock its times are told by.';

CREATE TRIGGER case_lease_clock BEFORE INSERT ON case_lease
FOR EACH ROW EXECUTE FUNCTION keep_lease_clock();

CREATE FUNCTION move_leases_to_real_time() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    UPDATE public.case_lease AS l SET on_driven_clock = false WHERE l.team_id = NEW.team_id AND l.on_driven_clock;
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION move_leases_to_real_time() IS
'Trigger of teams: once a team is open, its leases are told by real time.';

CREATE TRIGGER teams_leases_open AFTER UPDATE OF clock_mode ON teams
FOR EACH ROW WHEN (OLD.clock_mode = 'driven' AND NEW.clock_mode = 'open')
EXECUTE FUNCTION move_leases_to_real_time();

CREATE FUNCTION due_teams(p_limit integer) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    RETURN QUERY
    SELECT d.team_id
    FROM (
        -- Open teams: the one index that asks by time alone. Forty cases a team are a round's work, and what is left
        -- over waits for the next poll: the oldest come first.
        (
            SELECT l.team_id, l.next_review_at AS due_at
            FROM public.case_lease AS l
            WHERE NOT l.on_driven_clock
                AND l.next_review_at < 'infinity'
                AND l.next_review_at <= statement_timestamp()
                AND l.lease_expires_at <= statement_timestamp()
            ORDER BY l.next_review_at, l.team_id
            LIMIT 40 * p_limit
        )
        UNION ALL
        -- Driven teams: each has a time of its own, which does not move by itself, and they are few.
        (
            SELECT t.team_id, first.next_review_at
            FROM public.teams AS t
            JOIN public.team_clock AS c ON c.team_id = t.team_id
            CROSS JOIN LATERAL (
                SELECT l.next_review_at
                FROM public.case_lease AS l
                WHERE l.team_id = t.team_id
                    AND l.next_review_at <= greatest(c.closed_at, t.driven_now)
                    AND l.lease_expires_at <= statement_timestamp()
                ORDER BY l.next_review_at
                LIMIT 1
            ) AS first
            WHERE t.clock_mode = 'driven'
        )
        UNION ALL
        -- Runs that wait or were left: the partial index holds nothing else.
        (
            SELECT r.team_id, r.requested_at
            FROM public.review_runs AS r
            WHERE r.status IN ('queued', 'running') AND r.lease_expires_at <= statement_timestamp()
        )
    ) AS d
    GROUP BY d.team_id
    ORDER BY min(d.due_at), d.team_id
    LIMIT p_limit;
END
$$;

COMMENT ON FUNCTION due_teams(integer) IS
'Teams with a case or a run that nobody holds and whose time has come on the team''s clock, the longest waiting first.';

CREATE FUNCTION review_gauges()
RETURNS TABLE (gauge text, state text, number bigint, oldest_seconds double precision)
LANGUAGE sql STABLE SECURITY DEFINER ROWS 6 SET search_path = pg_catalog, public, pg_temp AS $$
    WITH clocks AS MATERIALIZED (
        SELECT t.team_id, greatest(c.closed_at, coalesce(t.driven_now, statement_timestamp())) AS team_now
        FROM public.teams AS t
        JOIN public.team_clock AS c ON c.team_id = t.team_id
    )
    SELECT 'cases', k.status, count(*), extract(epoch FROM max(n.team_now - k.opened_at))
    FROM public.conflict_cases AS k
    JOIN clocks AS n ON n.team_id = k.team_id
    WHERE k.status IN ('open', 'overdue')
    GROUP BY k.status
    UNION ALL
    SELECT 'leases', s.state, count(*), extract(epoch FROM max(s.team_now - s.next_review_at))
    FROM (
        SELECT l.next_review_at, n.team_now,
            CASE
                WHEN l.lease_expires_at > statement_timestamp() THEN 'held'
                WHEN l.lease_expires_at > '-infinity' THEN 'abandoned'
                WHEN l.next_review_at <= n.team_now THEN 'due'
                ELSE 'waiting'
            END AS state
        FROM public.case_lease AS l
        JOIN clocks AS n ON n.team_id = l.team_id
        WHERE l.next_review_at < 'infinity'
    ) AS s
    GROUP BY s.state
$$;

COMMENT ON FUNCTION review_gauges() IS
'Numbers over all teams, and no id: live cases and their greatest age, leases by state and the longest time overdue.';
