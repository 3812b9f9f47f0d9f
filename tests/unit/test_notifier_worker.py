"""The notifier's loop: in order, at least once, bounded, and no endpoint pays for another one."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from corrigenda_conflict.notifier.endpoints import Endpoint
from corrigenda_conflict.notifier.metrics import NotifierMetrics, Standing
from corrigenda_conflict.notifier.retrying import Retrying
from corrigenda_conflict.notifier.sender import Accepted, Delivery, Failed
from corrigenda_conflict.notifier.signing import new_secret, parse_secret
from corrigenda_conflict.notifier.worker import Notifier, Pace
from corrigenda_core.domain.cases import CaseKind, CaseStatus
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import ConflictId, EventId, TeamId
from corrigenda_core.domain.notices import CaseNotice, NoticeKind
from corrigenda_core.domain.time import Moment
from corrigenda_core.persistence.notice_store import (
    EndpointClaim,
    EndpointKey,
    EndpointState,
    Pending,
    Position,
    position_of,
)
from corrigenda_core.serving import new_ids
from prometheus_client import CollectorRegistry

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
FAILED = Failed(problem="status_500")
START = Position(0, "")


def notice(number: int) -> CaseNotice:
    return CaseNotice(
        kind=NoticeKind.CONFLICT_OPENED,
        team_id=TeamId("t"),
        event_id=EventId(f"event-{number}"),
        moment=Moment(revision=number, at=NOW),
        conflict_id=ConflictId(str(uuid.UUID(int=number))),
        case_kind=CaseKind.CURRENT_STATE,
        status=CaseStatus.OPEN,
        version=1,
    )


@dataclass
class Cursor:
    """What the database keeps of an endpoint."""

    position: Position = START
    token: int = 0
    attempts: int = 0
    parked: bool = False
    delivered: list[Position] = field(default_factory=list)
    rests: list[float] = field(default_factory=list)


@dataclass
class Records:
    """The records of endpoints, each with notices 1 to ``numbers``; ``stop`` is set after some polls without work."""

    numbers: int = 3
    cursors: dict[str, Cursor] = field(default_factory=dict)
    unknown: frozenset[str] = frozenset()
    parked: list[tuple[str, str, Any]] = field(default_factory=list)
    given_back: list[str] = field(default_factory=list)
    kept_by_force: frozenset[str] = frozenset()
    refuse: Counter[str] = field(default_factory=Counter)
    taken_away: set[str] = field(default_factory=set)
    renewed: int = 0
    polls: int = 0
    polls_max: int = 60
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    def _asked(self, call: str) -> None:
        if self.refuse[call]:
            self.refuse[call] -= 1
            raise ConnectionError("no database")

    async def claim(self, key: EndpointKey, *, from_start: bool) -> tuple[EndpointClaim | None, EndpointState | None]:
        self._polled()
        self._asked("claim")
        if key.name in self.unknown:
            return None, None
        cursor = self.cursors.setdefault(key.name, Cursor())
        state = EndpointState(parked=cursor.parked, attempts=cursor.attempts)
        if cursor.parked:
            return None, state
        cursor.token += 1
        return EndpointClaim(key=key, token=cursor.token, position=cursor.position, attempts=cursor.attempts), state

    async def pending(self, claim: EndpointClaim, kinds: Collection[NoticeKind], *, limit: int) -> Pending:
        self._polled()
        self._asked("pending")
        told = [one for one in map(notice, range(1, self.numbers + 1)) if claim.position < position_of(one)]
        chosen = [one for one in told if one.kind in kinds][:2]
        return Pending(notices=chosen, upto=position_of(chosen[-1]) if chosen else Position(self.numbers, "z"))

    async def renew(self, claim: EndpointClaim) -> bool:
        self.renewed += 1
        return self._holds(claim)

    async def advance(self, claim: EndpointClaim, *, delivered: bool) -> bool:
        self._asked("advance")
        if not self._holds(claim):
            return False
        cursor = self.cursors[claim.key.name]
        assert claim.position >= cursor.position
        cursor.position, cursor.attempts = claim.position, 0
        cursor.delivered += [claim.position] if delivered else []
        return True

    async def give_back(self, claim: EndpointClaim) -> bool:
        if claim.key.name in self.kept_by_force:
            raise Refusal(Reason.STORE_UNAVAILABLE, "no database")
        self.given_back.append(claim.key.name)
        return await self.advance(claim, delivered=False)

    async def rest(self, claim: EndpointClaim, *, problem: str, rest_seconds: float) -> bool:
        cursor = self.cursors[claim.key.name]
        cursor.attempts += 1
        cursor.rests.append(rest_seconds)
        return True

    async def park(self, claim: EndpointClaim, *, problem: str, details: Mapping[str, object], **_: object) -> None:
        self.cursors[claim.key.name].parked = True
        self.parked.append((claim.key.name, problem, details["message_id"]))

    def _holds(self, claim: EndpointClaim) -> bool:
        if claim.key.name in self.taken_away:
            self.taken_away.discard(claim.key.name)
            self.cursors[claim.key.name].token += 1
        return self.cursors[claim.key.name].token == claim.token

    def _polled(self) -> None:
        self.polls += 1
        if self.polls >= self.polls_max:
            self.stop.set()


@dataclass
class Receivers:
    """Takes messages as each endpoint's answers say, the last one again and again."""

    answers: dict[str, list[Delivery]] = field(default_factory=dict)
    got: dict[str, list[str]] = field(default_factory=dict)
    under_way: int = 0
    most_under_way: int = 0

    async def send(self, endpoint: Endpoint, message_id: str, body: bytes) -> Delivery:
        got = self.got.setdefault(endpoint.key.name, [])
        answers = self.answers.get(endpoint.key.name, [Accepted()])
        answer = answers[min(len(got), len(answers) - 1)]
        got.append(message_id)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        return answer


