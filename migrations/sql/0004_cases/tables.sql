CREATE TABLE case_events (
    team_id UUID NOT NULL,
    event_id UUID NOT NULL,
    conflict_id UUID NOT NULL,
    prior_status TEXT,
    resulting_status TEXT NOT NULL,
    version INTEGER NOT NULL,
    actor_kind TEXT NOT NULL,
    actor_profile_id UUID,
    action TEXT NOT NULL,
    reason TEXT NOT NULL,
    policy_version TEXT,
    time_basis TEXT,
    relationship_ids UUID[] NOT NULL,
    relationship_versions INTEGER[] NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT case_events_pkey PRIMARY KEY (team_id, event_id),
    CONSTRAINT case_events_prior_status_check CHECK (prior_status IN ('open', 'overdue', 'resolved', 'dismissed')),
    CONSTRAINT case_events_resulting_status_check CHECK (resulting_status IN ('open', 'overdue', 'resolved', 'dismissed')),
    CONSTRAINT case_events_actor_kind_check CHECK (actor_kind IN ('profile', 'reviewer', 'judge', 'operator')),
    CONSTRAINT case_events_actor_profile_id_check CHECK (CASE actor_kind WHEN 'profile' THEN actor_profile_id IS NOT NULL WHEN 'reviewer' THEN actor_profile_id IS NULL ELSE true END),
    CONSTRAINT case_events_action_check CHECK (action IN ('opened', 'joined', 'refreshed', 'marked_overdue', 'resolved', 'dismissed', 'alerted')),
    CONSTRAINT case_events_time_basis_check CHECK (time_basis IN ('evidence_time', 'stated_time', 'observed_time', 'recorded_fallback')),
    CONSTRAINT case_events_relationships_check CHECK (cardinality(relationship_ids) = cardinality(relationship_versions))
);

CREATE INDEX case_events_conflict_id_idx ON case_events (team_id, conflict_id, revision);
COMMENT ON INDEX case_events_conflict_id_idx IS 'events of a case in their order, paged; foreign key to conflict_cases';
CREATE INDEX case_events_revision_idx ON case_events (team_id, revision, event_id);
COMMENT ON INDEX case_events_revision_idx IS 'events in the order of the commits, watched';
COMMENT ON TABLE case_events IS 'Append-only event of a case.';
COMMENT ON COLUMN case_events.relationship_ids IS 'referenced relationships; the next column holds their versions';

CREATE TABLE case_members (
    team_id UUID NOT NULL,
    conflict_id UUID NOT NULL,
    position_id UUID NOT NULL,
    relationship_id UUID NOT NULL,
    version INTEGER NOT NULL,
    relationship_version INTEGER NOT NULL,
    owner_id UUID NOT NULL,
    present BOOLEAN NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT case_members_pkey PRIMARY KEY (team_id, conflict_id, position_id, relationship_id),
    CONSTRAINT case_members_relationship_version_check CHECK (relationship_version >= 1)
);

CREATE INDEX case_members_owner_id_idx ON case_members (team_id, owner_id, conflict_id);
COMMENT ON INDEX case_members_owner_id_idx IS 'cases in which a profile owns a member';
CREATE INDEX case_members_relationship_id_idx ON case_members (team_id, relationship_id);
COMMENT ON INDEX case_members_relationship_id_idx IS 'cases that a row takes part in: every change of a member, recall; foreign key to relationships';
COMMENT ON TABLE case_members IS 'A relationship at a version that takes part in a position.';
COMMENT ON COLUMN case_members.version IS 'of this row';
COMMENT ON COLUMN case_members.present IS 'false once it has left the case';

