"""The judge: which pairs it is asked about, what its answers are worth, and which of them act."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from enum import StrEnum
from typing import assert_never

from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.decisions import Distinction
from corrigenda_core.domain.ids import DecisionId, RelationshipId
from corrigenda_core.domain.items import ItemKind, ItemStatus, ReviewItem
from corrigenda_core.domain.judging import JudgeAnswer, Judgement, JudgeQuestion, Look, Verdict
from corrigenda_core.domain.relationships import Relationship, Status
from corrigenda_core.domain.resolutions import (
    Answer,
    DecisionKind,
    DecisionRecord,
    KeepBoth,
    KeepExisting,
    KeepNew,
    Provenance,
    Resolution,
    Same,
)
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.domain.time import Instant
from corrigenda_core.policy.resolution import may_answer_item, plan_resolution

TOO_YOUNG = "too_young"
"""Why a decisive verdict changes nothing yet; the judge is asked again when the pair is old enough."""

PROBLEM = "problem"
"""The detail of a judge's look that says why its answer does not act."""

_JUDGED_STATUSES = frozenset({Status.ACTIVE, Status.COMPETING, Status.SUPERSEDED, Status.NEEDS_REVIEW})
_AT_ANY_AGE = frozenset({Verdict.SAME, Verdict.KEEP_BOTH})


class NotAsked(StrEnum):
    """Why the judge is not asked about an item."""

    NOT_PENDING = "not_pending"
    NO_SIDES = "no_sides"
    FOR_PEOPLE = "for_people"
    SYSTEM_OF_RECORD = "system_of_record"
    DISTINCT = "distinct"
    ASKED_BEFORE = "asked_before"


def decide_asking(
    view: SlotView,
    item: ReviewItem,
    looks: Iterable[Look],
    now: Instant,
    *,
    minimum_age: timedelta,
    quiet_period: timedelta,
) -> NotAsked | None:
    """Whether the judge is asked about an item, and if not, why.

    The size of the group is taken first, whatever the age of its members: three or more are for people. A look that
    changed nothing is not repeated before the item has changed, the quiet period is over, or the pair that was too
    young has come of age. A team case is no item, so the judge never sees one.

    Args:
        view: the slot as it stands.
        item: a question to an owner.
        looks: earlier looks at it.
        now: the team's present time.
        minimum_age: how old a pair is before a verdict ends one of its sides.
        quiet_period: after how long an unsure judge is asked again.
    """
    if item.status is not ItemStatus.PENDING:
        return NotAsked.NOT_PENDING
    if item.kind is not ItemKind.RELATIONSHIP:
        return NotAsked.NO_SIDES
    sides = _rows(view, item)
    if len(sides) != 2 or any(row.status not in _JUDGED_STATUSES for row in sides):
        return NotAsked.FOR_PEOPLE
    if any(row.record for row in sides):
        return NotAsked.SYSTEM_OF_RECORD
    if _is_told_apart(view, sides[0].relationship_id, sides[1].relationship_id):
        return NotAsked.DISTINCT
    of_age = decide_pair_age(view, item, now) >= minimum_age
    for look in looks:
        if (look.record.item_id, look.record.item_version) != (item.item_id, item.version):
            continue
        waited_for_age = (PROBLEM, TOO_YOUNG) in look.record.details
        if now < look.at + quiet_period and not (waited_for_age and of_age):
            return NotAsked.ASKED_BEFORE
    return None


def decide_pair_age(view: SlotView, item: ReviewItem, now: Instant) -> timedelta:
    """How long both sides of an item have been known."""
    return now - max(row.first_recorded_at for row in _rows(view, item))


def decide_verdict(question: JudgeQuestion, answer: JudgeAnswer) -> Judgement:
    """What an answer is worth (R4.18): whatever is not a valid, decisive answer is `unsure`.

    An answer is invalid if its verdict is none of the six, if it names a side that the pair does not have, or keeps
    something else than its verdict says. Where both sides have the same known start, nothing but the texts can decide:
    without words that stand in one of them the answer is `unsure`.
    """
    if answer.verdict not in set(Verdict):
        return _unsure(answer, f"no such verdict: {answer.verdict[:40]}")
    verdict = Verdict(answer.verdict)
    side_ids = {side.relationship_id for side in question.sides}
    if answer.kept_id is not None and answer.kept_id not in side_ids:
        return _unsure(answer, "the answer names a side that does not exist")
    resolution = _resolution(verdict, question, answer)
    if resolution is None:
        if verdict in {Verdict.UNSURE, Verdict.CONTRADICTS}:
            return Judgement(verdict=verdict, answer=answer)
        return _unsure(answer, "the answer does not name the side that its verdict keeps")
    if _is_tied(question) and not _is_cited(question, answer.excerpt):
        return _unsure(answer, "equal known starts, and no cited words that decide")
    return Judgement(verdict=verdict, answer=answer, resolution=resolution)


