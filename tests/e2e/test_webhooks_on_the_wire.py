"""Webhooks of a running stack: every kind of event reaches a real receiver, signed, in order, at least once."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from corrigenda.admin.v1 import admin_service_pb2, alert_pb2
from corrigenda.conflict.v1 import conflict_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2
from corrigenda_cli.__main__ import main
from corrigenda_cli.child import Child, start_child
from corrigenda_cli.stack import Stack
from corrigenda_conflict.notifier.endpoints import Endpoint, read_endpoints
from corrigenda_conflict.notifier.metrics import NotifierMetrics
from corrigenda_conflict.notifier.retrying import Retrying
from corrigenda_conflict.notifier.sender import Sender
from corrigenda_conflict.notifier.signing import new_secret
from corrigenda_conflict.notifier.worker import Notifier, Pace
from corrigenda_core.domain.notices import NoticeKind
from corrigenda_core.persistence.database import Database
from corrigenda_core.persistence.notice_store import NoticeStore, Position
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.serving import new_ids
from corrigenda_core.testing.effort import is_full_tier
from corrigenda_core.testing.model_service import Behaviour, ModelService, Received, replies
from corrigenda_core.testing.wire_decisions import Row, items_of, placed_row, placement, retracting
from prometheus_client import CollectorRegistry

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]
Capture = pytest.CaptureFixture[str]
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
WAIT_SECONDS = 60.0
NOW_SECONDS = 1_790_000_000
# Behind every id that is made now.
ALERTED = "ffffffff-0000-4000-8000-000000000000"
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "webhooks.md"


@dataclass
class Receiver:
    """A receiver on loopback; what it got comes out of ``got``, and it answers as ``answers`` say, then with 204."""

    answers: list[Behaviour] = field(default_factory=list)
    got: asyncio.Queue[Received] = field(default_factory=asyncio.Queue)
    server: ModelService = field(init=False)

    def __post_init__(self) -> None:
        self.server = ModelService(behaviours=[self._answer])

    async def _answer(self, writer: asyncio.StreamWriter, received: Received) -> None:
        answer = self.answers.pop(0) if self.answers else replies("", status=204)
        self.got.put_nowait(received)
        await answer(writer, received)

    async def next(self, number: int = 1) -> list[Received]:
        """The next messages, once they are there."""
        async with asyncio.timeout(WAIT_SECONDS):
            return [await self.got.get() for _ in range(number)]

    async def ids(self, number: int = 1) -> list[str]:
        return [one.headers["webhook-id"] for one in await self.next(number)]


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    made = Receiver()
    async with made.server:
        yield made


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes the file of endpoints for a team and receivers by name."""

    def written(team_id: str, receivers: dict[str, Receiver], **more: object) -> Path:
        entries = []
        for name, one in receivers.items():
            (tmp_path / f"{name}.secret").write_text(new_secret())
            secret_files = [f"{name}.secret"]
            entries.append(
                {"name": name, "team_id": team_id, "url": one.server.url, "secret_files": secret_files, **more}
            )
        path = tmp_path / "webhooks.json"
        path.write_text(json.dumps({"endpoints": entries}))
        return path

    return written


Write = Callable[..., Path]


@asynccontextmanager
async def telling(stack: Stack, endpoints: Sequence[Endpoint], *, attempts_max: int = 20) -> AsyncIterator[None]:
    """A notifier at work in this process, as the notifier's role."""
    stop = asyncio.Event()
    sender = Sender(timeout_seconds=5.0, at_once=4, now_seconds=lambda: float(NOW_SECONDS))
    async with Database(stack.url("corrigenda_notifier")) as database:
        worker = Notifier(
            store=NoticeStore(database, lease_seconds=60.0),
            sender=sender,
            endpoints=endpoints,
            retrying=Retrying(attempts_max=attempts_max, rest_seconds=0.02, rest_seconds_max=0.02),
            pace=Pace(poll_seconds=0.01, deliveries_at_once=4, lease_seconds=60.0, attempt_seconds=10.0),
            metrics=NotifierMetrics(CollectorRegistry()),
            new_ids=new_ids,
            draw=lambda: 0.0,
            monotonic_seconds=asyncio.get_running_loop().time,
        )
        working = asyncio.create_task(worker.run_until(stop))
        try:
            yield
        finally:
            stop.set()
            await working
            await sender.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """A conflict and the rows that opened it."""

    conflict_id: str
    rows: dict[str, Row]


