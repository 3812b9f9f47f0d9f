-- The reviewer's claims, looks and runs. Due teams are found without locks; everything else happens inside one team.

-- name: due_teams
-- purpose: teams with a due case or a waiting run, the longest waiting first; the function reads case_lease_next_review_at_idx
-- index: none
-- lock: none
SELECT d.team_id
FROM due_teams(%(limit)s::integer) AS d (team_id);

-- name: review_settings
-- purpose: the team's settings and its present time
-- index: teams_pkey
-- lock: none
SELECT t.review_period_days, t.review_start_minute, t.time_zone, t.trusts_declared_groups,
       greatest(c.closed_at, coalesce(t.driven_now, statement_timestamp())) AS team_now
FROM teams AS t
JOIN team_clock AS c ON c.team_id = %(team_id)s
WHERE t.team_id = %(team_id)s;

-- name: queue_night
-- purpose: the nightly run of a local date, if nobody has reserved it
-- index: review_reservations_pkey, team_clock_pkey
-- lock: none
INSERT INTO review_runs (
    team_id, run_id, kind, status, local_date, policy_version, claim_token, lease_expires_at, requested_at,
    examined_cases, resolved_cases, dismissed_cases, marked_overdue_cases, kept_cases, left_cases, failed_cases
)
SELECT c.team_id, %(run_id)s::uuid, 'nightly', 'queued', %(local_date)s::date, %(policy_version)s, 0,
       '-infinity', %(team_now)s::timestamptz, 0, 0, 0, 0, 0, 0, 0
FROM team_clock AS c
WHERE c.team_id = %(team_id)s
  AND NOT EXISTS (
      SELECT 1
      FROM review_reservations AS v
      WHERE v.team_id = %(team_id)s AND v.local_date = %(local_date)s::date
        AND v.policy_version = %(policy_version)s
  );

-- name: reserve_night
-- purpose: the reservation of the run that was queued in this transaction; whoever comes second meets its key
-- index: review_runs_pkey
-- lock: the reservation's key
INSERT INTO review_reservations (team_id, local_date, policy_version, run_id, reserved_at)
SELECT r.team_id, %(local_date)s::date, %(policy_version)s, r.run_id, %(team_now)s::timestamptz
FROM review_runs AS r
WHERE r.team_id = %(team_id)s AND r.run_id = %(run_id)s;

-- name: claim_run
-- purpose: the oldest waiting run, or one whose holder has let its lease end
-- index: review_runs_waiting_idx
-- lock: the run's row, skipping locked ones
UPDATE review_runs AS r
SET status = 'running',
    claim_token = r.claim_token + 1,
    lease_expires_at = statement_timestamp() + make_interval(secs => %(lease_seconds)s),
    started_at = coalesce(r.started_at, %(team_now)s::timestamptz)
WHERE r.team_id = %(team_id)s
  AND r.run_id = (
      SELECT w.run_id
      FROM review_runs AS w
      WHERE w.team_id = %(team_id)s AND w.status IN ('queued', 'running')
        AND w.lease_expires_at <= statement_timestamp()
      ORDER BY w.requested_at, w.run_id
      LIMIT 1
      FOR UPDATE SKIP LOCKED
  )
RETURNING r.run_id, r.claim_token, r.examined_cases AS examined, r.resolved_cases AS resolved,
          r.dismissed_cases AS dismissed, r.marked_overdue_cases AS marked_overdue, r.kept_cases AS kept,
          r.left_cases AS left, r.failed_cases AS failed;

-- name: look_at_all
-- purpose: a run looks at every live case: when it begins, each that is not due yet becomes due
-- index: case_lease_next_review_at_idx
-- lock: the leases' rows
UPDATE case_lease AS l
SET next_review_at = %(team_now)s::timestamptz
WHERE l.team_id = %(team_id)s AND l.next_review_at > %(team_now)s::timestamptz AND l.next_review_at < 'infinity';

-- name: claim_cases
-- purpose: due cases in the order of the index, as many as the batch holds; attempts of a new night start at zero
-- index: case_lease_next_review_at_idx
-- lock: the leases' rows, skipping locked ones
UPDATE case_lease AS l
SET claim_token = l.claim_token + 1,
    lease_expires_at = statement_timestamp() + make_interval(secs => %(lease_seconds)s),
    attempts = CASE WHEN l.attempts_date = %(night)s::date THEN l.attempts ELSE 0 END + 1,
    attempts_date = %(night)s::date
