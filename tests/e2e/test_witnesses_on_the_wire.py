"""Who counts as a witness, over the wire: whatever comes back from the memory itself adds nobody."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import grpc
import psycopg
import pytest
from corrigenda.admin.v1 import admin_service_pb2, source_pb2
from corrigenda.conflict.v1 import conflict_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2, submission_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda.type.v1 import evidence_pb2, relationship_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.errors import Reason
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.rpc.status import refusal_of
from corrigenda_core.testing.effort import examples
from corrigenda_core.testing.wire_decisions import recalled, retracting

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., Any]
Say = Callable[..., Awaitable[placement_pb2.Placement]]

REPEATS = examples(fast=5, full=250)
CLAIM = (
    "the log of the build of the first week of May, read aloud to the whole team on the Monday after it, and kept in"
    " the archive of the year: production deploys from main"
)
ACTIVE = relationship_pb2.RELATIONSHIP_STATUS_ACTIVE


@pytest.fixture
def say(deploys_from: Request) -> Say:
    """Says as a profile where production deploys from, with fields of the evidence; answers the placement."""

    async def remember(client: Any, branch: str, text: str = "", **evidence: Any) -> Any:
        request = deploys_from(text or f"production deploys from {branch}", branch)
        request.evidence[0].MergeFrom(submission_pb2.EvidenceItem(**evidence))
        return (await client.ingest.Remember(request)).placement

    return remember


def row_of(placement: placement_pb2.Placement) -> relationship_pb2.Relationship:
    (one,) = placement.relationships
    return one.relationship


async def traced(client: Any, relationship_id: str) -> Any:
    request = recall_service_pb2.TraceRequest(relationship_id=relationship_id, include_evidence_content=True)
    return await client.recall.Trace(request)


async def register(team: Any, **definition: Any) -> None:
    await team.admin.admin.RegisterSource(
        admin_service_pb2.RegisterSourceRequest(
            idempotency_key=str(definition), definition=source_pb2.SourceDefinition(**definition)
        )
    )


async def disputed(team: Any, say: Say) -> tuple[placement_pb2.Placement, Callable[[], Awaitable[dict[str, int]]]]:
    """A claims main and C claims release: A's placement, and what the case counts on each side."""
    claimed = await say(team["A"], "main", CLAIM)
    conflict = (await say(team["C"], "release")).relationships[0].conflict
    request = conflict_service_pb2.GetConflictRequest(conflict_id=conflict.conflict_id)

    async def counted() -> dict[str, int]:
        seen = await team["C"].conflict.GetConflict(request)
        return {position.label: position.counted_groups for position in seen.conflict.positions}

    return claimed, counted


@pytest.mark.promise("case.witness")
@pytest.mark.rule("R6.2", "R6.4")
async def test_p54_what_comes_back_from_the_memory_is_no_corroboration(new_team: NewTeam, say: Say) -> None:
    team = await new_team(profiles=("A", "B", "C", "D", "E"))
    claimed, counted = await disputed(team, say)
    fragment_id = claimed.fragments[0].fragment_id
    for number in range(REPEATS):
        # Each in their own name: B reads it and says it again word for word, ...
        found = await team["B"].recall.Recall(
            team["B"].own_writes(recall_service_pb2.RecallRequest(query="where does production deploy from"))
        )
        # Among a hundred texts that say nearly the same it need not be one of the first.
        assert number >= 5 or CLAIM in {result.evidence.content for result in found.results}
        again = await say(team["B"], "main", CLAIM)
        assert again.fragments[0].disposition == (
            placement_pb2.DISPOSITION_DUPLICATE if number else placement_pb2.DISPOSITION_STORED
        )
        # ... D nearly word for word, under the name of a source of its own, ...
        await say(team["D"], "main", CLAIM.replace("May", f"May {number}"), source_group=f"report {number}")
        # ... and E in a summary of what it has read.
        await say(
            team["E"],
            "main",
            f"in short, for week {number}: production deploys from main",
            derived_from_fragment_ids=[fragment_id],
        )
    assert await counted() == {"main": 1, "release": 1}


