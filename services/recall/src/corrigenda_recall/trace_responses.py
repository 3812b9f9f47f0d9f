"""The answer of Trace as a message: the records of a page as they are stored, with names beside ids."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from corrigenda.recall.v1 import recall_service_pb2, trace_pb2
from corrigenda.type.v1 import actor_pb2, relationship_pb2, time_pb2
from corrigenda_core.domain.cases import ConflictCase
from corrigenda_core.domain.entities import EntityName
from corrigenda_core.domain.evidence import Authority, SupportDecisionKind
from corrigenda_core.domain.ids import EntityId, ProfileId, RelationshipId
from corrigenda_core.domain.objects import Polarity
from corrigenda_core.domain.relationships import ReferenceKind, Relationship, Status, Tier
from corrigenda_core.domain.time import Side
from corrigenda_core.domain.verification import Modality, VerificationVerdict
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.row_values import basis_of, is_switched_on, spans_of, validity_of
from corrigenda_core.persistence.shown_store import shown_fragment_of
from corrigenda_core.persistence.trace_store import LineageEdge
from corrigenda_core.rpc.actor_messages import actor_message
from corrigenda_core.rpc.case_words import case_question, key_label, position_label
from corrigenda_core.rpc.convert import timestamp_of, timestamp_or_none, validity_message
from corrigenda_core.rpc.enums import (
    AUTHORITY,
    BOUND_SIDE,
    CASE_STATUS,
    MODALITY,
    POLARITY,
    REFERENCE_KIND,
    RELATIONSHIP_STATUS,
    SUPPORT_DECISION_KIND,
    TIER,
    TIME_BASIS,
    VERDICT,
)
from corrigenda_core.rpc.relationship_messages import entity_summary, relationship_message

from corrigenda_recall.evidence_messages import evidence_message, span_messages
from corrigenda_recall.trace_pages import Section

OBSERVATIONS_SHOWN = 50

_SECTIONS = {section: trace_pb2.TraceSection.Value(f"TRACE_SECTION_{section.name}") for section in Section}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTrace:
    """What one page shows: rows of its sections, and whatever they name."""

    row: Relationship
    with_content: bool
    rows: Mapping[Section, Sequence[Row]]
    edges: Sequence[LineageEdge]
    lineage_truncated: bool
    related: Mapping[RelationshipId, Relationship]
    decisions: Sequence[Row]
    cases: Sequence[ConflictCase]
    members: Mapping[RelationshipId, Relationship]
    merges: Sequence[Row]
    names: Mapping[EntityId, EntityName]
    profiles: Mapping[ProfileId, str]


class TraceMessages:
    """Makes the message of one page."""

    def __init__(self, shown: ShownTrace) -> None:
        self._shown = shown

    def response(
        self, *, totals: Mapping[Section, int], left_out: Collection[Section]
    ) -> recall_service_pb2.TraceResponse:
        """The page, without its token and its revision."""
        rows = self._shown.rows
        return recall_service_pb2.TraceResponse(
            relationship=self._relationship(self._shown.row),
            sections=[
                trace_pb2.TraceSectionTotal(
                    section=_SECTIONS[section],
                    total=total,
                    left_out=section in left_out,
                    truncated=section is Section.LINEAGE and self._shown.lineage_truncated,
                )
                for section, total in totals.items()
            ],
            evidence=[
                evidence_message(shown_fragment_of(row), with_content=self._shown.with_content)
                for row in rows[Section.EVIDENCE]
            ],
            observations=[_observation(row) for row in rows[Section.OBSERVATIONS]],
            verifications=[_verification(row) for row in rows[Section.VERIFICATIONS]],
            supports=[self._support(row) for row in rows[Section.SUPPORTS]],
            transitions=[_transition(row) for row in rows[Section.TRANSITIONS]],
            references=[self._reference(row) for row in rows[Section.REFERENCES]],
            cases=[self._case(row, case) for row, case in zip(rows[Section.CASES], self._shown.cases, strict=True)],
            lineage=[self._lineage(edge) for edge in self._shown.edges],
            merged_by=[self._merge(row) for row in self._shown.merges],
        )

    def _merge(self, row: Row) -> trace_pb2.TracedMerge:
        names, profile_id = self._shown.names, row["merged_by"]
        return trace_pb2.TracedMerge(
            profile=actor_pb2.ProfileSummary(profile_id=profile_id, name=self._shown.profiles[profile_id]),
            source=entity_summary(row["source_id"], names),
            target=entity_summary(row["target_id"], names),
            revision=row["revision"],
            recorded_at=timestamp_of(row["recorded_at"]),
        )

    def _relationship(self, row: Relationship) -> relationship_pb2.Relationship:
        owner = actor_pb2.ProfileSummary(profile_id=row.owner_id, name=self._shown.profiles[row.owner_id])
        return relationship_message(row, owner=owner, names=self._shown.names)

    def _support(self, row: Row) -> trace_pb2.TracedSupport:
        decisions = [one for one in self._shown.decisions if one["support_id"] == row["support_id"]]
        total = decisions[0]["total"] if decisions else 0
        is_carried_here = row["relationship_id"] == self._shown.row.relationship_id
        return trace_pb2.TracedSupport(
            support_id=row["support_id"],
            fragment_id=row["fragment_id"],
            observation_id=row["statement_id"],
            granted_authority=AUTHORITY.to_wire(Authority(row["authority"])),
            effective=is_carried_here and is_switched_on(SupportDecisionKind(row["kind"])),
            spans=span_messages(row["fragment_id"], spans_of(row)),
            decisions=[_support_decision(one) for one in decisions],
            decisions_total=total,
            decisions_truncated=total > len(decisions),
            revision=row["revision"],
            recorded_at=timestamp_of(row["recorded_at"]),
        )

    def _reference(self, row: Row) -> trace_pb2.TracedReference:
        is_outgoing = row["source_id"] == self._shown.row.relationship_id
        other = row["target_id"] if is_outgoing else row["source_id"]
        return trace_pb2.TracedReference(
            reference_id=row["reference_id"],
            kind=REFERENCE_KIND.to_wire(ReferenceKind(row["kind"])),
            direction=(
                trace_pb2.REFERENCE_DIRECTION_OUTGOING if is_outgoing else trace_pb2.REFERENCE_DIRECTION_INCOMING
            ),
            other=self._relationship(self._shown.related[other]),
            active=row["active"],
            decision_id=row["decision_id"] or "",
            revision=row["revision"],
            recorded_at=timestamp_of(row["recorded_at"]),
        )

    def _case(self, row: Row, case: ConflictCase) -> trace_pb2.TracedCase:
        members, names = self._shown.members, self._shown.names
        taken = next((one for one in case.positions if one.position_id == row["taken_position_id"]), None)
        # Nobody stands any more on a position that the row has left: its key is all that is left of it.
        key = row["taken_position_key"]
        label = key_label(case, key, names) if taken is None else position_label(case, taken, members, names)
        return trace_pb2.TracedCase(
            conflict_id=case.conflict_id,
            question=case_question(case, members, names),
            version=case.version,
            status=CASE_STATUS.to_wire(case.status),
            position_id=row["taken_position_id"],
            position_label=label,
            preferred=row["taken_position_id"] == case.preferred_position_id,
            resolution_reason=case.resolution_reason or "",
            opened_at=timestamp_of(case.opened_at),
            closed_at=timestamp_or_none(case.resolved_at or case.dismissed_at),
        )

    def _lineage(self, edge: LineageEdge) -> trace_pb2.TracedLineage:
        row = self._shown.row if edge.further == self._shown.row.relationship_id else self._shown.related[edge.further]
        return trace_pb2.TracedLineage(
            depth=edge.depth,
            kind=REFERENCE_KIND.to_wire(edge.kind),
            source_relationship_id=edge.source_id,
            target_relationship_id=edge.target_id,
            relationship=self._relationship(row),
        )


def _observation(row: Row) -> trace_pb2.TracedObservation:
    stated = None
    if row["stated_from"] is not None or row["stated_to"] is not None:
        stated = time_pb2.Interval(
            valid_from=timestamp_or_none(row["stated_from"]), valid_to=timestamp_or_none(row["stated_to"])
        )
    return trace_pb2.TracedObservation(
        observation_id=row["observation_id"],
        ingest_id=row["ingest_id"],
        proposal_id=row["proposal_id"],
        author=actor_pb2.ProfileSummary(profile_id=row["author_id"], name=row["author_name"]),
        predicate_phrase=row["predicate_phrase"],
        subject_phrase=row["subject_phrase"],
        object_phrase=row["object_phrase"],
        polarity=POLARITY.to_wire(Polarity(row["polarity"])),
        modality=MODALITY.to_wire(Modality(row["modality"])),
        scope=row["scope"],
        stated_validity=stated,
        spans=[time_pb2.FragmentSpan(**span) for span in row["spans"]],
        comment=row["comment"],
        correction_target_id=row["correction_target_id"] or "",
        conflict_id=row["conflict_id"] or "",
        revision=row["revision"],
        recorded_at=timestamp_of(row["recorded_at"]),
    )


def _verification(row: Row) -> trace_pb2.TracedVerification:
    return trace_pb2.TracedVerification(
        verification_id=row["verification_id"],
        observation_id=row["observation_id"],
        verdict=VERDICT.to_wire(VerificationVerdict(row["verdict"])),
        reason=row["reason"],
        verifier=row["verifier"],
        time_bounds=[
            time_pb2.TimeBound(
                side=BOUND_SIDE.to_wire(Side(bound["side"])),
                whole_from=timestamp_of(datetime.fromisoformat(bound["from"])),
                whole_to=timestamp_of(datetime.fromisoformat(bound["to"])),
                at=timestamp_of(datetime.fromisoformat(bound["at"])),
                span=time_pb2.FragmentSpan(fragment_id=bound["fragment_id"], start=bound["start"], end=bound["end"]),
            )
            for bound in row["bounds"]
        ],
        revision=row["revision"],
        recorded_at=timestamp_of(row["recorded_at"]),
    )


def _support_decision(row: Row) -> trace_pb2.TracedSupportDecision:
    return trace_pb2.TracedSupportDecision(
        kind=SUPPORT_DECISION_KIND.to_wire(SupportDecisionKind(row["kind"])),
        authority=AUTHORITY.to_wire(Authority(row["authority"])),
        reason=row["reason"],
        actor=actor_message(row),
        revision=row["revision"],
        recorded_at=timestamp_of(row["recorded_at"]),
    )


def _transition(row: Row) -> trace_pb2.TracedTransition:
    closing = None
    if row["closing_at"] is not None:
        statements = row["closing_statement_ids"]
        closing = trace_pb2.TracedClosing(
            at=timestamp_of(row["closing_at"]),
            observation_ids=statements[:OBSERVATIONS_SHOWN],
            observations_total=len(statements),
            observations_truncated=len(statements) > OBSERVATIONS_SHOWN,
            conditional=row["closing_conditional"],
        )
    return trace_pb2.TracedTransition(
        transition_id=row["transition_id"],
        version=row["version"],
        prior=None if row["prior_status"] is None else _state(row, "prior_"),
        resulting=_state(row, "resulting_"),
        actor=actor_message(row),
        reason=row["reason"],
        time_basis=TIME_BASIS.to_wire(basis_of(row["time_basis"])),
        decision_id=row["decision_id"] or "",
        conflict_id=row["conflict_id"] or "",
        idempotency_key=row["idempotency_key"] or "",
        closing=closing,
        revision=row["revision"],
        recorded_at=timestamp_of(row["recorded_at"]),
    )


def _state(row: Row, prefix: str) -> trace_pb2.TracedState:
    return trace_pb2.TracedState(
        status=RELATIONSHIP_STATUS.to_wire(Status(row[f"{prefix}status"])),
        tier=TIER.to_wire(Tier(row[f"{prefix}tier"])),
        facet=row[f"{prefix}facet"],
        validity=validity_message(
            validity_of(row, prefix),
            basis_of(row[f"{prefix}valid_from_basis"]),
            basis_of(row[f"{prefix}valid_to_basis"]),
        ),
    )