FROM (
    SELECT w.conflict_id, w.next_review_at
    FROM case_lease AS w
    WHERE w.team_id = %(team_id)s AND w.next_review_at <= %(team_now)s::timestamptz
      AND w.lease_expires_at <= statement_timestamp()
    ORDER BY w.next_review_at, w.conflict_id
    LIMIT %(batch)s
    FOR UPDATE SKIP LOCKED
) AS due
WHERE l.team_id = %(team_id)s AND l.conflict_id = due.conflict_id
RETURNING l.conflict_id, l.claim_token, l.attempts, due.next_review_at;

-- name: hold_lease
-- purpose: proves the claim inside the commit and keeps everybody else from claiming until it ends; the case's version
-- index: case_lease_pkey, conflict_cases_pkey
-- lock: the lease's row
SELECT k.version
FROM case_lease AS l
JOIN conflict_cases AS k ON k.team_id = %(team_id)s AND k.conflict_id = l.conflict_id
WHERE l.team_id = %(team_id)s AND l.conflict_id = %(conflict_id)s AND l.claim_token = %(claim_token)s
FOR UPDATE OF l;

-- name: finish_look
-- purpose: gives the lease back after a look, with the time of the next one
-- index: case_lease_pkey
-- lock: the lease's row
WITH finished AS (
    UPDATE case_lease AS l
    SET next_review_at = %(next_review_at)s,
        lease_expires_at = '-infinity',
        attempts = 0,
        last_evaluated_at = %(team_now)s
    WHERE l.team_id = %(team_id)s AND l.conflict_id = %(conflict_id)s AND l.claim_token = %(claim_token)s
    RETURNING 1
)
SELECT 1 / count(*) FROM finished;

-- name: give_back
-- purpose: gives a lease back without a look, if it is still held; the case rests for so long before the next attempt
-- index: case_lease_pkey
-- lock: the lease's row
UPDATE case_lease AS l
-- The time of the statement stands outside of the CASE: a cluster's planner takes it in none.
SET lease_expires_at = least(
        statement_timestamp() + make_interval(secs => %(rest_seconds)s),
        CASE WHEN %(rest_seconds)s::double precision > 0 THEN timestamptz 'infinity' ELSE timestamptz '-infinity' END
    ),
    next_review_at = %(next_review_at)s
WHERE l.team_id = %(team_id)s AND l.conflict_id = %(conflict_id)s AND l.claim_token = %(claim_token)s;

-- name: raise_alert
-- purpose: tells people that a case could not be looked at, or that a run was given up
-- index: none
-- lock: none
INSERT INTO alerts (team_id, alert_id, kind, conflict_id, reason, details, raised_at)
VALUES (%(team_id)s, %(alert_id)s, %(kind)s, %(conflict_id)s, %(reason)s, %(details)s::jsonb, %(team_now)s);

-- name: review_gauges
-- purpose: live cases and leases of all teams in numbers; the function reads them all
-- index: none
-- lock: none
SELECT g.gauge, g.state, g.number, g.oldest_seconds
FROM review_gauges() AS g;

-- name: keep_run
-- purpose: keeps a run that goes on for so long, by whoever holds it, with what it did so far
-- index: review_runs_pkey
-- lock: the run's row
UPDATE review_runs AS r
SET lease_expires_at = statement_timestamp() + make_interval(secs => %(lease_seconds)s),
    examined_cases = %(examined)s,
    resolved_cases = %(resolved)s,
    dismissed_cases = %(dismissed)s,
    marked_overdue_cases = %(marked_overdue)s,
    kept_cases = %(kept)s,
    left_cases = %(left)s,
    failed_cases = %(failed)s
WHERE r.team_id = %(team_id)s AND r.run_id = %(run_id)s AND r.claim_token = %(claim_token)s AND r.status = 'running';

-- name: finish_run
-- purpose: ends a run with its counters, by whoever holds it; it has failed if it was given up
-- index: review_runs_pkey
-- lock: the run's row
UPDATE review_runs AS r
SET status = %(status)s,
    lease_expires_at = '-infinity',
    finished_at = %(team_now)s,
    examined_cases = %(examined)s,
    resolved_cases = %(resolved)s,
    dismissed_cases = %(dismissed)s,
    marked_overdue_cases = %(marked_overdue)s,
    kept_cases = %(kept)s,
    left_cases = %(left)s,
    failed_cases = %(failed)s
WHERE r.team_id = %(team_id)s AND r.run_id = %(run_id)s AND r.claim_token = %(claim_token)s;

