-- The source registry, where each source key stands, and what depends on the fragments of a source.

-- name: source_row
-- purpose: the current version of a registry entry
-- index: sources_source_group_key
-- lock: none
SELECT s.source_id, s.source_group, s.source_key, s.version, s.speakers, s.authoritative_for_all, s.authoritative_for,
       s.record, s.lifecycle
FROM sources AS s
WHERE s.team_id = %(team_id)s AND s.source_group = %(source_group)s AND s.source_key = %(source_key)s;

-- name: source_page
-- purpose: a page of the registry in the order of registration
-- index: sources_pkey
-- lock: none
SELECT s.source_id, s.source_group, s.source_key, s.version, s.speakers, s.authoritative_for_all, s.authoritative_for,
       s.record, s.lifecycle
FROM sources AS s
WHERE s.team_id = %(team_id)s AND s.source_id > %(after)s
ORDER BY s.source_id
LIMIT %(limit)s;

-- name: source_count
-- purpose: the total of a list of the registry
-- index: sources_pkey
-- lock: none
SELECT count(*) AS total
FROM sources AS s
WHERE s.team_id = %(team_id)s;

-- name: registered_sources
-- purpose: the entries in use that fragments with these groups and keys can be of
-- index: sources_source_group_key, sources_source_key_idx
-- lock: none
SELECT s.source_id, s.source_group, s.source_key, s.version, s.speakers, s.authoritative_for_all, s.authoritative_for,
       s.record, s.lifecycle
FROM sources AS s
WHERE s.team_id = %(team_id)s AND s.lifecycle = 'active' AND s.source_group = ANY(%(groups)s)
UNION
SELECT s.source_id, s.source_group, s.source_key, s.version, s.speakers, s.authoritative_for_all, s.authoritative_for,
       s.record, s.lifecycle
FROM sources AS s
WHERE s.team_id = %(team_id)s AND s.lifecycle = 'active' AND s.source_key = ANY(%(keys)s)
ORDER BY source_id;

-- name: profiles_there
-- purpose: which of the profiles that an entry names are the team's
-- index: profiles_pkey
-- lock: none
SELECT p.profile_id
FROM profiles AS p
WHERE p.team_id = %(team_id)s AND p.profile_id = ANY(%(profile_ids)s);

-- name: predicates_there
-- purpose: which of the predicates that an entry names are registered
-- index: predicates_pkey
-- lock: none
SELECT p.predicate
FROM predicates AS p
WHERE p.team_id = %(team_id)s AND p.predicate = ANY(%(predicates)s);

-- name: predicates_by_key
-- purpose: the current versions of predicates
-- index: predicates_pkey
-- lock: none
SELECT p.predicate, p.version, p.aliases, p.subject_kinds, p.object_kinds, p.value_types, p.unit, p.relationship_kind,
       p.current_cardinality, p.supersession_basis, p.same_moment_policy, p.start_granularity, p.pii_class,
       p.review_after_days, p.lifecycle
FROM predicates AS p
WHERE p.team_id = %(team_id)s AND p.predicate = ANY(%(predicates)s);

-- name: supports_of_source_group
-- purpose: supports by fragments of a group that claim to be authoritative, each with its last decision and its slot
-- index: evidence_fragments_source_group_idx
-- lock: none
SELECT p.support_id, s.subject_id, s.predicate, s.scope, d.kind, d.authority, f.author_id, f.claimed_authority, f.source_group,
       f.source_key, f.source_revision,
       EXISTS (
           SELECT 1
           FROM support_decisions AS g
           WHERE g.team_id = %(team_id)s AND g.support_id = p.support_id AND g.granted_by_key
       ) AS granted_by_key
