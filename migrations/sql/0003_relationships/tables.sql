CREATE TABLE cross_references (
    team_id UUID NOT NULL,
    reference_id UUID NOT NULL,
    kind TEXT NOT NULL,
    source_id UUID NOT NULL,
    target_id UUID NOT NULL,
    decision_id UUID,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT cross_references_pkey PRIMARY KEY (team_id, reference_id),
    CONSTRAINT cross_references_kind_check CHECK (kind IN ('confirms', 'corrects', 'challenges', 'adopts_evidence_from', 'replaces', 'distinct_from', 'merged_into', 'split_from'))
);

CREATE INDEX cross_references_decision_id_idx ON cross_references (team_id, decision_id) WHERE decision_id IS NOT NULL;
COMMENT ON INDEX cross_references_decision_id_idx IS 'references that a revert switches off; foreign key to decisions';
CREATE INDEX cross_references_source_id_idx ON cross_references (team_id, source_id);
COMMENT ON INDEX cross_references_source_id_idx IS 'references of a row; foreign key to relationships';
CREATE INDEX cross_references_target_id_idx ON cross_references (team_id, target_id);
COMMENT ON INDEX cross_references_target_id_idx IS 'references to a row; foreign key to relationships';
COMMENT ON TABLE cross_references IS 'Append-only link between relationships.';

CREATE TABLE decisions (
    team_id UUID NOT NULL,
    decision_id UUID NOT NULL,
    kind TEXT NOT NULL,
    actor_kind TEXT NOT NULL,
    actor_profile_id UUID,
    item_id UUID,
    item_version INTEGER,
    target_ids UUID[] NOT NULL,
    kept_relationship_id UUID,
    statement_ids UUID[] NOT NULL,
    reverts_decision_id UUID,
    idempotency_key TEXT,
    reason TEXT NOT NULL,
    details JSONB NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT decisions_pkey PRIMARY KEY (team_id, decision_id),
    CONSTRAINT decisions_actor_kind_check CHECK (actor_kind IN ('profile', 'reviewer', 'judge', 'operator')),
    CONSTRAINT decisions_actor_profile_id_check CHECK (CASE actor_kind WHEN 'profile' THEN actor_profile_id IS NOT NULL WHEN 'reviewer' THEN actor_profile_id IS NULL ELSE true END),
    CONSTRAINT decisions_item_check CHECK ((item_id IS NULL) = (item_version IS NULL)),
    CONSTRAINT decisions_team_id_reverts_decision_id_fkey FOREIGN KEY(team_id, reverts_decision_id) REFERENCES decisions (team_id, decision_id)
);

CREATE INDEX decisions_item_id_idx ON decisions (team_id, item_id) WHERE item_id IS NOT NULL;
COMMENT ON INDEX decisions_item_id_idx IS 'decisions on an item; foreign key to review_items';
CREATE INDEX decisions_reverts_decision_id_idx ON decisions (team_id, reverts_decision_id) WHERE reverts_decision_id IS NOT NULL;
COMMENT ON INDEX decisions_reverts_decision_id_idx IS 'whether a decision was reverted; foreign key to decisions';
COMMENT ON TABLE decisions IS 'One decision of a person, a judge or an operator; an undo is a decision of its own.';
COMMENT ON COLUMN decisions.kind IS 'the action: keep_new, retract, revert, ...';
COMMENT ON COLUMN decisions.item_version IS 'the version that the decision answered';
COMMENT ON COLUMN decisions.target_ids IS 'every relationship, fragment or entity that it names';
COMMENT ON COLUMN decisions.statement_ids IS 'statements that were placed with it: a revert takes them out of the timeline';
COMMENT ON COLUMN decisions.details IS 'pairs of a name and a text, in the order given';

CREATE TABLE relationships_history (
    team_id UUID NOT NULL,
    relationship_id UUID NOT NULL,
    version INTEGER NOT NULL,
    owner_id UUID NOT NULL,
    subject_id UUID NOT NULL,
    predicate TEXT NOT NULL,
    scope TEXT NOT NULL,
    object_entity_id UUID,
    value_type TEXT,
    value_canonical TEXT,
    value_unit TEXT,
    value_display TEXT,
    object_key TEXT NOT NULL,
    polarity TEXT NOT NULL,
    status TEXT NOT NULL,
    tier TEXT NOT NULL,
    facet INTEGER NOT NULL,
    valid_from TIMESTAMP WITH TIME ZONE NOT NULL,
    valid_to TIMESTAMP WITH TIME ZONE NOT NULL,
    valid_from_basis TEXT,
    valid_to_basis TEXT,
    record BOOLEAN NOT NULL,
    slot_exclusive BOOLEAN NOT NULL,
    event BOOLEAN NOT NULL,
    first_recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    revision BIGINT NOT NULL,
    recorded_from TIMESTAMP WITH TIME ZONE NOT NULL,
    recorded_to TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT relationships_history_pkey PRIMARY KEY (team_id, relationship_id, version),
    CONSTRAINT relationships_history_recorded_to_check CHECK (recorded_from < recorded_to),
    CONSTRAINT relationships_history_versions_excl EXCLUDE USING gist (team_id WITH =, relationship_id WITH =, tstzrange(recorded_from, recorded_to) WITH &&)
);

