"""The notifier's loop: tells each endpoint what happened, in order, again and again until it has it or is given up.

An endpoint is told by one process at a time, which holds a lease with a fencing token. A process that dies between a
delivery and its record leaves the record as it was: the next one delivers the message again, under the same id. So a
receiver has every message at least once, in the order of the team's commits, and knows repetitions by their id. A
message that cannot be delivered holds back those behind it: order is kept, and nothing is lost while it is sorted out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

import structlog
from corrigenda_core.domain.errors import Refusal
from corrigenda_core.domain.ids import IdRange
from corrigenda_core.domain.notices import CaseNotice, Notice
from corrigenda_core.persistence.notice_store import (
    EndpointClaim,
    EndpointState,
    NoticeStore,
    Position,
    notice_id_of,
    position_of,
)
from corrigenda_core.process import wait_for_stop

from corrigenda_conflict.notifier.endpoints import Endpoint
from corrigenda_conflict.notifier.message import body_of
from corrigenda_conflict.notifier.metrics import NotifierMetrics, Standing
from corrigenda_conflict.notifier.retrying import Retrying
from corrigenda_conflict.notifier.sender import Accepted, Failed, Sender

NOTICES_PER_LOOK = 50

_log = structlog.get_logger("corrigenda.notifier")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long to wait when there is nothing to tell, how many messages are under way, and how long leases last.

    ``attempt_seconds`` is what one attempt may take, record included: no attempt begins with less of a lease left.
    """

    poll_seconds: float
    deliveries_at_once: int
    lease_seconds: float
    attempt_seconds: float


@dataclass(slots=True, kw_only=True)
class _Turn:
    """An endpoint, and what this process knows of its claim; from ``ends_at_seconds`` on the lease may have ended."""

    endpoint: Endpoint
    claim: EndpointClaim | None = None
    ends_at_seconds: float = 0.0
    standing: Standing | None = None