CREATE TABLE case_members_history (
    team_id UUID NOT NULL,
    conflict_id UUID NOT NULL,
    position_id UUID NOT NULL,
    relationship_id UUID NOT NULL,
    version INTEGER NOT NULL,
    relationship_version INTEGER NOT NULL,
    owner_id UUID NOT NULL,
    present BOOLEAN NOT NULL,
    revision BIGINT NOT NULL,
    recorded_from TIMESTAMP WITH TIME ZONE NOT NULL,
    recorded_to TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT case_members_history_pkey PRIMARY KEY (team_id, conflict_id, position_id, relationship_id, version),
    CONSTRAINT case_members_history_recorded_to_check CHECK (recorded_from < recorded_to),
    CONSTRAINT case_members_history_versions_excl EXCLUDE USING gist (team_id WITH =, conflict_id WITH =, position_id WITH =, relationship_id WITH =, tstzrange(recorded_from, recorded_to) WITH &&)
);

COMMENT ON TABLE case_members_history IS 'Every version of the rows of case_members.';

CREATE TABLE case_positions (
    team_id UUID NOT NULL,
    conflict_id UUID NOT NULL,
    position_id UUID NOT NULL,
    version INTEGER NOT NULL,
    position_key TEXT NOT NULL,
    present BOOLEAN NOT NULL,
    counted_groups INTEGER NOT NULL,
    authoritative_groups INTEGER NOT NULL,
    support_digest TEXT NOT NULL,
    first_seen_at TIMESTAMP WITH TIME ZONE NOT NULL,
    last_seen_at TIMESTAMP WITH TIME ZONE NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT case_positions_pkey PRIMARY KEY (team_id, conflict_id, position_id),
    CONSTRAINT case_positions_groups_check CHECK (counted_groups >= authoritative_groups AND authoritative_groups >= 0),
    CONSTRAINT case_positions_position_key_key UNIQUE (team_id, conflict_id, position_key)
);

COMMENT ON TABLE case_positions IS 'The current version of one side of a case.';
COMMENT ON COLUMN case_positions.version IS 'of this row';
COMMENT ON COLUMN case_positions.position_key IS 'object key, polarity, or recorded / corrected';
COMMENT ON COLUMN case_positions.present IS 'false once no member stands on it any more';
COMMENT ON COLUMN case_positions.support_digest IS 'changes whenever the effective supports of the members do';

CREATE TABLE case_positions_history (
    team_id UUID NOT NULL,
    conflict_id UUID NOT NULL,
    position_id UUID NOT NULL,
    version INTEGER NOT NULL,
    position_key TEXT NOT NULL,
    present BOOLEAN NOT NULL,
    counted_groups INTEGER NOT NULL,
    authoritative_groups INTEGER NOT NULL,
    support_digest TEXT NOT NULL,
    first_seen_at TIMESTAMP WITH TIME ZONE NOT NULL,
    last_seen_at TIMESTAMP WITH TIME ZONE NOT NULL,
    revision BIGINT NOT NULL,
    recorded_from TIMESTAMP WITH TIME ZONE NOT NULL,
    recorded_to TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT case_positions_history_pkey PRIMARY KEY (team_id, conflict_id, position_id, version),
    CONSTRAINT case_positions_history_recorded_to_check CHECK (recorded_from < recorded_to),
    CONSTRAINT case_positions_history_versions_excl EXCLUDE USING gist (team_id WITH =, conflict_id WITH =, position_id WITH =, tstzrange(recorded_from, recorded_to) WITH &&)
);

COMMENT ON TABLE case_positions_history IS 'Every version of the rows of case_positions.';

