-- What an administrator changes: the whole current rows, so that what is written is what enters the ledger.

-- name: team_row
-- purpose: the team's settings and clock
-- index: teams_pkey
-- lock: none
SELECT t.name, t.review_period_days, t.review_start_minute, t.time_zone, t.trusts_declared_groups, t.clock_mode,
       t.driven_now, t.version, t.created_at, t.opened_at
FROM teams AS t
WHERE t.team_id = %(team_id)s;

-- name: profile_by_name
-- purpose: whether a profile's name is taken
-- index: profiles_name_key
-- lock: none
SELECT p.profile_id
FROM profiles AS p
WHERE p.team_id = %(team_id)s AND p.name = %(wanted)s;

-- name: profile_row
-- purpose: one profile
-- index: profiles_pkey
-- lock: none
SELECT p.profile_id, p.name, p.recorded_at
FROM profiles AS p
WHERE p.team_id = %(team_id)s AND p.profile_id = %(profile_id)s;

-- name: profile_count
-- purpose: the total of a list of profiles
-- index: profiles_pkey
-- lock: none
SELECT count(*) AS total
FROM profiles AS p
WHERE p.team_id = %(team_id)s;

-- name: profile_page
-- purpose: a page of profiles by name
-- index: profiles_name_key
-- lock: none
SELECT p.profile_id, p.name, p.recorded_at
FROM profiles AS p
WHERE p.team_id = %(team_id)s AND p.name > %(after)s
ORDER BY p.name
LIMIT %(limit)s;

-- name: key_row
-- purpose: one key
-- index: api_keys_pkey
-- lock: none
SELECT k.key_id, k.profile_id, k.label, k.key_hash, k.scopes, k.created_at, k.expires_at, k.revoked_at,
       k.replaces_key_id
FROM api_keys AS k
WHERE k.team_id = %(team_id)s AND k.key_id = %(key_id)s;

-- name: slots_to_scan
-- purpose: the next slots of a predicate, or of all, behind a place in their order
-- index: relationships_slot_idx
-- lock: none
SELECT r.subject_id, r.predicate, r.scope
FROM relationships AS r
WHERE r.team_id = %(team_id)s AND (r.subject_id, r.predicate, r.scope) > (%(subject_id)s::uuid, %(after)s, %(scope)s)
  AND (%(predicate)s = '' OR r.predicate = %(predicate)s)
GROUP BY r.subject_id, r.predicate, r.scope
ORDER BY r.subject_id, r.predicate, r.scope
LIMIT %(limit)s;

-- name: slot_count
-- purpose: how many slots of a predicate, or of all, there are
-- index: relationships_slot_idx
-- lock: none
SELECT count(*) AS total
FROM (
    SELECT DISTINCT r.subject_id, r.predicate, r.scope
    FROM relationships AS r
    WHERE r.team_id = %(team_id)s AND (%(predicate)s = '' OR r.predicate = %(predicate)s)
) AS slots;

-- name: key_predecessor
-- purpose: the key that a key replaced
-- index: api_keys_pkey
-- lock: none
SELECT k.key_id, k.profile_id, k.label, k.key_hash, k.scopes, k.created_at, k.expires_at, k.revoked_at,
       k.replaces_key_id
FROM api_keys AS s
JOIN api_keys AS k ON k.team_id = %(team_id)s AND k.key_id = s.replaces_key_id
WHERE s.team_id = %(team_id)s AND s.key_id = %(key_id)s;

-- name: key_successor
-- purpose: the key that replaced a key; at most one
-- index: api_keys_replaces_key_id_key
-- lock: none
SELECT k.key_id
FROM api_keys AS k
WHERE k.team_id = %(team_id)s AND k.replaces_key_id = %(key_id)s;

-- name: key_count
-- purpose: the total of a list of keys
-- index: api_keys_pkey
-- lock: none
SELECT count(*) AS total
FROM api_keys AS k
WHERE k.team_id = %(team_id)s
  AND (%(profile_id)s::uuid IS NULL OR k.profile_id = %(profile_id)s)
  AND (%(live_at)s::timestamptz IS NULL OR (k.revoked_at = 'infinity' AND k.expires_at > %(live_at)s));

-- name: key_page
-- purpose: a page of keys, the oldest first, never with their hashes
-- index: api_keys_pkey
-- lock: none
SELECT k.key_id, k.profile_id, k.label, k.scopes, k.created_at, k.expires_at, k.revoked_at, k.replaces_key_id
FROM api_keys AS k
WHERE k.team_id = %(team_id)s AND k.key_id > %(after)s
  AND (%(profile_id)s::uuid IS NULL OR k.profile_id = %(profile_id)s)
  AND (%(live_at)s::timestamptz IS NULL OR (k.revoked_at = 'infinity' AND k.expires_at > %(live_at)s))
ORDER BY k.key_id
LIMIT %(limit)s;

-- name: alert_count
-- purpose: the total of a list of alerts
-- index: alerts_raised_at_idx
-- lock: none
SELECT count(*) AS total
FROM alerts AS a
WHERE a.team_id = %(team_id)s;

-- name: alert_page
-- purpose: a page of alerts, the latest first
-- index: alerts_raised_at_idx
-- lock: none
SELECT a.alert_id, a.kind, a.conflict_id, a.reason, a.raised_at
FROM alerts AS a
WHERE a.team_id = %(team_id)s AND (a.raised_at, a.alert_id) < (%(before)s, %(before_id)s::uuid)
ORDER BY a.raised_at DESC, a.alert_id DESC
LIMIT %(limit)s;

-- name: predicate_row
-- purpose: the current version of a predicate
-- index: predicates_pkey
-- lock: none
SELECT p.predicate, p.version, p.aliases, p.subject_kinds, p.object_kinds, p.value_types, p.unit, p.relationship_kind,
       p.current_cardinality, p.supersession_basis, p.same_moment_policy, p.start_granularity, p.pii_class,
       p.review_after_days, p.lifecycle
FROM predicates AS p
WHERE p.team_id = %(team_id)s AND p.predicate = %(predicate)s;

-- name: alias_rows
-- purpose: aliases that a predicate has, those that equal a form it wants to be known by, and what they mean
-- index: predicate_aliases_pkey
-- lock: none
SELECT a.alias, a.predicate, a.active
FROM predicate_aliases AS a
WHERE a.team_id = %(team_id)s AND (a.alias = ANY(%(forms)s) OR a.predicate = %(predicate)s)
ORDER BY a.alias;

-- name: keys_taken
-- purpose: which of the forms are keys of predicates
-- index: predicates_pkey
-- lock: none
SELECT p.predicate
FROM predicates AS p
WHERE p.team_id = %(team_id)s AND p.predicate = ANY(%(forms)s)
ORDER BY p.predicate;
