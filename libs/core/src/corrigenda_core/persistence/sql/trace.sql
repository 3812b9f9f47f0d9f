-- Everything that is recorded about one relationship, as a view knows it. The sections page by place: at a revision they
-- never change. "Carried" are the observations that the row carries or ever carried.

-- name: trace_head
-- purpose: the row as the view knows it, and how large its sections are
-- index: relationships_history_pkey
-- lock: none
WITH carried AS MATERIALIZED (
    SELECT DISTINCT c.statement_id
    FROM carriages AS c
    WHERE c.team_id = %(team_id)s AND c.relationship_id = %(relationship_id)s AND c.recorded_at <= %(known_at)s
)
SELECT h.relationship_id, h.version, h.owner_id, h.subject_id, h.predicate, h.scope, h.facet, h.object_entity_id,
       h.value_type, h.value_canonical, h.value_unit, h.value_display, h.polarity, h.valid_from, h.valid_to,
       h.valid_from = h.valid_to AS closed_to_nothing, h.valid_from_basis, h.valid_to_basis, h.status, h.tier,
       h.record, h.slot_exclusive, h.event, h.revision, h.recorded_from AS recorded_at, h.first_recorded_at,
       (SELECT count(DISTINCT s.fragment_id)
        FROM carried AS c
        JOIN supports AS s ON s.team_id = %(team_id)s AND s.statement_id = c.statement_id
        WHERE s.recorded_at <= %(known_at)s) AS evidence_total,
       (SELECT count(*) FROM carried) AS observations_total,
       (SELECT count(*)
        FROM carried AS c
        JOIN verification_events AS v ON v.team_id = %(team_id)s AND v.observation_id = c.statement_id
        WHERE v.recorded_at <= %(known_at)s) AS verifications_total,
       (SELECT count(*)
        FROM carried AS c
        JOIN supports AS s ON s.team_id = %(team_id)s AND s.statement_id = c.statement_id
        WHERE s.recorded_at <= %(known_at)s) AS supports_total,
       (SELECT count(*)
        FROM transitions AS t
        WHERE t.team_id = %(team_id)s AND t.relationship_id = h.relationship_id
          AND t.recorded_at <= %(known_at)s) AS transitions_total,
       (SELECT count(*)
        FROM cross_references AS x
        WHERE x.team_id = %(team_id)s AND (x.source_id = h.relationship_id OR x.target_id = h.relationship_id)
          AND x.recorded_at <= %(known_at)s) AS references_total,
       (SELECT count(DISTINCT m.conflict_id)
        FROM case_members AS m
        WHERE m.team_id = %(team_id)s AND m.relationship_id = h.relationship_id
          AND EXISTS (SELECT 1
                      FROM case_members_history AS v
                      WHERE v.team_id = %(team_id)s AND v.conflict_id = m.conflict_id AND v.position_id = m.position_id
                        AND v.relationship_id = m.relationship_id
                        AND v.recorded_from <= %(known_at)s)) AS cases_total
FROM relationships_history AS h
WHERE h.team_id = %(team_id)s AND h.relationship_id = %(relationship_id)s AND h.recorded_from <= %(known_at)s
ORDER BY h.version DESC
LIMIT 1;

-- name: trace_evidence
-- purpose: fragments that support the row, or ever did
-- index: carriages_relationship_id_idx
-- lock: none
SELECT f.fragment_id, f.author_id, a.name AS author_name,
       CASE WHEN %(with_content)s AND f.erasure_id IS NULL THEN f.content ELSE '' END AS content, f.content_sha256, f.source_type,
       f.claimed_authority, f.source_group, f.source_key, f.source_revision, f.occurred_at,
       f.occurred_at_offset_minutes, f.labels, f.metadata,
       f.confidence, f.scan_verdict, f.revision, f.recorded_at, f.erasure_id IS NOT NULL AS erased
FROM evidence_fragments AS f
JOIN profiles AS a ON a.team_id = %(team_id)s AND a.profile_id = f.author_id
WHERE f.team_id = %(team_id)s
  AND f.fragment_id IN (
      SELECT s.fragment_id
      FROM carriages AS c
      JOIN supports AS s ON s.team_id = %(team_id)s AND s.statement_id = c.statement_id
      WHERE c.team_id = %(team_id)s AND c.relationship_id = %(relationship_id)s AND c.recorded_at <= %(known_at)s
        AND s.recorded_at <= %(known_at)s)
ORDER BY f.revision, f.fragment_id
LIMIT %(limit)s OFFSET %(offset)s;

-- name: trace_observations
-- purpose: what the submissions said that the row carries or carried
-- index: carriages_relationship_id_idx
-- lock: none
SELECT o.observation_id, o.ingest_id, o.proposal_id, o.author_id, a.name AS author_name, o.predicate_phrase,
       o.subject_phrase, o.object_phrase, o.polarity, o.modality, o.scope, o.stated_from, o.stated_to, o.spans,
       o.comment, o.correction_target_id, o.conflict_id, o.revision, o.recorded_at
