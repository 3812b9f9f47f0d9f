"""What came of questions before the judge, as messages."""

from __future__ import annotations

from collections import Counter

from corrigenda.conflict.v1 import auto_resolution_pb2
from corrigenda_core.deciding import Decided
from corrigenda_core.domain.errors import Reason
from corrigenda_core.domain.items import ReviewItem
from corrigenda_core.domain.judging import Judgement
from corrigenda_core.domain.resolutions import DecisionKind
from corrigenda_core.policy.judging import PROBLEM, NotAsked
from corrigenda_core.providers.judge_validation import JudgeUnavailable
from corrigenda_core.rpc.decision_messages import decision_message, effects_message
from corrigenda_core.rpc.enums import JUDGE_VERDICT

_CHANGES_NOTHING = frozenset({DecisionKind.UNSURE, DecisionKind.CONTRADICTS})


def not_asked_message(item: ReviewItem, reason: NotAsked) -> auto_resolution_pb2.AutoResolvedItem:
    """The judge was not asked."""
    return auto_resolution_pb2.AutoResolvedItem(
        item_id=item.item_id,
        item_version=item.version,
        outcome=auto_resolution_pb2.AUTO_RESOLUTION_NOT_ASKED,
        reason=reason.value,
    )


def skipped_message(item: ReviewItem, failure: JudgeUnavailable) -> auto_resolution_pb2.AutoResolvedItem:
    """The judge gave no answer."""
    return auto_resolution_pb2.AutoResolvedItem(
        item_id=item.item_id,
        item_version=item.version,
        outcome=auto_resolution_pb2.AUTO_RESOLUTION_SKIPPED,
        reason=failure.problem,
    )


def refused_message(
    item: ReviewItem, judgement: Judgement, why: Reason | NotAsked
) -> auto_resolution_pb2.AutoResolvedItem:
    """The answer could not be carried out."""
    message = _answered(item, judgement)
    message.outcome = auto_resolution_pb2.AUTO_RESOLUTION_REFUSED
    message.problem = why.value
    return message


def judged_message(
    item: ReviewItem, judgement: Judgement, decided: Decided, *, recorded: bool
) -> auto_resolution_pb2.AutoResolvedItem:
    """What the answer did or, if it is not ``recorded``, would do."""
    state, changes = decided.state, decided.changes
    (record,) = changes.decision_records
    message = _answered(item, judgement)
    message.outcome = (
        auto_resolution_pb2.AUTO_RESOLUTION_RECORDED
        if record.kind in _CHANGES_NOTHING
        else auto_resolution_pb2.AUTO_RESOLUTION_RESOLVED
    )
    message.problem = dict(record.details).get(PROBLEM, "")
    message.effects.CopyFrom(effects_message(state.view, changes, state.names, state.owner_names))
    if recorded:
        message.decision.CopyFrom(decision_message(record, decided.moment, state.owner_names))
    return message


def report_message(
    outcomes: Counter[auto_resolution_pb2.AutoResolution.ValueType], *, total: int, stopped_early: bool
) -> auto_resolution_pb2.AutoResolveReport:
    """The run in numbers."""
    return auto_resolution_pb2.AutoResolveReport(
        items_total=total,
        resolved=outcomes[auto_resolution_pb2.AUTO_RESOLUTION_RESOLVED],
        recorded=outcomes[auto_resolution_pb2.AUTO_RESOLUTION_RECORDED],
        not_asked=outcomes[auto_resolution_pb2.AUTO_RESOLUTION_NOT_ASKED],
        skipped=outcomes[auto_resolution_pb2.AUTO_RESOLUTION_SKIPPED],
        refused=outcomes[auto_resolution_pb2.AUTO_RESOLUTION_REFUSED],
        stopped_early=stopped_early,
    )


def _answered(item: ReviewItem, judgement: Judgement) -> auto_resolution_pb2.AutoResolvedItem:
    answer = judgement.answer
    return auto_resolution_pb2.AutoResolvedItem(
        item_id=item.item_id,
        item_version=item.version,
        verdict=JUDGE_VERDICT.to_wire(judgement.verdict),
        reason=answer.reason,
        judge=answer.judge,
        model=answer.model,
        kept_relationship_id=answer.kept_id or "",
    )
