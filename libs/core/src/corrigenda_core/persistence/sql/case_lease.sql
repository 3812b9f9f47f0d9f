-- When a case is looked at next. Leases are no revisions: none of this enters the ledger.

-- name: look_anew
-- purpose: a risen case version resets attempts and lease; the token rises, so that a look under way commits nothing
-- index: case_lease_pkey
-- lock: the lease's row
INSERT INTO case_lease (team_id, conflict_id, next_review_at, claim_token, lease_expires_at, attempts)
VALUES (%(team_id)s, %(conflict_id)s, %(next_review_at)s, 0, '-infinity', 0)
ON CONFLICT (team_id, conflict_id) DO UPDATE
SET next_review_at = excluded.next_review_at,
    claim_token = case_lease.claim_token + 1,
    lease_expires_at = '-infinity',
    attempts = 0;

-- name: look_again
-- purpose: the same for a case that loses a member to another one's resolution, by the role that opens no cases
-- index: case_lease_pkey
-- lock: the lease's row
UPDATE case_lease AS l
SET next_review_at = %(next_review_at)s,
    claim_token = l.claim_token + 1,
    lease_expires_at = '-infinity',
    attempts = 0
WHERE l.team_id = %(team_id)s AND l.conflict_id = %(conflict_id)s;
