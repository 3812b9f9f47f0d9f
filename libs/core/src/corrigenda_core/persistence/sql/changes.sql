-- The committed revisions of a team, as the hash chain tells them.

-- name: changes_after
-- purpose: the revisions after one, up to that of the view
-- index: ledger_pkey
-- lock: none
SELECT l.revision, l.recorded_at, l.actor_kind, l.actor_profile_id, p.name AS actor_name, l.change_kind, l.prior_hash,
       l.change_hash, l.hash
FROM ledger AS l
LEFT JOIN profiles AS p ON p.team_id = %(team_id)s AND p.profile_id = l.actor_profile_id
WHERE l.team_id = %(team_id)s AND l.revision > %(after)s AND l.revision <= %(revision)s
ORDER BY l.revision
LIMIT %(limit)s;
