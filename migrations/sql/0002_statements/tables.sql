CREATE TABLE predicates_history (
    team_id UUID NOT NULL,
    predicate TEXT NOT NULL,
    version INTEGER NOT NULL,
    aliases TEXT[] NOT NULL,
    subject_kinds TEXT[] NOT NULL,
    object_kinds TEXT[] NOT NULL,
    value_types TEXT[] NOT NULL,
    unit TEXT NOT NULL,
    relationship_kind TEXT NOT NULL,
    current_cardinality TEXT NOT NULL,
    supersession_basis TEXT NOT NULL,
    same_moment_policy TEXT NOT NULL,
    start_granularity TEXT NOT NULL,
    pii_class TEXT NOT NULL,
    review_after_days INTEGER,
    lifecycle TEXT NOT NULL,
    revision BIGINT NOT NULL,
    recorded_from TIMESTAMP WITH TIME ZONE NOT NULL,
    recorded_to TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT predicates_history_pkey PRIMARY KEY (team_id, predicate, version),
    CONSTRAINT predicates_history_recorded_to_check CHECK (recorded_from < recorded_to),
    CONSTRAINT predicates_history_versions_excl EXCLUDE USING gist (team_id WITH =, predicate WITH =, tstzrange(recorded_from, recorded_to) WITH &&)
);

COMMENT ON TABLE predicates_history IS 'Every version of the rows of predicates.';

CREATE TABLE predicates (
    team_id UUID NOT NULL,
    predicate TEXT NOT NULL,
    version INTEGER NOT NULL,
    aliases TEXT[] NOT NULL,
    subject_kinds TEXT[] NOT NULL,
    object_kinds TEXT[] NOT NULL,
    value_types TEXT[] NOT NULL,
    unit TEXT NOT NULL,
    relationship_kind TEXT NOT NULL,
    current_cardinality TEXT NOT NULL,
    supersession_basis TEXT NOT NULL,
    same_moment_policy TEXT NOT NULL,
    start_granularity TEXT NOT NULL,
    pii_class TEXT NOT NULL,
    review_after_days INTEGER,
    lifecycle TEXT NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT predicates_pkey PRIMARY KEY (team_id, predicate),
    CONSTRAINT predicates_relationship_kind_check CHECK (relationship_kind IN ('state', 'event')),
    CONSTRAINT predicates_current_cardinality_check CHECK (current_cardinality IN ('one', 'many')),
    CONSTRAINT predicates_supersession_basis_check CHECK (supersession_basis IN ('evidence_time', 'stated_time', 'observed_time')),
    CONSTRAINT predicates_same_moment_policy_check CHECK (same_moment_policy IN ('hold', 'compete', 'close')),
    CONSTRAINT predicates_start_granularity_check CHECK (start_granularity IN ('instant', 'day')),
    CONSTRAINT predicates_lifecycle_check CHECK (lifecycle IN ('active', 'retired')),
    CONSTRAINT predicates_version_check CHECK (version >= 1),
    CONSTRAINT predicates_predicate_check CHECK (octet_length(predicate) BETWEEN 1 AND 256),
    CONSTRAINT predicates_review_after_days_check CHECK (review_after_days BETWEEN 1 AND 3660),
    CONSTRAINT predicates_team_id_fkey FOREIGN KEY(team_id) REFERENCES teams (team_id)
);

COMMENT ON TABLE predicates IS 'The current version of a registered predicate.';
COMMENT ON COLUMN predicates.predicate IS 'the key';
COMMENT ON COLUMN predicates.aliases IS 'as registered; predicate_aliases holds their normal forms';

CREATE TABLE entities (
    team_id UUID NOT NULL,
    entity_id UUID NOT NULL,
    kind TEXT NOT NULL,
    created_by UUID NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT entities_pkey PRIMARY KEY (team_id, entity_id),
    CONSTRAINT entities_team_id_created_by_fkey FOREIGN KEY(team_id, created_by) REFERENCES profiles (team_id, profile_id)
);

CREATE INDEX entities_created_by_idx ON entities (team_id, created_by);
COMMENT ON INDEX entities_created_by_idx IS 'entities a profile brought in; foreign key to profiles';
COMMENT ON TABLE entities IS 'A semantic node: an opaque id and a kind; names and contexts are appended beside it.';
COMMENT ON COLUMN entities.created_by IS 'the profile whose submission named it first';

