-- What a judge is shown beside the slot itself.

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
