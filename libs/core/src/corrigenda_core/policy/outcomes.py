"""What became of a new statement: the one word that its author gets, read from the timelines before and after it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from corrigenda_core.domain.changes import OutcomeKind
from corrigenda_core.domain.ids import StatementId
from corrigenda_core.domain.predicates import Predicate, RelationshipKind
from corrigenda_core.domain.relationships import Statement
from corrigenda_core.domain.time import EARLIEST, Instant
from corrigenda_core.policy.lanes import is_excluding_value, is_slot_exclusive, value_of
from corrigenda_core.policy.same_moment import HoldReason
from corrigenda_core.policy.timeline import Episode, Timeline

START_MOVED, END_MOVED, ROWS_JOINED = "start_moved", "end_moved", "rows_joined"

_HOLD_RULES = {
    HoldReason.SAME_MOMENT: "R4.10",
    HoldReason.SYSTEM_OF_RECORD: "R4.13",
    HoldReason.SEVERAL_FACETS: "R4.16a",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a statement, the rule that fired, and the statements of others that it touched."""

    kind: OutcomeKind
    rule: str = "R4.10"
    opposing: tuple[StatementId, ...] = ()
    notes: tuple[str, ...] = ()


def decide_outcome(
    statement: Statement, predicate: Predicate, before: Timeline, after: Timeline, *, corrected: bool, closed: bool
) -> Outcome:
    """The first outcome that fits (R4.10).

    Args:
        statement: the new one.
        predicate: what its slot's values mean.
        before: the owner's timeline without it.
        after: the timeline with it, and with what was decided for it.
        corrected: whether it takes the place of a relationship that it corrects.
        closed: whether the same-moment policy has ended another value for it, or given it its start.
    """
    for held in after.held:
        if held.statement_id == statement.statement_id:
            return Outcome(kind=OutcomeKind.HELD, rule=_HOLD_RULES[held.reason], opposing=held.against)
    episode = after.episode_of(statement.statement_id)
    if episode is None:
        return Outcome(kind=OutcomeKind.PENDING_EVIDENCE, rule="R4.3")
    if corrected:
        return Outcome(kind=OutcomeKind.CORRECTED, rule="R4.16b")
    if len(episode.statement_ids) > 1:
        return Outcome(kind=OutcomeKind.CORROBORATED, notes=_notes(statement, before, episode))
    if episode.against:
        return Outcome(kind=OutcomeKind.COMPETING, opposing=episode.against)
    if closed:
        return Outcome(kind=OutcomeKind.CLOSED)
    return _placed_alone(statement, predicate, before, after, episode)


def _notes(statement: Statement, before: Timeline, episode: Episode) -> tuple[str, ...]:
    """What else a corroborating statement did to the episode that carries it."""
    others = set(episode.statement_ids) - {statement.statement_id}
    earlier = [e for e in before.episodes if not others.isdisjoint(e.statement_ids)]
    notes = [ROWS_JOINED] if len(earlier) > 1 else []
    if earlier and _begin(earlier[0]) != _begin(episode):
        notes.append(START_MOVED)
    if earlier and earlier[-1].validity.end != episode.validity.end:
        notes.append(END_MOVED)
    return tuple(notes)


def _placed_alone(
    statement: Statement, predicate: Predicate, before: Timeline, after: Timeline, episode: Episode
) -> Outcome:
    exclusive = is_slot_exclusive(predicate)
    ended = [e for e in after.episodes if statement.statement_id in e.successors]
    opposing = tuple(statement_id for e in ended for statement_id in e.statement_ids)
    if any(_is_divided(e, after.episodes) for e in before.episodes if not set(e.statement_ids).isdisjoint(opposing)):
        return Outcome(kind=OutcomeKind.EPISODE_DIVIDED, opposing=opposing)
    if predicate.kind is RelationshipKind.STATE and any(
        _begin(other) > _begin(episode) and _is_near(other, episode, exclusive=exclusive) for other in after.episodes
    ):
        return Outcome(kind=OutcomeKind.INSERTED_HISTORICAL, opposing=opposing)
    if ended:
        return Outcome(kind=OutcomeKind.SUPERSEDED, opposing=opposing)
    if not exclusive and len(after.episodes) > 1:
        return Outcome(kind=OutcomeKind.COEXISTS, rule="R4.11")
    return Outcome(kind=OutcomeKind.INSERTED)


def _is_divided(episode: Episode, after: Iterable[Episode]) -> bool:
    """Whether the statements of an episode of before are carried by more than one now."""
    return sum(not set(e.statement_ids).isdisjoint(episode.statement_ids) for e in after) > 1


def _is_near(other: Episode, episode: Episode, *, exclusive: bool) -> bool:
    """Whether two episodes share a timeline: they say the same, or exclude each other."""
    values = value_of(other.object, other.polarity), value_of(episode.object, episode.polarity)
    return other.facet == episode.facet and (values[0] == values[1] or is_excluding_value(*values, exclusive=exclusive))


def _begin(episode: Episode) -> Instant:
    return EARLIEST if episode.validity.start is None else episode.validity.start