CREATE TABLE predicate_aliases (
    team_id UUID NOT NULL,
    alias TEXT NOT NULL,
    predicate TEXT NOT NULL,
    active BOOLEAN NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT predicate_aliases_pkey PRIMARY KEY (team_id, alias),
    CONSTRAINT predicate_aliases_alias_check CHECK (octet_length(alias) BETWEEN 1 AND 1024),
    CONSTRAINT predicate_aliases_team_id_predicate_fkey FOREIGN KEY(team_id, predicate) REFERENCES predicates (team_id, predicate)
);

CREATE INDEX predicate_aliases_predicate_idx ON predicate_aliases (team_id, predicate);
COMMENT ON INDEX predicate_aliases_predicate_idx IS 'aliases of a predicate; foreign key to predicates';
COMMENT ON TABLE predicate_aliases IS 'A phrase that means a predicate; no phrase means two.';
COMMENT ON COLUMN predicate_aliases.alias IS 'in normal form';
COMMENT ON COLUMN predicate_aliases.active IS 'false: a later version of the predicate no longer lists it';

CREATE TABLE entity_contexts (
    team_id UUID NOT NULL,
    entity_id UUID NOT NULL,
    context_key TEXT NOT NULL,
    context_value TEXT NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT entity_contexts_pkey PRIMARY KEY (team_id, entity_id, context_key, context_value),
    CONSTRAINT entity_contexts_context_key_check CHECK (octet_length(context_key) BETWEEN 1 AND 512),
    CONSTRAINT entity_contexts_context_value_check CHECK (octet_length(context_value) BETWEEN 0 AND 1280),
    CONSTRAINT entity_contexts_team_id_entity_id_fkey FOREIGN KEY(team_id, entity_id) REFERENCES entities (team_id, entity_id)
);

COMMENT ON TABLE entity_contexts IS 'One pair of an identity context, as some mention bound to the entity gave it.';
COMMENT ON COLUMN entity_contexts.context_value IS 'in normal form';

CREATE TABLE entity_names (
    team_id UUID NOT NULL,
    entity_id UUID NOT NULL,
    normal_name TEXT NOT NULL,
    name TEXT NOT NULL,
    is_primary BOOLEAN NOT NULL,
    given_by UUID NOT NULL,
    is_confirmed BOOLEAN NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT entity_names_pkey PRIMARY KEY (team_id, entity_id, normal_name, given_by),
    CONSTRAINT entity_names_normal_name_check CHECK (octet_length(normal_name) BETWEEN 1 AND 1280),
    CONSTRAINT entity_names_team_id_entity_id_fkey FOREIGN KEY(team_id, entity_id) REFERENCES entities (team_id, entity_id),
    CONSTRAINT entity_names_team_id_given_by_fkey FOREIGN KEY(team_id, given_by) REFERENCES profiles (team_id, profile_id)
);

CREATE INDEX entity_names_normal_name_idx ON entity_names (team_id, normal_name);
COMMENT ON INDEX entity_names_normal_name_idx IS 'candidates of a mention; entity branch of recall';
CREATE INDEX entity_names_trigrams_idx ON entity_names USING gin (normal_name gin_trgm_ops) WITH (fastupdate = off);
COMMENT ON INDEX entity_names_trigrams_idx IS 'search_names: entities by a part of a name';
CREATE INDEX entity_names_given_by_idx ON entity_names (team_id, given_by);
COMMENT ON INDEX entity_names_given_by_idx IS 'names a profile gave; foreign key to profiles';
CREATE UNIQUE INDEX entity_names_primary_key ON entity_names (team_id, entity_id) WHERE is_primary;
COMMENT ON INDEX entity_names_primary_key IS 'an entity is shown by one name';
COMMENT ON TABLE entity_names IS 'A name or alias of an entity, as one profile gave it; several entities may share it.';
COMMENT ON COLUMN entity_names.name IS 'as first written';
COMMENT ON COLUMN entity_names.is_primary IS 'the name it was created with; the others are aliases';
COMMENT ON COLUMN entity_names.given_by IS 'the profile that gave it; an alias is the giver''s own until another gives it as well';
COMMENT ON COLUMN entity_names.is_confirmed IS 'given with an admin key, so that it is the team''s at once';

