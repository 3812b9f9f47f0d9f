"""Wire enums and domain enums, bridged by the names of their values.

No table of values is written twice: a pair that does not match name by name is refused when this module is loaded.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Generic, TypeVar

from corrigenda.conflict.v1 import auto_resolution_pb2, case_explanation_pb2, conflict_case_pb2, review_item_pb2
from corrigenda.ingest.v1 import placement_pb2
from corrigenda.options.v1 import key_scope_pb2
from corrigenda.recall.v1 import result_pb2, source_history_pb2, trace_pb2
from corrigenda.type.v1 import (
    actor_pb2,
    decision_pb2,
    evidence_pb2,
    object_pb2,
    predicate_pb2,
    relationship_pb2,
    time_pb2,
)

from corrigenda_core.domain.actors import ActorKind, KeyScope
from corrigenda_core.domain.cases import CaseAction, CaseKind, CaseStatus
from corrigenda_core.domain.changes import CaseEffect, OutcomeKind
from corrigenda_core.domain.evidence import Authority, ScanVerdict, SourceType, SupportDecisionKind
from corrigenda_core.domain.explanations import Relation
from corrigenda_core.domain.fates import Fate
from corrigenda_core.domain.items import ItemKind, ItemStatus
from corrigenda_core.domain.judging import Verdict
from corrigenda_core.domain.objects import Polarity, ValueType
from corrigenda_core.domain.predicates import (
    Cardinality,
    PredicateLifecycle,
    RelationshipKind,
    SameMomentPolicy,
    StartGranularity,
    SupersessionBasis,
)
from corrigenda_core.domain.relationships import ReferenceKind, Status, Tier
from corrigenda_core.domain.resolutions import DecisionKind
from corrigenda_core.domain.results import Degradation, Mark
from corrigenda_core.domain.snapshots import ExclusionReason, Outcome
from corrigenda_core.domain.time import Side, TimeBasis
from corrigenda_core.domain.verification import Modality, VerificationVerdict
from corrigenda_core.policy.ranking import Branch

if TYPE_CHECKING:
    from google.protobuf.internal.enum_type_wrapper import _EnumTypeWrapper

_UNSPECIFIED = "UNSPECIFIED"

Wire = TypeVar("Wire", bound=int)
Domain = TypeVar("Domain", bound=StrEnum)


class EnumBridge(Generic[Wire, Domain]):
    """Two enums whose values have the same names, the wire's with a prefix.

    The wire's *unspecified* stands for ``unspecified``, or for ``None`` where that is not given.
    """

    def __init__(
        self,
        wire: _EnumTypeWrapper[Wire],
        domain: type[Domain],
        *,
        unspecified: Domain | None = None,
    ) -> None:
        numbers = dict(wire.items())
        zero = next(name for name, number in numbers.items() if number == 0)
        prefix = zero.removesuffix(_UNSPECIFIED)
        self._unspecified = unspecified
        self._to_wire: dict[Domain | None, Wire] = {unspecified: numbers.pop(zero)}
        named = {name.removeprefix(prefix): number for name, number in numbers.items()}
        members = {member.name: member for member in domain if member is not unspecified}
        if named.keys() != members.keys():
            raise ValueError(f"{prefix}* and {domain.__name__} differ: {sorted(named.keys() ^ members.keys())}")
        self._to_wire |= {member: named[name] for name, member in members.items()}
        self._to_domain = {number: member for member, number in self._to_wire.items()}

    def to_wire(self, value: Domain | None) -> Wire:
        """The wire value; ``None`` is *unspecified*.

        Raises:
            KeyError: for ``None``, if *unspecified* stands for a value.
        """
        return self._to_wire[value]

    def to_domain(self, number: Wire) -> Domain:
        """The domain value.

        Raises:
            ValueError: for *unspecified*, unless that stands for a value, and for an unknown number; validation
                refuses both before.
        """
        value = self._to_domain.get(number)
        if value is None:
            raise ValueError(f"{number} stands for no value")
        return value

    def to_domain_or(self, number: Wire, default: Domain) -> Domain:
        """The domain value, or ``default`` for *unspecified*."""
        return default if number == 0 and self._unspecified is None else self.to_domain(number)


ACTOR_KIND = EnumBridge(actor_pb2.ActorKind, ActorKind)
AUTHORITY = EnumBridge(evidence_pb2.Authority, Authority)
BOUND_SIDE = EnumBridge(time_pb2.BoundSide, Side)
CARDINALITY = EnumBridge(predicate_pb2.Cardinality, Cardinality)
CASE_ACTION = EnumBridge(conflict_case_pb2.CaseAction, CaseAction)
CASE_KIND = EnumBridge(conflict_case_pb2.CaseKind, CaseKind)
CASE_OUTCOME = EnumBridge(case_explanation_pb2.CaseOutcome, Outcome)
CASE_STATUS = EnumBridge(conflict_case_pb2.CaseStatus, CaseStatus)
CONDITION_RELATION = EnumBridge(case_explanation_pb2.ConditionRelation, Relation)
CONFLICT_EFFECT = EnumBridge(placement_pb2.ConflictEffect, CaseEffect, unspecified=CaseEffect.NONE)
DECISION_KIND = EnumBridge(decision_pb2.DecisionKind, DecisionKind)
DEGRADATION = EnumBridge(result_pb2.Degradation, Degradation)
EXCLUSION_REASON = EnumBridge(case_explanation_pb2.ExclusionReason, ExclusionReason)
FATE = EnumBridge(source_history_pb2.Fate, Fate)
ITEM_KIND = EnumBridge(review_item_pb2.ItemKind, ItemKind)
ITEM_STATUS = EnumBridge(review_item_pb2.ItemStatus, ItemStatus)
JUDGE_VERDICT = EnumBridge(auto_resolution_pb2.JudgeVerdict, Verdict)
KEY_SCOPE = EnumBridge(key_scope_pb2.KeyScope, KeyScope)
MODALITY = EnumBridge(relationship_pb2.Modality, Modality)
OUTCOME = EnumBridge(placement_pb2.Outcome, OutcomeKind)
PATH_MARK = EnumBridge(result_pb2.PathMark, Mark)
POLARITY = EnumBridge(relationship_pb2.Polarity, Polarity)
PREDICATE_LIFECYCLE = EnumBridge(predicate_pb2.PredicateLifecycle, PredicateLifecycle)
REFERENCE_KIND = EnumBridge(relationship_pb2.ReferenceKind, ReferenceKind)
RELATIONSHIP_KIND = EnumBridge(predicate_pb2.RelationshipKind, RelationshipKind)
RELATIONSHIP_STATUS = EnumBridge(relationship_pb2.RelationshipStatus, Status)
SAME_MOMENT_POLICY = EnumBridge(predicate_pb2.SameMomentPolicy, SameMomentPolicy)
SCAN_VERDICT = EnumBridge(evidence_pb2.ScanVerdict, ScanVerdict)
SEARCH_BRANCH = EnumBridge(result_pb2.SearchBranch, Branch)
SOURCE_TYPE = EnumBridge(evidence_pb2.SourceType, SourceType)
START_GRANULARITY = EnumBridge(predicate_pb2.StartGranularity, StartGranularity)
SUPERSESSION_BASIS = EnumBridge(predicate_pb2.SupersessionBasis, SupersessionBasis)
SUPPORT_DECISION_KIND = EnumBridge(trace_pb2.SupportDecisionKind, SupportDecisionKind)
TIER = EnumBridge(relationship_pb2.Tier, Tier)
TIME_BASIS = EnumBridge(time_pb2.TimeBasis, TimeBasis)
VALUE_TYPE = EnumBridge(object_pb2.ValueType, ValueType)
VERDICT = EnumBridge(relationship_pb2.Verdict, VerificationVerdict)
