-- What a planner reads of one slot, all owners together. Every statement takes the same four parameters and is sent in
-- the first round trip of a commit, after the clock row's lock, so nothing here can change before the commit ends.

-- name: slot_relationships
-- purpose: the current rows of a slot
-- index: relationships_slot_idx
-- lock: none
SELECT r.relationship_id, r.version, r.owner_id, r.subject_id, r.predicate, r.scope, r.facet, r.object_entity_id,
       r.value_type, r.value_canonical, r.value_unit, r.value_display, r.polarity, r.valid_from, r.valid_to,
       r.valid_from = r.valid_to AS closed_to_nothing, r.valid_from_basis, r.valid_to_basis, r.status, r.tier, r.record,
       r.slot_exclusive, r.event, r.revision, r.recorded_at, r.first_recorded_at
FROM relationships AS r
WHERE r.team_id = %(team_id)s AND r.subject_id = %(subject_id)s AND r.predicate = %(predicate)s
  AND r.scope = %(scope)s
ORDER BY r.relationship_id;

-- name: slot_statements
-- purpose: the statements of a slot with the row that carries each now
-- index: statements_slot_idx
-- lock: none
SELECT s.statement_id, s.owner_id, s.object_entity_id, s.value_type, s.value_canonical, s.value_unit, s.value_display,
       s.polarity, s.start_at, s.start_from, s.start_to, s.start_basis, s.end_at, s.end_from, s.end_to, s.end_basis,
       s.stated_start, f.recorded_at, s.sequence, s.record, s.source, c.relationship_id
FROM statements AS s
-- A statement that was bound anew was recorded when it was bound first.
CROSS JOIN LATERAL (
    SELECT f.recorded_at
    FROM statements AS f
    WHERE f.team_id = %(team_id)s AND f.statement_id = s.statement_id
    ORDER BY f.revision
    LIMIT 1
) AS f
CROSS JOIN LATERAL (
    SELECT c.relationship_id
    FROM carriages AS c
    WHERE c.team_id = %(team_id)s AND c.statement_id = s.statement_id
    ORDER BY c.revision DESC
    LIMIT 1
) AS c
WHERE s.team_id = %(team_id)s AND s.subject_id = %(subject_id)s AND s.predicate = %(predicate)s
  AND s.scope = %(scope)s
  -- A statement that was bound anew lives in its newest row alone.
  AND NOT EXISTS (
      SELECT 1
      FROM statements AS n
      WHERE n.team_id = %(team_id)s AND n.statement_id = s.statement_id AND n.revision > s.revision
  )
ORDER BY s.sequence;

-- name: slot_supports
-- purpose: the supports of a slot's statements, each with its last decision and what counting witnesses reads
-- index: statements_slot_idx
-- lock: none
SELECT p.support_id, p.statement_id, c.relationship_id, p.fragment_id, p.span_starts, p.span_ends,
       p.adopted_from_fragment_id, p.evidence_from, p.evidence_to, p.evidence_verified, p.recorded_at, d.kind,
       d.authority, f.author_id, f.source_group, f.source_key, f.inherited_labels, f.normal_sha256,
       f.derived_from_fragment_ids, p.near_duplicate_fragment_ids, f.occurred_at, f.erasure_id IS NOT NULL AS erased,
       EXISTS (
           SELECT 1
           FROM fragment_retirements AS r
           WHERE r.team_id = %(team_id)s AND r.fragment_id = p.fragment_id
       ) AS retired
