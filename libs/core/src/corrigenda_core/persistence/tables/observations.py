"""What submissions said and what the verifier found: observations, verdicts, and the statements they became."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Column, Integer, Text, Uuid
from sqlalchemy.dialects.postgresql import JSONB

from corrigenda_core.domain.objects import Polarity, ValueType
from corrigenda_core.domain.time import TimeBasis
from corrigenda_core.domain.verification import Modality, VerificationVerdict
from corrigenda_core.persistence.tables.columns import (
    INSTANT,
    index,
    ledgered,
    member_of,
    optional,
    refers,
    required,
    team_table,
)

OBJECT_KEY_MAX_BYTES = 1280
SCOPE_MAX_BYTES = 512

VALUE_COLUMNS = ("value_type", "value_canonical", "value_unit", "value_display")


def value_object() -> tuple[Column[Any] | CheckConstraint, ...]:
    """A typed scalar as object: all of its columns or none."""
    together = " AND ".join(f"({column} IS NULL) = (value_type IS NULL)" for column in VALUE_COLUMNS[1:])
    return (
        *member_of("value_type", ValueType, nullable=True),
        *(optional(column, Text) for column in VALUE_COLUMNS[1:]),
        CheckConstraint(together, name="value"),
    )


def object_and_key() -> tuple[Column[Any] | CheckConstraint, ...]:
    """An entity or else a value as object, and the text that is equal exactly for equal objects."""
    return (
        optional("object_entity_id", Uuid),
        *value_object(),
        required("object_key", Text),
        CheckConstraint("(object_entity_id IS NULL) <> (value_type IS NULL)", name="object"),
        CheckConstraint(
            "object_key = coalesce('entity:' || CAST(object_entity_id AS text), "
            "value_type || ':' || value_unit || ':' || value_canonical)",
            name="object_key",
        ),
        # Longer keys would not fit into the index entries of the constraints that compare them.
        CheckConstraint(f"octet_length(object_key) <= {OBJECT_KEY_MAX_BYTES}", name="object_key_length"),
    )


def known_bound(side: str) -> tuple[Column[Any] | CheckConstraint, ...]:
    """A start or end known under the predicate's basis: instant, whole interval and basis, all of them or none."""
    at, whole_from, whole_to, basis = f"{side}_at", f"{side}_from", f"{side}_to", f"{side}_basis"
    together = " AND ".join(f"({column} IS NULL) = ({at} IS NULL)" for column in (whole_from, whole_to, basis))
    return (
        optional(at, INSTANT),
        optional(whole_from, INSTANT),
        optional(whole_to, INSTANT),
        *member_of(basis, TimeBasis, nullable=True),
        CheckConstraint(f"{together} AND {whole_from} < {whole_to}", name=f"{side}_bound"),
    )


observations = team_table(
    "observations",
    required("observation_id", Uuid),
    required("ingest_id", Uuid),
    required("author_id", Uuid),
    required("proposal_id", Text, "the caller's own name of the proposed relationship"),
    required("ordinal", Integer, "place in its submission, from 0"),
    required("subject_ref", Text),
    required("subject_phrase", Text),
    required("predicate_phrase", Text),
    optional("object_ref", Text),
    required("object_phrase", Text, "name of the object, or the value as written"),
    required("mentions", JSONB, "its entities as named: [{ref, name, kind, aliases, context}], the subject first"),
    optional("subject_id", Uuid, "NULL while nobody knows which entity is meant; so with the next two"),
    optional("object_entity_id", Uuid),
    optional("predicate", Text),
    optional("predicate_version", Integer),
    *value_object(),
    *member_of("polarity", Polarity),
    *member_of("modality", Modality),
    required("scope", Text, "normal form"),
    required("stated_from", INSTANT, "-infinity: not stated"),
    required("stated_to", INSTANT, "infinity: not stated"),
    required("spans", JSONB, "cited passages: [{fragment_id, start, end}], code points, end exclusive"),
    required("comment", Text),
    optional("correction_target_id", Uuid),
    optional("correction_target_version", Integer),
    optional("conflict_id", Uuid, "the case that it answers"),
    optional("conflict_version", Integer),
    *ledgered(),
    CheckConstraint("stated_from < stated_to", name="stated_validity"),
    CheckConstraint("(predicate IS NULL) = (predicate_version IS NULL)", name="predicate_version"),
    CheckConstraint("ordinal BETWEEN 0 AND 999", name="ordinal"),
    CheckConstraint("octet_length(subject_phrase) BETWEEN 1 AND 4096", name="subject_phrase"),
    refers(["ingest_id"], "ingests"),
    refers(["author_id"], "profiles", ["profile_id"]),
    refers(["subject_id"], "entities", ["entity_id"]),
    refers(["object_entity_id"], "entities", ["entity_id"]),
    index(
        "observations_ingest_id_idx",
        "ingest_id",
        "ordinal",
        serves="observations of a submission in its order; foreign key to ingests",
        is_unique=True,
    ),
    index("observations_author_id_idx", "author_id", serves="observations of a profile; foreign key to profiles"),
    index(
        "observations_subject_id_idx",
        "subject_id",
        serves="observations that may move in a split; foreign key to entities",
        where="subject_id IS NOT NULL",
    ),
    index(
        "observations_object_entity_id_idx",
        "object_entity_id",
        serves="observations that may move in a split; foreign key to entities",
        where="object_entity_id IS NOT NULL",
    ),
    key=("observation_id",),
    comment="What a submission said: immutable, whatever is decided about it later.",
)

