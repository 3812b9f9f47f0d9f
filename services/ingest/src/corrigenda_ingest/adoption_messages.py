"""Answers of AdoptEvidence as messages."""

from __future__ import annotations

from corrigenda.ingest.v1 import adoption_pb2, ingest_service_pb2, placement_pb2
from corrigenda.type.v1 import actor_pb2, relationship_pb2
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.cases import CaseAction
from corrigenda_core.domain.changes import CaseEffect, Changes
from corrigenda_core.domain.ids import RelationshipId
from corrigenda_core.domain.slots import SlotView
from corrigenda_core.domain.sources import GrantedAuthority
from corrigenda_core.domain.time import Moment
from corrigenda_core.persistence.ingest_store import SubmissionFacts
from corrigenda_core.ports.providers import Finding
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.rpc.enums import AUTHORITY, CONFLICT_EFFECT, REFERENCE_KIND, VERDICT
from corrigenda_core.rpc.relationship_messages import relationship_message

from corrigenda_ingest.adoption_look import AdoptableText

_EFFECTS = {CaseAction.OPENED: CaseEffect.OPENS_CASE, CaseAction.JOINED: CaseEffect.JOINS_CASE}


class AdoptionMessages:
    """Makes the message of one adoption."""

    def __init__(self, caller: Caller, facts: SubmissionFacts, text: AdoptableText, finding: Finding) -> None:
        self._facts, self._text, self._finding = facts, text, finding
        self._owner = actor_pb2.ProfileSummary(profile_id=caller.profile_id, name=facts.profile_name)

    def unchanged(
        self, outcome: adoption_pb2.AdoptionOutcome.ValueType, view: SlotView, row_id: RelationshipId, revision: int
    ) -> ingest_service_pb2.AdoptEvidenceResponse:
        """The answer of an adoption that changes nothing."""
        return ingest_service_pb2.AdoptEvidenceResponse(
            adoption=self._adoption(outcome, self._row(view, row_id)), revision=revision
        )

    def adopted(
        self, after: SlotView, row_id: RelationshipId, changes: Changes, granted: GrantedAuthority, moment: Moment
    ) -> ingest_service_pb2.AdoptEvidenceResponse:
        """The answer of an adoption that ``changes`` record; ``after`` is the slot as they leave it."""
        adoption = self._adoption(adoption_pb2.ADOPTION_OUTCOME_ADOPTED, self._row(after, row_id))
        (support,) = changes.supports
        adoption.support_id = support.support_id
        adoption.granted_authority = AUTHORITY.to_wire(granted.authority)
        adoption.references.extend(
            placement_pb2.PlacementReference(
                kind=REFERENCE_KIND.to_wire(reference.kind), relationship_id=reference.target_id
            )
            for reference in changes.references
            if reference.source_id == row_id
        )
        adoption.notes.extend([granted.note] if granted.note else [])
        conflict = _conflict(changes, row_id)
        if conflict is not None:
            adoption.conflict.CopyFrom(conflict)
        return ingest_service_pb2.AdoptEvidenceResponse(adoption=adoption, revision=moment.revision)

    def _adoption(
        self, outcome: adoption_pb2.AdoptionOutcome.ValueType, row: relationship_pb2.Relationship
    ) -> adoption_pb2.Adoption:
        return adoption_pb2.Adoption(
            outcome=outcome,
            relationship=row,
            evidence_author=actor_pb2.ProfileSummary(profile_id=self._text.author, name=self._text.author_name),
            verdict=VERDICT.to_wire(self._finding.verdict),
            verdict_reason=self._finding.reason,
        )

    def _row(self, view: SlotView, row_id: RelationshipId) -> relationship_pb2.Relationship:
        row = next(row for row in view.rows if row.relationship_id == row_id)
        return relationship_message(row, owner=self._owner, names=self._facts.names)


def _conflict(changes: Changes, row_id: RelationshipId) -> placement_pb2.PlacementConflict | None:
    """The case that the adoption opened or joined."""
    for case, event in zip(changes.cases, changes.case_events, strict=True):
        effect = _EFFECTS.get(event.action)
        members = {member.relationship_id for position in case.positions for member in position.members}
        if effect is not None and row_id in members:
            return placement_pb2.PlacementConflict(
                effect=CONFLICT_EFFECT.to_wire(effect),
                conflict_id=case.conflict_id,
                version=case.version,
                review_due_at=timestamp_of(case.review_due_at),
            )
    return None