COMMENT ON TABLE relationships_history IS 'Every version of the rows of relationships.';

CREATE TABLE review_items_history (
    team_id UUID NOT NULL,
    item_id UUID NOT NULL,
    version INTEGER NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    owner_id UUID NOT NULL,
    reason TEXT NOT NULL,
    ingest_id UUID,
    fragment_id UUID,
    statement_id UUID,
    subject_id UUID,
    predicate TEXT,
    scope TEXT,
    incoming UUID[] NOT NULL,
    opposing UUID[] NOT NULL,
    details JSONB NOT NULL,
    decision_id UUID,
    opened_at TIMESTAMP WITH TIME ZONE NOT NULL,
    revision BIGINT NOT NULL,
    recorded_from TIMESTAMP WITH TIME ZONE NOT NULL,
    recorded_to TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT review_items_history_pkey PRIMARY KEY (team_id, item_id, version),
    CONSTRAINT review_items_history_recorded_to_check CHECK (recorded_from < recorded_to),
    CONSTRAINT review_items_history_versions_excl EXCLUDE USING gist (team_id WITH =, item_id WITH =, tstzrange(recorded_from, recorded_to) WITH &&)
);

CREATE INDEX review_items_history_pending_idx ON review_items_history (team_id, owner_id, recorded_to) WHERE status = 'pending';
COMMENT ON INDEX review_items_history_pending_idx IS 'items of an owner that were pending at an instant: versions that end after it';
CREATE INDEX review_items_history_closed_idx ON review_items_history (team_id, owner_id, opened_at, item_id) WHERE status <> 'pending';
COMMENT ON INDEX review_items_history_closed_idx IS 'closed items of an owner by age, paged';
CREATE INDEX review_items_history_revision_idx ON review_items_history (team_id, owner_id, revision, item_id);
COMMENT ON INDEX review_items_history_revision_idx IS 'what happens to an owner''s items in the order of the commits, watched';
CREATE INDEX review_items_history_withdrawn_idx ON review_items_history (team_id, revision, item_id) WHERE kind = 'winner_withdrawn' AND version = 1;
COMMENT ON INDEX review_items_history_withdrawn_idx IS 'questions to those who lost against a withdrawn winner, in the order of the commits, for webhooks';
COMMENT ON TABLE review_items_history IS 'Every version of the rows of review_items.';

