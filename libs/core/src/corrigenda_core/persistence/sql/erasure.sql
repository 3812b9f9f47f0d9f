-- What an erasure has to find: every row that holds a copy of a text, or words that nothing else gave. Read under the
-- team's lock by an administrator's rare call, so a scan of a table of the team is meant where no index serves.

-- name: erasure_fragments
-- purpose: a fragment and its exact copies that are not erased
-- index: evidence_fragments_pkey
-- lock: none
SELECT f.fragment_id, f.ingest_id, f.content, f.content_sha256, f.normal_sha256, f.metadata::text AS metadata,
       f.erasure_id, f.revision
FROM evidence_fragments AS f
WHERE f.team_id = %(team_id)s
  AND (f.fragment_id = %(fragment_id)s
       OR f.erasure_id IS NULL AND f.content_sha256 = (
           SELECT n.content_sha256
           FROM evidence_fragments AS n
           WHERE n.team_id = %(team_id)s AND n.fragment_id = %(fragment_id)s))
ORDER BY f.revision, f.fragment_id;

-- name: erasure_occurrences
-- purpose: further occurrences of the texts
-- index: evidence_occurrences_fragment_id_idx
-- lock: none
SELECT x.occurrence_id, x.ingest_id, x.metadata::text AS metadata
FROM evidence_occurrences AS x
WHERE x.team_id = %(team_id)s AND x.fragment_id = ANY(%(fragment_ids)s::uuid[])
ORDER BY x.occurrence_id;

-- name: erasure_observations
-- purpose: what the submissions of the texts said, and what the texts support by adoption
-- index: observations_ingest_id_idx
-- lock: none
SELECT o.observation_id, o.ingest_id, o.proposal_id, o.subject_ref, o.subject_phrase, o.predicate_phrase, o.object_ref,
       o.object_phrase, o.mentions::text AS mentions, coalesce(o.subject_id, b.subject_id) AS subject_id,
       coalesce(o.object_entity_id, b.object_entity_id) AS object_entity_id, o.predicate, o.value_canonical,
       o.value_display, o.scope, o.comment, o.spans,
       EXISTS (SELECT 1
               FROM supports AS p
               JOIN evidence_fragments AS f ON f.team_id = %(team_id)s AND f.fragment_id = p.fragment_id
               WHERE p.team_id = %(team_id)s AND p.statement_id = o.observation_id AND f.erasure_id IS NULL
                 AND NOT f.fragment_id = ANY(%(fragment_ids)s::uuid[])) AS is_supported_elsewhere,
       EXISTS (SELECT 1
               FROM supports AS p
               WHERE p.team_id = %(team_id)s AND p.statement_id = o.observation_id
                 AND p.fragment_id = ANY(%(fragment_ids)s::uuid[])) AS is_supported
FROM observations AS o
LEFT JOIN LATERAL (
    SELECT b.subject_id, b.object_entity_id
    FROM observation_bindings AS b
    WHERE b.team_id = %(team_id)s AND b.observation_id = o.observation_id
    ORDER BY b.revision DESC
    LIMIT 1
) AS b ON true
WHERE o.team_id = %(team_id)s
  AND (o.ingest_id IN (SELECT f.ingest_id
                       FROM evidence_fragments AS f
                       WHERE f.team_id = %(team_id)s AND f.fragment_id = ANY(%(fragment_ids)s::uuid[])
                       UNION
                       SELECT x.ingest_id
                       FROM evidence_occurrences AS x
                       WHERE x.team_id = %(team_id)s AND x.fragment_id = ANY(%(fragment_ids)s::uuid[]))
       OR o.observation_id IN (SELECT p.statement_id
                               FROM supports AS p
                               WHERE p.team_id = %(team_id)s AND p.fragment_id = ANY(%(fragment_ids)s::uuid[])))
ORDER BY o.observation_id;

