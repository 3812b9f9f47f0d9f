-- What a judge works on, and what it is shown beside the slot itself.

-- name: living_of_subject
-- purpose: the living rows of one owner about a subject, the latest recorded first
-- index: relationships_slot_idx
-- lock: none
SELECT r.relationship_id, r.version, r.owner_id, r.subject_id, r.predicate, r.scope, r.facet, r.object_entity_id,
       r.value_type, r.value_canonical, r.value_unit, r.value_display, r.polarity, r.valid_from, r.valid_to,
       r.valid_from = r.valid_to AS closed_to_nothing, r.valid_from_basis, r.valid_to_basis, r.status, r.tier, r.record,
       r.slot_exclusive, r.event, r.revision, r.recorded_at, r.first_recorded_at
FROM relationships AS r
WHERE r.team_id = %(team_id)s AND r.subject_id = %(subject_id)s AND r.owner_id = %(owner_id)s
  AND r.status IN ('active', 'competing', 'superseded') AND r.valid_from < r.valid_to
ORDER BY r.recorded_at DESC, r.relationship_id
LIMIT %(limit)s;

-- name: pending_pairs
-- purpose: the questions of an owner about relationships that wait, the oldest first
-- index: review_items_owner_id_idx
-- lock: none
SELECT i.item_id
FROM review_items AS i
WHERE i.team_id = %(team_id)s AND i.owner_id = %(owner_id)s AND i.status = 'pending' AND i.kind = 'relationship'
ORDER BY i.opened_at, i.item_id
LIMIT %(limit)s;

-- name: looks_at_item
-- purpose: what a judge has said of a question that changed nothing
-- index: decisions_item_id_idx
-- lock: none
SELECT d.decision_id, d.kind, d.actor_kind, d.actor_profile_id, d.item_id, d.item_version, d.target_ids,
       d.kept_relationship_id, d.statement_ids, d.reverts_decision_id, d.idempotency_key, d.reason, d.details,
       d.recorded_at
FROM decisions AS d
WHERE d.team_id = %(team_id)s AND d.item_id = %(item_id)s AND d.item_id IS NOT NULL
  AND d.kind IN ('unsure', 'contradicts')
ORDER BY d.recorded_at;
