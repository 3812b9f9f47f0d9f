"""Remember: evidence and what it is proposed to say, verified outside and placed in one commit."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from corrigenda.ingest.v1.ingest_service_pb2 import RememberResponse
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import Refusal
from corrigenda_core.domain.submissions import Submission
from corrigenda_core.persistence.idempotency import IdempotencyRequest, StoredResponse, replay
from corrigenda_core.persistence.ingest_store import SubmissionFacts
from corrigenda_core.persistence.transaction import Committed, Transaction, TransactionRunner
from corrigenda_core.ports.deadline import Deadline

from corrigenda_ingest.locked_look import LockedLook, SeenState, Sight
from corrigenda_ingest.outside import Asked, FoundOutside, OutsideLook
from corrigenda_ingest.submission import PlannedSubmission
from corrigenda_ingest.submission_ids import row_ids_of
from corrigenda_ingest.submission_writer import SubmissionWriter

Answer = RememberResponse
"""What is answered, stored with the submission, and stored under the idempotency key."""

Present = Callable[[PlannedSubmission, SubmissionFacts], Answer]


class Remember:
    """The use case; see `__call__`.

    Args:
        look: finds out what a submission names and what the verifier says.
        runner: for the commit.
    """

    def __init__(self, *, look: OutsideLook, runner: TransactionRunner) -> None:
        self._look = look
        self._runner = runner

    async def __call__(
        self,
        caller: Caller,
        submission: Submission,
        *,
        token: str = "",
        idempotency: IdempotencyRequest[Answer],
        present: Present,
        deadline: Deadline,
    ) -> Committed[Answer]:
        """Stores a submission and places what it says.

        Args:
            caller: the author.
            submission: what is submitted.
            token: of a preflight, whose verdict is then gone by; or empty.
            idempotency: the caller's key; a repeated request gets the stored answer.
            present: makes the response from what was planned.
            deadline: when the caller stops waiting.

        Raises:
            Refusal: nothing was stored; the comment of the RPC lists the reasons.
        """
        (found,) = await self._look(
            caller, [Asked(submission=submission, token=token)], is_stored=True, deadline=deadline
        )
        match found:
            case Refusal():
                raise found
            case StoredResponse():
                return Committed(value=replay(idempotency, found), revision=found.revision, replayed=True)
            case FoundOutside():
                return await self._commit(caller, found, idempotency, present, deadline)
            case _:
                assert_never(found)

    async def _commit(
        self,
        caller: Caller,
        outside: FoundOutside,
        idempotency: IdempotencyRequest[Answer],
        present: Present,
        deadline: Deadline,
    ) -> Committed[Answer]:
        look = LockedLook(caller, [outside])

        async def plan(transaction: Transaction) -> Answer:
            state = await look.seen(sight_of(transaction))
            return await placed(transaction, state, outside, present)

        return await self._runner.run(
            caller.team_id, plan, prefetch=look.queries(), idempotency=idempotency, deadline=deadline
        )


def sight_of(transaction: Transaction) -> Sight:
    """What a commit's transaction shows."""
    return Sight(reading=transaction.reading, prefetched=transaction.prefetched, fetch_all=transaction.fetch_all)


async def placed(transaction: Transaction, state: SeenState, outside: FoundOutside, present: Present) -> Answer:
    """Plans the next submission of a transaction and writes it; a refusal leaves both as they were.

    Raises:
        Refusal: as `SeenState.planned` does.
    """
    planned = await state.planned(outside, transaction.reading_now)
    answer = present(planned, state.facts)
    writer = SubmissionWriter(
        transaction,
        planned,
        state.facts,
        author=state.caller,
        ids=row_ids_of(outside.ids),
        versions=state.versions,
    )
    writer.write(answer.SerializeToString(deterministic=True))
    return answer
