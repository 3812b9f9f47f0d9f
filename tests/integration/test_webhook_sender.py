"""One message to a real HTTP server on loopback that takes it, refuses it, sends it elsewhere, is late or no server."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest
from corrigenda_conflict.notifier.endpoints import Endpoint
from corrigenda_conflict.notifier.sender import Accepted, Delivery, Failed, Sender
from corrigenda_conflict.notifier.signing import new_secret, parse_secret
from corrigenda_core.domain.ids import TeamId
from corrigenda_core.domain.notices import NoticeKind
from corrigenda_core.persistence.notice_store import EndpointKey
from corrigenda_core.testing import model_service as service
from corrigenda_core.testing.model_service import Behaviour, ModelService, replies

TIMEOUT_SECONDS = 5.0
IMPATIENT_SECONDS = 0.2
NOW_SECONDS = 1_767_225_600.9


def endpoint_at(url: str) -> Endpoint:
    return Endpoint(
        key=EndpointKey(team_id=TeamId("t"), name="e"),
        url=url,
        secrets=(parse_secret(new_secret()),),
        kinds=frozenset(NoticeKind),
        from_start=False,
    )


@pytest.fixture
async def sender() -> AsyncIterator[Sender]:
    made = Sender(timeout_seconds=TIMEOUT_SECONDS, at_once=2, now_seconds=lambda: NOW_SECONDS)
    yield made
    await made.close()


async def outcome(sender: Sender, behaviour: Behaviour) -> Delivery:
    async with ModelService(behaviours=[behaviour]) as server:
        return await sender.send(endpoint_at(server.url), "m", b"{}")


@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [
        (replies("", status=200), Accepted()),
        (replies("", status=204), Accepted()),
        # It has said that it has it; what else it says is not waited for.
        (service.drips, Accepted()),
        (service.never_ends, Accepted()),
        (replies("", status=500), Failed(problem="status_500")),
        (replies("", status=404), Failed(problem="status_404")),
        (replies("", status=410), Failed(problem="status_410", is_final=True)),
        (replies("", status=429, headers=["Retry-After: 60"]), Failed(problem="status_429", asked_rest_seconds=60.0)),
        (
            replies("", status=503, headers=["Retry-After: " + "9" * 500]),
            Failed(problem="status_503", asked_rest_seconds=3600.0),
        ),
        (replies("", status=503, headers=["Retry-After: -1"]), Failed(problem="status_503")),
        (replies("", status=503, headers=["Retry-After: Wed, 21 Oct 2026 07:28:00 GMT"]), Failed(problem="status_503")),
        (service.hangs_up, Failed(problem="unreachable")),
        (service.speaks_another_language, Failed(problem="unreachable")),
    ],
)
async def test_an_answer_is_an_outcome(sender: Sender, behaviour: Behaviour, expected: Delivery) -> None:
    assert await outcome(sender, behaviour) == expected


async def test_an_endpoint_that_is_silent_is_not_waited_for() -> None:
    impatient = Sender(timeout_seconds=IMPATIENT_SECONDS, at_once=1, now_seconds=lambda: NOW_SECONDS)
    assert await outcome(impatient, service.stays_silent) == Failed(problem="timeout")
    await impatient.close()


async def test_an_endpoint_where_nobody_listens_is_unreachable(sender: Sender) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/"
        assert await sender.send(endpoint_at(url), "m", b"{}") == Failed(problem="unreachable")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_nobody_is_sent_elsewhere(sender: Sender, status: int) -> None:
    async with ModelService(behaviours=[replies("", status=200)]) as elsewhere:
        redirect = replies("", status=status, headers=[f"Location: {elsewhere.url}"])
        assert await outcome(sender, redirect) == Failed(problem=f"status_{status}")
        assert elsewhere.received == []


async def test_every_attempt_is_the_same_message_and_nothing_is_remembered(
    sender: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ModelService(behaviours=[replies("", headers=["Set-Cookie: a=b"])]) as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:1")
        endpoint = endpoint_at(server.url + "/hook?a=1")
        await asyncio.gather(*(sender.send(endpoint, "m", b'{"a":1}') for _ in range(3)))
        first, *others = server.received
    assert (first.path, first.body) == ("/v1/hook?a=1", b'{"a":1}')
    assert (first.headers["webhook-id"], first.headers["webhook-timestamp"]) == ("m", str(int(NOW_SECONDS)))
    assert first.headers["content-type"] == "application/json"
    assert "cookie" not in first.headers
    assert [(one.path, one.headers, one.body) for one in others] == [(first.path, first.headers, first.body)] * 2
