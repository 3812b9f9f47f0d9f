"""What a restored backup must not bring back, as it is kept outside the database: one line of JSON for each thing.

A line names ids and times and holds no text: an erased one is in none of its fields, and an administrator's reason for
an erasure must not repeat it.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, TypeAlias

import psycopg
from psycopg.rows import DictRow, dict_row

from corrigenda_core.domain.ids import FragmentId, KeyId, ProfileId, TeamId
from corrigenda_core.domain.time import Instant
from corrigenda_core.persistence.database import register_types
from corrigenda_core.persistence.named_sql import load_sql

_ERASURE, _KEY = "erasure", "key"


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawnText:
    """An erasure: the fragments that held the text, the one that was named first."""

    team_id: TeamId
    erasure_id: str
    fragment_ids: tuple[FragmentId, ...]
    erased_by: ProfileId
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedKey:
    """A key that was revoked, or that expires; ``ends_at`` is real time."""

    team_id: TeamId
    key_id: KeyId
    ends_at: Instant


Withdrawal: TypeAlias = WithdrawnText | EndedKey


class UnreadableWithdrawal(ValueError):
    """A line is none of ours; the message says what is missing."""


def withdrawals_of(connection: psycopg.Connection[Any]) -> Iterator[Withdrawal]:
    """Everything withdrawn in every team, erasures in the order of their revisions.

    ``connection`` is of a role that sees every team.
    """
    register_types(connection)
    for row in _rows(connection, "erasures_of_every_team"):
        others = sorted(one for one in row["fragment_ids"] if one != row["fragment_id"])
        yield WithdrawnText(
            team_id=row["team_id"],
            erasure_id=row["erasure_id"],
            fragment_ids=(row["fragment_id"], *others),
            erased_by=row["erased_by"],
            reason=row["reason"],
        )
    for row in _rows(connection, "ended_keys_of_every_team"):
        yield EndedKey(team_id=row["team_id"], key_id=row["key_id"], ends_at=row["ends_at"])


def line_of(withdrawal: Withdrawal) -> str:
    """The line that stands for it; the same thing is the same line."""
    match withdrawal:
        case WithdrawnText():
            fields = {"kind": _ERASURE, **asdict(withdrawal)}
        case EndedKey():
            fields = {"kind": _KEY, **asdict(withdrawal), "ends_at": withdrawal.ends_at.isoformat()}
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def withdrawals_in(lines: Iterable[str]) -> list[Withdrawal]:
    """What the lines of a file say, in their order; empty ones say nothing.

    Raises:
        UnreadableWithdrawal: with the number of the first line that cannot be read.
    """
    found = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                found.append(_withdrawal_of(json.loads(line)))
            except (ValueError, KeyError, TypeError, AttributeError) as problem:
                raise UnreadableWithdrawal(f"line {number} is no withdrawal: {problem}") from problem
    return found


def _withdrawal_of(fields: Mapping[str, Any]) -> Withdrawal:
    team_id = TeamId(_id(fields["team_id"]))
    match fields["kind"]:
        case "erasure":
            return WithdrawnText(
                team_id=team_id,
                erasure_id=_id(fields["erasure_id"]),
                fragment_ids=tuple(FragmentId(_id(one)) for one in fields["fragment_ids"]),
                erased_by=ProfileId(_id(fields["erased_by"])),
                reason=fields["reason"],
            )
        case "key":
            ends_at = datetime.fromisoformat(fields["ends_at"])
            if ends_at.tzinfo is None:
                raise ValueError(f"{fields['ends_at']} is a time without an offset")
            return EndedKey(team_id=team_id, key_id=KeyId(_id(fields["key_id"])), ends_at=ends_at)
        case other:
            raise ValueError(f"there is no kind {other!r}")


def _id(text: str) -> str:
    return str(uuid.UUID(text))


def _rows(connection: psycopg.Connection[Any], name: str) -> list[DictRow]:
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(load_sql("withdrawals.sql")[name].sql.encode()).fetchall()
