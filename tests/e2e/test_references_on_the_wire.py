"""A correction of another owner's relationship in another slot: the reference, and the case of kind `reference`."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import conflict_case_pb2, conflict_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2, submission_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda.type.v1 import relationship_pb2
from corrigenda_core.rpc.convert import timestamp_of

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]
WAIT_SECONDS = 120.0

Verifies = Callable[[str], Awaitable[bool]]


async def placed(client: Any, request: ingest_service_pb2.RememberRequest) -> placement_pb2.RelationshipPlacement:
    (answer,) = (await client.ingest.Remember(request)).placement.relationships
    assert answer.verdict == relationship_pb2.VERDICT_ENTAILED
    assert isinstance(answer, placement_pb2.RelationshipPlacement)
    return answer


async def case_of(client: Any, conflict_id: str) -> conflict_case_pb2.ConflictCase:
    request = client.own_writes(conflict_service_pb2.GetConflictRequest(conflict_id=conflict_id))
    answer = await client.conflict.GetConflict(request)
    assert isinstance(answer.conflict, conflict_case_pb2.ConflictCase)
    return answer.conflict


async def decided(client: Any, conflict_id: str) -> conflict_case_pb2.ConflictCase:
    """The case once the reviewer, a process of its own, has decided it."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            case = await case_of(client, conflict_id)
            if case.status != conflict_case_pb2.CASE_STATUS_OPEN:
                return case
            await asyncio.sleep(0.05)


def correcting(deploys_from: Request, target: placement_pb2.RelationshipPlacement, text: str, branch: str) -> Any:
    """Says that it was not production but staging: another subject, so another slot."""
    named = submission_pb2.CorrectionTarget(relationship_id=target.relationship.relationship_id)
    request = deploys_from(text, branch, correction_target=named)
    request.proposal.entities[0].name = "staging"
    return request


@pytest.mark.rule("R7.1", "R7.2")
async def test_a_correction_in_another_slot_refers_and_opens_a_case_there(
    new_team: NewTeam, deploys_from: Request, ledger_verifies: Verifies
) -> None:
    team = await new_team()
    target = await placed(team["A"], deploys_from("production deploys from main", "main"))
    request = correcting(deploys_from, target, "staging deploys from main", "main")
    foreseen = await team["B"].ingest.PreflightRemember(
        ingest_service_pb2.PreflightRememberRequest(evidence=request.evidence, proposal=request.proposal)
    )
    assert foreseen.placement.relationships[0].conflict.effect == placement_pb2.CONFLICT_EFFECT_OPENS_CASE
    answer = await placed(team["B"], request)
    assert answer.outcome == placement_pb2.OUTCOME_INSERTED
    assert [(one.kind, one.relationship_id) for one in answer.references] == [
        (relationship_pb2.REFERENCE_KIND_CORRECTS, target.relationship.relationship_id)
    ]
    assert answer.conflict.effect == placement_pb2.CONFLICT_EFFECT_OPENS_CASE
    case = await case_of(team["A"], answer.conflict.conflict_id)
    assert case.kind == conflict_case_pb2.CASE_KIND_REFERENCE
    assert case.subject.name == "production"
    assert len(case.positions) == 2
    assert [one.members_total for one in case.positions] == [1, 1]
    # Nothing of A's was changed.
    traced = await team["A"].recall.Trace(
        recall_service_pb2.TraceRequest(relationship_id=target.relationship.relationship_id)
    )
    assert traced.relationship.version == 1
    joined = await placed(team["C"], correcting(deploys_from, target, "I saw it: staging deploys from main", "main"))
    assert (joined.conflict.effect, joined.conflict.conflict_id) == (
        placement_pb2.CONFLICT_EFFECT_JOINS_CASE,
        answer.conflict.conflict_id,
    )
    assert await ledger_verifies(team.team_id)


@pytest.mark.rule("R7.8")
async def test_a_case_follows_its_members_in_both_slots(
    new_team: NewTeam, deploys_from: Request, ledger_verifies: Verifies
) -> None:
    team = await new_team()
    target = await placed(team["A"], deploys_from("production deploys from main", "main"))
    answer = await placed(team["B"], correcting(deploys_from, target, "staging deploys from main", "main"))
    opened = await case_of(team["A"], answer.conflict.conflict_id)
    # A brings more: the slot that is referred to knows the member beside it.
    await placed(team["A"], deploys_from("our checklist confirms: production deploys from main", "main"))
    after = await case_of(team["A"], answer.conflict.conflict_id)
    assert (after.version, [one.members_total for one in after.positions]) == (opened.version + 1, [1, 1])
    # B brings more, in the slot that refers.
    more = deploys_from("the release notes confirm: staging deploys from main", "main")
    more.proposal.entities[0].name = "staging"
    await placed(team["B"], more)
    assert (await case_of(team["A"], answer.conflict.conflict_id)).version == opened.version + 2
    # B takes it back: the member leaves in the same commit.
    await team["B"].ingest.Forget(
        ingest_service_pb2.ForgetRequest(
            idempotency_key="never", retract={"relationship_id": answer.relationship.relationship_id}
        )
    )
    left = await case_of(team["A"], answer.conflict.conflict_id)
    assert left.version == opened.version + 3
    assert {one.label: one.members_total for one in left.positions} == {"recorded": 1, "corrected": 0}
    assert await ledger_verifies(team.team_id)


@pytest.mark.rule("R7.12", "R7.16")
async def test_the_reviewer_decides_a_case_whose_sides_stand_in_two_slots(
    new_team: NewTeam, deploys_from: Request, ledger_verifies: Verifies
) -> None:
    began = datetime(2026, 1, 5, tzinfo=UTC)
    team = await new_team(driven_from=began)
    target = await placed(team["A"], deploys_from("production deploys from main", "main"))
    answer = await placed(team["B"], correcting(deploys_from, target, "staging deploys from main", "main"))
    await placed(team["C"], correcting(deploys_from, target, "I saw it: staging deploys from main", "main"))
    await team.admin.admin.DriveClock(
        admin_service_pb2.DriveClockRequest(idempotency_key="due", time=timestamp_of(began + timedelta(days=8)))
    )
    case = await decided(team["A"], answer.conflict.conflict_id)
    assert (case.status, case.resolution_reason) == (conflict_case_pb2.CASE_STATUS_RESOLVED, "due_majority")
    assert [one.label for one in case.positions if one.preferred] == ["corrected"]
    lost = recall_service_pb2.TraceRequest(relationship_id=target.relationship.relationship_id)
    kept = recall_service_pb2.TraceRequest(relationship_id=answer.relationship.relationship_id)
    states = [(await team["A"].recall.Trace(team["A"].own_writes(one))).relationship.status for one in (lost, kept)]
    assert states == [relationship_pb2.RELATIONSHIP_STATUS_SUPERSEDED, relationship_pb2.RELATIONSHIP_STATUS_ACTIVE]
    assert await ledger_verifies(team.team_id)