FROM statements AS s
JOIN supports AS p ON p.team_id = %(team_id)s AND p.statement_id = s.statement_id
JOIN evidence_fragments AS f ON f.team_id = %(team_id)s AND f.fragment_id = p.fragment_id
CROSS JOIN LATERAL (
    SELECT d.kind, d.authority
    FROM support_decisions AS d
    WHERE d.team_id = %(team_id)s AND d.support_id = p.support_id
    ORDER BY d.revision DESC
    LIMIT 1
) AS d
CROSS JOIN LATERAL (
    SELECT c.relationship_id
    FROM carriages AS c
    WHERE c.team_id = %(team_id)s AND c.statement_id = s.statement_id
    ORDER BY c.revision DESC
    LIMIT 1
) AS c
WHERE s.team_id = %(team_id)s AND s.subject_id = %(subject_id)s AND s.predicate = %(predicate)s
  AND s.scope = %(scope)s
  AND NOT EXISTS (
      SELECT 1
      FROM statements AS n
      WHERE n.team_id = %(team_id)s AND n.statement_id = s.statement_id AND n.revision > s.revision
  )
ORDER BY p.support_id;

-- name: slot_closings
-- purpose: the closings that stand in a slot; each stands on its transition
-- index: relationships_slot_idx
-- lock: none
SELECT coalesce(t.decision_id, t.conflict_id) AS decision_id, t.transition_id, t.relationship_id, t.closing_at, t.closing_facet, t.closing_object_key,
       t.closing_polarity, t.closing_statement_ids, t.closing_made_for, t.closing_conditional, t.time_basis, t.conflict_id
FROM relationships AS r
JOIN transitions AS t ON t.team_id = %(team_id)s AND t.relationship_id = r.relationship_id
WHERE r.team_id = %(team_id)s AND r.subject_id = %(subject_id)s AND r.predicate = %(predicate)s
  AND r.scope = %(scope)s AND t.closing_at IS NOT NULL
  AND NOT EXISTS (
      SELECT 1
      FROM decisions AS v
      WHERE v.team_id = %(team_id)s AND v.reverts_decision_id = t.decision_id
  )
ORDER BY t.revision, t.transition_id;

-- name: slot_decisions
-- purpose: what standing decisions say to the fold; a decision stands until another one reverts it
-- index: statements_slot_idx
-- lock: none
SELECT DISTINCT d.decision_id, d.entry, d.kind, d.statement_id, d.removal_reason, d.facet, d.start_at, d.start_basis,
       d.other_statement_id, d.reopened_decision_id, d.reopened_relationship_id, d.closing_relationship_id, d.closing_at, d.closing_facet, d.closing_object_key,
       d.closing_polarity, d.closing_statement_ids, d.closing_made_for, d.closing_conditional, d.closing_basis
FROM statements AS s
JOIN timeline_decisions AS d ON d.team_id = %(team_id)s AND d.statement_id = s.statement_id
WHERE s.team_id = %(team_id)s AND s.subject_id = %(subject_id)s AND s.predicate = %(predicate)s
  AND s.scope = %(scope)s
  AND NOT EXISTS (
      SELECT 1
      FROM statements AS n
      WHERE n.team_id = %(team_id)s AND n.statement_id = s.statement_id AND n.revision > s.revision
  )
  AND NOT EXISTS (
      SELECT 1
      FROM decisions AS r
      WHERE r.team_id = %(team_id)s AND r.reverts_decision_id = d.decision_id
  )
ORDER BY d.decision_id, d.entry;

-- name: slot_references
-- purpose: the references from and to the rows of a slot, with whether they stand
-- index: relationships_slot_idx
-- lock: none
SELECT DISTINCT x.reference_id, x.kind, x.source_id, x.target_id, x.decision_id, coalesce(d.active, true) AS active
FROM relationships AS r
JOIN cross_references AS x
  ON x.team_id = %(team_id)s AND (x.source_id = r.relationship_id OR x.target_id = r.relationship_id)
LEFT JOIN LATERAL (
    SELECT d.active
    FROM reference_decisions AS d
    WHERE d.team_id = %(team_id)s AND d.reference_id = x.reference_id
    ORDER BY d.revision DESC
    LIMIT 1
) AS d ON true
WHERE r.team_id = %(team_id)s AND r.subject_id = %(subject_id)s AND r.predicate = %(predicate)s
  AND r.scope = %(scope)s
ORDER BY x.reference_id;

