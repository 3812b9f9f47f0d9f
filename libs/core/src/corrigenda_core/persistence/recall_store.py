"""Reads what recall answers from, as one view knows it: hits and their edges in outline, cases around them, rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest

from corrigenda_core.domain.cases import ConflictCase
from corrigenda_core.domain.evidence import Authority, SourceType
from corrigenda_core.domain.ids import (
    ConflictId,
    EntityId,
    FragmentId,
    PositionId,
    ProfileId,
    RelationshipId,
    TeamId,
)
from corrigenda_core.domain.objects import Polarity
from corrigenda_core.domain.relationships import Relationship, Status, Tier
from corrigenda_core.domain.results import EdgeOutline, FoundEdge
from corrigenda_core.domain.time import Instant
from corrigenda_core.persistence.case_rows import cases_of
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.persistence.read_transaction import ReadTransaction
from corrigenda_core.persistence.row_text import array_text
from corrigenda_core.persistence.row_values import relationship_of, spans_of
from corrigenda_core.persistence.space_store import is_within, spaces_query
from corrigenda_core.persistence.vectors import StoredVector
from corrigenda_core.persistence.view_store import ReadView
from corrigenda_core.policy.ranking import Branch

EVIDENCE_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What the branches look for; an empty part is not asked.

    ``vectors`` has one vector for each embedding space that is searched. ``is_large_team`` is given where it is known
    to be so, which saves the database counting.
    """

    terms: tuple[str, ...]
    names: tuple[str, ...]
    reader_id: ProfileId
    vectors: tuple[StoredVector, ...] = ()
    is_large_team: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """What each branch handed over, the best first, and the edges that make each hit eligible.

    ``first_waiting_revision`` is what the index does not know yet. ``has_other_spaces`` says that documents have
    vectors that none of the question's can be compared with, ``is_approximate`` that not every vector was looked at.
    """

    branches: Mapping[Branch, tuple[FragmentId, ...]]
    outlines: Mapping[FragmentId, tuple[EdgeOutline, ...]]
    first_waiting_revision: int | None
    has_other_spaces: bool = False
    is_approximate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SideEvidence:
    """One of the latest effective supports of a side of a case."""

    fragment_id: FragmentId
    relationship_id: RelationshipId
    author_id: ProfileId
    author_name: str
    source_type: SourceType
    authority: Authority
    confidence: float | None
    recorded_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class CasesAround:
    """The cases around hits, and what else the view knows that marks them.

    Attributes:
        cases: live and resolved cases with their positions, of rows of the hits and of the other members.
        members: the rows of all members.
        held_against: rows that pending questions of their owners name as standing.
    """

    cases: tuple[ConflictCase, ...] = ()
    members: Mapping[RelationshipId, Relationship]
    held_against: frozenset[RelationshipId]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseEvidence:
    """The latest supports of each side of some cases, and how many each has."""

    latest: Mapping[PositionId, tuple[SideEvidence, ...]]
    totals: Mapping[PositionId, int]


class RecallStore:
    """The reads of one answer, in one snapshot and one view."""

    def __init__(self, transaction: ReadTransaction, view: ReadView) -> None:
        self._transaction = transaction
        self._sql = load_sql("recall.sql")
        self._known = {"team_id": transaction.team_id, "known_at": view.recorded_by}
        self._in_view = {**self._known, "valid_at": view.valid_at}

    async def hits(self, question: Question, limit: int) -> Hits:
        """What the branches find, each at most ``limit`` hits that are eligible in the view; one round trip."""
        queries = list(self._searches(question, limit))
        waiting = self._sql.query("first_waiting_revision", team_id=self._transaction.team_id)
        spaces = spaces_query(self._transaction.team_id)
        first, ends, *found = await self._transaction.fetch_all(waiting, spaces, *(query for _, query in queries))
        rankings: dict[Branch, list[list[FragmentId]]] = defaultdict(list)
        outlines: dict[FragmentId, str] = {}
        for (branch, _), rows in zip(queries, found, strict=True):
            rankings[branch].append([row["fragment_id"] for row in rows])
            outlines.update((row["fragment_id"], row["outlines"]) for row in rows)
        return Hits(
            branches={branch: _interleaved(own) for branch, own in rankings.items()},
            outlines={fragment_id: outlines_of(text) for fragment_id, text in outlines.items()},
            first_waiting_revision=first[0]["revision"],
            has_other_spaces=bool(question.vectors)
            and not is_within(ends[0], {vector.space for vector in question.vectors}),
            is_approximate=any(row["approximate"] for rows in found for row in rows[:1] if "approximate" in row),
        )

    def _searches(self, question: Question, limit: int) -> Iterator[tuple[Branch, Query]]:
        # Functions that know the transaction's team by themselves.
        searched: dict[str, object] = {name: value for name, value in self._in_view.items() if name != "team_id"}
        searched |= {"hits": limit, "is_large": question.is_large_team}
        if question.terms:
            yield Branch.LEXICAL, self._sql.query("search_lexical", **searched, terms=array_text(question.terms))
        for vector in question.vectors:
            in_space = {"embedding": vector.text, "space": vector.space}
            yield Branch.VECTOR, self._sql.query("search_vector", **searched, **in_space)
        if question.names:
            named = {"names": array_text(question.names), "reader_id": question.reader_id}
            yield Branch.ENTITY, self._sql.query("search_entity", **self._in_view, **named, hits=limit)

    async def cases_around(self, fragment_ids: Collection[FragmentId]) -> CasesAround:
        """The cases around fragments; one round trip, and another one where there are cases."""
        ids = {"fragment_ids": array_text(fragment_ids)}
        cases, held = await self._transaction.fetch_all(
            self._sql.query("cases_of_fragments", **self._known, **ids),
            self._sql.query("held_against", **self._known, **ids),
        )
        positions: list[Row] = []
        members: list[Row] = []
        if cases:
            of_cases = {"conflict_ids": [row["conflict_id"] for row in cases]}
            positions, members = await self._transaction.fetch_all(
                self._sql.query("positions_of_cases", **self._known, **of_cases),
                self._sql.query("members_of_cases", **self._known, **of_cases),
            )
        return CasesAround(
            cases=cases_of(cases, positions, members),
            members={row["relationship_id"]: relationship_of(row) for row in members},
            held_against=frozenset(row_id for row in held for row_id in row["opposing"]),
        )

    def edges_query(self, fragment_ids: Iterable[FragmentId]) -> Query:
        """The effective supports of fragments with their living rows; `edges_of` reads the rows."""
        return self._sql.query("edges_of_fragments", **self._in_view, fragment_ids=array_text(fragment_ids))