async def dispute(team: Any, deploys_from: Request, subject: str = "production") -> Dispute:
    """A says main, B says release."""
    placed = {}
    for name, branch in (("A", "main"), ("B", "release")):
        request = deploys_from(f"{subject} deploys from {branch}", branch)
        request.proposal.entities[0].name = subject
        placed[name] = await placement(team[name], request)
    return Dispute(
        conflict_id=placed["B"].conflict.conflict_id, rows={name: one.relationship for name, one in placed.items()}
    )


async def reviewed(team: Any, time: datetime) -> None:
    await team.admin.admin.DriveClock(
        admin_service_pb2.DriveClockRequest(idempotency_key=time.isoformat(), time=timestamp_of(time))
    )
    await team.admin.conflict.ReviewNow(
        conflict_service_pb2.ReviewNowRequest(idempotency_key=uuid.uuid4().hex, wait_seconds=60)
    )


def receiver_of_the_guide() -> Callable[..., bool]:
    """The receiver that the guide shows: code of its own, which knows nothing of ours."""
    _, _, after = GUIDE.read_text().partition("```python title=receiver.py\n")
    names: dict[str, Any] = {"__name__": "receiver"}
    exec(compile(after.partition("```")[0], "receiver.py", "exec"), names)
    is_genuine: Callable[..., bool] = names["is_genuine"]
    return is_genuine


@pytest.mark.promise("case.told", "case.told-without-words")
async def test_every_kind_of_event_is_told_in_the_order_of_the_commits(
    stack: Stack, new_team: NewTeam, deploys_from: Request, receiver: Receiver, write: Write
) -> None:
    team, other = await new_team(driven_from=BEGIN), await new_team(driven_from=BEGIN, profiles=("A", "B"))
    await dispute(other, deploys_from)
    first = await dispute(team, deploys_from)
    await reviewed(team, BEGIN + timedelta(days=8))  # one against one
    joined = await placed_row(
        team["C"], deploys_from("our checklist confirms it: production deploys from release", "release")
    )
    await reviewed(team, BEGIN + timedelta(days=9))  # two against one
    await team["B"].ingest.Forget(retracting(first.rows["B"]))
    await team["C"].ingest.Forget(retracting(joined))
    (item,) = await items_of(team["A"])
    second = await dispute(team, deploys_from, "staging")
    await team["B"].ingest.Forget(retracting(second.rows["B"]))
    await reviewed(team, BEGIN + timedelta(days=10))  # nobody is left on the other side
    with psycopg.connect(stack.admin_url, autocommit=True) as connection:
        # Looks that fail all night long take a stack of their own; what they leave behind is this row.
        connection.execute(
            "INSERT INTO case_events SELECT (jsonb_populate_record(e, jsonb_build_object('event_id', %s::uuid, "
            "'action', 'alerted', 'prior_status', 'open'))).* FROM case_events AS e WHERE conflict_id = %s "
            "AND action = 'opened'",
            [ALERTED, second.conflict_id],
        )
    path = write(team.team_id, {"chat": receiver}, from_start=True)
    is_genuine = receiver_of_the_guide()
    async with telling(stack, read_endpoints(path)):
        got = await receiver.next(7)
    told = [(body["type"], body["data"]) for body in (json.loads(one.body) for one in got)]
    assert [kind for kind, _ in told] == [
        "conflict.opened",
        "conflict.overdue",
        "conflict.resolved",
        "item.winner_withdrawn",
        "conflict.opened",
        "conflict.attempts_exhausted",
        "conflict.dismissed",
    ]
    assert receiver.got.empty()
    case = [data for kind, data in told if data.get("conflict_id") == first.conflict_id]
    assert [(data["status"], data["version"]) for data in case] == [("open", 1), ("overdue", 1), ("resolved", 3)]
    asked = told[3][1]
    assert (asked["item_id"], asked["owner_profile_id"]) == (item.item_id, first.rows["A"].owner.profile_id)
    assert {data["team_id"] for _, data in told} == {team.team_id}
    assert [data["revision"] for _, data in told] == sorted(data["revision"] for _, data in told)
    secret = (path.parent / "chat.secret").read_text()
    for one in got:
        assert is_genuine(secret, one.headers, one.body, NOW_SECONDS)
        assert not is_genuine(secret, one.headers, one.body + b" ", NOW_SECONDS)
        assert not is_genuine(new_secret(), one.headers, one.body, NOW_SECONDS)
        assert not is_genuine(secret, one.headers, one.body, NOW_SECONDS + 3600)
    assert len({one.headers["webhook-id"] for one in got}) == 7
    sent = b"".join(one.body for one in got)
    assert not any(word in sent for word in (b"production", b"release", b"main", b"deploys", b"staging"))


