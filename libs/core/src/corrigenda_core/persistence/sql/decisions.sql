-- What a decision of an owner is about, and what a revert has to know of it. A slot's own state is in slots.sql.

-- name: slot_of_item
-- purpose: the slot that an item asks about; an item keeps its slot for good
-- index: review_items_pkey
-- lock: none
SELECT i.subject_id, i.predicate, i.scope, i.owner_id, i.kind
FROM review_items AS i
WHERE i.team_id = %(team_id)s AND i.item_id = %(item_id)s;

-- name: item_by_id
-- purpose: an item whatever its status
-- index: review_items_pkey
-- lock: none
SELECT i.item_id, i.version, i.kind, i.status, i.owner_id, i.reason, i.ingest_id, i.fragment_id, i.statement_id,
       i.incoming, i.opposing, i.details, i.decision_id, i.opened_at
FROM review_items AS i
WHERE i.team_id = %(team_id)s AND i.item_id = %(item_id)s;

-- name: slot_entity_names
-- purpose: how the subject and the objects of a slot are shown
-- index: relationships_slot_idx
-- lock: none
SELECT DISTINCT ON (e.entity_id) e.entity_id, e.kind, n.name
FROM relationships AS r
JOIN entities AS e ON e.team_id = r.team_id AND e.entity_id IN (r.subject_id, r.object_entity_id)
JOIN entity_names AS n ON n.team_id = e.team_id AND n.entity_id = e.entity_id
WHERE r.team_id = %(team_id)s AND r.subject_id = %(subject_id)s AND r.predicate = %(predicate)s
  AND r.scope = %(scope)s
ORDER BY e.entity_id, n.is_primary DESC, n.revision, n.normal_name;

-- name: slot_owner_names
-- purpose: how the owners of a slot are shown
-- index: relationships_slot_idx
-- lock: none
SELECT DISTINCT p.profile_id, p.name
FROM relationships AS r
JOIN profiles AS p ON p.team_id = r.team_id AND p.profile_id = r.owner_id
WHERE r.team_id = %(team_id)s AND r.subject_id = %(subject_id)s AND r.predicate = %(predicate)s
  AND r.scope = %(scope)s;
