"""CorrectEntityResolution: a split or a merge, first shown and then applied exactly as it was shown."""

from __future__ import annotations

from collections.abc import Callable

from corrigenda.ingest.v1.ingest_service_pb2 import CorrectEntityResolutionResponse
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import IdRange
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.idempotency import IdempotencyRequest
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.transaction import Transaction, TransactionRunner
from corrigenda_core.ports.deadline import Deadline

from corrigenda_ingest.identity_look import EntityMerge, IdentityLook, Split
from corrigenda_ingest.identity_responses import corrected_identity
from corrigenda_ingest.identity_writer import IdentityWriter
from corrigenda_ingest.impact_tokens import Impact, ImpactTokens
from corrigenda_ingest.locked_look import Sight

Answer = CorrectEntityResolutionResponse

CHANGE_KIND = "correct_entity_resolution"


class CorrectEntityResolution:
    """The use case; see `__call__`.

    Args:
        reader: for dry runs.
        runner: for the commit.
        tokens: bind the commit to what the dry run has shown.
        new_ids: draws the range of ids of one correction.
    """

    def __init__(
        self,
        *,
        reader: ReadRunner,
        runner: TransactionRunner,
        tokens: ImpactTokens,
        new_ids: Callable[[], IdRange],
    ) -> None:
        self._reader = reader
        self._runner = runner
        self._tokens = tokens
        self._new_ids = new_ids

    async def __call__(
        self,
        caller: Caller,
        asked: Split | EntityMerge,
        *,
        reason: str,
        token: str,
        idempotency: IdempotencyRequest[Answer],
        deadline: Deadline,
    ) -> Answer:
        """Shows a correction, or applies the one that the token was given for.

        Raises:
            Refusal: nothing was changed; the comment of the RPC lists the reasons.
        """
        look = IdentityLook(caller=caller, asked=asked, reason=reason, key=idempotency.key, ids=self._new_ids())
        if not token:
            return await self._shown(caller, look, deadline)

        async def plan(transaction: Transaction) -> Answer:
            impact = self._tokens.impact_of(token, caller)
            sight = Sight(
                reading=transaction.reading, prefetched=transaction.prefetched, fetch_all=transaction.fetch_all
            )
            planned = await look.planned(sight, impact.entity_id)
            if planned.digest != impact.digest:
                raise Refusal(
                    Reason.IMPACT_CHANGED, "what the dry run has shown would no longer happen", field="impact_token"
                )
            moment = transaction.next_moment(planned.record.actor, CHANGE_KIND)
            IdentityWriter(transaction, planned, caller, idempotency.key).write(moment)
            return corrected_identity(planned, moment.revision)

        committed = await self._runner.run(caller.team_id, plan, idempotency=idempotency, deadline=deadline)
        return committed.value

    async def _shown(self, caller: Caller, look: IdentityLook, deadline: Deadline) -> Answer:
        """What would change, and the token that applies it."""

        async def read(transaction: ReadTransaction) -> Answer:
            async def fetch_all(queries: list[Query]) -> dict[str, list[Row]]:
                answers = await transaction.fetch_all(*queries)
                return {query.name: rows for query, rows in zip(queries, answers, strict=True)}

            sight = Sight(
                reading=transaction.reading,
                prefetched=transaction.prefetched,
                fetch_all=lambda queries: fetch_all(list(queries)),
            )
            planned = await look.planned(sight, look.new_entity_id)
            impact = Impact(digest=planned.digest, entity_id=planned.correction.to_id)
            token, expires_at = self._tokens.issued(caller, impact)
            return corrected_identity(planned, transaction.reading.revision, token=token, expires_at=expires_at)

        return await self._reader.run(caller.team_id, read, deadline=deadline)
