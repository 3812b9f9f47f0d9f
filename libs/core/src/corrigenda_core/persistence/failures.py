"""What errors of the database mean: which are tried again, which end the connection, which refusal each becomes."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import errors

from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.persistence import sqlstates

_SERIALIZATION_FAILURE = "40001"
_DEADLOCK = "40P01"
_NO_ROW_OF_THAT_VERSION = "22012"  # the division by zero in `row_writing` and team_clock.sql

_REASONS: dict[str, tuple[Reason, str]] = {
    _SERIALIZATION_FAILURE: (Reason.CONTENTION, "the commit met another one, and again when it was repeated"),
    _DEADLOCK: (Reason.CONTENTION, "the commit met another one, and again when it was repeated"),
    "55P03": (Reason.CONTENTION, "a lock was not to be had in time"),
    "57014": (Reason.STORE_UNAVAILABLE, "the statement was cancelled"),
    "53300": (Reason.OVERLOADED, "the database takes no more connections"),
    "25006": (Reason.STORE_UNAVAILABLE, "the database is read only"),
    _NO_ROW_OF_THAT_VERSION: (Reason.STALE_VERSION, "another commit has changed what was to be changed"),
    sqlstates.INSTANT_NOT_REACHED: (Reason.INVALID_FIELD, "the instant lies in the future of the team's clock"),
    sqlstates.TEAM_NOT_SET: (Reason.RESOURCE_NOT_FOUND, "there is no such team"),
}

_REASON_OF_CONSTRAINT: dict[str, tuple[Reason, str]] = {
    # Nets that fire when two commits raced past the planner's own check; the next attempt sees the other's rows.
    "idempotency_records_pkey": (Reason.CONTENTION, "the same request is being committed elsewhere"),
    "ledger_pkey": (Reason.CONTENTION, "another commit took the revision"),
}

_RETRY_AFTER_SECONDS = {Reason.CONTENTION: 0.2, Reason.OVERLOADED: 1.0, Reason.STORE_UNAVAILABLE: 1.0}


def is_worth_repeating(error: psycopg.Error) -> bool:
    """Whether the server has given up the transaction for a reason that another attempt may not meet."""
    return error.sqlstate in {_SERIALIZATION_FAILURE, _DEADLOCK}


def is_connection_loss(error: psycopg.Error, connection: psycopg.AsyncConnection[Any] | None) -> bool:
    """Whether the connection is gone, so that nobody knows from this error what became of the last statement."""
    if connection is not None and connection.broken:
        return True
    if error.sqlstate is None:
        # What the driver says by itself: the server has closed the connection, or cannot be reached.
        return isinstance(error, psycopg.OperationalError) and not isinstance(error, errors.PipelineAborted)
    return error.sqlstate.startswith(("08", "57P")) or isinstance(error, errors.IdleInTransactionSessionTimeout)


def refusal_of(error: psycopg.Error, *, connection_lost: bool = False) -> Refusal:
    """The refusal that an error becomes; INTERNAL_ERROR for all that nobody foresaw."""
    constraint = error.diag.constraint_name or ""
    if constraint in _REASON_OF_CONSTRAINT:
        reason, message = _REASON_OF_CONSTRAINT[constraint]
    elif error.sqlstate in _REASONS:
        reason, message = _REASONS[error.sqlstate]
    elif connection_lost or error.sqlstate is None:
        reason, message = Reason.STORE_UNAVAILABLE, "the connection to the database was lost"
    else:
        # The server's words may quote what a caller wrote; the code and the constraint's name are all we pass on.
        reason, message = Reason.INTERNAL_ERROR, "the database refused the change"
    return Refusal(
        reason,
        message,
        metadata=_metadata(error.sqlstate, constraint),
        retry_after_seconds=_RETRY_AFTER_SECONDS.get(reason),
    )


def _metadata(sqlstate: str | None, constraint: str) -> dict[str, str]:
    found = {"sqlstate": sqlstate or "", "constraint": constraint}
    return {name: value for name, value in found.items() if value}
