-- What ids stand for: names, profiles and texts, read for what an answer shows and for nothing else.

-- name: entity_names_by_id
-- purpose: how entities are shown: their kinds and the names they were created with
-- index: entity_names_pkey
-- lock: none
SELECT DISTINCT ON (e.entity_id) e.entity_id, e.kind, n.name
FROM entities AS e
JOIN entity_names AS n ON n.team_id = %(team_id)s AND n.entity_id = e.entity_id
WHERE e.team_id = %(team_id)s AND e.entity_id = ANY(%(entity_ids)s::uuid[])
ORDER BY e.entity_id, n.is_primary DESC, n.revision, n.normal_name;

-- name: profile_names_by_id
-- purpose: how profiles are shown
-- index: profiles_pkey
-- lock: none
SELECT p.profile_id, p.name
FROM profiles AS p
WHERE p.team_id = %(team_id)s AND p.profile_id = ANY(%(profile_ids)s::uuid[]);

-- name: fragments_by_id
-- purpose: fragments with their texts
-- index: evidence_fragments_pkey
-- lock: none
SELECT f.fragment_id, f.author_id, a.name AS author_name,
       CASE WHEN f.erasure_id IS NULL THEN f.content ELSE '' END AS content, f.content_sha256, f.source_type,
       f.claimed_authority, f.source_group, f.source_key, f.source_revision, f.occurred_at,
       f.occurred_at_offset_minutes, f.labels, f.metadata,
       f.confidence, f.scan_verdict, f.revision, f.recorded_at, f.erasure_id IS NOT NULL AS erased
FROM evidence_fragments AS f
JOIN profiles AS a ON a.team_id = %(team_id)s AND a.profile_id = f.author_id
WHERE f.team_id = %(team_id)s AND f.fragment_id = ANY(%(fragment_ids)s::uuid[]);

-- name: predicates_in_view
-- purpose: the predicates of a team at the versions that a view knows
-- index: predicates_history_pkey
-- lock: none
SELECT DISTINCT ON (h.predicate) h.predicate, h.version, h.aliases, h.subject_kinds, h.object_kinds, h.value_types,
       h.unit, h.relationship_kind, h.current_cardinality, h.supersession_basis, h.same_moment_policy,
       h.start_granularity, h.pii_class, h.review_after_days, h.lifecycle
FROM predicates_history AS h
WHERE h.team_id = %(team_id)s AND h.recorded_from <= %(known_at)s
ORDER BY h.predicate, h.version DESC;