FROM evidence_fragments AS f
JOIN supports AS p ON p.team_id = %(team_id)s AND p.fragment_id = f.fragment_id
CROSS JOIN LATERAL (
    SELECT d.kind, d.authority
    FROM support_decisions AS d
    WHERE d.team_id = %(team_id)s AND d.support_id = p.support_id
    ORDER BY d.revision DESC
    LIMIT 1
) AS d
CROSS JOIN LATERAL (
    SELECT s.subject_id, s.predicate, s.scope
    FROM statements AS s
    WHERE s.team_id = %(team_id)s AND s.statement_id = p.statement_id
    ORDER BY s.revision DESC
    LIMIT 1
) AS s
WHERE f.team_id = %(team_id)s AND f.source_group = %(source_group)s AND f.claimed_authority = 'authoritative'
ORDER BY p.support_id
LIMIT %(limit)s;

-- name: supports_of_source_key
-- purpose: the same by fragments of a key, in one group or (an empty one) in all
-- index: evidence_fragments_source_key_idx
-- lock: none
SELECT p.support_id, s.subject_id, s.predicate, s.scope, d.kind, d.authority, f.author_id, f.claimed_authority, f.source_group,
       f.source_key, f.source_revision,
       EXISTS (
           SELECT 1
           FROM support_decisions AS g
           WHERE g.team_id = %(team_id)s AND g.support_id = p.support_id AND g.granted_by_key
       ) AS granted_by_key
FROM evidence_fragments AS f
JOIN supports AS p ON p.team_id = %(team_id)s AND p.fragment_id = f.fragment_id
CROSS JOIN LATERAL (
    SELECT d.kind, d.authority
    FROM support_decisions AS d
    WHERE d.team_id = %(team_id)s AND d.support_id = p.support_id
    ORDER BY d.revision DESC
    LIMIT 1
) AS d
CROSS JOIN LATERAL (
    SELECT s.subject_id, s.predicate, s.scope
    FROM statements AS s
    WHERE s.team_id = %(team_id)s AND s.statement_id = p.statement_id
    ORDER BY s.revision DESC
    LIMIT 1
) AS s
WHERE f.team_id = %(team_id)s AND f.source_key = %(source_key)s AND f.claimed_authority = 'authoritative'
  AND (%(source_group)s = '' OR f.source_group = %(source_group)s)
ORDER BY p.support_id
LIMIT %(limit)s;

-- name: source_states_by_key
-- purpose: where the source keys of a submission stand
-- index: source_states_pkey
-- lock: none
SELECT s.source_key, s.version, s.first_user, s.current_revision, s.prior_revision
FROM source_states AS s
WHERE s.team_id = %(team_id)s AND s.source_key = ANY(%(keys)s);

-- name: fragments_of_current_revisions
-- purpose: what loses its effect if these keys move on
-- index: evidence_fragments_source_key_idx
-- lock: none
SELECT f.fragment_id, f.author_id, f.source_group, f.source_key, f.source_revision
FROM source_states AS s
JOIN evidence_fragments AS f
  ON f.team_id = %(team_id)s AND f.source_key = s.source_key AND f.source_revision = s.current_revision
WHERE s.team_id = %(team_id)s AND s.source_key = ANY(%(keys)s)
  AND NOT EXISTS (
      SELECT 1
      FROM fragment_retirements AS r
      WHERE r.team_id = %(team_id)s AND r.fragment_id = f.fragment_id
  )
ORDER BY f.fragment_id
LIMIT %(limit)s;

-- name: slots_of_current_revisions
-- purpose: the slots in which the current fragments of these keys, and these fragments, support anything
-- index: supports_fragment_id_idx
-- lock: none
WITH leaving AS MATERIALIZED (
    SELECT f.fragment_id
    FROM source_states AS s
    JOIN evidence_fragments AS f
      ON f.team_id = %(team_id)s AND f.source_key = s.source_key AND f.source_revision = s.current_revision
    WHERE s.team_id = %(team_id)s AND s.source_key = ANY(%(keys)s)
    UNION
    SELECT f.fragment_id
    FROM evidence_fragments AS f
    WHERE f.team_id = %(team_id)s AND f.fragment_id = ANY(%(fragment_ids)s)
)
SELECT DISTINCT s.subject_id, s.scope, q.predicate, q.version, q.aliases, q.subject_kinds, q.object_kinds,
       q.value_types, q.unit, q.relationship_kind, q.current_cardinality, q.supersession_basis, q.same_moment_policy,
       q.start_granularity, q.pii_class, q.review_after_days, q.lifecycle