CREATE TABLE transitions (
    team_id UUID NOT NULL,
    transition_id UUID NOT NULL,
    relationship_id UUID NOT NULL,
    version INTEGER NOT NULL,
    prior_status TEXT,
    prior_tier TEXT,
    prior_facet INTEGER,
    prior_valid_from TIMESTAMP WITH TIME ZONE,
    prior_valid_to TIMESTAMP WITH TIME ZONE,
    prior_valid_from_basis TEXT,
    prior_valid_to_basis TEXT,
    resulting_status TEXT NOT NULL,
    resulting_tier TEXT NOT NULL,
    resulting_facet INTEGER NOT NULL,
    resulting_valid_from TIMESTAMP WITH TIME ZONE NOT NULL,
    resulting_valid_to TIMESTAMP WITH TIME ZONE NOT NULL,
    resulting_valid_from_basis TEXT,
    resulting_valid_to_basis TEXT,
    actor_kind TEXT NOT NULL,
    actor_profile_id UUID,
    reason TEXT NOT NULL,
    time_basis TEXT,
    decision_id UUID,
    conflict_id UUID,
    idempotency_key TEXT,
    closing_at TIMESTAMP WITH TIME ZONE,
    closing_facet INTEGER,
    closing_object_key TEXT,
    closing_polarity TEXT,
    closing_statement_ids UUID[],
    closing_made_for UUID[],
    closing_conditional BOOLEAN,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT transitions_pkey PRIMARY KEY (team_id, transition_id),
    CONSTRAINT transitions_prior_status_check CHECK (prior_status IN ('pending_evidence', 'needs_review', 'active', 'competing', 'superseded', 'retracted', 'rejected', 'quarantined')),
    CONSTRAINT transitions_prior_tier_check CHECK (prior_tier IN ('candidate', 'validated_claim', 'fact')),
    CONSTRAINT transitions_prior_valid_from_basis_check CHECK (prior_valid_from_basis IN ('evidence_time', 'stated_time', 'observed_time', 'recorded_fallback')),
    CONSTRAINT transitions_prior_valid_to_basis_check CHECK (prior_valid_to_basis IN ('evidence_time', 'stated_time', 'observed_time', 'recorded_fallback')),
    CONSTRAINT transitions_prior_facet_check CHECK (prior_facet >= 0),
    CONSTRAINT transitions_prior_validity_check CHECK (prior_valid_from <= prior_valid_to AND prior_valid_from < 'infinity'),
    CONSTRAINT transitions_prior_start_basis_check CHECK (prior_valid_from = '-infinity' OR prior_valid_from_basis IS NOT NULL),
    CONSTRAINT transitions_resulting_status_check CHECK (resulting_status IN ('pending_evidence', 'needs_review', 'active', 'competing', 'superseded', 'retracted', 'rejected', 'quarantined')),
    CONSTRAINT transitions_resulting_tier_check CHECK (resulting_tier IN ('candidate', 'validated_claim', 'fact')),
    CONSTRAINT transitions_resulting_valid_from_basis_check CHECK (resulting_valid_from_basis IN ('evidence_time', 'stated_time', 'observed_time', 'recorded_fallback')),
    CONSTRAINT transitions_resulting_valid_to_basis_check CHECK (resulting_valid_to_basis IN ('evidence_time', 'stated_time', 'observed_time', 'recorded_fallback')),
    CONSTRAINT transitions_resulting_facet_check CHECK (resulting_facet >= 0),
    CONSTRAINT transitions_resulting_validity_check CHECK (resulting_valid_from <= resulting_valid_to AND resulting_valid_from < 'infinity'),
    CONSTRAINT transitions_resulting_start_basis_check CHECK (resulting_valid_from = '-infinity' OR resulting_valid_from_basis IS NOT NULL),
    CONSTRAINT transitions_actor_kind_check CHECK (actor_kind IN ('profile', 'reviewer', 'judge', 'operator')),
    CONSTRAINT transitions_actor_profile_id_check CHECK (CASE actor_kind WHEN 'profile' THEN actor_profile_id IS NOT NULL WHEN 'reviewer' THEN actor_profile_id IS NULL ELSE true END),
    CONSTRAINT transitions_time_basis_check CHECK (time_basis IN ('evidence_time', 'stated_time', 'observed_time', 'recorded_fallback')),
    CONSTRAINT transitions_closing_polarity_check CHECK (closing_polarity IN ('+', '-')),
    CONSTRAINT transitions_prior_check CHECK ((prior_status IS NULL) = (version = 1)),
    CONSTRAINT transitions_prior_state_check CHECK (num_nulls(prior_status, prior_tier, prior_facet, prior_valid_from, prior_valid_to) IN (0, 5)),
    CONSTRAINT transitions_closing_check CHECK (num_nulls(closing_at, closing_facet, closing_object_key, closing_polarity, closing_statement_ids, closing_made_for, closing_conditional) IN (0, 7)),
    CONSTRAINT transitions_version_key UNIQUE (team_id, relationship_id, version),
    CONSTRAINT transitions_resulting_state_key UNIQUE (team_id, relationship_id, version, resulting_status, resulting_tier, resulting_facet, resulting_valid_from, resulting_valid_to)
);

CREATE INDEX transitions_conflict_id_idx ON transitions (team_id, conflict_id) WHERE conflict_id IS NOT NULL;
COMMENT ON INDEX transitions_conflict_id_idx IS 'what a resolution did; foreign key to conflict_cases';
CREATE INDEX transitions_decision_id_idx ON transitions (team_id, decision_id) WHERE decision_id IS NOT NULL;
COMMENT ON INDEX transitions_decision_id_idx IS 'what a decision did; foreign key to decisions';
COMMENT ON TABLE transitions IS 'Append-only record of one lifecycle change: exactly one per version of a relationship.';
COMMENT ON COLUMN transitions.version IS 'the version of the row that it made';
COMMENT ON COLUMN transitions.conflict_id IS 'the case whose resolution it is';
COMMENT ON COLUMN transitions.closing_at IS 'this and the other closing columns: the closing that stands on this transition';
COMMENT ON COLUMN transitions.closing_statement_ids IS 'statements that carried the row';
COMMENT ON COLUMN transitions.closing_conditional IS 'holds only while a statement of closing_made_for is in the timeline';

