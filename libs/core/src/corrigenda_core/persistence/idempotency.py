"""Stored responses: the same key and the same request get the first answer again, and change nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import IdempotencyKey, ProfileId, TeamId
from corrigenda_core.domain.time import Instant, Moment
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.persistence.row_writing import RowText, writer_of
from corrigenda_core.persistence.tables import idempotency_records

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyRequest(Generic[T]):
    """A mutation's key, what was asked, and how its response becomes bytes and comes back.

    ``request_hash`` is the SHA-256 of the request without its key (see `request_hash_of`).
    """

    profile_id: ProfileId
    key: IdempotencyKey
    rpc: str
    request_hash: bytes
    encode: Callable[[T], bytes]
    decode: Callable[[bytes], T]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResponse:
    """What the first request of a key was answered, and in which revision."""

    rpc: str
    request_hash: bytes
    response: bytes
    revision: int
    recorded_at: Instant


def request_hash_of(rpc: str, canonical_request: bytes) -> bytes:
    """The hash that two requests share exactly if they ask the same; the request in a deterministic serialisation."""
    return hashlib.sha256(rpc.encode() + b"\0" + canonical_request).digest()


def find_response(team_id: TeamId, profile_id: ProfileId, key: IdempotencyKey) -> Query:
    """The query for a key's stored response; inside a commit it runs after the clock lock."""
    return load_sql("idempotency.sql").query(
        "find_response", team_id=team_id, profile_id=profile_id, idempotency_key=key
    )


def find_responses(team_id: TeamId, profile_id: ProfileId, keys: Collection[IdempotencyKey]) -> Query:
    """The query for the stored responses of several keys of a profile; inside a commit it runs after the clock lock."""
    return load_sql("idempotency.sql").query(
        "find_responses", team_id=team_id, profile_id=profile_id, idempotency_keys=sorted(keys)
    )


def stored_responses(rows: list[dict[str, Any]]) -> dict[IdempotencyKey, StoredResponse]:
    """What the query of `find_responses` found."""
    return {IdempotencyKey(row["idempotency_key"]): _stored(row) for row in rows}


def stored_response(rows: list[dict[str, Any]]) -> StoredResponse | None:
    """What the query of `find_response` found."""
    return _stored(rows[0]) if rows else None


def _stored(row: dict[str, Any]) -> StoredResponse:
    return StoredResponse(
        rpc=row["rpc"],
        request_hash=bytes(row["request_hash"]),
        response=bytes(row["response"]),
        revision=row["revision"],
        recorded_at=row["recorded_at"],
    )


def replay(request: IdempotencyRequest[T], stored: StoredResponse) -> T:
    """The response of a repeated request: R5.1 gives the stored one, whatever has changed since.

    Raises:
        Refusal: IDEMPOTENCY_CONFLICT if the key was used for another request.
    """
    if stored.request_hash != request.request_hash or stored.rpc != request.rpc:
        raise Refusal(
            Reason.IDEMPOTENCY_CONFLICT,
            "this idempotency key was used for another request",
            field="idempotency_key",
            metadata={"revision": str(stored.revision)},
        )
    return request.decode(stored.response)


def response_row(team_id: TeamId, request: IdempotencyRequest[T], response: T, moment: Moment) -> RowText:
    """The row of a response, to be written by the transaction that it answers for."""
    return writer_of(idempotency_records).text(
        {
            "team_id": team_id,
            "profile_id": request.profile_id,
            "idempotency_key": request.key,
            "rpc": request.rpc,
            "request_hash": request.request_hash,
            "response": request.encode(response),
            "revision": moment.revision,
            "recorded_at": moment.at,
        }
    )
