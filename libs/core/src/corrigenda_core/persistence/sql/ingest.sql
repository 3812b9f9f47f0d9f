-- What a submission needs to know before it is planned. Every statement is read twice with the same parameters: outside
-- any transaction for the verifier, and in the first round trip of the commit, where what it says cannot change.

-- name: team_settings
-- purpose: the team's policy and the caller's name
-- index: teams_pkey
-- lock: none
SELECT t.review_period_days, t.review_start_minute, t.time_zone, t.trusts_declared_groups, p.name AS profile_name
FROM teams AS t
JOIN profiles AS p ON p.team_id = %(team_id)s
WHERE t.team_id = %(team_id)s AND p.profile_id = %(profile_id)s;

-- name: predicates_by_form
-- purpose: the predicates that phrases mean, by exact key and by alias
-- index: predicates_pkey
-- lock: none
SELECT p.predicate AS form, true AS is_key, p.predicate, p.version, p.aliases, p.subject_kinds, p.object_kinds,
       p.value_types, p.unit, p.relationship_kind, p.current_cardinality, p.supersession_basis, p.same_moment_policy,
       p.start_granularity, p.pii_class, p.review_after_days, p.lifecycle
FROM predicates AS p
WHERE p.team_id = %(team_id)s AND p.predicate = ANY(%(forms)s)
UNION ALL
SELECT a.alias, false, p.predicate, p.version, p.aliases, p.subject_kinds, p.object_kinds, p.value_types, p.unit,
       p.relationship_kind, p.current_cardinality, p.supersession_basis, p.same_moment_policy, p.start_granularity,
       p.pii_class, p.review_after_days, p.lifecycle
FROM predicate_aliases AS a
JOIN predicates AS p ON p.team_id = %(team_id)s AND p.predicate = a.predicate
WHERE a.team_id = %(team_id)s AND a.alias = ANY(%(forms)s) AND a.active;

-- name: entity_names_for_mentions
-- purpose: candidates of the mentions, each with the names that the caller may call it by
-- index: entity_names_normal_name_idx, entity_names_pkey
-- lock: none
WITH named AS MATERIALIZED (
    -- One list, and not "named or known": that would read every name of the team.
    SELECT c.entity_id
    FROM entity_names AS c
    WHERE c.team_id = %(team_id)s AND c.normal_name = ANY(%(names)s)
    UNION
    SELECT k.entity_id
    FROM unnest(%(known_ids)s::uuid[]) AS k (entity_id)
),
usable AS (
    -- A name is the team's if the entity was created with it, if an administrator gave it, or if two authors did.
    SELECT n.entity_id, n.normal_name, n.name, n.is_primary, n.given_by,
           n.is_primary OR n.is_confirmed OR EXISTS (
               SELECT 1 FROM entity_names AS o
               WHERE o.team_id = %(team_id)s AND o.entity_id = n.entity_id AND o.normal_name = n.normal_name
                 AND o.given_by <> n.given_by
           ) AS is_team_name
    FROM entity_names AS n
    WHERE n.team_id = %(team_id)s AND n.entity_id = ANY(ARRAY(SELECT c.entity_id FROM named AS c))
)
SELECT e.entity_id, e.kind, u.normal_name, u.name, u.is_primary, u.is_team_name
FROM usable AS u
JOIN entities AS e ON e.team_id = %(team_id)s AND e.entity_id = u.entity_id
WHERE (u.is_team_name OR u.given_by = %(profile_id)s)
  -- An entity that the caller has given up for another one is no candidate, unless it is named by its id.
  AND (e.entity_id = ANY(%(known_ids)s)
       OR NOT EXISTS (SELECT 1
                      FROM entity_merges AS m
                      WHERE m.team_id = %(team_id)s AND m.source_id = e.entity_id AND m.merged_by = %(profile_id)s
                        AND NOT EXISTS (SELECT 1
                                        FROM entity_merges AS b
                                        WHERE b.team_id = %(team_id)s AND b.target_id = m.source_id
                                          AND b.merged_by = m.merged_by AND b.revision > m.revision)))
ORDER BY e.entity_id, u.normal_name, u.given_by;