-- name: erasure_derived
-- purpose: texts that name one of the texts as their origin
-- index: evidence_fragments_pkey
-- lock: none
SELECT f.fragment_id
FROM evidence_fragments AS f
WHERE f.team_id = %(team_id)s AND f.erasure_id IS NULL AND NOT f.fragment_id = ANY(%(fragment_ids)s::uuid[])
  AND f.derived_from_fragment_ids && %(fragment_ids)s::uuid[]
ORDER BY f.fragment_id;

-- name: erasure_living_texts
-- purpose: the other texts that the same observations cite or that came with the same submissions
-- index: evidence_fragments_ingest_id_idx
-- lock: none
SELECT f.fragment_id, f.ingest_id, f.content
FROM evidence_fragments AS f
WHERE f.team_id = %(team_id)s AND f.erasure_id IS NULL AND NOT f.fragment_id = ANY(%(fragment_ids)s::uuid[])
  AND (f.fragment_id = ANY(%(cited_ids)s::uuid[]) OR f.ingest_id = ANY(%(ingest_ids)s::uuid[])
       OR f.fragment_id IN (SELECT p.fragment_id
                            FROM supports AS p
                            WHERE p.team_id = %(team_id)s AND p.statement_id = ANY(%(observation_ids)s::uuid[])))
ORDER BY f.fragment_id;

-- name: erasure_statements
-- purpose: all statements of the slots that the observations are bound to, with whether a text still speaks for each
-- index: statements_slot_idx
-- lock: none
SELECT s.statement_id, s.revision, s.subject_id, s.predicate, s.scope, s.value_type, s.value_unit, s.value_canonical,
       s.value_display, s.object_key, o.scope AS observed_scope, o.value_canonical AS observed_canonical,
       EXISTS (SELECT 1
               FROM jsonb_to_recordset(o.spans) AS cited (fragment_id uuid)
               JOIN evidence_fragments AS f ON f.team_id = %(team_id)s AND f.fragment_id = cited.fragment_id
               WHERE f.erasure_id IS NULL AND NOT f.fragment_id = ANY(%(fragment_ids)s::uuid[]))
       OR EXISTS (SELECT 1
                  FROM supports AS p
                  JOIN evidence_fragments AS f ON f.team_id = %(team_id)s AND f.fragment_id = p.fragment_id
                  WHERE p.team_id = %(team_id)s AND p.statement_id = s.statement_id AND f.erasure_id IS NULL
                    AND NOT f.fragment_id = ANY(%(fragment_ids)s::uuid[])) AS living
FROM statements AS s
JOIN observations AS o ON o.team_id = %(team_id)s AND o.observation_id = s.statement_id
WHERE s.team_id = %(team_id)s
  AND (s.subject_id, s.predicate, s.scope) IN (
      SELECT b.subject_id, b.predicate, b.scope
      FROM statements AS b
      WHERE b.team_id = %(team_id)s AND b.statement_id = ANY(%(observation_ids)s::uuid[]))
ORDER BY s.statement_id, s.revision;

-- name: erasure_names
-- purpose: names of the entities that the observations speak of, and those that came with the same submissions
-- index: entity_names_pkey
-- lock: none
SELECT n.entity_id, n.normal_name, n.name, n.given_by, i.ingest_id,
       EXISTS (SELECT 1
               FROM evidence_fragments AS f
               WHERE f.team_id = %(team_id)s AND f.ingest_id = i.ingest_id AND f.erasure_id IS NULL
                 AND NOT f.fragment_id = ANY(%(fragment_ids)s::uuid[])) AS ingest_lives
FROM entity_names AS n
LEFT JOIN ingests AS i ON i.team_id = %(team_id)s AND i.revision = n.revision
WHERE n.team_id = %(team_id)s
  AND (n.entity_id = ANY(%(entity_ids)s::uuid[])
       OR n.revision IN (SELECT g.revision
                         FROM ingests AS g
                         WHERE g.team_id = %(team_id)s AND g.ingest_id = ANY(%(ingest_ids)s::uuid[])))