FROM leaving AS l
JOIN supports AS p ON p.team_id = %(team_id)s AND p.fragment_id = l.fragment_id
CROSS JOIN LATERAL (
    SELECT d.kind
    FROM support_decisions AS d
    WHERE d.team_id = %(team_id)s AND d.support_id = p.support_id
    ORDER BY d.revision DESC
    LIMIT 1
) AS d
CROSS JOIN LATERAL (
    SELECT s.subject_id, s.predicate, s.scope
    FROM statements AS s
    WHERE s.team_id = %(team_id)s AND s.statement_id = p.statement_id
    ORDER BY s.revision DESC
    LIMIT 1
) AS s
JOIN predicates AS q ON q.team_id = %(team_id)s AND q.predicate = s.predicate
WHERE d.kind IN ('grant', 'reinstate')
ORDER BY s.subject_id, q.predicate, s.scope
LIMIT %(limit)s;

-- name: adoptable_fragment
-- purpose: a text that somebody else may stand on, as long as its source and its scan let it, and what its key asserted
-- index: evidence_fragments_pkey
-- lock: none
SELECT f.fragment_id, f.author_id, a.name AS author_name, f.content, f.normal_sha256, f.claimed_authority,
       f.source_group, f.source_key, f.source_revision, f.inherited_labels, f.derived_from_fragment_ids, f.occurred_at,
       f.scan_verdict, f.erasure_id IS NOT NULL AS erased, EXISTS (
           SELECT 1
           FROM fragment_retirements AS r
           WHERE r.team_id = %(team_id)s AND r.fragment_id = f.fragment_id
       ) AS retired, EXISTS (
           SELECT 1
           FROM review_items AS i
           WHERE i.team_id = %(team_id)s AND i.fragment_id = f.fragment_id AND i.kind = 'quarantine'
             AND i.status = 'resolved' AND i.reason = 'release_quarantine'
       ) AS released, EXISTS (
           SELECT 1
           FROM supports AS p
           JOIN support_decisions AS d ON d.team_id = %(team_id)s AND d.support_id = p.support_id
           WHERE p.team_id = %(team_id)s AND p.fragment_id = f.fragment_id AND d.granted_by_key
       ) AS granted_by_key
FROM evidence_fragments AS f
JOIN profiles AS a ON a.team_id = %(team_id)s AND a.profile_id = f.author_id
WHERE f.team_id = %(team_id)s AND f.fragment_id = %(fragment_id)s;

-- name: carried_by_text
-- purpose: the relationships of a text's author that stand on it, with the passages that say them
-- index: supports_fragment_id_idx
-- lock: none
SELECT c.relationship_id, p.span_starts, p.span_ends
FROM evidence_fragments AS f
JOIN supports AS p ON p.team_id = %(team_id)s AND p.fragment_id = f.fragment_id
CROSS JOIN LATERAL (
    SELECT d.kind
    FROM support_decisions AS d
    WHERE d.team_id = %(team_id)s AND d.support_id = p.support_id
    ORDER BY d.revision DESC
    LIMIT 1
) AS d
CROSS JOIN LATERAL (
    SELECT c.relationship_id
    FROM carriages AS c
    WHERE c.team_id = %(team_id)s AND c.statement_id = p.statement_id
    ORDER BY c.revision DESC
    LIMIT 1
) AS c
JOIN relationships AS r ON r.team_id = %(team_id)s AND r.relationship_id = c.relationship_id
WHERE f.team_id = %(team_id)s AND f.fragment_id = %(fragment_id)s AND r.owner_id = f.author_id
  AND d.kind IN ('grant', 'reinstate')
ORDER BY p.support_id
LIMIT 200;
