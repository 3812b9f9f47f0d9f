"""A model service on loopback that answers as it is told: well, wrongly, late, cut short or without end."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

Behaviour = Callable[[asyncio.StreamWriter, "Received"], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One request as it came in."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Its body."""
        return json.loads(self.body)


@dataclass(slots=True, kw_only=True)
class ModelService:
    """The service: each request gets the next behaviour, the last one again and again."""

    behaviours: list[Behaviour]
    received: list[Received] = field(default_factory=list)
    url: str = ""
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            received = await _request(reader)
            number = len(self.received)
            self.received.append(received)
            await self.behaviours[min(number, len(self.behaviours) - 1)](writer, received)
            await writer.drain()
        writer.close()


async def _request(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
    # Header values are compared as they are; only a key needs its case.
    exact = dict(line.split(": ", 1) for line in head[1:] if ": " in line)
    headers |= {name.lower(): value for name, value in exact.items()}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(path=head[0].split(" ")[1], headers=headers, body=body)


def replies(body: bytes | str | object, *, status: int = 200, headers: Iterable[str] = ()) -> Behaviour:
    """Answers with a body: bytes and text as they are, anything else as JSON."""
    sent = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()

    async def behave(writer: asyncio.StreamWriter, _: Received) -> None:
        writer.write(_head(status, f"Content-Length: {len(sent)}", *headers) + sent)

    return behave


def says(content: object, *, finish_reason: str = "stop", **message: object) -> Behaviour:
    """Answers as a chat model that says this: text as it is, anything else as JSON."""
    text = content if isinstance(content, str) or content is None else json.dumps(content)
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish_reason}
    return replies({"id": "c1", "object": "chat.completion", "choices": [choice], "usage": {"total_tokens": 7}})


def embeds(vector: Callable[[str], Sequence[float]]) -> Behaviour:
    """Answers as an embedding model."""

    async def behave(writer: asyncio.StreamWriter, received: Received) -> None:
        data = [
            {"object": "embedding", "index": index, "embedding": list(vector(text))}
            for index, text in enumerate(received.json["input"])
        ]
        # The order of the answer says nothing.
        await replies({"object": "list", "data": data[::-1]})(writer, received)

    return behave


async def stays_silent(_writer: asyncio.StreamWriter, _received: Received) -> None:
    """Never answers."""
    await asyncio.Event().wait()


async def hangs_up(_writer: asyncio.StreamWriter, _received: Received) -> None:
    """Closes the connection without a word."""


async def cuts_its_answer(writer: asyncio.StreamWriter, _received: Received) -> None:
    """Promises more than it sends."""
    writer.write(_head(200, "Content-Length: 5000") + b'{"choices": [')


async def drips(writer: asyncio.StreamWriter, _received: Received) -> None:
    """Begins to answer and never comes to an end."""
    writer.write(_head(200, "Content-Length: 5000") + b"{")
    await writer.drain()
    await asyncio.Event().wait()


async def never_ends(writer: asyncio.StreamWriter, _received: Received) -> None:
    """Sends without end, as fast as it is read."""
    writer.write(_head(200, "Transfer-Encoding: chunked"))
    while True:
        writer.write(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
        await writer.drain()


async def speaks_another_language(writer: asyncio.StreamWriter, _received: Received) -> None:
    """Is no HTTP server at all."""
    writer.write(b"220 mail.example ESMTP\r\n")


def _head(status: int, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} Answer", "Content-Type: application/json", "Connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode()
