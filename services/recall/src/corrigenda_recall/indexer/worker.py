"""The indexer's loop: finds stale teams without locks, makes the documents that are waited for, keeps what failed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import structlog
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import FragmentId, TeamId
from corrigenda_core.persistence.document_store import (
    QUEUE_START,
    DocumentStore,
    Intent,
    QueuePlace,
    SearchDocument,
    WaitingBatch,
)
from corrigenda_core.policy.search_terms import plan_document_terms
from corrigenda_core.process import wait_for_stop

from corrigenda_recall.indexer.embedding import DocumentEmbedder
from corrigenda_recall.indexer.metrics import IndexMetrics

TEAMS_PER_ROUND = 256
# A text that fails by itself so often, while others are embedded, stays without an embedding.
ATTEMPTS_PER_TEXT = 3
RETRY_GROWTH_MAX = 30

_TEXT_MAY_DIFFER = "fragment_changed"

_log = structlog.get_logger("corrigenda.indexer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How much is taken at once, how long to wait without work, and at first before a failed text is tried again."""

    batch_fragments: int
    poll_seconds: float
    retry_seconds: float


@dataclass(slots=True)
class _Backlog:
    """Intents of a team that stay waiting because their texts could not be embedded.

    ``behind`` is the place up to which this pass has come: newer intents do not wait for the failed ones. At
    ``retry_at`` a new pass begins at the start of the queue.
    """

    behind: QueuePlace = QUEUE_START
    retry_at: float = float("inf")
    delay_seconds: float = 0.0
    attempts: Counter[FragmentId] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """What a batch comes to: documents to write, intents that are done with them, fragments that have to wait."""

    documents: tuple[SearchDocument, ...]
    done: tuple[QueuePlace, ...]
    deferred: frozenset[FragmentId]
    given_up: int


