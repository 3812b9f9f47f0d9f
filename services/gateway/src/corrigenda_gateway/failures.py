"""Failed calls as agents see them: the reason, what is at fault, and what to do next."""

from __future__ import annotations

import grpc
import mcp_types
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.rpc.refusal_text import told_of
from corrigenda_core.rpc.status import refusal_of

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