def endpoint(name: str, *kinds: NoticeKind) -> Endpoint:
    return Endpoint(
        key=EndpointKey(team_id=TeamId("t"), name=name),
        url="https://unused.example/",
        secrets=(parse_secret(new_secret()),),
        kinds=frozenset(kinds or NoticeKind),
        from_start=True,
    )


@dataclass
class Telling:
    """A notifier on records and receivers that are not real; its clock stands still unless a test moves it."""

    records: Records = field(default_factory=Records)
    receivers: Receivers = field(default_factory=Receivers)
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    now_seconds: float = 0.0
    seconds_per_reading: float = 0.0
    attempts_max: int = 3
    at_once: int = 2

    async def run(self, *endpoints: Endpoint) -> None:
        worker = Notifier(
            store=self.records,
            sender=self.receivers,
            endpoints=endpoints,
            retrying=Retrying(attempts_max=self.attempts_max, rest_seconds=4.0, rest_seconds_max=6.0),
            pace=Pace(poll_seconds=0.0001, deliveries_at_once=self.at_once, lease_seconds=60.0, attempt_seconds=15.0),
            metrics=NotifierMetrics(self.registry),
            new_ids=new_ids,
            draw=lambda: 0.0,
            monotonic_seconds=self._reading,
        )
        async with asyncio.timeout(30):
            await worker.run_until(self.records.stop)

    def _reading(self) -> float:
        self.now_seconds += self.seconds_per_reading
        return self.now_seconds

    def counted(self, name: str, **labels: str) -> float:
        return self.registry.get_sample_value(f"corrigenda_webhook_{name}", labels) or 0.0


EVERYTHING = ["event-1", "event-2", "event-3"]


async def test_every_message_is_told_in_order_and_recorded() -> None:
    telling = Telling()
    await telling.run(endpoint("a"))
    assert telling.receivers.got["a"] == EVERYTHING
    assert telling.records.cursors["a"].delivered == [position_of(notice(number)) for number in (1, 2, 3)]
    assert telling.counted("deliveries_total", outcome="accepted") == 3
    assert telling.counted("endpoints", standing=Standing.DELIVERING) == 1
    assert telling.records.given_back == ["a"]


async def test_a_message_that_fails_holds_back_those_behind_it_until_it_is_taken() -> None:
    telling = Telling()
    telling.receivers.answers["a"] = [Accepted(), FAILED, Failed(problem="timeout"), Accepted()]
    await telling.run(endpoint("a"))
    assert telling.receivers.got["a"] == ["event-1", "event-2", "event-2", "event-2", "event-3"]
    assert telling.records.cursors["a"].rests == [2.0, 3.0]
    assert telling.counted("deliveries_total", outcome="refused") == 1
    assert telling.counted("deliveries_total", outcome="timeout") == 1
    assert telling.counted("endpoints", standing=Standing.FAILING) == 0


