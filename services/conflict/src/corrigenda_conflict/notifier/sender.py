"""Sends one message to one endpoint: bounded in time, never redirected; of the answer nothing is kept but its code."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx2

from corrigenda_conflict.notifier.endpoints import Endpoint
from corrigenda_conflict.notifier.signing import signature_headers

RETRY_AFTER_SECONDS_MAX = 3600.0
_GONE = 410


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The endpoint has the message: it answered with 2xx."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """It may not have it.

    Attributes:
        problem: why, as a code: ``timeout``, ``unreachable``, ``status_503``.
        asked_rest_seconds: how long the endpoint asks to be left alone, 0 if it does not say.
        is_final: whether it says that there will never be anybody (410).
    """

    problem: str
    asked_rest_seconds: float = 0.0
    is_final: bool = False


Delivery = Accepted | Failed


class Sender:
    """Sends over one pool of connections; may be used by any number of tasks of one event loop.

    Args:
        timeout_seconds: for the whole of one attempt.
        at_once: how many connections there are at most.
        now_seconds: seconds since 1970, for the timestamps of attempts.
    """

    def __init__(self, *, timeout_seconds: float, at_once: int, now_seconds: Callable[[], float]) -> None:
        self._timeout_seconds = timeout_seconds
        self._now_seconds = now_seconds
        self._client = httpx2.AsyncClient(
            headers={"User-Agent": "corrigenda-notifier", "Content-Type": "application/json", "Accept": "*/*"},
            timeout=httpx2.Timeout(timeout_seconds),
            limits=httpx2.Limits(max_connections=at_once, max_keepalive_connections=at_once),
            # A redirect would carry the message to somewhere that no operator has named.
            follow_redirects=False,
            # No proxy and no password from the environment of the process.
            trust_env=False,
            # What one endpoint asks to be remembered is nothing for another one.
            cookies=CookieJar(policy=DefaultCookiePolicy(allowed_domains=())),
        )

    async def send(self, endpoint: Endpoint, message_id: str, body: bytes) -> Delivery:
        """One attempt; its outcome."""
        headers = signature_headers(message_id, int(self._now_seconds()), body, endpoint.secrets)
        try:
            async with (
                asyncio.timeout(self._timeout_seconds),
                # The answer's body is never read: the code says all, and it could have no end.
                self._client.stream("POST", endpoint.url, content=body, headers=headers) as response,
            ):
                return _outcome(response)
        except (TimeoutError, httpx2.TimeoutException):
            return Failed(problem="timeout")
        except (httpx2.TransportError, ssl.SSLError):
            return Failed(problem="unreachable")

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.aclose()


def _outcome(response: httpx2.Response) -> Delivery:
    code = response.status_code
    if 200 <= code < 300:
        return Accepted()
    return Failed(
        problem=f"status_{code}",
        asked_rest_seconds=_asked_rest_seconds(response.headers.get("Retry-After", "")),
        is_final=code == _GONE,
    )


def _asked_rest_seconds(text: str) -> float:
    """The seconds that `Retry-After` names, bounded; its other form, a date, is left to the usual rest."""
    if not (text.isascii() and text.isdigit()):
        return 0.0
    return min(float(text[:9]), RETRY_AFTER_SECONDS_MAX)
