"""Recall: searches the evidence of a team as a view knows it, and answers with what makes it eligible."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.cases import ConflictCase
from corrigenda_core.domain.ids import EntityId, FragmentId, ProfileId
from corrigenda_core.domain.objects import EntityObject
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.domain.results import Degradation
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.recall_store import (
    Hits,
    Question,
    RecallStore,
    case_evidence_of,
    case_evidence_query,
)
from corrigenda_core.persistence.shown_store import (
    ShownFragment,
    entity_names_of,
    entity_names_query,
    fragments_query,
    profile_names_of,
    profile_names_query,
    shown_fragment_of,
)
from corrigenda_core.persistence.vectors import StoredVector
from corrigenda_core.persistence.view_store import ReadView, run_in_view
from corrigenda_core.policy.query_names import plan_query_names
from corrigenda_core.policy.ranking import Ranked
from corrigenda_core.policy.search_terms import plan_query_terms
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.ports.providers import Embedder, ProviderFailed

from corrigenda_recall.answer import Found, RecallAnswer, Result
from corrigenda_recall.finding import cases_by_result, found_results
from corrigenda_recall.message_room import fitting_count
from corrigenda_recall.requests import RecallQuestion

# Each branch hands over more than is asked for, so that what all of them find a little can come before what one finds.
BRANCH_HITS_LEAST = 40
BRANCH_HITS_PER_RESULT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """The use case.

    ``embedding_timeout_seconds`` bounds how long a query may take to become a vector. ``previous_embedder`` is asked
    too while documents of its space are not embedded anew.
    """

    reader: ReadRunner
    embedder: Embedder
    embedding_timeout_seconds: float
    previous_embedder: Embedder | None = None

    async def __call__(self, caller: Caller, question: RecallQuestion, deadline: Deadline) -> RecallAnswer:
        """Answers a question.

        Raises:
            Refusal: INVALID_FIELD, REVISION_NOT_REPLICATED.
        """
        # A model is never asked inside a transaction.
        vectors = await self._vectors(question.query, deadline)
        searched = Question(
            terms=plan_query_terms(question.query),
            names=plan_query_names(question.query),
            reader_id=caller.profile_id,
            vectors=vectors,
        )

        async def read(transaction: ReadTransaction, view: ReadView) -> RecallAnswer:
            return await _answer(transaction, view, searched, question.limit)

        return await run_in_view(
            self.reader,
            caller.team_id,
            question.selector,
            read,
            field="temporal",
            min_revision=question.min_revision,
            deadline=deadline,
        )

    async def _vectors(self, query: str, deadline: Deadline) -> tuple[StoredVector, ...]:
        """The query's embeddings; without any, words and entities answer, and the answer says so (R9.6)."""
        embedders = [self.embedder, *([] if self.previous_embedder is None else [self.previous_embedder])]
        seconds = min(self.embedding_timeout_seconds, deadline.remaining_seconds() / 2)
        found = await asyncio.gather(*(_vector(embedder, query, seconds) for embedder in embedders))
        return tuple(vector for vector in found if vector is not None)


async def _vector(embedder: Embedder, query: str, timeout_seconds: float) -> StoredVector | None:
    try:
        async with asyncio.timeout(timeout_seconds):
            (vector,) = await embedder.embed([query])
    except (ProviderFailed, TimeoutError):
        return None
    return StoredVector.of(vector.tolist(), embedder.space)


async def _answer(transaction: ReadTransaction, view: ReadView, searched: Question, limit: int) -> RecallAnswer:
    store = RecallStore(transaction, view)
    branch_hits = max(BRANCH_HITS_LEAST, BRANCH_HITS_PER_RESULT * limit)
    hits = await store.hits(searched, branch_hits)
    found = found_results(view, hits, await store.hydrated(hits.fragment_ids), branch_hits)
    best = found.ranking[:limit]
    # Of the best ones; those whose texts do not fit any more are left out below.
    live = cases_by_result(found.around.live, [found.paths[one.fragment_id] for one in best])
    resolved = cases_by_result(found.around.shown_resolved, [found.paths[one.fragment_id] for one in best])
    rows = _shown_rows(found, best, (*live, *resolved))
    texts, names, profiles, evidence = await transaction.fetch_all(
        fragments_query(transaction.team_id, (one.fragment_id for one in best)),
        entity_names_query(transaction.team_id, _entities(rows, (*live, *resolved))),
        profile_names_query(transaction.team_id, _owners(rows)),
        case_evidence_query(transaction.team_id, view, (case.conflict_id for case in live)),
    )
    results = _results(found, best, {row["fragment_id"]: shown_fragment_of(row) for row in texts})
    searched_revision = _searched_revision(view, hits)
    return RecallAnswer(
        view=view,
        results=results,
        total=len(found.ranking),
        live=cases_by_result(live, [result.paths for result in results]),
        resolved=cases_by_result(resolved, [result.paths for result in results]),
        found=found,
        evidence=case_evidence_of(evidence),
        names=entity_names_of(names),
        profiles=profile_names_of(profiles),
        degraded=_degraded(searched, hits, searched_revision < view.revision),
        searched_revision=searched_revision,
    )


def _results(found: Found, best: Sequence[Ranked], fragments: Mapping[FragmentId, ShownFragment]) -> tuple[Result, ...]:
    """The best results, as many as fit into a message."""
    fitting = fitting_count(fragments[ranked.fragment_id].content for ranked in best)
    return tuple(
        Result(ranked=ranked, fragment=fragments[ranked.fragment_id], paths=found.paths[ranked.fragment_id])
        for ranked in best[:fitting]
    )


def _shown_rows(found: Found, best: Iterable[Ranked], cases: Iterable[ConflictCase]) -> list[Relationship]:
    of_paths = [path.relationship for one in best for path in found.paths[one.fragment_id]]
    of_cases = [
        found.members[member.relationship_id]
        for case in cases
        for position in case.positions
        for member in position.members
    ]
    return [*of_paths, *of_cases]


def _entities(rows: Iterable[Relationship], cases: Iterable[ConflictCase]) -> set[EntityId]:
    named = {case.set_key.subject_id for case in cases}
    for row in rows:
        named.add(row.slot.subject_id)
        if isinstance(row.object, EntityObject):
            named.add(row.object.entity_id)
    return named


def _owners(rows: Iterable[Relationship]) -> set[ProfileId]:
    return {row.owner_id for row in rows}


def _searched_revision(view: ReadView, hits: Hits) -> int:
    """Up to which revision of the view everything can be found."""
    if hits.first_waiting_revision is None:
        return view.revision
    return min(view.revision, hits.first_waiting_revision - 1)


def _degraded(searched: Question, hits: Hits, is_behind: bool) -> tuple[Degradation, ...]:
    found = {
        Degradation.NO_EMBEDDING: not searched.vectors,
        Degradation.APPROXIMATE_VECTORS: hits.is_approximate,
        Degradation.SEARCH_BEHIND: is_behind,
        Degradation.OTHER_EMBEDDING_SPACE: hits.has_other_spaces,
    }
    return tuple(degradation for degradation, is_so in found.items() if is_so)
