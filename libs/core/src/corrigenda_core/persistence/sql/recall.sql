-- What recall reads, all of it in one snapshot and as one view knows it: `known_at` is the instant of the view's
-- revision, and the version of a row that a view knows is the last one that began by then.

-- name: search_lexical
-- purpose: eligible fragments with any of the terms, the best first
-- index: none
-- lock: none
SELECT x.fragment_id, x.outlines
FROM search_text(%(terms)s::text[], %(valid_at)s, %(known_at)s, %(hits)s::integer, %(is_large)s::boolean) AS x
ORDER BY x.place;

-- name: search_vector
-- purpose: eligible fragments by the nearness of their embedding; vectors of two spaces are never compared
-- index: none
-- lock: none
SELECT x.fragment_id, x.outlines, x.approximate
FROM search_near(
    %(embedding)s::halfvec, %(space)s, %(valid_at)s, %(known_at)s, %(hits)s::integer, %(is_large)s::boolean
) AS x
ORDER BY x.place;

-- name: search_entity
-- purpose: eligible fragments of relationships whose ends are named; those of both ends first, then the latest
-- index: entity_names_normal_name_idx
-- lock: none
WITH named AS MATERIALIZED (
    -- By the names that the team has for it, and those that the reader gave.
    SELECT DISTINCT n.entity_id
    FROM entity_names AS n
    WHERE n.team_id = %(team_id)s AND n.normal_name = ANY(%(names)s::text[]) AND n.recorded_at <= %(known_at)s
      AND (n.is_primary OR n.is_confirmed OR n.given_by = %(reader_id)s OR EXISTS (
          SELECT 1 FROM entity_names AS o
          WHERE o.team_id = %(team_id)s AND o.entity_id = n.entity_id AND o.normal_name = n.normal_name
            AND o.given_by <> n.given_by AND o.recorded_at <= %(known_at)s
      ))
),
touched AS (
    -- Entity by entity: the planner cannot know how few are named, and would rather read the whole table.
    SELECT r.relationship_id, r.first_recorded_at
    FROM named AS n
    CROSS JOIN LATERAL (
        SELECT s.relationship_id, s.first_recorded_at
        FROM relationships AS s
        WHERE s.team_id = %(team_id)s AND s.subject_id = n.entity_id AND s.first_recorded_at <= %(known_at)s
        UNION ALL
        SELECT o.relationship_id, o.first_recorded_at
        FROM relationships AS o
        WHERE o.team_id = %(team_id)s AND o.object_entity_id = n.entity_id AND o.first_recorded_at <= %(known_at)s
        OFFSET 0
    ) AS r
),
ranked AS (
    SELECT t.relationship_id, count(*) AS ends, min(t.first_recorded_at) AS first_recorded_at
    FROM touched AS t
    GROUP BY t.relationship_id
    ORDER BY ends DESC, first_recorded_at DESC, t.relationship_id
    OFFSET 0
)
SELECT s.fragment_id, edges.outlines
FROM ranked
CROSS JOIN LATERAL (
    -- Whatever the row ever carried; the next condition asks what it carries in the view.
    SELECT DISTINCT s.fragment_id
    FROM carriages AS c
    JOIN supports AS s ON s.team_id = %(team_id)s AND s.statement_id = c.statement_id
    WHERE c.team_id = %(team_id)s AND c.relationship_id = ranked.relationship_id
    OFFSET 0
) AS s
CROSS JOIN LATERAL (
    SELECT string_agg(e.outline, ',') AS outlines, bool_or(e.relationship_id = ranked.relationship_id) AS is_carried
    FROM edges_of_fragment(%(team_id)s, s.fragment_id, %(valid_at)s, %(known_at)s) AS e
    OFFSET 0
) AS edges
WHERE edges.is_carried
ORDER BY ranked.ends DESC, ranked.first_recorded_at DESC, ranked.relationship_id, s.fragment_id
LIMIT %(hits)s;

-- name: first_waiting_revision
-- purpose: what the indexer has not looked at yet
-- index: search_refresh_intents_waiting_idx
-- lock: none
SELECT min(i.revision) AS revision
FROM search_refresh_intents AS i
WHERE i.team_id = %(team_id)s AND i.consumed_at = 'infinity';