CREATE TABLE conflict_cases_history (
    team_id UUID NOT NULL,
    conflict_id UUID NOT NULL,
    kind TEXT NOT NULL,
    subject_id UUID NOT NULL,
    predicate TEXT NOT NULL,
    scope TEXT NOT NULL,
    object_key TEXT NOT NULL,
    status TEXT NOT NULL,
    version INTEGER NOT NULL,
    opened_at TIMESTAMP WITH TIME ZONE NOT NULL,
    review_due_at TIMESTAMP WITH TIME ZONE NOT NULL,
    first_contradiction_at TIMESTAMP WITH TIME ZONE NOT NULL,
    resolved_at TIMESTAMP WITH TIME ZONE,
    dismissed_at TIMESTAMP WITH TIME ZONE,
    effective_at TIMESTAMP WITH TIME ZONE,
    effective_time_basis TEXT,
    preferred_position_id UUID,
    resolution_reason TEXT,
    policy_version TEXT,
    previous_conflict_id UUID,
    revision BIGINT NOT NULL,
    recorded_from TIMESTAMP WITH TIME ZONE NOT NULL,
    recorded_to TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT conflict_cases_history_pkey PRIMARY KEY (team_id, conflict_id, revision),
    CONSTRAINT conflict_cases_history_recorded_to_check CHECK (recorded_from < recorded_to),
    CONSTRAINT conflict_cases_history_versions_excl EXCLUDE USING gist (team_id WITH =, conflict_id WITH =, tstzrange(recorded_from, recorded_to) WITH &&)
);

CREATE INDEX conflict_cases_history_live_idx ON conflict_cases_history (team_id, recorded_to) WHERE status IN ('open', 'overdue');
COMMENT ON INDEX conflict_cases_history_live_idx IS 'cases that were live at an instant: versions that end after it';
CREATE INDEX conflict_cases_history_closed_idx ON conflict_cases_history (team_id, opened_at, conflict_id) WHERE status IN ('resolved', 'dismissed');
COMMENT ON INDEX conflict_cases_history_closed_idx IS 'closed cases by age, paged';
COMMENT ON TABLE conflict_cases_history IS 'Every version of the rows of conflict_cases.';

CREATE TABLE review_runs (
    team_id UUID NOT NULL,
    run_id UUID NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    requested_by UUID,
    local_date DATE,
    policy_version TEXT NOT NULL,
    claim_token BIGINT NOT NULL,
    lease_expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    requested_at TIMESTAMP WITH TIME ZONE NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE,
    finished_at TIMESTAMP WITH TIME ZONE,
    examined_cases INTEGER NOT NULL,
    resolved_cases INTEGER NOT NULL,
    dismissed_cases INTEGER NOT NULL,
    marked_overdue_cases INTEGER NOT NULL,
    kept_cases INTEGER NOT NULL,
    left_cases INTEGER NOT NULL,
    failed_cases INTEGER NOT NULL,
    CONSTRAINT review_runs_pkey PRIMARY KEY (team_id, run_id),
    CONSTRAINT review_runs_kind_check CHECK (kind IN ('nightly', 'requested', 'due')),
    CONSTRAINT review_runs_status_check CHECK (status IN ('queued', 'running', 'finished', 'failed')),
    CONSTRAINT review_runs_local_date_check CHECK ((kind = 'nightly') = (local_date IS NOT NULL)),
    CONSTRAINT review_runs_requested_by_check CHECK ((kind = 'requested') = (requested_by IS NOT NULL)),
    CONSTRAINT review_runs_finished_at_check CHECK ((status IN ('finished', 'failed')) = (finished_at IS NOT NULL)),
    CONSTRAINT review_runs_started_at_check CHECK ((status = 'queued') = (started_at IS NULL)),
    CONSTRAINT review_runs_team_id_requested_by_fkey FOREIGN KEY(team_id, requested_by) REFERENCES profiles (team_id, profile_id)
);

CREATE INDEX review_runs_requested_at_idx ON review_runs (team_id, requested_at, run_id);
COMMENT ON INDEX review_runs_requested_at_idx IS 'the list of runs by age, paged';
CREATE INDEX review_runs_requested_by_idx ON review_runs (team_id, requested_by) WHERE requested_by IS NOT NULL;
COMMENT ON INDEX review_runs_requested_by_idx IS 'runs that a profile asked for; foreign key to profiles';
CREATE INDEX review_runs_waiting_idx ON review_runs (team_id, requested_at, run_id) WHERE status IN ('queued', 'running');
COMMENT ON INDEX review_runs_waiting_idx IS 'runs to claim, oldest first; which teams have one';
COMMENT ON TABLE review_runs IS 'One run of the reviewer over the cases of a team.';
COMMENT ON COLUMN review_runs.requested_by IS 'the profile that asked for it';
COMMENT ON COLUMN review_runs.local_date IS 'the team''s date of a nightly run';
COMMENT ON COLUMN review_runs.claim_token IS 'fencing token: rises with every claim';
COMMENT ON COLUMN review_runs.lease_expires_at IS 'real time; -infinity: not leased';

