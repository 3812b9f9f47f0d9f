CREATE TABLE search_documents (
    team_id UUID NOT NULL,
    fragment_id UUID NOT NULL,
    version BIGINT NOT NULL,
    lexemes TSVECTOR NOT NULL,
    embedding HALFVEC(384),
    embedding_space TEXT,
    recorded_from TIMESTAMP WITH TIME ZONE NOT NULL,
    recorded_to TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT search_documents_pkey PRIMARY KEY (team_id, fragment_id),
    CONSTRAINT search_documents_recorded_to_check CHECK (recorded_from < recorded_to),
    CONSTRAINT search_documents_embedding_space_check CHECK ((embedding IS NULL) = (embedding_space IS NULL)),
    CONSTRAINT search_documents_team_id_fragment_id_fkey FOREIGN KEY(team_id, fragment_id) REFERENCES evidence_fragments (team_id, fragment_id)
);

CREATE INDEX search_documents_embedding_idx ON search_documents USING hnsw (embedding halfvec_ip_ops);
COMMENT ON INDEX search_documents_embedding_idx IS 'search_near: vector branch of recall in a large team';
CREATE INDEX search_documents_embedding_space_idx ON search_documents (team_id, embedding_space);
COMMENT ON INDEX search_documents_embedding_space_idx IS 'which spaces a team''s documents are in, when the embedding model changes';
CREATE INDEX search_documents_lexemes_idx ON search_documents USING gin (lexemes) WITH (fastupdate = off);
COMMENT ON INDEX search_documents_lexemes_idx IS 'search_text: lexical branch of recall';
CREATE INDEX search_documents_recorded_from_idx ON search_documents (team_id, recorded_from DESC, fragment_id);
COMMENT ON INDEX search_documents_recorded_from_idx IS 'how large a team was; search_text: the latest documents with words that many have';
CREATE INDEX search_documents_sample_idx ON search_documents (team_id, uuid_hash_extended(fragment_id, 0));
COMMENT ON INDEX search_documents_sample_idx IS 'search_text: a sample of a team''s documents, the same ones at every look at a view';
COMMENT ON TABLE search_documents IS 'What finds a fragment: one document per fragment, because its text never changes.';
COMMENT ON COLUMN search_documents.version IS 'the revision whose state the indexer read; an older one never replaces a newer';
COMMENT ON COLUMN search_documents.lexemes IS 'team_lexemes(team_id, terms)';
COMMENT ON COLUMN search_documents.embedding_space IS 'model and version; vectors of two spaces are not compared';
COMMENT ON COLUMN search_documents.recorded_from IS 'of the fragment';
COMMENT ON COLUMN search_documents.recorded_to IS 'infinity: until further notice';

CREATE TABLE search_refresh_intents (
    team_id UUID NOT NULL,
    fragment_id UUID NOT NULL,
    reason TEXT NOT NULL,
    consumed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT search_refresh_intents_pkey PRIMARY KEY (team_id, revision, fragment_id),
    CONSTRAINT search_refresh_intents_reason_check CHECK (reason IN ('fragment_stored', 'fragment_changed', 'eligibility_changed')),
    CONSTRAINT search_refresh_intents_team_id_fragment_id_fkey FOREIGN KEY(team_id, fragment_id) REFERENCES evidence_fragments (team_id, fragment_id)
);

CREATE INDEX search_refresh_intents_fragment_id_idx ON search_refresh_intents (team_id, fragment_id);
COMMENT ON INDEX search_refresh_intents_fragment_id_idx IS 'intents of a fragment; foreign key to evidence_fragments';
CREATE INDEX search_refresh_intents_waiting_idx ON search_refresh_intents (team_id, revision, fragment_id) WHERE consumed_at = 'infinity';
COMMENT ON INDEX search_refresh_intents_waiting_idx IS 'waiting intents, oldest first; whether a team is stale';
COMMENT ON TABLE search_refresh_intents IS 'Append queue: the commit of this revision asks the indexer to look at the fragment.';
COMMENT ON COLUMN search_refresh_intents.consumed_at IS 'real time; infinity: waiting';

