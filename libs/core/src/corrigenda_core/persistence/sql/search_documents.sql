-- The indexer's own statements. Nothing here is a revision: documents can be made anew from the evidence at any time.

-- name: stale_teams
-- purpose: teams whose search documents are behind, the longest waiting first
-- index: none
-- lock: none
SELECT t.team_id FROM stale_teams(%(limit)s::integer) AS t (team_id);

-- name: waiting_fragments
-- purpose: a batch of waiting intents after a place in the queue, each with its fragment and the document it has
-- index: search_refresh_intents_waiting_idx
-- lock: none
SELECT i.revision, i.fragment_id, i.reason, i.recorded_at AS asked_at, f.content, f.recorded_at, d.embedding_space,
       f.erasure_id IS NOT NULL
       OR f.scan_verdict = 'quarantined'
       AND NOT EXISTS (SELECT 1
                       FROM review_items AS q
                       WHERE q.team_id = %(team_id)s AND q.fragment_id = f.fragment_id AND q.kind = 'quarantine'
                         AND q.status = 'resolved' AND q.reason = 'release_quarantine') AS hidden
FROM search_refresh_intents AS i
JOIN evidence_fragments AS f ON f.team_id = %(team_id)s AND f.fragment_id = i.fragment_id
LEFT JOIN search_documents AS d ON d.team_id = %(team_id)s AND d.fragment_id = i.fragment_id
WHERE i.team_id = %(team_id)s AND i.consumed_at = 'infinity'
  AND (i.revision, i.fragment_id) > (%(after_revision)s, %(after_fragment_id)s::uuid)
ORDER BY i.revision, i.fragment_id
LIMIT %(limit)s;

-- name: put_document
-- purpose: the document of a fragment, unless a newer one is there; an embedding is not given up for none
-- index: search_documents_pkey
-- lock: the document's row
INSERT INTO search_documents AS d (team_id, fragment_id, version, lexemes, embedding, embedding_space, recorded_from,
                                   recorded_to)
VALUES (%(team_id)s, %(fragment_id)s, %(version)s, team_lexemes(%(team_id)s, %(terms)s::text[]),
        %(embedding)s::halfvec, %(embedding_space)s, %(recorded_from)s, 'infinity')
ON CONFLICT (team_id, fragment_id) DO UPDATE
SET version = excluded.version, lexemes = excluded.lexemes,
    embedding = coalesce(excluded.embedding, d.embedding),
    embedding_space = coalesce(excluded.embedding_space, d.embedding_space),
    recorded_from = excluded.recorded_from, recorded_to = excluded.recorded_to
WHERE d.version <= excluded.version
RETURNING d.fragment_id;

-- name: consume_intents
-- purpose: marks intents as done
-- index: search_refresh_intents_pkey
-- lock: the intents' rows
UPDATE search_refresh_intents AS i
SET consumed_at = %(consumed_at)s
FROM unnest(%(revisions)s::bigint[], %(fragment_ids)s::uuid[]) AS done (revision, fragment_id)
WHERE i.team_id = %(team_id)s AND i.revision = done.revision AND i.fragment_id = done.fragment_id
  AND i.consumed_at = 'infinity';