CREATE TABLE conflict_cases (
    team_id UUID NOT NULL,
    conflict_id UUID NOT NULL,
    kind TEXT NOT NULL,
    subject_id UUID NOT NULL,
    predicate TEXT NOT NULL,
    scope TEXT NOT NULL,
    object_key TEXT NOT NULL,
    status TEXT NOT NULL,
    version INTEGER NOT NULL,
    opened_at TIMESTAMP WITH TIME ZONE NOT NULL,
    review_due_at TIMESTAMP WITH TIME ZONE NOT NULL,
    first_contradiction_at TIMESTAMP WITH TIME ZONE NOT NULL,
    resolved_at TIMESTAMP WITH TIME ZONE,
    dismissed_at TIMESTAMP WITH TIME ZONE,
    effective_at TIMESTAMP WITH TIME ZONE,
    effective_time_basis TEXT,
    preferred_position_id UUID,
    resolution_reason TEXT,
    policy_version TEXT,
    previous_conflict_id UUID,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT conflict_cases_pkey PRIMARY KEY (team_id, conflict_id),
    CONSTRAINT conflict_cases_kind_check CHECK (kind IN ('current_state', 'polarity', 'reference')),
    CONSTRAINT conflict_cases_status_check CHECK (status IN ('open', 'overdue', 'resolved', 'dismissed')),
    CONSTRAINT conflict_cases_effective_time_basis_check CHECK (effective_time_basis IN ('evidence_time', 'stated_time', 'observed_time', 'recorded_fallback')),
    CONSTRAINT conflict_cases_version_check CHECK (version >= 1),
    CONSTRAINT conflict_cases_review_due_at_check CHECK (opened_at < review_due_at),
    CONSTRAINT conflict_cases_object_key_check CHECK ((kind = 'polarity') = (object_key <> '')),
    CONSTRAINT conflict_cases_object_key_length_check CHECK (octet_length(object_key) <= 1344),
    CONSTRAINT conflict_cases_scope_check CHECK (octet_length(scope) <= 512),
    CONSTRAINT conflict_cases_outcome_check CHECK (CASE WHEN status = 'resolved' THEN num_nulls(resolved_at, effective_at, effective_time_basis, preferred_position_id, resolution_reason, policy_version) = 0 AND dismissed_at IS NULL ELSE num_nonnulls(resolved_at, effective_at, effective_time_basis, preferred_position_id) = 0 AND (dismissed_at IS NOT NULL) = (status = 'dismissed') END),
    CONSTRAINT conflict_cases_team_id_subject_id_fkey FOREIGN KEY(team_id, subject_id) REFERENCES entities (team_id, entity_id),
    CONSTRAINT conflict_cases_team_id_predicate_fkey FOREIGN KEY(team_id, predicate) REFERENCES predicates (team_id, predicate),
    CONSTRAINT conflict_cases_team_id_previous_conflict_id_fkey FOREIGN KEY(team_id, previous_conflict_id) REFERENCES conflict_cases (team_id, conflict_id)
);

