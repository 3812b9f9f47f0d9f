"""One question before the judge: what is read of it, what the judge says, and the commit of what that is worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from corrigenda.conflict.v1 import auto_resolution_pb2
from corrigenda_core.deciding import Decided, Deciding, OwnerDecisions, nothing_beside, team_settings
from corrigenda_core.domain.actors import Actor, ActorKind, Caller
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import IdempotencyKey, IdRange, ItemId
from corrigenda_core.domain.items import ReviewItem
from corrigenda_core.domain.judging import Judgement, JudgeQuestion
from corrigenda_core.domain.slots import PlanContext
from corrigenda_core.domain.time import Instant
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.decision_store import (
    SlotState,
    SlotStateQueries,
    item_by_id,
    item_in,
    slot_of_item,
    slots_of,
)
from corrigenda_core.persistence.idempotency import IdempotencyRequest, find_response, replay, stored_response
from corrigenda_core.persistence.ingest_store import team_policy_of
from corrigenda_core.persistence.judge_store import judge_question, look_of, looks_at_item
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.policy.judging import NotAsked, decide_asking, plan_judgement
from corrigenda_core.policy.resolution import may_answer_item
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.providers.judge_validation import JudgeUnavailable, ValidatedJudge

from corrigenda_conflict.judging_responses import judged_message, not_asked_message, refused_message, skipped_message
from corrigenda_conflict.use_cases.resolve_conflict import may_ask_about

Judged = auto_resolution_pb2.AutoResolvedItem
Idempotent = IdempotencyRequest[Judged]

_REFUSED = frozenset(
    {
        Reason.STALE_VERSION,
        Reason.ITEM_NOT_PENDING,
        Reason.SYSTEM_OF_RECORD,
        Reason.START_NEEDED,
        Reason.NOT_IN_CONFLICT,
        Reason.INVALID_FIELD,
    }
)
"""What can be wrong with one decision; everything else is wrong with the service, and ends the run."""


class _LookedMeanwhile(Exception):
    """Another run recorded a look at the same version while this one's judge looked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingTerms:
    """On which terms a judge is asked and believed."""

    minimum_age: timedelta
    quiet_period: timedelta
    key: IdempotencyKey
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A question that the judge is asked, with the state that it was made from and the commit that it would be."""

    item: ReviewItem
    question: JudgeQuestion
    state: SlotState
    context: PlanContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """Takes the questions of a caller to the judge, one at a time; see `judged`."""

    reader: ReadRunner
    decisions: OwnerDecisions
    judge: ValidatedJudge
    new_ids: Callable[[], IdRange]

    async def judged(
        self, caller: Caller, item_id: ItemId, terms: JudgingTerms, idempotency: Idempotent, deadline: Deadline
    ) -> Judged:
        """What came of one question; what was decided about it under this key before is answered again.

        The judge is asked outside any transaction. What it says is carried out on the version of the item that it was
        asked about, or not at all; nor is it if another run has recorded its look at that version meanwhile.

        Raises:
            Refusal: of the service itself; nothing was stored about this question then.
        """
        asked = await self._asked(caller, item_id, terms, idempotency, deadline)
        if not isinstance(asked, _Asked):
            return asked
        judgement = await self.judge.ask(asked.question, deadline)
        if isinstance(judgement, JudgeUnavailable):
            return skipped_message(asked.item, judgement)
        try:
            if terms.dry_run:
                changes = _planned(asked.state, asked.context, asked.item, judgement, terms)
                decided = Decided(state=asked.state, changes=changes, moment=asked.context.moment)
                return judged_message(asked.item, judgement, decided, recorded=False)
            return await self._committed(caller, asked.item, judgement, terms, idempotency, deadline)
        except _LookedMeanwhile:
            return refused_message(asked.item, judgement, NotAsked.ASKED_BEFORE)
        except Refusal as refusal:
            if refusal.reason not in _REFUSED:
                raise
            return refused_message(asked.item, judgement, refusal.reason)

    async def _asked(
        self, caller: Caller, item_id: ItemId, terms: JudgingTerms, idempotency: Idempotent, deadline: Deadline
    ) -> _Asked | Judged:
        async def read(transaction: ReadTransaction) -> _Asked | Judged:
            if stored := stored_response(transaction.prefetched["find_response"]):
                return replay(idempotency, stored)
            rows = transaction.prefetched["slot_of_item"]
            may_ask_about(caller, item_id, rows)
            (slot,) = slots_of(rows)
            more = [item_by_id(caller.team_id, item_id), looks_at_item(caller.team_id, item_id)]
            look = SlotStateQueries(team_id=caller.team_id, slot=slot, more=more)
            queries = look.queries()
            found = await transaction.fetch_all(*queries)
            state = look.state({query.name: rows for query, rows in zip(queries, found, strict=True)})
            item, moment = item_in(state), transaction.reading.next_moment()
            reason = _not_asked(state, item, terms, moment.at)
            if reason is not None:
                return not_asked_message(item, reason)
            return _Asked(
                item=item,
                question=await judge_question(transaction, state.view, item),
                state=state,
                context=PlanContext(
                    moment=moment,
                    ids=self.new_ids(),
                    actor=judge_of(caller),
                    policy=team_policy_of(*transaction.prefetched["team_settings"]),
                ),
            )

        prefetch = [
            find_response(caller.team_id, caller.profile_id, idempotency.key),
            slot_of_item(caller.team_id, item_id),
            team_settings(caller.team_id, caller.profile_id),
        ]
        return await self.reader.run(caller.team_id, read, prefetch=prefetch, deadline=deadline)

    async def _committed(
        self,
        caller: Caller,
        item: ReviewItem,
        judgement: Judgement,
        terms: JudgingTerms,
        idempotency: Idempotent,
        deadline: Deadline,
    ) -> Judged:
        def plan(state: SlotState, context: PlanContext, _: None) -> Changes:
            current = item_in(state)
            may_answer_item(context, current, item.version)
            if _not_asked(state, current, terms, context.moment.at) is NotAsked.ASKED_BEFORE:
                raise _LookedMeanwhile
            return _planned(state, context, item, judgement, terms)

        def present(decided: Sequence[Decided], _: None) -> Judged:
            return judged_message(item, judgement, decided[0], recorded=True)

        def check(rows: Sequence[Row]) -> None:
            may_ask_about(caller, item.item_id, rows)

        committed = await self.decisions.commit(
            caller,
            Deciding(
                change_kind="auto_resolve",
                actor=judge_of(caller),
                slots=slot_of_item(caller.team_id, item.item_id),
                check=check,
                key=terms.key,
                of_slot=lambda _: [
                    item_by_id(caller.team_id, item.item_id),
                    looks_at_item(caller.team_id, item.item_id),
                ],
                beside=nothing_beside,
                plan=plan,
                present=present,
            ),
            idempotency=idempotency,
            deadline=deadline,
        )
        return committed.value


def judge_of(caller: Caller) -> Actor:
    """The judge as the actor of what it decides in the caller's queue."""
    return Actor(kind=ActorKind.JUDGE, profile_id=caller.profile_id)


def _not_asked(state: SlotState, item: ReviewItem, terms: JudgingTerms, now: Instant) -> NotAsked | None:
    return decide_asking(
        state.view,
        item,
        [look_of(row) for row in state.answers["looks_at_item"]],
        now,
        minimum_age=terms.minimum_age,
        quiet_period=terms.quiet_period,
    )


def _planned(
    state: SlotState, context: PlanContext, item: ReviewItem, judgement: Judgement, terms: JudgingTerms
) -> Changes:
    return plan_judgement(state.view, context, item, judgement, minimum_age=terms.minimum_age)
