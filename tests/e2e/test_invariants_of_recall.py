"""Invariants of what readers are shown (9 and 15; 16 stands with the look-ups), each on the running services."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import psycopg
import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import conflict_case_pb2, conflict_service_pb2
from corrigenda.ingest.v1 import identity_correction_pb2, ingest_service_pb2, submission_pb2
from corrigenda.recall.v1 import recall_service_pb2, result_pb2, trace_pb2
from corrigenda.type.v1 import predicate_pb2, relationship_pb2, time_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.testing.wire_decisions import (
    Row,
    deciding,
    ending,
    items_of,
    keep_new,
    placed_row,
    retracting,
    reverting,
    status_of,
    value_of,
)
from psycopg.rows import dict_row

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]


ROWS = """
SELECT relationship_id, version, revision, status, tier, facet,
CASE WHEN isfinite(valid_from) THEN valid_from END AS valid_from,
CASE WHEN isfinite(valid_to) THEN valid_to END AS valid_to
FROM relationships WHERE team_id = %s
"""


def read(stack: Stack, query: str, *arguments: object) -> list[dict[str, Any]]:
    with psycopg.connect(stack.url("corrigenda_auditor"), autocommit=True, row_factory=dict_row) as connection:
        return connection.execute(query.encode(), arguments).fetchall()


async def whole_trace(client: Any, row_id: str) -> recall_service_pb2.TraceResponse:
    """Every page of a trace together."""
    request = recall_service_pb2.TraceRequest(
        relationship_id=row_id,
        include_transitions=True,
        include_verification=True,
        include_evidence_content=True,
        max_depth=10,
        max_edges=200,
        page_size=20,
    )
    whole = await client.recall.Trace(client.own_writes(request))
    while whole.next_page_token:
        request.page_token = whole.next_page_token
        page = await client.recall.Trace(request)
        whole.next_page_token = ""
        whole.MergeFrom(page)
    return whole


async def a_long_story(team: Any, deploys_from: Request) -> None:
    """A is overtaken, divided, held, decided, undone, corrected, taken back, ended, split and merged; B disagrees."""
    a, b = team["A"], team["B"]

    async def say(client: Any, text: str, value: str, subject: str = "production", **more: Any) -> Any:
        request = deploys_from(text, value, **more)
        request.proposal.entities[0].name = subject
        return (await client.ingest.Remember(request)).placement

    async def row(*said: Any, **more: Any) -> Row:
        placed: Row = (await say(*said, **more)).relationships[0].relationship
        return placed

    await row(a, "since 1 January 2020 production deploys from main", "main")
    await row(a, "since 1 May 2022 production deploys from main again", "main")
    release = await row(a, "since 1 March 2021 production deploys from release", "release")
    await row(b, "since 1 June 2022 production deploys from hotfix", "hotfix")
    await row(a, "staging deploys from main", "main", "staging")
    held = await row(a, "the log: staging deploys from trunk", "trunk", "staging")
    (item,) = await items_of(a)
    decided = await a.conflict.ResolveConflict(deciding(item, keep_new=keep_new(held)))
    await a.conflict.RevertResolution(reverting(decided.decision))
    (item,) = await items_of(a)
    await a.conflict.ResolveConflict(deciding(item, keep_new=keep_new(held)))
    target = submission_pb2.CorrectionTarget(relationship_id=held.relationship_id)
    await row(a, "it is stable: staging deploys from stable", "stable", "staging", correction_target=target)
    await a.ingest.Forget(retracting(release))
    ended = await row(a, "the canary deploys from main", "main", "the canary")
    await a.ingest.Forget(ending(ended))
    first = await say(a, "the shop deploys from main", "main", "the shop")
    second = await say(a, "our checklist confirms: the shop deploys from main", "main", "the shop")
    shop = first.entities[0].entity.entity_id
    split = await corrected(
        a,
        split=identity_correction_pb2.EntitySplit(
            entity_id=shop, observation_ids=[second.relationships[0].observation_id]
        ),
    )
    await corrected(
        a,
        merge=identity_correction_pb2.EntityMerge(source_entity_id=split.entity.entity_id, target_entity_id=shop),
    )


async def corrected(client: Any, **how: Any) -> ingest_service_pb2.CorrectEntityResolutionResponse:
    """A correction of identity, applied as it was shown."""
    request = ingest_service_pb2.CorrectEntityResolutionRequest(idempotency_key=str(how), **how)
    request.impact_token = (await client.ingest.CorrectEntityResolution(request)).impact_token
    answer: ingest_service_pb2.CorrectEntityResolutionResponse = await client.ingest.CorrectEntityResolution(request)
    return answer


def state_of(row: Row) -> trace_pb2.TracedState:
    return trace_pb2.TracedState(status=row.status, tier=row.tier, facet=row.facet, validity=row.validity)


def within(edges: Iterable[tuple[str, str]], start: str, depth: int) -> dict[str, int]:
    """What is reached from a row over references in either direction, with the number of steps."""
    near: dict[str, set[str]] = {}
    for one, other in edges:
        near.setdefault(one, set()).add(other)
        near.setdefault(other, set()).add(one)
    steps, waiting = {start: 0}, deque([start])
    while waiting:
        row = waiting.popleft()
        for other in near.get(row, set()) - steps.keys():
            if steps[row] < depth:
                steps[other] = steps[row] + 1
                waiting.append(other)
    return steps


@pytest.mark.rule("R9.4", "R4.4")
async def test_invariant_09_trace_alone_reconstructs_the_lineage_and_equals_the_current_rows(
    stack: Stack, new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    await a_long_story(team, deploys_from)
    rows = read(stack, ROWS, team.team_id)
    references = read(
        stack, "SELECT reference_id, source_id, target_id FROM cross_references WHERE team_id = %s", team.team_id
    )
    carriers = {
        str(one["statement_id"]): str(one["relationship_id"])
        for one in read(
            stack,
            "SELECT statement_id, relationship_id FROM carriages WHERE team_id = %s ORDER BY revision",
            team.team_id,
        )
    }
    edges = [(str(one["source_id"]), str(one["target_id"])) for one in references]
    assert {row["status"] for row in rows} >= {"active", "superseded", "retracted"}
    for row in rows:
        row_id = str(row["relationship_id"])
        traced = await whole_trace(team["C"], row_id)
        # Its transitions, one after the other, lead from nothing to the row as it is stored.
        assert [one.version for one in traced.transitions] == list(range(1, row["version"] + 1))
        assert not traced.transitions[0].HasField("prior")
        for earlier, later in pairwise(traced.transitions):
            assert later.prior == earlier.resulting
        assert traced.transitions[-1].resulting == state_of(traced.relationship)
        assert traced.transitions[-1].revision == traced.relationship.revision == row["revision"]
        shown = traced.relationship
        assert (status_of(shown), relationship_pb2.Tier.Name(shown.tier).lower(), shown.facet, shown.version) == (
            row["status"],
            f"tier_{row['tier']}",
            row["facet"],
            row["version"],
        )
        assert extent_of(shown.validity) == (row["valid_from"], row["valid_to"])
        # What carries it, what it stands on and what it is linked to are exactly what is stored.
        carrying = {one for one, carrier in carriers.items() if carrier == row_id}
        assert carrying <= {one.observation_id for one in traced.observations}
        assert {one.observation_id for one in traced.supports if one.effective} <= carrying
        verified = {one.observation_id for one in traced.verifications}
        assert verified == {one.observation_id for one in traced.observations}
        fragments = {one.fragment_id for one in traced.supports}
        assert fragments == {one.fragment_id for one in traced.evidence if one.content}
        linked = {
            str(one["reference_id"]) for one in references if row_id in (str(one["source_id"]), str(one["target_id"]))
        }
        assert {one.reference_id for one in traced.references} == linked
        reached = within(edges, row_id, 10)
        assert {one.relationship.relationship_id: one.depth for one in traced.lineage} == {
            other: depth for other, depth in reached.items() if depth
        }


def extent_of(validity: time_pb2.Validity) -> tuple[Any, Any]:
    """Both ends as they are stored: an unknown one is infinite, and nothing is closed where it begins."""
    if validity.HasField("closed_to_nothing"):
        at = validity.closed_to_nothing
        instant = at.at.ToDatetime(UTC) if at.HasField("at") else None
        return instant, instant
    interval = validity.interval
    return (
        interval.valid_from.ToDatetime(UTC) if interval.HasField("valid_from") else None,
        interval.valid_to.ToDatetime(UTC) if interval.HasField("valid_to") else None,
    )


BEGINNING = datetime(2026, 6, 1, tzinfo=UTC)
SHARED = "as ever, production deploys from main. Production runs on zeus."


@pytest.mark.rule("R7.16", "R8.3", "R9.1")
async def test_invariant_15_after_a_resolution_only_the_winners_path_is_primary_and_trace_keeps_all(
    new_team: NewTeam, deploys_from: Request
) -> None:
    """Also of a text that the losing relationship shares with another one: it stays, by that one alone."""
    team = await new_team(driven_from=BEGINNING)
    a = team["A"]
    await team.admin.admin.RegisterPredicate(
        admin_service_pb2.RegisterPredicateRequest(
            idempotency_key="runs_on",
            definition=predicate_pb2.PredicateDefinition(
                key="runs_on",
                relationship_kind=predicate_pb2.RELATIONSHIP_KIND_STATE,
                current_cardinality=predicate_pb2.CARDINALITY_ONE,
            ),
        )
    )
    sentences = SHARED.partition(" Production")
    rows = {}
    for name, text, quote, predicate, value in (
        ("A", SHARED, sentences[0], "deploys_from", "main"),
        ("A", SHARED, SHARED[len(sentences[0]) + 1 :], "runs_on", "zeus"),
        ("B", "production deploys from release", "", "deploys_from", "release"),
        ("C", "our checklist confirms: production deploys from release", "", "deploys_from", "release"),
    ):
        cited = submission_pb2.Citation(evidence_index=0, quote=quote or text)
        request = deploys_from(text, value, predicate=predicate, cited=cited)
        rows[name, value] = await placed_row(team[name], request)
    before = await whole_trace(a, rows["A", "main"].relationship_id)
    (case,) = before.cases
    later = admin_service_pb2.DriveClockRequest(
        idempotency_key="later", time=timestamp_of(BEGINNING + timedelta(days=8))
    )
    await team.admin.admin.DriveClock(later)
    await resolved(a, case.conflict_id)

    asked = recall_service_pb2.RecallRequest(query="what does production deploy from and run on")
    answer = await a.recall.Recall(a.own_writes(asked))
    shown = {
        (one.evidence.content, value_of(path.relationship)): list(path.marks)
        for one in answer.results
        for path in one.paths
    }
    assert shown == {
        (SHARED, "zeus"): [],
        ("production deploys from release", "release"): [result_pb2.PATH_MARK_PREFERRED],
        ("our checklist confirms: production deploys from release", "release"): [result_pb2.PATH_MARK_PREFERRED],
    }
    assert not answer.conflicts
    assert [one.preferred_label for one in answer.resolved] == ["release"]

    after = await whole_trace(a, rows["A", "main"].relationship_id)
    for kept in ("evidence", "observations", "verifications", "supports", "references"):
        assert getattr(after, kept) == getattr(before, kept), kept
    assert list(after.transitions)[:-1] == list(before.transitions)
    assert (after.transitions[-1].conflict_id, status_of(after.relationship)) == (case.conflict_id, "superseded")
    (told,) = after.cases
    assert (told.position_label, told.preferred, told.status) == ("main", False, conflict_case_pb2.CASE_STATUS_RESOLVED)


async def resolved(client: Any, conflict_id: str) -> None:
    """Waits until the reviewer has resolved a case."""
    async for answer in client.conflict.WatchConflicts(conflict_service_pb2.WatchConflictsRequest(), timeout=60):
        for change in answer.changes:
            told = change.case_change
            if told.conflict_id == conflict_id and told.event.action == conflict_case_pb2.CASE_ACTION_RESOLVED:
                return
    raise AssertionError("the stream ended before the case was resolved")