@pytest.mark.promise("case.witness")
@pytest.mark.rule("R6.1", "R6.2")
async def test_p53_a_repeat_adds_a_support_and_only_another_source_a_vote(new_team: NewTeam, say: Say) -> None:
    team = await new_team()
    await register(team, source_group="monitoring")
    claimed, counted = await disputed(team, say)
    row = row_of(claimed)
    other_words = "the checklist on the wall: production deploys from main"
    repeated = await say(team["A"], "main", other_words)
    assert repeated.relationships[0].outcome == placement_pb2.OUTCOME_CORROBORATED
    assert await counted() == {"main": 1, "release": 1}
    assert len((await traced(team["A"], row.relationship_id)).supports) == 2
    independent = await say(
        team["A"], "main", "an alert of the monitoring: production deploys from main", source_group="monitoring"
    )
    assert row_of(independent).relationship_id == row.relationship_id
    assert row_of(independent).tier == relationship_pb2.TIER_FACT
    assert await counted() == {"main": 2, "release": 1}
    assert len((await traced(team["A"], row.relationship_id)).supports) == 3


@pytest.mark.rule("R2.2", "R4.10")
async def test_p55_p56_every_source_of_a_fact_is_attached_to_it_with_what_its_author_claims(
    new_team: NewTeam, say: Say, deploys_from: Request
) -> None:
    team = await new_team()
    page = {"source_key": "runbook", "source_revision": "r1"}
    first = await say(team["A"], "main", **page, confidence=0.25, authority=evidence_pb2.AUTHORITY_SECONDARY)
    second = await say(team["A"], "main", "the page in the wiki: production deploys from main", source_group="wiki")
    assert row_of(second).relationship_id == row_of(first).relationship_id
    trace = await traced(team["A"], row_of(first).relationship_id)
    shown = {(one.source_key, one.source_revision, one.source_group): one for one in trace.evidence}
    assert set(shown) == {("runbook", "r1", ""), ("", "", "wiki")}
    claimed = shown["runbook", "r1", ""]
    assert (claimed.confidence, claimed.authority) == (0.25, evidence_pb2.AUTHORITY_SECONDARY)
    # Nothing is born without a source.
    bare = deploys_from("production deploys from main", "main")
    bare.proposal.relationships[0].ClearField("evidence")
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await team["A"].ingest.Remember(bare)
    refusal = refusal_of(caught.value)
    assert refusal is not None
    assert (refusal.reason, refusal.field) == (Reason.INVALID_FIELD, "proposal.relationships[0].evidence")


@pytest.mark.rule("R2.6", "R4.12")
async def test_p59_the_same_fact_from_many_calls_is_one_fact(stack: Stack, new_team: NewTeam, say: Say) -> None:
    team = await new_team()
    page = {"source_key": "runbook", "source_revision": "r1"}
    for _ in range(REPEATS):
        await say(team["A"], "main", **page)
        await say(team["A"], "main")
    counts = {"relationships": 1, "evidence_fragments": 2, "statements": 2, "supports": 2, "source_states": 1}
    counts["evidence_occurrences"] = 2 * REPEATS - 2
    with psycopg.connect(stack.url("corrigenda_auditor"), autocommit=True) as connection:
        for table, expected in counts.items():
            found = connection.execute(f"SELECT count(*) FROM {table} WHERE team_id = %s", [team.team_id]).fetchone()
            assert found == (expected,), table


