CREATE TABLE text_bands (
    team_id UUID NOT NULL,
    band BIGINT NOT NULL,
    fragment_id UUID NOT NULL,
    CONSTRAINT text_bands_pkey PRIMARY KEY (team_id, band, fragment_id),
    CONSTRAINT text_bands_team_id_fragment_id_fkey FOREIGN KEY(team_id, fragment_id) REFERENCES evidence_fragments (team_id, fragment_id)
);

CREATE INDEX text_bands_fragment_id_idx ON text_bands (team_id, fragment_id);
COMMENT ON INDEX text_bands_fragment_id_idx IS 'bands of a fragment, for its erasure; foreign key to evidence_fragments';
COMMENT ON TABLE text_bands IS 'Where a text stands among those that may say nearly the same: a few numbers, no text.';
COMMENT ON COLUMN text_bands.band IS 'min-hash of the normal form; near-duplicates share at least one';
