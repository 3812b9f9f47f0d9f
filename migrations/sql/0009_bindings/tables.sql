CREATE TABLE observation_bindings (
    team_id UUID NOT NULL,
    observation_id UUID NOT NULL,
    subject_id UUID,
    object_entity_id UUID,
    predicate TEXT,
    given_up BOOLEAN NOT NULL,
    decision_id UUID NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT observation_bindings_pkey PRIMARY KEY (team_id, observation_id, revision),
    CONSTRAINT observation_bindings_team_id_observation_id_fkey FOREIGN KEY(team_id, observation_id) REFERENCES observations (team_id, observation_id),
    CONSTRAINT observation_bindings_team_id_subject_id_fkey FOREIGN KEY(team_id, subject_id) REFERENCES entities (team_id, entity_id),
    CONSTRAINT observation_bindings_team_id_object_entity_id_fkey FOREIGN KEY(team_id, object_entity_id) REFERENCES entities (team_id, entity_id),
    CONSTRAINT observation_bindings_team_id_predicate_fkey FOREIGN KEY(team_id, predicate) REFERENCES predicates (team_id, predicate),
    CONSTRAINT observation_bindings_team_id_decision_id_fkey FOREIGN KEY(team_id, decision_id) REFERENCES decisions (team_id, decision_id) DEFERRABLE INITIALLY DEFERRED
);

CREATE INDEX observation_bindings_subject_id_idx ON observation_bindings (team_id, subject_id) WHERE subject_id IS NOT NULL;
COMMENT ON INDEX observation_bindings_subject_id_idx IS 'observations that were bound to an entity; foreign key to entities';
CREATE INDEX observation_bindings_object_entity_id_idx ON observation_bindings (team_id, object_entity_id) WHERE object_entity_id IS NOT NULL;
COMMENT ON INDEX observation_bindings_object_entity_id_idx IS 'observations that were bound to an entity; foreign key to entities';
CREATE INDEX observation_bindings_predicate_idx ON observation_bindings (team_id, predicate) WHERE predicate IS NOT NULL;
COMMENT ON INDEX observation_bindings_predicate_idx IS 'observations that were bound to a predicate; foreign key to predicates';
CREATE INDEX observation_bindings_decision_id_idx ON observation_bindings (team_id, decision_id);
COMMENT ON INDEX observation_bindings_decision_id_idx IS 'what a decision has bound; foreign key to decisions';
COMMENT ON TABLE observation_bindings IS 'What a decision says that a waiting observation names; append-only, the last one counts.';
COMMENT ON COLUMN observation_bindings.subject_id IS 'NULL: still unknown, or as the observation says; so with the next two';
COMMENT ON COLUMN observation_bindings.given_up IS 'its author rejected or replaced it before it was placed: nothing is placed from it';

CREATE TABLE entity_merges (
    team_id UUID NOT NULL,
    source_id UUID NOT NULL,
    target_id UUID NOT NULL,
    merged_by UUID NOT NULL,
    decision_id UUID NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT entity_merges_pkey PRIMARY KEY (team_id, source_id, merged_by, revision),
    CONSTRAINT entity_merges_target_id_check CHECK (source_id <> target_id),
    CONSTRAINT entity_merges_team_id_source_id_fkey FOREIGN KEY(team_id, source_id) REFERENCES entities (team_id, entity_id),
    CONSTRAINT entity_merges_team_id_target_id_fkey FOREIGN KEY(team_id, target_id) REFERENCES entities (team_id, entity_id),
    CONSTRAINT entity_merges_team_id_merged_by_fkey FOREIGN KEY(team_id, merged_by) REFERENCES profiles (team_id, profile_id),
    CONSTRAINT entity_merges_team_id_decision_id_fkey FOREIGN KEY(team_id, decision_id) REFERENCES decisions (team_id, decision_id) DEFERRABLE INITIALLY DEFERRED
);

CREATE INDEX entity_merges_target_id_idx ON entity_merges (team_id, target_id);
COMMENT ON INDEX entity_merges_target_id_idx IS 'what was merged into an entity; foreign key to entities';
CREATE INDEX entity_merges_merged_by_idx ON entity_merges (team_id, merged_by);
COMMENT ON INDEX entity_merges_merged_by_idx IS 'merges of a profile; foreign key to profiles';
CREATE INDEX entity_merges_decision_id_idx ON entity_merges (team_id, decision_id);
COMMENT ON INDEX entity_merges_decision_id_idx IS 'what a decision merged; foreign key to decisions';
COMMENT ON TABLE entity_merges IS 'A profile holds that one entity is another; append-only, the last one about an entity counts.';
COMMENT ON COLUMN entity_merges.source_id IS 'the entity that was given up';
COMMENT ON COLUMN entity_merges.merged_by IS 'whose observations moved; those of others about the source stay, and show this';