-- name: edges_of_fragments
-- purpose: the effective supports of fragments with their living relationships at an instant of the world
-- index: supports_fragment_id_idx
-- lock: none
SELECT s.fragment_id, s.support_id, s.span_starts, s.span_ends, d.authority, h.relationship_id, h.version, h.owner_id,
       h.subject_id, h.predicate, h.scope, h.facet, h.object_entity_id, h.value_type, h.value_canonical, h.value_unit,
       h.value_display, h.polarity, h.valid_from, h.valid_to, h.valid_from = h.valid_to AS closed_to_nothing,
       h.valid_from_basis, h.valid_to_basis, h.status, h.tier, h.record, h.slot_exclusive, h.event, h.revision,
       h.recorded_from AS recorded_at, h.first_recorded_at
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
CROSS JOIN LATERAL (
    SELECT h.*
    FROM relationships_history AS h
    WHERE h.team_id = %(team_id)s AND h.relationship_id = c.relationship_id AND h.recorded_from <= %(known_at)s
    ORDER BY h.version DESC
    LIMIT 1
) AS h
WHERE s.team_id = %(team_id)s AND s.fragment_id = ANY(%(fragment_ids)s::uuid[]) AND s.recorded_at <= %(known_at)s
  AND d.kind IN ('grant', 'reinstate') AND h.status IN ('active', 'competing', 'superseded')
  AND h.valid_from <= %(valid_at)s AND h.valid_to > %(valid_at)s
ORDER BY s.fragment_id, h.relationship_id, s.support_id;

