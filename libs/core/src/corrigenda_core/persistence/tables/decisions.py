"""Decisions and what they did: transitions of relationships, cross-references, and the questions that they answer."""

from __future__ import annotations

from sqlalchemy import Boolean, CheckConstraint, Integer, Text, Uuid
from sqlalchemy.dialects.postgresql import JSONB

from corrigenda_core.domain.decisions import RemovalReason
from corrigenda_core.domain.items import ItemKind, ItemStatus
from corrigenda_core.domain.objects import Polarity
from corrigenda_core.domain.relationships import ReferenceKind
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
from corrigenda_core.persistence.tables.relationships import row_state

CLOSING_COLUMNS = (
    "closing_at",
    "closing_facet",
    "closing_object_key",
    "closing_polarity",
    "closing_statement_ids",
    "closing_made_for",
    "closing_conditional",
)
PRIOR_COLUMNS = ("prior_status", "prior_tier", "prior_facet", "prior_valid_from", "prior_valid_to")


def all_or_none(columns: tuple[str, ...], name: str) -> CheckConstraint:
    """These columns all have a value, or none of them has."""
    return CheckConstraint(f"num_nulls({', '.join(columns)}) IN (0, {len(columns)})", name=name)


decisions = team_table(
    "decisions",
    required("decision_id", Uuid),
    required("kind", Text, "the action: keep_new, retract, revert, ..."),
    *acted_by(),
    optional("item_id", Uuid),
    optional("item_version", Integer, "the version that the decision answered"),
    required("target_ids", UUIDS, "every relationship, fragment or entity that it names"),
    optional("kept_relationship_id", Uuid),
    required("statement_ids", UUIDS, "statements that were placed with it: a revert takes them out of the timeline"),
    optional("reverts_decision_id", Uuid),
    optional("idempotency_key", Text),
    required("reason", Text),
    required("details", JSONB, "pairs of a name and a text, in the order given"),
    *ledgered(),
    CheckConstraint("(item_id IS NULL) = (item_version IS NULL)", name="item"),
    refers(["item_id"], "review_items", deferred=True),
    refers(["reverts_decision_id"], "decisions", ["decision_id"]),
    index(
        "decisions_item_id_idx",
        "item_id",
        serves="decisions on an item; foreign key to review_items",
        where="item_id IS NOT NULL",
    ),
    index(
        "decisions_reverts_decision_id_idx",
        "reverts_decision_id",
        serves="whether a decision was reverted; foreign key to decisions",
        where="reverts_decision_id IS NOT NULL",
    ),
    key=("decision_id",),
    comment="One decision of a person, a judge or an operator; an undo is a decision of its own.",
)

timeline_decisions = team_table(
    "timeline_decisions",
    required("decision_id", Uuid),
    required("entry", Integer, "place in its decision, from 0"),
    *member_of("kind", ("removal", "facet", "start", "distinction", "same", "reopening", "closing")),
    required("statement_id", Uuid),
    *member_of("removal_reason", RemovalReason, nullable=True),
    optional("facet", Integer),
    optional("start_at", INSTANT),
    *member_of("start_basis", TimeBasis, nullable=True),
    optional("other_statement_id", Uuid, "the statement that this one is told apart from, or the same as"),
    optional("reopened_decision_id", Uuid, "with the next one: the closing that says nothing while this stands"),
    optional("reopened_relationship_id", Uuid),
    optional(
        "closing_relationship_id",
        Uuid,
        "this and the next ones: a closing that changes no row, so that no transition carries it",
    ),
    optional("closing_at", INSTANT),
    optional("closing_facet", Integer),
    optional("closing_object_key", Text),
    *member_of("closing_polarity", Polarity, nullable=True),
    optional("closing_statement_ids", UUIDS),
    optional("closing_made_for", UUIDS),
    optional("closing_conditional", Boolean),
    *member_of("closing_basis", TimeBasis, nullable=True),
    *ledgered(),
    CheckConstraint("entry >= 0", name="entry"),
    CheckConstraint(
        "(kind = 'removal') = (removal_reason IS NOT NULL) AND (kind = 'facet') = (facet IS NOT NULL) "
        "AND (kind = 'start') = (start_at IS NOT NULL) AND (kind = 'start') = (start_basis IS NOT NULL) "
        "AND (kind IN ('distinction', 'same')) = (other_statement_id IS NOT NULL) "
        "AND (kind = 'reopening') = (reopened_decision_id IS NOT NULL) "
        "AND (kind = 'reopening') = (reopened_relationship_id IS NOT NULL) "
        "AND (kind = 'closing') = (closing_relationship_id IS NOT NULL)",
        name="of_its_kind",
    ),
    all_or_none(("closing_relationship_id", *CLOSING_COLUMNS, "closing_basis"), "closing"),
    refers(["decision_id"], "decisions", deferred=True),
    refers(["statement_id"], "observations", ["observation_id"]),
    refers(["other_statement_id"], "observations", ["observation_id"]),
    index(
        "timeline_decisions_statement_id_idx",
        "statement_id",
        serves="decisions on a statement for the fold; foreign key to observations",
    ),
    index(
        "timeline_decisions_other_statement_id_idx",
        "other_statement_id",
        serves="distinctions of a statement; foreign key to observations",
        where="other_statement_id IS NOT NULL",
    ),
    key=("decision_id", "entry"),
    comment="What a decision says to the fold; it stands until its decision is reverted.",
)

