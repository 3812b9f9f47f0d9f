"""What a system of record states, over the wire: no number of others ends it, and no decision of its owner does."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from corrigenda.admin.v1 import admin_service_pb2, source_pb2
from corrigenda.conflict.v1 import (
    auto_resolution_pb2,
    case_explanation_pb2,
    conflict_case_pb2,
    conflict_service_pb2,
    resolution_pb2,
)
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2, submission_pb2
from corrigenda.type.v1 import evidence_pb2, relationship_pb2
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.testing.wire_decisions import (
    Row,
    deciding,
    items_of,
    keep_existing,
    keep_new,
    placed_row,
    placement,
    recalled,
    refused,
    traced,
)

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
OTHERS = {
    "B": "production deploys from release",
    "C": "the log of the build: production deploys from release",
    "D": "our checklist confirms it: production deploys from release",
    "E": "we saw it: production deploys from release",
}


async def recorded(team: Any, deploys_from: Request, branch: str = "main", since: str = "") -> Row:
    """A states it for a system of record."""
    await team.admin.admin.RegisterSource(
        admin_service_pb2.RegisterSourceRequest(
            idempotency_key=branch, definition=source_pb2.SourceDefinition(source_group="cmdb", record=True)
        )
    )
    request = deploys_from(f"{since}production deploys from {branch}", branch)
    request.evidence[0].source_type = evidence_pb2.SOURCE_TYPE_SYSTEM_RECORD
    request.evidence[0].source_group = "cmdb"
    row = await placed_row(team["A"], request)
    assert row.record
    return row


async def looked_at(team: Any, time: datetime) -> None:
    await team.admin.admin.DriveClock(
        admin_service_pb2.DriveClockRequest(idempotency_key=time.isoformat(), time=timestamp_of(time))
    )
    await team.admin.conflict.ReviewNow(
        conflict_service_pb2.ReviewNowRequest(idempotency_key=uuid.uuid4().hex, wait_seconds=60)
    )


@pytest.mark.promise("own.system-of-record")
@pytest.mark.rule("R4.13", "R7.14")
async def test_no_number_of_others_wins_against_a_record(new_team: NewTeam, deploys_from: Request) -> None:
    """Four of five witnesses are an early quorum, and would be; against a record people are asked at the deadline."""
    team = await new_team(driven_from=BEGIN, profiles=("A", *OTHERS))
    row = await recorded(team, deploys_from)
    for name, text in OTHERS.items():
        conflict = (await placement(team[name], deploys_from(text, "release"))).conflict
    explaining = conflict_service_pb2.ExplainConflictRequest(conflict_id=conflict.conflict_id)

    await looked_at(team, BEGIN + timedelta(days=2))
    explained = await team["A"].conflict.ExplainConflict(explaining)
    decision = explained.explanation.decision
    assert (decision.outcome, decision.reason) == (case_explanation_pb2.CASE_OUTCOME_KEEP_OPEN, "record_protected")
    standings = {one.label: (one.witnesses, one.record) for one in explained.explanation.standings}
    assert standings == {"main": (1, True), "release": (4, False)}
    assert explained.conflict.status == conflict_case_pb2.CASE_STATUS_OPEN

    await looked_at(team, BEGIN + timedelta(days=8))
    seen = await team["A"].conflict.GetConflict(
        conflict_service_pb2.GetConflictRequest(conflict_id=conflict.conflict_id)
    )
    assert seen.conflict.status == conflict_case_pb2.CASE_STATUS_OVERDUE
    last = seen.events[-1]
    assert (last.action, last.reason) == (conflict_case_pb2.CASE_ACTION_MARKED_OVERDUE, "record_protected")
    kept = (await traced(team["A"], row)).relationship
    assert (kept.version, kept.status) == (row.version, relationship_pb2.RELATIONSHIP_STATUS_ACTIVE)
    assert await recalled(team["A"]) == {"main", "release"}


@pytest.mark.promise("own.system-of-record")
@pytest.mark.rule("R4.13", "R5.2", "R4.18")
@pytest.mark.error("SYSTEM_OF_RECORD")
async def test_no_decision_of_its_owner_puts_anything_in_the_place_of_a_record(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team(profiles=("A",))
    a = team["A"]
    row = await recorded(team, deploys_from)
    said = await a.ingest.Remember(deploys_from("the log of the build: production deploys from release", "release"))
    (held,) = said.placement.relationships
    assert held.outcome == placement_pb2.OUTCOME_HELD
    (item,) = await items_of(a)
    confirming = "our checklist confirms it: production deploys from release"

    async def placing(action: placement_pb2.PlacementAction, **more: Any) -> Refusal:
        return await refused(
            a.ingest.ResolvePlacement(
                ingest_service_pb2.ResolvePlacementRequest(
                    idempotency_key=uuid.uuid4().hex,
                    ingest_id=said.placement.ingest_id,
                    placement_item_id=item.item_id,
                    action=action,
                    evidence=[
                        submission_pb2.EvidenceItem(content=confirming, source_type=evidence_pb2.SOURCE_TYPE_MANUAL)
                    ],
                    **more,
                )
            )
        )

    target = submission_pb2.CorrectionTarget(relationship_id=row.relationship_id)
    correcting = deploys_from(confirming, "release", correction_target=target).proposal
    merging = resolution_pb2.Merge(
        content=confirming,
        source_type=evidence_pb2.SOURCE_TYPE_MANUAL,
        entity_id=held.relationship.object.entity.entity_id,
    )
    for refusal in (
        await placing(placement_pb2.PLACEMENT_ACTION_ACCEPT),
        await placing(placement_pb2.PLACEMENT_ACTION_CORRECT, proposal=correcting),
        await refused(a.conflict.ResolveConflict(deciding(item, keep_new=keep_new(held.relationship)))),
        await refused(a.conflict.ResolveConflict(deciding(item, keep_both=resolution_pb2.KeepBoth()))),
        await refused(a.conflict.ResolveConflict(deciding(item, merge=merging))),
    ):
        assert (refusal.reason, refusal.metadata["relationship_id"]) == (Reason.SYSTEM_OF_RECORD, row.relationship_id)

    judging = conflict_service_pb2.AutoResolveRequest(idempotency_key="judge")
    results = [one async for one in a.conflict.AutoResolve(judging)]
    (judged,) = [one.item for one in results if one.HasField("item")]
    assert judged.outcome == auto_resolution_pb2.AUTO_RESOLUTION_NOT_ASKED
    assert judged.reason == "system_of_record"

    # Nothing of all that is stored, and the one decision that keeps the record is taken.
    (still,) = await items_of(a)
    assert (still.item_id, still.version, still.status) == (item.item_id, item.version, item.status)
    await a.conflict.ResolveConflict(deciding(item, keep_existing=keep_existing(row)))
    kept = (await traced(a, row)).relationship
    assert (kept.version, kept.status) == (row.version, relationship_pb2.RELATIONSHIP_STATUS_ACTIVE)
