"""Reads a team's stored evaluations and its live cases for the commands of auditors, in one snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.rows import dict_row

from corrigenda_core.domain.ids import ConflictId, TeamId
from corrigenda_core.domain.snapshots import CaseSnapshot
from corrigenda_core.domain.time import Instant
from corrigenda_core.persistence.database import register_types
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.persistence.review_cases import case_queries, case_rows
from corrigenda_core.policy.case_review import decide_snapshot, decide_staying

_BATCH_CASES = 200
_SQL = "evaluations.sql"

Connection = psycopg.Connection[tuple[object, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvaluation:
    """A look at a case as it was kept: the snapshot as text, the evaluation as JSON."""

    conflict_id: ConflictId
    revision: int
    snapshot: str
    decision: dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveCase:
    """A live case with the snapshot that a look at the team's present time would take."""

    conflict_id: ConflictId
    status: str
    opened_at: Instant
    snapshot: CaseSnapshot


def stored_evaluations(connection: Connection, team_id: TeamId) -> Iterator[StoredEvaluation]:
    """Every look of a team, in the order of the commits; as many rows are held as a batch of the server's has.

    ``connection`` is of a role that sees every team, in a transaction.
    """
    register_types(connection)
    query = load_sql(_SQL).query("evaluations_of_team", team_id=team_id)
    with connection.cursor(name="stored_evaluations", row_factory=dict_row) as cursor:
        cursor.itersize = 500
        for row in cursor.execute(query.sql.encode(), query.parameters):
            yield StoredEvaluation(
                conflict_id=ConflictId(row["conflict_id"]),
                revision=row["revision"],
                snapshot=row["snapshot"],
                decision=row["decision"],
            )


def live_cases(connection: Connection, team_id: TeamId) -> Iterator[LiveCase]:
    """The live cases of a team, the oldest first; read a batch at a time.

    ``connection`` is of a role that sees every team, in a transaction.
    """
    register_types(connection)
    sql = load_sql(_SQL)
    listed = _rows(connection, sql.query("live_cases_of_team", team_id=team_id))
    for start in range(0, len(listed), _BATCH_CASES):
        batch = listed[start : start + _BATCH_CASES]
        conflict_ids = [ConflictId(row["conflict_id"]) for row in batch]
        answers = {query.name: _rows(connection, query) for query in case_queries(team_id, conflict_ids)}
        rows = case_rows(answers, conflict_ids)
        for row in batch:
            conflict_id, now = ConflictId(row["conflict_id"]), row["team_now"]
            yield LiveCase(
                conflict_id=conflict_id,
                status=row["status"],
                opened_at=row["opened_at"],
                snapshot=decide_snapshot(decide_staying(rows[conflict_id].view(), now), now),
            )


def _rows(connection: Connection, query: Query) -> list[dict[str, Any]]:
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query.sql.encode(), query.parameters).fetchall()
