"""ListKeys: the keys of the team without their secrets, and how a key is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from corrigenda.admin.v1 import admin_service_pb2 as messages
from corrigenda.admin.v1 import profile_pb2
from corrigenda_core.domain.actors import Caller, KeyScope
from corrigenda_core.domain.time import Instant
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.convert import timestamp_of, timestamp_or_none
from corrigenda_core.rpc.enums import KEY_SCOPE
from corrigenda_core.rpc.page_tokens import PageTokens

_FIRST_ID = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListKeys:
    """The use case; see `__call__`."""

    reader: ReadRunner
    page_tokens: PageTokens
    now: Callable[[], Instant]

    async def __call__(
        self, caller: Caller, request: messages.ListKeysRequest, deadline: Deadline
    ) -> messages.ListKeysResponse:
        """A page of keys; their ids are drawn in the order in which they are made.

        Raises:
            Refusal: PAGE_TOKEN_MISMATCH, REVISION_NOT_REPLICATED.
        """
        page, now = self.page_tokens.page_of(request, caller), self.now()
        asked = {
            "team_id": caller.team_id,
            "profile_id": request.profile_id or None,
            "live_at": None if request.include_ended else now,
        }

        def read(transaction: ReadTransaction) -> messages.ListKeysResponse:
            rows, revision = transaction.prefetched["key_page"], transaction.reading.revision
            shown, token = rows[: page.size], ""
            if len(rows) > page.size:
                token = self.page_tokens.next_token(request, caller, after=(shown[-1]["key_id"],), revision=revision)
            return messages.ListKeysResponse(
                keys=[key_message(row, now) for row in shown],
                next_page_token=token,
                total=transaction.prefetched["key_count"][0]["total"],
                revision=revision,
            )

        sql = load_sql("admin.sql")
        after = page.after[0] if page.after else _FIRST_ID
        return await self.reader.run(
            caller.team_id,
            read,
            prefetch=[
                sql.query("key_page", **asked, after=after, limit=page.size + 1),
                sql.query("key_count", **asked),
            ],
            min_revision=request.min_revision,
            deadline=deadline,
        )


def is_live(row: Mapping[str, Any], now: Instant) -> bool:
    """Whether a key is accepted at this real time."""
    return row["revoked_at"] is None and (row["expires_at"] is None or row["expires_at"] > now)


def key_message(row: Mapping[str, Any], now: Instant) -> profile_pb2.Key:
    """A key as it is shown: never its hash."""
    return profile_pb2.Key(
        key_id=row["key_id"],
        profile_id=row["profile_id"],
        label=row["label"],
        scopes=[KEY_SCOPE.to_wire(KeyScope(scope)) for scope in row["scopes"]],
        created_at=timestamp_of(row["created_at"]),
        expires_at=timestamp_or_none(row["expires_at"]),
        revoked_at=timestamp_or_none(row["revoked_at"]),
        replaces_key_id=row["replaces_key_id"] or "",
        live=is_live(row, now),
    )