async def test_each_endpoint_is_told_what_it_asked_for_from_where_it_began(
    stack: Stack, new_team: NewTeam, deploys_from: Request, receiver: Receiver, write: Write
) -> None:
    team = await new_team(driven_from=BEGIN, profiles=("A", "B"))
    await dispute(team, deploys_from)
    choosy = Receiver()
    async with choosy.server:
        told_of_all = read_endpoints(write(team.team_id, {"chat": receiver}))
        told_of_some = read_endpoints(write(team.team_id, {"pager": choosy}, events=["conflict.overdue"]))
        async with telling(stack, [*told_of_all, *told_of_some]):
            await until_known(stack, team.team_id, 2)
            second = await dispute(team, deploys_from, "staging")
            (opened,) = await receiver.next()
            assert json.loads(opened.body)["data"]["conflict_id"] == second.conflict_id
            await reviewed(team, BEGIN + timedelta(days=8))
            overdue = await choosy.ids(2)
            assert await receiver.ids(2) == overdue
        # While nobody tells, what happens waits.
        third = await dispute(team, deploys_from, "the site")
        async with telling(stack, told_of_all):
            (opened,) = await receiver.next()
    assert json.loads(opened.body)["data"]["conflict_id"] == third.conflict_id
    assert choosy.got.empty()


async def test_a_refusing_endpoint_is_parked_with_an_alert_until_an_operator_resumes_it(
    stack: Stack, new_team: NewTeam, deploys_from: Request, receiver: Receiver, write: Write, capsys: Capture
) -> None:
    team = await new_team(driven_from=BEGIN, profiles=("A", "B"))
    subjects = ("production", "staging", "the site")
    first, second, third = [await dispute(team, deploys_from, subject) for subject in subjects]
    receiver.answers = [replies("", status=500)] * 3 + [replies("", status=410)]
    endpoints = read_endpoints(write(team.team_id, {"chat": receiver}, from_start=True))

    async def corrigenda(*arguments: str) -> tuple[int, str]:
        database = ("--database-url", stack.url("corrigenda_notifier"), "--team", team.team_id)
        capsys.readouterr()
        status = await asyncio.to_thread(main, ["webhooks", *arguments, *database])
        written = capsys.readouterr()
        # The notifier logs beside it.
        return status, (written.out + written.err).strip().splitlines()[-1]

    async with telling(stack, endpoints, attempts_max=3):
        (refused,) = set(await receiver.ids(3))
        (alert,) = await alerts_of(team, 1)
        assert (alert.kind, alert.conflict_id) == ("webhook_parked", first.conflict_id)
        assert alert.reason == f"webhook chat is parked at message {refused}: attempt 3 failed with status_500"
        status, shown = await corrigenda("list")
        assert (status, shown.split(",")[0]) == (0, "chat: parked")
        assert shown.endswith("3 attempts failed: status_500")
        assert receiver.got.empty()
        # It goes on with the message that failed; this time the endpoint says that it is gone.
        assert await corrigenda("resume", "--endpoint", "chat") == (0, "chat goes on")
        assert await receiver.ids() == [refused]
        await alerts_of(team, 2)
        assert await corrigenda("resume", "--endpoint", "chat", "--skip", refused) == (0, "chat goes on")
        rest = [json.loads(one.body)["data"]["conflict_id"] for one in await receiver.next(2)]
        assert rest == [second.conflict_id, third.conflict_id]
    assert await corrigenda("resume", "--endpoint", "chat") == (3, "chat is not parked there")
    missing = await corrigenda("resume", "--endpoint", "chat", "--skip", ALERTED)
    assert missing == (3, "corrigenda webhooks: there is no such message")
    (state,) = json.loads((await corrigenda("list", "--json"))[1])["endpoints"]
    assert (state["status"], state["attempts"], state["problem"]) == ("delivering", 0, None)
    assert len(await alerts_of(team, 2)) == 2


