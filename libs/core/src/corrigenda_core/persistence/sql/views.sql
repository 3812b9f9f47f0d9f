-- Which commit a view shows. Answered in the first round trip of a read, by the snapshot that answers the rest.

-- name: last_moment
-- purpose: the team's last commit: what is known now
-- index: ledger_pkey
-- lock: none
SELECT l.revision, l.recorded_at
FROM ledger AS l
WHERE l.team_id = %(team_id)s
ORDER BY l.revision DESC
LIMIT 1;

-- name: last_moment_by
-- purpose: the last commit at or before an instant
-- index: ledger_recorded_at_key
-- lock: none
SELECT l.revision, l.recorded_at
FROM ledger AS l
WHERE l.team_id = %(team_id)s AND l.recorded_at <= %(known_at)s
ORDER BY l.recorded_at DESC
LIMIT 1;

-- name: moments_up_to
-- purpose: a commit by its number, and the team's last one, which says whether there is such a number
-- index: ledger_pkey
-- lock: none
SELECT l.revision, l.recorded_at
FROM ledger AS l
WHERE l.team_id = %(team_id)s
  AND (l.revision = %(revision)s
       OR l.revision = (SELECT max(n.revision) FROM ledger AS n WHERE n.team_id = %(team_id)s))
ORDER BY l.revision;
