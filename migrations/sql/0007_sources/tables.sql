CREATE TABLE sources (
    team_id UUID NOT NULL,
    source_id UUID NOT NULL,
    source_group TEXT NOT NULL,
    source_key TEXT NOT NULL,
    version INTEGER NOT NULL,
    speakers UUID[] NOT NULL,
    authoritative_for_all BOOLEAN NOT NULL,
    authoritative_for TEXT[] NOT NULL,
    record BOOLEAN NOT NULL,
    lifecycle TEXT NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT sources_pkey PRIMARY KEY (team_id, source_id),
    CONSTRAINT sources_lifecycle_check CHECK (lifecycle IN ('active', 'retired')),
    CONSTRAINT sources_version_check CHECK (version >= 1),
    CONSTRAINT sources_names_check CHECK (source_group <> '' OR source_key <> ''),
    CONSTRAINT sources_length_check CHECK (octet_length(source_group) <= 1024 AND octet_length(source_key) <= 1024),
    CONSTRAINT sources_authoritative_for_check CHECK (NOT authoritative_for_all OR authoritative_for = '{}'),
    CONSTRAINT sources_team_id_fkey FOREIGN KEY(team_id) REFERENCES teams (team_id),
    CONSTRAINT sources_source_group_key UNIQUE (team_id, source_group, source_key)
);

CREATE INDEX sources_source_key_idx ON sources (team_id, source_key, source_group);
COMMENT ON INDEX sources_source_key_idx IS 'entries that a fragment''s key belongs to';
COMMENT ON TABLE sources IS 'The current version of an entry of the source registry.';
COMMENT ON COLUMN sources.source_id IS 'orders the entries by their registration; the group and the key name one';
COMMENT ON COLUMN sources.source_group IS 'empty: the entry is for a key in every group';
COMMENT ON COLUMN sources.source_key IS 'empty: the entry is for every key of a group';
COMMENT ON COLUMN sources.speakers IS 'profiles that may speak for it; empty: every profile';
COMMENT ON COLUMN sources.authoritative_for_all IS 'authoritative for whatever it speaks about';
COMMENT ON COLUMN sources.authoritative_for IS 'predicates that it is authoritative for';
COMMENT ON COLUMN sources.record IS 'a system of record';

CREATE TABLE sources_history (
    team_id UUID NOT NULL,
    source_id UUID NOT NULL,
    source_group TEXT NOT NULL,
    source_key TEXT NOT NULL,
    version INTEGER NOT NULL,
    speakers UUID[] NOT NULL,
    authoritative_for_all BOOLEAN NOT NULL,
    authoritative_for TEXT[] NOT NULL,
    record BOOLEAN NOT NULL,
    lifecycle TEXT NOT NULL,
    revision BIGINT NOT NULL,
    recorded_from TIMESTAMP WITH TIME ZONE NOT NULL,
    recorded_to TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT sources_history_pkey PRIMARY KEY (team_id, source_id, version),
    CONSTRAINT sources_history_recorded_to_check CHECK (recorded_from < recorded_to),
    CONSTRAINT sources_history_versions_excl EXCLUDE USING gist (team_id WITH =, source_id WITH =, tstzrange(recorded_from, recorded_to) WITH &&)
);

COMMENT ON TABLE sources_history IS 'Every version of the rows of sources.';

CREATE TABLE source_states (
    team_id UUID NOT NULL,
    source_key TEXT NOT NULL,
    version INTEGER NOT NULL,
    first_user UUID NOT NULL,
    current_revision TEXT NOT NULL,
    prior_revision TEXT,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT source_states_pkey PRIMARY KEY (team_id, source_key),
    CONSTRAINT source_states_version_check CHECK (version >= 1),
    CONSTRAINT source_states_source_key_check CHECK (octet_length(source_key) BETWEEN 1 AND 1024),
    CONSTRAINT source_states_prior_revision_check CHECK (prior_revision <> current_revision),
    CONSTRAINT source_states_team_id_first_user_fkey FOREIGN KEY(team_id, first_user) REFERENCES profiles (team_id, profile_id)
);

