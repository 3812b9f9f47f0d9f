"""Source revisions over the wire: what a source no longer says loses its effect for everybody, in the same commit."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import psycopg
import pytest
from corrigenda.admin.v1 import admin_service_pb2, source_pb2
from corrigenda.conflict.v1 import conflict_service_pb2
from corrigenda.errors.v1 import error_reason_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2, submission_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda.type.v1 import relationship_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.errors import Reason
from corrigenda_core.rpc.status import refusal_of
from corrigenda_core.testing.wire_decisions import refused

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., Any]
Verifies = Callable[[str], Awaitable[bool]]
Say = Callable[..., Awaitable[placement_pb2.Placement]]

ACTIVE = relationship_pb2.RELATIONSHIP_STATUS_ACTIVE
PENDING_EVIDENCE = relationship_pb2.RELATIONSHIP_STATUS_PENDING_EVIDENCE


@pytest.fixture
def say(deploys_from: Request) -> Say:
    """Says as a profile where production deploys from, with fields of the evidence; answers the placement."""

    async def remember(client: Any, branch: str, text: str = "", *, scope: str = "", **evidence: Any) -> Any:
        request = deploys_from(text or f"production deploys from {branch}", branch, scope=scope)
        request.evidence[0].MergeFrom(submission_pb2.EvidenceItem(**evidence))
        return (await client.ingest.Remember(request)).placement

    return remember


def revision(token: str, previous: str = "", key: str = "runbook") -> dict[str, str]:
    return {"source_key": key, "source_revision": token, "previous_source_revision": previous}


def row_of(placement: placement_pb2.Placement) -> relationship_pb2.Relationship:
    (one,) = placement.relationships
    return one.relationship


async def traced(client: Any, relationship_id: str) -> Any:
    return await client.recall.Trace(recall_service_pb2.TraceRequest(relationship_id=relationship_id))


async def recalled(client: Any, **more: Any) -> set[str]:
    request = recall_service_pb2.RecallRequest(query="production deploys from", **more)
    answer = await client.recall.Recall(request)
    return {path.relationship.object.entity.name for result in answer.results for path in result.paths}


@pytest.mark.rule("R2.5", "R4.3", "R7.8")
async def test_what_a_source_no_longer_says_leaves_every_slot_and_every_case(
    new_team: NewTeam, say: Say, ledger_verifies: Verifies
) -> None:
    team = await new_team()
    main = await say(team["A"], "main", **revision("r1"))
    assert [(s.source_key, s.current_revision, s.activated) for s in main.sources] == [("runbook", "r1", True)]
    europe = await say(team["A"], "europe", scope="eu", **revision("r1"))
    assert [(s.current_revision, s.activated) for s in europe.sources] == [("r1", False)]
    opposed = await say(team["B"], "release")
    conflict = opposed.relationships[0].conflict

    trunk = await say(team["A"], "trunk", **revision("r2", "r1"))
    (source,) = trunk.sources
    assert (source.current_revision, source.prior_revision, source.activated) == ("r2", "r1", True)
    assert (trunk.retired_fragments, trunk.changed_relationships) == (2, 2)
    assert trunk.relationships[0].outcome == placement_pb2.OUTCOME_INSERTED
    for gone in (main, europe):
        trace = await traced(team["B"], row_of(gone).relationship_id)
        assert trace.relationship.status == PENDING_EVIDENCE
        assert trace.relationship.tier == relationship_pb2.TIER_CANDIDATE
        (support,) = trace.supports
        assert [decision.reason for decision in support.decisions] == ["entailed", "revision_superseded"]
    case = await team["B"].conflict.GetConflict(
        conflict_service_pb2.GetConflictRequest(conflict_id=conflict.conflict_id)
    )
    assert case.conflict.version > conflict.version
    assert {p.label: len(p.members) for p in case.conflict.positions if p.members} == {"release": 1, "trunk": 1}
    assert await recalled(team["B"]) == {"release", "trunk"}
    # What was known before stays what it was.
    before = {"temporal": {"revision": opposed.revision}}
    assert await recalled(team["B"], **before) == {"main", "europe", "release"}
    assert await ledger_verifies(team.team_id)


@pytest.mark.rule("R2.5")
async def test_what_a_source_still_says_goes_on_as_the_same_relationship(new_team: NewTeam, say: Say) -> None:
    team = await new_team()
    first = row_of(await say(team["A"], "main", **revision("r1")))
    again = await say(team["A"], "main", **revision("r2", "r1"))
    assert again.relationships[0].outcome == placement_pb2.OUTCOME_CORROBORATED
    row = row_of(again)
    assert (row.relationship_id, row.status) == (first.relationship_id, ACTIVE)
    trace = await traced(team["A"], row.relationship_id)
    # The answer shows the row as the whole commit has left it.
    assert trace.relationship.version == row.version
    assert sorted(support.decisions[-1].reason for support in trace.supports) == ["entailed", "revision_superseded"]


@pytest.mark.error("SOURCE_REVISION_STALE")
@pytest.mark.rule("R2.5")
async def test_a_wrong_token_refuses_the_whole_write(stack: Stack, new_team: NewTeam, say: Say) -> None:
    team = await new_team()
    await say(team["A"], "main", **revision("r1"))
    with psycopg.connect(stack.url("corrigenda_auditor"), autocommit=True) as connection:
        stored = ("SELECT count(*), max(revision) FROM ledger WHERE team_id = %s", [team.team_id])
        before = connection.execute(*stored).fetchone()
        for token, previous, expected in (("r2", "r0", "r0"), ("r2", "", ""), ("r0", "", "")):
            refusal = await refused(say(team["A"], "trunk", **revision(token, previous)))
            assert refusal.reason is Reason.SOURCE_REVISION_STALE
            assert refusal.field == "evidence[0].previous_source_revision"
            assert refusal.metadata == {
                "field": refusal.field,
                "source_key": "runbook",
                "expected_revision": expected,
                "current_revision": "r1",
            }
        refusal = await refused(say(team["A"], "trunk", **revision("r2", "r1", key="another")))
        assert refusal.metadata["current_revision"] == ""
        assert connection.execute(*stored).fetchone() == before


@pytest.mark.rule("R2.6", "R4.12")
async def test_p45_the_same_text_of_the_same_revision_revives_nothing(new_team: NewTeam, say: Say) -> None:
    team = await new_team()
    first = await say(team["A"], "main", **revision("r1"))
    replaced = await say(
        team["A"],
        "main",
        "in other words: production deploys from main",
        **revision("r1"),
        supersedes_fragment_ids=[first.fragments[0].fragment_id],
    )
    assert (replaced.retired_fragments, row_of(replaced).relationship_id) == (1, row_of(first).relationship_id)
    again = await say(team["A"], "main", **revision("r1"))
    assert again.fragments[0].disposition == placement_pb2.DISPOSITION_DUPLICATE
    assert again.relationships[0].outcome == placement_pb2.OUTCOME_DUPLICATE
    trace = await traced(team["A"], row_of(first).relationship_id)
    last = [support.decisions[-1].reason for support in trace.supports]
    assert sorted(last) == ["entailed", "superseded_by_author"]
    # A text that is gone carries nothing new either.
    text = "production deploys from main, and not from trunk"
    gone = await say(team["A"], "main", text, **revision("r1"))
    await say(team["A"], "main", **revision("r1"), supersedes_fragment_ids=[gone.fragments[0].fragment_id])
    other = await say(team["A"], "main", text, scope="eu", **revision("r1"))
    assert other.relationships[0].outcome == placement_pb2.OUTCOME_PENDING_EVIDENCE
    assert other.relationships[0].reason == "retired_evidence"


@pytest.mark.rule("R2.5")
async def test_a_revision_that_comes_back_is_a_new_activation(new_team: NewTeam, say: Say) -> None:
    team = await new_team()
    first = await say(team["A"], "main", **revision("r1"))
    await say(team["A"], "trunk", **revision("r2", "r1"))
    back = await say(team["A"], "main", **revision("r1", "r2"))
    assert back.fragments[0].disposition == placement_pb2.DISPOSITION_STORED
    assert back.fragments[0].fragment_id != first.fragments[0].fragment_id
    assert row_of(back).status == ACTIVE
    assert await recalled(team["A"]) == {"main"}
    # What that revision had said before stays where it is.
    assert (await traced(team["A"], row_of(first).relationship_id)).relationship.status == PENDING_EVIDENCE


@pytest.mark.promise("own.source")
@pytest.mark.rule("R2.4")
async def test_an_unregistered_key_belongs_to_its_first_user_and_a_registered_one_to_its_speakers(
    new_team: NewTeam, say: Say
) -> None:
    team = await new_team()
    await say(team["A"], "main", **revision("r1"))
    refusal = await refused(say(team["B"], "trunk", **revision("r2", "r1")))
    assert (refusal.reason, refusal.field) == (Reason.SOURCE_NOT_ALLOWED, "evidence[0].source_key")
    await team.admin.admin.RegisterSource(
        admin_service_pb2.RegisterSourceRequest(
            idempotency_key="runbook", definition=source_pb2.SourceDefinition(source_key="runbook")
        )
    )
    assert (await say(team["B"], "trunk", **revision("r2", "r1"))).retired_fragments == 1


@pytest.mark.rule("R2.9")
async def test_only_own_fragments_of_the_same_source_are_superseded(new_team: NewTeam, say: Say) -> None:
    team = await new_team()
    mine = await say(team["A"], "main", source_group="wiki")
    theirs = await say(team["B"], "release", source_group="chat")
    (own,), (foreign,) = mine.fragments, theirs.fragments
    missing = "01900000-0000-7000-8000-000000000000"
    for named, group, reason, field in (
        (foreign.fragment_id, "wiki", Reason.NOT_OWNER, "evidence[0].supersedes_fragment_ids"),
        (own.fragment_id, "chat", Reason.NOT_OWNER, "evidence[0].supersedes_fragment_ids"),
        (missing, "wiki", Reason.RESOURCE_NOT_FOUND, "evidence[0].supersedes_fragment_ids[0]"),
    ):
        refusal = await refused(say(team["A"], "trunk", source_group=group, supersedes_fragment_ids=[named]))
        assert (refusal.reason, refusal.field) == (reason, field)
    same = await refused(say(team["A"], "main", source_group="wiki", supersedes_fragment_ids=[own.fragment_id]))
    assert (same.reason, same.field) == (Reason.INVALID_FIELD, "evidence[0].supersedes_fragment_ids[0]")
    replaced = await say(team["A"], "trunk", source_group="wiki", supersedes_fragment_ids=[own.fragment_id])
    assert (replaced.retired_fragments, replaced.changed_relationships) == (1, 1)
    assert row_of(replaced).status == ACTIVE
    assert (await traced(team["A"], row_of(mine).relationship_id)).relationship.status == PENDING_EVIDENCE


@pytest.mark.rule("R2.2")
@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"source_key": "runbook"}, "evidence[0].source_revision"),
        ({"source_revision": "r1"}, "evidence[0].source_key"),
        ({"previous_source_revision": "r1"}, "evidence[0].previous_source_revision"),
        (revision("r1", "r1"), "evidence[0].previous_source_revision"),
    ],
)
async def test_fields_of_a_revision_stand_together(
    new_team: NewTeam, say: Say, fields: dict[str, str], field: str
) -> None:
    team = await new_team(profiles=("A",))
    refusal = await refused(say(team["A"], "main", **fields))
    assert (refusal.reason, refusal.field) == (Reason.INVALID_FIELD, field)


@pytest.mark.rule("R2.5")
async def test_a_source_moves_on_once_in_a_call(new_team: NewTeam, deploys_from: Request, say: Say) -> None:
    team = await new_team(profiles=("A",))
    await say(team["A"], "main", **revision("r1"))
    request = deploys_from("production deploys from trunk", "trunk")
    request.evidence[0].MergeFrom(submission_pb2.EvidenceItem(**revision("r2", "r1")))
    request.evidence.add().CopyFrom(request.evidence[0])
    request.evidence[1].MergeFrom(submission_pb2.EvidenceItem(content="a second page", **revision("r3", "r2")))
    refusal = await refused(team["A"].ingest.Remember(request))
    assert (refusal.reason, refusal.field) == (Reason.INVALID_FIELD, "evidence[1].previous_source_revision")
    # Two pages of one revision go together.
    request.evidence[1].MergeFrom(submission_pb2.EvidenceItem(**revision("r2", "r1")))
    assert (await team["A"].ingest.Remember(request)).placement.retired_fragments == 1


@pytest.mark.rule("R2.5", "R10.1", "R10.2")
async def test_a_preflight_tells_what_a_source_would_leave_behind_and_stores_nothing(
    new_team: NewTeam, deploys_from: Request, say: Say
) -> None:
    team = await new_team()
    await say(team["A"], "main", **revision("r1"))
    request = deploys_from("production deploys from trunk", "trunk")
    request.evidence[0].MergeFrom(submission_pb2.EvidenceItem(**revision("r2", "r1")))
    foreseen = await team["A"].ingest.PreflightRemember(
        ingest_service_pb2.PreflightRememberRequest(evidence=request.evidence, proposal=request.proposal)
    )
    assert (foreseen.placement.retired_fragments, foreseen.placement.changed_relationships) == (1, 1)
    assert await recalled(team["A"]) == {"main"}
    placed = (await team["A"].ingest.Remember(request)).placement
    assert list(placed.sources) == list(foreseen.placement.sources)
    assert (placed.retired_fragments, placed.changed_relationships) == (1, 1)
    request.evidence[0].MergeFrom(submission_pb2.EvidenceItem(**revision("r3", "r1")))
    stale = await refused(
        team["A"].ingest.PreflightRemember(
            ingest_service_pb2.PreflightRememberRequest(evidence=request.evidence, proposal=request.proposal)
        )
    )
    assert stale.reason is Reason.SOURCE_REVISION_STALE


@pytest.mark.rule("R2.5")
async def test_of_many_who_move_a_source_on_at_once_one_does(new_team: NewTeam, say: Say) -> None:
    team = await new_team(profiles=("A",))
    await say(team["A"], "main", **revision("r1"))
    calls = [say(team["A"], f"branch{n}", **revision(f"r2 by {n}", "r1")) for n in range(8)]
    results = await asyncio.gather(*calls, return_exceptions=True)
    moved = [one for one in results if isinstance(one, placement_pb2.Placement)]
    stale = [refusal_of(one) for one in results if isinstance(one, grpc.aio.AioRpcError)]
    assert len(moved) == 1
    assert [one.reason for one in stale if one is not None] == [Reason.SOURCE_REVISION_STALE] * 7
    assert await recalled(team["A"]) == {row_of(moved[0]).object.entity.name}


@pytest.mark.rule("R2.5")
async def test_a_stream_moves_a_source_on_revision_by_revision(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team(profiles=("A",))
    told = [("main", "r1", ""), ("trunk", "r2", "r1"), ("release", "r3", "r1"), ("main", "r3", "r2")]
    requests = []
    for branch, token, previous in told:
        request = deploys_from(f"production deploys from {branch}", branch)
        request.evidence[0].MergeFrom(submission_pb2.EvidenceItem(**revision(token, previous)))
        requests.append(ingest_service_pb2.RememberStreamRequest(submission=request))
    answers = [answer async for answer in team["A"].ingest.RememberStream(iter(requests))]
    moved = [[s.current_revision for s in answer.response.placement.sources] for answer in answers]
    assert moved == [["r1"], ["r2"], [], ["r3"]]
    assert answers[2].refusal.reason == error_reason_pb2.ERROR_REASON_SOURCE_REVISION_STALE
    assert await recalled(team["A"]) == {"main"}
