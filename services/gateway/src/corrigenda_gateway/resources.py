"""The resources: reads that a client can put before a model without a tool call."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import mcp_types

MIME_TYPE = "application/json"
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceCall:
    """A resource as the tool call that reads it."""

    tool: str
    arguments: dict[str, Any]


OPEN_CONFLICTS = mcp_types.Resource(
    uri="corrigenda://conflicts",
    name="open_conflicts",
    title="Open conflicts",
    description="The team's live conflicts and the questions that wait for the caller, the first page.",
    mime_type=MIME_TYPE,
)
CONFLICT = mcp_types.ResourceTemplate(
    uri_template="corrigenda://conflicts/{conflict_id}",
    name="conflict",
    title="A conflict",
    description="One conflict: its question, its positions and what has happened to it.",
    mime_type=MIME_TYPE,
)
TRACE = mcp_types.ResourceTemplate(
    uri_template="corrigenda://relationships/{relationship_id}/trace",
    name="relationship_trace",
    title="Where a relationship comes from",
    description="One relationship with its evidence, verdicts, changes and references.",
    mime_type=MIME_TYPE,
)


def resource_call(uri: str) -> ResourceCall | None:
    """The call that reads a resource, or ``None`` if there is no such resource."""
    if uri == OPEN_CONFLICTS.uri:
        return ResourceCall(tool="list_conflicts", arguments={"case_statuses": ["open", "overdue"]})
    if found := re.fullmatch(f"corrigenda://conflicts/({_UUID})", uri):
        return ResourceCall(tool="get_conflict", arguments={"conflict_id": found[1]})
    if found := re.fullmatch(f"corrigenda://relationships/({_UUID})/trace", uri):
        everything = {"include_evidence_content": True, "include_verification": True, "include_transitions": True}
        return ResourceCall(tool="trace_memory", arguments={"relationship_id": found[1], **everything})
    return None