FROM observations AS o
JOIN profiles AS a ON a.team_id = %(team_id)s AND a.profile_id = o.author_id
WHERE o.team_id = %(team_id)s
  AND o.observation_id IN (
      SELECT c.statement_id
      FROM carriages AS c
      WHERE c.team_id = %(team_id)s AND c.relationship_id = %(relationship_id)s AND c.recorded_at <= %(known_at)s)
ORDER BY o.revision, o.ordinal, o.observation_id
LIMIT %(limit)s OFFSET %(offset)s;

-- name: trace_verifications
-- purpose: the verdicts on those observations
-- index: carriages_relationship_id_idx
-- lock: none
SELECT v.verification_id, v.observation_id, v.verdict, v.reason, v.verifier, v.bounds, v.revision, v.recorded_at
FROM verification_events AS v
WHERE v.team_id = %(team_id)s AND v.recorded_at <= %(known_at)s
  AND v.observation_id IN (
      SELECT c.statement_id
      FROM carriages AS c
      WHERE c.team_id = %(team_id)s AND c.relationship_id = %(relationship_id)s AND c.recorded_at <= %(known_at)s)
ORDER BY v.revision, v.verification_id
LIMIT %(limit)s OFFSET %(offset)s;

-- name: trace_supports
-- purpose: the supports of those observations, each with its last decision and the row that carries it
-- index: carriages_relationship_id_idx
-- lock: none
SELECT s.support_id, s.fragment_id, s.statement_id, s.span_starts, s.span_ends, d.kind, d.authority,
       c.relationship_id, s.revision, s.recorded_at
FROM supports AS s
CROSS JOIN LATERAL (
    SELECT d.kind, d.authority
    FROM support_decisions AS d
    WHERE d.team_id = %(team_id)s AND d.support_id = s.support_id AND d.recorded_at <= %(known_at)s
    ORDER BY d.revision DESC
    LIMIT 1
) AS d
CROSS JOIN LATERAL (
    SELECT c.relationship_id
    FROM carriages AS c
    WHERE c.team_id = %(team_id)s AND c.statement_id = s.statement_id AND c.recorded_at <= %(known_at)s
    ORDER BY c.revision DESC
    LIMIT 1
) AS c
WHERE s.team_id = %(team_id)s AND s.recorded_at <= %(known_at)s
  AND s.statement_id IN (
      SELECT e.statement_id
      FROM carriages AS e
      WHERE e.team_id = %(team_id)s AND e.relationship_id = %(relationship_id)s AND e.recorded_at <= %(known_at)s)
ORDER BY s.revision, s.support_id
LIMIT %(limit)s OFFSET %(offset)s;

-- name: trace_support_decisions
-- purpose: the latest decisions on supports, and how many each has
-- index: support_decisions_pkey
-- lock: none
SELECT d.support_id, d.kind, d.authority, d.reason, d.actor_kind, d.actor_profile_id, p.name AS actor_name,
       d.revision, d.recorded_at, d.total
FROM (
    SELECT d.*, count(*) OVER support AS total, row_number() OVER (support ORDER BY d.revision DESC) AS age
    FROM support_decisions AS d
    WHERE d.team_id = %(team_id)s AND d.support_id = ANY(%(support_ids)s::uuid[]) AND d.recorded_at <= %(known_at)s
    WINDOW support AS (PARTITION BY d.support_id)
) AS d
LEFT JOIN profiles AS p ON p.team_id = %(team_id)s AND p.profile_id = d.actor_profile_id
WHERE d.age <= %(shown)s
ORDER BY d.support_id, d.revision;

-- name: trace_transitions
-- purpose: the lifecycle changes of the row
-- index: transitions_version_key
-- lock: none
SELECT t.transition_id, t.version, t.prior_status, t.prior_tier, t.prior_facet, t.prior_valid_from, t.prior_valid_to,
       t.prior_valid_from = t.prior_valid_to AS prior_closed_to_nothing, t.prior_valid_from_basis,
       t.prior_valid_to_basis, t.resulting_status, t.resulting_tier, t.resulting_facet, t.resulting_valid_from,
       t.resulting_valid_to, t.resulting_valid_from = t.resulting_valid_to AS resulting_closed_to_nothing,
       t.resulting_valid_from_basis, t.resulting_valid_to_basis, t.actor_kind, t.actor_profile_id,
       p.name AS actor_name, t.reason, t.time_basis, t.decision_id, t.conflict_id, t.idempotency_key, t.closing_at,
       t.closing_statement_ids, t.closing_conditional, t.revision, t.recorded_at
FROM transitions AS t
LEFT JOIN profiles AS p ON p.team_id = %(team_id)s AND p.profile_id = t.actor_profile_id
WHERE t.team_id = %(team_id)s AND t.relationship_id = %(relationship_id)s AND t.recorded_at <= %(known_at)s
ORDER BY t.version
LIMIT %(limit)s OFFSET %(offset)s;

-- name: trace_references
-- purpose: the references from the row and to it, with whether they stand
-- index: cross_references_source_id_idx
-- lock: none
SELECT x.reference_id, x.kind, x.source_id, x.target_id, x.decision_id, coalesce(d.active, true) AS active,
       x.revision, x.recorded_at