@pytest.mark.promise("case.told")
async def test_a_notifier_killed_between_a_delivery_and_its_record_delivers_it_again(
    stack: Stack, new_team: NewTeam, deploys_from: Request, receiver: Receiver, write: Write
) -> None:
    team = await new_team(driven_from=BEGIN, profiles=("A", "B"))
    path = write(team.team_id, {"chat": receiver}, from_start=True)
    child = await notifier_process(stack, path)
    try:
        await until_known(stack, team.team_id, 1)
        with psycopg.connect(stack.admin_url) as holding:
            # Whoever wants to record a delivery now waits for this transaction.
            holding.execute("SELECT 1 FROM webhook_cursors WHERE team_id = %s FOR UPDATE", [team.team_id])
            await dispute(team, deploys_from)
            (delivered,) = await receiver.ids()
            await until_waiting_for(stack, holding.info.backend_pid)
            os.kill(child.pid, signal.SIGKILL)
            assert await child.wait() == -signal.SIGKILL
    finally:
        await child.stop()
    await without_lease(stack, team.team_id)
    await dispute(team, deploys_from, "staging")
    async with telling(stack, read_endpoints(path)):
        again, other = await receiver.ids(2)
        assert again == delivered != other
    assert receiver.got.empty()


async def test_two_notifiers_share_the_work_and_a_lost_lease_records_nothing(
    stack: Stack, new_team: NewTeam, deploys_from: Request, receiver: Receiver, write: Write
) -> None:
    team = await new_team(driven_from=BEGIN, profiles=("A", "B"))
    endpoints = read_endpoints(write(team.team_id, {"chat": receiver}, from_start=True))
    async with telling(stack, endpoints), telling(stack, endpoints):
        opened = [(await dispute(team, deploys_from, f"site {number}")).conflict_id for number in range(3)]
        got = [json.loads(one.body)["data"]["conflict_id"] for one in await receiver.next(3)]
        assert got == opened
    assert receiver.got.empty()
    async with Database(stack.url("corrigenda_notifier")) as database:
        store = NoticeStore(database, lease_seconds=60.0)
        key = endpoints[0].key
        late, _ = await store.claim(key, from_start=True)
        assert late is not None
        assert (await store.claim(key, from_start=True))[0] is None
        assert await store.give_back(late)
        held, _ = await store.claim(key, from_start=True)
        assert held is not None
        assert held.token == late.token + 1
        far = Position(late.position.revision + 100, late.position.notice_id)
        assert not await store.renew(late)
        assert not await store.advance(replace(late, position=far), delivered=True)
        assert not await store.rest(late, problem="timeout", rest_seconds=0.0)
        await store.park(late, alert_id=ALERTED, problem="timeout", reason="late", conflict_id=None, details={})
        assert await alerts_of(team, 0) == []
        assert (await store.pending(held, NoticeKind, limit=10)).notices == []
        assert await store.advance(held, delivered=False)