ORDER BY n.entity_id, n.normal_name, n.given_by;

-- name: erasure_contexts
-- purpose: the same of identity contexts
-- index: entity_contexts_pkey
-- lock: none
SELECT x.entity_id, x.context_key, x.context_value, i.ingest_id,
       EXISTS (SELECT 1
               FROM evidence_fragments AS f
               WHERE f.team_id = %(team_id)s AND f.ingest_id = i.ingest_id AND f.erasure_id IS NULL
                 AND NOT f.fragment_id = ANY(%(fragment_ids)s::uuid[])) AS ingest_lives
FROM entity_contexts AS x
LEFT JOIN ingests AS i ON i.team_id = %(team_id)s AND i.revision = x.revision
WHERE x.team_id = %(team_id)s
  AND (x.entity_id = ANY(%(entity_ids)s::uuid[])
       OR x.revision IN (SELECT g.revision
                         FROM ingests AS g
                         WHERE g.team_id = %(team_id)s AND g.ingest_id = ANY(%(ingest_ids)s::uuid[])))
ORDER BY x.entity_id, x.context_key, x.context_value;

-- name: erasure_living_phrases
-- purpose: how observations that another text speaks for call the same entities
-- index: observations_subject_id_idx
-- lock: none
SELECT DISTINCT e.entity_id, e.phrase
FROM (
    SELECT o.observation_id, o.spans, o.subject_id AS entity_id, o.subject_phrase AS phrase
    FROM observations AS o
    WHERE o.team_id = %(team_id)s AND o.subject_id = ANY(%(entity_ids)s::uuid[])
    UNION ALL
    SELECT o.observation_id, o.spans, o.object_entity_id, o.object_phrase
    FROM observations AS o
    WHERE o.team_id = %(team_id)s AND o.object_entity_id = ANY(%(entity_ids)s::uuid[])
    UNION ALL
    SELECT o.observation_id, o.spans, s.subject_id, o.subject_phrase
    FROM statements AS s
    JOIN observations AS o ON o.team_id = %(team_id)s AND o.observation_id = s.statement_id
    WHERE s.team_id = %(team_id)s AND s.subject_id = ANY(%(entity_ids)s::uuid[])
    UNION ALL
    SELECT o.observation_id, o.spans, s.object_entity_id, o.object_phrase
    FROM statements AS s
    JOIN observations AS o ON o.team_id = %(team_id)s AND o.observation_id = s.statement_id
    WHERE s.team_id = %(team_id)s AND s.object_entity_id = ANY(%(entity_ids)s::uuid[])
) AS e
WHERE EXISTS (
    SELECT 1
    FROM jsonb_to_recordset(e.spans) AS cited (fragment_id uuid)
    JOIN evidence_fragments AS f ON f.team_id = %(team_id)s AND f.fragment_id = cited.fragment_id
    WHERE f.erasure_id IS NULL AND NOT f.fragment_id = ANY(%(fragment_ids)s::uuid[])
);

-- name: erasure_verdicts
-- purpose: verdicts on the observations
-- index: verification_events_observation_id_idx
-- lock: none
SELECT v.verification_id, v.observation_id, v.reason
FROM verification_events AS v
WHERE v.team_id = %(team_id)s AND v.observation_id = ANY(%(observation_ids)s::uuid[])
ORDER BY v.verification_id;

-- name: erasure_items
-- purpose: every version of the questions about the texts, what they said, and their slots
-- index: review_items_pkey
-- lock: none
SELECT h.item_id, h.version, h.scope, h.details::text AS details, i.kind, i.status,
       i.owner_id, i.reason, i.ingest_id, i.fragment_id, i.statement_id, i.subject_id, i.predicate, i.incoming,
       i.opposing, i.decision_id, i.opened_at, i.version AS current_version
