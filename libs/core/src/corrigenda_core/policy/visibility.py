"""What a reader sees at an instant of the world and a point of the record: the oracle of every read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar, assert_never

from corrigenda_core.domain.cases import CaseStatus, ConflictCase
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import RelationshipId
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.domain.time import Instant, Moment, TimeBasis, Validity
from corrigenda_core.domain.views import KnownAt, KnownAtRevision, KnownNow, TemporalSelector, Version, View
from corrigenda_core.policy.validity import apply_start, is_in_force

Row = TypeVar("Row")


def decide_view(selector: TemporalSelector, *, now: Instant, moments: Sequence[Moment]) -> View:
    """Resolves what a reader asks by against the team's clock (R8.1).

    Args:
        selector: what is asked; each axis is now unless it says otherwise.
        now: the team's present time, not earlier than its last commit.
        moments: the team's commits, first to last.

    Returns:
        The view: it names a revision that is closed, so that it stays what it is whatever commits later.

    Raises:
        Refusal: INVALID_FIELD for knowledge of the future, naming ``known_at`` or ``revision``.
    """
    last = moments[-1].revision if moments else 0
    match selector.known:
        case KnownNow():
            revision = last
        case KnownAt(at=at):
            if at > now:
                raise _future("known_at", offered=at.isoformat(), allowed=now.isoformat())
            before = bisect_right(moments, at, key=lambda moment: moment.at)
            revision = moments[before - 1].revision if before else 0
        case KnownAtRevision(revision=revision):
            if revision > last:
                raise _future("revision", offered=str(revision), allowed=str(last))
        case never:
            assert_never(never)
    return View(valid_at=now if selector.valid_at is None else selector.valid_at, revision=revision)


def is_recorded(moment: Moment, view: View) -> bool:
    """Whether what a commit appended is part of the view."""
    return moment.revision <= view.revision


def is_in_view(version: Version[Row], view: View) -> bool:
    """Whether this version of a row is the one that the view knows."""
    return is_recorded(version.since, view) and (version.until is None or not is_recorded(version.until, view))


def decide_version_in_view(versions: Iterable[Version[Row]], view: View) -> Row | None:
    """The row as the view knows it; ``None`` if it was recorded later.

    Args:
        versions: the versions of one row, in any order.
        view: the view.
    """
    return next((version.row for version in versions if is_in_view(version, view)), None)


def decide_counted_validity(row: Relationship, resolved: Iterable[ConflictCase]) -> Validity:
    """The validity with which a row counts in a view that knows these resolutions (R8.3).

    A winner without a start of its own (unbounded, or for lack of any other the recorded time) counts as starting at
    the cutoff: before that the loser held. With several resolutions in its favour the first cutoff is the one. The row
    itself stays as it is.

    Args:
        row: the relationship as the view knows it.
        resolved: the resolved cases that the view knows.
    """
    cutoffs = [case.effective_at for case in resolved if case.effective_at is not None and _is_won_by(case, row)]
    own_start = row.start_basis not in {None, TimeBasis.RECORDED_FALLBACK}
    return row.validity if own_start or not cutoffs else apply_start(row.validity, min(cutoffs))


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticEdge:
    """A relationship that is in force in a view, with the validity with which it counts there."""

    relationship: Relationship
    validity: Validity


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What a view shows: the edges, the live cases that dispute them, and the references to resolved cases."""

    edges: tuple[SemanticEdge, ...]
    live_cases: tuple[ConflictCase, ...]
    resolved_cases: tuple[ConflictCase, ...]


def decide_picture(
    view: View, relationships: Iterable[Version[Relationship]], cases: Iterable[Version[ConflictCase]]
) -> Picture:
    """What a view shows of a team, for every pair of instants, from versioned rows alone (R8.2).

    Args:
        view: the instant of the world and the revision.
        relationships: versions of any number of relationships, in any order.
        cases: versions of any number of cases, in any order.

    Returns:
        Edges and cases in the order of their ids. A live case is shown where two of its positions are in force, a
        resolved one from its cutoff on and wherever else both sides still are.
    """
    return decide_known_picture(
        view.valid_at,
        (version.row for version in relationships if is_in_view(version, view)),
        (version.row for version in cases if is_in_view(version, view)),
    )


def decide_known_picture(
    valid_at: Instant, relationships: Iterable[Relationship], cases: Iterable[ConflictCase]
) -> Picture:
    """What a view shows of rows and cases at the versions that it knows.

    Args:
        valid_at: the instant of the world.
        relationships: rows, each once.
        cases: cases, each once; the cutoff of every case that one of the rows has won must be among them.

    Returns:
        As `decide_picture`.
    """
    rows = sorted(relationships, key=lambda row: row.relationship_id)
    known = sorted(cases, key=lambda case: case.conflict_id)
    resolved = [case for case in known if case.status is CaseStatus.RESOLVED]
    edges = tuple(
        SemanticEdge(relationship=row, validity=validity)
        for row in rows
        for validity in [decide_counted_validity(row, resolved)]
        if is_in_force(row.status, validity, valid_at)
    )
    in_force = {edge.relationship.relationship_id for edge in edges}
    return Picture(
        edges=edges,
        live_cases=tuple(case for case in known if case.live and _is_disputed(case, in_force)),
        resolved_cases=tuple(
            case
            for case in resolved
            if (case.effective_at is not None and case.effective_at <= valid_at) or _is_disputed(case, in_force)
        ),
    )


def _is_won_by(case: ConflictCase, row: Relationship) -> bool:
    return any(
        member.relationship_id == row.relationship_id
        for position in case.positions
        if position.position_id == case.preferred_position_id
        for member in position.members
    )


def _is_disputed(case: ConflictCase, in_force: set[RelationshipId]) -> bool:
    """Whether members of at least two positions are in force."""
    sides = [p for p in case.positions if any(member.relationship_id in in_force for member in p.members)]
    return len(sides) > 1


def _future(field: str, *, offered: str, allowed: str) -> Refusal:
    return Refusal(
        Reason.INVALID_FIELD,
        "what the team will know is not known",
        field=field,
        metadata={"offered": offered, "allowed": allowed},
    )
