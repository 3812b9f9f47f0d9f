"""A bulk load: every line has its result once and in order, also when the stream is cut."""

from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from corrigenda.errors.v1 import error_reason_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2
from corrigenda_cli.bulk import ATTEMPTS_MAX, WINDOW, BulkLoad
from corrigenda_cli.calling import InputError
from corrigenda_cli.reading.lines import BadLine, Line
from corrigenda_cli.reading.memories import memories_as
from corrigenda_core.rpc.json_mapping import fill_from_json

Response = ingest_service_pb2.RememberStreamResponse


class Server:
    """Answers a stream in order, and cuts it after as many results as it is told, one figure for each stream."""

    def __init__(self, cuts: list[int], *, code: grpc.StatusCode = grpc.StatusCode.UNAVAILABLE) -> None:
        self.ingest = self
        self.streams: list[list[str]] = []
        self.ahead = 0
        self._cuts = iter(cuts)
        self._code = code

    def RememberStream(self, requests: AsyncIterator[Any]) -> "Stream":
        return Stream(self._answers(requests))

    async def _answers(self, requests: AsyncIterator[Any]) -> AsyncIterator[Response]:
        left = next(self._cuts, None)
        self.streams.append([])
        async for request in requests:
            if left == 0:
                raise grpc.aio.AioRpcError(self._code, grpc.aio.Metadata(), grpc.aio.Metadata(), "cut")
            left = None if left is None else left - 1
            key = request.submission.idempotency_key
            self.streams[-1].append(key)
            yield answer(key)


class Stream:
    """A call as gRPC gives it: iterated once, and cancelled."""

    def __init__(self, answers: AsyncIterator[Response]) -> None:
        self._answers = answers

    def __aiter__(self) -> AsyncIterator[Response]:
        return self._answers

    def cancel(self) -> None:
        """Nothing is left to stop."""


def answer(key: str) -> Response:
    if key.startswith("refuse"):
        refusal = ingest_service_pb2.SubmissionRefusal(
            reason=error_reason_pb2.ERROR_REASON_QUOTE_NOT_FOUND, message="no such quote"
        )
        return Response(idempotency_key=key, refusal=refusal)
    placement = placement_pb2.Placement()
    placement.relationships.add(outcome=placement_pb2.OUTCOME_INSERTED)
    return Response(idempotency_key=key, response=ingest_service_pb2.RememberResponse(placement=placement, revision=1))


def line(number: int, key: str = "") -> Line:
    key = key or f"key {number}"
    return Line(number=number, key=key, fields={"idempotency_key": key}, size_bytes=10)


async def load(server: Server, lines: list[Line | BadLine]) -> tuple[BulkLoad, list[str], list[int]]:
    told: list[str] = []
    spent: list[int] = []
    bulk = BulkLoad(
        server,
        lines,
        wait_seconds=0.0,
        told=lambda _line, result: told.append(result.idempotency_key),
        advanced=spent.append,
    )
    await bulk.run()
    return bulk, told, spent


@pytest.mark.parametrize("cuts", [[], [0], [3], [1, 1, 1], [9], [0, 0, 5, 0]])
async def test_every_line_has_its_result_once_and_in_order_however_the_stream_is_cut(cuts: list[int]) -> None:
    server = Server(cuts)
    bulk, told, spent = await load(server, [line(number) for number in range(10)])
    assert told == [f"key {number}" for number in range(10)]
    assert (bulk.report.lines, bulk.report.stored, bulk.report.failed) == (10, 10, 0)
    assert sum(spent) == 100
    assert bulk.report.outcomes == {"inserted": 10}
    # What had its result is not sent again.
    assert sum(map(len, server.streams)) == 10