FROM review_items AS i
JOIN review_items_history AS h ON h.team_id = %(team_id)s AND h.item_id = i.item_id
WHERE i.team_id = %(team_id)s
  AND (i.statement_id = ANY(%(observation_ids)s::uuid[]) OR i.fragment_id = ANY(%(fragment_ids)s::uuid[])
       OR i.ingest_id = ANY(%(ingest_ids)s::uuid[])
       OR (i.subject_id, i.predicate, i.scope) IN (
           SELECT b.subject_id, b.predicate, b.scope
           FROM statements AS b
           WHERE b.team_id = %(team_id)s AND b.statement_id = ANY(%(observation_ids)s::uuid[])))
ORDER BY h.item_id, h.version;

-- name: erasure_relationships
-- purpose: every version of the rows of the slots
-- index: relationships_slot_idx
-- lock: none
SELECT h.relationship_id, h.version, h.subject_id, h.predicate, h.scope, h.value_canonical, h.value_display,
       h.object_key, r.version AS current_version
FROM relationships AS r
JOIN relationships_history AS h ON h.team_id = %(team_id)s AND h.relationship_id = r.relationship_id
WHERE r.team_id = %(team_id)s
  AND (r.subject_id, r.predicate, r.scope) IN (
      SELECT b.subject_id, b.predicate, b.scope
      FROM statements AS b
      WHERE b.team_id = %(team_id)s AND b.statement_id = ANY(%(observation_ids)s::uuid[]))
ORDER BY h.relationship_id, h.version;

-- name: erasure_closings
-- purpose: transitions of the rows of the slots that carry a closing
-- index: relationships_slot_idx
-- lock: none
SELECT t.transition_id, t.closing_object_key, r.subject_id, r.predicate, r.scope
FROM relationships AS r
JOIN transitions AS t ON t.team_id = %(team_id)s AND t.relationship_id = r.relationship_id
WHERE r.team_id = %(team_id)s AND t.closing_object_key IS NOT NULL
  AND (r.subject_id, r.predicate, r.scope) IN (
      SELECT b.subject_id, b.predicate, b.scope
      FROM statements AS b
      WHERE b.team_id = %(team_id)s AND b.statement_id = ANY(%(observation_ids)s::uuid[]))
ORDER BY t.transition_id;

-- name: erasure_decided_closings
-- purpose: closings of the slots that no transition carries
-- index: statements_slot_idx
-- lock: none
SELECT DISTINCT d.decision_id, d.entry, d.closing_object_key, s.subject_id, s.predicate, s.scope
FROM statements AS s
JOIN timeline_decisions AS d ON d.team_id = %(team_id)s AND d.statement_id = s.statement_id
WHERE s.team_id = %(team_id)s AND d.closing_object_key IS NOT NULL
  AND (s.subject_id, s.predicate, s.scope) IN (
      SELECT b.subject_id, b.predicate, b.scope
      FROM statements AS b
      WHERE b.team_id = %(team_id)s AND b.statement_id = ANY(%(observation_ids)s::uuid[]))
ORDER BY d.decision_id, d.entry;

-- name: erasure_decisions
-- purpose: what people and judges wrote to decisions on the statements, rows, items and texts
-- index: decisions_pkey
-- lock: none
SELECT d.decision_id, d.reason, d.details::text AS details, d.statement_ids
FROM decisions AS d
WHERE d.team_id = %(team_id)s
  AND (d.statement_ids && %(observation_ids)s::uuid[] OR d.target_ids && %(target_ids)s::uuid[]
       OR d.item_id = ANY(%(item_ids)s::uuid[])
       OR EXISTS (SELECT 1
                  FROM timeline_decisions AS t
                  WHERE t.team_id = %(team_id)s AND t.decision_id = d.decision_id
                    AND t.statement_id = ANY(%(observation_ids)s::uuid[])))
ORDER BY d.decision_id;

