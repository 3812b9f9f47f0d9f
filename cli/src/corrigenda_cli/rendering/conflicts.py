"""Conflicts: a list of what waits, and one conflict with its positions side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from corrigenda.conflict.v1 import conflict_case_pb2, conflict_service_pb2, review_item_pb2
from corrigenda.recall.v1 import recall_service_pb2, trace_pb2
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from corrigenda_cli.rendering.layout import block, grid, heading, quoted, spaced, stacked
from corrigenda_cli.rendering.safe_text import neutralised, one_line
from corrigenda_cli.rendering.words import (
    DIM,
    View,
    actor_text,
    authority_text,
    counted,
    foot,
    identifier,
    joined,
    left_out,
    names,
    object_text,
    optional_time_text,
    page_note,
    styled,
    time_text,
    validity_text,
    word,
)

_COLUMNS_MAX = 4
"""More positions than this stand below each other."""


@dataclass(frozen=True, kw_only=True)
class Carriers:
    """What carries the members of a conflict: the trace of each relationship by its id."""

    traces: Mapping[str, recall_service_pb2.TraceResponse] = field(default_factory=dict)


def draw_conflict_list(answer: conflict_service_pb2.ListConflictsResponse, view: View) -> RenderableType:
    """Team conflicts and one's own questions, the oldest first."""
    if not answer.entries:
        return stacked(Text("No conflicts and no open questions."), foot(view, revision=answer.revision))
    table = grid("status", "question", "positions", "next", ids="question")
    for entry in answer.entries:
        if entry.HasField("team_case"):
            table.add_row(*_case_row(entry.team_case, view))
        else:
            table.add_row(*_item_row(entry.review_item))
    return stacked(
        table,
        page_note(len(answer.entries), answer.total, answer.next_page_token),
        foot(view, revision=answer.revision, more=counted(answer.total, "entry", "entries")),
    )


def draw_conflict(answer: conflict_service_pb2.GetConflictResponse, carriers: Carriers, view: View) -> RenderableType:
    """One conflict: its question, its positions side by side, what happens next, what has happened."""
    conflict = answer.conflict
    head = Text(one_line(conflict.question), style="bold")
    slot = [one_line(conflict.subject.name), one_line(conflict.predicate), one_line(conflict.scope)]
    positions = [*conflict.positions, *answer.further_positions]
    shown = positions_drawing(positions, carriers, view)
    return spaced(
        [
            block(
                head,
                joined([styled(word(conflict, "status")), word(conflict, "kind"), *slot]),
                identifier(f"conflict {conflict.conflict_id} version {conflict.version}"),
            ),
            stacked(shown, left_out(len(positions), conflict.positions_total, "positions")),
            _times(conflict, view),
            stacked(
                heading("what happened") if answer.events else None,
                _events(answer.events, view),
                page_note(len(answer.events), answer.events_total, answer.next_page_token),
            ),
            foot(view, revision=answer.revision),
        ]
    )


def positions_drawing(
    positions: Sequence[conflict_case_pb2.Position], carriers: Carriers, view: View
) -> RenderableType:
    """The positions side by side, or below each other if there are many."""
    if len(positions) > _COLUMNS_MAX:
        return spaced([block(_position_head(one), *_position(one, carriers, view)) for one in positions])
    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, expand=True)
    for one in positions:
        table.add_column(_position_head(one), ratio=1, overflow="fold")
    table.add_row(*(stacked(*_position(one, carriers, view)) for one in positions))
    return table


def _case_row(conflict: conflict_case_pb2.ConflictCase, view: View) -> tuple[RenderableType, ...]:
    positions = [
        Text(f"{one_line(one.label)}: {counted(one.counted_groups, 'witness', 'witnesses')}")
        for one in conflict.positions
    ]
    return (
        styled(word(conflict, "status")),
        stacked(Text(one_line(conflict.question)), identifier(conflict.conflict_id)),
        stacked(*positions, left_out(len(conflict.positions), conflict.positions_total, "positions")),
        Text(_next(conflict, view)),
    )