CREATE UNIQUE INDEX conflict_cases_live_key ON conflict_cases (team_id, kind, subject_id, predicate, scope, object_key) WHERE status IN ('open', 'overdue');
COMMENT ON INDEX conflict_cases_live_key IS 'the live case of a set key; at most one';
CREATE INDEX conflict_cases_opened_at_idx ON conflict_cases (team_id, opened_at, conflict_id);
COMMENT ON INDEX conflict_cases_opened_at_idx IS 'the list of cases by age, paged';
CREATE INDEX conflict_cases_predicate_idx ON conflict_cases (team_id, predicate);
COMMENT ON INDEX conflict_cases_predicate_idx IS 'cases of a predicate in a list; foreign key to predicates';
CREATE INDEX conflict_cases_previous_conflict_id_idx ON conflict_cases (team_id, previous_conflict_id) WHERE previous_conflict_id IS NOT NULL;
COMMENT ON INDEX conflict_cases_previous_conflict_id_idx IS 'the case that followed a closed one; foreign key to conflict_cases';
CREATE INDEX conflict_cases_slot_idx ON conflict_cases (team_id, subject_id, predicate, scope);
COMMENT ON INDEX conflict_cases_slot_idx IS 'cases of a slot or entity, closed ones too; foreign key to entities';
COMMENT ON TABLE conflict_cases IS 'The current version of a case.';
COMMENT ON COLUMN conflict_cases.object_key IS 'empty except for polarity cases; names the day of an event, too';
COMMENT ON COLUMN conflict_cases.version IS 'rises with positions, members and supports, on resolve and dismiss';
COMMENT ON COLUMN conflict_cases.review_due_at IS 'never moved';
COMMENT ON COLUMN conflict_cases.effective_at IS 'the cutoff';
COMMENT ON COLUMN conflict_cases.previous_conflict_id IS 'the closed case of the same key before this one';

CREATE TABLE review_reservations (
    team_id UUID NOT NULL,
    local_date DATE NOT NULL,
    policy_version TEXT NOT NULL,
    run_id UUID NOT NULL,
    reserved_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT review_reservations_pkey PRIMARY KEY (team_id, local_date, policy_version),
    CONSTRAINT review_reservations_team_id_run_id_fkey FOREIGN KEY(team_id, run_id) REFERENCES review_runs (team_id, run_id)
);

CREATE INDEX review_reservations_run_id_idx ON review_reservations (team_id, run_id);
COMMENT ON INDEX review_reservations_run_id_idx IS 'the night of a run; foreign key to review_runs';
COMMENT ON TABLE review_reservations IS 'The nightly run of a team, a local date and a policy version happens once.';

CREATE TABLE alerts (
    team_id UUID NOT NULL,
    alert_id UUID NOT NULL,
    kind TEXT NOT NULL,
    conflict_id UUID,
    reason TEXT NOT NULL,
    details JSONB NOT NULL,
    raised_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT alerts_pkey PRIMARY KEY (team_id, alert_id),
    CONSTRAINT alerts_team_id_conflict_id_fkey FOREIGN KEY(team_id, conflict_id) REFERENCES conflict_cases (team_id, conflict_id)
);

CREATE INDEX alerts_conflict_id_idx ON alerts (team_id, conflict_id) WHERE conflict_id IS NOT NULL;
COMMENT ON INDEX alerts_conflict_id_idx IS 'alerts of a case; foreign key to conflict_cases';
CREATE INDEX alerts_raised_at_idx ON alerts (team_id, raised_at, alert_id);
COMMENT ON INDEX alerts_raised_at_idx IS 'the list of alerts by age, paged';
COMMENT ON TABLE alerts IS 'Something that a person has to look at, such as exhausted attempts.';

CREATE TABLE case_evaluations (
    team_id UUID NOT NULL,
    evaluation_id UUID NOT NULL,
    conflict_id UUID NOT NULL,
    case_version INTEGER NOT NULL,
    policy_version TEXT NOT NULL,
    snapshot JSONB NOT NULL,
    decision JSONB NOT NULL,
    revision BIGINT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT case_evaluations_pkey PRIMARY KEY (team_id, evaluation_id),
    CONSTRAINT case_evaluations_team_id_conflict_id_fkey FOREIGN KEY(team_id, conflict_id) REFERENCES conflict_cases (team_id, conflict_id)
);

