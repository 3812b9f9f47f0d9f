-- What a decision on a placement reads: the question, the submissions that it is about, and what waits for its answer.
-- Everything is read twice with the same parameters: outside any transaction for the verifier, and under the team's lock.

-- name: decided_ingest
-- purpose: whose submission is decided
-- index: ingests_pkey
-- lock: none
SELECT i.ingest_id, i.profile_id
FROM ingests AS i
WHERE i.team_id = %(team_id)s AND i.ingest_id = %(ingest_id)s;

-- name: decided_item
-- purpose: the item that a decision answers
-- index: review_items_pkey
-- lock: none
SELECT i.item_id, i.version, i.kind, i.status, i.owner_id, i.reason, i.ingest_id, i.fragment_id, i.statement_id,
       i.subject_id, i.predicate, i.scope, i.incoming, i.opposing, i.details, i.decision_id, i.opened_at
FROM review_items AS i
WHERE i.team_id = %(team_id)s AND i.item_id = %(item_id)s;

-- name: statements_of_rows
-- purpose: the observations that rows carry or carried, each with its submission
-- index: carriages_relationship_id_idx
-- lock: none
SELECT DISTINCT c.statement_id, o.ingest_id
FROM carriages AS c
JOIN observations AS o ON o.team_id = %(team_id)s AND o.observation_id = c.statement_id
WHERE c.team_id = %(team_id)s AND c.relationship_id = ANY(%(relationship_ids)s);

-- name: ingests_of_fragment
-- purpose: the submissions that brought a text
-- index: evidence_occurrences_fragment_id_idx
-- lock: none
SELECT f.ingest_id
FROM evidence_fragments AS f
WHERE f.team_id = %(team_id)s AND f.fragment_id = %(fragment_id)s
UNION
SELECT x.ingest_id
FROM evidence_occurrences AS x
WHERE x.team_id = %(team_id)s AND x.fragment_id = %(fragment_id)s;

-- name: decided_observations
-- purpose: what submissions said, each observation as it is bound by now, with its last verdict and the row that it has
-- index: observations_pkey
-- lock: none
SELECT o.observation_id, o.ingest_id, o.author_id, o.proposal_id, o.ordinal, o.subject_ref, o.subject_phrase,
       o.predicate_phrase, o.object_ref, o.object_phrase, o.mentions, o.value_type, o.value_canonical, o.value_unit,
       o.value_display, o.polarity, o.modality, o.scope, o.stated_from, o.stated_to, o.spans, o.comment,
       o.correction_target_id, o.correction_target_version,
       coalesce(b.subject_id, o.subject_id) AS subject_id,
       coalesce(b.object_entity_id, o.object_entity_id) AS object_entity_id,
       coalesce(b.predicate, o.predicate) AS predicate,
       coalesce(b.given_up, false) AS given_up,
       v.verdict, c.relationship_id
FROM observations AS o
LEFT JOIN LATERAL (
    SELECT b.subject_id, b.object_entity_id, b.predicate, b.given_up
    FROM observation_bindings AS b
    WHERE b.team_id = %(team_id)s AND b.observation_id = o.observation_id
    ORDER BY b.revision DESC
    LIMIT 1
) AS b ON true
LEFT JOIN LATERAL (
    SELECT v.verdict
    FROM verification_events AS v
    WHERE v.team_id = %(team_id)s AND v.observation_id = o.observation_id
    ORDER BY v.revision DESC
    LIMIT 1
) AS v ON true
LEFT JOIN LATERAL (
    SELECT c.relationship_id
    FROM carriages AS c
    WHERE c.team_id = %(team_id)s AND c.statement_id = o.observation_id
    ORDER BY c.revision DESC
    LIMIT 1
) AS c ON true
WHERE o.team_id = %(team_id)s
  AND (o.ingest_id = ANY(%(ingest_ids)s) OR o.observation_id = ANY(%(observation_ids)s))
ORDER BY o.recorded_at, o.ordinal, o.observation_id;

-- name: cited_fragments
-- purpose: the texts that waiting observations cite, with whether a quarantined one was released
-- index: evidence_fragments_pkey
-- lock: none
SELECT f.fragment_id, f.author_id, f.content, f.content_sha256, f.source_group, f.source_key, f.source_revision,
       f.source_type, f.scan_verdict, f.claimed_authority, f.inherited_labels, f.derived_from_fragment_ids,
       f.labels, f.occurred_at, f.recorded_at,
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

-- name: first_administrator
-- purpose: who is asked what only an administrator decides: the one whose key is the oldest, a live one first
-- index: api_keys_profile_id_idx
-- lock: none
SELECT k.profile_id
FROM api_keys AS k
WHERE k.team_id = %(team_id)s AND 'admin' = ANY(k.scopes)
ORDER BY k.revoked_at = 'infinity' DESC, k.created_at, k.key_id
LIMIT 1;
