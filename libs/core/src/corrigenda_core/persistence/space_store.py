"""Embedding spaces: documents whose vectors are of another model, and vectors of the new one in their place.

A document keeps its old vector until the new one is there, in one UPDATE of its row; words are never touched.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from corrigenda_core.domain.ids import FragmentId, TeamId
from corrigenda_core.persistence.database import Database, Row
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.vectors import StoredVector
from corrigenda_core.persistence.work_transaction import WorkRunner, WorkTransaction
from corrigenda_core.ports.providers import StoredSample

FIRST_PLACE = FragmentId("00000000-0000-0000-0000-000000000000")


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherDocument:
    """A document of another space (``None``: of none) as it was read."""

    fragment_id: FragmentId
    version: int
    space: str | None
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceCounts:
    """How many documents of a team are in a space, in other ones, and in none although they have words."""

    in_space: int
    in_others: int
    unembedded: int


class SpaceStore:
    """Reads and writes of the indexer's role; the recall service's role may sample.

    Args:
        database: the pool of the role.
        reader: reads one team.
    """

    def __init__(self, *, database: Database, reader: ReadRunner) -> None:
        self._database = database
        self._reader = reader
        self._worker = WorkRunner(database)
        self._sql = load_sql("search_spaces.sql")

    async def teams(self, space: str, limit: int, *, unembedded: bool = False) -> list[TeamId]:
        """Teams with documents of other spaces, by id; with ``unembedded`` also those with documents of none."""
        query = self._sql.query("teams_in_other_spaces", space=space, unembedded=unembedded, limit=limit)
        return [TeamId(row["team_id"]) for row in await self._database.ask(query)]

    async def sample(self, space: str) -> StoredSample | None:
        """Any text of any team whose vector is in a space, with that vector."""
        found = await self._database.ask(self._sql.query("sample_document", space=space))
        if not found:
            return None
        team_id = TeamId(found[0]["team_id"])
        query = self._sql.query("sampled_vector", team_id=team_id, fragment_id=found[0]["fragment_id"], space=space)
        rows = await self._read(team_id, query)
        if not rows:
            return None
        return StoredSample(content=rows[0]["content"], vector=tuple(json.loads(rows[0]["embedding"])))

    async def waiting(
        self, team_id: TeamId, space: str, *, after: FragmentId, limit: int, unembedded: bool = False
    ) -> list[OtherDocument]:
        """Documents of other spaces behind a place, by fragment."""
        query = self._sql.query(
            "documents_in_other_spaces", team_id=team_id, space=space, after=after, unembedded=unembedded, limit=limit
        )
        return [
            OtherDocument(
                fragment_id=FragmentId(row["fragment_id"]),
                version=row["version"],
                space=row["embedding_space"],
                content=row["content"],
            )
            for row in await self._read(team_id, query)
        ]

    async def counts(self, team_id: TeamId, space: str) -> SpaceCounts:
        """How far a team has come."""
        (row,) = await self._read(team_id, self._sql.query("count_documents_by_space", team_id=team_id, space=space))
        return SpaceCounts(in_space=row["in_space"], in_others=row["in_others"], unembedded=row["unembedded"])

    async def put(self, team_id: TeamId, vectors: Sequence[tuple[OtherDocument, StoredVector]]) -> int:
        """Puts new vectors in the place of the ones that were read; says how many documents took theirs."""
        queries = [
            self._sql.query(
                "put_vector",
                team_id=team_id,
                fragment_id=document.fragment_id,
                version=document.version,
                seen_space=document.space,
                embedding=vector.text,
                space=vector.space,
            )
            for document, vector in vectors
        ]

        async def work(transaction: WorkTransaction) -> int:
            return sum(len(rows) for rows in await transaction.execute(*queries))

        return await self._worker.run(team_id, work) if queries else 0

    async def _read(self, team_id: TeamId, query: Query) -> list[Row]:
        def read(transaction: ReadTransaction) -> list[Row]:
            return transaction.prefetched[query.name]

        return await self._reader.run(team_id, read, prefetch=[query])


def spaces_query(team_id: TeamId) -> Query:
    """The first and the last space of a team's documents; `is_within` reads the row."""
    return load_sql("search_spaces.sql").query("first_and_last_space", team_id=team_id)


def is_within(row: Row, spaces: Collection[str]) -> bool:
    """Whether all embedded documents are in these spaces, as far as the first and the last one tell.

    A third space between two that are searched is not seen; that a team has three at once takes two changes of the
    model before the first one is done.
    """
    return all(row[end] is None or row[end] in spaces for end in ("first", "last"))
