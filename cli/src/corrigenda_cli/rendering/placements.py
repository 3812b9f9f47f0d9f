"""What became of a submission, statement by statement, with what its author can do next."""

from __future__ import annotations

from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2
from rich.console import Group, RenderableType
from rich.text import Text

from corrigenda_cli.rendering.layout import block, spaced, stacked
from corrigenda_cli.rendering.safe_text import one_line
from corrigenda_cli.rendering.words import (
    DIM,
    View,
    authority_text,
    counted,
    foot,
    identifier,
    joined,
    left_out,
    sentence,
    styled,
    time_text,
    unbroken,
    validity_text,
    word,
)

_PLACED = {
    "inserted",
    "superseded",
    "inserted historical",
    "episode divided",
    "corroborated",
    "corrected",
    "closed",
    "coexists",
    "duplicate",
}
_REFUSED = {"rejected", "quarantined"}


def draw_remembered(answer: ingest_service_pb2.RememberResponse, view: View) -> RenderableType:
    """The answer to a submission."""
    return _answer(answer.placement, answer.resolution if answer.HasField("resolution") else None, view)


def draw_preflight(answer: ingest_service_pb2.PreflightRememberResponse, view: View) -> RenderableType:
    """What a submission would do."""
    token: RenderableType | None = None
    if answer.verification_token:
        until = time_text(answer.verification_expires_at, view)
        token = stacked(
            Text(f"until {until}, remembering goes by this verdict with --verification-token", style=DIM),
            unbroken(answer.verification_token),
        )
    head = Text("Nothing was stored. Remembering this now would do the following:", style="bold")
    resolution = answer.resolution if answer.HasField("resolution") else None
    return stacked(head, _answer(answer.placement, resolution, view, foreseen=True), token)


def draw_placement(answer: ingest_service_pb2.GetPlacementResponse, view: View) -> RenderableType:
    """The result of an earlier submission."""
    return _answer(answer.placement, None, view)


def placement_parts(placement: placement_pb2.Placement, view: View, *, foreseen: bool = False) -> list[RenderableType]:
    """One part for each statement, text, entity in question and source."""
    parts: list[RenderableType] = [_statement(one, view, foreseen) for one in placement.relationships]
    questions = [_entity(one) for one in placement.entities if one.HasField("item")]
    texts = [_fragment(one, foreseen) for one in placement.fragments]
    sources = [_source(one) for one in placement.sources]
    changed = Text("")
    if placement.retired_fragments or placement.changed_relationships:
        changed = Text(
            f"{counted(placement.retired_fragments, 'text')} support nothing any more, "
            f"{counted(placement.changed_relationships, 'relationship')} changed by that"
        )
    return [*parts, stacked(*questions, *texts, *sources, changed)]


def _answer(
    placement: placement_pb2.Placement,
    resolution: placement_pb2.PlacementResolution | None,
    view: View,
    *,
    foreseen: bool = False,
) -> RenderableType:
    parts = placement_parts(placement, view, foreseen=foreseen)
    if not placement.relationships:
        parts.insert(0, Text("The text is kept; nothing was placed, because nothing was proposed or found in it."))
    if resolution is not None:
        parts.append(_resolution(resolution))
    last = foot(view, revision=placement.revision, more="" if foreseen else f"submission {placement.ingest_id}")
    return spaced([*parts, last])


def _statement(one: placement_pb2.RelationshipPlacement, view: View, foreseen: bool) -> Group:
    outcome = word(one, "outcome")
    style = "green" if outcome in _PLACED else "red" if outcome in _REFUSED else "yellow"
    head = Text.assemble((outcome, f"bold {style}"))
    if one.HasField("relationship"):
        head.append("  ")
        head.append_text(sentence(one.relationship))
    elif one.proposal_id:
        head.append(f"  {one_line(one.proposal_id)}")
    return block(
        head,
        *_carried(one, view, foreseen),
        joined([word(one, "verdict"), one_line(one.verdict_reason)], ": "),
        Text(f"not placed: {one_line(one.reason).replace('_', ' ')}" if one.reason else ""),
        _conflict(one, view),
        _references(one),
        _item(one.item) if one.HasField("item") else None,
        Text(f"you can: {', '.join(word(one, 'actions', action) for action in one.actions)}" if one.actions else ""),
        Text(f"notes: {', '.join(map(one_line, one.notes))}" if one.notes else "", style=DIM),
    )


