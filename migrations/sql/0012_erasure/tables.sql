CREATE TABLE erasures (
    team_id UUID NOT NULL,
    erasure_id UUID NOT NULL,
    fragment_id UUID NOT NULL,
    fragment_ids UUID[] NOT NULL,
    reason TEXT NOT NULL,
    erased_by UUID NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT erasures_pkey PRIMARY KEY (team_id, erasure_id),
    CONSTRAINT erasures_team_id_fragment_id_fkey FOREIGN KEY(team_id, fragment_id) REFERENCES evidence_fragments (team_id, fragment_id),
    CONSTRAINT erasures_team_id_erased_by_fkey FOREIGN KEY(team_id, erased_by) REFERENCES profiles (team_id, profile_id)
);

CREATE INDEX erasures_erased_by_idx ON erasures (team_id, erased_by);
COMMENT ON INDEX erasures_erased_by_idx IS 'erasures that a profile ordered; foreign key to profiles';
CREATE INDEX erasures_fragment_id_idx ON erasures (team_id, fragment_id);
COMMENT ON INDEX erasures_fragment_id_idx IS 'the erasure of a fragment; foreign key to evidence_fragments';
COMMENT ON TABLE erasures IS 'An administrator''s order that a text be erased, with every fragment that held it.';
COMMENT ON COLUMN erasures.fragment_id IS 'the fragment that was named';
COMMENT ON COLUMN erasures.fragment_ids IS 'it and its exact copies';
COMMENT ON COLUMN erasures.reason IS 'the administrator''s words';

CREATE TABLE erased_texts (
    team_id UUID NOT NULL,
    erasure_id UUID NOT NULL,
    entry INTEGER NOT NULL,
    table_name TEXT NOT NULL,
    row_key TEXT[] NOT NULL,
    column_name TEXT NOT NULL,
    entered BYTEA NOT NULL,
    tombstone TEXT NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT erased_texts_pkey PRIMARY KEY (team_id, erasure_id, entry),
    CONSTRAINT erased_texts_entered_length_check CHECK (octet_length(entered) = 32),
    CONSTRAINT erased_texts_entry_check CHECK (entry >= 0),
    CONSTRAINT erased_texts_team_id_erasure_id_fkey FOREIGN KEY(team_id, erasure_id) REFERENCES erasures (team_id, erasure_id)
);

CREATE UNIQUE INDEX erased_texts_row_key ON erased_texts (team_id, table_name, row_key, column_name, erasure_id);
COMMENT ON INDEX erased_texts_row_key IS 'whether a change of a row is a recorded erasure';
COMMENT ON TABLE erased_texts IS 'One column of one row whose text is gone: what the ledger took in for it, and what stands there now.';
COMMENT ON COLUMN erased_texts.entry IS 'place in its erasure, from 0';
COMMENT ON COLUMN erased_texts.row_key IS 'the row''s primary key behind the team, as it is now';
COMMENT ON COLUMN erased_texts.entered IS 'the SHA-256 by which the text entered the ledger';
COMMENT ON COLUMN erased_texts.tombstone IS 'a keyed hash in the form of the column';

ALTER TABLE evidence_fragments ADD COLUMN erasure_id UUID;
COMMENT ON COLUMN evidence_fragments.erasure_id IS 'the erasure that took the text away; NULL: the text is there';
ALTER TABLE evidence_fragments DROP CONSTRAINT evidence_fragments_content_sha256_check;
ALTER TABLE evidence_fragments ADD CONSTRAINT evidence_fragments_content_sha256_check CHECK (erasure_id IS NOT NULL OR content_sha256 = sha256(convert_to(content, 'UTF8')));
ALTER TABLE evidence_fragments ADD CONSTRAINT evidence_fragments_team_id_erasure_id_fkey FOREIGN KEY(team_id, erasure_id) REFERENCES erasures (team_id, erasure_id) DEFERRABLE INITIALLY DEFERRED;
CREATE INDEX evidence_fragments_erasure_id_idx ON evidence_fragments (team_id, erasure_id) WHERE erasure_id IS NOT NULL;
COMMENT ON INDEX evidence_fragments_erasure_id_idx IS 'fragments of an erasure; foreign key to erasures';