CREATE TABLE reference_decisions (
    team_id UUID NOT NULL,
    reference_id UUID NOT NULL,
    active BOOLEAN NOT NULL,
    decision_id UUID,
    reason TEXT NOT NULL,
    actor_kind TEXT NOT NULL,
    actor_profile_id UUID,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT reference_decisions_pkey PRIMARY KEY (team_id, reference_id, revision),
    CONSTRAINT reference_decisions_actor_kind_check CHECK (actor_kind IN ('profile', 'reviewer', 'judge', 'operator')),
    CONSTRAINT reference_decisions_actor_profile_id_check CHECK (CASE actor_kind WHEN 'profile' THEN actor_profile_id IS NOT NULL WHEN 'reviewer' THEN actor_profile_id IS NULL ELSE true END),
    CONSTRAINT reference_decisions_team_id_reference_id_fkey FOREIGN KEY(team_id, reference_id) REFERENCES cross_references (team_id, reference_id)
);

CREATE INDEX reference_decisions_decision_id_idx ON reference_decisions (team_id, decision_id) WHERE decision_id IS NOT NULL;
COMMENT ON INDEX reference_decisions_decision_id_idx IS 'references that a decision switched; foreign key to decisions';
COMMENT ON TABLE reference_decisions IS 'Append-only switch of a reference; without one it is active, the last one counts.';

CREATE TABLE relationships (
    team_id UUID NOT NULL,
    relationship_id UUID NOT NULL,
    version INTEGER NOT NULL,
    owner_id UUID NOT NULL,
    subject_id UUID NOT NULL,
    predicate TEXT NOT NULL,
    scope TEXT NOT NULL,
    object_entity_id UUID,
    value_type TEXT,
    value_canonical TEXT,
    value_unit TEXT,
    value_display TEXT,
    object_key TEXT NOT NULL,
    polarity TEXT NOT NULL,
    status TEXT NOT NULL,
    tier TEXT NOT NULL,
    facet INTEGER NOT NULL,
    valid_from TIMESTAMP WITH TIME ZONE NOT NULL,
    valid_to TIMESTAMP WITH TIME ZONE NOT NULL,
    valid_from_basis TEXT,
    valid_to_basis TEXT,
    record BOOLEAN NOT NULL,
    slot_exclusive BOOLEAN NOT NULL,
    event BOOLEAN NOT NULL,
    first_recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT relationships_pkey PRIMARY KEY (team_id, relationship_id),
    CONSTRAINT relationships_value_type_check CHECK (value_type IN ('text', 'number', 'boolean', 'date', 'instant')),
    CONSTRAINT relationships_value_check CHECK ((value_canonical IS NULL) = (value_type IS NULL) AND (value_unit IS NULL) = (value_type IS NULL) AND (value_display IS NULL) = (value_type IS NULL)),
    CONSTRAINT relationships_object_check CHECK ((object_entity_id IS NULL) <> (value_type IS NULL)),
    CONSTRAINT relationships_object_key_check CHECK (object_key = coalesce('entity:' || CAST(object_entity_id AS text), value_type || ':' || value_unit || ':' || value_canonical)),
    CONSTRAINT relationships_object_key_length_check CHECK (octet_length(object_key) <= 1280),
    CONSTRAINT relationships_polarity_check CHECK (polarity IN ('+', '-')),
    CONSTRAINT relationships_status_check CHECK (status IN ('pending_evidence', 'needs_review', 'active', 'competing', 'superseded', 'retracted', 'rejected', 'quarantined')),
    CONSTRAINT relationships_tier_check CHECK (tier IN ('candidate', 'validated_claim', 'fact')),
    CONSTRAINT relationships_valid_from_basis_check CHECK (valid_from_basis IN ('evidence_time', 'stated_time', 'observed_time', 'recorded_fallback')),
    CONSTRAINT relationships_valid_to_basis_check CHECK (valid_to_basis IN ('evidence_time', 'stated_time', 'observed_time', 'recorded_fallback')),
    CONSTRAINT relationships_facet_check CHECK (facet >= 0),
    CONSTRAINT relationships_validity_check CHECK (valid_from <= valid_to AND valid_from < 'infinity'),
    CONSTRAINT relationships_start_basis_check CHECK (valid_from = '-infinity' OR valid_from_basis IS NOT NULL),
    CONSTRAINT relationships_version_check CHECK (version >= 1),
    CONSTRAINT relationships_scope_check CHECK (octet_length(scope) <= 512),
    CONSTRAINT relationships_team_id_owner_id_fkey FOREIGN KEY(team_id, owner_id) REFERENCES profiles (team_id, profile_id),
    CONSTRAINT relationships_team_id_subject_id_fkey FOREIGN KEY(team_id, subject_id) REFERENCES entities (team_id, entity_id),
    CONSTRAINT relationships_team_id_object_entity_id_fkey FOREIGN KEY(team_id, object_entity_id) REFERENCES entities (team_id, entity_id),
    CONSTRAINT relationships_team_id_predicate_fkey FOREIGN KEY(team_id, predicate) REFERENCES predicates (team_id, predicate),
    CONSTRAINT relationships_one_value_in_force_excl EXCLUDE USING gist (team_id WITH =, owner_id WITH =, subject_id WITH =, predicate WITH =, scope WITH =, facet WITH =, tstzrange(valid_from, valid_to) WITH &&) WHERE (slot_exclusive AND polarity = '+' AND status IN ('active', 'superseded')) DEFERRABLE INITIALLY DEFERRED,
    CONSTRAINT relationships_opposite_polarity_excl EXCLUDE USING gist (team_id WITH =, owner_id WITH =, subject_id WITH =, predicate WITH =, scope WITH =, facet WITH =, object_key WITH =, polarity WITH <>, tstzrange(valid_from, valid_to) WITH &&) WHERE (NOT event AND status IN ('active', 'superseded')) DEFERRABLE INITIALLY DEFERRED,
    CONSTRAINT relationships_denied_event_excl EXCLUDE USING gist (team_id WITH =, owner_id WITH =, subject_id WITH =, predicate WITH =, scope WITH =, facet WITH =, object_key WITH =, polarity WITH <>, valid_from WITH =) WHERE (event AND valid_from < valid_to AND status IN ('active', 'superseded')) DEFERRABLE INITIALLY DEFERRED,
    CONSTRAINT relationships_one_row_per_start_excl EXCLUDE USING btree (team_id WITH =, owner_id WITH =, subject_id WITH =, predicate WITH =, scope WITH =, facet WITH =, object_key WITH =, polarity WITH =, valid_from WITH =) WHERE (valid_from < valid_to AND status IN ('active', 'superseded')) DEFERRABLE INITIALLY DEFERRED
);

