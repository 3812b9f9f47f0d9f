"""A TCP proxy on loopback between a client and its database, which a test can freeze, cut and listen to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit, urlunsplit


class Cut(Enum):
    """What happens to a connection when the client has sent certain bytes."""

    BEFORE = "the bytes never reach the server"
    AFTER = "the bytes reach the server, its answer does not reach the client"


@dataclass(eq=False, slots=True)
class _Pair:
    """One client's connection and the one that stands behind it."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    server_spoke_last: bool = True
    is_mute: bool = False
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def abort(self) -> None:
        for writer in (self.client, self.server):
            writer.transport.abort()


class TcpProxy:
    """Forwards everything to the host and port of ``url``; an asynchronous context manager.

    Attributes:
        round_trips: how often a client spoke after the server had, since the last `reset_count`.
        cuts: how many connections were cut by `cut_on`.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._target = (parts.hostname or "127.0.0.1", parts.port or 5432)
        self._pairs: set[_Pair] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._cut: tuple[bytes, Cut, int] | None = None
        self._server: asyncio.Server | None = None
        self.round_trips = 0
        self.cuts = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        self.sever()
        self.thaw()

    def url(self, url: str) -> str:
        """``url`` with the proxy in the place of its host and port."""
        assert self._server is not None
        port = self._server.sockets[0].getsockname()[1]
        parts = urlsplit(url)
        who = parts.netloc.rpartition("@")[0]
        return urlunsplit(parts._replace(netloc=f"{who}@127.0.0.1:{port}"))

    @property
    def server_side_ports(self) -> set[int]:
        """From which ports its clients reach the server, as the server sees them."""
        return {pair.server.get_extra_info("sockname")[1] for pair in self._pairs}

    def reset_count(self) -> None:
        """Counts round trips from here on."""
        self.round_trips = 0

    def freeze(self) -> None:
        """Holds back all bytes of both directions, new connections included."""
        self._flowing.clear()

    def thaw(self) -> None:
        """Lets them go on."""
        self._flowing.set()

    def sever(self) -> None:
        """Cuts all connections, without a farewell."""
        for pair in list(self._pairs):
            pair.abort()

    def cut_on(self, sent: bytes, cut: Cut, *, times: int = 1) -> None:
        """Cuts the next ``times`` connections whose client sends ``sent``."""
        self._cut = (sent, cut, times)

    async def _serve(self, client_reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        await self._flowing.wait()
        try:
            server_reader, server = await asyncio.open_connection(*self._target)
        except OSError:
            client.transport.abort()
            return
        pair = _Pair(client=client, server=server)
        self._pairs.add(pair)
        pair.tasks = [
            asyncio.create_task(self._pump(client_reader, server, pair, self._client_spoke)),
            asyncio.create_task(self._pump(server_reader, client, pair, self._server_spoke)),
        ]
        await asyncio.wait(pair.tasks)
        self._pairs.discard(pair)
        pair.abort()

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        pair: _Pair,
        hear: Callable[[_Pair, bytes], bytes],
    ) -> None:
        try:
            while data := await reader.read(65536):
                await self._flowing.wait()
                if passed := hear(pair, data):
                    writer.write(passed)
                    await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        if not writer.is_closing():
            writer.close()

    def _client_spoke(self, pair: _Pair, data: bytes) -> bytes:
        if pair.server_spoke_last:
            self.round_trips += 1
            pair.server_spoke_last = False
        if self._cut is None or self._cut[0] not in data:
            return data
        sent, cut, times = self._cut
        self._cut = (sent, cut, times - 1) if times > 1 else None
        self.cuts += 1
        if cut is Cut.BEFORE:
            pair.abort()
            return b""
        pair.is_mute = True
        return data

    def _server_spoke(self, pair: _Pair, data: bytes) -> bytes:
        pair.server_spoke_last = True
        if pair.is_mute:
            # The server has answered, so what it was asked to do is done; the client never learns.
            pair.abort()
            return b""
        return data
