"""Sides: the rows that an item is about, as a decision sees them, and what it decides about one side alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from corrigenda_core.domain.decisions import GivenStart, TimelineDecision
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import DecisionId, ProfileId, RelationshipId, StatementId
from corrigenda_core.domain.relationships import Closing, Relationship, Statement, Status
from corrigenda_core.domain.slots import SlotView
from corrigenda_core.domain.time import Instant, Interval, TimeBasis
from corrigenda_core.policy.lanes import Value, value_of
from corrigenda_core.policy.same_moment import HoldReason
from corrigenda_core.policy.timeline import Timeline, fold_slot


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A row with the statements that carry it, in the order of recording, and the rows that it competes with."""

    row: Relationship
    statements: tuple[Statement, ...]
    against: frozenset[RelationshipId] = frozenset()

    @property
    def row_id(self) -> RelationshipId:
        """The id of its row."""
        return self.row.relationship_id

    @property
    def statement_ids(self) -> tuple[StatementId, ...]:
        """The ids of its statements."""
        return tuple(statement.statement_id for statement in self.statements)

    @property
    def value(self) -> Value:
        """What it says."""
        return value_of(self.row.object, self.row.polarity)

    @property
    def held(self) -> bool:
        """Whether it waits outside the timeline: it never was in force."""
        return self.row.status is Status.NEEDS_REVIEW

    @property
    def competing(self) -> bool:
        """Whether it stands in a dispute."""
        return self.row.status is Status.COMPETING

    @property
    def record_sources(self) -> frozenset[str | None]:
        """The sources that say it as systems of record."""
        return frozenset(statement.source for statement in self.statements if statement.record)


@dataclass(frozen=True, slots=True, kw_only=True)
class SideStart:
    """From when a side holds, and the starts that the decision gives its statements for that."""

    at: Instant
    basis: TimeBasis
    given: tuple[GivenStart, ...] = ()


def decide_timeline(view: SlotView, owner_id: ProfileId) -> Timeline:
    """What one owner's statements say with the decisions of the view."""
    own = [statement for statement in view.statements if statement.owner_id == owner_id]
    return fold_slot(view.predicate, own, view.decisions)


def decide_side(view: SlotView, row: Relationship, timeline: Timeline) -> Side:
    """A row as a side.

    Args:
        view: the slot as it stands.
        row: one of its rows.
        timeline: the fold of the row's owner.
    """
    carried = sorted((s for s in view.statements if s.relationship_id == row.relationship_id), key=lambda s: s.sequence)
    carriers = {s.statement_id: s.relationship_id for s in view.statements}
    ids = {statement.statement_id for statement in carried}
    against = {
        carrier
        for episode in timeline.episodes
        if not ids.isdisjoint(episode.statement_ids)
        for statement_id in episode.against
        if (carrier := carriers[statement_id]) is not None
    }
    return Side(row=row, statements=tuple(carried), against=frozenset(against))


def decide_start(view: SlotView, side: Side, stated: Instant | None, decision_id: DecisionId) -> SideStart:
    """From when a side holds once a decision has settled it.

    A known start stays. A held or competing side without one starts when its owner says so: in the decision, else in
    the statement; else when it was recorded. What is in force already keeps its unknown start, and others end when it
    was recorded.

    Args:
        view: the slot as it stands.
        side: the side.
        stated: the start that the decision states.
        decision_id: the decision.

    Raises:
        Refusal: START_NEEDED if it would start when its own end has passed, INVALID_FIELD if a start is stated that is
            not needed, or not before its own end.
    """
    starts = _known_starts(view, side)
    if starts or not (side.held or side.competing):
        if stated is not None:
            raise Refusal(Reason.INVALID_FIELD, "the relationship needs no start", field="start")
        at = min(statement.recorded_at for statement in side.statements)
        return min(starts, key=lambda start: start.at, default=SideStart(at=at, basis=TimeBasis.RECORDED_FALLBACK))
    chosen = [(statement, *_chosen_start(statement, stated)) for statement in side.statements]
    for statement, at, _ in chosen:
        _require_before_end(side, statement, at, stated=stated is not None)
    first = min(chosen, key=lambda one: one[1])
    return SideStart(
        at=first[1],
        basis=first[2],
        given=tuple(
            GivenStart(decision_id=decision_id, statement_id=statement.statement_id, at=at, basis=basis)
            for statement, at, basis in chosen
        ),
    )


