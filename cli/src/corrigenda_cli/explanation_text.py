"""Explanations of cases as plain text for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corrigenda_core.domain.explanations import (
    Condition,
    CountCondition,
    Explanation,
    OneMoreWitness,
    Quantity,
    Relation,
    RuleReading,
    is_same_result,
)
from corrigenda_core.domain.snapshots import CaseDecision, Evaluation, Resolve, Standing
from corrigenda_core.policy.snapshot_codec import write_instant

_QUANTITIES = {
    Quantity.LIVE_POSITIONS: "live positions",
    Quantity.LIVE_OWNERS: "owners of live positions",
    Quantity.NOW: "the time of the look",
    Quantity.WITNESSES: "witnesses",
    Quantity.TWICE_WITNESSES: "2 x witnesses",
    Quantity.FOUR_TIMES_WITNESSES: "4 x witnesses",
    Quantity.AUTHORITATIVE_WITNESSES: "authoritative witnesses",
    Quantity.OTHER_POSITIONS_WITH_AUTHORITY: "other positions with an authority",
    Quantity.OTHER_POSITIONS_OVERRIDING: "positions that override it",
    Quantity.OTHER_POSITIONS_OF_RECORD: "other positions with a system of record",
    Quantity.TIME_BEGINS: "start of its evidence time",
    Quantity.OPPONENT_KNOWN_STARTS: "known starts of the authority",
}

_NEEDED_COUNT = {Relation.AT_LEAST: "at least", Relation.MORE_THAN: "more than", Relation.AT_MOST: "at most"}

Row = tuple[str, ...]


def render_explanation(explanation: Explanation) -> str:
    """The decision, the numbers of every position, every rule with what it misses, and what would change it."""
    return "\n".join(_lines(explanation)) + "\n"


def _lines(explanation: Explanation) -> Iterator[str]:
    evaluation = explanation.evaluation
    yield f"Decision: {_result(evaluation.decision)}"
    yield from _consequences(evaluation.decision)
    lacking = [condition for condition in explanation.disagreement if not condition.met]
    if lacking:
        yield f"Nothing to decide: {'; '.join(map(_condition, lacking))}"
    if evaluation.standings:
        yield ""
        yield from _table(
            ("Position", "Witnesses", "Authoritative", "Evidence time", "System of record"),
            [_standing_row(standing) for standing in evaluation.standings],
        )
        yield ""
        yield from _table(("Supports", "Position", "Counted as"), _support_rows(evaluation))
        yield ""
        yield from _table(
            ("Rule", "Position", "Met", "Missing"),
            [row for reading in explanation.readings for row in _reading_rows(reading)],
        )
    yield ""
    yield from _table(
        ("What if", "Now", "At the deadline"),
        [
            ("nothing changes", _result(evaluation.decision), _result(explanation.at_deadline)),
            *(_one_more_row(one, explanation) for one in explanation.one_more),
        ],
    )


def _table(heading: Row, rows: Sequence[Row]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(heading, *rows, strict=True)]
    for row in (heading, *rows):
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _result(decision: CaseDecision) -> str:
    winner = f" for {decision.winner}" if isinstance(decision, Resolve) else ""
    return f"{decision.outcome}{winner} ({decision.reason})"


def _consequences(decision: CaseDecision) -> Iterator[str]:
    if isinstance(decision, Resolve):
        yield f"Cutoff: {write_instant(decision.cutoff)} ({decision.basis})"
        for loser in decision.losers:
            yield f"Closes {loser.relationship_id} at {write_instant(loser.valid_to)}"


def _standing_row(standing: Standing) -> Row:
    if standing.time is not None:
        time = f"{write_instant(standing.time.start)} .. {write_instant(standing.time.end)}"
    else:
        time = "conflicting" if standing.start_bounds else "none"
    return (
        standing.position_id,
        str(standing.counted),
        str(standing.authoritative),
        time,
        "yes" if standing.record else "no",
    )


def _support_rows(evaluation: Evaluation) -> list[Row]:
    rows: list[Row] = []
    for component in evaluation.witnesses.components:
        counted_as = "one authoritative witness" if component.authoritative else "one witness"
        rows.append((" ".join(component.support_ids), component.position_id, counted_as))
    for exclusion in evaluation.witnesses.exclusions:
        rows.append((" ".join(exclusion.support_ids), exclusion.position_id, f"nothing: {exclusion.reason}"))
    return rows


def _reading_rows(reading: RuleReading) -> list[Row]:
    """One row, and one more for each further condition that is missing."""
    first, *others = [_condition(condition) for condition in reading.missing] or [""]
    met = "no" if reading.missing else "yes"
    return [(reading.rule, reading.position_id, met, first), *(("", "", "", other) for other in others)]


def _one_more_row(one: OneMoreWitness, explanation: Explanation) -> Row:
    return (
        f"one more witness for {one.position_id}",
        _change(one.now, explanation.evaluation.decision),
        _change(one.at_deadline, explanation.at_deadline),
    )


def _change(decision: CaseDecision, without: CaseDecision) -> str:
    return "no change" if is_same_result(decision, without) else _result(decision)


def _condition(condition: Condition) -> str:
    against = "" if condition.opponent is None else f" against {condition.opponent}"
    name = f"{_QUANTITIES[condition.quantity]}{against}"
    if isinstance(condition, CountCondition):
        return f"{name}: {condition.measured}, needs {_NEEDED_COUNT[condition.relation]} {condition.required}"
    measured = "none" if condition.measured is None else write_instant(condition.measured)
    if condition.required is None:
        return f"{name}: {measured}, needs one"
    word = "not before" if condition.inclusive else "after"
    return f"{name}: {measured}, needs to be {word} {write_instant(condition.required)}"
