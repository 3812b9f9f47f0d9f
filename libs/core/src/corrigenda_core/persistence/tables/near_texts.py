"""What finds near-duplicates of a text; it can be rebuilt from the evidence."""

from __future__ import annotations

from sqlalchemy import BigInteger, Uuid

from corrigenda_core.persistence.tables.columns import index, refers, required, team_table

text_bands = team_table(
    "text_bands",
    required("band", BigInteger, "min-hash of the normal form; near-duplicates share at least one"),
    required("fragment_id", Uuid),
    refers(["fragment_id"], "evidence_fragments"),
    index(
        "text_bands_fragment_id_idx",
        "fragment_id",
        serves="bands of a fragment, for its erasure; foreign key to evidence_fragments",
    ),
    key=("band", "fragment_id"),
    comment="Where a text stands among those that may say nearly the same: a few numbers, no text.",
)
