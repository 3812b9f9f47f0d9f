"""ReviewNow and ListReviewRuns: asking the reviewer process for a run, and reading what runs did."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from corrigenda.conflict.v1 import conflict_service_pb2 as messages
from corrigenda.conflict.v1 import review_run_pb2
from corrigenda_core.domain.actors import Actor, ActorKind, Caller
from corrigenda_core.domain.ids import IdRange
from corrigenda_core.domain.snapshots import INDEPENDENT_SOURCES
from corrigenda_core.domain.time import LATEST
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.transaction import Transaction, TransactionRunner
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.rpc.idempotent import idempotency_of
from corrigenda_core.rpc.page_tokens import PageTokens

from corrigenda_conflict.responses import run_message

POLL_SECONDS = 0.1
RESERVE_SECONDS = 1.0
_ENDED = frozenset({review_run_pb2.REVIEW_RUN_STATUS_FINISHED, review_run_pb2.REVIEW_RUN_STATUS_FAILED})
_LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewNow:
    """The use case; see `__call__`."""

    runner: TransactionRunner
    reader: ReadRunner
    new_ids: Callable[[], IdRange]

    async def __call__(
        self, caller: Caller, request: messages.ReviewNowRequest, deadline: Deadline
    ) -> messages.ReviewNowResponse:
        """Queues a run for the reviewer process, which decides by the same rules as ever, and may wait for it.

        Returns:
            The run as it is by then; ended only if that came within ``wait_seconds``.
        """
        run_id = self.new_ids().nth(0)

        def plan(transaction: Transaction) -> messages.ReviewNowResponse:
            actor = Actor(kind=ActorKind.PROFILE, profile_id=caller.profile_id)
            moment = transaction.next_moment(actor, "review_now")
            transaction.execute(
                load_sql("review.sql").query(
                    "queue_run",
                    team_id=caller.team_id,
                    run_id=run_id,
                    requested_by=caller.profile_id,
                    policy_version=INDEPENDENT_SOURCES,
                    requested_at=moment.at,
                )
            )
            return messages.ReviewNowResponse(
                run=review_run_pb2.ReviewRun(run_id=run_id, requested_at=timestamp_of(moment.at)),
                revision=moment.revision,
            )

        idempotency = idempotency_of(request, caller.profile_id, messages.ReviewNowResponse)
        committed = await self.runner.run(caller.team_id, plan, idempotency=idempotency, deadline=deadline)
        waiting = Deadline.after(min(request.wait_seconds, max(0.0, deadline.remaining_seconds() - RESERVE_SECONDS)))
        while True:
            answer = await self._run(caller, committed.value.run.run_id, deadline)
            if answer.run.status in _ENDED or waiting.remaining_seconds() <= 0:
                return answer
            await asyncio.sleep(min(POLL_SECONDS, waiting.remaining_seconds()))

    async def _run(self, caller: Caller, run_id: str, deadline: Deadline) -> messages.ReviewNowResponse:
        def read(transaction: ReadTransaction) -> messages.ReviewNowResponse:
            (row,) = transaction.prefetched["run_row"]
            return messages.ReviewNowResponse(run=run_message(row), revision=transaction.reading.revision)

        query = load_sql("review.sql").query("run_row", team_id=caller.team_id, run_id=run_id)
        return await self.reader.run(caller.team_id, read, prefetch=[query], deadline=deadline)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListReviewRuns:
    """The use case; see `__call__`."""

    reader: ReadRunner
    page_tokens: PageTokens

    async def __call__(
        self, caller: Caller, request: messages.ListReviewRunsRequest, deadline: Deadline
    ) -> messages.ListReviewRunsResponse:
        """A page of runs, the newest first, each with what it did.

        Raises:
            Refusal: PAGE_TOKEN_MISMATCH.
        """
        page = self.page_tokens.page_of(request, caller)
        before, before_id = page.after or (LATEST.isoformat(), _LAST_ID)

        def read(transaction: ReadTransaction) -> messages.ListReviewRunsResponse:
            rows, revision = transaction.prefetched["run_page"], transaction.reading.revision
            shown = rows[: page.size]
            token = ""
            if len(rows) > page.size:
                token = self.page_tokens.next_token(
                    request,
                    caller,
                    after=(shown[-1]["requested_at"].isoformat(), shown[-1]["run_id"]),
                    revision=revision,
                )
            return messages.ListReviewRunsResponse(
                runs=[run_message(row) for row in shown], next_page_token=token, revision=revision
            )

        query = load_sql("review.sql").query(
            "run_page",
            team_id=caller.team_id,
            before=datetime.fromisoformat(before),
            before_id=before_id,
            limit=page.size + 1,
        )
        return await self.reader.run(
            caller.team_id, read, prefetch=[query], min_revision=request.min_revision, deadline=deadline
        )