def _item_row(item: review_item_pb2.ReviewItem) -> tuple[RenderableType, ...]:
    sides = [Text(object_text(one.object)) for one in [*item.opposing, *item.incoming]]
    return (
        styled(word(item, "status")),
        stacked(Text(one_line(item.question)), identifier(item.item_id)),
        stacked(*sides),
        Text(f"asks you, version {item.version}"),
    )


def _next(conflict: conflict_case_pb2.ConflictCase, view: View) -> str:
    if conflict.HasField("resolved_at"):
        return f"resolved {time_text(conflict.resolved_at, view)}"
    if conflict.HasField("dismissed_at"):
        return f"dismissed {time_text(conflict.dismissed_at, view)}"
    return f"due {time_text(conflict.review_due_at, view)}"


def _position_head(position: conflict_case_pb2.Position) -> Text:
    head = Text.assemble((one_line(position.label), "bold"))
    if position.preferred:
        head.append("  ✓ preferred", style="green")
    return head


def _position(position: conflict_case_pb2.Position, carriers: Carriers, view: View) -> list[RenderableType]:
    witnesses = Text(counted(position.counted_groups, "independent witness", "independent witnesses"))
    if position.authoritative_groups:
        witnesses.append(f", {position.authoritative_groups} authoritative", style="green")
    members = [_member(one, carriers, view) for one in position.members]
    return [
        witnesses,
        Text(f"held by {names(position.owners)}" if position.owners else ""),
        *members,
        left_out(len(position.members), position.members_total, "relationships"),
    ]


def _member(member: conflict_case_pb2.PositionMember, carriers: Carriers, view: View) -> RenderableType:
    trace = carriers.traces.get(member.relationship_id)
    return block(
        joined([one_line(member.owner.name), styled(word(member, "status")), validity_text(member.validity, view)]),
        identifier(member.relationship_id),
        *([] if trace is None else _quotes(neutralised(trace), view)),
    )


def _quotes(trace: recall_service_pb2.TraceResponse, view: View) -> list[RenderableType]:
    """The cited passages, each with its author and whether it counts."""
    texts = {evidence.fragment_id: evidence for evidence in trace.evidence}
    shown: list[RenderableType] = []
    for support in trace.supports:
        evidence = texts.get(support.fragment_id)
        if evidence is None:
            continue
        by = joined(
            [
                one_line(evidence.author.name),
                one_line(evidence.source_group),
                authority_text(support),
                time_text(evidence.recorded_at, view),
                "" if support.effective else "no longer counts",
            ]
        )
        shown += [_passages(evidence.content, support, erased=evidence.erased), by]
    return shown


def _passages(content: str, support: trace_pb2.TracedSupport, *, erased: bool) -> Text:
    if erased:
        return Text("(the text was erased)", style=DIM)
    passages = [content[span.start : span.end] for span in support.spans] or [content]
    return Text(" ").join([quoted(passage) for passage in passages])


def _times(conflict: conflict_case_pb2.ConflictCase, view: View) -> RenderableType:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    rows = {
        "opened": time_text(conflict.opened_at, view),
        "decided by": "" if _is_closed(conflict) else time_text(conflict.review_due_at, view),
        "next review": optional_time_text(conflict, "next_review_at", view),
        "last look": optional_time_text(conflict, "last_evaluated_at", view),
        "resolved": optional_time_text(conflict, "resolved_at", view),
        "dismissed": optional_time_text(conflict, "dismissed_at", view),
        "holds since": optional_time_text(conflict, "effective_at", view),
        "reason": one_line(conflict.resolution_reason).replace("_", " "),
    }
    for name, value in rows.items():
        if value:
            table.add_row(Text(name, style=DIM), Text(value))
    return table


def _is_closed(conflict: conflict_case_pb2.ConflictCase) -> bool:
    return conflict.HasField("resolved_at") or conflict.HasField("dismissed_at")


def _events(events: Sequence[conflict_case_pb2.ConflictEvent], view: View) -> RenderableType | None:
    if not events:
        return None
    table = grid("when", "what", "why", "version", "by")
    for event in events:
        table.add_row(
            time_text(event.created_at, view),
            word(event, "action"),
            one_line(event.reason).replace("_", " "),
            str(event.version),
            actor_text(event.actor),
        )
    return table
