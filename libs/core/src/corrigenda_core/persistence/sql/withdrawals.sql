-- What a restored backup must not bring back: texts that were erased, keys that were ended.

-- name: erasures_of_every_team
-- purpose: what the operator keeps beside the backups; for the auditor's role, which sees every team
-- index: none
-- lock: none
SELECT e.team_id, e.erasure_id, e.fragment_id, e.fragment_ids, e.erased_by, e.reason
FROM erasures AS e
ORDER BY e.team_id, e.revision;

-- name: ended_keys_of_every_team
-- purpose: the same, of keys that were revoked or that a rotation lets end
-- index: none
-- lock: none
SELECT k.team_id, k.key_id, least(k.revoked_at, k.expires_at) AS ends_at
FROM api_keys AS k
WHERE least(k.revoked_at, k.expires_at) < 'infinity'
ORDER BY k.team_id, k.key_id;

-- name: restored_fragments
-- purpose: which fragments of an erasure a backup has brought back
-- index: evidence_fragments_pkey
-- lock: none
SELECT f.fragment_id
FROM evidence_fragments AS f
WHERE f.team_id = %(team_id)s AND f.fragment_id = ANY (%(fragment_ids)s::uuid[]) AND f.erasure_id IS NULL
ORDER BY f.fragment_id;

-- name: acting_profile
-- purpose: in whose name it is done again: who did it, or the team's first profile if the backup is older than that one
-- index: profiles_pkey
-- lock: none
SELECT p.profile_id
FROM profiles AS p
WHERE p.team_id = %(team_id)s
ORDER BY p.profile_id IS NOT DISTINCT FROM %(wanted)s::uuid DESC, p.profile_id
LIMIT 1;