CREATE INDEX case_evaluations_conflict_id_idx ON case_evaluations (team_id, conflict_id, revision);
COMMENT ON INDEX case_evaluations_conflict_id_idx IS 'the latest evaluation of a case; foreign key to conflict_cases';
COMMENT ON TABLE case_evaluations IS 'One look at a case, immutable.';
COMMENT ON COLUMN case_evaluations.snapshot IS 'everything that the policy read: the decision can be replayed from it';
COMMENT ON COLUMN case_evaluations.decision IS 'what it answered, with every count and exclusion';

CREATE TABLE case_lease (
    team_id UUID NOT NULL,
    conflict_id UUID NOT NULL,
    next_review_at TIMESTAMP WITH TIME ZONE NOT NULL,
    claim_token BIGINT NOT NULL,
    lease_expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    attempts INTEGER NOT NULL,
    attempts_date DATE,
    last_evaluated_at TIMESTAMP WITH TIME ZONE,
    on_driven_clock BOOLEAN NOT NULL,
    CONSTRAINT case_lease_pkey PRIMARY KEY (team_id, conflict_id),
    CONSTRAINT case_lease_claim_token_check CHECK (claim_token >= 0),
    CONSTRAINT case_lease_attempts_check CHECK (attempts >= 0),
    CONSTRAINT case_lease_team_id_conflict_id_fkey FOREIGN KEY(team_id, conflict_id) REFERENCES conflict_cases (team_id, conflict_id)
);

CREATE INDEX case_lease_next_review_at_idx ON case_lease (team_id, next_review_at, conflict_id);
COMMENT ON INDEX case_lease_next_review_at_idx IS 'due cases in claim order; whether a driven team is due';
CREATE INDEX case_lease_due_idx ON case_lease (next_review_at, team_id) WHERE NOT on_driven_clock AND next_review_at < 'infinity';
COMMENT ON INDEX case_lease_due_idx IS 'which open teams are due';
COMMENT ON TABLE case_lease IS 'When a case is looked at next, and who holds it: a claim is not a revision.';
COMMENT ON COLUMN case_lease.next_review_at IS 'team time; infinity once the case is closed';
COMMENT ON COLUMN case_lease.claim_token IS 'fencing token: rises with every claim';
COMMENT ON COLUMN case_lease.lease_expires_at IS 'real time; -infinity: not leased';
COMMENT ON COLUMN case_lease.attempts IS 'of the night attempts_date';
COMMENT ON COLUMN case_lease.last_evaluated_at IS 'team time';
COMMENT ON COLUMN case_lease.on_driven_clock IS 'whether the team''s time is a driven one; set by triggers';

ALTER TABLE case_events ADD CONSTRAINT case_events_team_id_conflict_id_fkey FOREIGN KEY(team_id, conflict_id) REFERENCES conflict_cases (team_id, conflict_id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE case_members ADD CONSTRAINT case_members_team_id_conflict_id_position_id_fkey FOREIGN KEY(team_id, conflict_id, position_id) REFERENCES case_positions (team_id, conflict_id, position_id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE case_members ADD CONSTRAINT case_members_team_id_relationship_id_fkey FOREIGN KEY(team_id, relationship_id) REFERENCES relationships (team_id, relationship_id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE case_positions ADD CONSTRAINT case_positions_team_id_conflict_id_fkey FOREIGN KEY(team_id, conflict_id) REFERENCES conflict_cases (team_id, conflict_id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE conflict_cases ADD CONSTRAINT conflict_cases_preferred_position_fkey FOREIGN KEY(team_id, conflict_id, preferred_position_id) REFERENCES case_positions (team_id, conflict_id, position_id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE transitions ADD CONSTRAINT transitions_team_id_conflict_id_fkey FOREIGN KEY(team_id, conflict_id) REFERENCES conflict_cases (team_id, conflict_id) DEFERRABLE INITIALLY DEFERRED;