@pytest.mark.rule("R7.1", "R7.8")
async def test_p60_what_has_ended_is_counted_for_nobody_now(new_team: NewTeam, say: Say) -> None:
    """Two who knew it before it ended do not outweigh the one who knows what holds now."""
    team = await new_team(driven_from=datetime(2026, 6, 1, tzinfo=UTC))
    await say(team["A"], "main", "until 1 May 2026 production deploys from main")
    await say(team["B"], "main", "from 1 January 2026 to 30 April 2026 production deploys from main")
    now = await say(team["C"], "release", "since 1 May 2026 production deploys from release")
    (placed,) = now.relationships
    assert placed.relationship.status == ACTIVE
    assert not placed.HasField("conflict")
    assert await recalled(team["A"]) == {"release"}
    then = {"temporal": {"valid_at": timestamp_of(datetime(2026, 3, 1, tzinfo=UTC))}}
    assert await recalled(team["A"], **then) == {"main"}


@pytest.mark.rule("R2.6", "R4.12", "R4.15")
async def test_p45_what_was_retracted_is_not_revived_by_its_source(new_team: NewTeam, say: Say) -> None:
    team = await new_team()
    page = {"source_key": "runbook", "source_revision": "r1"}
    row = row_of(await say(team["A"], "main", **page))
    await team["A"].ingest.Forget(retracting(row))
    again = await say(team["A"], "main", **page)
    assert again.relationships[0].outcome == placement_pb2.OUTCOME_DUPLICATE
    assert await recalled(team["A"]) == set()
    # A revision that says it still is a new text.
    moved = await say(team["A"], "main", source_key="runbook", source_revision="r2", previous_source_revision="r1")
    assert row_of(moved).status == ACTIVE
    assert row_of(moved).relationship_id != row.relationship_id
    retracted = (await traced(team["A"], row.relationship_id)).relationship
    assert retracted.status == relationship_pb2.RELATIONSHIP_STATUS_RETRACTED


@pytest.mark.rule("R2.5", "R4.13")
async def test_acceptance_v19_a_new_revision_of_a_record_supersedes_what_it_said(new_team: NewTeam, say: Say) -> None:
    team = await new_team()
    await register(team, source_key="crm/account/7", record=True)
    record = {"source_key": "crm/account/7", "source_type": evidence_pb2.SOURCE_TYPE_SYSTEM_RECORD}
    gold = row_of(await say(team["A"], "gold", **record, source_revision="1"))
    assert gold.record
    silver = (await say(team["A"], "silver")).relationships[0]
    assert silver.outcome in {placement_pb2.OUTCOME_HELD, placement_pb2.OUTCOME_COMPETING}
    assert (await traced(team["A"], gold.relationship_id)).relationship.version == gold.version
    bronze = await say(team["A"], "bronze", **record, source_revision="2", previous_source_revision="1")
    assert (row_of(bronze).record, row_of(bronze).status) == (True, ACTIVE)
    assert "gold" not in await recalled(team["A"])
    assert "bronze" in await recalled(team["A"])


@pytest.mark.promise("own.correction")
@pytest.mark.rule("R7.2", "R9.4")
async def test_invariant_11_a_correction_across_owners_links_both_rows_and_hides_neither(
    new_team: NewTeam, say: Say, deploys_from: Request
) -> None:
    team = await new_team()
    theirs = row_of(await say(team["A"], "main"))
    correction = deploys_from(
        "production deploys from release",
        "release",
        correction_target=submission_pb2.CorrectionTarget(relationship_id=theirs.relationship_id),
    )
    answer: ingest_service_pb2.RememberResponse = await team["B"].ingest.Remember(correction)
    (placed,) = answer.placement.relationships
    mine = placed.relationship
    assert [(r.kind, r.relationship_id) for r in placed.references] == [
        (relationship_pb2.REFERENCE_KIND_CORRECTS, theirs.relationship_id)
    ]
    for one in (theirs, mine):
        trace = await traced(team["C"], one.relationship_id)
        assert trace.relationship.status == ACTIVE
        (link,) = trace.references
        others = {theirs.relationship_id: mine, mine.relationship_id: theirs}
        assert link.kind == relationship_pb2.REFERENCE_KIND_CORRECTS
        assert link.other.relationship_id == others[one.relationship_id].relationship_id
    assert (await traced(team["C"], theirs.relationship_id)).relationship.version == theirs.version
    assert await recalled(team["C"]) == {"main", "release"}