def plan_judgement(
    view: SlotView, context: PlanContext, item: ReviewItem, judgement: Judgement, *, minimum_age: timedelta
) -> Changes:
    """What a judgement changes: a decisive one is a resolution like any other, any other one is only remembered.

    Args:
        view: the slot as it stands.
        context: the commit; its actor is the judge, for the profile in whose queue it works.
        item: the item at the version that was judged.
        judgement: what the answer is worth.
        minimum_age: how old the pair must be; `same` and `keep_both` end nothing and act at any age.

    Raises:
        Refusal: as `plan_resolution` does.
    """
    may_answer_item(context, item, item.version)
    problem = judgement.problem
    if judgement.resolution is not None:
        if judgement.verdict in _AT_ANY_AGE or decide_pair_age(view, item, context.moment.at) >= minimum_age:
            answer = Answer(
                item=item,
                expected_version=item.version,
                resolution=judgement.resolution,
                provenance=Provenance(reason=judgement.answer.reason, details=_details(judgement, problem)),
            )
            return plan_resolution(view, context, answer)
        problem = TOO_YOUNG
    unsure = judgement.verdict is not Verdict.CONTRADICTS
    record = DecisionRecord(
        decision_id=DecisionId(context.ids.nth(0)),
        kind=DecisionKind.UNSURE if unsure else DecisionKind.CONTRADICTS,
        actor=context.actor,
        item_id=item.item_id,
        item_version=item.version,
        target_ids=(*item.opposing, *item.incoming),
        reason=judgement.answer.reason,
        details=_details(judgement, problem),
    )
    return Changes(decision_records=(record,))


def _rows(view: SlotView, item: ReviewItem) -> list[Relationship]:
    sides = {*item.incoming, *item.opposing}
    return [row for row in view.rows if row.relationship_id in sides]


def _is_told_apart(view: SlotView, first: RelationshipId, second: RelationshipId) -> bool:
    rows = {statement.statement_id: statement.relationship_id for statement in view.statements}
    return any(
        {rows.get(decision.first), rows.get(decision.second)} == {first, second}
        for decision in view.decisions
        if isinstance(decision, Distinction)
    )


def _unsure(answer: JudgeAnswer, problem: str) -> Judgement:
    return Judgement(verdict=Verdict.UNSURE, answer=answer, problem=problem)


def _resolution(verdict: Verdict, question: JudgeQuestion, answer: JudgeAnswer) -> Resolution | None:
    """What a verdict says to do; ``None`` if nothing, or if it does not name what it keeps."""
    match verdict:
        case Verdict.SAME:
            return Same()
        case Verdict.KEEP_BOTH:
            return KeepBoth()
        case Verdict.KEEP_NEW:
            return None if answer.kept_id is None else KeepNew(kept_id=RelationshipId(answer.kept_id))
        case Verdict.KEEP_EXISTING:
            existing = question.opposing.relationship_id
            return KeepExisting(kept_id=existing) if answer.kept_id == existing else None
        case Verdict.CONTRADICTS | Verdict.UNSURE:
            return None
        case _:
            assert_never(verdict)


def _is_tied(question: JudgeQuestion) -> bool:
    """Whether both sides have known starts that may be the same."""
    first, second = question.incoming.start, question.opposing.start
    if first is None or second is None:
        return False
    return first.whole.start < second.whole.end and second.whole.start < first.whole.end


def _is_cited(question: JudgeQuestion, excerpt: str | None) -> bool:
    words = (excerpt or "").strip()
    return bool(words) and any(words in text for side in question.sides for text in side.excerpts)


def _details(judgement: Judgement, problem: str) -> tuple[tuple[str, str], ...]:
    answer = judgement.answer
    named = (("judge", answer.judge), ("model", answer.model), ("verdict", answer.verdict), (PROBLEM, problem))
    return tuple((name, value) for name, value in named if value)