verification_events = team_table(
    "verification_events",
    required("verification_id", Uuid),
    required("observation_id", Uuid),
    *member_of("verdict", VerificationVerdict),
    required("reason", Text),
    required("verifier", Text, "name and version"),
    required("bounds", JSONB, "time bounds found in the cited text"),
    *ledgered(),
    refers(["observation_id"], "observations"),
    index(
        "verification_events_observation_id_idx",
        "observation_id",
        "revision",
        serves="verdicts on an observation in their order; foreign key to observations",
    ),
    key=("verification_id",),
    comment="Immutable verdict on one observation.",
)

statements = team_table(
    "statements",
    required("statement_id", Uuid, "the observation"),
    required("owner_id", Uuid),
    required("subject_id", Uuid),
    required("predicate", Text),
    required("predicate_version", Integer),
    required("scope", Text),
    *object_and_key(),
    *member_of("polarity", Polarity),
    *known_bound("start"),
    *known_bound("end"),
    optional("stated_start", INSTANT, "the owner's own start, which a decision may use"),
    required("sequence", BigInteger, "order of recording in the team: 1000 * revision + ordinal of the observation"),
    required("record", Boolean, "of a system of record"),
    optional("source", Text, "the one source that its texts declare; NULL: none, or several"),
    *ledgered(),
    CheckConstraint("sequence > 0", name="sequence"),
    CheckConstraint(f"octet_length(scope) <= {SCOPE_MAX_BYTES}", name="scope"),
    refers(["statement_id"], "observations", ["observation_id"]),
    refers(["subject_id"], "entities", ["entity_id"]),
    refers(["object_entity_id"], "entities", ["entity_id"]),
    refers(["predicate"], "predicates"),
    index(
        "statements_slot_idx",
        "subject_id",
        "predicate",
        "scope",
        "owner_id",
        serves="statements of an owner's slot for the fold; foreign key to entities",
    ),
    index(
        "statements_object_entity_id_idx",
        "object_entity_id",
        serves="statements about an entity; foreign key to entities",
        where="object_entity_id IS NOT NULL",
    ),
    index("statements_predicate_idx", "predicate", serves="statements of a predicate; foreign key to predicates"),
    key=("statement_id", "revision"),
    comment="How an observation is bound to a slot; append-only, the row with the greatest revision counts.",
)

observation_bindings = team_table(
    "observation_bindings",
    required("observation_id", Uuid),
    optional("subject_id", Uuid, "NULL: still unknown, or as the observation says; so with the next two"),
    optional("object_entity_id", Uuid),
    optional("predicate", Text),
    required("given_up", Boolean, "its author rejected or replaced it before it was placed: nothing is placed from it"),
    required("decision_id", Uuid),
    *ledgered(),
    refers(["observation_id"], "observations"),
    refers(["subject_id"], "entities", ["entity_id"]),
    refers(["object_entity_id"], "entities", ["entity_id"]),
    refers(["predicate"], "predicates"),
    refers(["decision_id"], "decisions", deferred=True),
    index(
        "observation_bindings_subject_id_idx",
        "subject_id",
        serves="observations that were bound to an entity; foreign key to entities",
        where="subject_id IS NOT NULL",
    ),
    index(
        "observation_bindings_object_entity_id_idx",
        "object_entity_id",
        serves="observations that were bound to an entity; foreign key to entities",
        where="object_entity_id IS NOT NULL",
    ),
    index(
        "observation_bindings_predicate_idx",
        "predicate",
        serves="observations that were bound to a predicate; foreign key to predicates",
        where="predicate IS NOT NULL",
    ),
    index(
        "observation_bindings_decision_id_idx",
        "decision_id",
        serves="what a decision has bound; foreign key to decisions",
    ),
    key=("observation_id", "revision"),
    comment="What a decision says that a waiting observation names; append-only, the last one counts.",
)
