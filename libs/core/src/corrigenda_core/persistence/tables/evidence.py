"""Evidence: submissions, verbatim fragments, and further occurrences of the same text."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Integer, Numeric, Text, Uuid
from sqlalchemy.dialects.postgresql import BYTEA, JSONB

from corrigenda_core.domain.evidence import Authority, ScanVerdict, SourceType
from corrigenda_core.persistence.tables.columns import (
    INSTANT,
    TEXTS,
    UUIDS,
    digest,
    index,
    ledgered,
    member_of,
    optional,
    refers,
    required,
    team_table,
)

CONTENT_MAX_BYTES = 64 * 1024

ingests = team_table(
    "ingests",
    required("ingest_id", Uuid),
    required("profile_id", Uuid),
    required("result", BYTEA, "the response message of the submission, serialised"),
    *ledgered(),
    refers(["profile_id"], "profiles"),
    index("ingests_profile_id_idx", "profile_id", serves="submissions of a profile; foreign key to profiles"),
    key=("ingest_id",),
    comment="One submission and what became of it.",
)

evidence_fragments = team_table(
    "evidence_fragments",
    required("fragment_id", Uuid),
    required("ingest_id", Uuid),
    required("author_id", Uuid),
    required("content", Text, "verbatim"),
    *digest("content_sha256"),
    *digest("normal_sha256", nullable=True),
    *member_of("source_type", SourceType),
    *member_of("claimed_authority", Authority),
    optional("source_group", Text),
    optional("source_key", Text),
    optional("source_revision", Text),
    optional("previous_source_revision", Text),
    required("supersedes_fragment_ids", UUIDS),
    required("derived_from_fragment_ids", UUIDS),
    required("inherited_labels", TEXTS, "labels of independence beyond group and key, fixed at ingest"),
    optional("occurred_at", INSTANT),
    optional("occurred_at_offset_minutes", Integer, "the offset from UTC that its author wrote"),
    required("labels", TEXTS),
    required("metadata", JSONB),
    optional("confidence", Numeric, "stored and shown, never counted"),
    *member_of("scan_verdict", ScanVerdict),
    required("scan_findings", JSONB),
    *ledgered(),
    optional("erasure_id", Uuid, "the erasure that took the text away; NULL: the text is there"),
    CheckConstraint(f"octet_length(content) BETWEEN 1 AND {CONTENT_MAX_BYTES}", name="content_length"),
    CheckConstraint(
        "erasure_id IS NOT NULL OR content_sha256 = sha256(convert_to(content, 'UTF8'))", name="content_sha256"
    ),
    CheckConstraint("(source_key IS NULL) = (source_revision IS NULL)", name="source_revision"),
    CheckConstraint("previous_source_revision IS NULL OR source_key IS NOT NULL", name="previous_source_revision"),
    refers(["ingest_id"], "ingests"),
    refers(["author_id"], "profiles", ["profile_id"]),
    refers(["erasure_id"], "erasures", deferred=True),
    index(
        "evidence_fragments_erasure_id_idx",
        "erasure_id",
        serves="fragments of an erasure; foreign key to erasures",
        where="erasure_id IS NOT NULL",
    ),
    index("evidence_fragments_ingest_id_idx", "ingest_id", serves="fragments of a submission; foreign key to ingests"),
    index(
        "evidence_fragments_author_id_idx",
        "author_id",
        "content_sha256",
        serves="exact resubmission by the same author; foreign key to profiles",
    ),
    index(
        "evidence_fragments_source_key_idx",
        "source_key",
        "source_revision",
        serves="fragments of a source's revision: what loses its effect when the next one is activated",
        where="source_key IS NOT NULL",
    ),
    index(
        "evidence_fragments_source_group_idx",
        "source_group",
        serves="fragments of a group: what a change of the registry decides again",
        where="source_group IS NOT NULL",
    ),
    key=("fragment_id",),
    comment="Immutable verbatim text with its author and its source.",
)

evidence_occurrences = team_table(
    "evidence_occurrences",
    required("occurrence_id", Uuid),
    required("fragment_id", Uuid),
    required("ingest_id", Uuid),
    optional("occurred_at", INSTANT),
    optional("occurred_at_offset_minutes", Integer, "the offset from UTC that its author wrote"),
    required("labels", TEXTS),
    required("metadata", JSONB),
    *ledgered(),
    refers(["fragment_id"], "evidence_fragments"),
    refers(["ingest_id"], "ingests"),
    index(
        "evidence_occurrences_fragment_id_idx",
        "fragment_id",
        serves="occurrences of a fragment in a trace; foreign key to evidence_fragments",
    ),
    index(
        "evidence_occurrences_ingest_id_idx",
        "ingest_id",
        serves="occurrences of a submission; foreign key to ingests",
    ),
    key=("occurrence_id",),
    comment="The same text of the same source and author, submitted once more.",
)