-- name: entity_contexts_for_mentions
-- purpose: the identity contexts of the same candidates
-- index: entity_names_normal_name_idx, entity_contexts_pkey
-- lock: none
WITH named AS MATERIALIZED (
    SELECT c.entity_id
    FROM entity_names AS c
    WHERE c.team_id = %(team_id)s AND c.normal_name = ANY(%(names)s)
    UNION
    SELECT k.entity_id
    FROM unnest(%(known_ids)s::uuid[]) AS k (entity_id)
)
SELECT x.entity_id, x.context_key, x.context_value
FROM entity_contexts AS x
WHERE x.team_id = %(team_id)s AND x.entity_id = ANY(ARRAY(SELECT c.entity_id FROM named AS c))
ORDER BY x.entity_id, x.context_key, x.context_value;

-- name: own_fragments
-- purpose: fragments of the caller with the same text, for exact resubmissions
-- index: evidence_fragments_author_id_idx
-- lock: none
SELECT f.fragment_id, f.author_id, f.content_sha256, f.source_group, f.source_key, f.source_revision, f.source_type,
       f.scan_verdict, f.claimed_authority, f.inherited_labels, f.derived_from_fragment_ids,
       f.occurred_at, f.recorded_at,
       f.erasure_id IS NOT NULL AS erased,
       EXISTS (SELECT 1
               FROM review_items AS i
               WHERE i.team_id = %(team_id)s AND i.fragment_id = f.fragment_id AND i.kind = 'quarantine'
                 AND i.status = 'resolved' AND i.reason = 'release_quarantine') AS released,
       (SELECT r.reason
        FROM fragment_retirements AS r
        WHERE r.team_id = %(team_id)s AND r.fragment_id = f.fragment_id) AS retired
FROM evidence_fragments AS f
WHERE f.team_id = %(team_id)s AND f.author_id = %(profile_id)s AND f.content_sha256 = ANY(%(hashes)s)
ORDER BY f.recorded_at, f.fragment_id;

-- name: origin_fragments
-- purpose: the fragments that a text names as its origin or as superseded
-- index: evidence_fragments_pkey
-- lock: none
SELECT f.fragment_id, f.author_id, f.content_sha256, f.source_group, f.source_key, f.source_revision, f.source_type,
       f.scan_verdict, f.claimed_authority, f.inherited_labels, f.derived_from_fragment_ids,
       f.occurred_at, f.recorded_at,
       f.erasure_id IS NOT NULL AS erased,
       EXISTS (SELECT 1
               FROM review_items AS i
               WHERE i.team_id = %(team_id)s AND i.fragment_id = f.fragment_id AND i.kind = 'quarantine'
                 AND i.status = 'resolved' AND i.reason = 'release_quarantine') AS released,
       (SELECT r.reason
        FROM fragment_retirements AS r
        WHERE r.team_id = %(team_id)s AND r.fragment_id = f.fragment_id) AS retired
FROM evidence_fragments AS f
WHERE f.team_id = %(team_id)s AND f.fragment_id = ANY(%(fragment_ids)s);

-- name: slot_texts
-- purpose: texts that speak in a slot already and may say nearly the same, those that share most bands first; of a band
--          that very many texts of the team share, the newest are enough
-- index: text_bands_pkey
-- lock: none
WITH near AS MATERIALIZED (
    SELECT t.fragment_id, count(*) AS shared
    FROM unnest(%(bands)s::bigint[]) AS b (band)
    CROSS JOIN LATERAL (
        SELECT t.fragment_id
        FROM text_bands AS t
        WHERE t.team_id = %(team_id)s AND t.band = b.band
        ORDER BY t.fragment_id DESC
        LIMIT 1000
    ) AS t
    GROUP BY t.fragment_id
)
SELECT f.fragment_id, f.content
FROM near AS n
JOIN evidence_fragments AS f ON f.team_id = %(team_id)s AND f.fragment_id = n.fragment_id
WHERE f.erasure_id IS NULL AND EXISTS (
    SELECT 1
    FROM supports AS p
    JOIN statements AS s ON s.team_id = %(team_id)s AND s.statement_id = p.statement_id
    WHERE p.team_id = %(team_id)s AND p.fragment_id = n.fragment_id AND s.subject_id = %(subject_id)s
      AND s.predicate = %(predicate)s AND s.scope = %(scope)s
      AND NOT EXISTS (
          SELECT 1
          FROM statements AS m
          WHERE m.team_id = %(team_id)s AND m.statement_id = s.statement_id AND m.revision > s.revision
      )
)
ORDER BY n.shared DESC, f.fragment_id DESC
LIMIT 200;