@pytest.mark.parametrize(
    ("answers", "attempts"),
    [([FAILED], 3), ([Failed(problem="status_410", is_final=True)], 1)],
    ids=["failing", "gone"],
)
async def test_an_endpoint_is_given_up_and_people_are_told_once(answers: list[Delivery], attempts: int) -> None:
    telling = Telling()
    telling.receivers.answers["a"] = answers
    await telling.run(endpoint("a"), endpoint("b"))
    assert telling.receivers.got["a"] == ["event-1"] * attempts
    assert [(name, message) for name, _, message in telling.records.parked] == [("a", "event-1")]
    assert telling.receivers.got["b"] == EVERYTHING
    assert telling.counted("parked_total") == 1
    assert telling.counted("endpoints", standing=Standing.PARKED) == 1
    assert telling.counted("endpoints", standing=Standing.DELIVERING) == 1


async def test_an_endpoint_that_another_notifier_took_is_left_to_it() -> None:
    telling = Telling()
    telling.records.taken_away.add("a")
    await telling.run(endpoint("a"))
    # The first delivery could not be recorded any more: it is told again, under the same id, by whoever holds it next.
    assert telling.receivers.got["a"] == ["event-1", *EVERYTHING]
    assert telling.counted("lost_leases_total") == 1


async def test_a_lease_is_renewed_before_an_attempt_for_which_it_is_too_short() -> None:
    telling = Telling(seconds_per_reading=16.0)
    await telling.run(endpoint("a"))
    assert telling.receivers.got["a"] == EVERYTHING
    assert telling.records.renewed > 0
    assert telling.counted("lost_leases_total") == 0


async def test_nothing_is_sent_under_a_lease_that_was_lost_while_waiting() -> None:
    telling = Telling(seconds_per_reading=25.0)
    telling.records.taken_away.add("a")
    await telling.run(endpoint("a"))
    assert telling.receivers.got["a"] == EVERYTHING
    assert telling.counted("lost_leases_total") == 1


async def test_a_delivery_that_could_not_be_recorded_is_not_repeated_by_who_knows_of_it() -> None:
    telling = Telling()
    telling.records.refuse["advance"] = 1
    await telling.run(endpoint("a"))
    assert telling.receivers.got["a"] == EVERYTHING
    assert telling.counted("failed_rounds_total") == 1
    assert telling.records.cursors["a"].position >= position_of(notice(3))


@pytest.mark.parametrize("call", ["claim", "pending"])
async def test_a_database_that_is_away_ends_no_loop(call: str) -> None:
    telling = Telling()
    telling.records.refuse[call] = 2
    await telling.run(endpoint("a"), endpoint("b"))
    assert telling.receivers.got == {"a": EVERYTHING, "b": EVERYTHING}
    assert telling.counted("failed_rounds_total") == 2


async def test_an_endpoint_that_cannot_be_given_back_keeps_no_other() -> None:
    telling = Telling(records=Records(kept_by_force=frozenset("a")))
    await telling.run(endpoint("a"), endpoint("b"))
    assert telling.receivers.got == {"a": EVERYTHING, "b": EVERYTHING}
    assert telling.records.given_back == ["b"]


async def test_what_an_endpoint_did_not_ask_for_is_passed_over_with_its_failures() -> None:
    telling = Telling()
    telling.records.cursors["a"] = Cursor(attempts=2)
    await telling.run(endpoint("a", NoticeKind.CONFLICT_RESOLVED))
    assert telling.receivers.got == {}
    assert telling.records.cursors["a"] == Cursor(position=Position(3, "z"), token=1)


async def test_an_idle_endpoint_is_noted_only_when_its_lease_is_half_over() -> None:
    telling = Telling(records=Records(numbers=0, polls_max=30), seconds_per_reading=1.0)
    noted: list[Position] = []
    plain = telling.records.advance

    async def advance(claim: EndpointClaim, *, delivered: bool) -> bool:
        noted.append(claim.position)
        return await plain(claim, delivered=delivered)

    telling.records.advance = advance
    await telling.run(endpoint("a"))
    assert 0 < len(noted) < telling.records.polls / 8


async def test_no_more_is_under_way_than_allowed() -> None:
    telling = Telling(at_once=2, records=Records(polls_max=200))
    names = [f"e{number}" for number in range(6)]
    await telling.run(*map(endpoint, names))
    assert telling.receivers.got == dict.fromkeys(names, EVERYTHING)
    assert telling.receivers.most_under_way == 2


async def test_a_team_that_there_is_not_is_shown_and_asked_for_again() -> None:
    telling = Telling(records=Records(unknown=frozenset({"a"})))
    await telling.run(endpoint("a"), endpoint("b"))
    assert telling.receivers.got == {"b": EVERYTHING}
    assert telling.counted("endpoints", standing=Standing.UNKNOWN_TEAM) == 1
