"""The team's source registry, where each source key stands, and the fragments that a source has left behind."""

from __future__ import annotations

from sqlalchemy import Boolean, CheckConstraint, Integer, Text, Uuid

from corrigenda_core.domain.sources import RetirementReason, SourceLifecycle
from corrigenda_core.persistence.tables.columns import (
    TEXTS,
    UUIDS,
    acted_by,
    history_of,
    index,
    ledgered,
    member_of,
    optional,
    refers,
    required,
    team_table,
    unique,
)

sources = team_table(
    "sources",
    required("source_id", Uuid, "orders the entries by their registration; the group and the key name one"),
    required("source_group", Text, "empty: the entry is for a key in every group"),
    required("source_key", Text, "empty: the entry is for every key of a group"),
    required("version", Integer),
    required("speakers", UUIDS, "profiles that may speak for it; empty: every profile"),
    required("authoritative_for_all", Boolean, "authoritative for whatever it speaks about"),
    required("authoritative_for", TEXTS, "predicates that it is authoritative for"),
    required("record", Boolean, "a system of record"),
    *member_of("lifecycle", SourceLifecycle),
    *ledgered(),
    CheckConstraint("version >= 1", name="version"),
    CheckConstraint("source_group <> '' OR source_key <> ''", name="names"),
    CheckConstraint("octet_length(source_group) <= 1024 AND octet_length(source_key) <= 1024", name="length"),
    CheckConstraint("NOT authoritative_for_all OR authoritative_for = '{}'", name="authoritative_for"),
    refers([], "teams"),
    index("sources_source_key_idx", "source_key", "source_group", serves="entries that a fragment's key belongs to"),
    unique("source_group", "source_key", name="sources_source_group_key"),
    key=("source_id",),
    comment="The current version of an entry of the source registry.",
)

sources_history = history_of(sources, numbered_by="version")

source_states = team_table(
    "source_states",
    required("source_key", Text),
    required("version", Integer, "counts the revisions of the source that were activated, from 1"),
    required("first_user", Uuid, "whose key it is unless the registry says whose"),
    required("current_revision", Text),
    optional("prior_revision", Text, "what the current one took the place of"),
    *ledgered(),
    CheckConstraint("version >= 1", name="version"),
    CheckConstraint("octet_length(source_key) BETWEEN 1 AND 1024", name="source_key"),
    CheckConstraint("prior_revision <> current_revision", name="prior_revision"),
    refers(["first_user"], "profiles", ["profile_id"]),
    index("source_states_first_user_idx", "first_user", serves="keys of a profile; foreign key to profiles"),
    key=("source_key",),
    comment="Which revision of a source is current.",
)

source_states_history = history_of(source_states, numbered_by="version")

fragment_retirements = team_table(
    "fragment_retirements",
    required("fragment_id", Uuid),
    *member_of("reason", RetirementReason),
    optional("superseded_by", Uuid, "the fragment that names it as superseded; NULL: its source has moved on"),
    *acted_by(),
    *ledgered(),
    CheckConstraint("(reason = 'superseded_by_author') = (superseded_by IS NOT NULL)", name="superseded_by"),
    refers(["fragment_id"], "evidence_fragments"),
    refers(["superseded_by"], "evidence_fragments", ["fragment_id"]),
    index(
        "fragment_retirements_superseded_by_idx",
        "superseded_by",
        serves="what a fragment has superseded; foreign key to evidence_fragments",
        where="superseded_by IS NOT NULL",
    ),
    key=("fragment_id",),
    comment="A fragment that supports nothing any more, for good: its supports were revoked in the same commit.",
)
