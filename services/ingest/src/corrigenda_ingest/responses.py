"""Answers of the ingest service as messages: what became of a submission, with names beside ids."""

from __future__ import annotations

from collections.abc import Sequence

from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2
from corrigenda.type.v1 import actor_pb2, object_pb2, relationship_pb2, time_pb2
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.changes import CaseEffect
from corrigenda_core.domain.entities import EntityName
from corrigenda_core.domain.ids import EntityId, FragmentId
from corrigenda_core.domain.items import ReviewItem
from corrigenda_core.domain.predicates import Predicate
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.persistence.ingest_store import SubmissionFacts
from corrigenda_core.ports.providers import CitedBound
from corrigenda_core.rpc.convert import timestamp_of, timestamp_or_none
from corrigenda_core.rpc.enums import (
    AUTHORITY,
    BOUND_SIDE,
    CARDINALITY,
    CONFLICT_EFFECT,
    ITEM_KIND,
    ITEM_STATUS,
    OUTCOME,
    REFERENCE_KIND,
    RELATIONSHIP_KIND,
    SAME_MOMENT_POLICY,
    SCAN_VERDICT,
    SOURCE_TYPE,
    START_GRANULARITY,
    SUPERSESSION_BASIS,
    VERDICT,
)
from corrigenda_core.rpc.relationship_messages import entity_summary, relationship_message

from corrigenda_ingest.submission import EntityAnswer, FragmentAnswer, PlannedSubmission, RelationshipAnswer
from corrigenda_ingest.verification_tokens import IssuedToken

OPPOSING_SHOWN = 10
CANDIDATES_SHOWN = 10
MERGED_SHOWN = 50


