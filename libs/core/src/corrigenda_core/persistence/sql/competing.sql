-- Live disagreements about an entity as a view knows them: which slots may hold one, and which rows take part there. What
-- excludes what is the policy's to say; these statements leave nothing out that it could name.

-- name: contested_slots
-- purpose: a page of the slots of an entity in which a row competes or waits, or that a live case is about
-- index: relationships_slot_idx, relationships_object_entity_id_idx, conflict_cases_slot_idx
-- lock: none
WITH own AS MATERIALIZED (
    SELECT r.relationship_id, r.subject_id, r.predicate, r.scope
    FROM relationships AS r
    WHERE r.team_id = %(team_id)s AND r.subject_id = %(entity_id)s AND r.first_recorded_at <= %(known_at)s
    UNION
    SELECT r.relationship_id, r.subject_id, r.predicate, r.scope
    FROM relationships AS r
    WHERE r.team_id = %(team_id)s AND r.object_entity_id = %(entity_id)s AND r.first_recorded_at <= %(known_at)s
),
slots AS MATERIALIZED (
    SELECT o.subject_id, o.predicate, o.scope FROM own AS o
    UNION
    -- A correction of another subject's value is about that one's slot.
    SELECT k.subject_id, k.predicate, k.scope
    FROM own AS o
    JOIN case_members AS m ON m.team_id = %(team_id)s AND m.relationship_id = o.relationship_id
    JOIN conflict_cases AS k ON k.team_id = %(team_id)s AND k.conflict_id = m.conflict_id
)
SELECT s.subject_id, s.predicate, s.scope
FROM slots AS s
WHERE (%(predicate)s::text IS NULL OR s.predicate = %(predicate)s)
  AND (EXISTS (SELECT 1
               FROM relationships AS r
               CROSS JOIN LATERAL (
                   SELECT h.status, h.valid_from, h.valid_to
                   FROM relationships_history AS h
                   WHERE h.team_id = %(team_id)s AND h.relationship_id = r.relationship_id
                     AND h.recorded_from <= %(known_at)s
                   ORDER BY h.version DESC
                   LIMIT 1
               ) AS h
               WHERE r.team_id = %(team_id)s AND r.subject_id = s.subject_id AND r.predicate = s.predicate
                 AND r.scope = s.scope AND h.status IN ('competing', 'needs_review')
                 AND h.valid_from <= %(valid_at)s AND h.valid_to > %(valid_at)s)
       OR EXISTS (SELECT 1
                  FROM conflict_cases AS n
                  CROSS JOIN LATERAL (
                      SELECT k.status
                      FROM conflict_cases_history AS k
                      WHERE k.team_id = %(team_id)s AND k.conflict_id = n.conflict_id
                        AND k.recorded_from <= %(known_at)s
                      ORDER BY k.revision DESC
                      LIMIT 1
                  ) AS k
                  WHERE n.team_id = %(team_id)s AND n.subject_id = s.subject_id AND n.predicate = s.predicate
                    AND n.scope = s.scope AND k.status IN ('open', 'overdue')))
ORDER BY s.subject_id, s.predicate COLLATE "C", s.scope COLLATE "C"
LIMIT %(limit)s OFFSET %(offset)s;

-- name: contesting_rows
-- purpose: the rows of slots that compete or wait, those of their owners that may exclude them, and members of live cases
-- index: relationships_slot_idx, conflict_cases_slot_idx
-- lock: none
WITH slots AS MATERIALIZED (
    SELECT x.subject_id, x.predicate, x.scope
    FROM unnest(%(subject_ids)s::uuid[], %(predicates)s::text[], %(scopes)s::text[]) AS x (subject_id, predicate, scope)
),
claims AS MATERIALIZED (
    SELECT r.relationship_id, r.owner_id, r.subject_id, r.predicate, r.scope, r.object_key, h.slot_exclusive, h.status
    FROM slots AS s
    JOIN relationships AS r
      ON r.team_id = %(team_id)s AND r.subject_id = s.subject_id AND r.predicate = s.predicate AND r.scope = s.scope
    CROSS JOIN LATERAL (
        SELECT h.status, h.valid_from, h.valid_to, h.slot_exclusive
        FROM relationships_history AS h
        WHERE h.team_id = %(team_id)s AND h.relationship_id = r.relationship_id AND h.recorded_from <= %(known_at)s
        ORDER BY h.version DESC
        LIMIT 1
    ) AS h
    WHERE h.status IN ('active', 'competing', 'superseded', 'needs_review')
      AND h.valid_from <= %(valid_at)s AND h.valid_to > %(valid_at)s
)
SELECT c.relationship_id
FROM claims AS c
WHERE EXISTS (SELECT 1
              FROM claims AS u
              WHERE u.owner_id = c.owner_id AND u.subject_id = c.subject_id AND u.predicate = c.predicate
                AND u.scope = c.scope AND u.status IN ('competing', 'needs_review')
                AND (u.slot_exclusive OR u.object_key = c.object_key))
UNION
SELECT m.relationship_id
FROM slots AS s
JOIN conflict_cases AS n
  ON n.team_id = %(team_id)s AND n.subject_id = s.subject_id AND n.predicate = s.predicate AND n.scope = s.scope
CROSS JOIN LATERAL (
    SELECT k.status
    FROM conflict_cases_history AS k
    WHERE k.team_id = %(team_id)s AND k.conflict_id = n.conflict_id AND k.recorded_from <= %(known_at)s
    ORDER BY k.revision DESC
    LIMIT 1
) AS k
JOIN case_members AS m ON m.team_id = %(team_id)s AND m.conflict_id = n.conflict_id
WHERE k.status IN ('open', 'overdue');