-- name: slot_items
-- purpose: the questions of a slot that are pending, or that can be pending again
-- index: review_items_slot_idx
-- lock: none
SELECT i.item_id, i.version, i.kind, i.status, i.owner_id, i.reason, i.ingest_id, i.fragment_id, i.statement_id, i.incoming, i.opposing, i.details,
       i.decision_id, i.opened_at
FROM review_items AS i
WHERE i.team_id = %(team_id)s AND i.subject_id = %(subject_id)s AND i.predicate = %(predicate)s
  AND i.scope = %(scope)s AND (i.status = 'pending' OR i.reason = 'overtaken')
ORDER BY i.item_id;

-- name: slot_cases
-- purpose: the live and the resolved cases of a slot, the last closed one of each set key, and the live reference cases
--          of other slots in which a row of this one is a member
-- index: conflict_cases_slot_idx
-- lock: none
WITH elsewhere AS (
    -- A reference case lies in the slot that is referred to, and its members elsewhere must be followed from there too.
    SELECT DISTINCT m.conflict_id
    FROM relationships AS r
    JOIN case_members AS m ON m.team_id = %(team_id)s AND m.relationship_id = r.relationship_id AND m.present
    JOIN conflict_cases AS k ON k.team_id = %(team_id)s AND k.conflict_id = m.conflict_id
    WHERE r.team_id = %(team_id)s AND r.subject_id = %(subject_id)s AND r.predicate = %(predicate)s
      AND r.scope = %(scope)s AND k.kind = 'reference' AND k.status IN ('open', 'overdue')
      AND (k.subject_id, k.predicate, k.scope) <> (r.subject_id, r.predicate, r.scope)
)
SELECT k.conflict_id, k.kind, k.subject_id, k.predicate, k.scope, k.object_key, k.status, k.version, k.opened_at,
       k.review_due_at, k.first_contradiction_at, k.resolved_at, k.dismissed_at, k.effective_at, k.effective_time_basis,
       k.preferred_position_id, k.resolution_reason, k.policy_version, k.previous_conflict_id
FROM (
    SELECT c.*, row_number() OVER (
        PARTITION BY c.kind, c.object_key, c.status IN ('open', 'overdue')
        ORDER BY c.opened_at DESC, c.conflict_id DESC
    ) AS nth
    FROM conflict_cases AS c
    WHERE c.team_id = %(team_id)s AND c.subject_id = %(subject_id)s AND c.predicate = %(predicate)s
      AND c.scope = %(scope)s
    UNION ALL
    SELECT c.*, 1
    FROM elsewhere AS e
    JOIN conflict_cases AS c ON c.team_id = %(team_id)s AND c.conflict_id = e.conflict_id
) AS k
WHERE k.nth = 1 OR k.status IN ('open', 'overdue', 'resolved')
ORDER BY k.kind, k.object_key, k.opened_at DESC, k.conflict_id DESC;

-- name: slot_case_positions
-- purpose: the positions of those of these cases that are live or resolved, those that stand empty too
-- index: conflict_cases_slot_idx
-- lock: none
WITH elsewhere AS (
    -- A reference case lies in the slot that is referred to, and its members elsewhere must be followed from there too.
    SELECT DISTINCT m.conflict_id
    FROM relationships AS r
    JOIN case_members AS m ON m.team_id = %(team_id)s AND m.relationship_id = r.relationship_id AND m.present
    JOIN conflict_cases AS k ON k.team_id = %(team_id)s AND k.conflict_id = m.conflict_id
    WHERE r.team_id = %(team_id)s AND r.subject_id = %(subject_id)s AND r.predicate = %(predicate)s
      AND r.scope = %(scope)s AND k.kind = 'reference' AND k.status IN ('open', 'overdue')
      AND (k.subject_id, k.predicate, k.scope) <> (r.subject_id, r.predicate, r.scope)
), about AS (
    SELECT k.conflict_id
    FROM conflict_cases AS k
    WHERE k.team_id = %(team_id)s AND k.subject_id = %(subject_id)s AND k.predicate = %(predicate)s
      AND k.scope = %(scope)s AND k.status IN ('open', 'overdue', 'resolved')
    UNION ALL
    SELECT e.conflict_id FROM elsewhere AS e
)
SELECT p.conflict_id, p.position_id, p.position_key, p.present, p.counted_groups, p.authoritative_groups,
       p.support_digest, p.first_seen_at, p.last_seen_at, p.version AS row_version
