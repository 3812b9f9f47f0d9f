"""Bulk load: submissions over one stream, with results in order; a cut stream goes on with what had no result.

What was stored before a cut answers as before when it is sent again with its key, so that nothing is doubled.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import grpc
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2
from corrigenda_core.domain.errors import Refusal
from corrigenda_core.rpc.json_mapping import fill_from_json
from corrigenda_core.rpc.status import refusal_of

from corrigenda_cli.exit_statuses import ExitStatus, status_of_code, status_of_reason
from corrigenda_cli.reading.lines import BadLine, Line

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client

WINDOW = 400
"""Most submissions that wait for their result: twice what the server reads ahead."""
ATTEMPTS_MAX = 6
"""Streams in a row that end without a single result before the load is given up."""
WAIT_SECONDS, _WAIT_SECONDS_MAX = 0.5, 8.0

Response = ingest_service_pb2.RememberStreamResponse


@dataclass(slots=True, kw_only=True)
class LoadReport:
    """What became of the lines of a load."""

    lines: int = 0
    stored: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    without_statement: int = 0
    conflicts_opened: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    problems: list[tuple[int, str]] = field(default_factory=list)
    """The first lines that were refused, by number, and why."""

    @property
    def failed(self) -> int:
        """Number of lines that are not stored."""
        return self.refused.total()


PROBLEMS_SHOWN = 20


class BulkLoad:
    """One load of many lines.

    Args:
        client: what sends.
        lines: what to send, read no faster than it is sent.
        wait_seconds: how long to wait after the first cut; twice as long after each further one.
        told: is called for each result, in order.
        advanced: is called with the bytes of the file that each finished line has spent.
    """

    def __init__(
        self,
        client: Client,
        lines: Iterable[Line | BadLine],
        *,
        wait_seconds: float = WAIT_SECONDS,
        told: Callable[[Line, Response], None] = lambda _line, _answer: None,
        advanced: Callable[[int], None] = lambda _bytes: None,
    ) -> None:
        self.report = LoadReport()
        self._client = client
        self._lines: Iterator[Line | BadLine] = iter(lines)
        self._told = told
        self._advanced = advanced
        self._wait_seconds = wait_seconds
        # What is to be sent again, and what was sent and waits for its result, both in the order of the lines.
        self._again: deque[Line] = deque()
        self._sent: deque[Line] = deque()
        self._exhausted = False

    async def run(self) -> LoadReport:
        """Sends everything.

        Raises:
            grpc.aio.AioRpcError: the stream ends for a reason that repeating does not help, or keeps ending.
        """
        attempts = 0
        while not (self._exhausted and not self._again):
            before = self.report.lines
            error = await self._one_stream()
            if error is None:
                continue
            attempts = 1 if self.report.lines > before else attempts + 1
            if attempts >= ATTEMPTS_MAX or not _may_succeed_later(error):
                raise error
            await asyncio.sleep(min(self._wait_seconds * 2 ** (attempts - 1), _WAIT_SECONDS_MAX))
        return self.report

    async def _one_stream(self) -> grpc.aio.AioRpcError | None:
        """Sends until the end or until the stream is cut; what cut it."""
        room = asyncio.Semaphore(WINDOW)
        call: Any = self._client.ingest.RememberStream(self._requests(room))
        try:
            async for answer in call:
                self._finish(self._sent.popleft(), answer)
                room.release()
        except grpc.aio.AioRpcError as error:
            return error
        finally:
            call.cancel()
            self._again = deque([*self._sent, *self._again])
            self._sent.clear()
        return None

    async def _requests(self, room: asyncio.Semaphore) -> AsyncIterator[ingest_service_pb2.RememberStreamRequest]:
        while True:
            await room.acquire()
            line = self._next_line()
            if line is None:
                return
            request = ingest_service_pb2.RememberStreamRequest()
            try:
                fill_from_json(request.submission, line.fields)
            except Refusal as refusal:
                self._refuse(line, refusal.reason.value, refusal.message)
                room.release()
                continue
            self._sent.append(line)
            yield request

    def _next_line(self) -> Line | None:
        if self._again:
            return self._again.popleft()
        for line in self._lines:
            if isinstance(line, Line):
                return line
            self._refuse(line, "INVALID_FIELD", line.problem)
        self._exhausted = True
        return None

    def _refuse(self, line: Line | BadLine, reason: str, problem: str) -> None:
        self.report.lines += 1
        self.report.refused[reason] += 1
        if len(self.report.problems) < PROBLEMS_SHOWN:
            self.report.problems.append((line.number, f"{reason}: {problem}"))
        self._advanced(line.size_bytes)

    def _finish(self, line: Line, answer: Response) -> None:
        self._told(line, answer)
        if answer.HasField("refusal"):
            from corrigenda.errors.v1 import error_reason_pb2

            name = error_reason_pb2.ErrorReason.Name(answer.refusal.reason).removeprefix("ERROR_REASON_")
            self._refuse(line, name, answer.refusal.message)
            return
        report, placement = self.report, answer.response.placement
        report.lines += 1
        report.stored += 1
        report.without_statement += not placement.relationships
        for one in placement.relationships:
            outcome = placement_pb2.Outcome.Name(one.outcome).removeprefix("OUTCOME_").lower().replace("_", " ")
            report.outcomes[outcome] += 1
            report.conflicts_opened += one.conflict.effect == placement_pb2.CONFLICT_EFFECT_OPENS_CASE
        self._advanced(line.size_bytes)


def _may_succeed_later(error: grpc.aio.AioRpcError) -> bool:
    refusal = refusal_of(error)
    status = status_of_code(error.code()) if refusal is None else status_of_reason(refusal.reason)
    return status is ExitStatus.UNAVAILABLE