CREATE INDEX relationships_object_entity_id_idx ON relationships (team_id, object_entity_id) WHERE object_entity_id IS NOT NULL;
COMMENT ON INDEX relationships_object_entity_id_idx IS 'rows that point at an entity: entity branch of recall; foreign key to entities';
CREATE INDEX relationships_owner_id_idx ON relationships (team_id, owner_id);
COMMENT ON INDEX relationships_owner_id_idx IS 'a profile''s own rows; foreign key to profiles';
CREATE INDEX relationships_predicate_idx ON relationships (team_id, predicate);
COMMENT ON INDEX relationships_predicate_idx IS 'rows of a predicate after a registry change; foreign key to predicates';
CREATE INDEX relationships_slot_idx ON relationships (team_id, subject_id, predicate, scope);
COMMENT ON INDEX relationships_slot_idx IS 'all owners'' rows of a slot: placement, cases; foreign key to entities';
COMMENT ON TABLE relationships IS 'The current version of one owner''s episode.';
COMMENT ON COLUMN relationships.record IS 'of a system of record';
COMMENT ON COLUMN relationships.slot_exclusive IS 'a cardinality-one state: two values may not be in force at once';
COMMENT ON COLUMN relationships.event IS 'of an event: its contradiction is what is denied of the same start';

CREATE TABLE carriages (
    team_id UUID NOT NULL,
    statement_id UUID NOT NULL,
    relationship_id UUID NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT carriages_pkey PRIMARY KEY (team_id, statement_id, revision),
    CONSTRAINT carriages_team_id_statement_id_fkey FOREIGN KEY(team_id, statement_id) REFERENCES observations (team_id, observation_id)
);

CREATE INDEX carriages_relationship_id_idx ON carriages (team_id, relationship_id);
COMMENT ON INDEX carriages_relationship_id_idx IS 'statements that a row carries or carried; foreign key to relationships';
COMMENT ON TABLE carriages IS 'From its revision on the statement is carried by this row; append-only, the last one counts.';