CREATE TABLE observations (
    team_id UUID NOT NULL,
    observation_id UUID NOT NULL,
    ingest_id UUID NOT NULL,
    author_id UUID NOT NULL,
    proposal_id TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    subject_ref TEXT NOT NULL,
    subject_phrase TEXT NOT NULL,
    predicate_phrase TEXT NOT NULL,
    object_ref TEXT,
    object_phrase TEXT NOT NULL,
    mentions JSONB NOT NULL,
    subject_id UUID,
    object_entity_id UUID,
    predicate TEXT,
    predicate_version INTEGER,
    value_type TEXT,
    value_canonical TEXT,
    value_unit TEXT,
    value_display TEXT,
    polarity TEXT NOT NULL,
    modality TEXT NOT NULL,
    scope TEXT NOT NULL,
    stated_from TIMESTAMP WITH TIME ZONE NOT NULL,
    stated_to TIMESTAMP WITH TIME ZONE NOT NULL,
    spans JSONB NOT NULL,
    comment TEXT NOT NULL,
    correction_target_id UUID,
    correction_target_version INTEGER,
    conflict_id UUID,
    conflict_version INTEGER,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT observations_pkey PRIMARY KEY (team_id, observation_id),
    CONSTRAINT observations_value_type_check CHECK (value_type IN ('text', 'number', 'boolean', 'date', 'instant')),
    CONSTRAINT observations_value_check CHECK ((value_canonical IS NULL) = (value_type IS NULL) AND (value_unit IS NULL) = (value_type IS NULL) AND (value_display IS NULL) = (value_type IS NULL)),
    CONSTRAINT observations_polarity_check CHECK (polarity IN ('+', '-')),
    CONSTRAINT observations_modality_check CHECK (modality IN ('statement', 'question', 'plan', 'speculation', 'quotation')),
    CONSTRAINT observations_stated_validity_check CHECK (stated_from < stated_to),
    CONSTRAINT observations_predicate_version_check CHECK ((predicate IS NULL) = (predicate_version IS NULL)),
    CONSTRAINT observations_ordinal_check CHECK (ordinal BETWEEN 0 AND 999),
    CONSTRAINT observations_subject_phrase_check CHECK (octet_length(subject_phrase) BETWEEN 1 AND 4096),
    CONSTRAINT observations_team_id_ingest_id_fkey FOREIGN KEY(team_id, ingest_id) REFERENCES ingests (team_id, ingest_id),
    CONSTRAINT observations_team_id_author_id_fkey FOREIGN KEY(team_id, author_id) REFERENCES profiles (team_id, profile_id),
    CONSTRAINT observations_team_id_subject_id_fkey FOREIGN KEY(team_id, subject_id) REFERENCES entities (team_id, entity_id),
    CONSTRAINT observations_team_id_object_entity_id_fkey FOREIGN KEY(team_id, object_entity_id) REFERENCES entities (team_id, entity_id)
);

CREATE INDEX observations_author_id_idx ON observations (team_id, author_id);
COMMENT ON INDEX observations_author_id_idx IS 'observations of a profile; foreign key to profiles';
CREATE UNIQUE INDEX observations_ingest_id_idx ON observations (team_id, ingest_id, ordinal);
COMMENT ON INDEX observations_ingest_id_idx IS 'observations of a submission in its order; foreign key to ingests';
CREATE INDEX observations_object_entity_id_idx ON observations (team_id, object_entity_id) WHERE object_entity_id IS NOT NULL;
COMMENT ON INDEX observations_object_entity_id_idx IS 'observations that may move in a split; foreign key to entities';
CREATE INDEX observations_subject_id_idx ON observations (team_id, subject_id) WHERE subject_id IS NOT NULL;
COMMENT ON INDEX observations_subject_id_idx IS 'observations that may move in a split; foreign key to entities';
COMMENT ON TABLE observations IS 'What a submission said: immutable, whatever is decided about it later.';
COMMENT ON COLUMN observations.proposal_id IS 'the caller''s own name of the proposed relationship';
COMMENT ON COLUMN observations.ordinal IS 'place in its submission, from 0';
COMMENT ON COLUMN observations.object_phrase IS 'name of the object, or the value as written';
COMMENT ON COLUMN observations.mentions IS 'its entities as named: [{ref, name, kind, aliases, context}], the subject first';
COMMENT ON COLUMN observations.subject_id IS 'NULL while nobody knows which entity is meant; so with the next two';
COMMENT ON COLUMN observations.scope IS 'normal form';
COMMENT ON COLUMN observations.stated_from IS '-infinity: not stated';
COMMENT ON COLUMN observations.stated_to IS 'infinity: not stated';
COMMENT ON COLUMN observations.spans IS 'cited passages: [{fragment_id, start, end}], code points, end exclusive';
COMMENT ON COLUMN observations.conflict_id IS 'the case that it answers';