transitions = team_table(
    "transitions",
    required("transition_id", Uuid),
    required("relationship_id", Uuid),
    required("version", Integer, "the version of the row that it made"),
    *row_state("prior_", nullable=True),
    *row_state("resulting_"),
    *acted_by(),
    required("reason", Text),
    *member_of("time_basis", TimeBasis, nullable=True),
    optional("decision_id", Uuid),
    optional("conflict_id", Uuid, "the case whose resolution it is"),
    optional("idempotency_key", Text),
    optional("closing_at", INSTANT, "this and the other closing columns: the closing that stands on this transition"),
    optional("closing_facet", Integer),
    optional("closing_object_key", Text),
    *member_of("closing_polarity", Polarity, nullable=True),
    optional("closing_statement_ids", UUIDS, "statements that carried the row"),
    optional("closing_made_for", UUIDS),
    optional("closing_conditional", Boolean, "holds only while a statement of closing_made_for is in the timeline"),
    *ledgered(),
    CheckConstraint("(prior_status IS NULL) = (version = 1)", name="prior"),
    all_or_none(PRIOR_COLUMNS, "prior_state"),
    all_or_none(CLOSING_COLUMNS, "closing"),
    unique("relationship_id", "version", name="transitions_version_key"),
    unique(
        "relationship_id",
        "version",
        "resulting_status",
        "resulting_tier",
        "resulting_facet",
        "resulting_valid_from",
        "resulting_valid_to",
        name="transitions_resulting_state_key",
    ),
    refers(["relationship_id", "version"], "relationships_history", deferred=True),
    refers(["decision_id"], "decisions", deferred=True),
    refers(["conflict_id"], "conflict_cases", deferred=True),
    index(
        "transitions_decision_id_idx",
        "decision_id",
        serves="what a decision did; foreign key to decisions",
        where="decision_id IS NOT NULL",
    ),
    index(
        "transitions_conflict_id_idx",
        "conflict_id",
        serves="what a resolution did; foreign key to conflict_cases",
        where="conflict_id IS NOT NULL",
    ),
    key=("transition_id",),
    comment="Append-only record of one lifecycle change: exactly one per version of a relationship.",
)

cross_references = team_table(
    "cross_references",
    required("reference_id", Uuid),
    *member_of("kind", ReferenceKind),
    required("source_id", Uuid),
    required("target_id", Uuid),
    optional("decision_id", Uuid),
    *ledgered(),
    refers(["source_id"], "relationships", ["relationship_id"], deferred=True),
    refers(["target_id"], "relationships", ["relationship_id"], deferred=True),
    refers(["decision_id"], "decisions", deferred=True),
    index("cross_references_source_id_idx", "source_id", serves="references of a row; foreign key to relationships"),
    index("cross_references_target_id_idx", "target_id", serves="references to a row; foreign key to relationships"),
    index(
        "cross_references_decision_id_idx",
        "decision_id",
        serves="references that a revert switches off; foreign key to decisions",
        where="decision_id IS NOT NULL",
    ),
    key=("reference_id",),
    comment="Append-only link between relationships.",
)

