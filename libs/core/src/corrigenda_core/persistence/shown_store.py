"""What is shown beside ids: names of entities, names of profiles, fragments with their texts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from corrigenda_core.domain.entities import EntityName
from corrigenda_core.domain.evidence import Authority, ScanVerdict, SourceType
from corrigenda_core.domain.ids import EntityId, FragmentId, ProfileId, TeamId
from corrigenda_core.domain.time import Instant
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.persistence.row_text import array_text


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFragment:
    """A fragment as readers see it; ``metadata`` is that of its submission.

    Of an erased one nothing is left to read: no content, no metadata, and a keyed hash for the text's own.
    """

    fragment_id: FragmentId
    author_id: ProfileId
    author_name: str
    content: str
    content_sha256: bytes
    source_type: SourceType
    claimed_authority: Authority
    source_group: str | None
    source_key: str | None
    source_revision: str | None
    occurred_at: Instant | None
    occurred_at_offset_minutes: int | None
    labels: tuple[str, ...]
    metadata: tuple[tuple[str, str], ...]
    confidence: float | None
    scan_verdict: ScanVerdict
    revision: int
    recorded_at: Instant
    erased: bool = False


def entity_names_query(team_id: TeamId, entity_ids: Iterable[EntityId]) -> Query:
    """How entities are shown; `entity_names_of` reads the rows."""
    return load_sql("shown.sql").query(
        "entity_names_by_id", team_id=team_id, entity_ids=array_text(sorted(set(entity_ids)))
    )


def entity_names_of(rows: Iterable[Row]) -> dict[EntityId, EntityName]:
    """The names by entity."""
    return {
        row["entity_id"]: EntityName(entity_id=row["entity_id"], kind=row["kind"], name=row["name"]) for row in rows
    }


def profile_names_query(team_id: TeamId, profile_ids: Iterable[ProfileId]) -> Query:
    """How profiles are shown; `profile_names_of` reads the rows."""
    return load_sql("shown.sql").query(
        "profile_names_by_id", team_id=team_id, profile_ids=array_text(sorted(set(profile_ids)))
    )


def profile_names_of(rows: Iterable[Row]) -> dict[ProfileId, str]:
    """The names by profile."""
    return {row["profile_id"]: row["name"] for row in rows}


def fragments_query(team_id: TeamId, fragment_ids: Iterable[FragmentId]) -> Query:
    """Fragments with their texts; `shown_fragment_of` reads a row."""
    return load_sql("shown.sql").query(
        "fragments_by_id", team_id=team_id, fragment_ids=array_text(sorted(set(fragment_ids)))
    )


def shown_fragment_of(row: Row) -> ShownFragment:
    """The fragment in a row of ``evidence_fragments``."""
    return ShownFragment(
        fragment_id=row["fragment_id"],
        author_id=row["author_id"],
        author_name=row["author_name"],
        content=row["content"],
        content_sha256=bytes(row["content_sha256"]),
        source_type=SourceType(row["source_type"]),
        claimed_authority=Authority(row["claimed_authority"]),
        source_group=row["source_group"],
        source_key=row["source_key"],
        source_revision=row["source_revision"],
        occurred_at=row["occurred_at"],
        occurred_at_offset_minutes=row["occurred_at_offset_minutes"],
        labels=tuple(row["labels"]),
        metadata=() if row["erased"] else tuple(sorted(row["metadata"].items())),
        confidence=None if row["confidence"] is None else float(row["confidence"]),
        scan_verdict=ScanVerdict(row["scan_verdict"]),
        revision=row["revision"],
        recorded_at=row["recorded_at"],
        erased=row["erased"],
    )