CREATE TABLE evidence_occurrences (
    team_id UUID NOT NULL,
    occurrence_id UUID NOT NULL,
    fragment_id UUID NOT NULL,
    ingest_id UUID NOT NULL,
    occurred_at TIMESTAMP WITH TIME ZONE,
    occurred_at_offset_minutes INTEGER,
    labels TEXT[] NOT NULL,
    metadata JSONB NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT evidence_occurrences_pkey PRIMARY KEY (team_id, occurrence_id),
    CONSTRAINT evidence_occurrences_team_id_fragment_id_fkey FOREIGN KEY(team_id, fragment_id) REFERENCES evidence_fragments (team_id, fragment_id),
    CONSTRAINT evidence_occurrences_team_id_ingest_id_fkey FOREIGN KEY(team_id, ingest_id) REFERENCES ingests (team_id, ingest_id)
);

CREATE INDEX evidence_occurrences_fragment_id_idx ON evidence_occurrences (team_id, fragment_id);
COMMENT ON INDEX evidence_occurrences_fragment_id_idx IS 'occurrences of a fragment in a trace; foreign key to evidence_fragments';
CREATE INDEX evidence_occurrences_ingest_id_idx ON evidence_occurrences (team_id, ingest_id);
COMMENT ON INDEX evidence_occurrences_ingest_id_idx IS 'occurrences of a submission; foreign key to ingests';
COMMENT ON TABLE evidence_occurrences IS 'The same text of the same source and author, submitted once more.';
COMMENT ON COLUMN evidence_occurrences.occurred_at_offset_minutes IS 'the offset from UTC that its author wrote';

