"""Why a conflict is decided as it is: the decision, the count, every rule, and what would change it."""

from __future__ import annotations

from collections.abc import Mapping

from corrigenda.conflict.v1 import case_explanation_pb2, conflict_service_pb2
from rich.console import RenderableType
from rich.text import Text

from corrigenda_cli.rendering.layout import block, grid, heading, spaced, stacked
from corrigenda_cli.rendering.safe_text import one_line
from corrigenda_cli.rendering.words import (
    View,
    counted,
    foot,
    identifier,
    interval_text,
    joined,
    left_out,
    optional_time_text,
    styled,
    time_text,
    word,
)

Labels = Mapping[str, str]


def draw_explanation(answer: conflict_service_pb2.ExplainConflictResponse, view: View) -> RenderableType:
    """Everything that the policy compared."""
    told, conflict = answer.explanation, answer.conflict
    labels = {one.position_id: one_line(one.label) for one in conflict.positions}
    labels |= {one.position_id: one_line(one.label) for one in told.standings}
    policy = f"{one_line(told.policy_version)} at {time_text(told.evaluated_at, view)}"
    return spaced(
        [
            block(
                Text(one_line(conflict.question), style="bold"),
                joined([styled(word(conflict, "status")), word(told, "basis"), policy]),
                identifier(f"conflict {conflict.conflict_id} version {conflict.version}"),
            ),
            stacked(heading("decision"), _decision(told.decision, view)),
            *_disagreement(told, view, labels),
            _standings(told, view),
            _witnesses(told, labels),
            _rules(told, view, labels),
            _what_if(told, labels),
            foot(view, revision=answer.revision),
        ]
    )


def _decision(decision: case_explanation_pb2.CaseDecision, view: View) -> RenderableType:
    since = optional_time_text(decision, "effective_at", view)
    ended = [Text(f"ends {one.relationship_id} at {time_text(one.valid_to, view)}") for one in decision.losers]
    return block(
        _decided(decision),
        Text(f"since {since} ({word(decision, 'effective_time_basis')})" if since else ""),
        *ended,
        left_out(len(ended), decision.losers_total, "relationships"),
    )


def _decided(decision: case_explanation_pb2.CaseDecision) -> Text:
    winner = f" for {one_line(decision.winner_label)}" if decision.winner_label else ""
    return Text(f"{word(decision, 'outcome')}{winner} ({one_line(decision.reason).replace('_', ' ')})")


def _disagreement(told: case_explanation_pb2.CaseExplanation, view: View, labels: Labels) -> list[RenderableType]:
    missing = [_condition(one, view, labels) for one in told.disagreement if not one.met]
    return [block(heading("nothing to decide"), *map(Text, missing))] if missing else []


def _standings(told: case_explanation_pb2.CaseExplanation, view: View) -> RenderableType:
    table = grid("position", "witnesses", "authoritative", "evidence time", "system of record")
    for one in told.standings:
        time = interval_text(one.evidence_time, view) if one.HasField("evidence_time") else ""
        if not time and one.start_bounds:
            time = "contradictory"
        table.add_row(
            Text(one_line(one.label), style="bold"),
            str(one.witnesses),
            str(one.authoritative_witnesses),
            time or "none",
            "yes" if one.record else "no",
        )
    return stacked(heading("what counts"), table, left_out(len(told.standings), told.standings_total, "positions"))


def _witnesses(told: case_explanation_pb2.CaseExplanation, labels: Labels) -> RenderableType:
    table = grid("supports", "position", "counted as")
    for witness in told.witnesses:
        counts = "one authoritative witness" if witness.authoritative else "one witness"
        table.add_row(
            counted(witness.supports_total, "support"), labels.get(witness.position_id, witness.position_id), counts
        )
    for excluded in told.exclusions:
        reason = Text(f"nothing: {word(excluded, 'reason')}", style="yellow")
        name = labels.get(excluded.position_id, excluded.position_id)
        table.add_row(counted(excluded.supports_total, "support"), name, reason)
    return stacked(
        table,
        left_out(len(told.witnesses), told.witnesses_total, "witnesses"),
        left_out(len(told.exclusions), told.exclusions_total, "groups that do not count"),
    )


def _rules(told: case_explanation_pb2.CaseExplanation, view: View, labels: Labels) -> RenderableType:
    table = grid("rule", "position", "met", "missing")
    for reading in told.rules:
        missing = [Text(_condition(one, view, labels)) for one in reading.conditions if not one.met]
        more = left_out(len(missing), reading.missing_total, "conditions")
        table.add_row(
            one_line(reading.rule).replace("_", " "),
            labels.get(reading.position_id, reading.position_id),
            Text("yes", style="green") if reading.met else Text("no"),
            stacked(*missing, more),
        )
    return stacked(heading("rules, in their order"), table)


def _what_if(told: case_explanation_pb2.CaseExplanation, labels: Labels) -> RenderableType:
    table = grid("what if", "now", "at the deadline")
    table.add_row("nothing changes", _decided(told.decision), _decided(told.at_deadline))
    for one in told.one_more_witness:
        table.add_row(
            f"one more independent witness for {labels.get(one.position_id, one.position_id)}",
            _decided(one.now) if one.changes_now else Text("no change"),
            _decided(one.at_deadline) if one.changes_at_deadline else Text("no change"),
        )
    return stacked(heading("what would change it"), table)


def _condition(condition: case_explanation_pb2.RuleCondition, view: View, labels: Labels) -> str:
    name = one_line(condition.quantity).replace("_", " ")
    opponent = condition.opponent_position_id
    against = f" against {labels.get(opponent, opponent)}" if opponent else ""
    relation = word(condition, "relation")
    if condition.HasField("times"):
        measured = optional_time_text(condition.times, "measured", view) or "none"
        needed = optional_time_text(condition.times, "required", view)
        needs = f"{_OF_TIMES.get(relation, relation)} {needed}" if needed else "any"
    else:
        measured, needs = str(condition.counts.measured), f"{relation} {condition.counts.required}"
    return f"{name}{against}: {measured}, needs {needs}"


_OF_TIMES = {"at least": "not before", "more than": "after"}
