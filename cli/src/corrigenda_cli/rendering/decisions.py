"""Decisions and what they changed: before and after, side by side."""

from __future__ import annotations

from collections.abc import Sequence

from corrigenda.conflict.v1 import auto_resolution_pb2, conflict_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2
from corrigenda.type.v1 import decision_pb2, relationship_pb2
from rich.console import RenderableType
from rich.text import Text

from corrigenda_cli.rendering.items import item_drawing
from corrigenda_cli.rendering.layout import block, grid, heading, spaced, stacked
from corrigenda_cli.rendering.placements import placement_parts
from corrigenda_cli.rendering.safe_text import one_line
from corrigenda_cli.rendering.words import (
    View,
    actor_text,
    counted,
    foot,
    identifier,
    joined,
    left_out,
    names,
    object_text,
    sentence,
    styled,
    time_text,
    validity_text,
    word,
)


def draw_resolved(answer: conflict_service_pb2.ResolveConflictResponse, view: View) -> RenderableType:
    """An answer to a question."""
    return spaced(
        [
            decision_drawing(answer.decision, view),
            effects_drawing(answer.effects, view),
            item_drawing(answer.item, view),
            foot(view, revision=answer.revision),
        ]
    )


def draw_reverted(answer: conflict_service_pb2.RevertResolutionResponse, view: View) -> RenderableType:
    """A decision taken back."""
    return spaced(
        [
            decision_drawing(answer.decision, view),
            effects_drawing(answer.effects, view),
            *[item_drawing(item, view) for item in answer.items],
            stacked(left_out(len(answer.items), answer.items_total, "questions"), foot(view, revision=answer.revision)),
        ]
    )


def draw_forgotten(answer: ingest_service_pb2.ForgetResponse, view: View) -> RenderableType:
    """What was forgotten and what that changed."""
    parts: list[RenderableType] = []
    for one in answer.forgotten:
        parts.append(stacked(decision_drawing(one.decision, view), effects_drawing(one.effects, view)))
    submission = f"submission {answer.ingest_id}" if answer.ingest_id else ""
    last = stacked(
        left_out(len(answer.forgotten), answer.forgotten_total, "decisions"),
        foot(view, revision=answer.revision, more=submission),
    )
    return spaced([*(parts or [Text("Nothing was left to forget.")]), last])


def draw_placement_decision(answer: ingest_service_pb2.ResolvePlacementResponse, view: View) -> RenderableType:
    """What was decided about a placement, and what was placed by it."""
    item = f"item {answer.item.item_id}: {word(answer.item, 'status')}" if answer.HasField("item") else ""
    return spaced(
        [
            block(Text("decided", style="bold"), identifier(f"decision {answer.decision_id}"), Text(item)),
            *placement_parts(answer.placement, view),
            foot(view, revision=answer.revision, more=f"submission {answer.placement.ingest_id}"),
        ]
    )


def draw_adoption(answer: ingest_service_pb2.AdoptEvidenceResponse, view: View) -> RenderableType:
    """Whether a text supports a relationship now."""
    adoption = answer.adoption
    conflict = adoption.conflict
    return stacked(
        block(
            Text.assemble((word(adoption, "outcome"), "bold"), "  ", sentence(adoption.relationship)),
            joined([f"text of {one_line(adoption.evidence_author.name)}", word(adoption, "granted_authority")]),
            joined([word(adoption, "verdict"), one_line(adoption.verdict_reason)], ": "),
            Text(f"{word(conflict, 'effect')} {conflict.conflict_id}" if adoption.HasField("conflict") else ""),
            Text(f"notes: {', '.join(map(one_line, adoption.notes))}" if adoption.notes else ""),
        ),
        foot(view, revision=answer.revision),
    )


def draw_auto_resolved(answer: conflict_service_pb2.AutoResolveResponse, view: View) -> RenderableType:
    """One question that a judge looked at, or the report of the run."""
    if answer.HasField("report"):
        return _report(answer.report)
    item = answer.item
    decision = item.decision.decision_id if item.HasField("decision") else ""
    return block(
        joined([f"{answer.done}/{answer.total}", styled(word(item, "outcome")), word(item, "verdict")]),
        joined([one_line(item.reason), one_line(f"{item.judge} {item.model}")]),
        Text(f"problem: {one_line(item.problem)}" if item.problem else "", style="red"),
        identifier(f"item {item.item_id} version {item.item_version}"),
        identifier(f"decision {decision}") if decision else None,
        effects_drawing(item.effects, view) if item.effects.changes else None,
    )


def decision_drawing(decision: decision_pb2.Decision, view: View) -> RenderableType:
    """Who decided what, when, and why."""
    lost = [
        Text(f"{one.relationship_id} had stated its end at {time_text(one.end, view)}") for one in decision.lost_ends
    ]
    return block(
        Text(word(decision, "kind") or "decided", style="bold"),
        joined([actor_text(decision.actor), time_text(decision.recorded_at, view), one_line(decision.reason)]),
        identifier(f"decision {decision.decision_id}"),
        Text(f"takes back {decision.reverts_decision_id}" if decision.reverts_decision_id else ""),
        *lost,
        left_out(len(lost), decision.lost_ends_total, "ends that were not carried over"),
    )


def effects_drawing(effects: decision_pb2.DecisionEffects, view: View) -> RenderableType:
    """What a decision changed."""
    conflicts = [identifier(f"opens or changes conflict {one}") for one in effects.conflict_ids]
    asked = names(effects.asked_profiles, effects.asked_profiles_total)
    return stacked(
        changes_drawing(effects.changes, view),
        left_out(len(effects.changes), effects.changes_total, "changes"),
        *conflicts,
        left_out(len(conflicts), effects.conflict_ids_total, "conflicts"),
        Text(f"asked what holds now: {asked}" if asked else ""),
    )


def changes_drawing(changes: Sequence[decision_pb2.RelationshipChange], view: View) -> RenderableType:
    """Relationships before and after."""
    if not changes:
        return Text("no relationship changes")
    table = grid("relationship", "before", "after", ids="relationship")
    for change in changes:
        came_back = Text("comes back" if change.revived else "", style="green")
        table.add_row(
            stacked(Text(object_text(change.after.object), style="bold"), identifier(change.after.relationship_id)),
            _state(change.before, view) if change.HasField("before") else Text("(new)"),
            stacked(_state(change.after, view), came_back),
        )
    return stacked(heading("what changes"), table)


def _state(row: relationship_pb2.Relationship, view: View) -> Text:
    facet = f"facet {row.facet}" if row.facet else ""
    return joined([styled(word(row, "status")), validity_text(row.validity, view), facet])


def _report(report: auto_resolution_pb2.AutoResolveReport) -> RenderableType:
    parts = [
        f"{report.resolved} resolved",
        f"{report.recorded} recorded",
        f"{report.not_asked} not asked",
        f"{report.skipped} skipped",
        f"{report.refused} refused",
    ]
    stopped = Text("The run ended early; the next one goes on." if report.stopped_early else "", style="yellow")
    return stacked(Text(f"{counted(report.items_total, 'question')}: {', '.join(parts)}", style="bold"), stopped)
