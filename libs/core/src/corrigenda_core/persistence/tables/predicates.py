"""Registered predicates and the phrases that mean them."""

from __future__ import annotations

from sqlalchemy import Boolean, CheckConstraint, Integer, Text

from corrigenda_core.domain.predicates import (
    Cardinality,
    PredicateLifecycle,
    RelationshipKind,
    SameMomentPolicy,
    StartGranularity,
    SupersessionBasis,
)
from corrigenda_core.persistence.tables.columns import (
    TEXTS,
    history_of,
    index,
    ledgered,
    member_of,
    optional,
    refers,
    required,
    team_table,
)

predicates = team_table(
    "predicates",
    required("predicate", Text, "the key"),
    required("version", Integer),
    required("aliases", TEXTS, "as registered; predicate_aliases holds their normal forms"),
    required("subject_kinds", TEXTS),
    required("object_kinds", TEXTS),
    required("value_types", TEXTS),
    required("unit", Text),
    *member_of("relationship_kind", RelationshipKind),
    *member_of("current_cardinality", Cardinality),
    *member_of("supersession_basis", SupersessionBasis),
    *member_of("same_moment_policy", SameMomentPolicy),
    *member_of("start_granularity", StartGranularity),
    required("pii_class", Text),
    optional("review_after_days", Integer),
    *member_of("lifecycle", PredicateLifecycle),
    *ledgered(),
    CheckConstraint("version >= 1", name="version"),
    CheckConstraint("octet_length(predicate) BETWEEN 1 AND 256", name="predicate"),
    CheckConstraint("review_after_days BETWEEN 1 AND 3660", name="review_after_days"),
    refers([], "teams"),
    key=("predicate",),
    comment="The current version of a registered predicate.",
)

predicates_history = history_of(predicates, numbered_by="version")

predicate_aliases = team_table(
    "predicate_aliases",
    required("alias", Text, "in normal form"),
    required("predicate", Text),
    required("active", Boolean, "false: a later version of the predicate no longer lists it"),
    *ledgered(),
    CheckConstraint("octet_length(alias) BETWEEN 1 AND 1024", name="alias"),
    refers(["predicate"], "predicates"),
    index("predicate_aliases_predicate_idx", "predicate", serves="aliases of a predicate; foreign key to predicates"),
    key=("alias",),
    comment="A phrase that means a predicate; no phrase means two.",
)
