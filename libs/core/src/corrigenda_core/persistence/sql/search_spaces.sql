-- Embedding spaces: which documents are still embedded by another model, and what takes their vectors' place.

-- name: teams_in_other_spaces
-- purpose: teams with documents of another space
-- index: none
-- lock: none
SELECT t.team_id
FROM teams_in_other_spaces(%(space)s, %(unembedded)s::boolean, %(limit)s::integer) AS t (team_id);

-- name: sample_document
-- purpose: any one document of a space
-- index: none
-- lock: none
SELECT s.team_id, s.fragment_id FROM sample_document(%(space)s) AS s;

-- name: sampled_vector
-- purpose: the text and the vector of a document
-- index: search_documents_pkey
-- lock: none
SELECT f.content, d.embedding::text AS embedding
FROM search_documents AS d
JOIN evidence_fragments AS f ON f.team_id = %(team_id)s AND f.fragment_id = d.fragment_id
WHERE d.team_id = %(team_id)s AND d.fragment_id = %(fragment_id)s AND d.embedding_space = %(space)s;

-- name: documents_in_other_spaces
-- purpose: documents of another space after a place; one without words shows a text that may not be found at all
-- index: search_documents_pkey
-- lock: none
SELECT d.fragment_id, d.version, d.embedding_space, f.content
FROM search_documents AS d
JOIN evidence_fragments AS f ON f.team_id = %(team_id)s AND f.fragment_id = d.fragment_id
WHERE d.team_id = %(team_id)s AND d.fragment_id > %(after)s::uuid
  AND d.embedding_space IS DISTINCT FROM %(space)s
  AND (d.embedding_space IS NOT NULL OR (%(unembedded)s::boolean AND d.lexemes <> ''::tsvector))
ORDER BY d.fragment_id
LIMIT %(limit)s;

-- name: count_documents_by_space
-- purpose: progress of a change of the model
-- index: search_documents_pkey
-- lock: none
SELECT count(*) FILTER (WHERE d.embedding_space = %(space)s) AS in_space,
       count(*) FILTER (WHERE d.embedding_space <> %(space)s) AS in_others,
       count(*) FILTER (WHERE d.embedding_space IS NULL AND d.lexemes <> ''::tsvector) AS unembedded
FROM search_documents AS d
WHERE d.team_id = %(team_id)s;

-- name: put_vector
-- purpose: a vector of the new space, if the document is still the one that was read
-- index: search_documents_pkey
-- lock: the document's row
UPDATE search_documents AS d
SET embedding = %(embedding)s::halfvec, embedding_space = %(space)s
WHERE d.team_id = %(team_id)s AND d.fragment_id = %(fragment_id)s AND d.version = %(version)s
  AND d.embedding_space IS NOT DISTINCT FROM %(seen_space)s::text
RETURNING d.fragment_id;

-- name: first_and_last_space
-- purpose: whether a team's documents are all in the spaces that are searched
-- index: search_documents_embedding_space_idx
-- lock: none
SELECT min(d.embedding_space) AS first, max(d.embedding_space) AS last
FROM search_documents AS d
WHERE d.team_id = %(team_id)s;
