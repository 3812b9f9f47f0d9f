"""Erasure: who ordered that a text be taken away, and what stands where it stood."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Integer, Text, Uuid

from corrigenda_core.persistence.tables.columns import (
    TEXTS,
    UUIDS,
    digest,
    index,
    ledgered,
    refers,
    required,
    team_table,
)

erasures = team_table(
    "erasures",
    required("erasure_id", Uuid),
    required("fragment_id", Uuid, "the fragment that was named"),
    required("fragment_ids", UUIDS, "it and its exact copies"),
    required("reason", Text, "the administrator's words"),
    required("erased_by", Uuid),
    *ledgered(),
    refers(["fragment_id"], "evidence_fragments"),
    refers(["erased_by"], "profiles", ["profile_id"]),
    index(
        "erasures_fragment_id_idx", "fragment_id", serves="the erasure of a fragment; foreign key to evidence_fragments"
    ),
    index("erasures_erased_by_idx", "erased_by", serves="erasures that a profile ordered; foreign key to profiles"),
    key=("erasure_id",),
    comment="An administrator's order that a text be erased, with every fragment that held it.",
)

erased_texts = team_table(
    "erased_texts",
    required("erasure_id", Uuid),
    required("entry", Integer, "place in its erasure, from 0"),
    required("table_name", Text),
    required("row_key", TEXTS, "the row's primary key behind the team, as it is now"),
    required("column_name", Text),
    *digest("entered", comment="the SHA-256 by which the text entered the ledger"),
    required("tombstone", Text, "a keyed hash in the form of the column"),
    *ledgered(),
    CheckConstraint("entry >= 0", name="entry"),
    refers(["erasure_id"], "erasures"),
    index(
        "erased_texts_row_key",
        "table_name",
        "row_key",
        "column_name",
        "erasure_id",
        serves="whether a change of a row is a recorded erasure",
        is_unique=True,
    ),
    key=("erasure_id", "entry"),
    comment="One column of one row whose text is gone: what the ledger took in for it, and what stands there now.",
)