CREATE TABLE review_items (
    team_id UUID NOT NULL,
    item_id UUID NOT NULL,
    version INTEGER NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    owner_id UUID NOT NULL,
    reason TEXT NOT NULL,
    ingest_id UUID,
    fragment_id UUID,
    statement_id UUID,
    subject_id UUID,
    predicate TEXT,
    scope TEXT,
    incoming UUID[] NOT NULL,
    opposing UUID[] NOT NULL,
    details JSONB NOT NULL,
    decision_id UUID,
    opened_at TIMESTAMP WITH TIME ZONE NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT review_items_pkey PRIMARY KEY (team_id, item_id),
    CONSTRAINT review_items_kind_check CHECK (kind IN ('identity', 'predicate', 'relationship', 'correction', 'quarantine', 'winner_withdrawn')),
    CONSTRAINT review_items_status_check CHECK (status IN ('pending', 'resolved', 'closed')),
    CONSTRAINT review_items_version_check CHECK (version >= 1),
    CONSTRAINT review_items_slot_check CHECK (num_nulls(subject_id, predicate, scope) IN (0, 3)),
    CONSTRAINT review_items_team_id_owner_id_fkey FOREIGN KEY(team_id, owner_id) REFERENCES profiles (team_id, profile_id),
    CONSTRAINT review_items_team_id_ingest_id_fkey FOREIGN KEY(team_id, ingest_id) REFERENCES ingests (team_id, ingest_id),
    CONSTRAINT review_items_team_id_fragment_id_fkey FOREIGN KEY(team_id, fragment_id) REFERENCES evidence_fragments (team_id, fragment_id),
    CONSTRAINT review_items_team_id_statement_id_fkey FOREIGN KEY(team_id, statement_id) REFERENCES observations (team_id, observation_id)
);

CREATE INDEX review_items_decision_id_idx ON review_items (team_id, decision_id) WHERE decision_id IS NOT NULL;
COMMENT ON INDEX review_items_decision_id_idx IS 'the item that a revert opens again; foreign key to decisions';
CREATE INDEX review_items_fragment_id_idx ON review_items (team_id, fragment_id) WHERE fragment_id IS NOT NULL;
COMMENT ON INDEX review_items_fragment_id_idx IS 'the question about a quarantined fragment; foreign key to evidence_fragments';
CREATE INDEX review_items_ingest_id_idx ON review_items (team_id, ingest_id) WHERE ingest_id IS NOT NULL;
COMMENT ON INDEX review_items_ingest_id_idx IS 'questions that a submission raised; foreign key to ingests';
CREATE INDEX review_items_owner_id_idx ON review_items (team_id, owner_id, status, opened_at);
COMMENT ON INDEX review_items_owner_id_idx IS 'the caller''s own questions by age; foreign key to profiles';
CREATE INDEX review_items_slot_idx ON review_items (team_id, subject_id, predicate, scope) WHERE subject_id IS NOT NULL;
COMMENT ON INDEX review_items_slot_idx IS 'questions of a slot: pending ones inside every placement, those of a view in recall';
CREATE INDEX review_items_statement_id_idx ON review_items (team_id, statement_id) WHERE statement_id IS NOT NULL;
COMMENT ON INDEX review_items_statement_id_idx IS 'questions about a statement; foreign key to observations';
COMMENT ON TABLE review_items IS 'The current version of a question to one owner.';
COMMENT ON COLUMN review_items.fragment_id IS 'what a quarantine item asks about';
COMMENT ON COLUMN review_items.subject_id IS 'the slot, with the next two';
COMMENT ON COLUMN review_items.details IS 'what the kind needs: offered candidates, closest predicates';
COMMENT ON COLUMN review_items.decision_id IS 'the decision that resolved it';

CREATE TABLE supports (
    team_id UUID NOT NULL,
    support_id UUID NOT NULL,
    relationship_id UUID NOT NULL,
    statement_id UUID NOT NULL,
    fragment_id UUID NOT NULL,
    span_starts INTEGER[] NOT NULL,
    span_ends INTEGER[] NOT NULL,
    adopted_from_fragment_id UUID,
    near_duplicate_fragment_ids UUID[] NOT NULL,
    evidence_from TIMESTAMP WITH TIME ZONE,
    evidence_to TIMESTAMP WITH TIME ZONE,
    evidence_verified BOOLEAN NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT supports_pkey PRIMARY KEY (team_id, support_id),
    CONSTRAINT supports_spans_check CHECK (cardinality(span_starts) = cardinality(span_ends)),
    CONSTRAINT supports_evidence_time_check CHECK ((evidence_from IS NULL) = (evidence_to IS NULL) AND evidence_from < evidence_to),
    CONSTRAINT supports_team_id_statement_id_fkey FOREIGN KEY(team_id, statement_id) REFERENCES observations (team_id, observation_id),
    CONSTRAINT supports_team_id_fragment_id_fkey FOREIGN KEY(team_id, fragment_id) REFERENCES evidence_fragments (team_id, fragment_id),
    CONSTRAINT supports_team_id_adopted_from_fragment_id_fkey FOREIGN KEY(team_id, adopted_from_fragment_id) REFERENCES evidence_fragments (team_id, fragment_id)
);

