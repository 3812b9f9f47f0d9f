"""Failed calls as agents see them: the reason, what is at fault, and what to do next."""

from __future__ import annotations

from typing import Any

import grpc
import mcp_types
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.rpc.comments import comment_of
from corrigenda_core.rpc.status import CODES, refusal_of

from corrigenda_gateway.answers import text_of


def refusal_of_call(error: grpc.aio.AioRpcError) -> Refusal:
    """What a failed call says; a failure that did not come from a service of ours is one of reaching it."""
    refusal = refusal_of(error)
    if refusal is not None:
        return refusal
    return Refusal(Reason.STORE_UNAVAILABLE, "the service did not answer in time", retry_after_seconds=1.0)


def failed(refusal: Refusal) -> mcp_types.CallToolResult:
    """The result of a tool that was refused; the model sees it and can do better."""
    answer = {"error": told_of(refusal)}
    return mcp_types.CallToolResult(
        content=[mcp_types.TextContent(text=text_of(answer))], structured_content=answer, is_error=True
    )


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