FROM about AS a
JOIN case_positions AS p ON p.team_id = %(team_id)s AND p.conflict_id = a.conflict_id
ORDER BY p.conflict_id, p.position_key;

-- name: slot_case_members
-- purpose: the members of the same cases, those that have left too
-- index: conflict_cases_slot_idx
-- lock: none
WITH elsewhere AS (
    -- A reference case lies in the slot that is referred to, and its members elsewhere must be followed from there too.
    SELECT DISTINCT m.conflict_id
    FROM relationships AS r
    JOIN case_members AS m ON m.team_id = %(team_id)s AND m.relationship_id = r.relationship_id AND m.present
    JOIN conflict_cases AS k ON k.team_id = %(team_id)s AND k.conflict_id = m.conflict_id
    WHERE r.team_id = %(team_id)s AND r.subject_id = %(subject_id)s AND r.predicate = %(predicate)s
      AND r.scope = %(scope)s AND k.kind = 'reference' AND k.status IN ('open', 'overdue')
      AND (k.subject_id, k.predicate, k.scope) <> (r.subject_id, r.predicate, r.scope)
), about AS (
    SELECT k.conflict_id
    FROM conflict_cases AS k
    WHERE k.team_id = %(team_id)s AND k.subject_id = %(subject_id)s AND k.predicate = %(predicate)s
      AND k.scope = %(scope)s AND k.status IN ('open', 'overdue', 'resolved')
    UNION ALL
    SELECT e.conflict_id FROM elsewhere AS e
)
SELECT m.conflict_id, m.position_id, m.relationship_id, m.relationship_version, m.owner_id, m.present,
       m.version AS row_version
FROM about AS a
JOIN case_members AS m ON m.team_id = %(team_id)s AND m.conflict_id = a.conflict_id
ORDER BY m.conflict_id, m.position_id, m.relationship_id;

-- name: slot_rows_beside
-- purpose: the rows of other slots that are members of the live reference cases among them
-- index: conflict_cases_slot_idx
-- lock: none
WITH elsewhere AS (
    -- A reference case lies in the slot that is referred to, and its members elsewhere must be followed from there too.
    SELECT DISTINCT m.conflict_id
    FROM relationships AS r
    JOIN case_members AS m ON m.team_id = %(team_id)s AND m.relationship_id = r.relationship_id AND m.present
    JOIN conflict_cases AS k ON k.team_id = %(team_id)s AND k.conflict_id = m.conflict_id
    WHERE r.team_id = %(team_id)s AND r.subject_id = %(subject_id)s AND r.predicate = %(predicate)s
      AND r.scope = %(scope)s AND k.kind = 'reference' AND k.status IN ('open', 'overdue')
      AND (k.subject_id, k.predicate, k.scope) <> (r.subject_id, r.predicate, r.scope)
), about AS (
    SELECT k.conflict_id
    FROM conflict_cases AS k
    WHERE k.team_id = %(team_id)s AND k.subject_id = %(subject_id)s AND k.predicate = %(predicate)s
      AND k.scope = %(scope)s AND k.kind = 'reference' AND k.status IN ('open', 'overdue')
    UNION ALL
    SELECT e.conflict_id FROM elsewhere AS e
)
SELECT r.relationship_id, r.version, r.owner_id, r.subject_id, r.predicate, r.scope, r.facet, r.object_entity_id,
       r.value_type, r.value_canonical, r.value_unit, r.value_display, r.polarity, r.valid_from, r.valid_to,
       r.valid_from = r.valid_to AS closed_to_nothing, r.valid_from_basis, r.valid_to_basis, r.status, r.tier, r.record,
       r.slot_exclusive, r.event, r.revision, r.recorded_at, r.first_recorded_at