-- name: cases_of_fragments
-- purpose: the cases that rows carried by supports of fragments ever took part in, and the cases of the other members
-- index: supports_fragment_id_idx
-- lock: none
WITH touched AS MATERIALIZED (
    SELECT DISTINCT m.conflict_id
    FROM supports AS s
    JOIN carriages AS c ON c.team_id = %(team_id)s AND c.statement_id = s.statement_id
    JOIN case_members AS m ON m.team_id = %(team_id)s AND m.relationship_id = c.relationship_id
    WHERE s.team_id = %(team_id)s AND s.fragment_id = ANY(%(fragment_ids)s::uuid[])
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

-- name: held_against
-- purpose: the pending questions of an owner about rows of the slots in which fragments speak
-- index: supports_fragment_id_idx
-- lock: none
SELECT DISTINCT i.item_id, i.opposing
FROM supports AS s
JOIN carriages AS c ON c.team_id = %(team_id)s AND c.statement_id = s.statement_id
JOIN relationships AS r ON r.team_id = %(team_id)s AND r.relationship_id = c.relationship_id
JOIN review_items AS n
  ON n.team_id = %(team_id)s AND n.subject_id = r.subject_id AND n.predicate = r.predicate AND n.scope = r.scope
 AND n.kind = 'relationship'
CROSS JOIN LATERAL (
    SELECT i.item_id, i.status, i.opposing
    FROM review_items_history AS i
    WHERE i.team_id = %(team_id)s AND i.item_id = n.item_id AND i.recorded_from <= %(known_at)s
    ORDER BY i.version DESC
    LIMIT 1
) AS i
WHERE s.team_id = %(team_id)s AND s.fragment_id = ANY(%(fragment_ids)s::uuid[]) AND i.status = 'pending'
ORDER BY i.item_id;

-- name: positions_of_cases
-- purpose: the sides of cases that somebody stands on
-- index: case_positions_history_pkey
-- lock: none
SELECT p.conflict_id, p.position_id, p.position_key, p.counted_groups, p.authoritative_groups, p.support_digest,
       p.first_seen_at, p.last_seen_at
FROM case_positions AS n
CROSS JOIN LATERAL (
    SELECT p.*
    FROM case_positions_history AS p
    WHERE p.team_id = %(team_id)s AND p.conflict_id = n.conflict_id AND p.position_id = n.position_id
      AND p.recorded_from <= %(known_at)s
    ORDER BY p.version DESC
    LIMIT 1
) AS p
WHERE n.team_id = %(team_id)s AND n.conflict_id = ANY(%(conflict_ids)s::uuid[]) AND p.present
ORDER BY p.conflict_id, p.first_seen_at, p.position_key;

-- name: members_of_cases
-- purpose: the members of cases with their rows
-- index: case_members_pkey
-- lock: none
SELECT m.conflict_id, m.position_id, m.relationship_version, h.relationship_id, h.version, h.owner_id, h.subject_id,
       h.predicate, h.scope, h.facet, h.object_entity_id, h.value_type, h.value_canonical, h.value_unit,
       h.value_display, h.polarity, h.valid_from, h.valid_to, h.valid_from = h.valid_to AS closed_to_nothing,
       h.valid_from_basis, h.valid_to_basis, h.status, h.tier, h.record, h.slot_exclusive, h.event, h.revision,
       h.recorded_from AS recorded_at, h.first_recorded_at
FROM case_members AS n
CROSS JOIN LATERAL (
    SELECT m.*
    FROM case_members_history AS m
    WHERE m.team_id = %(team_id)s AND m.conflict_id = n.conflict_id AND m.position_id = n.position_id
      AND m.relationship_id = n.relationship_id AND m.recorded_from <= %(known_at)s
    ORDER BY m.version DESC
    LIMIT 1
) AS m
CROSS JOIN LATERAL (
    SELECT h.*
    FROM relationships_history AS h
    WHERE h.team_id = %(team_id)s AND h.relationship_id = n.relationship_id AND h.recorded_from <= %(known_at)s
    ORDER BY h.version DESC
    LIMIT 1
) AS h
WHERE n.team_id = %(team_id)s AND n.conflict_id = ANY(%(conflict_ids)s::uuid[]) AND m.present
ORDER BY m.conflict_id, h.first_recorded_at, h.relationship_id;

-- name: evidence_of_cases
-- purpose: the effective supports of the members of cases: the latest of each side, and how many there are
-- index: case_members_pkey
-- lock: none
SELECT e.*
FROM (
    SELECT n.conflict_id, n.position_id, n.relationship_id, f.fragment_id, f.author_id, a.name AS author_name,
           f.source_type, d.authority, f.confidence, f.recorded_at, count(*) OVER side AS total,
           row_number() OVER (side ORDER BY f.recorded_at DESC, f.fragment_id, n.relationship_id, s.support_id) AS place
    FROM case_members AS n
    CROSS JOIN LATERAL (
        SELECT m.present
        FROM case_members_history AS m
        WHERE m.team_id = %(team_id)s AND m.conflict_id = n.conflict_id AND m.position_id = n.position_id
          AND m.relationship_id = n.relationship_id AND m.recorded_from <= %(known_at)s
        ORDER BY m.version DESC
        LIMIT 1
    ) AS m
    CROSS JOIN LATERAL (
        SELECT DISTINCT c.statement_id
        FROM carriages AS c
        WHERE c.team_id = %(team_id)s AND c.relationship_id = n.relationship_id AND c.recorded_at <= %(known_at)s
    ) AS ever
    CROSS JOIN LATERAL (
        SELECT c.relationship_id
        FROM carriages AS c
        WHERE c.team_id = %(team_id)s AND c.statement_id = ever.statement_id AND c.recorded_at <= %(known_at)s
        ORDER BY c.revision DESC
        LIMIT 1
    ) AS c
    JOIN supports AS s
      ON s.team_id = %(team_id)s AND s.statement_id = ever.statement_id AND s.recorded_at <= %(known_at)s
    CROSS JOIN LATERAL (
        SELECT d.kind, d.authority
        FROM support_decisions AS d
        WHERE d.team_id = %(team_id)s AND d.support_id = s.support_id AND d.recorded_at <= %(known_at)s
        ORDER BY d.revision DESC
        LIMIT 1
    ) AS d
    JOIN evidence_fragments AS f ON f.team_id = %(team_id)s AND f.fragment_id = s.fragment_id
    JOIN profiles AS a ON a.team_id = %(team_id)s AND a.profile_id = f.author_id
    WHERE n.team_id = %(team_id)s AND n.conflict_id = ANY(%(conflict_ids)s::uuid[]) AND m.present
      AND c.relationship_id = n.relationship_id AND d.kind IN ('grant', 'reinstate')
    WINDOW side AS (PARTITION BY n.conflict_id, n.position_id)
) AS e
WHERE e.place <= %(shown)s
ORDER BY e.conflict_id, e.position_id, e.place;
