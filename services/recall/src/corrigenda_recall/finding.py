"""From hits to a ranking: paths in force, what they say to their reader, and the order of the results. No I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from corrigenda_core.domain.cases import ConflictCase
from corrigenda_core.domain.ids import FragmentId, RelationshipId
from corrigenda_core.domain.results import FoundEdge
from corrigenda_core.domain.time import TextSpan
from corrigenda_core.persistence.recall_store import Hits, Hydrated
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


def found_results(view: ReadView, hits: Hits, known: Hydrated, limit: int) -> Found:
    """The ranking of the hits that the view shows, with the paths that make each eligible.

    Args:
        view: the asked point of both time axes.
        hits: what the branches handed over.
        known: what the view knows of them.
        limit: how many hits of a branch count.
    """
    rows = {edge.relationship.relationship_id: edge.relationship for edge in known.edges} | dict(known.members)
    picture = decide_known_picture(view.valid_at, rows.values(), known.cases)
    in_force = frozenset(edge.relationship.relationship_id for edge in picture.edges)
    around = decide_surroundings(picture, known.cases, known.held_against)
    # The branches have asked the database already; what the policy says of the rows themselves is what counts.
    paths = _paths((edge for edge in known.edges if edge.relationship.relationship_id in in_force), around)
    traits = {fragment_id: decide_best_traits(path.traits for path in own) for fragment_id, own in paths.items()}
    branches = {branch: decide_branch(found, paths, limit) for branch, found in hits.branches.items()}
    return Found(
        ranking=decide_ranking(branches, traits),
        paths=paths,
        around=around,
        in_force=in_force,
        members=known.members,
    )


def cases_by_result(cases: Iterable[ConflictCase], results: Sequence[Iterable[Path]]) -> tuple[ConflictCase, ...]:
    """The cases that the rows of results take part in, that of the best result first."""
    listed = tuple(cases)
    touched = (
        case
        for paths in results
        for case in decide_touched(listed, {path.relationship.relationship_id for path in paths})
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