-- name: record_due_run
-- purpose: the record of due looks that nobody asked for
-- index: none
-- lock: none
INSERT INTO review_runs (
    team_id, run_id, kind, status, policy_version, claim_token, lease_expires_at, requested_at, started_at, finished_at,
    examined_cases, resolved_cases, dismissed_cases, marked_overdue_cases, kept_cases, left_cases, failed_cases
)
VALUES (
    %(team_id)s, %(run_id)s, 'due', 'finished', %(policy_version)s, 1, '-infinity', %(team_now)s, %(team_now)s,
    %(team_now)s, %(examined)s, %(resolved)s, %(dismissed)s, %(marked_overdue)s, %(kept)s, %(left)s, %(failed)s
);

-- name: queue_run
-- purpose: a run that somebody asks for
-- index: none
-- lock: none
INSERT INTO review_runs (
    team_id, run_id, kind, status, requested_by, policy_version, claim_token, lease_expires_at, requested_at,
    examined_cases, resolved_cases, dismissed_cases, marked_overdue_cases, kept_cases, left_cases, failed_cases
)
VALUES (
    %(team_id)s, %(run_id)s, 'requested', 'queued', %(requested_by)s, %(policy_version)s, 0, '-infinity',
    %(requested_at)s, 0, 0, 0, 0, 0, 0, 0
);

-- name: run_row
-- purpose: one run
-- index: review_runs_pkey
-- lock: none
SELECT r.run_id, r.kind, r.status, r.requested_by, p.name AS requested_by_name, r.local_date, r.policy_version,
       r.requested_at, r.started_at, r.finished_at, r.examined_cases, r.resolved_cases, r.dismissed_cases,
       r.marked_overdue_cases, r.kept_cases, r.left_cases, r.failed_cases
FROM review_runs AS r
LEFT JOIN profiles AS p ON p.team_id = %(team_id)s AND p.profile_id = r.requested_by
WHERE r.team_id = %(team_id)s AND r.run_id = %(run_id)s;

-- name: run_page
-- purpose: a page of runs, the newest first
-- index: review_runs_requested_at_idx
-- lock: none
SELECT r.run_id, r.kind, r.status, r.requested_by, p.name AS requested_by_name, r.local_date, r.policy_version,
       r.requested_at, r.started_at, r.finished_at, r.examined_cases, r.resolved_cases, r.dismissed_cases,
       r.marked_overdue_cases, r.kept_cases, r.left_cases, r.failed_cases
FROM review_runs AS r
LEFT JOIN profiles AS p ON p.team_id = %(team_id)s AND p.profile_id = r.requested_by
WHERE r.team_id = %(team_id)s AND (r.requested_at, r.run_id) < (%(before)s, %(before_id)s)
ORDER BY r.requested_at DESC, r.run_id DESC
LIMIT %(limit)s;

-- name: review_case
-- purpose: the cases of looks
-- index: conflict_cases_pkey
-- lock: none
SELECT k.conflict_id, k.kind, k.subject_id, k.predicate, k.scope, k.object_key, k.status, k.version, k.opened_at,
       k.review_due_at, k.first_contradiction_at, k.policy_version, k.previous_conflict_id
FROM conflict_cases AS k
WHERE k.team_id = %(team_id)s AND k.conflict_id = ANY(%(conflict_ids)s::uuid[]);

-- name: review_others
-- purpose: the other live cases that share a member with it
-- index: case_members_pkey, case_members_relationship_id_idx
-- lock: none
SELECT DISTINCT k.conflict_id
FROM case_members AS m
JOIN case_members AS n ON n.team_id = %(team_id)s AND n.relationship_id = m.relationship_id AND n.present
JOIN conflict_cases AS k ON k.team_id = %(team_id)s AND k.conflict_id = n.conflict_id
WHERE m.team_id = %(team_id)s AND m.conflict_id = %(conflict_id)s AND m.present
  AND n.conflict_id <> m.conflict_id AND k.status IN ('open', 'overdue')
ORDER BY k.conflict_id;

-- name: review_positions
-- purpose: their positions
-- index: case_positions_pkey
-- lock: none
SELECT p.conflict_id, p.position_id, p.position_key, p.counted_groups, p.authoritative_groups, p.support_digest,
       p.first_seen_at, p.last_seen_at, p.version AS row_version
FROM case_positions AS p
WHERE p.team_id = %(team_id)s AND p.conflict_id = ANY(%(conflict_ids)s::uuid[])
ORDER BY p.conflict_id, p.position_key;

-- name: review_members
-- purpose: the current rows of their members
-- index: case_members_pkey
-- lock: none
SELECT m.conflict_id, m.position_id, m.relationship_version, m.version AS row_version, r.relationship_id, r.version,
       r.owner_id, r.subject_id, r.predicate, r.scope, r.facet, r.object_entity_id, r.value_type, r.value_canonical,
       r.value_unit, r.value_display, r.polarity, r.valid_from, r.valid_to,
       r.valid_from = r.valid_to AS closed_to_nothing, r.valid_from_basis, r.valid_to_basis, r.status, r.tier,
       r.record, r.slot_exclusive, r.event, r.revision, r.recorded_at, r.first_recorded_at
