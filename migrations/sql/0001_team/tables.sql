CREATE TABLE teams (
    team_id UUID NOT NULL,
    name TEXT NOT NULL,
    review_period_days INTEGER NOT NULL,
    review_start_minute INTEGER NOT NULL,
    time_zone TEXT NOT NULL,
    trusts_declared_groups BOOLEAN NOT NULL,
    clock_mode TEXT NOT NULL,
    driven_now TIMESTAMP WITH TIME ZONE,
    version INTEGER NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    opened_at TIMESTAMP WITH TIME ZONE NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT teams_pkey PRIMARY KEY (team_id),
    CONSTRAINT teams_clock_mode_check CHECK (clock_mode IN ('driven', 'open')),
    CONSTRAINT teams_review_period_days_check CHECK (review_period_days BETWEEN 1 AND 30),
    CONSTRAINT teams_review_start_minute_check CHECK (review_start_minute BETWEEN 0 AND 1439),
    CONSTRAINT teams_driven_now_check CHECK ((clock_mode = 'driven') = (driven_now IS NOT NULL)),
    CONSTRAINT teams_opened_at_check CHECK ((clock_mode = 'driven') = (opened_at = 'infinity')),
    CONSTRAINT teams_version_check CHECK (version >= 1)
);

CREATE INDEX teams_driven_idx ON teams (team_id) WHERE clock_mode = 'driven';
COMMENT ON INDEX teams_driven_idx IS 'teams whose time does not move by itself: each is asked whether it is due';
COMMENT ON TABLE teams IS 'One isolation boundary with its policy.';
COMMENT ON COLUMN teams.review_start_minute IS 'local minute of the day at which the nightly run starts';
COMMENT ON COLUMN teams.time_zone IS 'IANA name';
COMMENT ON COLUMN teams.driven_now IS 'the time of a driven clock; NULL once the team is open';
COMMENT ON COLUMN teams.version IS 'version of the policy; an update names it';
COMMENT ON COLUMN teams.created_at IS 'real time';
COMMENT ON COLUMN teams.opened_at IS 'real time; infinity: not opened';

CREATE TABLE ledger (
    team_id UUID NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    prior_hash BYTEA NOT NULL,
    change_hash BYTEA NOT NULL,
    hash BYTEA NOT NULL,
    actor_kind TEXT NOT NULL,
    actor_profile_id UUID,
    change_kind TEXT NOT NULL,
    CONSTRAINT ledger_pkey PRIMARY KEY (team_id, revision),
    CONSTRAINT ledger_prior_hash_length_check CHECK (octet_length(prior_hash) = 32),
    CONSTRAINT ledger_change_hash_length_check CHECK (octet_length(change_hash) = 32),
    CONSTRAINT ledger_hash_length_check CHECK (octet_length(hash) = 32),
    CONSTRAINT ledger_actor_kind_check CHECK (actor_kind IN ('profile', 'reviewer', 'judge', 'operator')),
    CONSTRAINT ledger_actor_profile_id_check CHECK (CASE actor_kind WHEN 'profile' THEN actor_profile_id IS NOT NULL WHEN 'reviewer' THEN actor_profile_id IS NULL ELSE true END),
    CONSTRAINT ledger_revision_check CHECK (revision >= 1),
    CONSTRAINT ledger_team_id_fkey FOREIGN KEY(team_id) REFERENCES teams (team_id),
    CONSTRAINT ledger_recorded_at_key UNIQUE (team_id, recorded_at)
);

COMMENT ON TABLE ledger IS 'The hash chain: one immutable link per revision.';
COMMENT ON COLUMN ledger.change_kind IS 'what was committed, for readers of the ledger';

CREATE TABLE profiles (
    team_id UUID NOT NULL,
    profile_id UUID NOT NULL,
    name TEXT NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT profiles_pkey PRIMARY KEY (team_id, profile_id),
    CONSTRAINT profiles_team_id_fkey FOREIGN KEY(team_id) REFERENCES teams (team_id),
    CONSTRAINT profiles_name_key UNIQUE (team_id, name)
);

COMMENT ON TABLE profiles IS 'An author inside a team.';

