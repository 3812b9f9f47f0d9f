"""The timeline of one owner's slot: a function of the statements and decisions, whatever order they arrived in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from corrigenda_core.domain.decisions import FacetAssignment, GivenStart, Removal, Reopening, TimelineDecision
from corrigenda_core.domain.ids import StatementId
from corrigenda_core.domain.objects import Object, Polarity
from corrigenda_core.domain.predicates import Predicate, RelationshipKind
from corrigenda_core.domain.relationships import Closing, Statement, Status
from corrigenda_core.domain.time import Interval, TimeBasis
from corrigenda_core.policy.extents import decide_exact_bound, decide_just_before
from corrigenda_core.policy.facets import Facets, decide_facets
from corrigenda_core.policy.lane_walk import Ending, Run
from corrigenda_core.policy.lanes import (
    Entry,
    LaneKey,
    decide_lane,
    is_excluding_value,
    is_slot_exclusive,
    value_of,
)
from corrigenda_core.policy.same_moment import Held, HoldReason
from corrigenda_core.policy.same_values import apply_same_values
from corrigenda_core.policy.validity import is_overlapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One value in force over an interval, and the statements that carry it, in the order of recording.

    ``against`` are the statements that it competes with. ``closing`` is what ended it, or the statements of
    ``successors`` did; neither, if it ends by itself or is open.
    """

    facet: int
    object: Object
    polarity: Polarity
    validity: Interval
    start_basis: TimeBasis | None
    end_basis: TimeBasis | None
    status: Status
    record: bool
    statement_ids: tuple[StatementId, ...]
    against: tuple[StatementId, ...] = ()
    closing: Closing | None = None
    successors: tuple[StatementId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldStatement:
    """A statement that waits for its owner, and those of another value that it cannot be ordered against."""

    statement_id: StatementId
    against: tuple[StatementId, ...]
    reason: HoldReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """What one owner's statements of a slot say together.

    ``removed`` are the statements that decisions took out, ``left`` those that a closing at or before their start did.
    """

    episodes: tuple[Episode, ...] = ()
    held: tuple[HeldStatement, ...] = ()
    removed: tuple[Removal, ...] = ()
    left: tuple[tuple[StatementId, Closing], ...] = ()

    def episode_of(self, statement_id: StatementId) -> Episode | None:
        """The episode that a statement carries."""
        return next((episode for episode in self.episodes if statement_id in episode.statement_ids), None)


def fold_slot(
    predicate: Predicate, statements: Iterable[Statement], decisions: Collection[TimelineDecision]
) -> Timeline:
    """Folds one owner's statements of one slot into episodes (R4.7).

    Args:
        predicate: what the slot's values mean: how many may be in force, and what happens to those without an order.
        statements: all statements of the owner in the slot; those without effective support say nothing.
        decisions: those that stand in the slot; what they say about other owners' statements touches nothing here.

    Returns:
        Episodes by lane and time. At every instant at most one value of a lane and facet is in force, apart from those
        with status `competing`.
    """
    own = {statement.statement_id: statement for statement in apply_same_values(statements, decisions)}
    removals = {d.statement_id: d for d in decisions if isinstance(d, Removal) and d.statement_id in own}
    present = [s for s in own.values() if s.effective and s.statement_id not in removals]
    closings = [closing for closing in _standing(decisions) if not own.keys().isdisjoint(closing.statement_ids)]
    while True:
        holding = _holding(closings, {statement.statement_id for statement in present})
        lanes = _lanes(predicate, present, decisions, holding)
        timeline = _timeline(lanes, removals.values(), holding)
        carried = {statement_id for episode in timeline.episodes for statement_id in episode.statement_ids}
        carried.update(statement_id for statement_id, _ in timeline.left)
        closings = _holding(holding, carried)
        if len(closings) == len(holding):
            return timeline


def _standing(decisions: Collection[TimelineDecision]) -> list[Closing]:
    reopened = {(d.closing_decision_id, d.relationship_id) for d in decisions if isinstance(d, Reopening)}
    closings = [decision for decision in decisions if isinstance(decision, Closing)]
    return [closing for closing in closings if (closing.decision_id, closing.relationship_id) not in reopened]


def _holding(closings: Iterable[Closing], present: Collection[StatementId]) -> list[Closing]:
    """The closings that hold (R4.15), in the order of time: a conditional one as long as what it was made for is there.

    That is looked at twice: before the fold among the statements that nothing has taken out, and after it among those
    that carry an episode, or carried one until a later decision ended it. A closing that lapses never comes back in the
    same fold.
    """
    held = [c for c in closings if not c.conditional or any(made_for in present for made_for in c.made_for)]
    return sorted(held, key=lambda closing: (closing.at, closing.decision_id))


def _lanes(
    predicate: Predicate,
    statements: Iterable[Statement],
    decisions: Iterable[TimelineDecision],
    closings: Sequence[Closing],
) -> list[Facets]:
    given = {decision.statement_id: decision for decision in decisions if isinstance(decision, GivenStart)}
    assigned = {d.statement_id: d.facet for d in decisions if isinstance(d, FacetAssignment)}
    lanes: dict[LaneKey, list[Entry]] = {}
    for statement in sorted(statements, key=lambda statement: statement.sequence):
        entry = _entry(statement, given.get(statement.statement_id), closings, predicate)
        lanes.setdefault(decide_lane(entry, predicate), []).append(entry)
    exclusive = is_slot_exclusive(predicate)
    kept = frozenset(given).union(*(closing.made_for for closing in closings))
    return [
        decide_facets(lanes[key], assigned, closings, kept, predicate.same_moment, exclusive=exclusive)
        for key in sorted(lanes)
    ]


def _entry(statement: Statement, given: GivenStart | None, closings: Iterable[Closing], predicate: Predicate) -> Entry:
    """A statement with its times; a given start that is not earlier than its own end gives nothing."""
    start, unbounded, end = statement.start, False, statement.end
    if start is None and given is not None:
        unbounded = given.at is None
        if given.at is not None and (end is None or given.at < end.at):
            start = decide_exact_bound(given.at, given.basis)
    if start is not None and end is not None and end.at <= start.at:
        end = None
    if start is None and predicate.kind is RelationshipKind.EVENT:
        # What happened at an unknown time has no duration: the end says only that it happened before.
        end = None
    closed_at = [closing.at for closing in closings if statement.statement_id in closing.statement_ids]
    limits = closed_at + ([end.at] if end is not None else [])
    return Entry(
        statement=statement,
        start=start,
        unbounded=unbounded,
        end=end,
        closed_at=min((at for at in closed_at if start is not None and start.at < at), default=None),
        witness_at=min([statement.witness_at, *(decide_just_before(limit) for limit in limits)]),
    )


def _timeline(lanes: Iterable[Facets], removals: Iterable[Removal], closings: Sequence[Closing]) -> Timeline:
    episodes: list[Episode] = []
    held: list[Held] = []
    left: list[tuple[StatementId, Closing]] = []
    for lane in lanes:
        for facet, admission in lane.admissions():
            runs = admission.reading.walk.runs
            made = [_episode(facet, run, _rivals(run, runs), closings) for run in runs]
            made += [_episode(facet, beside.run, beside.against, closings) for beside in admission.beside]
            episodes += _with_lost_sides(made, exclusive=lane.exclusive)
            held += admission.held
            left += admission.left.items()
        held += lane.undecided
        left += lane.left.items()
    return Timeline(
        episodes=tuple(episodes),
        held=tuple(
            HeldStatement(statement_id=h.entry.statement_id, against=_ids(h.against), reason=h.reason) for h in held
        ),
        removed=tuple(removals),
        left=tuple(left),
    )


def _rivals(run: Run, runs: Iterable[Run]) -> list[Entry]:
    if not run.disputed:
        return []
    return [entry for other in runs if other.place is run.place and other is not run for entry in other.entries]


def _episode(facet: int, run: Run, against: Collection[Entry], closings: Iterable[Closing]) -> Episode:
    first = min(run.entries, key=lambda entry: entry.sequence).statement
    ending = run.ending()
    return Episode(
        facet=facet,
        object=first.object,
        polarity=first.polarity,
        validity=Interval(start=run.begin, end=None if ending is None else ending.at),
        start_basis=run.start_basis,
        end_basis=None if ending is None else ending.basis,
        status=_status(run, ending, disputed=bool(against), closings=closings),
        record=run.of_record,
        statement_ids=_ids(run.entries),
        against=_ids(against),
        closing=None if ending is None else ending.closing,
        successors=() if ending is None or ending.successor is None else _ids(ending.successor.entries),
    )


def _with_lost_sides(episodes: Sequence[Episode], *, exclusive: bool) -> list[Episode]:
    """The episodes of one facet, where sides of a dispute that lost a case stay `competing` if they would overlap."""
    alone = [episode for episode in episodes if episode.status is not Status.COMPETING]
    return [
        replace(episode, status=Status.COMPETING)
        if episode.against and any(_is_overlapped(episode, other, exclusive=exclusive) for other in alone)
        else episode
        for episode in episodes
    ]


def _is_overlapped(episode: Episode, other: Episode, *, exclusive: bool) -> bool:
    values = value_of(episode.object, episode.polarity), value_of(other.object, other.polarity)
    return is_excluding_value(*values, exclusive=exclusive) and is_overlapping(episode.validity, other.validity)


def _status(run: Run, ending: Ending | None, *, disputed: bool, closings: Iterable[Closing]) -> Status:
    """`superseded` by what came later or by a decision; a side of a dispute only by the resolution of a case."""
    carried = {entry.statement_id for entry in run.entries}
    for closing in closings:
        if closing.conflict_id is not None and not carried.isdisjoint(closing.statement_ids):
            return Status.SUPERSEDED
    if ending is not None and ending.closing is not None and ending.closing.conflict_id is not None:
        return Status.SUPERSEDED
    if disputed:
        return Status.COMPETING
    ended = ending is not None and (ending.closing is not None or ending.successor is not None)
    return Status.SUPERSEDED if ended else Status.ACTIVE


def _ids(entries: Iterable[Entry]) -> tuple[StatementId, ...]:
    return tuple(entry.statement_id for entry in sorted(entries, key=lambda entry: entry.sequence))
