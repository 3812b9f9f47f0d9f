"""ResolveConflict merges: the conflict service passes the owner's sentence on, and ingest decides in one commit."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import grpc
import pytest
from corrigenda.conflict.v1 import resolution_pb2, review_item_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, ingest_service_pb2_grpc
from corrigenda.type.v1 import decision_pb2, evidence_pb2, relationship_pb2, time_pb2
from corrigenda_conflict.ingest_calls import IngestCalls
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.testing.wire_decisions import (
    Item,
    Row,
    deciding,
    items_of,
    keep_new,
    placed_row,
    recalled,
    refused,
    reverting,
    states,
    traced,
)
from opentelemetry import trace

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]
Verifies = Callable[[str], Awaitable[bool]]
Pair = tuple[Any, Row, Row, Item]

MAIN, RELEASE = "production deploys from main", "the log: production deploys from release"
SENTENCE = "since 1 March 2026 production deploys from trunk"


@pytest.fixture
async def pair(new_team: NewTeam, deploys_from: Request) -> Pair:
    """A team where A said main and then release, neither with a time: release is held, and A is asked."""
    team = await new_team()
    main = await placed_row(team["A"], deploys_from(MAIN, "main"))
    release = await placed_row(team["A"], deploys_from(RELEASE, "release"))
    (item,) = await items_of(team["A"])
    return team, main, release, item


def merge(content: str = SENTENCE, name: str = "trunk", **more: Any) -> resolution_pb2.Merge:
    given: dict[str, Any] = {"entity": resolution_pb2.MergedEntity(name=name, entity_kind="git_branch")}
    if "entity_id" in more or "value" in more:
        given = {}
    return resolution_pb2.Merge(content=content, source_type=evidence_pb2.SOURCE_TYPE_MANUAL, **given, **more)


@pytest.mark.rule("R4.16a", "R4.17")
async def test_the_sentence_holds_and_every_side_ends_at_its_start(pair: Pair, ledger_verifies: Verifies) -> None:
    team, main, release, item = pair
    a = team["A"]
    request = deciding(item, merge=merge(), reason="both were guesses")
    answer = await a.conflict.ResolveConflict(request)
    changed = states(answer.effects.changes)
    assert (changed["main"][0], changed["release"][0]) == ("active", "needs_review")
    assert {name for name, (_, after) in changed.items() if after == "active"} == {"trunk"}
    kept = next(one.after for one in answer.effects.changes if one.after.object.entity.name == "trunk")
    assert (answer.decision.kind, answer.decision.kept_relationship_id, answer.decision.reason) == (
        decision_pb2.DECISION_KIND_MERGE,
        kept.relationship_id,
        "both were guesses",
    )
    assert answer.decision.actor.profile.name == "A"
    assert (answer.item.item_id, answer.item.status) == (item.item_id, review_item_pb2.ITEM_STATUS_RESOLVED)
    for side in (main, release):
        references = (await traced(a, side)).references
        assert (relationship_pb2.REFERENCE_KIND_MERGED_INTO, kept.relationship_id) in {
            (one.kind, one.other.relationship_id) for one in references
        }
    assert await recalled(a, min_revision=answer.revision) == {"trunk"}
    assert await a.conflict.ResolveConflict(request) == answer
    # Undone, both sides and the question are back, and the sentence is out.
    await a.conflict.RevertResolution(reverting(answer.decision))
    assert await recalled(a) == {"main"}
    (asked,) = await items_of(a)
    assert asked.item_id == item.item_id
    # The answer to the same request stays what it was.
    assert await a.conflict.ResolveConflict(request) == answer
    assert await ledger_verifies(team.team_id)


@pytest.mark.rule("R4.16a")
async def test_s6_a_sentence_that_a_third_statement_says_already_supports_that(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team(profiles=["A"])
    a = team["A"]
    await placed_row(a, deploys_from("since 1 March 2020 production deploys from main", "main"))
    await placed_row(a, deploys_from("since 1 March 2020 production deploys from release", "release"))
    third = await placed_row(a, deploys_from("since 1 May 2021 production deploys from trunk", "trunk"))
    (item,) = await items_of(a)
    text = "the audit: since 1 May 2021 production deploys from trunk"
    answer = await a.conflict.ResolveConflict(
        deciding(item, merge=merge(text, entity_id=third.object.entity.entity_id))
    )
    assert answer.decision.kept_relationship_id == third.relationship_id
    assert await recalled(a, min_revision=answer.revision) == {"trunk"}
    assert len((await traced(a, third)).supports) == 2


@pytest.mark.rule("R4.16a")
async def test_s18_scope_and_validity_are_carried_and_what_is_not_is_told(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team(profiles=["A"])
    a = team["A"]
    text = "from 1 March 2020 to 1 June 2020 production deploys from {}"
    main = await placed_row(a, deploys_from(text.format("main"), "main", scope="eu"))
    release = await placed_row(a, deploys_from(text.format("release"), "release", scope="eu"))
    (item,) = await items_of(a)
    until = time_pb2.Interval(valid_to=timestamp_of(datetime(2021, 1, 1, tzinfo=UTC)))
    sentence = "since 1 March 2020 production deploys from trunk"
    answer = await a.conflict.ResolveConflict(deciding(item, merge=merge(sentence, validity=until)))
    kept = next(
        one.after for one in answer.effects.changes if one.after.relationship_id == answer.decision.kept_relationship_id
    )
    assert kept.scope == "eu"
    assert kept.validity.interval.valid_from == main.validity.interval.valid_from
    # The basis of the predicate is the evidence: an end that is only stated is no end, so both ends are lost and told.
    assert {one.relationship_id for one in answer.decision.lost_ends} == {
        main.relationship_id,
        release.relationship_id,
    }
    assert answer.decision.lost_ends[0].end == main.validity.interval.valid_to


@pytest.mark.rule("R4.16a", "R5.1", "R4.6")
async def test_what_is_refused_names_the_callers_own_fields(pair: Pair, deploys_from: Request) -> None:
    team, _, release, item = pair
    a, entity_id = team["A"], "01900000-0000-7000-8000-000000000000"
    for request, reason, at_fault in (
        (deciding(item, merge=merge("nothing about it")), Reason.INVALID_FIELD, ""),
        (deciding(item, merge=merge(entity_id=entity_id)), Reason.RESOURCE_NOT_FOUND, "merge.entity_id"),
        (deciding(item, merge=merge(name="\u200b")), Reason.INVALID_FIELD, "merge.entity.name"),
        (
            deciding(item, merge=resolution_pb2.Merge(content="x", source_type=1)),
            Reason.INVALID_FIELD,
            "merge.entity_id",
        ),
        (deciding(item, merge=merge(), expected_version=item.version + 1), Reason.STALE_VERSION, ""),
        (deciding(item, merge=merge(), item_id=entity_id), Reason.RESOURCE_NOT_FOUND, "item_id"),
    ):
        refusal = await refused(a.conflict.ResolveConflict(request))
        assert refusal.reason is reason, refusal
        assert at_fault in f"{refusal.field} {refusal.message}", refusal.field
    refusal = await refused(team["B"].conflict.ResolveConflict(deciding(item, merge=merge())))
    assert refusal.reason is Reason.NOT_OWNER
    assert [one.version for one in await items_of(a)] == [item.version]
    one_key = deciding(item, idempotency_key="one", merge=merge())
    await a.conflict.ResolveConflict(one_key)
    other = deciding(item, idempotency_key="one", keep_new=keep_new(release))
    assert (await refused(a.conflict.ResolveConflict(other))).reason is Reason.IDEMPOTENCY_CONFLICT
    later = merge("the audit: since 1 May 2026 production deploys from trunk")
    refusal = await refused(a.conflict.ResolveConflict(deciding(item, merge=later)))
    assert refusal.reason is Reason.ITEM_NOT_PENDING


@dataclass(slots=True)
class Listening(ingest_service_pb2_grpc.IngestServiceServicer):
    """An ingest service that notes how it is called, and answers late or not at all."""

    metadata: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    answer: asyncio.Event = field(default_factory=asyncio.Event)

    async def Remember(self, request: Any, context: Any) -> ingest_service_pb2.RememberResponse:
        self.metadata = dict(context.invocation_metadata())
        self.seconds = context.time_remaining()
        await self.answer.wait()
        return ingest_service_pb2.RememberResponse(revision=7)


@asynccontextmanager
async def listening() -> AsyncIterator[tuple[Listening, IngestCalls]]:
    server, service = grpc.aio.server(), Listening()
    ingest_service_pb2_grpc.add_IngestServiceServicer_to_server(service, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    calls = IngestCalls(f"127.0.0.1:{port}")
    try:
        yield service, calls
    finally:
        await calls.close()
        await server.stop(None)


async def test_the_other_service_is_called_with_the_callers_key_deadline_and_trace() -> None:
    async with listening() as (service, calls):
        service.answer.set()
        span = trace.NonRecordingSpan(
            trace.SpanContext(trace_id=0xABC, span_id=0xDEF, is_remote=False, trace_flags=trace.TraceFlags(1))
        )
        with trace.use_span(span):
            answer = await calls.remember(
                ingest_service_pb2.RememberRequest(),
                authorization="Bearer the-callers-key",
                request_id="request-1",
                deadline=Deadline.after(5.0),
            )
        assert answer.revision == 7
        assert service.metadata["authorization"] == "Bearer the-callers-key"
        assert service.metadata["x-request-id"] == "request-1"
        assert service.metadata["traceparent"].split("-")[1:3] == [f"{0xABC:032x}", f"{0xDEF:016x}"]
        # Rounded up on its way, and by no more than that.
        assert 0.0 < service.seconds < 6.0


async def test_a_service_that_does_not_answer_is_told_as_such() -> None:
    async with listening() as (service, calls):
        for deadline, address in ((0.2, calls), (5.0, IngestCalls("127.0.0.1:1"))):
            with pytest.raises(Refusal) as caught:
                await address.remember(
                    ingest_service_pb2.RememberRequest(),
                    authorization="Bearer key",
                    request_id="request-2",
                    deadline=Deadline.after(deadline),
                )
            assert (caught.value.reason, caught.value.metadata["outcome"]) == (Reason.STORE_UNAVAILABLE, "unknown")
            if address is not calls:
                await address.close()
        service.answer.set()