CREATE INDEX supports_adopted_from_fragment_id_idx ON supports (team_id, adopted_from_fragment_id) WHERE adopted_from_fragment_id IS NOT NULL;
COMMENT ON INDEX supports_adopted_from_fragment_id_idx IS 'who adopted a fragment; foreign key to evidence_fragments';
CREATE INDEX supports_fragment_id_idx ON supports (team_id, fragment_id);
COMMENT ON INDEX supports_fragment_id_idx IS 'what a fragment makes eligible: every branch of recall; foreign key to evidence_fragments';
CREATE INDEX supports_relationship_id_idx ON supports (team_id, relationship_id);
COMMENT ON INDEX supports_relationship_id_idx IS 'supports of a row: tiers, witnesses, trace; foreign key to relationships';
CREATE INDEX supports_statement_id_idx ON supports (team_id, statement_id);
COMMENT ON INDEX supports_statement_id_idx IS 'whether a statement has an effective support; foreign key to observations';
COMMENT ON TABLE supports IS 'Immutable link from a fragment''s passages to the relationship that they carry.';
COMMENT ON COLUMN supports.span_starts IS 'code points; one start and one end per cited passage';
COMMENT ON COLUMN supports.span_ends IS 'exclusive';
COMMENT ON COLUMN supports.near_duplicate_fragment_ids IS 'fragments that spoke in the slot before with nearly the same text';
COMMENT ON COLUMN supports.evidence_from IS 'the whole interval that a verified start bound names, with the next one';

CREATE TABLE timeline_decisions (
    team_id UUID NOT NULL,
    decision_id UUID NOT NULL,
    entry INTEGER NOT NULL,
    kind TEXT NOT NULL,
    statement_id UUID NOT NULL,
    removal_reason TEXT,
    facet INTEGER,
    start_at TIMESTAMP WITH TIME ZONE,
    start_basis TEXT,
    other_statement_id UUID,
    reopened_decision_id UUID,
    reopened_relationship_id UUID,
    closing_relationship_id UUID,
    closing_at TIMESTAMP WITH TIME ZONE,
    closing_facet INTEGER,
    closing_object_key TEXT,
    closing_polarity TEXT,
    closing_statement_ids UUID[],
    closing_made_for UUID[],
    closing_conditional BOOLEAN,
    closing_basis TEXT,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT timeline_decisions_pkey PRIMARY KEY (team_id, decision_id, entry),
    CONSTRAINT timeline_decisions_kind_check CHECK (kind IN ('removal', 'facet', 'start', 'distinction', 'same', 'reopening', 'closing')),
    CONSTRAINT timeline_decisions_removal_reason_check CHECK (removal_reason IN ('rejected', 'retracted', 'corrected', 'merged')),
    CONSTRAINT timeline_decisions_start_basis_check CHECK (start_basis IN ('evidence_time', 'stated_time', 'observed_time', 'recorded_fallback')),
    CONSTRAINT timeline_decisions_closing_polarity_check CHECK (closing_polarity IN ('+', '-')),
    CONSTRAINT timeline_decisions_closing_basis_check CHECK (closing_basis IN ('evidence_time', 'stated_time', 'observed_time', 'recorded_fallback')),
    CONSTRAINT timeline_decisions_entry_check CHECK (entry >= 0),
    CONSTRAINT timeline_decisions_of_its_kind_check CHECK ((kind = 'removal') = (removal_reason IS NOT NULL) AND (kind = 'facet') = (facet IS NOT NULL) AND (kind = 'start') = (start_at IS NOT NULL) AND (kind = 'start') = (start_basis IS NOT NULL) AND (kind IN ('distinction', 'same')) = (other_statement_id IS NOT NULL) AND (kind = 'reopening') = (reopened_decision_id IS NOT NULL) AND (kind = 'reopening') = (reopened_relationship_id IS NOT NULL) AND (kind = 'closing') = (closing_relationship_id IS NOT NULL)),
    CONSTRAINT timeline_decisions_closing_check CHECK (num_nulls(closing_relationship_id, closing_at, closing_facet, closing_object_key, closing_polarity, closing_statement_ids, closing_made_for, closing_conditional, closing_basis) IN (0, 9)),
    CONSTRAINT timeline_decisions_team_id_statement_id_fkey FOREIGN KEY(team_id, statement_id) REFERENCES observations (team_id, observation_id),
    CONSTRAINT timeline_decisions_team_id_other_statement_id_fkey FOREIGN KEY(team_id, other_statement_id) REFERENCES observations (team_id, observation_id)
);

