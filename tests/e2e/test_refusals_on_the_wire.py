"""Bad input over the wire: the documented error, and nothing stored."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
import psycopg
import pytest
from corrigenda.conflict.v1 import conflict_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2, submission_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.errors import Reason
from corrigenda_core.rpc.client import Client, Endpoints
from corrigenda_core.rpc.status import refusal_of

pytestmark = pytest.mark.database

MISSING = "01900000-0000-7000-8000-000000000000"
TEXT = "production deploys from main"

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]


def stored_rows(stack: Stack, team_id: str) -> list[tuple[str, int]]:
    """How many rows of each kind the team has, as somebody sees who sees everything; looks of the reviewer aside."""
    tables = ["ledger", "ingests", "evidence_fragments", "observations", "statements", "relationships", "entities"]
    with psycopg.connect(stack.url("corrigenda_auditor"), autocommit=True) as connection:
        counts = []
        for table in tables:
            aside = " AND change_kind <> 'review'" if table == "ledger" else ""
            query = f"SELECT count(*) FROM {table} WHERE team_id = %s{aside}"
            (count,) = connection.execute(query, [team_id]).fetchone() or (0,)
            counts.append((table, count))
    return counts


@pytest.mark.promise("kept.refused")
@pytest.mark.error("INVALID_FIELD", "QUOTE_NOT_FOUND", "QUOTE_AMBIGUOUS", "TOO_LARGE")
@pytest.mark.rule("R3.1", "R5.1", "R7.7")
@pytest.mark.parametrize(
    ("change", "code", "reason", "field"),
    [
        pytest.param(
            {"cited": submission_pb2.Citation(evidence_index=0, start=0, end=99)},
            grpc.StatusCode.INVALID_ARGUMENT,
            Reason.INVALID_FIELD,
            "proposal.relationships[0].evidence[0].end",
            id="a span beyond the text",
        ),
        pytest.param(
            {"cited": submission_pb2.Citation(evidence_index=3, start=0, end=4)},
            grpc.StatusCode.INVALID_ARGUMENT,
            Reason.INVALID_FIELD,
            "proposal.relationships[0].evidence[0].evidence_index",
            id="an evidence item that is not there",
        ),
        pytest.param(
            {"cited": submission_pb2.Citation(evidence_index=0, quote="staging")},
            grpc.StatusCode.INVALID_ARGUMENT,
            Reason.QUOTE_NOT_FOUND,
            "proposal.relationships[0].evidence[0].quote",
            id="a quote that does not stand there",
        ),
        pytest.param(
            {"cited": submission_pb2.Citation(evidence_index=0, quote="o")},
            grpc.StatusCode.INVALID_ARGUMENT,
            Reason.QUOTE_AMBIGUOUS,
            "proposal.relationships[0].evidence[0].quote",
            id="a quote that stands there more than once",
        ),
        pytest.param(
            {"conflict_context": submission_pb2.ConflictContext(conflict_id=MISSING)},
            grpc.StatusCode.NOT_FOUND,
            Reason.RESOURCE_NOT_FOUND,
            "proposal.relationships[0].conflict_context.conflict_id",
            id="a case that is not there",
        ),
        pytest.param(
            {"correction_target": submission_pb2.CorrectionTarget(relationship_id=MISSING)},
            grpc.StatusCode.NOT_FOUND,
            Reason.RESOURCE_NOT_FOUND,
            "proposal.relationships[0].correction_target.relationship_id",
            id="a relationship that is not there",
        ),
        pytest.param(
            {"scope": "x" * 129},
            grpc.StatusCode.INVALID_ARGUMENT,
            Reason.TOO_LARGE,
            "proposal.relationships[0].scope",
            id="a scope that is too long",
        ),
    ],
)
async def test_bad_input_is_refused_and_nothing_is_stored(
    stack: Stack,
    new_team: NewTeam,
    deploys_from: Request,
    change: dict[str, Any],
    code: grpc.StatusCode,
    reason: Reason,
    field: str,
) -> None:
    team = await new_team()
    before = stored_rows(stack, team.team_id)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await team["A"].ingest.Remember(deploys_from(TEXT, "main", **change))
    refusal = refusal_of(refused.value)
    assert refused.value.code() is code
    assert refusal is not None
    assert (refusal.reason, refusal.field) == (reason, field)
    assert stored_rows(stack, team.team_id) == before


@pytest.mark.promise("case.version")
@pytest.mark.error("CONFLICT_VERSION_STALE")
@pytest.mark.rule("R7.7")
async def test_an_answer_to_a_case_that_has_moved_on_stores_nothing(
    stack: Stack, new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    await team["A"].ingest.Remember(deploys_from(TEXT, "main"))
    placed = await team["B"].ingest.Remember(deploys_from("production deploys from release", "release"))
    conflict = placed.placement.relationships[0].conflict
    assert conflict.effect == placement_pb2.CONFLICT_EFFECT_OPENS_CASE
    seen = conflict.version
    context = submission_pb2.ConflictContext(conflict_id=conflict.conflict_id, expected_version=seen)
    text = "our checklist confirms: production deploys from release"
    answer = deploys_from(text, "release", conflict_context=context)
    joined = await team["C"].ingest.Remember(answer)
    assert joined.placement.relationships[0].conflict.version == conflict.version + 1
    before = stored_rows(stack, team.team_id)
    late = deploys_from("seen again: production deploys from main", "main", conflict_context=context)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await team["C"].ingest.Remember(late)
    refusal = refusal_of(refused.value)
    assert refused.value.code() is grpc.StatusCode.ABORTED
    assert refusal is not None
    assert refusal.reason is Reason.CONFLICT_VERSION_STALE
    assert refusal.metadata["current_version"] == str(conflict.version + 1)
    assert stored_rows(stack, team.team_id) == before


@pytest.mark.rule("R7.7")
@pytest.mark.error("NOT_IN_CONFLICT")
async def test_an_answer_about_something_else_stores_nothing(
    stack: Stack, new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    await team["A"].ingest.Remember(deploys_from(TEXT, "main"))
    placed = await team["B"].ingest.Remember(deploys_from("production deploys from release", "release"))
    conflict_id = placed.placement.relationships[0].conflict.conflict_id
    elsewhere = deploys_from(
        "staging deploys from release",
        "release",
        conflict_context=submission_pb2.ConflictContext(conflict_id=conflict_id),
    )
    elsewhere.proposal.entities[0].name = "staging"
    before = stored_rows(stack, team.team_id)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await team["C"].ingest.Remember(elsewhere)
    refusal = refusal_of(refused.value)
    assert refusal is not None
    assert (refusal.reason, refusal.metadata["conflict_id"]) == (Reason.NOT_IN_CONFLICT, conflict_id)
    assert stored_rows(stack, team.team_id) == before


@pytest.mark.rule("R4.16b")
@pytest.mark.parametrize(
    ("said_before", "correction", "field"),
    [
        pytest.param(
            TEXT,
            {"scope": "europe"},
            "proposal.relationships[0].correction_target.relationship_id",
            id="an own relationship of another scope",
        ),
        pytest.param(
            "until 1 March 2026 production deploys from main",
            {"text": "since 1 April 2026 production deploys from release"},
            "proposal.relationships[0].correction_target",
            id="an own relationship that had ended before",
        ),
    ],
)
async def test_a_correction_of_what_it_cannot_correct_names_the_field(
    stack: Stack, new_team: NewTeam, deploys_from: Request, said_before: str, correction: dict[str, Any], field: str
) -> None:
    team = await new_team()
    placed = await team["A"].ingest.Remember(deploys_from(said_before, "main"))
    target = submission_pb2.CorrectionTarget(
        relationship_id=placed.placement.relationships[0].relationship.relationship_id
    )
    says = {"text": "production deploys from release", **correction}
    before = stored_rows(stack, team.team_id)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await team["A"].ingest.Remember(deploys_from(branch="release", correction_target=target, **says))
    refusal = refusal_of(refused.value)
    assert refusal is not None
    assert (refusal.reason, refusal.field) == (Reason.INVALID_FIELD, field)
    assert stored_rows(stack, team.team_id) == before


@pytest.mark.error("CREDENTIAL_INVALID")
@pytest.mark.parametrize(
    ("key", "reason"),
    [("", Reason.CREDENTIAL_INVALID), ("cor_no_such_key", Reason.CREDENTIAL_INVALID)],
)
async def test_a_call_without_a_valid_key_is_refused(
    stack: Stack, new_team: NewTeam, deploys_from: Request, key: str, reason: Reason
) -> None:
    team = await new_team()
    before = stored_rows(stack, team.team_id)
    address = stack.address("ingest")
    async with Client(Endpoints(ingest=address, conflict=address, recall=address), key) as nobody:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await nobody.ingest.Remember(deploys_from(TEXT, "main"))
    refusal = refusal_of(refused.value)
    assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
    assert refusal is not None
    assert refusal.reason is reason
    assert stored_rows(stack, team.team_id) == before


@pytest.mark.rule("R3.5")
async def test_an_unknown_predicate_is_kept_with_a_question_and_no_edge(
    stack: Stack, new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    placed = await team["A"].ingest.Remember(deploys_from("production ships to europe", "europe", predicate="ships to"))
    (answer,) = placed.placement.relationships
    assert answer.outcome == placement_pb2.OUTCOME_NEEDS_REVIEW
    assert not answer.HasField("relationship")
    counts = dict(stored_rows(stack, team.team_id))
    assert (counts["observations"], counts["statements"], counts["relationships"]) == (1, 0, 0)
    listed = await team["A"].conflict.ListConflicts(conflict_service_pb2.ListConflictsRequest())
    (entry,) = listed.entries
    assert entry.review_item.item_id == answer.item.item_id
    assert entry.review_item.phrase == "ships to"
    others = await team["B"].conflict.ListConflicts(conflict_service_pb2.ListConflictsRequest())
    assert not others.entries


@pytest.mark.rule("R5.1")
async def test_a_repeated_request_is_answered_once(stack: Stack, new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    request = deploys_from(TEXT, "main", key="once")
    first = await team["A"].ingest.Remember(request)
    before = stored_rows(stack, team.team_id)
    assert await team["A"].ingest.Remember(request) == first
    assert stored_rows(stack, team.team_id) == before
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await team["A"].ingest.Remember(deploys_from("production deploys from release", "release", key="once"))
    assert refused.value.code() is grpc.StatusCode.ALREADY_EXISTS
    # A key belongs to its profile: another one's is its own.
    other = await team["B"].ingest.Remember(deploys_from(TEXT, "main", key="once"))
    assert other.placement.ingest_id != first.placement.ingest_id


@pytest.mark.rule("R2.6", "R4.12")
async def test_the_same_text_again_adds_an_occurrence_only(
    stack: Stack, new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    first = await team["A"].ingest.Remember(deploys_from(TEXT, "main"))
    before = dict(stored_rows(stack, team.team_id))
    again = await team["A"].ingest.Remember(deploys_from(TEXT, "main"))
    (fragment,), (answer,) = again.placement.fragments, again.placement.relationships
    assert fragment.disposition == placement_pb2.DISPOSITION_DUPLICATE
    assert fragment.fragment_id == first.placement.fragments[0].fragment_id
    assert answer.outcome == placement_pb2.OUTCOME_DUPLICATE
    assert answer.relationship.relationship_id == first.placement.relationships[0].relationship.relationship_id
    after = dict(stored_rows(stack, team.team_id))
    assert {table for table in after if after[table] != before[table]} == {"ledger", "ingests"}


@pytest.mark.parametrize(
    ("service", "method", "request_json"),
    [
        ("ingest", "corrigenda.ingest.v1.IngestService/GetPlacement", f'{{"ingest_id": "{MISSING}"}}'),
        ("conflict", "corrigenda.conflict.v1.ConflictService/ListConflicts", "{}"),
        ("recall", "corrigenda.recall.v1.RecallService/Recall", '{"query": "production"}'),
    ],
)
async def test_buf_curl_answers_by_reflection(
    stack: Stack, new_team: NewTeam, service: str, method: str, request_json: str
) -> None:
    team = await new_team()
    finished = await asyncio.to_thread(
        subprocess.run,
        [
            str(Path(sys.executable).with_name("buf")),
            "curl",
            "--protocol",
            "grpc",
            "--http2-prior-knowledge",
            "-H",
            f"authorization: Bearer {team.keys['A']}",
            "-d",
            request_json,
            f"http://{stack.address(service)}/{method}",
        ],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    if service == "ingest":
        assert "RESOURCE_NOT_FOUND" in finished.stdout + finished.stderr or "not_found" in finished.stderr
    else:
        assert finished.returncode == 0, finished.stderr
        assert '"revision"' in finished.stdout
