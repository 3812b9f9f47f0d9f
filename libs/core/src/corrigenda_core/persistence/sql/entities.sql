-- Entities by name. A name is the team's if the entity was created with it, an administrator confirmed it or two profiles
-- gave it; otherwise it is its giver's own.

-- name: entities_by_name
-- purpose: a page of the entities that have a text in a name that the reader may know, the best match first
-- index: entities_pkey
-- lock: none
SELECT m.entity_id, m.kind, m.name, m.recorded_at, m.revision, m.total
FROM (
    SELECT e.entity_id, e.kind, e.recorded_at, e.revision, p.name, p.normal_name, n.place, count(*) OVER () AS total
    FROM search_names(%(text)s, %(reader_id)s, %(known_at)s) AS n
    JOIN entities AS e ON e.team_id = %(team_id)s AND e.entity_id = n.entity_id
    JOIN entity_names AS p ON p.team_id = %(team_id)s AND p.entity_id = n.entity_id AND p.is_primary
    WHERE e.recorded_at <= %(known_at)s AND (%(kind)s::text IS NULL OR e.kind = %(kind)s)
) AS m
ORDER BY m.place, m.normal_name COLLATE "C", m.entity_id
LIMIT %(limit)s OFFSET %(offset)s;

-- name: other_names_of_entities
-- purpose: the names that the reader may know beside those that entities were created with, and how many there are
-- index: entity_names_pkey
-- lock: none
SELECT m.entity_id, m.name, m.total
FROM (
    SELECT f.entity_id, f.name, count(*) OVER entity AS total,
           row_number() OVER (entity ORDER BY f.normal_name COLLATE "C") AS place
    FROM (
        SELECT DISTINCT ON (n.entity_id, n.normal_name) n.entity_id, n.normal_name, n.name
        FROM entity_names AS n
        WHERE n.team_id = %(team_id)s AND n.entity_id = ANY(%(entity_ids)s::uuid[]) AND n.recorded_at <= %(known_at)s
          AND NOT EXISTS (SELECT 1 FROM entity_names AS p
                          WHERE p.team_id = %(team_id)s AND p.entity_id = n.entity_id
                            AND p.normal_name = n.normal_name AND p.is_primary)
          AND (n.is_confirmed OR n.given_by = %(reader_id)s OR EXISTS (
              SELECT 1 FROM entity_names AS o
              WHERE o.team_id = %(team_id)s AND o.entity_id = n.entity_id AND o.normal_name = n.normal_name
                AND o.given_by <> n.given_by AND o.recorded_at <= %(known_at)s
          ))
        ORDER BY n.entity_id, n.normal_name, n.revision, n.given_by
    ) AS f
    WINDOW entity AS (PARTITION BY f.entity_id)
) AS m
WHERE m.place <= %(shown)s
ORDER BY m.entity_id, m.place;

-- name: contexts_of_entities
-- purpose: the identity contexts of entities, and how many pairs each has
-- index: entity_contexts_pkey
-- lock: none
SELECT m.entity_id, m.context_key, m.context_value, m.total
FROM (
    SELECT c.entity_id, c.context_key, c.context_value, count(*) OVER entity AS total,
           row_number() OVER (entity ORDER BY c.context_key COLLATE "C", c.context_value COLLATE "C") AS place
    FROM entity_contexts AS c
    WHERE c.team_id = %(team_id)s AND c.entity_id = ANY(%(entity_ids)s::uuid[]) AND c.recorded_at <= %(known_at)s
    WINDOW entity AS (PARTITION BY c.entity_id)
) AS m
WHERE m.place <= %(shown)s
ORDER BY m.entity_id, m.place;

-- name: entity_in_view
-- purpose: one entity by the name that it was created with, if the view knows it
-- index: entities_pkey
-- lock: none
SELECT e.entity_id, e.kind, n.name
FROM entities AS e
JOIN entity_names AS n ON n.team_id = %(team_id)s AND n.entity_id = e.entity_id AND n.is_primary
WHERE e.team_id = %(team_id)s AND e.entity_id = %(entity_id)s AND e.recorded_at <= %(known_at)s;
