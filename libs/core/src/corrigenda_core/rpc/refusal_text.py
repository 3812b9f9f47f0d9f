"""Refusals in words and as JSON, for whoever shows them: what is at fault, and what to do next."""

from __future__ import annotations

import re
from typing import Any

from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.rpc.comments import comment_of
from corrigenda_core.rpc.status import CODES

_METADATA = re.compile(r"(?:Metadata: |No metadata)[^.]*\. ")


def told_of(refusal: Refusal) -> dict[str, Any]:
    """A refusal as JSON: its reason and code, what is at fault, and what to do next."""
    told: dict[str, Any] = {
        "reason": refusal.reason.value,
        "code": CODES[refusal.reason].name,
        "message": refusal.message,
        "next_action": next_action(refusal.reason),
    }
    if refusal.field:
        told["field"] = refusal.field
    if refusal.metadata:
        told["metadata"] = dict(refusal.metadata)
    if refusal.retry_after_seconds is not None:
        told["retry_after_seconds"] = refusal.retry_after_seconds
    return told


def next_action(reason: Reason) -> str:
    """What the documentation of a reason says, without its status code."""
    told = " ".join(comment_of(f"corrigenda.errors.v1.ErrorReason.ERROR_REASON_{reason.name}").split())
    return told.removeprefix(f"{CODES[reason].name}. ")


def advice(reason: Reason) -> str:
    """The part of `next_action` that says what to do: what follows the list of its metadata."""
    return _METADATA.split(next_action(reason), maxsplit=1)[-1]
