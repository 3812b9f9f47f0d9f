-- The team's clock. Every commit locks its row before anything else (one lock order, so no deadlock inside a team).

-- name: lock_clock
-- purpose: takes the team's turn to commit; also bounds how long a writer that went to sleep may keep it, and says how
--          the statements that follow are planned
-- index: team_clock_pkey
-- lock: team_clock row, first in every commit
SELECT c.revision, c.closed_at, c.ledger_head,
    set_config('idle_in_transaction_session_timeout', %(idle_timeout)s, true) AS idle_timeout,
    set_config('plan_cache_mode', %(plan_cache_mode)s, true) AS plan_cache_mode,
    set_config('enable_seqscan', %(seqscan)s, true) AS seqscan
FROM team_clock AS c
WHERE c.team_id = %(team_id)s
FOR UPDATE;

-- name: read_clock
-- purpose: the clock as a reader's snapshot has it; also says how the statements that follow are planned
-- index: team_clock_pkey
-- lock: none
SELECT c.revision, c.closed_at, c.ledger_head,
    set_config('plan_cache_mode', %(plan_cache_mode)s, true) AS plan_cache_mode,
    set_config('enable_seqscan', %(seqscan)s, true) AS seqscan
FROM team_clock AS c
WHERE c.team_id = %(team_id)s;

-- name: read_time
-- purpose: the team's time, read in a statement of its own after the lock
-- index: teams_pkey
-- lock: none
SELECT clock_timestamp() AS database_time, t.driven_now
FROM teams AS t
WHERE t.team_id = %(team_id)s;

-- name: advance_clock
-- purpose: moves the clock to the last revision of a commit; fails, by a division, if it is not where it was locked
-- index: team_clock_pkey
-- lock: team_clock row, held since lock_clock
WITH written AS (
    UPDATE team_clock AS c
    SET revision = %(revision)s, closed_at = %(closed_at)s, ledger_head = %(ledger_head)s
    WHERE c.team_id = %(team_id)s AND c.revision = %(prior_revision)s
    RETURNING 1
)
SELECT 1 / count(*) AS written FROM written;

-- name: settle_instant
-- purpose: closes an instant so that no later commit is recorded at or before it
-- index: none
-- lock: team_clock row, inside the definer function
SELECT close_instant(%(instant)s) AS closed_at;
