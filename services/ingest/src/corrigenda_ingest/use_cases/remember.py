"""Remember: evidence and what it is proposed to say, verified outside and placed in one commit."""

from __future__ import annotations

from collections.abc import Callable

from corrigenda.ingest.v1.ingest_service_pb2 import RememberResponse
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.submissions import Submission
from corrigenda_core.persistence.idempotency import IdempotencyRequest, StoredResponse, replay
from corrigenda_core.persistence.ingest_store import SubmissionFacts
from corrigenda_core.persistence.transaction import Committed, Transaction, TransactionRunner
from corrigenda_core.ports.deadline import Deadline

from corrigenda_ingest.locked_look import LockedLook, Sight
from corrigenda_ingest.outside import OutsideLook
from corrigenda_ingest.submission import PlannedSubmission
from corrigenda_ingest.submission_writer import SubmissionWriter

Answer = RememberResponse
"""What is answered, stored with the submission, and stored under the idempotency key."""

Present = Callable[[PlannedSubmission, SubmissionFacts], Answer]

_ROW_IDS = 1


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
        outside = await self._look(caller, submission, key=idempotency.key, token=token, deadline=deadline)
        if isinstance(outside, StoredResponse):
            return Committed(value=replay(idempotency, outside), revision=outside.revision, replayed=True)
        look = LockedLook(caller, outside)

        async def plan(transaction: Transaction) -> Answer:
            seen = await look.planned(
                Sight(
                    reading=transaction.reading,
                    prefetched=transaction.prefetched,
                    fetch_all=transaction.fetch_all,
                )
            )
            answer = present(seen.planned, seen.facts)
            writer = SubmissionWriter(
                transaction,
                seen.planned,
                seen.facts,
                author=caller,
                ids=outside.ids.part(_ROW_IDS),
                versions=seen.versions,
            )
            writer.write(answer.SerializeToString(deterministic=True))
            return answer

        return await self._runner.run(
            caller.team_id, plan, prefetch=look.queries(), idempotency=idempotency, deadline=deadline
        )