reference_decisions = team_table(
    "reference_decisions",
    required("reference_id", Uuid),
    required("active", Boolean),
    optional("decision_id", Uuid),
    required("reason", Text),
    *acted_by(),
    *ledgered(),
    refers(["reference_id"], "cross_references"),
    refers(["decision_id"], "decisions", deferred=True),
    index(
        "reference_decisions_decision_id_idx",
        "decision_id",
        serves="references that a decision switched; foreign key to decisions",
        where="decision_id IS NOT NULL",
    ),
    key=("reference_id", "revision"),
    comment="Append-only switch of a reference; without one it is active, the last one counts.",
)

review_items = team_table(
    "review_items",
    required("item_id", Uuid),
    required("version", Integer),
    *member_of("kind", ItemKind),
    *member_of("status", ItemStatus),
    required("owner_id", Uuid),
    required("reason", Text),
    optional("ingest_id", Uuid),
    optional("fragment_id", Uuid, "what a quarantine item asks about"),
    optional("statement_id", Uuid),
    optional("subject_id", Uuid, "the slot, with the next two"),
    optional("predicate", Text),
    optional("scope", Text),
    required("incoming", UUIDS),
    required("opposing", UUIDS),
    required("details", JSONB, "what the kind needs: offered candidates, closest predicates"),
    optional("decision_id", Uuid, "the decision that resolved it"),
    required("opened_at", INSTANT),
    *ledgered(),
    CheckConstraint("version >= 1", name="version"),
    all_or_none(("subject_id", "predicate", "scope"), "slot"),
    refers(["owner_id"], "profiles", ["profile_id"]),
    refers(["ingest_id"], "ingests"),
    refers(["fragment_id"], "evidence_fragments"),
    refers(["statement_id"], "observations", ["observation_id"]),
    refers(["decision_id"], "decisions", deferred=True),
    index(
        "review_items_owner_id_idx",
        "owner_id",
        "status",
        "opened_at",
        serves="the caller's own questions by age; foreign key to profiles",
    ),
    index(
        "review_items_slot_idx",
        "subject_id",
        "predicate",
        "scope",
        serves="questions of a slot: pending ones inside every placement, those of a view in recall",
        where="subject_id IS NOT NULL",
    ),
    index(
        "review_items_ingest_id_idx",
        "ingest_id",
        serves="questions that a submission raised; foreign key to ingests",
        where="ingest_id IS NOT NULL",
    ),
    index(
        "review_items_fragment_id_idx",
        "fragment_id",
        serves="the question about a quarantined fragment; foreign key to evidence_fragments",
        where="fragment_id IS NOT NULL",
    ),
    index(
        "review_items_statement_id_idx",
        "statement_id",
        serves="questions about a statement; foreign key to observations",
        where="statement_id IS NOT NULL",
    ),
    index(
        "review_items_decision_id_idx",
        "decision_id",
        serves="the item that a revert opens again; foreign key to decisions",
        where="decision_id IS NOT NULL",
    ),
    key=("item_id",),
    comment="The current version of a question to one owner.",
)

review_items_history = history_of(
    review_items,
    index(
        "review_items_history_pending_idx",
        "owner_id",
        "recorded_to",
        serves="items of an owner that were pending at an instant: versions that end after it",
        where="status = 'pending'",
    ),
    index(
        "review_items_history_closed_idx",
        "owner_id",
        "opened_at",
        "item_id",
        serves="closed items of an owner by age, paged",
        where="status <> 'pending'",
    ),
    index(
        "review_items_history_revision_idx",
        "owner_id",
        "revision",
        "item_id",
        serves="what happens to an owner's items in the order of the commits, watched",
    ),
    index(
        "review_items_history_withdrawn_idx",
        "revision",
        "item_id",
        serves="questions to those who lost against a withdrawn winner, in the order of the commits, for webhooks",
        where="kind = 'winner_withdrawn' AND version = 1",
    ),
    numbered_by="version",
)
