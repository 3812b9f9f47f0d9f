-- Keys before their team is known: through the definer function alone, which returns ids and no content.

-- name: find_key
-- purpose: whose key this is; the function reads api_keys_key_id_idx
-- index: none
-- lock: none
SELECT a.key_id, a.team_id, a.profile_id, a.scopes, a.expires_at, a.revoked_at
FROM authenticate(%(key_id)s::uuid, %(key_hash)s::bytea) AS a;

-- name: is_there
-- purpose: whether the database answers
-- index: none
-- lock: none
SELECT 1 AS one;