CREATE TABLE team_clock (
    team_id UUID NOT NULL,
    revision BIGINT NOT NULL,
    closed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    ledger_head BYTEA NOT NULL,
    CONSTRAINT team_clock_pkey PRIMARY KEY (team_id),
    CONSTRAINT team_clock_ledger_head_length_check CHECK (octet_length(ledger_head) = 32),
    CONSTRAINT team_clock_revision_check CHECK (revision >= 0),
    CONSTRAINT team_clock_team_id_fkey FOREIGN KEY(team_id) REFERENCES teams (team_id)
);

COMMENT ON TABLE team_clock IS 'One row per team: the lock that every commit takes first.';
COMMENT ON COLUMN team_clock.revision IS 'the last committed revision; 0 before the first';
COMMENT ON COLUMN team_clock.closed_at IS 'no later commit is recorded at or before this instant; -infinity before the first';

CREATE TABLE api_keys (
    team_id UUID NOT NULL,
    key_id UUID NOT NULL,
    profile_id UUID NOT NULL,
    label TEXT NOT NULL,
    key_hash BYTEA NOT NULL,
    scopes TEXT[] NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    revoked_at TIMESTAMP WITH TIME ZONE NOT NULL,
    replaces_key_id UUID,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT api_keys_pkey PRIMARY KEY (team_id, key_id),
    CONSTRAINT api_keys_key_hash_length_check CHECK (octet_length(key_hash) = 32),
    CONSTRAINT api_keys_scopes_check CHECK (scopes <@ ARRAY['read', 'write', 'assert_authority', 'admin', 'operator']),
    CONSTRAINT api_keys_team_id_profile_id_fkey FOREIGN KEY(team_id, profile_id) REFERENCES profiles (team_id, profile_id),
    CONSTRAINT api_keys_team_id_replaces_key_id_fkey FOREIGN KEY(team_id, replaces_key_id) REFERENCES api_keys (team_id, key_id)
);

CREATE INDEX api_keys_key_id_idx ON api_keys (key_id);
COMMENT ON INDEX api_keys_key_id_idx IS 'authenticate: the key before its team is known';
CREATE INDEX api_keys_profile_id_idx ON api_keys (team_id, profile_id);
COMMENT ON INDEX api_keys_profile_id_idx IS 'keys of a profile; foreign key to profiles';
CREATE UNIQUE INDEX api_keys_replaces_key_id_key ON api_keys (team_id, replaces_key_id) WHERE replaces_key_id IS NOT NULL;
COMMENT ON INDEX api_keys_replaces_key_id_key IS 'the successor of a key, at most one; foreign key to api_keys';
COMMENT ON TABLE api_keys IS 'A keyed hash of a secret that was shown once, and what it permits.';
COMMENT ON COLUMN api_keys.label IS 'what it is for, in words';
COMMENT ON COLUMN api_keys.created_at IS 'real time, like the two that follow';
COMMENT ON COLUMN api_keys.expires_at IS 'infinity: never';
COMMENT ON COLUMN api_keys.revoked_at IS 'infinity: not revoked';
COMMENT ON COLUMN api_keys.replaces_key_id IS 'the key before it in a rotation';

CREATE TABLE idempotency_records (
    team_id UUID NOT NULL,
    profile_id UUID NOT NULL,
    idempotency_key TEXT NOT NULL,
    rpc TEXT NOT NULL,
    request_hash BYTEA NOT NULL,
    response BYTEA NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT idempotency_records_pkey PRIMARY KEY (team_id, profile_id, idempotency_key),
    CONSTRAINT idempotency_records_request_hash_length_check CHECK (octet_length(request_hash) = 32),
    CONSTRAINT idempotency_records_idempotency_key_check CHECK (char_length(idempotency_key) BETWEEN 1 AND 128),
    CONSTRAINT idempotency_records_team_id_profile_id_fkey FOREIGN KEY(team_id, profile_id) REFERENCES profiles (team_id, profile_id)
);

COMMENT ON TABLE idempotency_records IS 'The stored response of a mutation under its caller''s key.';

CREATE TABLE ingests (
    team_id UUID NOT NULL,
    ingest_id UUID NOT NULL,
    profile_id UUID NOT NULL,
    result BYTEA NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT ingests_pkey PRIMARY KEY (team_id, ingest_id),
    CONSTRAINT ingests_team_id_profile_id_fkey FOREIGN KEY(team_id, profile_id) REFERENCES profiles (team_id, profile_id)
);