def _carried(one: placement_pb2.RelationshipPlacement, view: View, foreseen: bool) -> list[Text]:
    """When it holds and how well it stands, and the id of the row that carries it."""
    rule = f"rule {one_line(one.rule)}" if one.rule else ""
    if not one.HasField("relationship"):
        return [Text(rule, style=DIM)]
    row = one.relationship
    lines = [
        joined(
            [
                validity_text(row.validity, view),
                styled(word(row, "status")),
                styled(word(row, "tier")),
                authority_text(one),
                rule,
            ]
        )
    ]
    return lines if foreseen else [*lines, identifier(f"relationship {row.relationship_id} version {row.version}")]


def _conflict(one: placement_pb2.RelationshipPlacement, view: View) -> Text:
    if not one.HasField("conflict"):
        return Text("")
    conflict = one.conflict
    did = word(conflict, "effect").replace("case", "conflict")
    due = time_text(conflict.review_due_at, view)
    return Text(f"{did} {conflict.conflict_id}, version {conflict.version}, decided by {due}", style="yellow")


def _references(one: placement_pb2.RelationshipPlacement) -> RenderableType:
    lines = [Text(f"{word(each, 'kind')} {each.relationship_id}") for each in one.references]
    return stacked(
        *lines, left_out(len(one.opposing_relationship_ids), one.opposing_total, "relationships that exclude it")
    )


def _item(item: placement_pb2.PlacementItem) -> RenderableType:
    asked = joined([f"{word(item, 'kind')} question", one_line(item.reason).replace("_", " ")], ": ")
    candidates = [
        joined([one_line(one.name), one_line(one.entity_kind), identifier(one.entity_id)]) for one in item.candidates
    ]
    return block(
        asked,
        identifier(f"item {item.item_id} version {item.version}"),
        *candidates,
        left_out(len(item.candidates), item.candidates_total, "candidates"),
        Text(f"closest: {', '.join(map(one_line, item.closest_predicates))}" if item.closest_predicates else ""),
    )


def _entity(one: placement_pb2.EntityPlacement) -> Group:
    return block(Text(f"which {one_line(one.ref)} is meant?", style="yellow"), _item(one.item))


def _fragment(one: placement_pb2.FragmentPlacement, foreseen: bool) -> Group:
    verdict = word(one, "scan_verdict")
    head = Text(f"text {one.evidence_index} {word(one, 'disposition')}")
    if not foreseen:
        head.append(f" as {one.fragment_id}", style=DIM)
    found = f"{verdict}: {', '.join(map(one_line, one.scan_findings))}" if one.scan_findings else ""
    return block(
        head,
        Text(found, style="red" if verdict == "quarantined" else "yellow"),
        Text(f"notes: {', '.join(map(one_line, one.notes))}" if one.notes else ""),
        _item(one.item) if one.HasField("item") else None,
    )


def _source(one: placement_pb2.SourcePlacement) -> Text:
    key, current, prior = map(one_line, (one.source_key, one.current_revision, one.prior_revision))
    if not one.activated:
        return Text(f"source {key} stays at {current}")
    return Text(f"source {key} is at {current} now" + (f", no longer at {prior}" if prior else ""))


def _resolution(one: placement_pb2.PlacementResolution) -> Group:
    return block(
        Text(f"the question {one.item_id} is answered: {word(one, 'item_status')} at version {one.item_version}"),
        identifier(f"decision {one.decision_id}"),
        Text(f"{counted(one.merged_total, 'relationship')} ended in favour of {one.kept_relationship_id}"),
    )
