"""ScanConflicts over the wire: a cardinality that became one opens the cases it makes, some slots to a commit."""

import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import grpc
import pytest
from corrigenda.admin.v1 import admin_service_pb2 as admin
from corrigenda.conflict.v1 import conflict_case_pb2, conflict_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2 as ingest
from corrigenda.ingest.v1 import submission_pb2
from corrigenda.type.v1 import evidence_pb2, object_pb2, predicate_pb2, relationship_pb2
from corrigenda_core.domain.errors import Reason
from corrigenda_core.rpc.status import refusal_of

pytestmark = [pytest.mark.database, pytest.mark.rule("R3.6", "R7.1")]

NewTeam = Callable[..., Awaitable[Any]]
Verifies = Callable[[str], Awaitable[bool]]


def register(team: Any, cardinality: Any, version: int | None = None) -> Awaitable[Any]:
    answer: Awaitable[Any] = team.admin.admin.RegisterPredicate(
        admin.RegisterPredicateRequest(
            idempotency_key=uuid.uuid4().hex,
            expected_version=version,
            definition=predicate_pb2.PredicateDefinition(
                key="speaks",
                relationship_kind=predicate_pb2.RELATIONSHIP_KIND_STATE,
                current_cardinality=cardinality,
                value_types=[object_pb2.VALUE_TYPE_TEXT],
            ),
        )
    )
    return answer


async def say(client: Any, name: str, language: str) -> str:
    text = f"{name} speaks {language}."
    answer = await client.ingest.Remember(
        ingest.RememberRequest(
            idempotency_key=uuid.uuid4().hex,
            evidence=[submission_pb2.EvidenceItem(content=text, source_type=evidence_pb2.SOURCE_TYPE_CONVERSATION)],
            proposal=submission_pb2.Proposal(
                entities=[submission_pb2.ProposedEntity(ref="who", name=name, entity_kind="person")],
                relationships=[
                    submission_pb2.ProposedRelationship(
                        proposal_id="p1",
                        subject_ref="who",
                        predicate="speaks",
                        object_value=object_pb2.Value(type=object_pb2.VALUE_TYPE_TEXT, text=language),
                        polarity=relationship_pb2.POLARITY_POSITIVE,
                        modality=relationship_pb2.MODALITY_STATEMENT,
                        evidence=[submission_pb2.Citation(evidence_index=0, start=0, end=len(text))],
                    )
                ],
            ),
        )
    )
    relationship_id: str = answer.placement.relationships[0].relationship.relationship_id
    return relationship_id


async def scan(team: Any, key: str = "", **more: Any) -> Sequence[admin.ScanConflictsResponse]:
    request = admin.ScanConflictsRequest(idempotency_key=key or uuid.uuid4().hex, **more)
    return [answer async for answer in team.admin.admin.ScanConflicts(request)]


async def live_cases(team: Any) -> set[str]:
    listed = await team["A"].conflict.ListConflicts(
        team["A"].own_writes(
            conflict_service_pb2.ListConflictsRequest(case_statuses=[conflict_case_pb2.CASE_STATUS_OPEN])
        )
    )
    return {entry.team_case.conflict_id for entry in listed.entries if entry.team_case.conflict_id}


async def test_a_cardinality_that_became_one_opens_the_cases_that_it_makes(
    new_team: NewTeam, ledger_verifies: Verifies
) -> None:
    team = await new_team()
    await register(team, predicate_pb2.CARDINALITY_MANY)
    names = ("Ann", "Bea", "Cid")
    for name in names:
        for profile, language in (("A", "Danish"), ("B", "Dutch")):
            await say(team[profile], name, language)
    await say(team["A"], "Dot", "Danish")
    assert await live_cases(team) == set()
    await register(team, predicate_pb2.CARDINALITY_ONE, version=1)
    told = await scan(team, "after the change", predicate="speaks", slots_per_commit=2)
    assert [(one.scanned_slots, one.total_slots, one.done) for one in told] == [
        (2, 4, False),
        (4, 4, False),
        (4, 4, True),
    ]
    assert (told[-1].opened_conflicts, told[-1].changed_conflicts, told[-1].changed_relationships) == (3, 0, 7)
    opened = await live_cases(team)
    assert len(opened) == 3
    # The same call is told the same, another one finds nothing left to change.
    assert await scan(team, "after the change", predicate="speaks", slots_per_commit=2) == told
    (again,) = await scan(team)
    assert (again.scanned_slots, again.changed_relationships, again.opened_conflicts) == (4, 0, 0)
    assert await live_cases(team) == opened
    with pytest.raises(grpc.aio.AioRpcError) as other:
        await scan(team, "after the change", predicate="")
    refusal = refusal_of(other.value)
    assert refusal is not None
    assert refusal.reason is Reason.IDEMPOTENCY_CONFLICT
    assert await ledger_verifies(team.team_id)


async def test_an_own_disagreement_becomes_a_question_and_a_scan_that_ended_goes_on(new_team: NewTeam) -> None:
    team = await new_team()
    await register(team, predicate_pb2.CARDINALITY_MANY)
    for name in ("Ann", "Bea", "Cid"):
        await say(team["A"], name, "Danish")
        await say(team["A"], name, "Dutch")
    await register(team, predicate_pb2.CARDINALITY_ONE, version=1)
    request = admin.ScanConflictsRequest(idempotency_key="ends early", slots_per_commit=1)
    call = team.admin.admin.ScanConflicts(request)
    first = await call.read()
    call.cancel()
    told = await scan(team, "ends early", slots_per_commit=1)
    assert told[0] == first
    assert (told[-1].scanned_slots, told[-1].done) == (3, True)
    items = await team["A"].conflict.ListReviewItems(
        team["A"].own_writes(conflict_service_pb2.ListReviewItemsRequest())
    )
    assert len(items.items) == 3
    # What is registered back is scanned back: both values hold again.
    await register(team, predicate_pb2.CARDINALITY_MANY, version=2)
    back = await scan(team)
    assert back[-1].done
    items = await team["A"].conflict.ListReviewItems(
        team["A"].own_writes(conflict_service_pb2.ListReviewItemsRequest())
    )
    assert len(items.items) == 0


async def test_an_unknown_predicate_and_a_changed_kind_are_refused(new_team: NewTeam) -> None:
    team = await new_team()
    await register(team, predicate_pb2.CARDINALITY_MANY)
    with pytest.raises(grpc.aio.AioRpcError) as unknown:
        await scan(team, predicate="whispers")
    refusal = refusal_of(unknown.value)
    assert refusal is not None
    assert (refusal.reason, refusal.field) == (Reason.RESOURCE_NOT_FOUND, "predicate")
    with pytest.raises(grpc.aio.AioRpcError) as changed:
        await team.admin.admin.RegisterPredicate(
            admin.RegisterPredicateRequest(
                idempotency_key="kind",
                expected_version=1,
                definition=predicate_pb2.PredicateDefinition(
                    key="speaks",
                    relationship_kind=predicate_pb2.RELATIONSHIP_KIND_EVENT,
                    current_cardinality=predicate_pb2.CARDINALITY_MANY,
                ),
            )
        )
    refusal = refusal_of(changed.value)
    assert refusal is not None
    assert (refusal.reason, refusal.field) == (Reason.INVALID_FIELD, "definition.relationship_kind")