def edges_of(rows: Iterable[Row]) -> tuple[FoundEdge, ...]:
    """The edges in the rows of `RecallStore.edges_query`."""
    return tuple(_edge(row) for row in rows)


def _interleaved(rankings: Sequence[Sequence[FragmentId]]) -> tuple[FragmentId, ...]:
    """One ranking of several: the first of each, then the second ones; a document has a vector in one space only."""
    ranks = zip_longest(*rankings)
    return tuple(dict.fromkeys(hit for rank in ranks for hit in rank if hit is not None))


def case_evidence_query(team_id: TeamId, view: ReadView, conflict_ids: Iterable[ConflictId]) -> Query:
    """The latest evidence of each side of cases; `case_evidence_of` reads the rows."""
    return load_sql("recall.sql").query(
        "evidence_of_cases",
        team_id=team_id,
        known_at=view.recorded_by,
        conflict_ids=array_text(sorted(conflict_ids)),
        shown=EVIDENCE_SHOWN,
    )


def case_evidence_of(rows: Iterable[Row]) -> CaseEvidence:
    """The evidence by position, the latest recorded first."""
    latest: dict[PositionId, list[SideEvidence]] = defaultdict(list)
    totals: dict[PositionId, int] = {}
    for row in rows:
        totals[row["position_id"]] = row["total"]
        latest[row["position_id"]].append(
            SideEvidence(
                fragment_id=row["fragment_id"],
                relationship_id=row["relationship_id"],
                author_id=row["author_id"],
                author_name=row["author_name"],
                source_type=SourceType(row["source_type"]),
                authority=Authority(row["authority"]),
                confidence=None if row["confidence"] is None else float(row["confidence"]),
                recorded_at=row["recorded_at"],
            )
        )
    return CaseEvidence(latest={position: tuple(found) for position, found in latest.items()}, totals=totals)


def _edge(row: Row) -> FoundEdge:
    return FoundEdge(
        fragment_id=row["fragment_id"],
        support_id=row["support_id"],
        relationship=relationship_of(row),
        authority=Authority(row["authority"]),
        spans=spans_of(row),
    )


def outlines_of(text: str) -> tuple[EdgeOutline, ...]:
    """The edges of one hit as ``edges_of_fragment`` writes them, a comma between two."""
    return tuple([_outline(one) for one in text.split(",")])


def _outline(text: str) -> EdgeOutline:
    relationship_id, owner_id, subject_id, object_id, standing = text.split(" ", 4)
    status, tier, polarity, authority = _standing(standing)
    named = (subject_id, object_id) if object_id else (subject_id,)
    return EdgeOutline(
        relationship_id=RelationshipId(relationship_id),
        owner_id=ProfileId(owner_id),
        entity_ids=tuple([EntityId(one) for one in named]),
        status=status,
        tier=tier,
        polarity=polarity,
        authority=authority,
    )


@lru_cache(maxsize=1024)
def _standing(text: str) -> tuple[Status, Tier, Polarity, Authority]:
    """The words at the end of an outline: few, and the same ones again and again."""
    status, tier, polarity, authority = text.split(" ")
    return Status(status), Tier(tier), Polarity(polarity), Authority(authority)