FROM case_members AS m
JOIN relationships AS r ON r.team_id = %(team_id)s AND r.relationship_id = m.relationship_id
WHERE m.team_id = %(team_id)s AND m.conflict_id = ANY(%(conflict_ids)s::uuid[]) AND m.present
ORDER BY m.conflict_id, r.relationship_id;

-- name: review_beside
-- purpose: what is in force beside competing members, of the same owners, and is no member itself
-- index: case_members_pkey
-- lock: none
SELECT DISTINCT m.conflict_id, r.relationship_id, r.version, r.owner_id, r.subject_id, r.predicate, r.scope, r.facet,
       r.object_entity_id, r.value_type, r.value_canonical, r.value_unit, r.value_display, r.polarity, r.valid_from,
       r.valid_to, r.valid_from = r.valid_to AS closed_to_nothing, r.valid_from_basis, r.valid_to_basis, r.status,
       r.tier, r.record, r.slot_exclusive, r.event, r.revision, r.recorded_at, r.first_recorded_at
FROM case_members AS m
JOIN relationships AS c
  ON c.team_id = %(team_id)s AND c.relationship_id = m.relationship_id AND c.status = 'competing'
JOIN relationships AS r
  ON r.team_id = %(team_id)s AND r.subject_id = c.subject_id AND r.predicate = c.predicate AND r.scope = c.scope
 AND r.owner_id = c.owner_id AND r.facet = c.facet AND r.status IN ('active', 'superseded')
 AND tstzrange(r.valid_from, r.valid_to) && tstzrange(c.valid_from, c.valid_to)
WHERE m.team_id = %(team_id)s AND m.conflict_id = ANY(%(conflict_ids)s::uuid[]) AND m.present
  AND NOT EXISTS (
      SELECT 1
      FROM case_members AS o
      WHERE o.team_id = %(team_id)s AND o.conflict_id = m.conflict_id AND o.relationship_id = r.relationship_id
        AND o.present
  )
ORDER BY m.conflict_id, r.relationship_id;

-- name: review_carriages
-- purpose: the statements that their members carry now
-- index: carriages_relationship_id_idx
-- lock: none
SELECT m.conflict_id, c.relationship_id, c.statement_id
FROM case_members AS m
JOIN carriages AS c ON c.team_id = %(team_id)s AND c.relationship_id = m.relationship_id
WHERE m.team_id = %(team_id)s AND m.conflict_id = ANY(%(conflict_ids)s::uuid[]) AND m.present
  AND NOT EXISTS (
      SELECT 1
      FROM carriages AS n
      WHERE n.team_id = %(team_id)s AND n.statement_id = c.statement_id AND n.revision > c.revision
  )
ORDER BY m.conflict_id, c.relationship_id, c.statement_id;

-- name: review_supports
-- purpose: the supports of those statements, each with its last decision, and no text
-- index: supports_statement_id_idx
-- lock: none
SELECT m.conflict_id, p.support_id, p.statement_id, c.relationship_id, p.fragment_id, p.span_starts, p.span_ends,
       p.adopted_from_fragment_id, p.evidence_from, p.evidence_to, p.evidence_verified, p.recorded_at, d.kind,
       d.authority, f.author_id, f.source_group, f.source_key, f.inherited_labels, f.normal_sha256,
       f.derived_from_fragment_ids, p.near_duplicate_fragment_ids, f.occurred_at
FROM case_members AS m
JOIN carriages AS c ON c.team_id = %(team_id)s AND c.relationship_id = m.relationship_id
JOIN supports AS p ON p.team_id = %(team_id)s AND p.statement_id = c.statement_id
JOIN evidence_fragments AS f ON f.team_id = %(team_id)s AND f.fragment_id = p.fragment_id
CROSS JOIN LATERAL (
    SELECT d.kind, d.authority
    FROM support_decisions AS d
    WHERE d.team_id = %(team_id)s AND d.support_id = p.support_id
    ORDER BY d.revision DESC
    LIMIT 1
) AS d
WHERE m.team_id = %(team_id)s AND m.conflict_id = ANY(%(conflict_ids)s::uuid[]) AND m.present
  AND NOT EXISTS (
      SELECT 1
      FROM carriages AS n
      WHERE n.team_id = %(team_id)s AND n.statement_id = c.statement_id AND n.revision > c.revision
  )
ORDER BY m.conflict_id, p.support_id;