class PlacementMessages:
    """Makes the message of one planned submission."""

    def __init__(self, caller: Caller, planned: PlannedSubmission, facts: SubmissionFacts) -> None:
        self._planned = planned
        self._author = actor_pb2.ProfileSummary(profile_id=caller.profile_id, name=facts.profile_name)
        self._names: dict[EntityId, EntityName] = dict(facts.names)
        for one in planned.entities:
            if one.entity_id is not None:
                self._names.setdefault(one.entity_id, EntityName(entity_id=one.entity_id, kind=one.kind, name=one.name))

    def response(self) -> ingest_service_pb2.RememberResponse:
        """The answer of Remember."""
        last = self._planned.revisions[-1].moment
        return ingest_service_pb2.RememberResponse(
            placement=self.placement(), revision=last.revision, resolution=self._resolution()
        )

    def preflight(self, token: IssuedToken | None, revision: int) -> ingest_service_pb2.PreflightRememberResponse:
        """The answer of PreflightRemember on the state of a revision."""
        return ingest_service_pb2.PreflightRememberResponse(
            placement=self.placement(),
            verification_token="" if token is None else token.token,
            verification_expires_at=timestamp_or_none(None if token is None else token.expires_at),
            revision=revision,
            resolution=self._resolution(),
        )

    def _resolution(self) -> placement_pb2.PlacementResolution | None:
        decided = self._planned.resolution
        if decided is None:
            return None
        return placement_pb2.PlacementResolution(
            decision_id=decided.decision_id,
            item_id=decided.item.item_id,
            item_version=decided.item.version,
            item_status=ITEM_STATUS.to_wire(decided.item.status),
            kept_relationship_id=decided.kept_id,
            merged_relationship_ids=decided.merged_ids[:MERGED_SHOWN],
            merged_total=len(decided.merged_ids),
            merged_truncated=len(decided.merged_ids) > MERGED_SHOWN,
        )

    def placement(self) -> placement_pb2.Placement:
        """What became of everything that was planned."""
        planned = self._planned
        first = planned.revisions[0].moment
        return placement_pb2.Placement(
            ingest_id=planned.ingest_id,
            author=self._author,
            revision=first.revision,
            recorded_at=timestamp_of(first.at),
            fragments=[self._fragment(one) for one in planned.fragments],
            entities=[self._entity(one) for one in planned.entities],
            relationships=[self._relationship(one) for one in planned.answers],
            sources=[
                placement_pb2.SourcePlacement(
                    source_key=one.state.source_key,
                    current_revision=one.state.current_revision,
                    prior_revision=one.state.prior_revision or "",
                    activated=one.is_new,
                )
                for one in planned.sources
            ],
            retired_fragments=sum(len(one.retired) for one in planned.revisions),
            changed_relationships=sum(
                len(change.changes.relationships) for one in planned.revisions for change in one.beside
            ),
        )

    def _fragment(self, one: FragmentAnswer) -> placement_pb2.FragmentPlacement:
        return placement_pb2.FragmentPlacement(
            evidence_index=one.index,
            fragment_id=one.fragment_id,
            disposition=placement_pb2.DISPOSITION_STORED if one.is_new else placement_pb2.DISPOSITION_DUPLICATE,
            scan_verdict=SCAN_VERDICT.to_wire(one.scan.verdict),
            scan_findings=[f"{finding.family}: {finding.rule}" for finding in one.scan.findings],
            source_type=SOURCE_TYPE.to_wire(one.source_type),
            notes=[*one.notes, *(["extractor_unavailable"] if self._planned.prepared.given.extractor_failed else [])],
            item=self.item(one.item),
        )

    def _entity(self, one: EntityAnswer) -> placement_pb2.EntityPlacement:
        resolution = placement_pb2.ENTITY_RESOLUTION_REUSED
        if one.entity_id is None:
            resolution = placement_pb2.ENTITY_RESOLUTION_ASKED
        elif one.created:
            resolution = placement_pb2.ENTITY_RESOLUTION_CREATED
        elif one.known:
            resolution = placement_pb2.ENTITY_RESOLUTION_KNOWN
        return placement_pb2.EntityPlacement(
            ref=one.ref,
            entity=None if one.entity_id is None else self._summary(one.entity_id),
            resolution=resolution,
            item=self.item(one.item, candidates=one.candidates),
        )

    def _relationship(self, one: RelationshipAnswer) -> placement_pb2.RelationshipPlacement:
        finding = one.finding
        return placement_pb2.RelationshipPlacement(
            proposal_id=one.proposal_id,
            observation_id=one.observation_id,
            outcome=OUTCOME.to_wire(one.outcome),
            rule=one.rule,
            reason=one.reason,
            relationship=None if one.relationship is None else self._relationship_message(one.relationship),
            granted_authority=AUTHORITY.to_wire(one.granted_authority),
            verdict=VERDICT.to_wire(finding.verdict if finding is not None else None),
            verdict_reason=finding.reason if finding is not None else "",
            time_bounds=[self._bound(cited, one.cited_fragment_ids) for cited in one.bounds],
            opposing_relationship_ids=one.opposing[:OPPOSING_SHOWN],
            opposing_total=len(one.opposing),
            opposing_truncated=len(one.opposing) > OPPOSING_SHOWN,
            references=[
                placement_pb2.PlacementReference(
                    kind=REFERENCE_KIND.to_wire(reference.kind), relationship_id=reference.target_id
                )
                for reference in one.references
            ],
            conflict=self._conflict(one),
            item=self.item(one.item, closest=one.closest_predicates),
            actions=[placement_pb2.PLACEMENT_ACTION_RETRY_VERIFICATION] if one.retry_verification else [],
            notes=[*one.notes, *(["extracted"] if self._planned.prepared.given.extractor else [])],
            predicate_policy=None if one.predicate is None else _policy(one.predicate),
        )

    def _conflict(self, one: RelationshipAnswer) -> placement_pb2.PlacementConflict | None:
        if one.case_effect is CaseEffect.NONE:
            return None
        return placement_pb2.PlacementConflict(
            effect=CONFLICT_EFFECT.to_wire(one.case_effect),
            conflict_id=one.conflict_id or "",
            version=one.conflict_version,
            review_due_at=timestamp_or_none(one.review_due_at),
        )

    def item(
        self, item: ReviewItem | None, *, closest: Sequence[str] = (), candidates: Sequence[EntityId] = ()
    ) -> placement_pb2.PlacementItem | None:
        """A question to an owner."""
        if item is None:
            return None
        return placement_pb2.PlacementItem(
            item_id=item.item_id,
            kind=ITEM_KIND.to_wire(item.kind),
            version=item.version,
            status=ITEM_STATUS.to_wire(item.status),
            reason=item.reason,
            closest_predicates=closest,
            candidates=[self._summary(one) for one in candidates[:CANDIDATES_SHOWN]],
            candidates_total=len(candidates),
            candidates_truncated=len(candidates) > CANDIDATES_SHOWN,
        )

    def _bound(self, cited: CitedBound, fragment_ids: Sequence[FragmentId]) -> time_pb2.TimeBound:
        bound = cited.bound
        fragment_ids = fragment_ids or [fragment.fragment_id for fragment in self._planned.fragments]
        return time_pb2.TimeBound(
            side=BOUND_SIDE.to_wire(bound.side),
            whole_from=timestamp_of(bound.whole.start),
            whole_to=timestamp_of(bound.whole.end),
            at=timestamp_of(bound.at),
            span=time_pb2.FragmentSpan(
                fragment_id=fragment_ids[cited.evidence_index],
                start=bound.span.start,
                end=bound.span.end,
            ),
        )

    def _relationship_message(self, row: Relationship) -> relationship_pb2.Relationship:
        return relationship_message(row, owner=self._author, names=self._names)

    def _summary(self, entity_id: EntityId) -> object_pb2.EntitySummary:
        return entity_summary(entity_id, self._names)


def _policy(predicate: Predicate) -> placement_pb2.PredicatePolicy:
    return placement_pb2.PredicatePolicy(
        predicate=predicate.key,
        version=predicate.version,
        relationship_kind=RELATIONSHIP_KIND.to_wire(predicate.kind),
        current_cardinality=CARDINALITY.to_wire(predicate.cardinality),
        supersession_basis=SUPERSESSION_BASIS.to_wire(predicate.basis),
        same_moment_policy=SAME_MOMENT_POLICY.to_wire(predicate.same_moment),
        start_granularity=START_GRANULARITY.to_wire(predicate.granularity),
    )