-- name: erasure_cases
-- purpose: every version of the cases of the slots
-- index: conflict_cases_slot_idx
-- lock: none
SELECT h.conflict_id, h.revision, h.subject_id, h.predicate, h.scope, h.object_key, k.revision AS current_revision
FROM conflict_cases AS k
JOIN conflict_cases_history AS h ON h.team_id = %(team_id)s AND h.conflict_id = k.conflict_id
WHERE k.team_id = %(team_id)s
  AND (k.subject_id, k.predicate, k.scope) IN (
      SELECT b.subject_id, b.predicate, b.scope
      FROM statements AS b
      WHERE b.team_id = %(team_id)s AND b.statement_id = ANY(%(observation_ids)s::uuid[]))
ORDER BY h.conflict_id, h.revision;

-- name: erasure_positions
-- purpose: every version of the positions of those cases
-- index: conflict_cases_slot_idx
-- lock: none
SELECT h.conflict_id, h.position_id, h.version, h.position_key, p.version AS current_version, k.subject_id, k.predicate,
       k.scope
FROM conflict_cases AS k
JOIN case_positions AS p ON p.team_id = %(team_id)s AND p.conflict_id = k.conflict_id
JOIN case_positions_history AS h
  ON h.team_id = %(team_id)s AND h.conflict_id = p.conflict_id AND h.position_id = p.position_id
WHERE k.team_id = %(team_id)s
  AND (k.subject_id, k.predicate, k.scope) IN (
      SELECT b.subject_id, b.predicate, b.scope
      FROM statements AS b
      WHERE b.team_id = %(team_id)s AND b.statement_id = ANY(%(observation_ids)s::uuid[]))
ORDER BY h.conflict_id, h.position_id, h.version;

-- name: erasure_evaluations
-- purpose: looks at cases that a row of the slots has a part in, or that read one of the texts
-- index: case_evaluations_pkey
-- lock: none
SELECT e.evaluation_id, e.snapshot::text AS snapshot, e.decision::text AS decision
FROM case_evaluations AS e
WHERE e.team_id = %(team_id)s
  AND e.conflict_id IN (
      SELECT k.conflict_id
      FROM conflict_cases AS k
      WHERE k.team_id = %(team_id)s
        AND (k.subject_id, k.predicate, k.scope) IN (
            SELECT b.subject_id, b.predicate, b.scope
            FROM statements AS b
            WHERE b.team_id = %(team_id)s AND b.statement_id = ANY(%(observation_ids)s::uuid[]))
      UNION
      SELECT m.conflict_id
      FROM case_members AS m
      JOIN carriages AS c ON c.team_id = %(team_id)s AND c.relationship_id = m.relationship_id
      WHERE m.team_id = %(team_id)s AND c.statement_id = ANY(%(observation_ids)s::uuid[]))
ORDER BY e.evaluation_id;

-- name: erasure_responses
-- purpose: stored responses since the texts came that name one of the ids whose words are erased
-- index: idempotency_records_pkey
-- lock: none
SELECT r.profile_id, r.idempotency_key, r.rpc, r.response
FROM idempotency_records AS r
WHERE r.team_id = %(team_id)s AND r.revision >= %(since_revision)s
  AND EXISTS (SELECT 1
              FROM unnest(%(ids)s::text[]) AS named (id)
              WHERE position(convert_to(named.id, 'UTF8') IN r.response) > 0)
ORDER BY r.profile_id, r.idempotency_key;

-- name: erasure_results
-- purpose: the same of the results of submissions
-- index: ingests_pkey
-- lock: none
SELECT g.ingest_id, g.result
FROM ingests AS g
WHERE g.team_id = %(team_id)s AND g.revision >= %(since_revision)s
  AND EXISTS (SELECT 1
              FROM unnest(%(ids)s::text[]) AS named (id)
              WHERE position(convert_to(named.id, 'UTF8') IN g.result) > 0)
ORDER BY g.ingest_id;

-- name: erase_texts
-- purpose: replaces the recorded texts by their tombstones, and empties their search documents
-- index: none
-- lock: the rows
SELECT erase_texts(%(erasure_id)s::uuid, %(revision)s::bigint) AS rows;