async def notifier_process(stack: Stack, webhooks_file: Path) -> Child:
    """A notifier as a process of its own."""
    settings = {
        **{name: value for name, value in os.environ.items() if not name.startswith("CORRIGENDA_")},
        "CORRIGENDA_DATABASE_URL": stack.url("corrigenda_notifier"),
        "CORRIGENDA_WEBHOOKS_FILE": str(webhooks_file),
        "CORRIGENDA_WEBHOOK_POLL_SECONDS": "0.01",
    }
    return await start_child(
        name="notifier",
        module="corrigenda_conflict.notifier",
        environment=settings,
        log_file=webhooks_file.with_suffix(".log"),
    )


async def without_lease(stack: Stack, team_id: str) -> None:
    """A lease that nobody gave back ends by itself; a test does not wait for that.

    What a killed process has sent is done first: it may hold the lease for longer.
    """
    gone = "SELECT NOT EXISTS (SELECT 1 FROM pg_stat_activity WHERE application_name = %s AND datname = %s)"
    await until_true(stack, gone, "corrigenda notifier", urlsplit(stack.admin_url).path.removeprefix("/"))
    with psycopg.connect(stack.admin_url, autocommit=True) as connection:
        connection.execute("UPDATE webhook_cursors SET lease_expires_at = '-infinity' WHERE team_id = %s", [team_id])


@pytest.mark.skipif(not is_full_tier(), reason="full tier only: it starts and kills ten notifiers")
async def test_whenever_a_notifier_is_killed_nothing_is_missed_and_order_is_kept(
    stack: Stack, new_team: NewTeam, deploys_from: Request, receiver: Receiver, write: Write
) -> None:
    """Ten kills, each after a few messages, wherever that hits; repetitions are known by their ids."""
    team = await new_team(driven_from=BEGIN, profiles=("A", "B"))
    path = write(team.team_id, {"chat": receiver}, from_start=True)
    opened: list[str] = []
    seen: dict[str, str] = {}
    chance = random.Random(7)
    for kill in range(10):
        for number in range(5):
            opened.append((await dispute(team, deploys_from, f"site {kill} {number}")).conflict_id)
        child = await notifier_process(stack, path)
        try:
            for one in await receiver.next(chance.randrange(1, 4)):
                seen.setdefault(one.headers["webhook-id"], json.loads(one.body)["data"]["conflict_id"])
            await asyncio.sleep(chance.random() * 0.02)
            os.kill(child.pid, signal.SIGKILL)
            await child.wait()
        finally:
            await child.stop()
        await without_lease(stack, team.team_id)
    async with telling(stack, read_endpoints(path)), asyncio.timeout(WAIT_SECONDS):
        while len(seen) < len(opened):
            (one,) = await receiver.next()
            seen.setdefault(one.headers["webhook-id"], json.loads(one.body)["data"]["conflict_id"])
    assert list(seen.values()) == opened


async def alerts_of(team: Any, number: int) -> Sequence[alert_pb2.Alert]:
    """The team's alerts, once there are so many."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            answer = await team.admin.admin.ListAlerts(admin_service_pb2.ListAlertsRequest())
            if answer.total >= number:
                alerts: Sequence[alert_pb2.Alert] = answer.alerts
                return alerts
            await asyncio.sleep(0.01)


async def until_known(stack: Stack, team_id: str, number: int) -> None:
    """Waits until notifiers have begun with so many endpoints of a team."""
    query = "SELECT count(*) FROM webhook_cursors WHERE team_id = %s AND claim_token > 0"
    await until_true(stack, f"SELECT ({query}) = %s", team_id, number)


async def until_waiting_for(stack: Stack, pid: int) -> None:
    """Waits until somebody waits for a lock that a backend holds."""
    await until_true(
        stack, "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE %s = ANY (pg_blocking_pids(pid)))", pid
    )


async def until_true(stack: Stack, query: str, *parameters: object) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        with psycopg.connect(stack.admin_url, autocommit=True) as connection:
            while True:
                if connection.execute(query.encode(), parameters).fetchone() == (True,):
                    return
                await asyncio.sleep(0.01)
