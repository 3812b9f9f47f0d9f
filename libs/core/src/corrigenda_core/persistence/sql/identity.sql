-- What a correction of identity reads: everything that was ever said of an entity, as it is bound now.

-- name: observations_of_entities
-- purpose: the observations that name entities now, and those that the same rows carry, as they are bound by now
-- index: observations_pkey
-- lock: none
WITH named AS MATERIALIZED (
    SELECT o.observation_id FROM observations AS o
    WHERE o.team_id = %(team_id)s AND o.subject_id = ANY(%(entity_ids)s)
    UNION
    SELECT o.observation_id FROM observations AS o
    WHERE o.team_id = %(team_id)s AND o.object_entity_id = ANY(%(entity_ids)s)
    UNION
    SELECT s.statement_id FROM statements AS s
    WHERE s.team_id = %(team_id)s AND s.subject_id = ANY(%(entity_ids)s)
    UNION
    SELECT s.statement_id FROM statements AS s
    WHERE s.team_id = %(team_id)s AND s.object_entity_id = ANY(%(entity_ids)s)
    UNION
    SELECT b.observation_id FROM observation_bindings AS b
    WHERE b.team_id = %(team_id)s AND b.subject_id = ANY(%(entity_ids)s)
    UNION
    SELECT b.observation_id FROM observation_bindings AS b
    WHERE b.team_id = %(team_id)s AND b.object_entity_id = ANY(%(entity_ids)s)
)
SELECT o.observation_id, o.author_id, o.subject_ref, o.object_ref, o.mentions, o.polarity, o.scope,
       coalesce(s.subject_id, b.subject_id, o.subject_id) AS subject_id,
       coalesce(s.object_entity_id, b.object_entity_id, o.object_entity_id) AS object_entity_id,
       coalesce(s.predicate, b.predicate, o.predicate) AS predicate,
       coalesce(s.value_type, o.value_type) AS value_type,
       coalesce(s.value_canonical, o.value_canonical) AS value_canonical,
       coalesce(s.value_unit, o.value_unit) AS value_unit,
       coalesce(s.value_display, o.value_display) AS value_display,
       coalesce(b.given_up, false) AS given_up, c.relationship_id, r.version AS relationship_version
FROM named AS n
JOIN observations AS o ON o.team_id = %(team_id)s AND o.observation_id = n.observation_id
LEFT JOIN LATERAL (
    SELECT s.subject_id, s.object_entity_id, s.predicate, s.value_type, s.value_canonical, s.value_unit, s.value_display
    FROM statements AS s
    WHERE s.team_id = %(team_id)s AND s.statement_id = o.observation_id
    ORDER BY s.revision DESC
    LIMIT 1
) AS s ON true
LEFT JOIN LATERAL (
    SELECT b.subject_id, b.object_entity_id, b.predicate, b.given_up
    FROM observation_bindings AS b
    WHERE b.team_id = %(team_id)s AND b.observation_id = o.observation_id
    ORDER BY b.revision DESC
    LIMIT 1
) AS b ON true
LEFT JOIN LATERAL (
    SELECT c.relationship_id
    FROM carriages AS c
    WHERE c.team_id = %(team_id)s AND c.statement_id = o.observation_id
    ORDER BY c.revision DESC
    LIMIT 1
) AS c ON true
LEFT JOIN relationships AS r ON r.team_id = %(team_id)s AND r.relationship_id = c.relationship_id
ORDER BY o.observation_id
LIMIT %(limit)s;
