"""RememberMany: consecutive submissions of one caller in one commit, each with an answer of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.persistence.idempotency import (
    IdempotencyRequest,
    StoredResponse,
    find_responses,
    replay,
    stored_responses,
)
from corrigenda_core.persistence.transaction import Committed, Transaction, TransactionRunner
from corrigenda_core.ports.deadline import Deadline

from corrigenda_ingest.locked_look import LockedLook
from corrigenda_ingest.outside import Asked, FoundOutside, Outside, OutsideLook
from corrigenda_ingest.use_cases.remember import Answer, Present, placed, sight_of

Result = Committed[Answer] | Refusal
"""What became of one submission."""

_OF_THE_BATCH = frozenset({Reason.INTERNAL_ERROR, Reason.STALE_VERSION})
"""Refusals of a commit that one submission may have caused for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """One submission, its key, and what makes its response."""

    asked: Asked
    idempotency: IdempotencyRequest[Answer]
    present: Present


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """Consecutive submissions that may share a commit, each with what was found out about it.

    ``is_cut`` says that the next one depends on one of them.
    """

    submitted: Sequence[Submitted]
    outside: Sequence[Outside]
    is_cut: bool


class RememberMany:
    """The use case, in two steps: `look` and `commit`; what is next may be looked at while a commit is under way.

    Args:
        look: the same that `Remember` uses.
        runner: for the commit.
    """

    def __init__(self, *, look: OutsideLook, runner: TransactionRunner) -> None:
        self._look = look
        self._runner = runner

    async def look(
        self, caller: Caller, submitted: Sequence[Submitted], deadline: Deadline, *, behind: Looked | None = None
    ) -> Looked:
        """The first submissions, as many as may share a commit; at least one if there is nothing ``behind``.

        Args:
            caller: the author.
            submitted: consecutive submissions, at least one.
            deadline: for all of them.
            behind: those before them, whose commit may not be done yet: none is taken that depends on one of these.

        Raises:
            Refusal: for all of them: the database does not answer in time.
        """
        outside = await self._look(
            caller,
            [one.asked for one in submitted],
            is_stored=True,
            behind=() if behind is None else behind.outside,
            deadline=deadline,
        )
        return Looked(submitted=submitted[: len(outside)], outside=outside, is_cut=len(outside) < len(submitted))

    async def commit(self, caller: Caller, looked: Looked, deadline: Deadline) -> list[Result]:
        """The results of the submissions, in order.

        Args:
            caller: the author.
            looked: the submissions; what those before them stored is committed.
            deadline: for all of them.

        Raises:
            Refusal: for all of them: the database does not answer in time. What was stored is found by the keys.
        """
        try:
            return await self._committed(caller, looked, deadline)
        except Refusal as refusal:
            if refusal.reason not in _OF_THE_BATCH:
                raise
            if len(looked.submitted) == 1:
                return [refusal]
        # One of them has spoiled the commit; alone, each shows whether it is the one.
        results: list[Result] = []
        for one in looked.submitted:
            results += await self.commit(caller, await self.look(caller, [one], deadline), deadline)
        return results

    async def _committed(self, caller: Caller, looked: Looked, deadline: Deadline) -> list[Result]:
        found = list(zip(looked.submitted, looked.outside, strict=True))
        pending = [(one, outside) for one, outside in found if isinstance(outside, FoundOutside)]
        committed = iter(await self._commit(caller, pending, deadline) if pending else [])
        return [
            next(committed) if isinstance(outside, FoundOutside) else _settled(one, outside) for one, outside in found
        ]

    async def _commit(
        self, caller: Caller, pending: Sequence[tuple[Submitted, FoundOutside]], deadline: Deadline
    ) -> list[Result]:
        look = LockedLook(caller, [outside for _, outside in pending])
        keys = {one.idempotency.key for one, _ in pending}

        async def plan(transaction: Transaction) -> list[Result]:
            stored = stored_responses(transaction.prefetched["find_responses"])
            state = await look.seen(sight_of(transaction))
            results: list[Result] = []
            for one, outside in pending:
                if one.idempotency.key in stored:
                    results.append(_settled(one, stored[one.idempotency.key]))
                    continue
                try:
                    answer = await placed(transaction, state, outside, one.present)
                except Refusal as refusal:
                    results.append(refusal)
                    continue
                transaction.answer(one.idempotency, answer)
                results.append(Committed(value=answer, revision=answer.revision))
            return results

        committed: Committed[list[Result]] = await self._runner.run(
            caller.team_id,
            plan,
            prefetch=[find_responses(caller.team_id, caller.profile_id, keys), *look.queries()],
            keeps_records=True,
            deadline=deadline,
        )
        return committed.value


def _settled(submitted: Submitted, outside: StoredResponse | Refusal) -> Result:
    """The result of a submission that needs no commit."""
    if isinstance(outside, Refusal):
        return outside
    try:
        answer = replay(submitted.idempotency, outside)
    except Refusal as refusal:
        return refusal
    return Committed(value=answer, revision=outside.revision, replayed=True)
