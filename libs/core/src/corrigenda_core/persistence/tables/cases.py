"""Team conflict cases: the durable record of disagreements between owners, with every version it had."""

from __future__ import annotations

from sqlalchemy import Boolean, CheckConstraint, Integer, Text, Uuid
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from corrigenda_core.domain.cases import LIVE_CASE_STATUSES, CaseAction, CaseKind, CaseStatus
from corrigenda_core.domain.time import TimeBasis
from corrigenda_core.persistence.tables.columns import (
    INSTANT,
    UUIDS,
    acted_by,
    history_of,
    index,
    ledgered,
    member_of,
    optional,
    refers,
    required,
    team_table,
    unique,
)
from corrigenda_core.persistence.tables.observations import OBJECT_KEY_MAX_BYTES, SCOPE_MAX_BYTES

LIVE = f"status IN ({', '.join(sorted(repr(status.value) for status in LIVE_CASE_STATUSES))})"

# What the day of an event adds to the key of its object.
DAY_MAX_BYTES = 64
CLOSED = "status IN ('resolved', 'dismissed')"

conflict_cases = team_table(
    "conflict_cases",
    required("conflict_id", Uuid),
    *member_of("kind", CaseKind),
    required("subject_id", Uuid),
    required("predicate", Text),
    required("scope", Text),
    required("object_key", Text, "empty except for polarity cases; names the day of an event, too"),
    *member_of("status", CaseStatus),
    required("version", Integer, "rises with positions, members and supports, on resolve and dismiss"),
    required("opened_at", INSTANT),
    required("review_due_at", INSTANT, "never moved"),
    required("first_contradiction_at", INSTANT),
    optional("resolved_at", INSTANT),
    optional("dismissed_at", INSTANT),
    optional("effective_at", INSTANT, "the cutoff"),
    *member_of("effective_time_basis", TimeBasis, nullable=True),
    optional("preferred_position_id", Uuid),
    optional("resolution_reason", Text),
    optional("policy_version", Text),
    optional("previous_conflict_id", Uuid, "the closed case of the same key before this one"),
    *ledgered(),
    CheckConstraint("version >= 1", name="version"),
    CheckConstraint("opened_at < review_due_at", name="review_due_at"),
    CheckConstraint("(kind = 'polarity') = (object_key <> '')", name="object_key"),
    CheckConstraint(f"octet_length(object_key) <= {OBJECT_KEY_MAX_BYTES + DAY_MAX_BYTES}", name="object_key_length"),
    CheckConstraint(f"octet_length(scope) <= {SCOPE_MAX_BYTES}", name="scope"),
    CheckConstraint(
        "CASE WHEN status = 'resolved' "
        "THEN num_nulls(resolved_at, effective_at, effective_time_basis, preferred_position_id, resolution_reason, "
        "policy_version) = 0 AND dismissed_at IS NULL "
        "ELSE num_nonnulls(resolved_at, effective_at, effective_time_basis, preferred_position_id) = 0 "
        "AND (dismissed_at IS NOT NULL) = (status = 'dismissed') END",
        name="outcome",
    ),
    refers(["subject_id"], "entities", ["entity_id"]),
    refers(["predicate"], "predicates"),
    refers(["previous_conflict_id"], "conflict_cases", ["conflict_id"]),
    refers(
        ["conflict_id", "preferred_position_id"],
        "case_positions",
        ["conflict_id", "position_id"],
        deferred=True,
        name="conflict_cases_preferred_position_fkey",
    ),
    index(
        "conflict_cases_live_key",
        "kind",
        "subject_id",
        "predicate",
        "scope",
        "object_key",
        serves="the live case of a set key; at most one",
        where=LIVE,
        is_unique=True,
    ),
    index(
        "conflict_cases_slot_idx",
        "subject_id",
        "predicate",
        "scope",
        serves="cases of a slot or entity, closed ones too; foreign key to entities",
    ),
    index(
        "conflict_cases_predicate_idx", "predicate", serves="cases of a predicate in a list; foreign key to predicates"
    ),
    index("conflict_cases_opened_at_idx", "opened_at", "conflict_id", serves="the list of cases by age, paged"),
    index(
        "conflict_cases_previous_conflict_id_idx",
        "previous_conflict_id",
        serves="the case that followed a closed one; foreign key to conflict_cases",
        where="previous_conflict_id IS NOT NULL",
    ),
    key=("conflict_id",),
    comment="The current version of a case.",
)