async def test_bad_lines_and_refused_ones_are_counted_and_the_others_go_on() -> None:
    unfit = Line(number=3, key="k", fields={"idempotency_key": "k", "evidenze": []}, size_bytes=10)
    bad = BadLine(number=2, problem="this is no JSON", size_bytes=10)
    bulk, told, spent = await load(Server([]), [line(1), bad, unfit, line(4, "refuse"), line(5)])
    assert told == ["key 1", "refuse", "key 5"]
    assert (bulk.report.stored, bulk.report.refused) == (2, {"INVALID_FIELD": 2, "QUOTE_NOT_FOUND": 1})
    assert sorted(number for number, _ in bulk.report.problems) == [2, 3, 4]
    assert sum(spent) == 50


async def test_a_stream_that_never_answers_is_given_up() -> None:
    server = Server([0] * 100)
    with pytest.raises(grpc.aio.AioRpcError):
        await load(server, [line(1)])
    assert len(server.streams) == ATTEMPTS_MAX


async def test_a_key_that_is_refused_is_not_tried_again() -> None:
    server = Server([0], code=grpc.StatusCode.UNIMPLEMENTED)
    with pytest.raises(grpc.aio.AioRpcError):
        await load(server, [line(1)])
    assert len(server.streams) == 1


async def test_more_lines_than_the_window_pass_through() -> None:
    _, told, _ = await load(Server([WINDOW + 1]), [line(number) for number in range(2 * WINDOW + 5)])
    assert len(told) == 2 * WINDOW + 5


def test_a_memory_of_another_product_becomes_a_submission() -> None:
    read = memories_as("document", labels=["old-wiki"])
    request = ingest_service_pb2.RememberRequest()
    said = read(
        {
            "text": "production deploys from main, and not from trunk; the limit is 10 ms",
            "id": 17,
            "created_at": "2026-03-01T00:00:00Z",
            "author": "ada",
            "source": "wiki",
            "labels": ["ops"],
            "confidence": 0.5,
            "metadata": {"page": "3"},
            "facts": [
                {
                    "subject": {"kind": "environment", "name": "production"},
                    "predicate": "deploys from",
                    "object": {"kind": "git_branch", "name": "main"},
                    "valid_from": "2026-03-01T00:00:00Z",
                },
                {
                    "subject": {"kind": "environment", "name": "production"},
                    "predicate": "deploys from",
                    "object": {"kind": "git_branch", "name": "trunk"},
                    "negative": True,
                    "quote": "not from trunk",
                },
                {
                    "subject": {"kind": "environment", "name": "production"},
                    "predicate": "limit",
                    "value": {"type": "number", "text": "10", "unit": "ms"},
                },
            ],
        }
    )
    fill_from_json(request, said)
    (item,) = request.evidence
    assert (item.source_group, list(item.labels)) == ("wiki", ["ops", "old-wiki"])
    assert dict(request.metadata) == {"page": "3", "imported_id": "17", "imported_author": "ada"}
    assert [one.name for one in request.proposal.entities] == ["production", "main", "trunk"]
    first, second, third = request.proposal.relationships
    assert (first.subject_ref, second.subject_ref, third.object_value.unit) == ("e1", "e1", "ms")
    assert (second.evidence[0].quote, first.evidence[0].end) == ("not from trunk", len(item.content))
    assert memories_as("manual", labels=[])({"text": "a"}) == {"evidence": [{"content": "a", "source_type": "manual"}]}


@pytest.mark.parametrize(
    ("memory", "problem"),
    [
        ({}, "needs its text"),
        ({"text": 1}, "needs its text"),
        ({"text": "a", "embedding": [1]}, "has no field 'embedding'"),
        ({"text": "a", "labels": "b"}, "labels is a list"),
        ({"text": "a", "metadata": []}, "metadata is an object"),
        ({"text": "a", "facts": [1]}, "fact 1 is no object"),
        ({"text": "a", "facts": [{"subject": "b"}]}, "needs an object or a value"),
        ({"text": "a", "facts": [{"subject": "b", "value": {}}]}, "subject of fact 1 is an object with a kind"),
        ({"text": "a", "facts": [{"sujet": "b"}]}, "fact 1 has no field 'sujet'"),
    ],
)
def test_a_line_that_would_lose_something_is_told(memory: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        memories_as("manual", labels=[])(memory)
