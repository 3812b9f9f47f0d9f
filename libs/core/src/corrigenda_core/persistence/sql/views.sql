-- Between revisions and their times: the ledger holds one row per revision.

-- name: revision_at
-- purpose: the last revision that was recorded at or before an instant; 0 before the first
-- index: ledger_recorded_at_key
-- lock: none
SELECT coalesce(
    (SELECT l.revision
     FROM ledger AS l
     WHERE l.team_id = %(team_id)s AND l.recorded_at <= %(at)s
     ORDER BY l.recorded_at DESC
     LIMIT 1),
    0
) AS revision;

-- name: time_of_revision
-- purpose: when a revision was recorded
-- index: ledger_pkey
-- lock: none
SELECT l.recorded_at
FROM ledger AS l
WHERE l.team_id = %(team_id)s AND l.revision = %(revision)s;
