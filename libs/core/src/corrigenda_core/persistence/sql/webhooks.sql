-- What webhook endpoints are told, and how far each was told. Times here are real ones, except those of the events.

-- name: begin_cursor
-- purpose: the cursor of an endpoint that is new: it is told what comes, or everything
-- index: team_clock_pkey
-- lock: the cursor's key
INSERT INTO webhook_cursors (
    team_id, endpoint, after_revision, after_id, status, attempts, next_attempt_at, lease_expires_at, claim_token
)
SELECT c.team_id, %(endpoint)s, CASE WHEN %(from_start)s THEN 0 ELSE c.revision END, %(after_id)s::uuid, 'delivering',
       0, '-infinity', '-infinity', 0
FROM team_clock AS c
WHERE c.team_id = %(team_id)s
ON CONFLICT (team_id, endpoint) DO NOTHING;

-- name: claim_cursor
-- purpose: takes an endpoint that nobody tells and that is not resting
-- index: webhook_cursors_pkey
-- lock: the cursor's row
UPDATE webhook_cursors AS w
SET claim_token = w.claim_token + 1,
    lease_expires_at = statement_timestamp() + make_interval(secs => %(lease_seconds)s)
WHERE w.team_id = %(team_id)s AND w.endpoint = %(endpoint)s AND w.status = 'delivering'
  AND w.lease_expires_at <= statement_timestamp() AND w.next_attempt_at <= statement_timestamp()
RETURNING w.claim_token, w.after_revision, w.after_id, w.attempts;

-- name: cursor_state
-- purpose: how an endpoint stands, whoever tells it
-- index: webhook_cursors_pkey
-- lock: none
SELECT w.status, w.attempts
FROM webhook_cursors AS w
WHERE w.team_id = %(team_id)s AND w.endpoint = %(endpoint)s;

-- name: last_revision
-- purpose: what is committed by now; asked before the notices are, which then hold everything until then
-- index: team_clock_pkey
-- lock: none
SELECT c.revision
FROM team_clock AS c
WHERE c.team_id = %(team_id)s;

-- name: next_notices
-- purpose: what an endpoint is told next, in the order of the commits
-- index: case_events_revision_idx, conflict_cases_pkey, review_items_history_withdrawn_idx
-- lock: none
SELECT u.revision, u.notice_id, u.recorded_at, u.action, u.conflict_id, u.case_kind, u.status, u.version, u.item_kind,
       u.owner_id
FROM (
    (
        SELECT v.revision, v.event_id AS notice_id, v.recorded_at, v.action, v.conflict_id, k.kind AS case_kind,
               v.resulting_status AS status, v.version, NULL::text AS item_kind, NULL::uuid AS owner_id
        FROM case_events AS v
        JOIN conflict_cases AS k ON k.team_id = %(team_id)s AND k.conflict_id = v.conflict_id
        WHERE v.team_id = %(team_id)s AND (v.revision, v.event_id) > (%(after_revision)s, %(after_id)s::uuid)
          AND v.action = ANY(%(actions)s::text[])
        ORDER BY v.revision, v.event_id
        LIMIT %(limit)s
    )
    UNION ALL
    (
        SELECT i.revision, i.item_id, i.recorded_from, NULL, NULL, NULL, NULL, i.version, i.kind, i.owner_id
        FROM review_items_history AS i
        WHERE i.team_id = %(team_id)s AND (i.revision, i.item_id) > (%(after_revision)s, %(after_id)s::uuid)
          AND i.kind = 'winner_withdrawn' AND i.version = 1 AND %(withdrawn)s
        ORDER BY i.revision, i.item_id
        LIMIT %(limit)s
    )
) AS u
ORDER BY u.revision, u.notice_id
LIMIT %(limit)s;

-- name: renew_cursor
-- purpose: keeps an endpoint for another lease, by whoever holds it
-- index: webhook_cursors_pkey
-- lock: the cursor's row
UPDATE webhook_cursors AS w
SET lease_expires_at = statement_timestamp() + make_interval(secs => %(lease_seconds)s)
WHERE w.team_id = %(team_id)s AND w.endpoint = %(endpoint)s AND w.claim_token = %(claim_token)s
  AND w.status = 'delivering'
RETURNING w.claim_token;

