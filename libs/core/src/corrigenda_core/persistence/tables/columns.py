"""The building blocks of every table: team-first keys, ledgered rows, closed enumerations, versioned rows.

All names are decided here or by the caller, never by the database: the schema snapshot must not depend on a server's
naming habits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, BYTEA, TIMESTAMP, ExcludeConstraint
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeEngine

from corrigenda_core.domain.actors import ActorKind

metadata = MetaData(
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
        "ck": "%(table_name)s_%(constraint_name)s_check",
    }
)
"""Every table of the schema; importing the package `corrigenda_core.persistence.tables` fills it."""

INSTANT = TIMESTAMP(timezone=True)
UUIDS = ARRAY(Uuid)
TEXTS = ARRAY(Text)
SHA256_LENGTH_BYTES = 32

# What a column holds is the database's business here: nobody maps these tables to classes.
ColumnType = TypeEngine[Any] | type[TypeEngine[Any]]


def team_table(name: str, *elements: SchemaItem, key: Sequence[str], comment: str) -> Table:
    """A table of teams: ``team_id`` is its first column and leads its primary key ``(team_id, *key)``."""
    return Table(
        name,
        metadata,
        Column("team_id", Uuid, nullable=False),
        *elements,
        PrimaryKeyConstraint("team_id", *key),
        comment=comment,
    )


def required(name: str, type_: ColumnType, comment: str | None = None) -> Column[Any]:
    """A column that always has a value."""
    return Column(name, type_, nullable=False, comment=comment)


def optional(name: str, type_: ColumnType, comment: str | None = None) -> Column[Any]:
    """A column that may say nothing."""
    return Column(name, type_, nullable=True, comment=comment)


def ledgered() -> tuple[Column[Any], Column[Any]]:
    """The commit that wrote the row: its gap-free revision and its recorded time."""
    return required("revision", BigInteger), required("recorded_at", INSTANT)


def digest(name: str, *, nullable: bool = False, comment: str | None = None) -> tuple[Column[Any], CheckConstraint]:
    """A SHA-256 value as 32 bytes."""
    return (
        Column(name, BYTEA, nullable=nullable, comment=comment),
        CheckConstraint(f"octet_length({name}) = {SHA256_LENGTH_BYTES}", name=f"{name}_length"),
    )


def member_of(
    name: str, values: type[StrEnum] | Iterable[str], *, nullable: bool = False
) -> tuple[Column[Any], CheckConstraint]:
    """A text column restricted to a closed list, in the order in which the enumeration declares it."""
    listed = ", ".join(f"'{value}'" for value in values)
    return Column(name, Text, nullable=nullable), CheckConstraint(f"{name} IN ({listed})", name=name)


def acted_by() -> tuple[Column[Any], Column[Any], CheckConstraint, CheckConstraint]:
    """Who a record says acted; the system reviewer is no profile."""
    kind, kinds = member_of("actor_kind", ActorKind)
    return (
        kind,
        optional("actor_profile_id", Uuid),
        kinds,
        CheckConstraint(
            "CASE actor_kind WHEN 'profile' THEN actor_profile_id IS NOT NULL "
            "WHEN 'reviewer' THEN actor_profile_id IS NULL ELSE true END",
            name="actor_profile_id",
        ),
    )


def refers(
    columns: Sequence[str],
    target: str,
    target_columns: Sequence[str] | None = None,
    *,
    deferred: bool = False,
    name: str | None = None,
) -> ForeignKeyConstraint:
    """A foreign key inside the team: both sides get ``team_id`` in front; ``deferred`` ones are checked at commit."""
    return ForeignKeyConstraint(
        ["team_id", *columns],
        [f"{target}.team_id", *(f"{target}.{column}" for column in target_columns or columns)],
        name=name,
        deferrable=True if deferred else None,
        initially="DEFERRED" if deferred else None,
        # Deferred keys close the circles between tables, so they are added once all tables are there.
        use_alter=deferred,
    )


def unique(*columns: str, name: str | None = None) -> UniqueConstraint:
    """A key inside the team."""
    return UniqueConstraint("team_id", *columns, name=name)


def index(name: str, *columns: str, serves: str, where: str | None = None, is_unique: bool = False) -> Index:
    """An index inside the team; ``serves`` names the query it is for and becomes the index's comment."""
    return Index(
        name,
        "team_id",
        *(text(column) if " " in column or "(" in column else column for column in columns),
        unique=is_unique,
        postgresql_where=text(where) if where else None,
        info={"serves": serves},
    )


def history_of(table: Table, *elements: SchemaItem, numbered_by: str) -> Table:
    """The table of all versions of ``table``'s rows, one row per version, written by a trigger and by nobody else.

    It has the same columns; ``recorded_at`` is called ``recorded_from`` here and ``recorded_to`` is the
    ``recorded_from`` of the next version, infinity for the current one. ``numbered_by`` tells the versions of one row
    apart. The exclusion constraint says that no two of them are current at one instant.
    """
    key = [column.name for column in table.primary_key.columns if column.name != "team_id"]
    copied = [
        Column("recorded_from" if column.name == "recorded_at" else column.name, column.type, nullable=column.nullable)
        for column in table.columns
        if column.name != "team_id"
    ]
    return team_table(
        f"{table.name}_history",
        *copied,
        required("recorded_to", INSTANT),
        CheckConstraint("recorded_from < recorded_to", name="recorded_to"),
        ExcludeConstraint(
            ("team_id", "="),
            *((column, "=") for column in key),
            (text("tstzrange(recorded_from, recorded_to)"), "&&"),
            using="gist",
            name=f"{table.name}_history_versions_excl",
        ),
        *elements,
        key=(*key, numbered_by),
        comment=f"Every version of the rows of {table.name}.",
    )