class Notifier:
    """The worker; several may run at once.

    Args:
        store: claims and records.
        sender: sends one message.
        endpoints: who is told.
        retrying: when a message is tried again.
        pace: how much is under way at once.
        metrics: counters of this process.
        new_ids: draws ids.
        draw: draws a number in [0, 1).
        monotonic_seconds: the clock of leases.
        polled: told of every poll that the database has answered.
    """

    def __init__(
        self,
        *,
        store: NoticeStore,
        sender: Sender,
        endpoints: Sequence[Endpoint],
        retrying: Retrying,
        pace: Pace,
        metrics: NotifierMetrics,
        new_ids: Callable[[], IdRange],
        draw: Callable[[], float],
        monotonic_seconds: Callable[[], float],
        polled: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._sender = sender
        self._endpoints = endpoints
        self._retrying = retrying
        self._pace = pace
        self._metrics = metrics
        self._new_ids = new_ids
        self._draw = draw
        self._monotonic_seconds = monotonic_seconds
        self._polled = polled
        self._at_once = asyncio.Semaphore(pace.deliveries_at_once)

    async def run_until(self, stop: asyncio.Event) -> None:
        """Tells every endpoint until told to stop; a message that is under way is finished first."""
        async with asyncio.TaskGroup() as group:
            for endpoint in self._endpoints:
                group.create_task(self._tell_until(_Turn(endpoint=endpoint), stop))

    async def _tell_until(self, turn: _Turn, stop: asyncio.Event) -> None:
        """One endpoint's loop: whatever fails costs no other endpoint anything."""
        while not stop.is_set():
            try:
                told = await self._round(turn, stop)
            except Exception as error:  # noqa: BLE001 - the loop of a worker outlives any failure
                # The claim stays, and with it what is known of the last delivery: a lost one is found out by its token.
                told = False
                self._metrics.failed_rounds.inc()
                _log.error("webhook_round_failed", **_facts(turn), exc_info=error)
            if not told:
                await wait_for_stop(stop, self._pace.poll_seconds)
        await self._let_go(turn)

    async def _round(self, turn: _Turn, stop: asyncio.Event) -> bool:
        """Tells an endpoint what comes next; says whether there was anything that it took."""
        claim = self._held(turn) or await self._claimed(turn)
        if claim is None:
            return False
        pending = await self._store.pending(claim, turn.endpoint.kinds, limit=NOTICES_PER_LOOK)
        self._polled()
        if not pending.notices:
            await self._passed(turn, claim, pending.upto)
            return False
        for notice in pending.notices:
            if not await self._tell(turn, notice, stop):
                return False
        return True

    async def _claimed(self, turn: _Turn) -> EndpointClaim | None:
        asked_at = self._monotonic_seconds()
        claim, state = await self._store.claim(turn.endpoint.key, from_start=turn.endpoint.from_start)
        self._polled()
        turn.claim = claim
        turn.ends_at_seconds = asked_at + self._pace.lease_seconds
        self._stands(turn, _standing_of(state))
        return claim

    async def _passed(self, turn: _Turn, claim: EndpointClaim, upto: Position) -> None:
        """Nothing is to be told until there; that is noted with the lease, when it is half over."""
        turn.claim = replace(claim, position=upto)
        half_over = turn.ends_at_seconds - self._monotonic_seconds() < self._pace.lease_seconds / 2
        # Failures of a message that is no longer to be told are nobody's.
        if half_over or claim.attempts:
            await self._advance(turn, turn.claim, delivered=False)

    async def _tell(self, turn: _Turn, notice: Notice, stop: asyncio.Event) -> bool:
        """One attempt at one message; says whether the endpoint has it and is still this process's."""
        async with self._at_once:
            claim = await self._held_for_an_attempt(turn)
            if claim is None or stop.is_set():
                return False
            delivery = await self._sender.send(turn.endpoint, notice_id_of(notice), body_of(notice))
        match delivery:
            case Accepted():
                self._metrics.deliveries.labels("accepted").inc()
                _log.info("webhook_delivered", **_facts(turn), **_facts_of(notice))
                # Remembered before it is recorded: if the record fails, this process does not send it again.
                turn.claim = replace(claim, position=position_of(notice), attempts=0)
                return await self._advance(turn, turn.claim, delivered=True)
            case Failed():
                self._metrics.deliveries.labels(_outcome(delivery)).inc()
                turn.claim = None
                await self._failed(turn, claim, notice, delivery)
                return False
            case never:
                assert_never(never)

    async def _held_for_an_attempt(self, turn: _Turn) -> EndpointClaim | None:
        """The claim, if it holds for as long as an attempt takes; waiting for a turn may have used it up."""
        claim = turn.claim
        if claim is None:
            return None
        asked_at = self._monotonic_seconds()
        if turn.ends_at_seconds - asked_at >= self._pace.attempt_seconds:
            return claim
        if not await self._store.renew(claim):
            self._lost(turn)
            return None
        turn.ends_at_seconds = asked_at + self._pace.lease_seconds
        return claim

    async def _advance(self, turn: _Turn, claim: EndpointClaim, *, delivered: bool) -> bool:
        asked_at = self._monotonic_seconds()
        if not await self._store.advance(claim, delivered=delivered):
            self._lost(turn)
            return False
        turn.claim = replace(claim, attempts=0)
        turn.ends_at_seconds = asked_at + self._pace.lease_seconds
        self._stands(turn, Standing.DELIVERING)
        return True

    async def _failed(self, turn: _Turn, claim: EndpointClaim, notice: Notice, failed: Failed) -> None:
        """Lets the endpoint rest, or gives it up and tells people."""
        failures = claim.attempts + 1
        rest_seconds = self._retrying.rest_after(failed, failures=failures, draw=self._draw())
        facts = {**_facts(turn), **_facts_of(notice), "attempt": failures, "problem": failed.problem}
        if rest_seconds is not None:
            _log.warning("webhook_failed", **facts, rest_seconds=round(rest_seconds, 3))
            await self._store.rest(claim, problem=failed.problem, rest_seconds=rest_seconds)
            self._stands(turn, Standing.FAILING)
            return
        _log.error("webhook_parked", **facts)
        await self._store.park(
            claim,
            alert_id=self._new_ids().nth(0),
            problem=failed.problem,
            reason=f"webhook {claim.key.name} is parked at message {notice_id_of(notice)}: "
            f"attempt {failures} failed with {failed.problem}",
            conflict_id=notice.conflict_id if isinstance(notice, CaseNotice) else None,
            details={"endpoint": claim.key.name, "message_id": notice_id_of(notice), "kind": notice.kind.value},
        )
        self._metrics.parked.inc()
        self._stands(turn, Standing.PARKED)

    async def _let_go(self, turn: _Turn) -> None:
        """Gives an endpoint back, so that another process need not wait for the lease to end."""
        claim = self._held(turn)
        if claim is None:
            return
        try:
            await self._store.give_back(claim)
        except Refusal as refusal:
            # The lease ends by itself; the other endpoints are given back as well.
            _log.warning("webhook_not_given_back", **_facts(turn), exc_info=refusal)

    def _held(self, turn: _Turn) -> EndpointClaim | None:
        """The claim, unless its lease may have ended."""
        return turn.claim if self._monotonic_seconds() < turn.ends_at_seconds else None

    def _lost(self, turn: _Turn) -> None:
        turn.claim = None
        self._metrics.lost_leases.inc()
        _log.warning("webhook_lease_lost", **_facts(turn))

    def _stands(self, turn: _Turn, standing: Standing) -> None:
        self._metrics.stands(turn.endpoint.key, standing, at_seconds=self._monotonic_seconds())
        if standing is Standing.UNKNOWN_TEAM and turn.standing is not standing:
            _log.error("webhook_of_unknown_team", **_facts(turn))
        turn.standing = standing


def _standing_of(state: EndpointState | None) -> Standing:
    if state is None:
        return Standing.UNKNOWN_TEAM
    if state.parked:
        return Standing.PARKED
    return Standing.FAILING if state.attempts else Standing.DELIVERING


def _outcome(failed: Failed) -> str:
    """The outcome without the code that an endpoint chose: a label has few values."""
    return "refused" if failed.problem.startswith("status_") else failed.problem


def _facts(turn: _Turn) -> dict[str, object]:
    return {"team_id": turn.endpoint.key.team_id, "endpoint": turn.endpoint.key.name}


def _facts_of(notice: Notice) -> dict[str, object]:
    return {"kind": notice.kind.value, "notice_id": notice_id_of(notice), "revision": notice.moment.revision}