def _known_starts(view: SlotView, side: Side) -> list[SideStart]:
    starts = [SideStart(at=s.start.at, basis=s.start.basis) for s in side.statements if s.start is not None]
    for decision in view.decisions:
        if isinstance(decision, GivenStart) and decision.statement_id in side.statement_ids and decision.at is not None:
            starts.append(SideStart(at=decision.at, basis=decision.basis))
    return starts


def _chosen_start(statement: Statement, stated: Instant | None) -> tuple[Instant, TimeBasis]:
    start = stated or statement.stated_start
    if start is not None:
        return start, TimeBasis.STATED_TIME
    return statement.recorded_at, TimeBasis.RECORDED_FALLBACK


def _require_before_end(side: Side, statement: Statement, at: Instant, *, stated: bool) -> None:
    if statement.end is None or at < statement.end.at:
        return
    raise Refusal(
        Reason.INVALID_FIELD if stated else Reason.START_NEEDED,
        "the relationship had ended by then; the decision must state when it began",
        field="start",
        metadata={"relationship_id": side.row_id, "end": statement.end.at.isoformat()},
    )


def plan_side_end(
    side: Side, start: SideStart, made_for: Sequence[StatementId], decision_id: DecisionId
) -> list[TimelineDecision]:
    """Ends a side where another one starts, as long as one of the statements it was ended for is in the timeline.

    What has ended by then stays as it is. What was never in force, or began no earlier than that, is closed to nothing:
    for that, statements without a known start get the time at which they were recorded.
    """
    validity = side.row.validity
    if not isinstance(validity, Interval) or (not side.held and validity.end is not None and validity.end < start.at):
        return []
    decisions: list[TimelineDecision] = [decide_closing(side, start, decision_id, made_for=tuple(made_for))]
    begins_later = side.competing and validity.start is not None and validity.start >= start.at
    if (side.held or begins_later) and all(statement.start is None for statement in side.statements):
        decisions += [
            GivenStart(
                decision_id=decision_id,
                statement_id=statement.statement_id,
                at=_start_of_lost(statement, start.at),
                basis=TimeBasis.RECORDED_FALLBACK,
            )
            for statement in side.statements
        ]
    return decisions


def _start_of_lost(statement: Statement, closed_at: Instant) -> Instant:
    """When it was recorded, unless the closing or its own end came before that."""
    at = max(statement.recorded_at, closed_at)
    return at if statement.end is None or at < statement.end.at else closed_at


def decide_closing(
    side: Side, at: SideStart, decision_id: DecisionId, *, made_for: tuple[StatementId, ...] = ()
) -> Closing:
    """The closing of a side at an instant; without statements that it was made for it holds until it is reverted."""
    return Closing(
        decision_id=decision_id,
        relationship_id=side.row_id,
        facet=side.row.facet,
        object_key=side.row.object.key,
        polarity=side.row.polarity,
        at=at.at,
        statement_ids=side.statement_ids,
        made_for=made_for,
        conditional=bool(made_for),
        basis=at.basis,
    )


def may_overrule(sources: frozenset[str | None], side: Side) -> None:
    """Checks that a side may end or stand against what records say: only a record of the same source may.

    Args:
        sources: the sources of records on the side that is kept.
        side: the side that it would end.

    Raises:
        Refusal: SYSTEM_OF_RECORD.
    """
    if side.record_sources and side.record_sources != sources:
        raise record_refusal(side.row_id)


def may_hold_beside_records(view: SlotView, owner_id: ProfileId, statement_ids: Iterable[StatementId]) -> None:
    """Checks that what a decision keeps does not end up in front of a system of record.

    Args:
        view: the slot with the decision.
        owner_id: whose timeline it is.
        statement_ids: what it keeps.

    Raises:
        Refusal: SYSTEM_OF_RECORD.
    """
    kept = set(statement_ids)
    records = {s.statement_id: s.relationship_id for s in view.statements if s.record}
    timeline = decide_timeline(view, owner_id)
    opponents = [h.against for h in timeline.held if h.statement_id in kept and h.reason is HoldReason.SYSTEM_OF_RECORD]
    opponents += [e.against for e in timeline.episodes if not e.record and not kept.isdisjoint(e.statement_ids)]
    met = [statement_id for against in opponents for statement_id in against if statement_id in records]
    if met:
        raise record_refusal(records[met[0]])


def record_refusal(row_id: RelationshipId | None) -> Refusal:
    """The refusal of whatever would overrule a system of record."""
    return Refusal(
        Reason.SYSTEM_OF_RECORD,
        "a system of record says so, and only its own source may say otherwise",
        metadata={"relationship_id": row_id or ""},
    )