FROM cross_references AS x
LEFT JOIN LATERAL (
    SELECT d.active
    FROM reference_decisions AS d
    WHERE d.team_id = %(team_id)s AND d.reference_id = x.reference_id AND d.recorded_at <= %(known_at)s
    ORDER BY d.revision DESC
    LIMIT 1
) AS d ON true
WHERE x.team_id = %(team_id)s AND (x.source_id = %(relationship_id)s OR x.target_id = %(relationship_id)s)
  AND x.recorded_at <= %(known_at)s
ORDER BY x.revision, x.reference_id
LIMIT %(limit)s OFFSET %(offset)s;

-- name: trace_cases
-- purpose: the cases that the row takes part in, or took, with the position that it takes or took last
-- index: case_members_relationship_id_idx
-- lock: none
SELECT k.conflict_id, k.kind, k.subject_id, k.predicate, k.scope, k.object_key, k.status, k.version, k.opened_at,
       k.review_due_at, k.first_contradiction_at, k.resolved_at, k.dismissed_at, k.effective_at,
       k.effective_time_basis, k.preferred_position_id, k.resolution_reason, k.policy_version, k.previous_conflict_id,
       taken.position_id AS taken_position_id, taken.position_key AS taken_position_key
FROM (
    SELECT DISTINCT ON (m.conflict_id) m.conflict_id, m.position_id, p.position_key
    FROM case_members AS m
    JOIN case_positions AS p
      ON p.team_id = %(team_id)s AND p.conflict_id = m.conflict_id AND p.position_id = m.position_id
    CROSS JOIN LATERAL (
        SELECT v.present, v.recorded_from
        FROM case_members_history AS v
        WHERE v.team_id = %(team_id)s AND v.conflict_id = m.conflict_id AND v.position_id = m.position_id
          AND v.relationship_id = m.relationship_id AND v.recorded_from <= %(known_at)s
        ORDER BY v.version DESC
        LIMIT 1
    ) AS v
    WHERE m.team_id = %(team_id)s AND m.relationship_id = %(relationship_id)s
    ORDER BY m.conflict_id, v.present DESC, v.recorded_from DESC, m.position_id
) AS taken
CROSS JOIN LATERAL (
    SELECT k.*
    FROM conflict_cases_history AS k
    WHERE k.team_id = %(team_id)s AND k.conflict_id = taken.conflict_id AND k.recorded_from <= %(known_at)s
    ORDER BY k.revision DESC
    LIMIT 1
) AS k
ORDER BY k.opened_at, k.conflict_id
LIMIT %(limit)s OFFSET %(offset)s;

-- name: trace_lineage
-- purpose: the standing references that touch rows and were not followed yet
-- index: cross_references_source_id_idx
-- lock: none
SELECT x.reference_id, x.kind, x.source_id, x.target_id
FROM cross_references AS x
LEFT JOIN LATERAL (
    SELECT d.active
    FROM reference_decisions AS d
    WHERE d.team_id = %(team_id)s AND d.reference_id = x.reference_id AND d.recorded_at <= %(known_at)s
    ORDER BY d.revision DESC
    LIMIT 1
) AS d ON true
WHERE x.team_id = %(team_id)s
  AND (x.source_id = ANY(%(relationship_ids)s::uuid[]) OR x.target_id = ANY(%(relationship_ids)s::uuid[]))
  AND x.recorded_at <= %(known_at)s AND coalesce(d.active, true)
  AND x.reference_id <> ALL(%(followed)s::uuid[])
ORDER BY x.revision, x.reference_id
LIMIT %(limit)s;

-- name: rows_in_view
-- purpose: other rows as the view knows them
-- index: relationships_history_pkey
-- lock: none
SELECT h.relationship_id, h.version, h.owner_id, h.subject_id, h.predicate, h.scope, h.facet, h.object_entity_id,
       h.value_type, h.value_canonical, h.value_unit, h.value_display, h.polarity, h.valid_from, h.valid_to,
       h.valid_from = h.valid_to AS closed_to_nothing, h.valid_from_basis, h.valid_to_basis, h.status, h.tier,
       h.record, h.slot_exclusive, h.event, h.revision, h.recorded_from AS recorded_at, h.first_recorded_at
FROM unnest(%(relationship_ids)s::uuid[]) AS wanted (relationship_id)
CROSS JOIN LATERAL (
    SELECT h.*
    FROM relationships_history AS h
    WHERE h.team_id = %(team_id)s AND h.relationship_id = wanted.relationship_id
      AND h.recorded_from <= %(known_at)s
    ORDER BY h.version DESC
    LIMIT 1
) AS h;

-- name: trace_merges
-- purpose: other profiles that hold an entity of the row to be another one, as it was known; the latest first
-- index: entity_merges_pkey
-- lock: none
SELECT m.source_id, m.target_id, m.merged_by, m.recorded_at, m.revision
FROM entity_merges AS m
WHERE m.team_id = %(team_id)s AND m.source_id = ANY(%(entity_ids)s) AND m.merged_by <> %(owner_id)s
  AND m.recorded_at <= %(known_at)s
ORDER BY m.revision DESC, m.source_id
LIMIT 50;
