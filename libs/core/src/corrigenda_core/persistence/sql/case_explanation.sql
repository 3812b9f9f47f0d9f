-- What an explanation of a case reads beside the case itself.

-- name: case_supports_in_view
-- purpose: the supports of what the members of a case carried, as they were known, each with its last decision then
-- index: case_members_history_pkey, carriages_relationship_id_idx, supports_statement_id_idx
-- lock: none
SELECT p.support_id, p.statement_id, c.relationship_id, p.fragment_id, p.span_starts, p.span_ends,
       p.adopted_from_fragment_id, p.evidence_from, p.evidence_to, p.evidence_verified, p.recorded_at, d.kind,
       d.authority, f.author_id, f.source_group, f.source_key, f.inherited_labels, f.normal_sha256,
       f.derived_from_fragment_ids, p.near_duplicate_fragment_ids, f.occurred_at
FROM case_members_history AS m
JOIN carriages AS c
  ON c.team_id = %(team_id)s AND c.relationship_id = m.relationship_id AND c.recorded_at <= %(at)s
JOIN supports AS p
  ON p.team_id = %(team_id)s AND p.statement_id = c.statement_id AND p.recorded_at <= %(at)s
JOIN evidence_fragments AS f ON f.team_id = %(team_id)s AND f.fragment_id = p.fragment_id
CROSS JOIN LATERAL (
    SELECT d.kind, d.authority
    FROM support_decisions AS d
    WHERE d.team_id = %(team_id)s AND d.support_id = p.support_id AND d.recorded_at <= %(at)s
    ORDER BY d.revision DESC
    LIMIT 1
) AS d
WHERE m.team_id = %(team_id)s AND m.conflict_id = %(conflict_id)s AND m.present
  AND m.recorded_from <= %(at)s AND m.recorded_to > %(at)s
  AND NOT EXISTS (
      SELECT 1
      FROM carriages AS n
      WHERE n.team_id = %(team_id)s AND n.statement_id = c.statement_id AND n.revision > c.revision
        AND n.recorded_at <= %(at)s
  )
ORDER BY p.support_id;

-- name: last_evaluation
-- purpose: the snapshot of the last look at a case that was known: for a closed case, of the look that closed it
-- index: case_evaluations_conflict_id_idx
-- lock: none
SELECT e.snapshot::text AS snapshot
FROM case_evaluations AS e
WHERE e.team_id = %(team_id)s AND e.conflict_id = %(conflict_id)s AND e.revision <= %(revision)s
ORDER BY e.revision DESC
LIMIT 1;
