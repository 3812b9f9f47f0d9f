"""Relationships with every version they had, and what carries them: carriages, supports and their decisions."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Boolean, CheckConstraint, Column, Integer, Text, Uuid, text
from sqlalchemy.dialects.postgresql import ARRAY, ExcludeConstraint

from corrigenda_core.domain.evidence import Authority, SupportDecisionKind
from corrigenda_core.domain.objects import Polarity
from corrigenda_core.domain.relationships import Status, Tier
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
)
from corrigenda_core.persistence.tables.observations import SCOPE_MAX_BYTES, object_and_key

OWNERS_SLOT = ("team_id", "owner_id", "subject_id", "predicate", "scope", "facet")
SETTLED = "status IN ('active', 'superseded')"


def row_state(prefix: str = "", *, nullable: bool = False) -> tuple[Column[Any] | CheckConstraint, ...]:
    """What a transition changes: status, tier, facet and validity with its bases; unbounded ends are infinite."""
    valid_from, valid_to = f"{prefix}valid_from", f"{prefix}valid_to"
    return (
        *member_of(f"{prefix}status", Status, nullable=nullable),
        *member_of(f"{prefix}tier", Tier, nullable=nullable),
        Column(f"{prefix}facet", Integer, nullable=nullable),
        Column(valid_from, INSTANT, nullable=nullable),
        Column(valid_to, INSTANT, nullable=nullable),
        *member_of(f"{prefix}valid_from_basis", TimeBasis, nullable=True),
        *member_of(f"{prefix}valid_to_basis", TimeBasis, nullable=True),
        CheckConstraint(f"{prefix}facet >= 0", name=f"{prefix}facet"),
        CheckConstraint(f"{valid_from} <= {valid_to} AND {valid_from} < 'infinity'", name=f"{prefix}validity"),
        CheckConstraint(
            f"{valid_from} = '-infinity' OR {prefix}valid_from_basis IS NOT NULL", name=f"{prefix}start_basis"
        ),
    )


def in_owners_slot(name: str, *compared: tuple[str, str], using: str, where: str) -> ExcludeConstraint:
    """Excludes two rows of one owner's slot and facet; checked at commit, so that a plan may write in any order."""
    return ExcludeConstraint(
        *((column, "=") for column in OWNERS_SLOT),
        *((text(column) if "(" in column else column, operator) for column, operator in compared),
        using=using,
        name=name,
        where=text(where),
        deferrable=True,
        initially="DEFERRED",
    )


relationships = team_table(
    "relationships",
    required("relationship_id", Uuid),
    required("version", Integer),
    required("owner_id", Uuid),
    required("subject_id", Uuid),
    required("predicate", Text),
    required("scope", Text),
    *object_and_key(),
    *member_of("polarity", Polarity),
    *row_state(),
    required("record", Boolean, "of a system of record"),
    required("slot_exclusive", Boolean, "a cardinality-one state: two values may not be in force at once"),
    required("event", Boolean, "of an event: its contradiction is what is denied of the same start"),
    required("first_recorded_at", INSTANT),
    *ledgered(),
    CheckConstraint("version >= 1", name="version"),
    CheckConstraint(f"octet_length(scope) <= {SCOPE_MAX_BYTES}", name="scope"),
    refers(["owner_id"], "profiles", ["profile_id"]),
    refers(["subject_id"], "entities", ["entity_id"]),
    refers(["object_entity_id"], "entities", ["entity_id"]),
    refers(["predicate"], "predicates"),
    in_owners_slot(
        "relationships_one_value_in_force_excl",
        ("tstzrange(valid_from, valid_to)", "&&"),
        using="gist",
        where=f"slot_exclusive AND polarity = '+' AND {SETTLED}",
    ),
    in_owners_slot(
        "relationships_opposite_polarity_excl",
        ("object_key", "="),
        ("polarity", "<>"),
        ("tstzrange(valid_from, valid_to)", "&&"),
        using="gist",
        where=f"NOT event AND {SETTLED}",
    ),
    in_owners_slot(
        "relationships_denied_event_excl",
        ("object_key", "="),
        ("polarity", "<>"),
        ("valid_from", "="),
        using="gist",
        where=f"event AND valid_from < valid_to AND {SETTLED}",
    ),
    in_owners_slot(
        "relationships_one_row_per_start_excl",
        ("object_key", "="),
        ("polarity", "="),
        ("valid_from", "="),
        using="btree",
        where=f"valid_from < valid_to AND {SETTLED}",
    ),
    index(
        "relationships_slot_idx",
        "subject_id",
        "predicate",
        "scope",
        serves="all owners' rows of a slot: placement, cases; foreign key to entities",
    ),
    index(
        "relationships_object_entity_id_idx",
        "object_entity_id",
        serves="rows that point at an entity: entity branch of recall; foreign key to entities",
        where="object_entity_id IS NOT NULL",
    ),
    index("relationships_owner_id_idx", "owner_id", serves="a profile's own rows; foreign key to profiles"),
    index(
        "relationships_predicate_idx",
        "predicate",
        serves="rows of a predicate after a registry change; foreign key to predicates",
    ),
    key=("relationship_id",),
    comment="The current version of one owner's episode.",
)

