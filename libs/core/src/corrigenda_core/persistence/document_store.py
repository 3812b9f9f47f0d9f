"""Search documents and the queue that asks for them: what is waiting, and what was made of it.

A document is written and its intents are consumed in one transaction, so that whatever ends the indexer leaves the
intents waiting. Making a document twice makes the same document.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from corrigenda_core.domain.ids import FragmentId, TeamId
from corrigenda_core.domain.time import Instant
from corrigenda_core.persistence.database import Database, Row
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.vectors import StoredVector
from corrigenda_core.persistence.work_transaction import WorkRunner, WorkTransaction


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class QueuePlace:
    """A place in a team's queue, by the commit that asked and the fragment."""

    revision: int
    fragment_id: FragmentId


QUEUE_START = QueuePlace(revision=0, fragment_id=FragmentId("00000000-0000-0000-0000-000000000000"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """A waiting request to look at a fragment, with the fragment and the space of the document that it has.

    ``asked_at`` is team time, ``recorded_at`` the fragment's. A ``hidden`` text, quarantined or erased, is not to be
    found.
    """

    place: QueuePlace
    reason: str
    asked_at: Instant
    content: str
    hidden: bool
    recorded_at: Instant
    embedding_space: str | None

    @property
    def fragment_id(self) -> FragmentId:
        """The fragment."""
        return self.place.fragment_id


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingBatch:
    """Some waiting intents, the oldest first, as the team's state at ``revision`` had them.

    ``team_now`` is the team's time, which stands still while an administrator drives it (``is_driven``).
    """

    intents: tuple[Intent, ...]
    revision: int
    team_now: Instant
    is_driven: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchDocument:
    """What finds a fragment; ``vector`` is ``None`` where it could not be embedded."""

    fragment_id: FragmentId
    terms: tuple[str, ...]
    vector: StoredVector | None
    recorded_at: Instant


class DocumentStore:
    """The indexer's reads and writes.

    Args:
        database: the pool of its role.
        reader: reads one team's queue.
        now: the real time.
    """

    def __init__(self, *, database: Database, reader: ReadRunner, now: Callable[[], Instant]) -> None:
        self._database = database
        self._reader = reader
        self._worker = WorkRunner(database)
        self._now = now
        self._sql = load_sql("search_documents.sql")

    async def stale_teams(self, limit: int) -> list[TeamId]:
        """Teams with waiting intents, the longest waiting first."""
        rows = await self._database.ask(self._sql.query("stale_teams", limit=limit))
        return [TeamId(row["team_id"]) for row in rows]

    async def waiting(self, team_id: TeamId, *, after: QueuePlace, limit: int) -> WaitingBatch:
        """The first waiting intents of a team behind a place of its queue."""

        def read(transaction: ReadTransaction) -> WaitingBatch:
            reading = transaction.reading
            return WaitingBatch(
                intents=tuple(_intent(row) for row in transaction.prefetched["waiting_fragments"]),
                revision=reading.revision,
                team_now=reading.now,
                is_driven=reading.is_driven,
            )

        query = self._sql.query(
            "waiting_fragments",
            team_id=team_id,
            after_revision=after.revision,
            after_fragment_id=after.fragment_id,
            limit=limit,
        )
        return await self._reader.run(team_id, read, prefetch=[query])

    async def put(
        self,
        team_id: TeamId,
        documents: Sequence[SearchDocument],
        *,
        version: int,
        done: Collection[QueuePlace],
    ) -> frozenset[FragmentId]:
        """Writes documents and marks intents as done, in one transaction.

        An intent stays where a newer document than ours is there: whoever wrote that may have left something waiting.

        Args:
            team_id: the team.
            documents: what was made.
            version: the revision whose state the documents show; an older version never takes a newer one's place.
            done: intents that nothing is left to do for, once the documents are there.

        Returns:
            The fragments whose documents were written.
        """
        # One order of locks for all indexers.
        ordered = sorted(documents, key=lambda document: document.fragment_id)
        queries = [
            self._sql.query(
                "put_document",
                team_id=team_id,
                fragment_id=document.fragment_id,
                version=version,
                terms=list(document.terms),
                embedding=document.vector and document.vector.text,
                embedding_space=document.vector and document.vector.space,
                recorded_from=document.recorded_at,
            )
            for document in ordered
        ]

        async def work(transaction: WorkTransaction) -> frozenset[FragmentId]:
            answers = await transaction.execute(*queries) if queries else []
            written = frozenset(FragmentId(row["fragment_id"]) for rows in answers for row in rows)
            overtaken = {document.fragment_id for document in documents} - written
            consumed = sorted(place for place in done if place.fragment_id not in overtaken)
            if consumed:
                await transaction.execute(
                    self._sql.query(
                        "consume_intents",
                        team_id=team_id,
                        consumed_at=self._now(),
                        revisions=[place.revision for place in consumed],
                        fragment_ids=[place.fragment_id for place in consumed],
                    )
                )
            return written

        return await self._worker.run(team_id, work)


def _intent(row: Row) -> Intent:
    return Intent(
        place=QueuePlace(revision=row["revision"], fragment_id=FragmentId(row["fragment_id"])),
        reason=row["reason"],
        asked_at=row["asked_at"],
        content=row["content"],
        hidden=row["hidden"],
        recorded_at=row["recorded_at"],
        embedding_space=row["embedding_space"],
    )
