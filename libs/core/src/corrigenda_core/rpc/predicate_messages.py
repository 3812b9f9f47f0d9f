"""Predicates as messages."""

from __future__ import annotations

from corrigenda.type.v1 import predicate_pb2

from corrigenda_core.domain.predicates import Predicate
from corrigenda_core.rpc.enums import (
    CARDINALITY,
    PREDICATE_LIFECYCLE,
    RELATIONSHIP_KIND,
    SAME_MOMENT_POLICY,
    START_GRANULARITY,
    SUPERSESSION_BASIS,
    VALUE_TYPE,
)


def predicate_message(predicate: Predicate) -> predicate_pb2.Predicate:
    """A version of a predicate."""
    return predicate_pb2.Predicate(
        definition=predicate_pb2.PredicateDefinition(
            key=predicate.key,
            aliases=predicate.aliases,
            subject_kinds=predicate.subject_kinds,
            object_kinds=predicate.object_kinds,
            value_types=[VALUE_TYPE.to_wire(one) for one in predicate.value_types],
            unit=predicate.unit,
            relationship_kind=RELATIONSHIP_KIND.to_wire(predicate.kind),
            current_cardinality=CARDINALITY.to_wire(predicate.cardinality),
            supersession_basis=SUPERSESSION_BASIS.to_wire(predicate.basis),
            same_moment_policy=SAME_MOMENT_POLICY.to_wire(predicate.same_moment),
            start_granularity=START_GRANULARITY.to_wire(predicate.granularity),
            pii_class=predicate.pii_class,
            review_after_days=predicate.review_after_days,
        ),
        version=predicate.version,
        lifecycle=PREDICATE_LIFECYCLE.to_wire(predicate.lifecycle),
    )
