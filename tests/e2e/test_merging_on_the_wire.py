"""A merge over the wire: the owner's sentence goes the normal write path and takes the place of every side."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from corrigenda.conflict.v1 import conflict_service_pb2, review_item_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2, submission_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda.type.v1 import relationship_pb2
from corrigenda_core.domain.errors import Reason
from corrigenda_core.testing.wire_decisions import refused

pytestmark = pytest.mark.database

MAIN, RELEASE = "production deploys from main", "our log: production deploys from release"
SENTENCE = "since 1 March 2026 production deploys from trunk"

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]
Verifies = Callable[[str], Awaitable[bool]]


async def disputed(team: Any, deploys_from: Request) -> tuple[str, list[str]]:
    """A question of A's about two values: its id, and the ids of its sides."""
    first = await team["A"].ingest.Remember(deploys_from(MAIN, "main"))
    second = await team["A"].ingest.Remember(deploys_from(RELEASE, "release"))
    placed = [*first.placement.relationships, *second.placement.relationships]
    assert placed[1].outcome == placement_pb2.OUTCOME_HELD
    return placed[1].item.item_id, [one.relationship.relationship_id for one in placed]


def merging(deploys_from: Request, item_id: str, text: str = SENTENCE, branch: str = "trunk", **more: Any) -> Any:
    context = submission_pb2.ResolutionContext(item_id=item_id, reason="both were guesses")
    if "version" in more:
        context.expected_version = more.pop("version")
    request = deploys_from(text, branch, **more)
    request.resolution_context.CopyFrom(context)
    return request


async def traced(client: Any, row_id: str) -> Any:
    return await client.recall.Trace(
        client.own_writes(recall_service_pb2.TraceRequest(relationship_id=row_id, include_transitions=True))
    )


@pytest.mark.rule("R4.16a")
async def test_the_sentence_takes_the_place_of_every_side(
    new_team: NewTeam, deploys_from: Request, ledger_verifies: Verifies
) -> None:
    team = await new_team()
    item_id, sides = await disputed(team, deploys_from)
    request = merging(deploys_from, item_id, version=1)
    foreseen = await team["A"].ingest.PreflightRemember(
        ingest_service_pb2.PreflightRememberRequest(
            evidence=request.evidence, proposal=request.proposal, resolution_context=request.resolution_context
        )
    )
    assert sorted(foreseen.resolution.merged_relationship_ids) == sorted(sides)
    answer = await team["A"].ingest.Remember(request)
    (kept,), done = answer.placement.relationships, answer.resolution
    assert kept.relationship.status == relationship_pb2.RELATIONSHIP_STATUS_ACTIVE
    assert kept.relationship.object.entity.name == "trunk"
    assert done.kept_relationship_id == kept.relationship.relationship_id
    assert sorted(done.merged_relationship_ids) == sorted(sides)
    assert done.item_status == review_item_pb2.ITEM_STATUS_RESOLVED
    for side in sides:
        trace = await traced(team["A"], side)
        assert trace.relationship.status not in {
            relationship_pb2.RELATIONSHIP_STATUS_ACTIVE,
            relationship_pb2.RELATIONSHIP_STATUS_COMPETING,
        }
        assert relationship_pb2.REFERENCE_KIND_MERGED_INTO in {one.kind for one in trace.references}
    listed = await team["A"].conflict.ListReviewItems(
        team["A"].own_writes(
            conflict_service_pb2.ListReviewItemsRequest(statuses=[review_item_pb2.ITEM_STATUS_PENDING])
        )
    )
    assert not listed.items
    assert await team["A"].ingest.Remember(request) == answer
    assert await ledger_verifies(team.team_id)


@pytest.mark.rule("R4.16a")
async def test_a_sentence_that_waits_itself_is_settled_by_the_merge(new_team: NewTeam, deploys_from: Request) -> None:
    """It has no start of its own: the decision gives it the time at which it was recorded."""
    team = await new_team()
    item_id, sides = await disputed(team, deploys_from)
    answer = await team["A"].ingest.Remember(merging(deploys_from, item_id, "production deploys from trunk"))
    (kept,) = answer.placement.relationships
    assert (kept.outcome, kept.rule) == (placement_pb2.OUTCOME_SUPERSEDED, "R4.16a")
    assert kept.relationship.status == relationship_pb2.RELATIONSHIP_STATUS_ACTIVE
    assert sorted(answer.resolution.merged_relationship_ids) == sorted(sides)


@pytest.mark.rule("R4.16a")
@pytest.mark.parametrize(
    ("change", "reason", "field"),
    [
        pytest.param({"version": 7}, Reason.STALE_VERSION, "", id="a version that is not there"),
        pytest.param({"scope": "europe"}, Reason.INVALID_FIELD, "proposal.relationships[0]", id="another scope"),
        pytest.param(
            {"text": "maybe production deploys from trunk"},
            Reason.INVALID_FIELD,
            "proposal.relationships[0]",
            id="a sentence that its evidence does not entail",
        ),
        pytest.param(
            {"text": MAIN, "branch": "main"},
            Reason.INVALID_FIELD,
            "proposal.relationships[0]",
            id="a sentence that was said before",
        ),
    ],
)
async def test_a_merge_that_its_sentence_does_not_carry_stores_nothing(
    new_team: NewTeam, deploys_from: Request, change: dict[str, Any], reason: Reason, field: str
) -> None:
    team = await new_team()
    item_id, _ = await disputed(team, deploys_from)
    before = await team["A"].conflict.ListConflicts(conflict_service_pb2.ListConflictsRequest())
    refusal = await refused(team["A"].ingest.Remember(merging(deploys_from, item_id, **change)))
    assert (refusal.reason, refusal.field) == (reason, field)
    after = await team["A"].conflict.ListConflicts(conflict_service_pb2.ListConflictsRequest())
    assert after.revision == before.revision


@pytest.mark.rule("R4.16a", "R4.6")
async def test_only_the_owner_merges_and_only_once(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    item_id, _ = await disputed(team, deploys_from)
    assert (await refused(team["B"].ingest.Remember(merging(deploys_from, item_id)))).reason is Reason.NOT_OWNER
    await team["A"].ingest.Remember(merging(deploys_from, item_id))
    again = merging(deploys_from, item_id, "since 1 April 2026 production deploys from main", "main")
    assert (await refused(team["A"].ingest.Remember(again))).reason is Reason.ITEM_NOT_PENDING
    two = merging(deploys_from, item_id)
    two.proposal.relationships.add().CopyFrom(two.proposal.relationships[0])
    two.proposal.relationships[1].proposal_id = "p2"
    refusal = await refused(team["A"].ingest.Remember(two))
    assert (refusal.reason, refusal.field) == (Reason.INVALID_FIELD, "proposal.relationships")
