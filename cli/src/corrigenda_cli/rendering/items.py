"""Questions to one owner: what is asked, what can be answered, and what each answer would change."""

from __future__ import annotations

from collections.abc import Sequence

from corrigenda.conflict.v1 import conflict_service_pb2, resolution_pb2, review_item_pb2
from corrigenda.type.v1 import relationship_pb2
from rich.console import RenderableType
from rich.text import Text

from corrigenda_cli.rendering.layout import block, grid, heading, spaced, stacked
from corrigenda_cli.rendering.safe_text import one_line
from corrigenda_cli.rendering.words import (
    View,
    counted,
    foot,
    identifier,
    joined,
    left_out,
    object_text,
    page_note,
    sentence,
    styled,
    time_text,
    validity_text,
    word,
)


def draw_items(answer: conflict_service_pb2.ListReviewItemsResponse, view: View) -> RenderableType:
    """A list of questions, the oldest first."""
    if not answer.items:
        return stacked(Text("Nobody asks you anything."), foot(view, revision=answer.revision))
    table = grid("status", "kind", "question", "asked", ids="question")
    for item in answer.items:
        table.add_row(
            styled(word(item, "status")),
            word(item, "kind"),
            stacked(Text(one_line(item.question)), identifier(item.item_id)),
            stacked(Text(time_text(item.opened_at, view)), Text(f"version {item.version}", style="dim")),
        )
    return stacked(
        table,
        page_note(len(answer.items), answer.total, answer.next_page_token),
        foot(view, revision=answer.revision, more=counted(answer.total, "question")),
    )


def draw_item(item: review_item_pb2.ReviewItem, view: View) -> RenderableType:
    """One question with everything to decide it by."""
    return spaced([item_drawing(item, view), *_previews(item, view), foot(view, revision=item.revision)])


def item_drawing(item: review_item_pb2.ReviewItem, view: View) -> RenderableType:
    """A question in a few lines."""
    candidates = [
        joined([one_line(one.name), one_line(one.entity_kind), identifier(one.entity_id)]) for one in item.candidates
    ]
    shown = len(item.incoming) + len(item.opposing)
    return block(
        Text(one_line(item.question) or word(item, "kind"), style="bold"),
        joined([styled(word(item, "status")), word(item, "kind"), one_line(item.reason).replace("_", " ")]),
        identifier(f"item {item.item_id} version {item.version}"),
        Text(f"phrase: {one_line(item.phrase)}" if item.phrase else ""),
        Text(f"closest: {', '.join(map(one_line, item.closest_predicates))}" if item.closest_predicates else ""),
        *candidates,
        left_out(len(item.candidates), item.candidates_total, "candidates"),
        _side("came in", item.incoming, view),
        _side("stands against it", item.opposing, view),
        left_out(shown, item.relationships_total, "relationships"),
    )


def _side(name: str, rows: Sequence[relationship_pb2.Relationship], view: View) -> RenderableType | None:
    if not rows:
        return None
    lines = [
        block(
            joined([sentence(row), styled(word(row, "status")), validity_text(row.validity, view)]),
            identifier(row.relationship_id),
        )
        for row in rows
    ]
    return block(heading(name), *lines)


def _previews(item: review_item_pb2.ReviewItem, view: View) -> list[RenderableType]:
    if not item.previews:
        return []
    said = {row.relationship_id: object_text(row.object) for row in [*item.incoming, *item.opposing]}
    table = grid("answer", "would change")
    for preview in item.previews:
        name = said.get(preview.relationship_id, preview.relationship_id)
        action = joined([Text(word(preview, "action"), style="bold"), name], " ")
        table.add_row(action, _preview(preview, view))
    return [
        stacked(heading("what you can answer"), table, left_out(len(item.previews), item.previews_total, "answers"))
    ]


def _preview(preview: resolution_pb2.ResolutionPreview, view: View) -> RenderableType:
    if preview.refused:
        return Text(f"refused: {one_line(preview.refused)}", style="red")
    lines = []
    for change in preview.changes:
        before = word(change.before, "status") if change.HasField("before") else "(new)"
        after = joined([styled(word(change.after, "status")), validity_text(change.after.validity, view)])
        lines.append(Text.assemble(f"{object_text(change.after.object)}: {before} → ", after))
    return stacked(*lines, left_out(len(lines), preview.changes_total, "changes"))
