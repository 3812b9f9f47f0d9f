-- Cases and items as they were known at an instant: history rows with recorded_from <= at < recorded_to. Filters that
-- are not asked for are NULL.

-- name: cases_in_view
-- purpose: cases as they were known
-- index: conflict_cases_history_pkey
-- lock: none
SELECT k.conflict_id, k.kind, k.subject_id, k.predicate, k.scope, k.object_key, k.status, k.version, k.opened_at,
       k.review_due_at, k.first_contradiction_at, k.resolved_at, k.dismissed_at, k.effective_at,
       k.effective_time_basis, k.preferred_position_id, k.resolution_reason, k.policy_version, k.previous_conflict_id,
       l.next_review_at, l.claim_token, l.lease_expires_at, l.attempts, l.last_evaluated_at
FROM conflict_cases_history AS k
LEFT JOIN case_lease AS l ON l.team_id = %(team_id)s AND l.conflict_id = k.conflict_id
WHERE k.team_id = %(team_id)s AND k.conflict_id = ANY(%(conflict_ids)s)
  AND k.recorded_from <= %(at)s AND k.recorded_to > %(at)s;

-- name: positions_in_view
-- purpose: their positions as they were known
-- index: case_positions_history_pkey
-- lock: none
SELECT p.conflict_id, p.position_id, p.position_key, p.present, p.counted_groups, p.authoritative_groups,
       p.support_digest, p.first_seen_at, p.last_seen_at
FROM case_positions_history AS p
WHERE p.team_id = %(team_id)s AND p.conflict_id = ANY(%(conflict_ids)s)
  AND p.recorded_from <= %(at)s AND p.recorded_to > %(at)s
ORDER BY p.conflict_id, p.position_key;

-- name: members_in_view
-- purpose: their members as they were known, each with its row as it was known
-- index: case_members_history_pkey
-- lock: none
SELECT m.conflict_id, m.position_id, m.relationship_version, r.relationship_id, r.version, r.owner_id, r.subject_id,
       r.predicate, r.scope, r.facet, r.object_entity_id, r.value_type, r.value_canonical, r.value_unit,
       r.value_display, r.polarity, r.valid_from, r.valid_to, r.valid_from = r.valid_to AS closed_to_nothing,
       r.valid_from_basis, r.valid_to_basis, r.status, r.tier, r.record, r.slot_exclusive, r.event, r.revision,
       r.recorded_from AS recorded_at, r.first_recorded_at, f.name AS owner_name
FROM case_members_history AS m
JOIN relationships_history AS r
  ON r.team_id = %(team_id)s AND r.relationship_id = m.relationship_id
 AND r.recorded_from <= %(at)s AND r.recorded_to > %(at)s
JOIN profiles AS f ON f.team_id = %(team_id)s AND f.profile_id = r.owner_id
WHERE m.team_id = %(team_id)s AND m.conflict_id = ANY(%(conflict_ids)s) AND m.present
  AND m.recorded_from <= %(at)s AND m.recorded_to > %(at)s
ORDER BY m.conflict_id, m.position_id, r.relationship_id;

-- name: events_of_case
-- purpose: a page of a case's events as they were known
-- index: case_events_conflict_id_idx
-- lock: none
SELECT v.event_id, v.prior_status, v.resulting_status, v.version, v.actor_kind, v.actor_profile_id,
       p.name AS actor_name, v.action, v.reason, v.policy_version, v.time_basis, v.relationship_ids,
       v.relationship_versions, v.revision, v.recorded_at
FROM case_events AS v
LEFT JOIN profiles AS p ON p.team_id = %(team_id)s AND p.profile_id = v.actor_profile_id
WHERE v.team_id = %(team_id)s AND v.conflict_id = %(conflict_id)s AND v.revision <= %(revision)s
  AND (v.revision, v.event_id) > (%(after)s, %(after_id)s::uuid)
ORDER BY v.revision, v.event_id
LIMIT %(limit)s;

-- name: event_count
-- purpose: how many events of a case were known
-- index: case_events_conflict_id_idx
-- lock: none
SELECT count(*) AS total
FROM case_events AS v
WHERE v.team_id = %(team_id)s AND v.conflict_id = %(conflict_id)s AND v.revision <= %(revision)s;

-- name: items_in_view
-- purpose: items as they were known
-- index: review_items_history_pkey
-- lock: none
SELECT i.item_id, i.version, i.kind, i.status, i.owner_id, i.reason, i.ingest_id, i.fragment_id, i.statement_id,
       i.subject_id, i.predicate, i.scope, i.incoming, i.opposing, i.details, i.opened_at, i.revision,
       o.predicate_phrase
FROM review_items_history AS i
LEFT JOIN observations AS o ON o.team_id = %(team_id)s AND o.observation_id = i.statement_id
WHERE i.team_id = %(team_id)s AND i.item_id = ANY(%(item_ids)s)
  AND i.recorded_from <= %(at)s AND i.recorded_to > %(at)s;

-- name: relationships_in_view
-- purpose: the relationships that items show, as they were known
-- index: relationships_history_pkey
-- lock: none
SELECT r.relationship_id, r.version, r.owner_id, r.subject_id, r.predicate, r.scope, r.facet, r.object_entity_id,
       r.value_type, r.value_canonical, r.value_unit, r.value_display, r.polarity, r.valid_from, r.valid_to,
       r.valid_from = r.valid_to AS closed_to_nothing, r.valid_from_basis, r.valid_to_basis, r.status, r.tier,
       r.record, r.slot_exclusive, r.event, r.revision, r.recorded_from AS recorded_at, r.first_recorded_at,
       f.name AS owner_name
FROM relationships_history AS r
JOIN profiles AS f ON f.team_id = %(team_id)s AND f.profile_id = r.owner_id
WHERE r.team_id = %(team_id)s AND r.relationship_id = ANY(%(relationship_ids)s)
  AND r.recorded_from <= %(at)s AND r.recorded_to > %(at)s;