CREATE INDEX ingests_profile_id_idx ON ingests (team_id, profile_id);
COMMENT ON INDEX ingests_profile_id_idx IS 'submissions of a profile; foreign key to profiles';
COMMENT ON TABLE ingests IS 'One submission and what became of it.';
COMMENT ON COLUMN ingests.result IS 'the response message of the submission, serialised';

CREATE TABLE evidence_fragments (
    team_id UUID NOT NULL,
    fragment_id UUID NOT NULL,
    ingest_id UUID NOT NULL,
    author_id UUID NOT NULL,
    content TEXT NOT NULL,
    content_sha256 BYTEA NOT NULL,
    normal_sha256 BYTEA,
    source_type TEXT NOT NULL,
    claimed_authority TEXT NOT NULL,
    source_group TEXT,
    source_key TEXT,
    source_revision TEXT,
    previous_source_revision TEXT,
    supersedes_fragment_ids UUID[] NOT NULL,
    derived_from_fragment_ids UUID[] NOT NULL,
    inherited_labels TEXT[] NOT NULL,
    occurred_at TIMESTAMP WITH TIME ZONE,
    occurred_at_offset_minutes INTEGER,
    labels TEXT[] NOT NULL,
    metadata JSONB NOT NULL,
    confidence NUMERIC,
    scan_verdict TEXT NOT NULL,
    scan_findings JSONB NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT evidence_fragments_pkey PRIMARY KEY (team_id, fragment_id),
    CONSTRAINT evidence_fragments_content_sha256_length_check CHECK (octet_length(content_sha256) = 32),
    CONSTRAINT evidence_fragments_normal_sha256_length_check CHECK (octet_length(normal_sha256) = 32),
    CONSTRAINT evidence_fragments_source_type_check CHECK (source_type IN ('conversation', 'document', 'observation', 'manual', 'system_record')),
    CONSTRAINT evidence_fragments_claimed_authority_check CHECK (claimed_authority IN ('authoritative', 'primary', 'secondary', 'inferred', 'unknown')),
    CONSTRAINT evidence_fragments_scan_verdict_check CHECK (scan_verdict IN ('pass', 'guarded', 'quarantined')),
    CONSTRAINT evidence_fragments_content_length_check CHECK (octet_length(content) BETWEEN 1 AND 65536),
    CONSTRAINT evidence_fragments_content_sha256_check CHECK (content_sha256 = sha256(convert_to(content, 'UTF8'))),
    CONSTRAINT evidence_fragments_source_revision_check CHECK ((source_key IS NULL) = (source_revision IS NULL)),
    CONSTRAINT evidence_fragments_previous_source_revision_check CHECK (previous_source_revision IS NULL OR source_key IS NOT NULL),
    CONSTRAINT evidence_fragments_team_id_ingest_id_fkey FOREIGN KEY(team_id, ingest_id) REFERENCES ingests (team_id, ingest_id),
    CONSTRAINT evidence_fragments_team_id_author_id_fkey FOREIGN KEY(team_id, author_id) REFERENCES profiles (team_id, profile_id)
);

CREATE INDEX evidence_fragments_author_id_idx ON evidence_fragments (team_id, author_id, content_sha256);
COMMENT ON INDEX evidence_fragments_author_id_idx IS 'exact resubmission by the same author; foreign key to profiles';
CREATE INDEX evidence_fragments_ingest_id_idx ON evidence_fragments (team_id, ingest_id);
COMMENT ON INDEX evidence_fragments_ingest_id_idx IS 'fragments of a submission; foreign key to ingests';
COMMENT ON TABLE evidence_fragments IS 'Immutable verbatim text with its author and its source.';
COMMENT ON COLUMN evidence_fragments.content IS 'verbatim';
COMMENT ON COLUMN evidence_fragments.inherited_labels IS 'labels of independence beyond group and key, fixed at ingest';
COMMENT ON COLUMN evidence_fragments.occurred_at_offset_minutes IS 'the offset from UTC that its author wrote';
COMMENT ON COLUMN evidence_fragments.confidence IS 'stored and shown, never counted';

