"""PreflightRemember: what Remember would do with a submission now; the same planner on a snapshot, nothing stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from corrigenda.ingest.v1.ingest_service_pb2 import PreflightRememberResponse
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.submissions import Submission
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.idempotency import StoredResponse
from corrigenda_core.persistence.ingest_store import SubmissionFacts
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.providers.validation import VerifierUnavailable

from corrigenda_ingest.locked_look import LockedLook, Sight
from corrigenda_ingest.outside import Asked, FoundOutside, OutsideLook
from corrigenda_ingest.submission import PlannedSubmission
from corrigenda_ingest.verification_tokens import IssuedToken, VerificationTokens

PresentPreflight = Callable[[PlannedSubmission, SubmissionFacts, IssuedToken | None, int], PreflightRememberResponse]
"""Makes the response from a plan, its facts, the token, and the revision that it was made on."""


class PreflightRemember:
    """The use case; see `__call__`.

    Args:
        look: the same that `Remember` uses.
        reader: for the snapshot that is planned on.
        tokens: keep the verifier's answer for the submission that may follow.
    """

    def __init__(self, *, look: OutsideLook, reader: ReadRunner, tokens: VerificationTokens) -> None:
        self._look = look
        self._reader = reader
        self._tokens = tokens

    async def __call__(
        self,
        caller: Caller,
        submission: Submission,
        *,
        present: PresentPreflight,
        min_revision: int,
        deadline: Deadline,
    ) -> PreflightRememberResponse:
        """Plans a submission as Remember would (R10.1).

        Args:
            caller: the author.
            submission: what would be submitted.
            present: makes the response.
            min_revision: what the caller has seen.
            deadline: when the caller stops waiting.

        Raises:
            Refusal: as Remember would; VERIFIER_UNAVAILABLE, because without a verdict there is nothing to foresee.
        """
        (outside,) = await self._look(
            caller, [Asked(submission=submission)], is_stored=False, min_revision=min_revision, deadline=deadline
        )
        if isinstance(outside, Refusal):
            raise outside
        if isinstance(outside, StoredResponse):
            raise TypeError("a preflight has no key under which a response could be stored")
        token = self._issued(caller, outside)
        look = LockedLook(caller, [outside])

        async def read(transaction: ReadTransaction) -> PreflightRememberResponse:
            async def fetch_all(queries: Sequence[Query]) -> dict[str, list[Row]]:
                answers = await transaction.fetch_all(*queries)
                return {query.name: rows for query, rows in zip(queries, answers, strict=True)}

            sight = Sight(reading=transaction.reading, prefetched=transaction.prefetched, fetch_all=fetch_all)
            state = await look.seen(sight)
            planned = await state.planned(outside, transaction.reading)
            return present(planned, state.facts, token, transaction.reading.revision)

        return await self._reader.run(
            caller.team_id, read, prefetch=look.queries(), min_revision=min_revision, deadline=deadline
        )

    def _issued(self, caller: Caller, outside: FoundOutside) -> IssuedToken | None:
        if isinstance(outside.verification, VerifierUnavailable):
            raise Refusal(Reason.VERIFIER_UNAVAILABLE, "the verifier gave no valid answer")
        return self._tokens.issued(caller, outside.asked, outside.verification)
