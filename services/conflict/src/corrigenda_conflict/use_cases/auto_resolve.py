"""AutoResolve: the judge goes over the caller's pending questions, one commit each, and tells of each as it goes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import timedelta

from corrigenda.conflict.v1 import auto_resolution_pb2
from corrigenda.conflict.v1 import conflict_service_pb2 as messages
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.ids import IdempotencyKey, ItemId
from corrigenda_core.persistence.idempotency import IdempotencyRequest
from corrigenda_core.persistence.judge_store import pending_pairs
from corrigenda_core.persistence.read_transaction import ReadRunner
from corrigenda_core.persistence.transaction import TransactionRunner
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.idempotent import idempotency_of

from corrigenda_conflict.judging import Idempotent, Judging, JudgingTerms
from corrigenda_conflict.judging_responses import report_message

ITEMS_DEFAULT = 50
MINIMUM_AGE_SECONDS = 3_600
QUIET_PERIOD_SECONDS = 86_400
RESERVE_SECONDS = 2.0
"""How long before its deadline a run ends by itself, in good order."""

_PAIRS = "pending_pairs"


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoResolve:
    """The use case; see `__call__`."""

    reader: ReadRunner
    runner: TransactionRunner
    judging: Judging

    async def __call__(
        self, caller: Caller, request: messages.AutoResolveRequest, deadline: Deadline, stopping: asyncio.Event
    ) -> AsyncGenerator[messages.AutoResolveResponse, None]:
        """What came of each question, then the report.

        The questions of a run are kept under its key, so that the same call goes over the same ones. Whoever stops
        listening stops the run between two commits, or leaves one commit as it is.

        Args:
            caller: in whose queue the judge works.
            request: the terms.
            deadline: when the caller stops waiting.
            stopping: set when the server drains.

        Raises:
            Refusal: IDEMPOTENCY_CONFLICT, and what every call can have; what was decided by then stays decided.
        """
        terms = _terms(request)
        item_ids, revision = await self._items(caller, request, deadline)
        outcomes: Counter[auto_resolution_pb2.AutoResolution.ValueType] = Counter()
        for number, item_id in enumerate(item_ids, start=1):
            if stopping.is_set() or deadline.remaining_seconds() < RESERVE_SECONDS:
                break
            item = await self.judging.judged(caller, item_id, terms, _of_item(request, caller, item_id), deadline)
            outcomes[item.outcome] += 1
            revision = max(revision, item.decision.revision)
            yield messages.AutoResolveResponse(done=number, total=len(item_ids), item=item, revision=revision)
        done = outcomes.total()
        yield messages.AutoResolveResponse(
            done=done,
            total=len(item_ids),
            report=report_message(outcomes, total=len(item_ids), stopped_early=done < len(item_ids)),
            revision=revision,
        )

    async def _items(
        self, caller: Caller, request: messages.AutoResolveRequest, deadline: Deadline
    ) -> tuple[tuple[ItemId, ...], int]:
        """The questions of the run, and the revision that they were found at."""
        limit = request.limit if request.HasField("limit") else ITEMS_DEFAULT
        query = pending_pairs(caller.team_id, caller.profile_id, limit)
        if request.dry_run:
            return await self.reader.run(
                caller.team_id,
                lambda read: (tuple(ItemId(row["item_id"]) for row in read.prefetched[_PAIRS]), read.reading.revision),
                prefetch=[query],
                deadline=deadline,
            )
        committed = await self.runner.run(
            caller.team_id,
            lambda transaction: tuple(ItemId(row["item_id"]) for row in transaction.prefetched[_PAIRS]),
            prefetch=[query],
            idempotency=_of_run(request, caller),
            deadline=deadline,
        )
        return committed.value, committed.revision


def _terms(request: messages.AutoResolveRequest) -> JudgingTerms:
    age = request.minimum_age_seconds if request.HasField("minimum_age_seconds") else MINIMUM_AGE_SECONDS
    quiet = request.quiet_period_seconds if request.HasField("quiet_period_seconds") else QUIET_PERIOD_SECONDS
    return JudgingTerms(
        minimum_age=timedelta(seconds=age),
        quiet_period=timedelta(seconds=quiet),
        key=IdempotencyKey(request.idempotency_key),
        dry_run=request.dry_run,
    )


def _of_run(request: messages.AutoResolveRequest, caller: Caller) -> IdempotencyRequest[tuple[ItemId, ...]]:
    """The key of the run; what is kept under it is which questions it goes over."""
    asked = idempotency_of(request, caller.profile_id, messages.AutoResolveResponse)
    return IdempotencyRequest(
        profile_id=asked.profile_id,
        key=asked.key,
        rpc=asked.rpc,
        request_hash=asked.request_hash,
        encode=lambda item_ids: "\n".join(item_ids).encode(),
        decode=lambda stored: tuple(ItemId(one) for one in stored.decode().split()),
    )


def _of_item(request: messages.AutoResolveRequest, caller: Caller, item_id: ItemId) -> Idempotent:
    """The key of one question of the run."""
    asked = idempotency_of(request, caller.profile_id, messages.AutoResolveResponse)
    return IdempotencyRequest(
        profile_id=asked.profile_id,
        key=IdempotencyKey(f"{asked.key}\n{item_id}"),
        rpc=asked.rpc,
        request_hash=asked.request_hash,
        encode=lambda item: item.SerializeToString(deterministic=True),
        decode=auto_resolution_pb2.AutoResolvedItem.FromString,
    )
