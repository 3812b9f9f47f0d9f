"""What is disputed about an entity, slot by slot."""

from __future__ import annotations

from corrigenda.conflict.v1 import competing_facts_pb2, conflict_service_pb2
from rich.console import RenderableType
from rich.text import Text

from corrigenda_cli.rendering.layout import block, spaced, stacked
from corrigenda_cli.rendering.safe_text import one_line
from corrigenda_cli.rendering.words import (
    View,
    foot,
    identifier,
    joined,
    left_out,
    names,
    page_note,
    styled,
    time_text,
    validity_text,
    word,
)


def draw_competing(answer: conflict_service_pb2.GetCompetingFactsResponse, view: View) -> RenderableType:
    """The live disagreements about an entity."""
    parts: list[RenderableType] = [_slot(slot, view) for slot in answer.slots]
    last = stacked(
        page_note(len(answer.slots), 0, answer.next_page_token),
        foot(view, revision=answer.revision, more=f"valid at {time_text(answer.valid_at, view)}"),
    )
    return spaced([*(parts or [Text("Nothing is disputed then.")]), last])


def _slot(slot: competing_facts_pb2.CompetingSlot, view: View) -> RenderableType:
    name = joined([one_line(slot.subject.name), one_line(slot.predicate), one_line(slot.scope)])
    more = left_out(len(slot.facts), slot.facts_total, "disagreements")
    return block(name, *[_facts(facts, view) for facts in slot.facts], more)


def _facts(facts: competing_facts_pb2.CompetingFacts, view: View) -> RenderableType:
    person = Text("  only people settle it", style="yellow") if facts.needs_person else Text("")
    return block(
        Text.assemble((one_line(facts.question), "bold"), person),
        *[_side(side, view) for side in facts.sides],
        left_out(len(facts.sides), facts.sides_total, "sides"),
        identifier(f"conflict {facts.conflict_id}") if facts.conflict_id else None,
        *[identifier(f"your question {item}") for item in facts.item_ids],
    )


def _side(side: competing_facts_pb2.CompetingSide, view: View) -> RenderableType:
    rows = [
        joined([styled(word(row, "status")), validity_text(row.validity, view), identifier(row.relationship_id)])
        for row in side.relationships
    ]
    return block(
        Text.assemble((one_line(side.label), "bold"), f"  held by {names(side.owners, side.owners_total)}"),
        *rows,
        left_out(len(rows), side.relationships_total, "relationships"),
    )
