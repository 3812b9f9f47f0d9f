"""Embeds anew what another model embedded: document by document, while the old vectors go on serving."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

import structlog
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import TeamId
from corrigenda_core.persistence.space_store import FIRST_PLACE, SpaceStore
from corrigenda_core.process import wait_for_stop

from corrigenda_recall.indexer.embedding import DocumentEmbedder
from corrigenda_recall.indexer.metrics import IndexMetrics

TEAMS_PER_ROUND = 64
# Small, so that what is written meanwhile does not wait long for the model.
BATCH_DOCUMENTS = 16

_log = structlog.get_logger("corrigenda.indexer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Respaced:
    """What became of a team's documents of other spaces.

    ``overtaken`` were written anew by somebody else meanwhile; ``failed`` could not be embedded and keep what they
    have. ``reachable`` says whether the embedder answers at all.
    """

    done: int = 0
    overtaken: int = 0
    failed: int = 0
    reachable: bool = True

    @property
    def seen(self) -> int:
        """How many documents were looked at."""
        return self.done + self.overtaken + self.failed


Progress = Callable[[Respaced], None]


class Respacer:
    """The worker; several may run at once, and may be killed at any point.

    Args:
        store: its reads and writes.
        embedder: the present one.
        metrics: what is counted.
        check_seconds: how long to wait before looking again.
    """

    def __init__(
        self, *, store: SpaceStore, embedder: DocumentEmbedder, metrics: IndexMetrics, check_seconds: float
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._metrics = metrics
        self._check_seconds = check_seconds

    async def run_until(self, stop: asyncio.Event) -> None:
        """Works until told to stop; a batch that is under way is finished first."""
        while not stop.is_set():
            try:
                await self.run_round(stop)
            except Exception as error:  # noqa: BLE001 - the loop of a worker outlives any failure
                self._metrics.failed_rounds.inc()
                _log.error("respace_round_failed", exc_info=error)
            await wait_for_stop(stop, self._check_seconds)

    async def run_round(self, stop: asyncio.Event) -> None:
        """All documents of all teams that are in other spaces; ends early where the embedder does not answer."""
        teams = await self._store.teams(self._embedder.space, TEAMS_PER_ROUND)
        self._metrics.other_space_teams.set(len(teams))
        for team_id in teams:
            if stop.is_set():
                return
            try:
                respaced = await self.respace(team_id, stop)
            except Refusal as refusal:
                self._metrics.failed_batches.labels(refusal.reason.value).inc()
                _log.warning("respace_failed", team_id=team_id, reason=refusal.reason.value)
                continue
            except Exception as error:  # noqa: BLE001 - the other teams do not wait for one that fails
                self._metrics.failed_batches.labels(Reason.INTERNAL_ERROR.value).inc()
                _log.error("respace_failed", team_id=team_id, exc_info=error)
                continue
            _log.info("team_respaced", team_id=team_id, done=respaced.done, failed=respaced.failed)
            if not respaced.reachable:
                return

    async def respace(
        self, team_id: TeamId, stop: asyncio.Event, *, unembedded: bool = False, progress: Progress = lambda _: None
    ) -> Respaced:
        """Embeds a team's documents of other spaces anew.

        Args:
            team_id: the team.
            stop: ends it after the batch that is under way.
            unembedded: also those that could not be embedded before.
            progress: told after each batch.
        """
        so_far, after = Respaced(), FIRST_PLACE
        while not stop.is_set():
            documents = await self._store.waiting(
                team_id, self._embedder.space, after=after, limit=BATCH_DOCUMENTS, unembedded=unembedded
            )
            if not documents:
                break
            embedded = await self._embedder.embed([document.content for document in documents])
            made = [
                (document, vector)
                for document, vector in zip(documents, embedded.vectors, strict=True)
                if vector is not None
            ]
            written = await self._store.put(team_id, made)
            self._metrics.respaced.inc(written)
            so_far = replace(
                so_far,
                done=so_far.done + written,
                overtaken=so_far.overtaken + len(made) - written,
                failed=so_far.failed + len(documents) - len(made),
                reachable=embedded.reachable,
            )
            progress(so_far)
            if not embedded.reachable:
                break
            after = documents[-1].fragment_id
        return so_far
