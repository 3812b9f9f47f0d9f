"""From hits to a ranking, and from the best of them to paths and what these say to their reader. No I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from corrigenda_core.domain.cases import ConflictCase
from corrigenda_core.domain.ids import FragmentId, RelationshipId
from corrigenda_core.domain.results import FoundEdge
from corrigenda_core.domain.time import TextSpan
from corrigenda_core.persistence.recall_store import CasesAround, Hits
from corrigenda_core.persistence.view_store import ReadView
from corrigenda_core.policy.ranking import AUTHORITY_PER_MILLE, decide_branch, decide_ranking
from corrigenda_core.policy.result_paths import (
    Surroundings,
    decide_best_traits,
    decide_marks,
    decide_surroundings,
    decide_touched,
    decide_traits,
    weight_of,
)
from corrigenda_core.policy.visibility import decide_known_picture

from corrigenda_recall.answer import Found, Path


def ranked_hits(view: ReadView, hits: Hits, known: CasesAround, limit: int) -> Found:
    """The ranking of the hits, by the edges in outline that make each eligible.

    Args:
        view: the asked point of both time axes.
        hits: what the branches handed over.
        known: what the view knows around them.
        limit: how many hits of a branch count.
    """
    # Whether a case is shown follows from its members alone.
    picture = decide_known_picture(view.valid_at, known.members.values(), known.cases)
    around = decide_surroundings(picture, known.cases, known.held_against)
    traits = {
        fragment_id: decide_best_traits(
            decide_traits(edge, edge.authority, decide_marks(edge, around)) for edge in outlines
        )
        for fragment_id, outlines in hits.outlines.items()
    }
    branches = {branch: decide_branch(found, traits, limit) for branch, found in hits.branches.items()}
    return Found(
        ranking=decide_ranking(branches, traits),
        outlines=hits.outlines,
        around=around,
        cases=known.cases,
        in_force=frozenset(edge.relationship.relationship_id for edge in picture.edges),
        members=known.members,
    )


def paths_of(view: ReadView, found: Found, edges: Iterable[FoundEdge]) -> Mapping[FragmentId, tuple[Path, ...]]:
    """The paths of the results that are shown, the heaviest first.

    The branches have asked the database already; what the policy says of the rows themselves is what counts.
    """
    listed = tuple(edges)
    rows = {edge.relationship.relationship_id: edge.relationship for edge in listed}
    picture = decide_known_picture(view.valid_at, rows.values(), found.cases)
    in_force = {edge.relationship.relationship_id for edge in picture.edges}
    return _paths((edge for edge in listed if edge.relationship.relationship_id in in_force), found.around)


def cases_by_result(
    cases: Iterable[ConflictCase], found: Found, fragment_ids: Iterable[FragmentId]
) -> tuple[ConflictCase, ...]:
    """The cases that the rows of results take part in, that of the best result first."""
    listed = tuple(cases)
    if not listed:
        return ()
    touched = (
        case
        for fragment_id in fragment_ids
        for case in decide_touched(listed, {edge.relationship_id for edge in found.outlines[fragment_id]})
    )
    return tuple({case.conflict_id: case for case in touched}.values())


def _paths(edges: Iterable[FoundEdge], around: Surroundings) -> dict[FragmentId, tuple[Path, ...]]:
    grouped: dict[FragmentId, dict[RelationshipId, list[FoundEdge]]] = defaultdict(lambda: defaultdict(list))
    for edge in edges:
        grouped[edge.fragment_id][edge.relationship.relationship_id].append(edge)
    paths = {fragment_id: [_path(own, around) for own in rows.values()] for fragment_id, rows in grouped.items()}
    for several in paths.values():
        several.sort(key=_place)
    return {fragment_id: tuple(own) for fragment_id, own in paths.items()}


def _path(edges: Sequence[FoundEdge], around: Surroundings) -> Path:
    row = edges[0].relationship
    authority = max((edge.authority for edge in edges), key=AUTHORITY_PER_MILLE.__getitem__)
    marks = decide_marks(row, around)
    return Path(
        relationship=row,
        authority=authority,
        spans=_distinct([span for edge in edges for span in edge.spans]),
        marks=marks,
        traits=decide_traits(row, authority, marks),
    )


def _distinct(spans: Sequence[TextSpan]) -> tuple[TextSpan, ...]:
    return tuple(spans) if len(spans) < 2 else tuple(sorted(set(spans), key=lambda span: (span.start, span.end)))


def _place(path: Path) -> tuple[list[int], str]:
    """The order of the paths of one result: the heaviest first."""
    return [-factor for factor in weight_of(path.traits)], path.relationship.relationship_id
