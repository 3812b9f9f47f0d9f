"""The ledger: every commit of a team extends a hash chain over the rows that it wrote.

A revision's change hash is made from its rows in canonical text, whatever the order they were written in; the entry's
hash chains it to the prior entry, the team, the revision, its time, its actor and its kind. Texts that an erasure may
take away enter as their SHA-256 only. NULL is left out, so that a column which is added later changes no old hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from sqlalchemy import Table

from corrigenda_core.domain.actors import Actor
from corrigenda_core.domain.ids import TeamId
from corrigenda_core.domain.time import Moment
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.commit_writes import written_tables
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.row_text import instant_text
from corrigenda_core.persistence.row_writing import RowText, RowWriter

GENESIS_HASH = bytes(32)
"""The prior hash of a team's first entry."""

OUTSIDE_THE_LEDGER: Mapping[str, str] = {
    "ledger": "is the chain itself, verified by its hashes",
    "team_clock": "holds the head of the chain, verified against it",
    "idempotency_records": "holds responses, which an erasure empties",
    "teams": "settings, changed in place without history",
    "profiles": "names, changed in place without history",
    "api_keys": "credentials, changed in place without history",
    "predicate_aliases": "an index of what the versions of predicates list, kept in place",
    "search_refresh_intents": "a queue, consumed in place",
}
"""Tables that the chain does not cover, with the reason; every other table with a revision is ledgered."""

COLUMNS_OUTSIDE: Mapping[str, frozenset[str]] = {
    "evidence_fragments": frozenset({"erasure_id"}),  # set by an erasure, verified against its record
    "ingests": frozenset({"result"}),  # a response message: everything in it stands in other rows too
}

HASHED_BESIDE: Mapping[str, Mapping[str, str]] = {
    "evidence_fragments": {"content": "content_sha256"},
}
"""Erasable texts whose SHA-256 stands in a column of its own: that column enters, the text does not."""

ERASABLE_TEXTS: Mapping[str, frozenset[str]] = {
    "evidence_fragments": frozenset({"metadata"}),
    "evidence_occurrences": frozenset({"metadata"}),
    "entity_names": frozenset({"normal_name", "name"}),
    "entity_contexts": frozenset({"context_value"}),
    "observations": frozenset(
        {
            "proposal_id",
            "subject_ref",
            "subject_phrase",
            "predicate_phrase",
            "object_ref",
            "object_phrase",
            "mentions",
            "value_canonical",
            "value_display",
            "scope",
            "comment",
        }
    ),
    "statements": frozenset({"scope", "value_canonical", "value_display", "object_key"}),
    "relationships": frozenset({"scope", "value_canonical", "value_display", "object_key"}),
    "verification_events": frozenset({"reason"}),
    "transitions": frozenset({"closing_object_key"}),
    "timeline_decisions": frozenset({"closing_object_key"}),
    "decisions": frozenset({"reason", "details"}),
    "review_items": frozenset({"scope", "details"}),
    "conflict_cases": frozenset({"scope", "object_key"}),
    "case_positions": frozenset({"position_key"}),
    "case_evaluations": frozenset({"snapshot", "decision"}),
}
"""Erasable texts that enter as the SHA-256 of their canonical text."""


@cache
def is_ledgered(table: Table) -> bool:
    """Whether the rows of a table belong to the change sets; history tables are versions of such rows."""
    return "revision" in table.columns and "recorded_at" in table.columns and table.name not in OUTSIDE_THE_LEDGER


@cache
def ledgered_targets(sql: str) -> tuple[str, ...]:
    """The ledgered tables, and their histories, that a statement writes."""
    bases = {name: tables.metadata.tables.get(name.removesuffix("_history")) for name in written_tables(sql)}
    return tuple(sorted(name for name, base in bases.items() if base is not None and is_ledgered(base)))


def require_outside_the_ledger(query: Query) -> None:
    """Lets no statement by that would write rows of which no revision says so.

    Raises:
        ValueError: the statement writes a ledgered table.
    """
    if past_the_ledger := ledgered_targets(query.sql):
        raise ValueError(f"{query.name} would write {', '.join(past_the_ledger)} past the ledger")


def row_digest(writer: RowWriter, row: RowText, erased: Mapping[str, bytes] = MappingProxyType({})) -> bytes:
    """The SHA-256 of one row of a ledgered table.

    Args:
        writer: the table's.
        row: the row as it stands.
        erased: of each column whose text was erased, the digest by which the text entered.
    """
    parts = [_fed(writer.table)]
    # Every row of every commit comes through here: what `_fed` would give, in its two parts.
    for name, fed_name, is_erasable in _digested(writer.table, tuple(row)):
        value = row[name]
        if value is None:
            continue
        if name in erased:
            entered = erased[name].hex() if is_erasable else f"\\x{erased[name].hex()}"
        else:
            entered = hashlib.sha256(value.encode()).hexdigest() if is_erasable else value
        encoded = entered.encode()
        parts += (fed_name, len(encoded).to_bytes(8, "big"), encoded)
    return hashlib.sha256(b"".join(parts)).digest()


@cache
def _digested(table: str, columns: tuple[str, ...]) -> tuple[tuple[str, bytes, bool], ...]:
    """The columns that enter, in their order, with their names as they enter and whether they do as a digest."""
    outside = COLUMNS_OUTSIDE.get(table, frozenset()) | HASHED_BESIDE.get(table, {}).keys()
    erasable = ERASABLE_TEXTS.get(table, frozenset())
    return tuple((name, _fed(name), name in erasable) for name in sorted(set(columns) - outside))


def change_hash(row_digests: Iterable[bytes]) -> bytes:
    """The hash of a revision's rows, whatever their order."""
    return hashlib.sha256(b"".join(sorted(row_digests))).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One link of the chain."""

    team_id: TeamId
    moment: Moment
    prior_hash: bytes
    change_hash: bytes
    actor: Actor
    change_kind: str

    @property
    def hash(self) -> bytes:
        """What the next entry and the team's clock hold."""
        parts = (
            self.prior_hash.hex(),
            self.team_id,
            str(self.moment.revision),
            instant_text(self.moment.at),
            self.change_hash.hex(),
            self.actor.kind.value,
            self.actor.profile_id or "",
            self.change_kind,
        )
        return hashlib.sha256(b"".join(map(_fed, parts))).digest()

    def row(self) -> dict[str, object]:
        """The row of the table ``ledger``."""
        return {
            "team_id": self.team_id,
            "revision": self.moment.revision,
            "recorded_at": self.moment.at,
            "prior_hash": self.prior_hash,
            "change_hash": self.change_hash,
            "hash": self.hash,
            "actor_kind": self.actor.kind,
            "actor_profile_id": self.actor.profile_id,
            "change_kind": self.change_kind,
        }


def _fed(text: str) -> bytes:
    """A text with its length in front, so that no two sequences of texts are the same bytes."""
    encoded = text.encode()
    return len(encoded).to_bytes(8, "big") + encoded
