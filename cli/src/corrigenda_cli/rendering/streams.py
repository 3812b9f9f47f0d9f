"""What comes one after the other: changes of conflicts, committed revisions."""

from __future__ import annotations

from corrigenda.conflict.v1 import conflict_change_pb2, conflict_service_pb2
from corrigenda.recall.v1 import change_pb2, recall_service_pb2
from rich.console import RenderableType
from rich.text import Text

from corrigenda_cli.rendering.layout import stacked
from corrigenda_cli.rendering.safe_text import one_line
from corrigenda_cli.rendering.words import DIM, View, actor_text, identifier, joined, styled, time_text, word

_HASH_DIGITS_SHOWN = 12


def draw_conflict_changes(answer: conflict_service_pb2.WatchConflictsResponse, view: View) -> RenderableType:
    """What some commits changed, a line each."""
    return stacked(
        *[_conflict_change(change, view) for change in answer.changes],
        Text("" if answer.changes else f"nothing so far, up to revision {answer.revision}", style=DIM),
    )


def draw_revisions(answer: recall_service_pb2.ListChangesResponse, view: View) -> RenderableType:
    """Some committed revisions, a line each."""
    return stacked(
        *[_revision(change, view) for change in answer.changes],
        Text("" if answer.changes else f"nothing so far, up to revision {answer.revision}", style=DIM),
    )


def _conflict_change(change: conflict_change_pb2.ConflictChange, view: View) -> Text:
    when = [f"{change.revision}", time_text(change.recorded_at, view)]
    if change.HasField("case_change"):
        case = change.case_change
        event = case.event
        return joined(
            [
                *when,
                Text.assemble("conflict ", identifier(case.conflict_id)),
                Text(word(event, "action"), style="bold"),
                styled(word(event, "resulting_status")),
                one_line(case.predicate),
                one_line(event.reason).replace("_", " "),
                actor_text(event.actor),
            ]
        )
    item = change.item_change
    return joined(
        [
            *when,
            Text.assemble("question ", identifier(item.item_id)),
            Text("asked" if item.version == 1 else f"version {item.version}", style="bold"),
            styled(word(item, "status")),
            word(item, "kind"),
            one_line(item.reason).replace("_", " "),
        ]
    )


def _revision(change: change_pb2.Change, view: View) -> Text:
    kind, digest = one_line(change.kind).replace("_", " "), one_line(change.hash)[:_HASH_DIGITS_SHOWN]
    return joined([f"{change.revision}", time_text(change.recorded_at, view), kind, actor_text(change.actor), digest])
