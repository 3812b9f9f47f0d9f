"""A correction of identity: what would move, or has moved."""

from __future__ import annotations

from corrigenda.ingest.v1 import identity_correction_pb2, ingest_service_pb2
from rich.console import RenderableType
from rich.text import Text

from corrigenda_cli.rendering.decisions import effects_drawing
from corrigenda_cli.rendering.layout import block, heading, spaced, stacked
from corrigenda_cli.rendering.safe_text import one_line
from corrigenda_cli.rendering.words import (
    DIM,
    View,
    counted,
    foot,
    identifier,
    left_out,
    object_text,
    time_text,
    unbroken,
)


def draw_correction(answer: ingest_service_pb2.CorrectEntityResolutionResponse, view: View) -> RenderableType:
    """What a dry run foresees, or what was done."""
    dry = bool(answer.impact_token)
    told = "Nothing was changed. This would happen:" if dry else "Done."
    moves = [_move(one) for one in answer.moves]
    divided = [
        Text(
            f"{one.relationship_id}: {counted(len(one.moving_observation_ids), 'observation')} leave, "
            f"{len(one.staying_observation_ids)} stay"
        )
        for one in answer.divided
    ]
    marked = f"{counted(answer.marked_total, 'relationship')} of others show that you merged their entity"
    return spaced(
        [
            Text(told, style="bold"),
            block(heading("what moves"), *moves) if moves else Text("No observation moves."),
            *([block(heading("what is divided"), *divided)] if divided else []),
            effects_drawing(answer.effects, view),
            stacked(
                Text(marked if answer.marked_total else ""),
                left_out(len(answer.marked_relationship_ids), answer.marked_total, "marked relationships"),
                Text(f"afterwards it is about {one_line(answer.entity.name)}" if answer.entity.name else ""),
                identifier(f"decision {answer.decision_id}") if answer.decision_id else None,
            ),
            _token(answer, view) if dry else Text(""),
            foot(view, revision=answer.revision),
        ]
    )


def _move(move: identity_correction_pb2.ObservationMove) -> RenderableType:
    subject = f"{one_line(move.subject_before.name) or '?'} → {one_line(move.subject_after.name) or '?'}"
    return block(
        Text(f"subject {subject}, object {object_text(move.object_before)} → {object_text(move.object_after)}"),
        identifier(f"observation {move.observation_id}"),
    )


def _token(answer: ingest_service_pb2.CorrectEntityResolutionResponse, view: View) -> RenderableType:
    until = time_text(answer.impact_expires_at, view)
    return stacked(
        Text(f"until {until}, the same command does exactly this with --impact-token", style=DIM),
        unbroken(answer.impact_token),
    )
