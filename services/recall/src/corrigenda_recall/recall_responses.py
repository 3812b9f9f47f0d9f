"""The answer of Recall as a message: every list with its total, every id with its name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from corrigenda.recall.v1 import recall_service_pb2, result_pb2
from corrigenda.type.v1 import actor_pb2
from corrigenda_core.domain.cases import CasePosition, ConflictCase
from corrigenda_core.domain.ids import ConflictId, ProfileId, RelationshipId
from corrigenda_core.persistence.recall_store import SideEvidence
from corrigenda_core.policy.limits import decide_limit
from corrigenda_core.policy.ranking import Ranked
from corrigenda_core.policy.result_paths import decide_touched
from corrigenda_core.rpc.case_words import case_question, position_label, position_object, position_polarity
from corrigenda_core.rpc.convert import timestamp_of, timestamp_or_none
from corrigenda_core.rpc.enums import (
    AUTHORITY,
    CASE_KIND,
    CASE_STATUS,
    DEGRADATION,
    PATH_MARK,
    POLARITY,
    SEARCH_BRANCH,
    SOURCE_TYPE,
    TIME_BASIS,
)
from corrigenda_core.rpc.relationship_messages import object_message, relationship_message

from corrigenda_recall.answer import Path, RecallAnswer, Result
from corrigenda_recall.evidence_messages import evidence_message, span_messages

PATHS_SHOWN = 20
CASES_SHOWN = 20
OWNERS_SHOWN = 10
LABELS_SHOWN = 10


class RecallMessages:
    """Makes the message of one answer; ``explain`` adds how each result came to its place."""

    def __init__(self, answer: RecallAnswer, *, explain: bool) -> None:
        self._answer = answer
        self._explain = explain
        self._live = answer.live[:CASES_SHOWN]
        self._resolved = answer.resolved[:CASES_SHOWN]
        self._ranks = {result.fragment.fragment_id: rank for rank, result in enumerate(answer.results, start=1)}

    def response(self) -> recall_service_pb2.RecallResponse:
        """The answer of Recall."""
        answer, view = self._answer, self._answer.view
        return recall_service_pb2.RecallResponse(
            results=[self._result(result) for result in answer.results],
            results_total=answer.total,
            results_truncated=answer.total > len(answer.results),
            conflicts=[self._conflict(case) for case in self._live],
            conflicts_total=len(answer.live),
            conflicts_truncated=len(answer.live) > len(self._live),
            resolved=[self._resolved_reference(case) for case in self._resolved],
            resolved_total=len(answer.resolved),
            resolved_truncated=len(answer.resolved) > len(self._resolved),
            degraded=[DEGRADATION.to_wire(one) for one in answer.degraded],
            valid_at=timestamp_of(view.valid_at),
            known_at=timestamp_or_none(view.known_at),
            revision=view.revision,
            searched_revision=answer.searched_revision,
        )

    def _result(self, result: Result) -> result_pb2.RecallResult:
        return result_pb2.RecallResult(
            rank=self._ranks[result.fragment.fragment_id],
            evidence=evidence_message(result.fragment),
            paths=[self._path(result, path) for path in result.paths[:PATHS_SHOWN]],
            paths_total=len(result.paths),
            paths_truncated=len(result.paths) > PATHS_SHOWN,
            explanation=_explanation(result.ranked) if self._explain else None,
        )

    def _path(self, result: Result, path: Path) -> result_pb2.RelationshipPath:
        row = path.relationship
        return result_pb2.RelationshipPath(
            relationship=relationship_message(row, owner=self._owner(row.owner_id), names=self._answer.names),
            granted_authority=AUTHORITY.to_wire(path.authority),
            spans=span_messages(result.fragment.fragment_id, path.spans),
            marks=[PATH_MARK.to_wire(mark) for mark in path.marks],
            conflict_ids=_ids(self._live, row.relationship_id),
            resolved_conflict_ids=_ids(self._resolved, row.relationship_id),
        )

    def _conflict(self, case: ConflictCase) -> result_pb2.RecallConflict:
        shown = case.positions[: decide_limit("positions_shown").greatest]
        return result_pb2.RecallConflict(
            conflict_id=case.conflict_id,
            question=self._question(case),
            version=case.version,
            status=CASE_STATUS.to_wire(case.status),
            review_due_at=timestamp_of(case.review_due_at),
            positions=[self._position(case, position) for position in shown],
            positions_total=len(case.positions),
            positions_truncated=len(case.positions) > len(shown),
            kind=CASE_KIND.to_wire(case.set_key.kind),
        )

    def _position(self, case: ConflictCase, position: CasePosition) -> result_pb2.RecallPosition:
        members, names = self._answer.found.members, self._answer.names
        named = position_object(case, position, members)
        owners = list(dict.fromkeys(member.owner_id for member in position.members))
        evidence = self._answer.evidence.latest.get(position.position_id, ())
        evidence_total = self._answer.evidence.totals.get(position.position_id, 0)
        return result_pb2.RecallPosition(
            position_id=position.position_id,
            label=position_label(case, position, members, names),
            object=None if named is None else object_message(named, names),
            polarity=POLARITY.to_wire(position_polarity(case, position)),
            owners=[self._owner(owner) for owner in owners[:OWNERS_SHOWN]],
            owners_total=len(owners),
            counted_groups=position.counted_groups,
            authoritative_groups=position.authoritative_groups,
            evidence=[self._side_evidence(one) for one in evidence],
            evidence_total=evidence_total,
            truncated=len(owners) > OWNERS_SHOWN or evidence_total > len(evidence),
            in_force=any(member.relationship_id in self._answer.found.in_force for member in position.members),
        )

    def _side_evidence(self, one: SideEvidence) -> result_pb2.PositionEvidence:
        return result_pb2.PositionEvidence(
            fragment_id=one.fragment_id,
            relationship_id=one.relationship_id,
            author=actor_pb2.ProfileSummary(profile_id=one.author_id, name=one.author_name),
            source_type=SOURCE_TYPE.to_wire(one.source_type),
            granted_authority=AUTHORITY.to_wire(one.authority),
            confidence=one.confidence,
            recorded_at=timestamp_of(one.recorded_at),
            rank=self._ranks.get(one.fragment_id, 0),
        )

    def _resolved_reference(self, case: ConflictCase) -> result_pb2.ResolvedReference:
        members, names = self._answer.found.members, self._answer.names
        preferred = next(side for side in case.positions if side.position_id == case.preferred_position_id)
        overruled = [side for side in case.positions if side.position_id != case.preferred_position_id]
        named = position_object(case, preferred, members)
        return result_pb2.ResolvedReference(
            conflict_id=case.conflict_id,
            question=self._question(case),
            preferred_label=position_label(case, preferred, members, names),
            preferred_object=None if named is None else object_message(named, names),
            overruled_labels=[position_label(case, side, members, names) for side in overruled[:LABELS_SHOWN]],
            overruled_total=len(overruled),
            overruled_truncated=len(overruled) > LABELS_SHOWN,
            effective_at=timestamp_or_none(case.effective_at),
            effective_time_basis=TIME_BASIS.to_wire(case.effective_time_basis),
            resolved_at=timestamp_or_none(case.resolved_at),
            resolution_reason=case.resolution_reason or "",
        )

    def _question(self, case: ConflictCase) -> str:
        return case_question(case, self._answer.found.members, self._answer.names)

    def _owner(self, profile_id: ProfileId) -> actor_pb2.ProfileSummary:
        return actor_pb2.ProfileSummary(profile_id=profile_id, name=self._answer.profiles[profile_id])


def _ids(cases: Iterable[ConflictCase], row: RelationshipId) -> list[ConflictId]:
    return [case.conflict_id for case in decide_touched(cases, {row})]


def _explanation(ranked: Ranked) -> result_pb2.RankExplanation:
    """The integers of the ranking as they are: the unit of a score means nothing, so none is rounded away."""
    adjustments: list[result_pb2.RankAdjustment] = []
    score = ranked.fused
    for (trait, per_mille), value in zip(ranked.per_mille, _values(ranked), strict=True):
        weighed = score * per_mille // 1000
        adjustments.append(
            result_pb2.RankAdjustment(reason=f"{trait}_{value}", contribution_millionths=weighed - score)
        )
        score = weighed
    return result_pb2.RankExplanation(
        branches=[
            result_pb2.BranchRank(
                branch=SEARCH_BRANCH.to_wire(share.branch), rank=share.rank, contribution_millionths=share.share
            )
            for share in ranked.shares
        ],
        fused_score_millionths=ranked.fused,
        adjustments=adjustments,
        score_millionths=ranked.score,
    )


def _values(ranked: Ranked) -> Sequence[str]:
    """The traits in the order in which the ranking weighs them."""
    traits = ranked.traits
    return (traits.tier.value, traits.authority.value, traits.currency.value, traits.standing.value)
