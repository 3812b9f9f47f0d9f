"""Fragments, passages and profiles as messages."""

from __future__ import annotations

from collections.abc import Iterable

from corrigenda.type.v1 import actor_pb2, evidence_pb2, time_pb2
from corrigenda_core.domain.ids import FragmentId
from corrigenda_core.domain.time import TextSpan
from corrigenda_core.persistence.shown_store import ShownFragment
from corrigenda_core.rpc.convert import timestamp_of, timestamp_or_none
from corrigenda_core.rpc.enums import AUTHORITY, SCAN_VERDICT, SOURCE_TYPE


def evidence_message(fragment: ShownFragment, *, with_content: bool = True) -> evidence_pb2.Evidence:
    """A fragment, with or without its text."""
    return evidence_pb2.Evidence(
        fragment_id=fragment.fragment_id,
        content=fragment.content if with_content else "",
        content_sha256=fragment.content_sha256.hex(),
        author=actor_pb2.ProfileSummary(profile_id=fragment.author_id, name=fragment.author_name),
        source_type=SOURCE_TYPE.to_wire(fragment.source_type),
        authority=AUTHORITY.to_wire(fragment.claimed_authority),
        source_group=fragment.source_group or "",
        source_key=fragment.source_key or "",
        source_revision=fragment.source_revision or "",
        occurred_at=timestamp_or_none(fragment.occurred_at),
        occurred_at_offset_minutes=fragment.occurred_at_offset_minutes,
        labels=fragment.labels,
        confidence=fragment.confidence,
        scan_verdict=SCAN_VERDICT.to_wire(fragment.scan_verdict),
        recorded_at=timestamp_of(fragment.recorded_at),
        revision=fragment.revision,
        metadata=dict(fragment.metadata),
        erased=fragment.erased,
    )


def span_messages(fragment_id: FragmentId, spans: Iterable[TextSpan]) -> list[time_pb2.FragmentSpan]:
    """Passages of one fragment."""
    return [time_pb2.FragmentSpan(fragment_id=fragment_id, start=span.start, end=span.end) for span in spans]
