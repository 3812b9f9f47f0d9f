-- Stored responses of mutations.

-- name: find_response
-- purpose: whether a key was used, and what was answered then
-- index: idempotency_records_pkey
-- lock: none
SELECT rpc, request_hash, response, revision, recorded_at
FROM idempotency_records
WHERE team_id = %(team_id)s AND profile_id = %(profile_id)s AND idempotency_key = %(idempotency_key)s;

-- name: find_responses
-- purpose: the same for the keys of a batch
-- index: idempotency_records_pkey
-- lock: none
SELECT idempotency_key, rpc, request_hash, response, revision, recorded_at
FROM idempotency_records
WHERE team_id = %(team_id)s AND profile_id = %(profile_id)s AND idempotency_key = ANY(%(idempotency_keys)s);