CREATE INDEX timeline_decisions_other_statement_id_idx ON timeline_decisions (team_id, other_statement_id) WHERE other_statement_id IS NOT NULL;
COMMENT ON INDEX timeline_decisions_other_statement_id_idx IS 'distinctions of a statement; foreign key to observations';
CREATE INDEX timeline_decisions_statement_id_idx ON timeline_decisions (team_id, statement_id);
COMMENT ON INDEX timeline_decisions_statement_id_idx IS 'decisions on a statement for the fold; foreign key to observations';
COMMENT ON TABLE timeline_decisions IS 'What a decision says to the fold; it stands until its decision is reverted.';
COMMENT ON COLUMN timeline_decisions.entry IS 'place in its decision, from 0';
COMMENT ON COLUMN timeline_decisions.other_statement_id IS 'the statement that this one is told apart from, or the same as';
COMMENT ON COLUMN timeline_decisions.reopened_decision_id IS 'with the next one: the closing that says nothing while this stands';
COMMENT ON COLUMN timeline_decisions.closing_relationship_id IS 'this and the next ones: a closing that changes no row, so that no transition carries it';

CREATE TABLE support_decisions (
    team_id UUID NOT NULL,
    support_id UUID NOT NULL,
    kind TEXT NOT NULL,
    authority TEXT NOT NULL,
    granted_by_key BOOLEAN NOT NULL,
    reason TEXT NOT NULL,
    actor_kind TEXT NOT NULL,
    actor_profile_id UUID,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT support_decisions_pkey PRIMARY KEY (team_id, support_id, revision),
    CONSTRAINT support_decisions_kind_check CHECK (kind IN ('grant', 'revoke', 'reinstate')),
    CONSTRAINT support_decisions_authority_check CHECK (authority IN ('authoritative', 'primary', 'secondary', 'inferred', 'unknown')),
    CONSTRAINT support_decisions_actor_kind_check CHECK (actor_kind IN ('profile', 'reviewer', 'judge', 'operator')),
    CONSTRAINT support_decisions_actor_profile_id_check CHECK (CASE actor_kind WHEN 'profile' THEN actor_profile_id IS NOT NULL WHEN 'reviewer' THEN actor_profile_id IS NULL ELSE true END),
    CONSTRAINT support_decisions_team_id_support_id_fkey FOREIGN KEY(team_id, support_id) REFERENCES supports (team_id, support_id)
);

COMMENT ON TABLE support_decisions IS 'Append-only switch of a support, with the authority granted; the last one counts.';
COMMENT ON COLUMN support_decisions.granted_by_key IS 'the key''s own permission granted it: no registry change takes it away';

ALTER TABLE cross_references ADD CONSTRAINT cross_references_team_id_decision_id_fkey FOREIGN KEY(team_id, decision_id) REFERENCES decisions (team_id, decision_id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE cross_references ADD CONSTRAINT cross_references_team_id_source_id_fkey FOREIGN KEY(team_id, source_id) REFERENCES relationships (team_id, relationship_id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE cross_references ADD CONSTRAINT cross_references_team_id_target_id_fkey FOREIGN KEY(team_id, target_id) REFERENCES relationships (team_id, relationship_id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE decisions ADD CONSTRAINT decisions_team_id_item_id_fkey FOREIGN KEY(team_id, item_id) REFERENCES review_items (team_id, item_id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE relationships_history ADD CONSTRAINT relationships_history_transition_fkey FOREIGN KEY(team_id, relationship_id, version, status, tier, facet, valid_from, valid_to) REFERENCES transitions (team_id, relationship_id, version, resulting_status, resulting_tier, resulting_facet, resulting_valid_from, resulting_valid_to) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE transitions ADD CONSTRAINT transitions_team_id_decision_id_fkey FOREIGN KEY(team_id, decision_id) REFERENCES decisions (team_id, decision_id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE transitions ADD CONSTRAINT transitions_team_id_relationship_id_version_fkey FOREIGN KEY(team_id, relationship_id, version) REFERENCES relationships_history (team_id, relationship_id, version) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE reference_decisions ADD CONSTRAINT reference_decisions_team_id_decision_id_fkey FOREIGN KEY(team_id, decision_id) REFERENCES decisions (team_id, decision_id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE carriages ADD CONSTRAINT carriages_team_id_relationship_id_fkey FOREIGN KEY(team_id, relationship_id) REFERENCES relationships (team_id, relationship_id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE review_items ADD CONSTRAINT review_items_team_id_decision_id_fkey FOREIGN KEY(team_id, decision_id) REFERENCES decisions (team_id, decision_id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE supports ADD CONSTRAINT supports_team_id_relationship_id_fkey FOREIGN KEY(team_id, relationship_id) REFERENCES relationships (team_id, relationship_id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE timeline_decisions ADD CONSTRAINT timeline_decisions_team_id_decision_id_fkey FOREIGN KEY(team_id, decision_id) REFERENCES decisions (team_id, decision_id) DEFERRABLE INITIALLY DEFERRED;
