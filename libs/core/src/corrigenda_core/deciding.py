"""Decisions of owners: the one way in which any of them becomes a commit, for every service that takes decisions.

Outside the commit only the slots are looked up that the decision is about. Everything else is read under the team's
lock, planned by a pure planner of `policy`, and written with the records, items and team cases that follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from corrigenda_core.domain.actors import Actor, ActorKind, Caller
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import IdempotencyKey, IdRange, ProfileId, TeamId
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.slots import PlanContext
from corrigenda_core.domain.time import Moment
from corrigenda_core.persistence.changes_writer import ChangesWriter
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.decision_store import SlotState, SlotStateQueries, slots_of
from corrigenda_core.persistence.idempotency import (
    IdempotencyRequest,
    find_response,
    replay,
    stored_response,
)
from corrigenda_core.persistence.ingest_store import team_policy_of
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.slot_store import CaseRowVersions
from corrigenda_core.persistence.transaction import Committed, Transaction, TransactionRunner
from corrigenda_core.ports.deadline import Deadline

T = TypeVar("T")
Beside = TypeVar("Beside")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A decision about one slot: the state that it was planned on, what it changes, and the moment of its revision."""

    state: SlotState
    changes: Changes
    moment: Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Deciding(Generic[T, Beside]):
    """What one decision needs.

    Attributes:
        change_kind: what the ledger calls it.
        actor: who decides.
        slots: rows that name the slots that it is about (`slots_of`); the same inside the commit, else it is tried
            again.
        check: refuses what those rows do not allow, such as their absence.
        key: the caller's idempotency key for the records, if it is another one than that of the stored response.
        more: what `beside` reads.
        of_slot: what `plan` reads of each slot beside its state.
        beside: writes rows of the caller's own into the first revision, and tells of them.
        plan: the pure plan for one slot; each slot has a revision of its own.
        present: makes the response of all of them.
    """

    change_kind: str
    actor: Actor
    slots: Query
    check: Callable[[Sequence[Row]], None]
    beside: Callable[[Transaction, Moment], Beside]
    plan: Callable[[SlotState, PlanContext, Beside], Changes]
    present: Callable[[Sequence[Decided], Beside], T]
    key: IdempotencyKey | None = None
    more: Sequence[Query] = ()
    of_slot: Callable[[Slot], Sequence[Query]] = lambda _: ()


def nothing_beside(_: Transaction, __: Moment) -> None:
    """For a decision that comes with nothing of its own."""


class OwnerDecisions:
    """Commits decisions; see `commit`.

    Args:
        reader: for the look at what a decision names.
        runner: for the commit.
        new_ids: draws the range of ids of one decision.
    """

    def __init__(self, *, reader: ReadRunner, runner: TransactionRunner, new_ids: Callable[[], IdRange]) -> None:
        self._reader = reader
        self._runner = runner
        self._new_ids = new_ids

    async def commit(
        self,
        caller: Caller,
        deciding: Deciding[T, Beside],
        *,
        idempotency: IdempotencyRequest[T] | None,
        deadline: Deadline,
    ) -> Committed[T]:
        """Plans and commits one decision.

        Without ``idempotency`` nothing is stored to answer a repetition with.

        Raises:
            Refusal: of ``deciding``; CONTENTION if what it is about changed between the look and the commit, and what
                every commit can have. Nothing is written then.
        """
        slots = await self._slots(caller, deciding, idempotency, deadline)
        if isinstance(slots, Committed):
            return slots
        ids = self._new_ids()
        looks = [
            SlotStateQueries(team_id=caller.team_id, slot=slot, number=number, more=deciding.of_slot(slot))
            for number, slot in enumerate(slots)
        ]

        def plan(transaction: Transaction) -> T:
            answers = transaction.prefetched
            if slots_of(answers[deciding.slots.name]) != slots:
                raise Refusal(Reason.CONTENTION, "what the decision is about has changed", retry_after_seconds=0.0)
            policy = team_policy_of(*answers["team_settings"])
            key = deciding.key or (idempotency.key if idempotency is not None else None)
            moment = transaction.next_moment(deciding.actor, deciding.change_kind)
            beside = deciding.beside(transaction, moment)
            decided = []
            for number, look in enumerate(looks):
                if number > 0:
                    moment = transaction.next_moment(deciding.actor, deciding.change_kind)
                state = look.state(answers)
                context = PlanContext(moment=moment, ids=ids.part(number), actor=deciding.actor, policy=policy)
                changes = deciding.plan(state, context, beside)
                versions = CaseRowVersions()
                look.load_versions(answers, versions)
                writer = ChangesWriter(transaction=transaction, actor=deciding.actor, versions=versions, key=key)
                writer.write(changes, at=moment.at, cases=state.view.cases)
                decided.append(Decided(state=state, changes=changes, moment=moment))
            return deciding.present(decided, beside)

        return await self._runner.run(
            caller.team_id,
            plan,
            prefetch=_each_once(
                deciding.slots,
                team_settings(caller.team_id, caller.profile_id),
                *deciding.more,
                *(query for look in looks for query in look.queries()),
            ),
            idempotency=idempotency,
            deadline=deadline,
        )

    async def _slots(
        self,
        caller: Caller,
        deciding: Deciding[T, Beside],
        idempotency: IdempotencyRequest[T] | None,
        deadline: Deadline,
    ) -> tuple[Slot, ...] | Committed[T]:
        """The slots, or the answer that the same request got before."""
        stored = [] if idempotency is None else [find_response(caller.team_id, caller.profile_id, idempotency.key)]

        def read(transaction: ReadTransaction) -> tuple[Slot, ...] | Committed[T]:
            if idempotency is not None and (found := stored_response(transaction.prefetched["find_response"])):
                return Committed(value=replay(idempotency, found), revision=found.revision, replayed=True)
            rows = transaction.prefetched[deciding.slots.name]
            deciding.check(rows)
            return slots_of(rows)

        return await self._reader.run(caller.team_id, read, prefetch=[*stored, deciding.slots], deadline=deadline)


def _each_once(*queries: Query) -> list[Query]:
    """Every query once, where a decision reads beside what is read for it."""
    return [query for number, query in enumerate(queries) if query not in queries[:number]]


def team_settings(team_id: TeamId, profile_id: ProfileId) -> Query:
    """The team's policy, and the name of a profile."""
    return load_sql("ingest.sql").query("team_settings", team_id=team_id, profile_id=profile_id)


def profile_actor(caller: Caller) -> Actor:
    """The caller as the actor of what it decides."""
    return Actor(kind=ActorKind.PROFILE, profile_id=caller.profile_id)
