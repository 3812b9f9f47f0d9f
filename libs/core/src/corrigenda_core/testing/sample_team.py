"""A team of a schema test: its ids, and the means to write rows of it one by one; `sample_rows` fills every table."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg
import uuid_utils.compat
from psycopg import sql
from sqlalchemy import Table

from corrigenda_core.persistence.tables import metadata

Connection = psycopg.Connection[tuple[object, ...]]

RECORDED_AT = datetime(2026, 6, 1, 12, tzinfo=UTC)


def new_id() -> UUID:
    """A UUIDv7."""
    return uuid_utils.compat.uuid7()


def insert_row(connection: Connection, table: str, row: Mapping[str, object]) -> None:
    """Inserts one row; columns that are not named stay NULL."""
    connection.execute(
        sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
            sql.Identifier(table),
            sql.SQL(", ").join(map(sql.Identifier, row)),
            sql.SQL(", ").join(sql.Placeholder() * len(row)),
        ),
        list(row.values()),
    )


def set_team(connection: Connection, team_id: UUID | None) -> None:
    """Sets the team of the transaction, as the services do; ``None`` sets the empty text."""
    connection.execute(f"SET LOCAL app.team_id = '{team_id or ''}'")


@dataclass(slots=True, kw_only=True)
class SampleTeam:
    """The ids of a sample team and the means to write more rows of it.

    ``revision`` is that of the next rows; `next_revision` moves it and the recorded time on.
    """

    connection: Connection
    team_id: UUID = field(default_factory=new_id)
    owner_a: UUID = field(default_factory=new_id)
    owner_b: UUID = field(default_factory=new_id)
    key_id: UUID = field(default_factory=new_id)
    key_hash: bytes = field(default_factory=lambda: hashlib.sha256(new_id().bytes).digest())
    ingest_id: UUID = field(default_factory=new_id)
    fragment_id: UUID = field(default_factory=new_id)
    subject_id: UUID = field(default_factory=new_id)
    main_id: UUID = field(default_factory=new_id)
    release_id: UUID = field(default_factory=new_id)
    observation_id: UUID = field(default_factory=new_id)
    relationship_a: UUID = field(default_factory=new_id)
    relationship_b: UUID = field(default_factory=new_id)
    support_id: UUID = field(default_factory=new_id)
    decision_id: UUID = field(default_factory=new_id)
    item_id: UUID = field(default_factory=new_id)
    reference_id: UUID = field(default_factory=new_id)
    conflict_id: UUID = field(default_factory=new_id)
    position_a: UUID = field(default_factory=new_id)
    position_b: UUID = field(default_factory=new_id)
    run_id: UUID = field(default_factory=new_id)
    revision: int = 1
    recorded_at: datetime = RECORDED_AT

    def next_revision(self) -> None:
        """Later rows belong to the next commit."""
        self.revision += 1
        self.recorded_at += timedelta(minutes=1)

    def insert(self, table: str, **values: object) -> None:
        """Inserts a row of the team at the current revision."""
        known: dict[str, object] = {
            "team_id": self.team_id,
            "revision": self.revision,
            "recorded_at": self.recorded_at,
        }
        columns = _table(table).columns
        row = {name: value for name, value in known.items() if name in columns}
        insert_row(self.connection, table, row | values)

    def update(self, table: str, key: Mapping[str, object], **values: object) -> None:
        """Updates the row of the team with this key, at the current revision."""
        changed: dict[str, object] = {"revision": self.revision, "recorded_at": self.recorded_at} | values
        condition: dict[str, object] = {"team_id": self.team_id, **key}
        self.connection.execute(
            sql.SQL("UPDATE {} SET {} WHERE {}").format(
                sql.Identifier(table), _assignments(changed, ", "), _assignments(condition, " AND ")
            ),
            [*changed.values(), *condition.values()],
        )

    def relationship(
        self, relationship_id: UUID, owner_id: UUID, object_id: UUID, *, transition: bool = True, **values: object
    ) -> None:
        """Inserts version 1 of a relationship ``subject deploys_from object``, with its transition."""
        row: dict[str, object] = {
            "version": 1,
            "subject_id": self.subject_id,
            "predicate": "deploys_from",
            "scope": "",
            "object_entity_id": object_id,
            "object_key": f"entity:{object_id}",
            "polarity": "+",
            "status": "active",
            "tier": "validated_claim",
            "facet": 0,
            "valid_from": "-infinity",
            "valid_to": "infinity",
            "record": False,
            "slot_exclusive": True,
            "event": False,
            "first_recorded_at": self.recorded_at,
        }
        row |= values
        self.insert("relationships", relationship_id=relationship_id, owner_id=owner_id, **row)
        if transition:
            self.transition(relationship_id, row)

    def close_relationship_a(self, at: datetime, *, version: int = 2, transition: bool = True) -> None:
        """Makes owner A's row superseded, ending ``at``."""
        self.update(
            "relationships",
            {"relationship_id": self.relationship_a},
            version=version,
            status="superseded",
            valid_to=at,
            valid_to_basis="evidence_time",
        )
        if transition:
            self.transition(self.relationship_a, closed_state(at, version=version))

    def transition(self, relationship_id: UUID, state: Mapping[str, object], **values: object) -> None:
        """Inserts the transition to the version and state of a relationship's row."""
        first = state["version"] == 1
        columns = ("status", "tier", "facet", "valid_from", "valid_to")
        self.insert(
            "transitions",
            transition_id=new_id(),
            relationship_id=relationship_id,
            version=state["version"],
            **{f"prior_{column}": None if first else state[column] for column in columns},
            **{f"resulting_{column}": state[column] for column in columns},
            resulting_valid_from_basis=state.get("valid_from_basis"),
            **{"actor_kind": "profile", "actor_profile_id": self.owner_a, "reason": "sample"} | values,
        )


def closed_state(at: datetime, *, version: int = 2) -> dict[str, object]:
    """The state of owner A's row once it is closed."""
    return {
        "version": version,
        "status": "superseded",
        "tier": "validated_claim",
        "facet": 0,
        "valid_from": "-infinity",
        "valid_to": at,
    }


def _assignments(columns: Mapping[str, object], separator: str) -> sql.Composed:
    return sql.SQL(separator).join(sql.SQL("{} = %s").format(sql.Identifier(column)) for column in columns)


def _table(name: str) -> Table:
    return metadata.tables[name]
