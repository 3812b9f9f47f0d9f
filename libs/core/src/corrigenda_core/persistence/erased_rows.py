"""Collects the texts that an erasure takes away, column by column, and writes their record and their tombstones."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from sqlalchemy import Table
from sqlalchemy.dialects.postgresql import JSONB

from corrigenda_core.domain.ids import TeamId
from corrigenda_core.domain.time import Moment
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.persistence.row_text import encoder_of
from corrigenda_core.persistence.transaction import Transaction
from corrigenda_core.policy.erasure import ERASED, decide_tombstone

DIGEST_COLUMNS = frozenset({"content_sha256", "normal_sha256"})
"""Columns that are digests of a text themselves: they entered the ledger as they are, and are replaced as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstones:
    """Makes what stands for a text: a hash under a secret of the service, so that nobody can try texts against it.

    ``secret`` is the pepper of keys; a key for this use alone is drawn from it.
    """

    secret: bytes
    team_id: TeamId

    def keyed_hash(self, text: str | bytes) -> bytes:
        """The same 32 bytes for the same text of the team."""
        key = hmac.digest(self.secret, b"corrigenda erasure 1", hashlib.sha256)
        encoded = text.encode() if isinstance(text, str) else text
        return hmac.digest(key, self.team_id.encode() + b"\0" + encoded, hashlib.sha256)

    def text(self, text: str) -> str:
        """What stands for a text in a column of texts."""
        return decide_tombstone(self.keyed_hash(text))

    def json(self, text: str) -> str:
        """What stands for a JSON object."""
        return json.dumps({ERASED: self.keyed_hash(text).hex()}, separators=(",", ":"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    table: str
    key: tuple[str, ...]
    column: str
    entered: bytes
    tombstone: str


def json_of(text: str) -> Any:
    """JSON as it entered the ledger: numbers keep their digits."""
    return json.loads(text, parse_float=Decimal)


def json_text(value: object) -> str:
    """The canonical text of JSON, as it would enter the ledger."""
    return encoder_of(JSONB())(value)


@dataclass(slots=True)
class ErasedRows:
    """What an erasure replaces."""

    entries: list[_Entry] = field(default_factory=list)

    def add(self, table: Table, key: Sequence[object], columns: Mapping[str, tuple[object, str]]) -> None:
        """Replaces columns of one row.

        Args:
            table: the row's.
            key: its primary key behind the team, as it will be.
            columns: by name what stands there, as the database has it, and the tombstone that will.
        """
        for column, (old, tombstone) in columns.items():
            self.entries.append(
                _Entry(
                    table=table.name,
                    key=tuple(str(part) for part in key),
                    column=column,
                    entered=_entered(table, column, old),
                    tombstone=tombstone,
                )
            )

    def write(self, transaction: Transaction, erasure_id: str, moment: Moment) -> None:
        """Writes the record and has the database replace exactly what it says."""
        for number, entry in enumerate(self.entries):
            transaction.insert(
                tables.erased_texts,
                {
                    "erasure_id": erasure_id,
                    "entry": number,
                    "table_name": entry.table,
                    "row_key": list(entry.key),
                    "column_name": entry.column,
                    "entered": entry.entered,
                    "tombstone": entry.tombstone,
                },
            )
        transaction.execute(
            load_sql("erasure.sql").query("erase_texts", erasure_id=erasure_id, revision=moment.revision)
        )


def _entered(table: Table, column: str, old: object) -> bytes:
    if column in DIGEST_COLUMNS and isinstance(old, bytes):
        return old
    if isinstance(old, bytes):
        return hashlib.sha256(old).digest()
    return hashlib.sha256(encoder_of(table.columns[column].type)(old).encode()).digest()