relationships_history = history_of(
    relationships,
    refers(
        ["relationship_id", "version", "status", "tier", "facet", "valid_from", "valid_to"],
        "transitions",
        [
            "relationship_id",
            "version",
            "resulting_status",
            "resulting_tier",
            "resulting_facet",
            "resulting_valid_from",
            "resulting_valid_to",
        ],
        deferred=True,
        name="relationships_history_transition_fkey",
    ),
    numbered_by="version",
)

carriages = team_table(
    "carriages",
    required("statement_id", Uuid),
    required("relationship_id", Uuid),
    *ledgered(),
    refers(["statement_id"], "observations", ["observation_id"]),
    refers(["relationship_id"], "relationships", deferred=True),
    index(
        "carriages_relationship_id_idx",
        "relationship_id",
        serves="statements that a row carries or carried; foreign key to relationships",
    ),
    key=("statement_id", "revision"),
    comment="From its revision on the statement is carried by this row; append-only, the last one counts.",
)

supports = team_table(
    "supports",
    required("support_id", Uuid),
    required("relationship_id", Uuid),
    required("statement_id", Uuid),
    required("fragment_id", Uuid),
    required("span_starts", ARRAY(Integer), "code points; one start and one end per cited passage"),
    required("span_ends", ARRAY(Integer), "exclusive"),
    optional("adopted_from_fragment_id", Uuid),
    required("near_duplicate_fragment_ids", UUIDS, "fragments that spoke in the slot before with nearly the same text"),
    optional("evidence_from", INSTANT, "the whole interval that a verified start bound names, with the next one"),
    optional("evidence_to", INSTANT),
    required("evidence_verified", Boolean),
    *ledgered(),
    CheckConstraint("cardinality(span_starts) = cardinality(span_ends)", name="spans"),
    CheckConstraint(
        "(evidence_from IS NULL) = (evidence_to IS NULL) AND evidence_from < evidence_to", name="evidence_time"
    ),
    refers(["relationship_id"], "relationships", deferred=True),
    refers(["statement_id"], "observations", ["observation_id"]),
    refers(["fragment_id"], "evidence_fragments"),
    refers(["adopted_from_fragment_id"], "evidence_fragments", ["fragment_id"]),
    index(
        "supports_relationship_id_idx",
        "relationship_id",
        serves="supports of a row: tiers, witnesses, trace; foreign key to relationships",
    ),
    index(
        "supports_statement_id_idx",
        "statement_id",
        serves="whether a statement has an effective support; foreign key to observations",
    ),
    index(
        "supports_fragment_id_idx",
        "fragment_id",
        serves="what a fragment makes eligible: every branch of recall; foreign key to evidence_fragments",
    ),
    index(
        "supports_adopted_from_fragment_id_idx",
        "adopted_from_fragment_id",
        serves="who adopted a fragment; foreign key to evidence_fragments",
        where="adopted_from_fragment_id IS NOT NULL",
    ),
    key=("support_id",),
    comment="Immutable link from a fragment's passages to the relationship that they carry.",
)

support_decisions = team_table(
    "support_decisions",
    required("support_id", Uuid),
    *member_of("kind", SupportDecisionKind),
    *member_of("authority", Authority),
    required("granted_by_key", Boolean, "the key's own permission granted it: no registry change takes it away"),
    required("reason", Text),
    *acted_by(),
    *ledgered(),
    refers(["support_id"], "supports"),
    key=("support_id", "revision"),
    comment="Append-only switch of a support, with the authority granted; the last one counts.",
)
