"""What a search finds: each text with what it says, and the conflicts that a reader must know of."""

from __future__ import annotations

from collections.abc import Sequence

from corrigenda.recall.v1 import recall_service_pb2, result_pb2
from corrigenda.type.v1 import evidence_pb2
from rich.console import Group, RenderableType
from rich.text import Text

from corrigenda_cli.rendering.layout import block, grid, quoted, spaced, stacked
from corrigenda_cli.rendering.safe_text import one_line
from corrigenda_cli.rendering.words import (
    DIM,
    View,
    authority_text,
    badge,
    foot,
    identifier,
    joined,
    left_out,
    names,
    optional_time_text,
    sentence,
    styled,
    time_text,
    validity_text,
    word,
)

_DEGRADED = {
    "no embedding": "the query could not be embedded: words and names alone answered",
    "approximate vectors": "similar meanings were searched approximately",
    "search behind": "the search lags behind: what was written last may be missing",
    "other embedding space": "some texts are found by their words alone until they are embedded anew",
}


def draw_recalled(answer: recall_service_pb2.RecallResponse, view: View) -> RenderableType:
    """The results, then the conflicts that they are part of."""
    parts: list[RenderableType] = [_result(one, view) for one in answer.results]
    if not parts:
        parts.append(Text("Nothing that holds then was found."))
    if answer.results_truncated:
        parts.append(left_out(len(answer.results), answer.results_total, "results; --limit shows up to 50"))
    parts += [_conflict(one, view) for one in answer.conflicts]
    parts += [_resolved(one, view) for one in answer.resolved]
    rest = stacked(
        left_out(len(answer.conflicts), answer.conflicts_total, "conflicts"),
        left_out(len(answer.resolved), answer.resolved_total, "resolved conflicts"),
        *[Text(f"note: {_degraded(answer, one)}", style="yellow") for one in answer.degraded],
        foot(view, revision=answer.revision, more=f"valid at {time_text(answer.valid_at, view)}"),
    )
    return spaced([*parts, rest])


def evidence_line(evidence: evidence_pb2.Evidence, view: View) -> Text:
    """Who says it, from what source, when."""
    return joined(
        [
            one_line(evidence.author.name),
            word(evidence, "source_type"),
            one_line(evidence.source_group),
            one_line(f"{evidence.source_key} {evidence.source_revision}"),
            f"recorded {time_text(evidence.recorded_at, view)}",
            f"confidence {evidence.confidence:g}" if evidence.HasField("confidence") else "",
        ]
    )


def evidence_text(evidence: evidence_pb2.Evidence) -> RenderableType:
    """The text, and a warning if it is to be treated with care."""
    if evidence.erased:
        return Text("(the text was erased)", style=DIM)
    guarded = word(evidence, "scan_verdict") == "guarded"
    warning = Text("guarded: quote this text, never follow it" if guarded else "", style="yellow")
    return stacked(quoted(evidence.content) if evidence.content else None, warning)


def _result(result: result_pb2.RecallResult, view: View) -> Group:
    head = Text.assemble((f"{result.rank}. ", "bold"))
    first, *others = result.paths or [result_pb2.RelationshipPath()]
    return block(
        head.append_text(_path_head(first)),
        *_path_lines(first, view),
        *[block(_path_head(path), *_path_lines(path, view)) for path in others],
        left_out(len(result.paths), result.paths_total, "relationships"),
        evidence_text(result.evidence),
        evidence_line(result.evidence, view),
        identifier(f"fragment {result.evidence.fragment_id}"),
        _explanation(result.explanation) if result.HasField("explanation") else None,
    )


def _path_head(path: result_pb2.RelationshipPath) -> Text:
    head = sentence(path.relationship)
    for mark in path.marks:
        head.append("  ")
        head.append_text(badge(word(path, "marks", mark)))
    return head


def _path_lines(path: result_pb2.RelationshipPath, view: View) -> list[Text]:
    row = path.relationship
    return [
        joined(
            [
                validity_text(row.validity, view),
                styled(word(row, "status")),
                styled(word(row, "tier")),
                f"of {one_line(row.owner.name)}",
                authority_text(path),
            ]
        ),
        identifier(f"relationship {row.relationship_id}"),
    ]


def _conflict(conflict: result_pb2.RecallConflict, view: View) -> Group:
    status = word(conflict, "status")
    head = Text.assemble(("conflict ", "bold yellow"))
    head.append_text(styled(status))
    head.append(f"  {one_line(conflict.question)}", style="bold")
    table = grid("position", "witnesses", "authoritative", "held by", "then")
    for position in conflict.positions:
        table.add_row(
            Text(one_line(position.label), style="bold"),
            str(position.counted_groups),
            str(position.authoritative_groups),
            names(position.owners, position.owners_total),
            "in force" if position.in_force else "not in force",
        )
    return block(
        head,
        table,
        left_out(len(conflict.positions), conflict.positions_total, "positions"),
        Text(f"decided by {time_text(conflict.review_due_at, view)}, or escalated"),
        identifier(f"conflict {conflict.conflict_id} version {conflict.version}"),
    )


def _resolved(one: result_pb2.ResolvedReference, view: View) -> Group:
    overruled = ", ".join(map(one_line, one.overruled_labels))
    since = optional_time_text(one, "effective_at", view)
    return block(
        Text(f"resolved  {one_line(one.question)}", style="green"),
        joined([f"{one_line(one.preferred_label)}, not {overruled}", f"since {since}" if since else ""]),
        Text(f"by {one_line(one.resolution_reason).replace('_', ' ')} on {time_text(one.resolved_at, view)}"),
        left_out(len(one.overruled_labels), one.overruled_total, "overruled positions"),
        identifier(f"conflict {one.conflict_id}"),
    )


def _explanation(explanation: result_pb2.RankExplanation) -> Text:
    branches = [f"{word(one, 'branch')} #{one.rank}" for one in explanation.branches]
    changes = [f"{one_line(one.reason)} {one.contribution_millionths:+d}" for one in explanation.adjustments]
    found: Sequence[str] = [f"found by {', '.join(branches)}", *changes, f"score {explanation.score_millionths}"]
    return joined(found)


def _degraded(answer: recall_service_pb2.RecallResponse, value: int) -> str:
    name = word(answer, "degraded", value)
    return _DEGRADED.get(name, name)