FROM (
    SELECT DISTINCT m.relationship_id
    FROM about AS a
    JOIN case_members AS m ON m.team_id = %(team_id)s AND m.conflict_id = a.conflict_id AND m.present
) AS m
JOIN relationships AS r ON r.team_id = %(team_id)s AND r.relationship_id = m.relationship_id
WHERE (r.subject_id, r.predicate, r.scope) <> (%(subject_id)s, %(predicate)s, %(scope)s)
ORDER BY r.relationship_id;

-- name: slot_supports_beside
-- purpose: the supports of those rows, as those of the slot
-- index: conflict_cases_slot_idx
-- lock: none
WITH elsewhere AS (
    -- A reference case lies in the slot that is referred to, and its members elsewhere must be followed from there too.
    SELECT DISTINCT m.conflict_id
    FROM relationships AS r
    JOIN case_members AS m ON m.team_id = %(team_id)s AND m.relationship_id = r.relationship_id AND m.present
    JOIN conflict_cases AS k ON k.team_id = %(team_id)s AND k.conflict_id = m.conflict_id
    WHERE r.team_id = %(team_id)s AND r.subject_id = %(subject_id)s AND r.predicate = %(predicate)s
      AND r.scope = %(scope)s AND k.kind = 'reference' AND k.status IN ('open', 'overdue')
      AND (k.subject_id, k.predicate, k.scope) <> (r.subject_id, r.predicate, r.scope)
), about AS (
    SELECT k.conflict_id
    FROM conflict_cases AS k
    WHERE k.team_id = %(team_id)s AND k.subject_id = %(subject_id)s AND k.predicate = %(predicate)s
      AND k.scope = %(scope)s AND k.kind = 'reference' AND k.status IN ('open', 'overdue')
    UNION ALL
    SELECT e.conflict_id FROM elsewhere AS e
)
SELECT p.support_id, p.statement_id, c.relationship_id, p.fragment_id, p.span_starts, p.span_ends,
       p.adopted_from_fragment_id, p.evidence_from, p.evidence_to, p.evidence_verified, p.recorded_at, d.kind,
       d.authority, f.author_id, f.source_group, f.source_key, f.inherited_labels, f.normal_sha256,
       f.derived_from_fragment_ids, p.near_duplicate_fragment_ids, f.occurred_at, f.erasure_id IS NOT NULL AS erased
FROM (
    SELECT DISTINCT m.relationship_id
    FROM about AS a
    JOIN case_members AS m ON m.team_id = %(team_id)s AND m.conflict_id = a.conflict_id AND m.present
) AS m
JOIN relationships AS r ON r.team_id = %(team_id)s AND r.relationship_id = m.relationship_id
JOIN carriages AS c ON c.team_id = %(team_id)s AND c.relationship_id = r.relationship_id
JOIN supports AS p ON p.team_id = %(team_id)s AND p.statement_id = c.statement_id
JOIN evidence_fragments AS f ON f.team_id = %(team_id)s AND f.fragment_id = p.fragment_id
CROSS JOIN LATERAL (
    SELECT d.kind, d.authority
    FROM support_decisions AS d
    WHERE d.team_id = %(team_id)s AND d.support_id = p.support_id
    ORDER BY d.revision DESC
    LIMIT 1
) AS d
WHERE (r.subject_id, r.predicate, r.scope) <> (%(subject_id)s, %(predicate)s, %(scope)s)
  AND NOT EXISTS (
      SELECT 1
      FROM carriages AS n
      WHERE n.team_id = %(team_id)s AND n.statement_id = c.statement_id AND n.revision > c.revision
  )
ORDER BY p.support_id;
