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
JOIN entities AS e ON e.team_id = %(team_id)s AND e.entity_id IN (r.subject_id, r.object_entity_id)
JOIN entity_names AS n ON n.team_id = %(team_id)s AND n.entity_id = e.entity_id
WHERE r.team_id = %(team_id)s AND r.subject_id = %(subject_id)s AND r.predicate = %(predicate)s
  AND r.scope = %(scope)s
ORDER BY e.entity_id, n.is_primary DESC, n.revision, n.normal_name;

-- name: slot_owner_names
-- purpose: how the owners of a slot are shown
-- index: relationships_slot_idx
-- lock: none
SELECT DISTINCT p.profile_id, p.name
FROM relationships AS r
JOIN profiles AS p ON p.team_id = %(team_id)s AND p.profile_id = r.owner_id
WHERE r.team_id = %(team_id)s AND r.subject_id = %(subject_id)s AND r.predicate = %(predicate)s
  AND r.scope = %(scope)s;

-- name: slots_of_decision
-- purpose: whose decision it is, and the slots that it touched: by its rows, by its entries, or by its item
-- index: decisions_pkey
-- lock: none
SELECT d.actor_profile_id AS owner_id, d.kind, s.subject_id, s.predicate, s.scope
FROM decisions AS d
LEFT JOIN LATERAL (
    SELECT r.subject_id, r.predicate, r.scope
    FROM transitions AS t
    JOIN relationships AS r ON r.team_id = %(team_id)s AND r.relationship_id = t.relationship_id
    WHERE t.team_id = %(team_id)s AND t.decision_id = d.decision_id
    UNION
    SELECT n.subject_id, n.predicate, n.scope
    FROM timeline_decisions AS e
    JOIN statements AS n ON n.team_id = %(team_id)s AND n.statement_id = e.statement_id
    WHERE e.team_id = %(team_id)s AND e.decision_id = d.decision_id AND n.revision <= d.revision
      -- Where it was when it was decided about: a statement that was moved since stands elsewhere now.
      AND NOT EXISTS (
          SELECT 1
          FROM statements AS o
          WHERE o.team_id = %(team_id)s AND o.statement_id = n.statement_id AND o.revision > n.revision
            AND o.revision <= d.revision
      )
    UNION
    SELECT i.subject_id, i.predicate, i.scope
    FROM review_items AS i
    WHERE i.team_id = %(team_id)s AND i.item_id = d.item_id AND i.subject_id IS NOT NULL
) AS s ON true
WHERE d.team_id = %(team_id)s AND d.decision_id = %(decision_id)s;

-- name: past_decision
-- purpose: a decision with the revisions that are its parts (its own, and of what was placed with it), and its undo
-- index: decisions_pkey
-- lock: none
SELECT d.decision_id, d.kind, d.actor_kind, d.actor_profile_id, d.item_id, d.item_version, d.target_ids,
       d.kept_relationship_id, d.statement_ids, d.reverts_decision_id, d.idempotency_key, d.reason, d.details,
       d.revision, d.recorded_at,
       ARRAY(
           SELECT min(n.revision)
           FROM statements AS n
           WHERE n.team_id = %(team_id)s AND n.statement_id = ANY(d.statement_ids)
           GROUP BY n.statement_id
       ) AS placed_revisions,
       (
           SELECT v.decision_id
           FROM decisions AS v
           WHERE v.team_id = %(team_id)s AND v.reverts_decision_id = d.decision_id
       ) AS reverted_by
FROM decisions AS d
WHERE d.team_id = %(team_id)s AND d.decision_id = %(decision_id)s;

-- name: past_transitions
-- purpose: every lifecycle change of a slot's rows, in the order of recording
-- index: relationships_slot_idx
-- lock: none
SELECT t.transition_id, t.relationship_id, t.version, t.resulting_status, t.resulting_tier, t.resulting_facet,
       t.resulting_valid_from, t.resulting_valid_to,
       t.resulting_valid_from = t.resulting_valid_to AS resulting_closed_to_nothing, t.resulting_valid_from_basis,
       t.resulting_valid_to_basis, t.actor_kind, t.actor_profile_id, t.reason, t.decision_id, t.conflict_id, t.revision
FROM relationships AS r
JOIN transitions AS t ON t.team_id = %(team_id)s AND t.relationship_id = r.relationship_id
WHERE r.team_id = %(team_id)s AND r.subject_id = %(subject_id)s AND r.predicate = %(predicate)s
  AND r.scope = %(scope)s
ORDER BY t.revision, t.transition_id;

