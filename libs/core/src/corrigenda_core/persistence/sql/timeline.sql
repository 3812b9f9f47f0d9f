-- Timelines: the rows of an entity or a slot and all their versions, as a view knows them. At a revision they never change,
-- so that they page by place.

-- name: timeline_rows
-- purpose: a page of the rows of an entity in the order of valid time, and how many there are
-- index: relationships_slot_idx, relationships_object_entity_id_idx
-- lock: none
SELECT h.relationship_id, count(*) OVER () AS total
FROM (
    SELECT r.relationship_id
    FROM relationships AS r
    WHERE r.team_id = %(team_id)s AND r.subject_id = %(entity_id)s AND r.first_recorded_at <= %(known_at)s
      AND (%(predicate)s::text IS NULL OR r.predicate = %(predicate)s)
      AND (%(scope)s::text IS NULL OR r.scope = %(scope)s)
    UNION
    SELECT r.relationship_id
    FROM relationships AS r
    WHERE r.team_id = %(team_id)s AND r.object_entity_id = %(entity_id)s AND r.first_recorded_at <= %(known_at)s
      AND %(as_object)s
      AND (%(predicate)s::text IS NULL OR r.predicate = %(predicate)s)
      AND (%(scope)s::text IS NULL OR r.scope = %(scope)s)
) AS x
CROSS JOIN LATERAL (
    SELECT h.relationship_id, h.valid_from, h.valid_to, h.first_recorded_at
    FROM relationships_history AS h
    WHERE h.team_id = %(team_id)s AND h.relationship_id = x.relationship_id AND h.recorded_from <= %(known_at)s
    ORDER BY h.version DESC
    LIMIT 1
) AS h
ORDER BY h.valid_from, h.valid_to, h.first_recorded_at, h.relationship_id
LIMIT %(limit)s OFFSET %(offset)s;

-- name: timeline_versions
-- purpose: the latest versions of rows with what made each, and how many each row has
-- index: relationships_history_pkey, transitions_version_key
-- lock: none
SELECT v.relationship_id, v.version, v.revision, v.recorded_from,
       CASE WHEN v.recorded_to <= %(known_at)s THEN v.recorded_to END AS recorded_to, v.status, v.tier, v.facet,
       v.valid_from, v.valid_to, v.valid_from = v.valid_to AS closed_to_nothing, v.valid_from_basis, v.valid_to_basis,
       t.actor_kind, t.actor_profile_id, p.name AS actor_name, t.reason, t.decision_id, t.conflict_id, v.total
FROM (
    SELECT h.*, count(*) OVER (PARTITION BY h.relationship_id) AS total,
           row_number() OVER (PARTITION BY h.relationship_id ORDER BY h.version DESC) AS age
    FROM relationships_history AS h
    WHERE h.team_id = %(team_id)s AND h.relationship_id = ANY(%(relationship_ids)s::uuid[])
      AND h.recorded_from <= %(known_at)s
) AS v
JOIN transitions AS t
  ON t.team_id = %(team_id)s AND t.relationship_id = v.relationship_id AND t.version = v.version
LEFT JOIN profiles AS p ON p.team_id = %(team_id)s AND p.profile_id = t.actor_profile_id
WHERE v.age <= %(shown)s
ORDER BY v.relationship_id, v.version;
