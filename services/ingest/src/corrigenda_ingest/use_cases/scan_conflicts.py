"""ScanConflicts: what a registry change means for what is recorded, some slots to a commit, taken up where it ended."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from corrigenda.admin.v1 import admin_service_pb2 as messages
from corrigenda_core.domain.actors import Actor, ActorKind, Caller
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.errors import missing
from corrigenda_core.domain.ids import IdempotencyKey, IdRange, PredicateKey
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.persistence.changes_writer import ChangesWriter
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.idempotency import IdempotencyRequest, request_hash_of
from corrigenda_core.persistence.ingest_store import predicate_of, team_policy_of
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.slot_store import CaseRowVersions, SlotQueries
from corrigenda_core.persistence.transaction import Transaction, TransactionRunner
from corrigenda_core.policy.limits import decide_limit
from corrigenda_core.policy.slot_change import plan_slot_scan
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.idempotent import idempotency_of

SCANNED = "scanned"
"""The reason code of what a scan changes."""

_CHANGE_KIND = "scan_conflicts"
_START = messages.ScannedSlot(subject_id="00000000-0000-0000-0000-000000000000")

Request = messages.ScanConflictsRequest
Response = messages.ScanConflictsResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanConflicts:
    """The use case; see `__call__`."""

    reader: ReadRunner
    runner: TransactionRunner
    new_ids: Callable[[], IdRange]

    async def __call__(self, caller: Caller, request: Request, deadline: Deadline) -> AsyncIterator[Response]:
        """Scans slot after slot; the sums of each message are those of the whole scan so far.

        Every commit has an idempotency record of its own, made from the caller's key and the place where it begins. So
        a repeated call reads the records of what is done, and finds its place by them.

        Raises:
            Refusal: RESOURCE_NOT_FOUND for the predicate, IDEMPOTENCY_CONFLICT.
        """
        total = await self._total(caller, request, deadline)
        so_far, place = Response(total_slots=total), _START
        while not so_far.done:
            part = await self._commit(caller, request, place, deadline)
            so_far = Response(
                scanned_slots=so_far.scanned_slots + part.scanned_slots,
                total_slots=total,
                changed_relationships=so_far.changed_relationships + part.changed_relationships,
                opened_conflicts=so_far.opened_conflicts + part.opened_conflicts,
                changed_conflicts=so_far.changed_conflicts + part.changed_conflicts,
                last=part.last if part.HasField("last") else None,
                done=part.done,
                revision=part.revision,
            )
            place = part.last
            yield so_far

    async def _total(self, caller: Caller, request: Request, deadline: Deadline) -> int:
        def read(transaction: ReadTransaction) -> int:
            if request.predicate and not transaction.prefetched["predicate_row"]:
                raise missing("predicate", request.predicate, field="predicate")
            total: int = transaction.prefetched["slot_count"][0]["total"]
            return total

        sql = load_sql("admin.sql")
        asked = {"team_id": caller.team_id, "predicate": request.predicate}
        return await self.reader.run(
            caller.team_id,
            read,
            prefetch=[sql.query("predicate_row", **asked), sql.query("slot_count", **asked)],
            deadline=deadline,
        )

    async def _commit(
        self, caller: Caller, request: Request, place: messages.ScannedSlot, deadline: Deadline
    ) -> Response:
        """The slots behind a place, in one revision if anything changes."""
        ids = self.new_ids()
        limit = decide_limit("scanned_slots_per_commit").default
        if request.HasField("slots_per_commit"):
            limit = request.slots_per_commit

        async def plan(transaction: Transaction) -> Response:
            rows = transaction.prefetched["slots_to_scan"]
            views, versions = await _views(transaction, rows)
            (settings,) = transaction.prefetched["team_settings"]
            actor = Actor(kind=ActorKind.PROFILE, profile_id=caller.profile_id)
            moment, policy = transaction.reading.next_moment(), team_policy_of(settings)
            planned = [
                plan_slot_scan(
                    view, PlanContext(moment=moment, ids=ids.part(number), actor=actor, policy=policy), SCANNED
                )
                for number, view in enumerate(views)
            ]
            changed = [(view, one) for view, one in zip(views, planned, strict=True) if one != Changes()]
            revision = transaction.reading.revision
            if changed:
                revision = transaction.next_moment(actor, _CHANGE_KIND).revision
                writer = ChangesWriter(transaction=transaction, actor=actor, versions=versions)
                for view, one in changed:
                    writer.write(one, at=moment.at, cases=view.cases)
            return _told(rows, changed, done=len(rows) < limit, revision=revision)

        committed = await self.runner.run(
            caller.team_id,
            plan,
            prefetch=[
                load_sql("admin.sql").query(
                    "slots_to_scan",
                    team_id=caller.team_id,
                    subject_id=place.subject_id,
                    after=place.predicate,
                    scope=place.scope,
                    predicate=request.predicate,
                    limit=limit,
                ),
                load_sql("ingest.sql").query("team_settings", team_id=caller.team_id, profile_id=caller.profile_id),
            ],
            idempotency=_idempotency(caller, request, place),
            deadline=deadline,
        )
        return committed.value


def _idempotency(caller: Caller, request: Request, place: messages.ScannedSlot) -> IdempotencyRequest[Response]:
    """The record of one commit of a scan; the first one is under the caller's own key, which it keeps from others."""
    whole = idempotency_of(request, caller.profile_id, Response)
    if place == _START:
        return whole
    begun = place.SerializeToString(deterministic=True)
    named = hashlib.sha256(whole.key.encode() + b"\0" + begun).hexdigest()
    return IdempotencyRequest(
        profile_id=whole.profile_id,
        key=IdempotencyKey(f"{_CHANGE_KIND}:{named}"),
        rpc=whole.rpc,
        request_hash=request_hash_of(whole.rpc, whole.request_hash + begun),
        encode=whole.encode,
        decode=whole.decode,
    )


async def _views(transaction: Transaction, rows: list[Row]) -> tuple[list[SlotView], CaseRowVersions]:
    looks = [
        SlotQueries(
            team_id=transaction.team_id,
            slot=Slot(subject_id=row["subject_id"], predicate=PredicateKey(row["predicate"]), scope=row["scope"]),
            number=number,
        )
        for number, row in enumerate(rows)
    ]
    keys = sorted({look.slot.predicate for look in looks})
    predicates = [
        Query(
            name=f"predicate:{key}",
            sql=load_sql("admin.sql")["predicate_row"].sql,
            parameters={"team_id": transaction.team_id, "predicate": key},
        )
        for key in keys
    ]
    versions = CaseRowVersions()
    if not looks:
        return [], versions
    answers = await transaction.fetch_all([*predicates, *(query for look in looks for query in look.queries())])
    views = []
    for look in looks:
        look.load_versions(answers, versions)
        views.append(look.view(answers, predicate_of(answers[f"predicate:{look.slot.predicate}"][0])))
    return views, versions


def _told(rows: list[Row], changed: list[tuple[SlotView, Changes]], *, done: bool, revision: int) -> Response:
    known = {case.conflict_id for view, _ in changed for case in view.cases}
    cases = [case.conflict_id for _, one in changed for case in one.cases]
    last = None
    if rows:
        row = rows[-1]
        last = messages.ScannedSlot(subject_id=row["subject_id"], predicate=row["predicate"], scope=row["scope"])
    return Response(
        scanned_slots=len(rows),
        changed_relationships=sum(len(one.relationships) for _, one in changed),
        opened_conflicts=sum(one not in known for one in cases),
        changed_conflicts=sum(one in known for one in cases),
        last=last,
        done=done,
        revision=revision,
    )