class Indexer:
    """The worker; several may run at once, and may be killed at any point."""

    def __init__(
        self,
        *,
        store: DocumentStore,
        embedder: DocumentEmbedder,
        pace: Pace,
        metrics: IndexMetrics,
        monotonic_seconds: Callable[[], float],
        polled: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._pace = pace
        self._metrics = metrics
        self._monotonic_seconds = monotonic_seconds
        self._polled = polled
        self._backlogs: dict[TeamId, _Backlog] = {}
        self._waiting_since: dict[TeamId, float] = {}

    async def run_until(self, stop: asyncio.Event) -> None:
        """Works until told to stop; a batch that is under way is finished first.

        Whatever fails is logged and tried again: its intents stay waiting.
        """
        while not stop.is_set():
            worked = False
            try:
                worked = await self.run_round(stop)
            except Exception as error:  # noqa: BLE001 - the loop of a worker outlives any failure
                self._metrics.failed_rounds.inc()
                _log.error("index_round_failed", exc_info=error)
            if not worked:
                await wait_for_stop(stop, self._pace.poll_seconds)

    async def run_round(self, stop: asyncio.Event) -> bool:
        """One batch of every stale team; says whether there was anything to do."""
        teams = await self._store.stale_teams(TEAMS_PER_ROUND)
        self._polled()
        self._forget_all_but(teams)
        worked = False
        for team_id in teams:
            if stop.is_set():
                break
            try:
                worked = await self._index_team(team_id) or worked
            except Refusal as refusal:
                # The other teams do not wait for one whose batch cannot be written.
                self._metrics.failed_batches.labels(refusal.reason.value).inc()
                _log.warning("index_batch_failed", team_id=team_id, reason=refusal.reason.value)
            except Exception as error:  # noqa: BLE001 - the loop of a worker outlives any failure
                self._metrics.failed_batches.labels(Reason.INTERNAL_ERROR.value).inc()
                _log.error("index_batch_failed", team_id=team_id, exc_info=error)
        self._measure(len(teams))
        return worked

    async def _index_team(self, team_id: TeamId) -> bool:
        backlog = self._backlogs.setdefault(team_id, _Backlog())
        if self._monotonic_seconds() >= backlog.retry_at:
            backlog.behind, backlog.retry_at = QUEUE_START, float("inf")
        limit = self._pace.batch_fragments
        batch = await self._store.waiting(team_id, after=backlog.behind, limit=limit)
        if backlog.behind == QUEUE_START:
            self._note_waiting(team_id, batch)
        if batch.intents:
            made = await self._made(batch, backlog)
            written = await self._store.put(team_id, made.documents, version=batch.revision, done=made.done)
            if made.deferred:
                backlog.behind = batch.intents[-1].place
            self._report(team_id, batch, made, written)
        if len(batch.intents) < limit:
            self._end_pass(backlog)
        return bool(batch.intents)

    async def _made(self, batch: WaitingBatch, backlog: _Backlog) -> _Made:
        wanted = self._wanted(batch.intents)
        embedded = await self._embedder.embed([intent.content for intent in wanted])
        documents: list[SearchDocument] = []
        deferred: set[FragmentId] = set()
        given_up = 0
        for intent, vector in zip(wanted, embedded.vectors, strict=True):
            fragment_id = intent.fragment_id
            documents.append(
                SearchDocument(
                    fragment_id=fragment_id,
                    terms=plan_document_terms(intent.content),
                    vector=vector,
                    recorded_at=intent.recorded_at,
                )
            )
            if vector is not None:
                del backlog.attempts[fragment_id]
                continue
            backlog.attempts[fragment_id] += embedded.reachable
            if backlog.attempts[fragment_id] < ATTEMPTS_PER_TEXT:
                deferred.add(fragment_id)
            else:
                del backlog.attempts[fragment_id]
                given_up += 1
        return _Made(
            documents=tuple(documents),
            done=tuple(intent.place for intent in batch.intents if intent.fragment_id not in deferred),
            deferred=frozenset(deferred),
            given_up=given_up,
        )

    def _wanted(self, intents: Sequence[Intent]) -> list[Intent]:
        """One intent of each fragment that needs a document: the texts of the others have one, or may have none."""
        wanted: dict[FragmentId, Intent] = {}
        for intent in intents:
            is_indexed = intent.embedding_space == self._embedder.space and intent.reason != _TEXT_MAY_DIFFER
            if not intent.hidden and not is_indexed:
                wanted[intent.fragment_id] = intent
        return list(wanted.values())

    def _end_pass(self, backlog: _Backlog) -> None:
        """The end of the queue is reached; what was left behind is tried again later, each time after a longer wait."""
        if backlog.behind == QUEUE_START:
            backlog.delay_seconds = 0.0
            return
        if backlog.retry_at < float("inf"):
            return
        longest = RETRY_GROWTH_MAX * self._pace.retry_seconds
        backlog.delay_seconds = min(longest, 2 * backlog.delay_seconds or self._pace.retry_seconds)
        backlog.retry_at = self._monotonic_seconds() + backlog.delay_seconds

    def _forget_all_but(self, teams: Sequence[TeamId]) -> None:
        """A team that is not behind any more starts afresh; the list may be cut, so only full knowledge forgets."""
        if len(teams) < TEAMS_PER_ROUND:
            stale = set(teams)
            self._backlogs = {team: backlog for team, backlog in self._backlogs.items() if team in stale}
            self._waiting_since = {team: since for team, since in self._waiting_since.items() if team in stale}

    def _note_waiting(self, team_id: TeamId, batch: WaitingBatch) -> None:
        now = self._monotonic_seconds()
        if not batch.intents:
            self._waiting_since.pop(team_id, None)
        elif batch.is_driven:
            self._waiting_since.setdefault(team_id, now)
        else:
            waited = (batch.team_now - batch.intents[0].asked_at).total_seconds()
            self._waiting_since[team_id] = now - max(0.0, waited)

    def _measure(self, stale_teams: int) -> None:
        self._metrics.stale_teams.set(stale_teams)
        oldest = min(self._waiting_since.values(), default=None)
        self._metrics.lag_seconds.set(0.0 if oldest is None else self._monotonic_seconds() - oldest)

    def _report(self, team_id: TeamId, batch: WaitingBatch, made: _Made, written: frozenset[FragmentId]) -> None:
        embedded = sum(one.vector is not None for one in made.documents if one.fragment_id in written)
        self._metrics.documents.labels("yes").inc(embedded)
        self._metrics.documents.labels("no").inc(len(written) - embedded)
        self._metrics.given_up.inc(made.given_up)
        _log.info(
            "fragments_indexed",
            team_id=team_id,
            revision=batch.revision,
            intents=len(batch.intents),
            documents=len(written),
            deferred=len(made.deferred),
            given_up=made.given_up,
        )
