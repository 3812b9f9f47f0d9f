-- What a view knows around relationships: the cases that they took part in, and the questions that hold statements
-- against them. `known_at` is the instant of the view's revision.

-- name: cases_of_rows
-- purpose: the cases that rows ever took part in, and the cases of the other members
-- index: case_members_relationship_id_idx
-- lock: none
WITH touched AS MATERIALIZED (
    SELECT DISTINCT m.conflict_id
    FROM case_members AS m
    WHERE m.team_id = %(team_id)s AND m.relationship_id = ANY(%(relationship_ids)s::uuid[])
),
related AS MATERIALIZED (
    -- The cutoff of an earlier case of a member says from when on that member counts.
    SELECT DISTINCT n.conflict_id
    FROM touched AS t
    JOIN case_members AS m ON m.team_id = %(team_id)s AND m.conflict_id = t.conflict_id
    JOIN case_members AS n ON n.team_id = %(team_id)s AND n.relationship_id = m.relationship_id
)
SELECT k.conflict_id, k.kind, k.subject_id, k.predicate, k.scope, k.object_key, k.status, k.version, k.opened_at,
       k.review_due_at, k.first_contradiction_at, k.resolved_at, k.dismissed_at, k.effective_at,
       k.effective_time_basis, k.preferred_position_id, k.resolution_reason, k.policy_version, k.previous_conflict_id
FROM related AS r
CROSS JOIN LATERAL (
    SELECT k.*
    FROM conflict_cases_history AS k
    WHERE k.team_id = %(team_id)s AND k.conflict_id = r.conflict_id AND k.recorded_from <= %(known_at)s
    ORDER BY k.revision DESC
    LIMIT 1
) AS k
WHERE k.status IN ('open', 'overdue', 'resolved')
ORDER BY k.conflict_id;

-- name: questions_about_rows
-- purpose: the pending questions of owners that name rows, in the slots of these rows
-- index: review_items_slot_idx
-- lock: none
SELECT DISTINCT i.item_id, i.version, i.kind, i.status, i.owner_id, i.reason, i.incoming, i.opposing, i.opened_at
FROM relationships AS r
JOIN review_items AS n
  ON n.team_id = %(team_id)s AND n.subject_id = r.subject_id AND n.predicate = r.predicate AND n.scope = r.scope
 AND n.kind = 'relationship'
CROSS JOIN LATERAL (
    SELECT i.item_id, i.version, i.kind, i.status, i.owner_id, i.reason, i.incoming, i.opposing, i.opened_at
    FROM review_items_history AS i
    WHERE i.team_id = %(team_id)s AND i.item_id = n.item_id AND i.recorded_from <= %(known_at)s
    ORDER BY i.version DESC
    LIMIT 1
) AS i
WHERE r.team_id = %(team_id)s AND r.relationship_id = ANY(%(relationship_ids)s::uuid[]) AND i.status = 'pending'
ORDER BY i.item_id;
