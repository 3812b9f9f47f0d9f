"""Invariants of what owners decide, each on the running services: what forgetting leaves, and whose records move."""

from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest
from corrigenda.conflict.v1 import resolution_pb2
from corrigenda.ingest.v1 import forgetting_pb2, ingest_service_pb2, submission_pb2
from corrigenda.type.v1 import relationship_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.errors import Reason
from corrigenda_core.testing.wire_decisions import (
    deciding,
    ending,
    forgetting,
    items_of,
    keep_existing,
    keep_new,
    placed_row,
    recalled,
    refused,
    retracting,
    reverting,
    traced,
)

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]
Verifies = Callable[[str], Awaitable[bool]]

MAIN, RELEASE = "production deploys from main", "the log: production deploys from release"
KEPT = ("entities", "entity_names", "evidence_fragments", "observations", "verification_events", "statements", "ledger")


def rows_of(stack: Stack, team_id: str, *tables: str) -> dict[str, set[str]]:
    with psycopg.connect(stack.url("corrigenda_auditor"), autocommit=True) as connection:
        return {
            table: {
                row for (row,) in connection.execute(f"SELECT t::text FROM {table} AS t WHERE team_id = %s", [team_id])
            }
            for table in tables
        }


@pytest.mark.promise("forget.keeps")
@pytest.mark.rule("R4.15", "R4.6")
async def test_invariant_08_forget_removes_the_edge_and_keeps_nodes_and_ledger(
    stack: Stack, new_team: NewTeam, deploys_from: Request, ledger_verifies: Verifies
) -> None:
    for how in (retracting, ending):
        team = await new_team(profiles=["A"])
        a = team["A"]
        row = await placed_row(a, deploys_from(MAIN, "main"))
        assert await recalled(a) == {"main"}
        before = rows_of(stack, team.team_id, *KEPT, "relationships_history", "transitions")
        await a.ingest.Forget(how(row))
        after = rows_of(stack, team.team_id, *KEPT, "relationships_history", "transitions")
        assert await recalled(a) == set()
        for table in KEPT:
            assert before[table] <= after[table], table
            assert table == "ledger" or before[table] == after[table], table
        assert before["transitions"] < after["transitions"]
        # The versions before are there; only the end of the last one is written.
        assert len(after["relationships_history"]) == len(before["relationships_history"]) + 1
        trace = await traced(a, row)
        assert [one.version for one in trace.transitions] == [1, 2]
        # The nodes take new statements.
        again = await a.ingest.Remember(deploys_from("the audit: production deploys from main", "main"))
        names = {one.entity.name: one.entity.entity_id for one in again.placement.entities}
        assert names["main"] == row.object.entity.entity_id
        assert names["production"] == row.subject.entity_id
    assert await ledger_verifies(team.team_id)


@pytest.mark.promise("own.record", "Q16")
@pytest.mark.rule("R4.6")
async def test_invariant_10_nobody_decides_about_what_another_profile_owns(
    stack: Stack, new_team: NewTeam, deploys_from: Request
) -> None:
    """Every verb of a decision, by a profile and by the administrator, on records that they can see."""
    team = await new_team()
    a = team["A"]
    main = await placed_row(a, deploys_from(MAIN, "main"))
    placed = (await a.ingest.Remember(deploys_from(RELEASE, "release"))).placement
    release = placed.relationships[0].relationship
    (item,) = await items_of(a)
    elsewhere = deploys_from("the log: staging deploys from trunk", "trunk")
    elsewhere.proposal.entities[0].name = "staging"
    other = await placed_row(a, elsewhere)
    ended = await a.ingest.Forget(ending(other))
    everything = rows_of(stack, team.team_id, "relationships", "review_items", "decisions", "support_decisions")
    for stranger in (team["B"], team.admin):
        merge = deploys_from("since 1 March 2026 production deploys from trunk", "trunk")
        merge.resolution_context.CopyFrom(submission_pb2.ResolutionContext(item_id=item.item_id))
        text = forgetting_pb2.RetractText(fragment_id=placed.fragments[0].fragment_id)
        calls = {
            "keep_new": stranger.conflict.ResolveConflict(deciding(item, keep_new=keep_new(release))),
            "keep_existing": stranger.conflict.ResolveConflict(deciding(item, keep_existing=keep_existing(main))),
            "keep_both": stranger.conflict.ResolveConflict(deciding(item, keep_both=resolution_pb2.KeepBoth())),
            "merge": stranger.ingest.Remember(merge),
            "revert": stranger.conflict.RevertResolution(reverting(ended.forgotten[0].decision)),
            "retract": stranger.ingest.Forget(retracting(main)),
            "end": stranger.ingest.Forget(ending(main)),
            "retract a text": stranger.ingest.Forget(forgetting(retract_text=text)),
        }
        for verb, call in calls.items():
            assert (await refused(call)).reason is Reason.NOT_OWNER, verb
    now = rows_of(stack, team.team_id, "relationships", "review_items", "decisions", "support_decisions")
    assert now == everything
    # A statement that ends another owner's value in time, or says that it was wrong, leaves it as it is.
    target = submission_pb2.CorrectionTarget(relationship_id=main.relationship_id)
    text = "since 1 March 2030 production deploys from trunk"
    await placed_row(team["B"], deploys_from(text, "trunk", correction_target=target))
    kept = (await traced(a, main)).relationship
    assert (kept.status, kept.version) == (relationship_pb2.RELATIONSHIP_STATUS_ACTIVE, main.version)