-- name: past_references
-- purpose: the references from a slot's rows with the revision that wrote each
-- index: relationships_slot_idx
-- lock: none
SELECT x.reference_id, x.revision
FROM relationships AS r
JOIN cross_references AS x ON x.team_id = %(team_id)s AND x.source_id = r.relationship_id
WHERE r.team_id = %(team_id)s AND r.subject_id = %(subject_id)s AND r.predicate = %(predicate)s
  AND r.scope = %(scope)s
ORDER BY x.reference_id;

-- name: past_carriages
-- purpose: which row has carried each statement of a slot, and from which revision on
-- index: statements_slot_idx
-- lock: none
SELECT DISTINCT c.statement_id, c.relationship_id, c.revision
FROM statements AS s
JOIN carriages AS c ON c.team_id = %(team_id)s AND c.statement_id = s.statement_id
WHERE s.team_id = %(team_id)s AND s.subject_id = %(subject_id)s AND s.predicate = %(predicate)s
  AND s.scope = %(scope)s
ORDER BY c.revision, c.statement_id;

-- name: past_items
-- purpose: every version of the questions of a slot
-- index: review_items_slot_idx
-- lock: none
SELECT h.item_id, h.version, h.kind, h.status, h.owner_id, h.reason, h.ingest_id, h.fragment_id, h.statement_id,
       h.incoming, h.opposing, h.details, h.decision_id, h.opened_at, h.revision
FROM review_items AS i
JOIN review_items_history AS h ON h.team_id = %(team_id)s AND h.item_id = i.item_id
WHERE i.team_id = %(team_id)s AND i.subject_id = %(subject_id)s AND i.predicate = %(predicate)s
  AND i.scope = %(scope)s
ORDER BY h.revision, h.item_id;

-- name: slot_of_relationship
-- purpose: the slot of a relationship, which it keeps for good, and its owner
-- index: relationships_pkey
-- lock: none
SELECT r.owner_id, r.subject_id, r.predicate, r.scope
FROM relationships AS r
WHERE r.team_id = %(team_id)s AND r.relationship_id = %(relationship_id)s;

-- name: slots_of_fragment
-- purpose: the slots in which a text supports statements of a profile that nothing has taken out; empty if none
-- index: evidence_fragments_pkey
-- lock: none
SELECT f.author_id AS owner_id, s.subject_id, s.predicate, s.scope
FROM evidence_fragments AS f
LEFT JOIN LATERAL (
    SELECT DISTINCT n.subject_id, n.predicate, n.scope
    FROM supports AS p
    JOIN statements AS n ON n.team_id = %(team_id)s AND n.statement_id = p.statement_id
    WHERE p.team_id = %(team_id)s AND p.fragment_id = f.fragment_id AND n.owner_id = %(profile_id)s
      AND NOT EXISTS (
          SELECT 1
          FROM statements AS m
          WHERE m.team_id = %(team_id)s AND m.statement_id = n.statement_id AND m.revision > n.revision
      )
      AND (
          SELECT d.kind
          FROM support_decisions AS d
          WHERE d.team_id = %(team_id)s AND d.support_id = p.support_id
          ORDER BY d.revision DESC
          LIMIT 1
      ) <> 'revoke'
      AND NOT EXISTS (
          SELECT 1
          FROM timeline_decisions AS e
          WHERE e.team_id = %(team_id)s AND e.statement_id = n.statement_id AND e.kind = 'removal'
            AND NOT EXISTS (
                SELECT 1
                FROM decisions AS v
                WHERE v.team_id = %(team_id)s AND v.reverts_decision_id = e.decision_id
            )
      )
) AS s ON true
WHERE f.team_id = %(team_id)s AND f.fragment_id = %(fragment_id)s;

-- name: changed_by_decision
-- purpose: the relationships that a decision changed
-- index: transitions_decision_id_idx
-- lock: none
SELECT DISTINCT t.relationship_id
FROM transitions AS t
WHERE t.team_id = %(team_id)s AND t.decision_id = %(decision_id)s;

-- name: cases_changed
-- purpose: the cases of a slot that some revisions changed
-- index: conflict_cases_slot_idx
-- lock: none
SELECT DISTINCT h.conflict_id
FROM conflict_cases AS k
JOIN conflict_cases_history AS h ON h.team_id = %(team_id)s AND h.conflict_id = k.conflict_id
WHERE k.team_id = %(team_id)s AND k.subject_id = %(subject_id)s AND k.predicate = %(predicate)s
  AND k.scope = %(scope)s AND h.revision BETWEEN %(first_revision)s AND %(last_revision)s;
