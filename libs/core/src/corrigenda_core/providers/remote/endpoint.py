"""One model service over HTTP: calls are bounded in number, time and size, and a service that is down is left alone.

What a service answers is hostile input. It is read up to a limit, never decompressed, never followed elsewhere, and
nothing of it, of the request or of the key reaches a message or a log.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx2

from corrigenda_core.ports.providers import ProviderFailed, UnusableAnswer
from corrigenda_core.providers.remote.service import Service

FAILURES_TO_OPEN = 5
"""After so many failures in a row nothing is sent for a while."""
OPEN_SECONDS = 10.0
MAX_WAITING_PER_CALL = 8
"""How many calls may wait for each one under way."""
CONNECT_SECONDS = 5.0


class Endpoint:
    """The service; may be used by any number of tasks of one event loop."""

    def __init__(self, service: Service, *, monotonic_seconds: Callable[[], float] = time.monotonic) -> None:
        self._service = service
        self._circuit = _Circuit(monotonic_seconds)
        self._turns = asyncio.Semaphore(service.max_calls)
        self._waiting = 0
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if service.key:
            headers["Authorization"] = f"Bearer {service.key}"
        self._client = httpx2.AsyncClient(
            base_url=service.url.rstrip("/") + "/",
            headers=headers,
            # The whole call has a deadline of its own; these bound each step.
            timeout=httpx2.Timeout(service.timeout_seconds, connect=min(CONNECT_SECONDS, service.timeout_seconds)),
            limits=httpx2.Limits(max_connections=service.max_calls, max_keepalive_connections=service.max_calls),
            # A redirect would carry the key and the evidence to somewhere else.
            follow_redirects=False,
            trust_env=False,
        )

    @property
    def sends_temperature(self) -> bool:
        """Whether a model is asked for its most likely answer."""
        return self._service.sends_temperature

    async def post(self, path: str, body: bytes) -> bytes:
        """The body of the answer to a JSON request.

        Raises:
            ProviderFailed: it cannot be reached, answers late or with an error, or there is too much to do already.
            UnusableAnswer: the answer is longer than anything that was asked for.
        """
        self._circuit.require_closed()
        async with self._turn():
            # While this call waited, the service may have failed others.
            self._circuit.require_closed()
            try:
                async with asyncio.timeout(self._service.timeout_seconds):
                    answer = await self._posted(path, body)
            except TimeoutError:
                self._circuit.failed()
                raise ProviderFailed("the model service gave no answer in time") from None
            except httpx2.TransportError as error:
                # Nor is the cause kept: it holds the request.
                self._circuit.failed()
                raise ProviderFailed(f"the model service cannot be reached: {type(error).__name__}") from None
            except UnusableAnswer:
                self._circuit.answered()
                raise
            except ProviderFailed:
                self._circuit.failed()
                raise
            self._circuit.answered()
            return answer

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.aclose()

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        if self._waiting >= MAX_WAITING_PER_CALL * self._service.max_calls:
            raise ProviderFailed("too many calls wait for the model service")
        self._waiting += 1
        try:
            await self._turns.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._turns.release()

    async def _posted(self, path: str, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json"}
        async with self._client.stream("POST", path, content=body, headers=headers) as response:
            if response.status_code != httpx2.codes.OK:
                raise ProviderFailed(f"the model service answered {response.status_code}")
            if response.headers.get("Content-Encoding", "identity") != "identity":
                raise ProviderFailed("the model service compresses its answer although it was asked not to")
            received = bytearray()
            async for chunk in response.aiter_raw():
                received += chunk
                if len(received) > self._service.max_answer_bytes:
                    raise UnusableAnswer("the answer is too long")
            return bytes(received)


class _Circuit:
    """Whether a service is asked at all: after failures in a row it gets a pause, then one call to prove itself."""

    def __init__(self, monotonic_seconds: Callable[[], float]) -> None:
        self._monotonic_seconds = monotonic_seconds
        self._failures = 0
        self._closed_at = 0.0

    def require_closed(self) -> None:
        """Raises ProviderFailed during the pause."""
        if self._failures >= FAILURES_TO_OPEN and self._monotonic_seconds() < self._closed_at:
            raise ProviderFailed("the model service has failed several times and is left alone for a while")

    def failed(self) -> None:
        """Counts a failure; the last one before the pause, and each one after it, starts a pause."""
        self._failures += 1
        if self._failures >= FAILURES_TO_OPEN:
            self._closed_at = self._monotonic_seconds() + OPEN_SECONDS

    def answered(self) -> None:
        """The service works."""
        self._failures = 0
