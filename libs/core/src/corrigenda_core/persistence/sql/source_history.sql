-- How what a source said has fared: facts about its observations as a view knows them, equal ones counted together. What
-- they mean is the policy's to say.

-- name: observations_of_source
-- purpose: the facts about everything that a group, a key or a profile said, the two that are not asked for being NULL
-- index: evidence_fragments_source_group_idx, evidence_fragments_source_key_idx, evidence_fragments_author_id_idx
-- lock: none
WITH of_source AS MATERIALIZED (
    SELECT f.fragment_id, f.ingest_id
    FROM evidence_fragments AS f
    WHERE f.team_id = %(team_id)s AND f.source_group = %(source_group)s AND f.recorded_at <= %(known_at)s
    UNION ALL
    SELECT f.fragment_id, f.ingest_id
    FROM evidence_fragments AS f
    WHERE f.team_id = %(team_id)s AND f.source_key = %(source_key)s AND f.recorded_at <= %(known_at)s
    UNION ALL
    SELECT f.fragment_id, f.ingest_id
    FROM evidence_fragments AS f
    WHERE f.team_id = %(team_id)s AND f.author_id = %(profile_id)s::uuid AND f.recorded_at <= %(known_at)s
),
submitted AS (
    SELECT f.fragment_id, f.ingest_id
    FROM of_source AS f
    UNION
    -- The same text again is an occurrence: its submission said something by it, too.
    SELECT f.fragment_id, c.ingest_id
    FROM of_source AS f
    JOIN evidence_occurrences AS c ON c.team_id = %(team_id)s AND c.fragment_id = f.fragment_id
    WHERE c.recorded_at <= %(known_at)s
),
said AS MATERIALIZED (
    SELECT o.observation_id, o.modality, o.predicate, array_agg(s.fragment_id) AS fragment_ids
    FROM submitted AS s
    JOIN observations AS o ON o.team_id = %(team_id)s AND o.ingest_id = s.ingest_id
    WHERE o.recorded_at <= %(known_at)s
      AND o.spans @> jsonb_build_array(jsonb_build_object('fragment_id', s.fragment_id))
    GROUP BY o.observation_id, o.modality, o.predicate
),
facts AS (
    SELECT s.modality, v.verdict, d.removal_reason, h.status, h.valid_from < h.valid_to AS living,
           h.valid_to <= %(known_at)s AS ended,
           EXISTS (SELECT 1
                   FROM supports AS u
                   CROSS JOIN LATERAL (
                       SELECT e.kind
                       FROM support_decisions AS e
                       WHERE e.team_id = %(team_id)s AND e.support_id = u.support_id AND e.recorded_at <= %(known_at)s
                       ORDER BY e.revision DESC
                       LIMIT 1
                   ) AS e
                   WHERE u.team_id = %(team_id)s AND u.statement_id = s.observation_id
                     AND u.fragment_id = ANY(s.fragment_ids) AND u.recorded_at <= %(known_at)s
                     AND e.kind IN ('grant', 'reinstate')) AS effective,
           EXISTS (SELECT 1
                   FROM review_items AS n
                   CROSS JOIN LATERAL (
                       SELECT i.status, i.incoming, i.opposing
                       FROM review_items_history AS i
                       WHERE i.team_id = %(team_id)s AND i.item_id = n.item_id AND i.recorded_from <= %(known_at)s
                       ORDER BY i.version DESC
                       LIMIT 1
                   ) AS i
                   WHERE n.team_id = %(team_id)s AND n.subject_id = h.subject_id AND n.predicate = h.predicate
                     AND n.scope = h.scope AND n.kind = 'relationship' AND i.status = 'pending'
                     AND h.relationship_id = ANY(i.incoming || i.opposing)) AS asked,
           coalesce(k.won, false) AS won, coalesce(k.lost, false) AS lost, coalesce(k.disputed, false) AS disputed
    FROM said AS s
    LEFT JOIN LATERAL (
        SELECT v.verdict
        FROM verification_events AS v
        WHERE v.team_id = %(team_id)s AND v.observation_id = s.observation_id AND v.recorded_at <= %(known_at)s
        ORDER BY v.revision DESC, v.verification_id DESC
        LIMIT 1
    ) AS v ON true
    LEFT JOIN LATERAL (
        SELECT c.relationship_id
        FROM carriages AS c
        WHERE c.team_id = %(team_id)s AND c.statement_id = s.observation_id AND c.recorded_at <= %(known_at)s
        ORDER BY c.revision DESC
        LIMIT 1
    ) AS c ON true
    LEFT JOIN LATERAL (
        SELECT h.relationship_id, h.subject_id, h.predicate, h.scope, h.status, h.valid_from, h.valid_to
        FROM relationships_history AS h
        WHERE h.team_id = %(team_id)s AND h.relationship_id = c.relationship_id AND h.recorded_from <= %(known_at)s
        ORDER BY h.version DESC
        LIMIT 1
    ) AS h ON true
    LEFT JOIN LATERAL (
        SELECT t.removal_reason
        FROM timeline_decisions AS t
        WHERE t.team_id = %(team_id)s AND t.statement_id = s.observation_id AND t.kind = 'removal'
          AND t.recorded_at <= %(known_at)s
          AND NOT EXISTS (SELECT 1
                          FROM decisions AS r
                          WHERE r.team_id = %(team_id)s AND r.reverts_decision_id = t.decision_id
                            AND r.recorded_at <= %(known_at)s)
        ORDER BY t.revision DESC, t.entry DESC
        LIMIT 1
    ) AS d ON true
    LEFT JOIN LATERAL (
        SELECT bool_or(k.status = 'resolved' AND m.position_id = k.preferred_position_id) AS won,
               bool_or(k.status = 'resolved' AND m.position_id <> k.preferred_position_id) AS lost,
               bool_or(k.status IN ('open', 'overdue')) AS disputed
        FROM case_members AS n
        CROSS JOIN LATERAL (
            SELECT m.position_id, m.present
            FROM case_members_history AS m
            WHERE m.team_id = %(team_id)s AND m.conflict_id = n.conflict_id AND m.position_id = n.position_id
              AND m.relationship_id = n.relationship_id AND m.recorded_from <= %(known_at)s
            ORDER BY m.version DESC
            LIMIT 1
        ) AS m
        CROSS JOIN LATERAL (
            SELECT k.status, k.preferred_position_id
            FROM conflict_cases_history AS k
            WHERE k.team_id = %(team_id)s AND k.conflict_id = n.conflict_id AND k.recorded_from <= %(known_at)s
            ORDER BY k.revision DESC
            LIMIT 1
        ) AS k
        WHERE n.team_id = %(team_id)s AND n.relationship_id = c.relationship_id AND m.present
    ) AS k ON true
    WHERE %(predicate)s::text IS NULL OR coalesce(h.predicate, s.predicate) = %(predicate)s
)
SELECT f.modality, f.verdict, f.removal_reason, f.status, f.living, f.ended, f.effective, f.asked, f.won, f.lost,
       f.disputed, count(*) AS times
FROM facts AS f
GROUP BY f.modality, f.verdict, f.removal_reason, f.status, f.living, f.ended, f.effective, f.asked, f.won, f.lost,
         f.disputed;

-- name: fragments_of_source
-- purpose: how many texts a group, a key or a profile has
-- index: evidence_fragments_author_id_idx
-- lock: none
SELECT count(*) AS total
FROM evidence_fragments AS f
WHERE f.team_id = %(team_id)s AND f.recorded_at <= %(known_at)s
  AND (f.source_group = %(source_group)s OR f.source_key = %(source_key)s OR f.author_id = %(profile_id)s::uuid);