CREATE TABLE statements (
    team_id UUID NOT NULL,
    statement_id UUID NOT NULL,
    owner_id UUID NOT NULL,
    subject_id UUID NOT NULL,
    predicate TEXT NOT NULL,
    predicate_version INTEGER NOT NULL,
    scope TEXT NOT NULL,
    object_entity_id UUID,
    value_type TEXT,
    value_canonical TEXT,
    value_unit TEXT,
    value_display TEXT,
    object_key TEXT NOT NULL,
    polarity TEXT NOT NULL,
    start_at TIMESTAMP WITH TIME ZONE,
    start_from TIMESTAMP WITH TIME ZONE,
    start_to TIMESTAMP WITH TIME ZONE,
    start_basis TEXT,
    end_at TIMESTAMP WITH TIME ZONE,
    end_from TIMESTAMP WITH TIME ZONE,
    end_to TIMESTAMP WITH TIME ZONE,
    end_basis TEXT,
    stated_start TIMESTAMP WITH TIME ZONE,
    sequence BIGINT NOT NULL,
    record BOOLEAN NOT NULL,
    source TEXT,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT statements_pkey PRIMARY KEY (team_id, statement_id, revision),
    CONSTRAINT statements_value_type_check CHECK (value_type IN ('text', 'number', 'boolean', 'date', 'instant')),
    CONSTRAINT statements_value_check CHECK ((value_canonical IS NULL) = (value_type IS NULL) AND (value_unit IS NULL) = (value_type IS NULL) AND (value_display IS NULL) = (value_type IS NULL)),
    CONSTRAINT statements_object_check CHECK ((object_entity_id IS NULL) <> (value_type IS NULL)),
    CONSTRAINT statements_object_key_check CHECK (object_key = coalesce('entity:' || CAST(object_entity_id AS text), value_type || ':' || value_unit || ':' || value_canonical)),
    CONSTRAINT statements_object_key_length_check CHECK (octet_length(object_key) <= 1280),
    CONSTRAINT statements_polarity_check CHECK (polarity IN ('+', '-')),
    CONSTRAINT statements_start_basis_check CHECK (start_basis IN ('evidence_time', 'stated_time', 'observed_time', 'recorded_fallback')),
    CONSTRAINT statements_start_bound_check CHECK ((start_from IS NULL) = (start_at IS NULL) AND (start_to IS NULL) = (start_at IS NULL) AND (start_basis IS NULL) = (start_at IS NULL) AND start_from < start_to),
    CONSTRAINT statements_end_basis_check CHECK (end_basis IN ('evidence_time', 'stated_time', 'observed_time', 'recorded_fallback')),
    CONSTRAINT statements_end_bound_check CHECK ((end_from IS NULL) = (end_at IS NULL) AND (end_to IS NULL) = (end_at IS NULL) AND (end_basis IS NULL) = (end_at IS NULL) AND end_from < end_to),
    CONSTRAINT statements_sequence_check CHECK (sequence > 0),
    CONSTRAINT statements_scope_check CHECK (octet_length(scope) <= 512),
    CONSTRAINT statements_team_id_statement_id_fkey FOREIGN KEY(team_id, statement_id) REFERENCES observations (team_id, observation_id),
    CONSTRAINT statements_team_id_subject_id_fkey FOREIGN KEY(team_id, subject_id) REFERENCES entities (team_id, entity_id),
    CONSTRAINT statements_team_id_object_entity_id_fkey FOREIGN KEY(team_id, object_entity_id) REFERENCES entities (team_id, entity_id),
    CONSTRAINT statements_team_id_predicate_fkey FOREIGN KEY(team_id, predicate) REFERENCES predicates (team_id, predicate)
);

CREATE INDEX statements_object_entity_id_idx ON statements (team_id, object_entity_id) WHERE object_entity_id IS NOT NULL;
COMMENT ON INDEX statements_object_entity_id_idx IS 'statements about an entity; foreign key to entities';
CREATE INDEX statements_predicate_idx ON statements (team_id, predicate);
COMMENT ON INDEX statements_predicate_idx IS 'statements of a predicate; foreign key to predicates';
CREATE INDEX statements_slot_idx ON statements (team_id, subject_id, predicate, scope, owner_id);
COMMENT ON INDEX statements_slot_idx IS 'statements of an owner''s slot for the fold; foreign key to entities';
COMMENT ON TABLE statements IS 'How an observation is bound to a slot; append-only, the row with the greatest revision counts.';
COMMENT ON COLUMN statements.statement_id IS 'the observation';
COMMENT ON COLUMN statements.stated_start IS 'the owner''s own start, which a decision may use';
COMMENT ON COLUMN statements.sequence IS 'order of recording in the team: 1000 * revision + ordinal of the observation';
COMMENT ON COLUMN statements.record IS 'of a system of record';
COMMENT ON COLUMN statements.source IS 'the one source that its texts declare; NULL: none, or several';

CREATE TABLE verification_events (
    team_id UUID NOT NULL,
    verification_id UUID NOT NULL,
    observation_id UUID NOT NULL,
    verdict TEXT NOT NULL,
    reason TEXT NOT NULL,
    verifier TEXT NOT NULL,
    bounds JSONB NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT verification_events_pkey PRIMARY KEY (team_id, verification_id),
    CONSTRAINT verification_events_verdict_check CHECK (verdict IN ('entailed', 'contradicted', 'insufficient')),
    CONSTRAINT verification_events_team_id_observation_id_fkey FOREIGN KEY(team_id, observation_id) REFERENCES observations (team_id, observation_id)
);

CREATE INDEX verification_events_observation_id_idx ON verification_events (team_id, observation_id, revision);
COMMENT ON INDEX verification_events_observation_id_idx IS 'verdicts on an observation in their order; foreign key to observations';
COMMENT ON TABLE verification_events IS 'Immutable verdict on one observation.';
COMMENT ON COLUMN verification_events.verifier IS 'name and version';
COMMENT ON COLUMN verification_events.bounds IS 'time bounds found in the cited text';