# An overdue case keeps its version, so the versions of its row are told apart by their revision.
conflict_cases_history = history_of(
    conflict_cases,
    index(
        "conflict_cases_history_live_idx",
        "recorded_to",
        serves="cases that were live at an instant: versions that end after it",
        where=LIVE,
    ),
    index(
        "conflict_cases_history_closed_idx",
        "opened_at",
        "conflict_id",
        serves="closed cases by age, paged",
        where=CLOSED,
    ),
    numbered_by="revision",
)

case_positions = team_table(
    "case_positions",
    required("conflict_id", Uuid),
    required("position_id", Uuid),
    required("version", Integer, "of this row"),
    required("position_key", Text, "object key, polarity, or recorded / corrected"),
    required("present", Boolean, "false once no member stands on it any more"),
    required("counted_groups", Integer),
    required("authoritative_groups", Integer),
    required("support_digest", Text, "changes whenever the effective supports of the members do"),
    required("first_seen_at", INSTANT),
    required("last_seen_at", INSTANT),
    *ledgered(),
    CheckConstraint("counted_groups >= authoritative_groups AND authoritative_groups >= 0", name="groups"),
    unique("conflict_id", "position_key", name="case_positions_position_key_key"),
    refers(["conflict_id"], "conflict_cases", deferred=True),
    key=("conflict_id", "position_id"),
    comment="The current version of one side of a case.",
)

case_positions_history = history_of(case_positions, numbered_by="version")

case_members = team_table(
    "case_members",
    required("conflict_id", Uuid),
    required("position_id", Uuid),
    required("relationship_id", Uuid),
    required("version", Integer, "of this row"),
    required("relationship_version", Integer),
    required("owner_id", Uuid),
    required("present", Boolean, "false once it has left the case"),
    *ledgered(),
    CheckConstraint("relationship_version >= 1", name="relationship_version"),
    refers(["conflict_id", "position_id"], "case_positions", deferred=True),
    refers(["relationship_id"], "relationships", deferred=True),
    index(
        "case_members_relationship_id_idx",
        "relationship_id",
        serves="cases that a row takes part in: every change of a member, recall; foreign key to relationships",
    ),
    index("case_members_owner_id_idx", "owner_id", "conflict_id", serves="cases in which a profile owns a member"),
    key=("conflict_id", "position_id", "relationship_id"),
    comment="A relationship at a version that takes part in a position.",
)

case_members_history = history_of(case_members, numbered_by="version")

case_events = team_table(
    "case_events",
    required("event_id", Uuid),
    required("conflict_id", Uuid),
    *member_of("prior_status", CaseStatus, nullable=True),
    *member_of("resulting_status", CaseStatus),
    required("version", Integer),
    *acted_by(),
    *member_of("action", CaseAction),
    required("reason", Text),
    optional("policy_version", Text),
    *member_of("time_basis", TimeBasis, nullable=True),
    required("relationship_ids", UUIDS, "referenced relationships; the next column holds their versions"),
    required("relationship_versions", ARRAY(Integer)),
    *ledgered(),
    CheckConstraint("cardinality(relationship_ids) = cardinality(relationship_versions)", name="relationships"),
    refers(["conflict_id"], "conflict_cases", deferred=True),
    index(
        "case_events_conflict_id_idx",
        "conflict_id",
        "revision",
        serves="events of a case in their order, paged; foreign key to conflict_cases",
    ),
    index("case_events_revision_idx", "revision", "event_id", serves="events in the order of the commits, watched"),
    key=("event_id",),
    comment="Append-only event of a case.",
)

case_evaluations = team_table(
    "case_evaluations",
    required("evaluation_id", Uuid),
    required("conflict_id", Uuid),
    required("case_version", Integer),
    required("policy_version", Text),
    required("snapshot", JSONB, "everything that the policy read: the decision can be replayed from it"),
    required("decision", JSONB, "what it answered, with every count and exclusion"),
    *ledgered(),
    refers(["conflict_id"], "conflict_cases"),
    index(
        "case_evaluations_conflict_id_idx",
        "conflict_id",
        "revision",
        serves="the latest evaluation of a case; foreign key to conflict_cases",
    ),
    key=("evaluation_id",),
    comment="One look at a case, immutable.",
)
