"""Entities with what tells them from their namesakes."""

from __future__ import annotations

from corrigenda.recall.v1 import entity_pb2, recall_service_pb2
from rich.console import RenderableType
from rich.text import Text

from corrigenda_cli.rendering.layout import grid, stacked
from corrigenda_cli.rendering.safe_text import one_line
from corrigenda_cli.rendering.words import View, counted, foot, identifier, left_out, page_note, time_text


def draw_entities(answer: recall_service_pb2.SearchEntitiesResponse, view: View) -> RenderableType:
    """A list of entities, the best match first."""
    if not answer.entities:
        return stacked(Text("No entity has such a name."), foot(view, revision=answer.revision))
    table = grid("name", "kind", "also called", "context", "known since", ids="name")
    for found in answer.entities:
        table.add_row(*_row(found, view))
    return stacked(
        table,
        page_note(len(answer.entities), answer.total, answer.next_page_token),
        foot(view, revision=answer.revision, more=counted(answer.total, "entity", "entities")),
    )


def _row(found: entity_pb2.FoundEntity, view: View) -> tuple[RenderableType, ...]:
    context = [Text(f"{one_line(pair.key)}={one_line(pair.value)}") for pair in found.identity_context]
    return (
        stacked(Text(one_line(found.entity.name), style="bold"), identifier(found.entity.entity_id)),
        Text(one_line(found.entity.entity_kind)),
        stacked(
            Text(", ".join(map(one_line, found.other_names))),
            left_out(len(found.other_names), found.other_names_total, "names"),
        ),
        stacked(*context, left_out(len(found.identity_context), found.identity_context_total, "pairs")),
        Text(time_text(found.recorded_at, view)),
    )