-- name: advance_cursor
-- purpose: notes what an endpoint was told, or need not be, by whoever holds it; a lease of no time gives it back
-- index: webhook_cursors_pkey
-- lock: the cursor's row
UPDATE webhook_cursors AS w
SET after_revision = %(after_revision)s,
    after_id = %(after_id)s,
    attempts = 0,
    problem = NULL,
    next_attempt_at = '-infinity',
    delivered_at = CASE WHEN %(delivered)s THEN statement_timestamp() ELSE w.delivered_at END,
    lease_expires_at = statement_timestamp() + make_interval(secs => %(lease_seconds)s)
WHERE w.team_id = %(team_id)s AND w.endpoint = %(endpoint)s AND w.claim_token = %(claim_token)s
  AND w.status = 'delivering'
RETURNING w.claim_token;

-- name: rest_cursor
-- purpose: notes a failed attempt by whoever holds the endpoint, and gives it back: nobody tries before its rest is over
-- index: webhook_cursors_pkey
-- lock: the cursor's row
UPDATE webhook_cursors AS w
SET attempts = w.attempts + 1,
    problem = %(problem)s,
    next_attempt_at = statement_timestamp() + make_interval(secs => %(rest_seconds)s),
    lease_expires_at = '-infinity'
WHERE w.team_id = %(team_id)s AND w.endpoint = %(endpoint)s AND w.claim_token = %(claim_token)s
  AND w.status = 'delivering'
RETURNING w.claim_token;

-- name: park_cursor
-- purpose: gives an endpoint up until an operator has looked, and tells people, once
-- index: webhook_cursors_pkey, team_clock_pkey, teams_pkey
-- lock: the cursor's row
WITH parked AS (
    UPDATE webhook_cursors AS w
    SET status = 'parked',
        attempts = w.attempts + 1,
        problem = %(problem)s,
        lease_expires_at = '-infinity'
    WHERE w.team_id = %(team_id)s AND w.endpoint = %(endpoint)s AND w.claim_token = %(claim_token)s
      AND w.status = 'delivering'
    RETURNING w.team_id, w.claim_token
)
INSERT INTO alerts (team_id, alert_id, kind, conflict_id, reason, details, raised_at)
SELECT p.team_id, %(alert_id)s::uuid, %(kind)s, %(conflict_id)s::uuid, %(reason)s, %(details)s::jsonb,
       greatest(c.closed_at, coalesce(t.driven_now, statement_timestamp()))
FROM parked AS p
JOIN team_clock AS c ON c.team_id = %(team_id)s
JOIN teams AS t ON t.team_id = %(team_id)s;

-- name: cursors_of_team
-- purpose: how every endpoint of a team stands, for operators
-- index: webhook_cursors_pkey, team_clock_pkey
-- lock: none
SELECT w.endpoint, w.status, w.attempts, w.problem, w.after_revision, c.revision, w.delivered_at, w.next_attempt_at
FROM webhook_cursors AS w
JOIN team_clock AS c ON c.team_id = %(team_id)s
WHERE w.team_id = %(team_id)s
ORDER BY w.endpoint;

-- name: resume_cursor
-- purpose: an operator lets a parked endpoint be told again, from the message that failed, or from the one after it
-- index: webhook_cursors_pkey
-- lock: the cursor's row
UPDATE webhook_cursors AS w
SET status = 'delivering',
    attempts = 0,
    problem = NULL,
    next_attempt_at = '-infinity',
    after_revision = coalesce(%(skip_revision)s::bigint, w.after_revision),
    after_id = coalesce(%(skip_id)s::uuid, w.after_id)
WHERE w.team_id = %(team_id)s AND w.endpoint = %(endpoint)s AND w.status = 'parked'
  AND (%(skip_revision)s::bigint IS NULL
       OR (%(skip_revision)s::bigint, %(skip_id)s::uuid) > (w.after_revision, w.after_id))
RETURNING w.endpoint;

-- name: message_position
-- purpose: the place of a message that an operator names
-- index: case_events_pkey, review_items_history_pkey
-- lock: none
SELECT v.revision
FROM case_events AS v
WHERE v.team_id = %(team_id)s AND v.event_id = %(message_id)s
UNION ALL
SELECT i.revision
FROM review_items_history AS i
WHERE i.team_id = %(team_id)s AND i.item_id = %(message_id)s AND i.version = 1;