-- name: insert_text_bands
-- purpose: lets the fragments of a commit be found by those that say nearly the same
-- index: none
-- lock: none
INSERT INTO text_bands (team_id, band, fragment_id)
SELECT c.team_id, b.band, b.fragment_id
FROM team_clock AS c
CROSS JOIN unnest(%(bands)s::bigint[], %(fragment_ids)s::uuid[]) AS b (band, fragment_id)
WHERE c.team_id = %(team_id)s
ON CONFLICT DO NOTHING;

-- name: cases_by_id
-- purpose: the cases that a submission answers, live or closed
-- index: conflict_cases_pkey
-- lock: none
SELECT k.conflict_id, k.kind, k.subject_id, k.predicate, k.scope, k.object_key, k.status, k.version, k.opened_at,
       k.review_due_at, k.first_contradiction_at, k.policy_version, k.previous_conflict_id
FROM conflict_cases AS k
WHERE k.team_id = %(team_id)s AND k.conflict_id = ANY(%(conflict_ids)s);

-- name: relationships_by_id
-- purpose: the relationships that a submission corrects
-- index: relationships_pkey
-- lock: none
SELECT r.relationship_id, r.version, r.owner_id, r.subject_id, r.predicate, r.scope, r.facet, r.object_entity_id,
       r.value_type, r.value_canonical, r.value_unit, r.value_display, r.polarity, r.valid_from, r.valid_to,
       r.valid_from = r.valid_to AS closed_to_nothing, r.valid_from_basis, r.valid_to_basis, r.status, r.tier, r.record,
       r.slot_exclusive, r.event, r.revision, r.recorded_at, r.first_recorded_at
FROM relationships AS r
WHERE r.team_id = %(team_id)s AND r.relationship_id = ANY(%(relationship_ids)s);

-- name: items_by_id
-- purpose: the question that a submission answers by a merge, whatever its status
-- index: review_items_pkey
-- lock: none
SELECT i.item_id, i.version, i.kind, i.status, i.owner_id, i.reason, i.ingest_id, i.fragment_id, i.statement_id,
       i.subject_id, i.predicate, i.scope, i.incoming, i.opposing, i.details, i.decision_id, i.opened_at
FROM review_items AS i
WHERE i.team_id = %(team_id)s AND i.item_id = ANY(%(item_ids)s);

-- name: active_predicates
-- purpose: what an extractor may propose in terms of
-- index: predicates_pkey
-- lock: none
SELECT p.predicate, p.version, p.aliases, p.subject_kinds, p.object_kinds, p.value_types, p.unit, p.relationship_kind,
       p.current_cardinality, p.supersession_basis, p.same_moment_policy, p.start_granularity, p.pii_class,
       p.review_after_days, p.lifecycle
FROM predicates AS p
WHERE p.team_id = %(team_id)s AND p.lifecycle = 'active'
ORDER BY p.predicate
LIMIT 1000;

-- name: predicate_names
-- purpose: what an unknown phrase is compared with
-- index: predicates_pkey
-- lock: none
SELECT p.predicate, p.aliases
FROM predicates AS p
WHERE p.team_id = %(team_id)s AND p.lifecycle = 'active'
ORDER BY p.predicate
LIMIT 1000;

-- name: pending_phrases
-- purpose: the caller's pending questions about unknown phrases
-- index: review_items_owner_id_idx
-- lock: none
SELECT i.item_id, i.version, i.kind, i.status, i.owner_id, i.reason, i.ingest_id, i.fragment_id, i.statement_id,
       i.subject_id, i.predicate, i.scope, i.incoming, i.opposing, i.details, i.decision_id, i.opened_at,
       i.details ->> 'form' AS form
FROM review_items AS i
WHERE i.team_id = %(team_id)s AND i.owner_id = %(profile_id)s AND i.status = 'pending' AND i.kind = 'predicate'
  AND i.details ->> 'form' = ANY(%(forms)s);

-- name: placement_of_ingest
-- purpose: what became of a submission
-- index: ingests_pkey
-- lock: none
SELECT i.result
FROM ingests AS i
WHERE i.team_id = %(team_id)s AND i.ingest_id = %(ingest_id)s;
