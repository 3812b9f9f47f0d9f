"""Recall: searches the evidence of a team as a view knows it, and answers with what makes it eligible."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.cases import ConflictCase
from corrigenda_core.domain.ids import EntityId, FragmentId, ProfileId
from corrigenda_core.domain.results import Degradation
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.recall_store import (
    Hits,
    Question,
    RecallStore,
    case_evidence_of,
    case_evidence_query,
    edges_of,
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

from corrigenda_recall.answer import Found, Path, RecallAnswer, Result
from corrigenda_recall.finding import cases_by_result, paths_of, ranked_hits
from corrigenda_recall.in_view import entities_of
from corrigenda_recall.large_teams import LargeTeams
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
    large_teams: LargeTeams = field(default_factory=LargeTeams)

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
            is_large = self.large_teams.is_known_large(caller.team_id, view.known_at)
            answer = await _answer(transaction, view, replace(searched, is_large_team=is_large), question.limit)
            if Degradation.APPROXIMATE_VECTORS in answer.degraded:
                self.large_teams.note(caller.team_id, view.known_at)
            return answer

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
    found = ranked_hits(view, hits, await store.cases_around(hits.outlines), branch_hits)
    # Rows and texts are read of the best ones only; those whose texts do not fit any more are left out below.
    best = found.ranking[:limit]
    best_ids = [one.fragment_id for one in best]
    live = cases_by_result(found.around.live, found, best_ids)
    resolved = cases_by_result(found.around.shown_resolved, found, best_ids)
    entities, owners = _named(found, best_ids, (*live, *resolved))
    of_cases = [case_evidence_query(transaction.team_id, view, (case.conflict_id for case in live))] if live else []
    edges, texts, names, profiles, *evidence = await transaction.fetch_last(
        store.edges_query(best_ids),
        fragments_query(transaction.team_id, best_ids),
        entity_names_query(transaction.team_id, entities),
        profile_names_query(transaction.team_id, owners),
        *of_cases,
    )
    paths = paths_of(view, found, edges_of(edges))
    eligible = [one for one in best if one.fragment_id in paths]
    results = _results(paths, eligible, {row["fragment_id"]: shown_fragment_of(row) for row in texts})
    shown_ids = [result.fragment.fragment_id for result in results]
    searched_revision = _searched_revision(view, hits)
    return RecallAnswer(
        view=view,
        results=results,
        total=len(found.ranking) - len(best) + len(eligible),
        live=cases_by_result(live, found, shown_ids),
        resolved=cases_by_result(resolved, found, shown_ids),
        found=found,
        evidence=case_evidence_of(row for rows in evidence for row in rows),
        names=entity_names_of(names),
        profiles=profile_names_of(profiles),
        degraded=_degraded(searched, hits, searched_revision < view.revision),
        searched_revision=searched_revision,
    )


def _results(
    paths: Mapping[FragmentId, tuple[Path, ...]],
    eligible: Sequence[Ranked],
    fragments: Mapping[FragmentId, ShownFragment],
) -> tuple[Result, ...]:
    """The best results, as many as fit into a message."""
    fitting = fitting_count(fragments[ranked.fragment_id].content for ranked in eligible)
    return tuple(
        Result(ranked=ranked, fragment=fragments[ranked.fragment_id], paths=paths[ranked.fragment_id])
        for ranked in eligible[:fitting]
    )


def _named(
    found: Found, best_ids: Iterable[FragmentId], cases: Iterable[ConflictCase]
) -> tuple[set[EntityId], set[ProfileId]]:
    """The entities and owners whose names are shown: those of the best results and of the sides of the cases."""
    outlines = [edge for fragment_id in best_ids for edge in found.outlines[fragment_id]]
    listed = tuple(cases)
    members = [
        found.members[member.relationship_id]
        for case in listed
        for position in case.positions
        for member in position.members
    ]
    entities = {entity_id for edge in outlines for entity_id in edge.entity_ids}
    entities |= {case.set_key.subject_id for case in listed} | entities_of(members)
    return entities, {edge.owner_id for edge in outlines} | {row.owner_id for row in members}


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