CREATE INDEX source_states_first_user_idx ON source_states (team_id, first_user);
COMMENT ON INDEX source_states_first_user_idx IS 'keys of a profile; foreign key to profiles';
COMMENT ON TABLE source_states IS 'Which revision of a source is current.';
COMMENT ON COLUMN source_states.version IS 'counts the revisions of the source that were activated, from 1';
COMMENT ON COLUMN source_states.first_user IS 'whose key it is unless the registry says whose';
COMMENT ON COLUMN source_states.prior_revision IS 'what the current one took the place of';

CREATE TABLE source_states_history (
    team_id UUID NOT NULL,
    source_key TEXT NOT NULL,
    version INTEGER NOT NULL,
    first_user UUID NOT NULL,
    current_revision TEXT NOT NULL,
    prior_revision TEXT,
    revision BIGINT NOT NULL,
    recorded_from TIMESTAMP WITH TIME ZONE NOT NULL,
    recorded_to TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT source_states_history_pkey PRIMARY KEY (team_id, source_key, version),
    CONSTRAINT source_states_history_recorded_to_check CHECK (recorded_from < recorded_to),
    CONSTRAINT source_states_history_versions_excl EXCLUDE USING gist (team_id WITH =, source_key WITH =, tstzrange(recorded_from, recorded_to) WITH &&)
);

COMMENT ON TABLE source_states_history IS 'Every version of the rows of source_states.';

CREATE TABLE fragment_retirements (
    team_id UUID NOT NULL,
    fragment_id UUID NOT NULL,
    reason TEXT NOT NULL,
    superseded_by UUID,
    actor_kind TEXT NOT NULL,
    actor_profile_id UUID,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT fragment_retirements_pkey PRIMARY KEY (team_id, fragment_id),
    CONSTRAINT fragment_retirements_reason_check CHECK (reason IN ('revision_superseded', 'superseded_by_author')),
    CONSTRAINT fragment_retirements_actor_kind_check CHECK (actor_kind IN ('profile', 'reviewer', 'judge', 'operator')),
    CONSTRAINT fragment_retirements_actor_profile_id_check CHECK (CASE actor_kind WHEN 'profile' THEN actor_profile_id IS NOT NULL WHEN 'reviewer' THEN actor_profile_id IS NULL ELSE true END),
    CONSTRAINT fragment_retirements_superseded_by_check CHECK ((reason = 'superseded_by_author') = (superseded_by IS NOT NULL)),
    CONSTRAINT fragment_retirements_team_id_fragment_id_fkey FOREIGN KEY(team_id, fragment_id) REFERENCES evidence_fragments (team_id, fragment_id),
    CONSTRAINT fragment_retirements_team_id_superseded_by_fkey FOREIGN KEY(team_id, superseded_by) REFERENCES evidence_fragments (team_id, fragment_id)
);

CREATE INDEX fragment_retirements_superseded_by_idx ON fragment_retirements (team_id, superseded_by) WHERE superseded_by IS NOT NULL;
COMMENT ON INDEX fragment_retirements_superseded_by_idx IS 'what a fragment has superseded; foreign key to evidence_fragments';
COMMENT ON TABLE fragment_retirements IS 'A fragment that supports nothing any more, for good: its supports were revoked in the same commit.';
COMMENT ON COLUMN fragment_retirements.superseded_by IS 'the fragment that names it as superseded; NULL: its source has moved on';

CREATE INDEX evidence_fragments_source_group_idx ON evidence_fragments (team_id, source_group) WHERE source_group IS NOT NULL;
COMMENT ON INDEX evidence_fragments_source_group_idx IS 'fragments of a group: what a change of the registry decides again';
CREATE INDEX evidence_fragments_source_key_idx ON evidence_fragments (team_id, source_key, source_revision) WHERE source_key IS NOT NULL;
COMMENT ON INDEX evidence_fragments_source_key_idx IS 'fragments of a source''s revision: what loses its effect when the next one is activated';
