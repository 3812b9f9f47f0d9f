"""API keys: making, rotating, revoking and listing them; a secret is in the answer that makes it and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from corrigenda.admin.v1 import admin_service_pb2 as messages
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import KeyId
from corrigenda_core.domain.time import Instant, Moment
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.persistence.transaction import Committed, Transaction
from corrigenda_core.policy.limits import decide_limit
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.convert import instant_of
from corrigenda_core.rpc.enums import KEY_SCOPE
from corrigenda_core.rpc.idempotent import idempotency_of
from corrigenda_core.security.keys import PresentedKey, draw_secret, hash_key, key_text

from corrigenda_ingest.use_cases.administration import Administration, key_row, the_one
from corrigenda_ingest.use_cases.list_keys import is_live, key_message


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """The use cases that change keys.

    Attributes:
        administration: the tools of a change.
        pepper: what keys are hashed with.
        forget: makes this process ask the database about a key again; called once a change of it is committed.
    """

    administration: Administration
    pepper: bytes
    forget: Callable[[KeyId], None]

    async def create(
        self, caller: Caller, request: messages.CreateKeyRequest, deadline: Deadline
    ) -> Committed[messages.CreateKeyResponse]:
        """Makes a key; its secret is in this answer alone, not in that of a repeated request.

        Raises:
            Refusal: RESOURCE_NOT_FOUND for the profile, INVALID_FIELD for an expiry that has passed.
        """
        now = self.administration.now()
        expires_at = _expiry(request, now)
        key_id, secret = self._drawn()

        def check(transaction: Transaction) -> None:
            the_one(
                transaction.prefetched["profile_row"],
                resource_type="profile",
                resource_id=request.profile_id,
                field="profile_id",
            )

        def change(transaction: Transaction, moment: Moment) -> messages.CreateKeyResponse:
            row = {
                "key_id": key_id,
                "profile_id": request.profile_id,
                "label": request.label,
                "key_hash": self._hash(key_id, secret),
                "scopes": sorted({KEY_SCOPE.to_domain(scope).value for scope in request.scopes}),
                "created_at": now,
                "expires_at": expires_at,
                "revoked_at": None,
                "replaces_key_id": None,
            }
            transaction.insert(tables.api_keys, key_row(row))
            return messages.CreateKeyResponse(
                key=key_message(row, now), secret=key_text(key_id, secret), revision=moment.revision
            )

        return await self.administration.commit(
            caller,
            "create_key",
            change,
            check=check,
            prefetch=[
                load_sql("admin.sql").query("profile_row", team_id=caller.team_id, profile_id=request.profile_id)
            ],
            idempotency=idempotency_of(request, caller.profile_id, messages.CreateKeyResponse, kept=_created_kept),
            deadline=deadline,
        )

    async def rotate(
        self, caller: Caller, request: messages.RotateKeyRequest, deadline: Deadline
    ) -> Committed[messages.RotateKeyResponse]:
        """Makes the next key of a line and lets the replaced one live for the overlap, no longer than it would have.

        Raises:
            Refusal: RESOURCE_NOT_FOUND; INVALID_FIELD for a key that is not live or has a successor, or for an expiry
                that has passed.
        """
        now = self.administration.now()
        expires_at = _expiry(request, now)
        overlap_seconds = (
            request.overlap_seconds if request.HasField("overlap_seconds") else decide_limit("key_overlap").default
        )
        key_id, secret = self._drawn()

        def check(transaction: Transaction) -> None:
            row = the_one(
                transaction.prefetched["key_row"], resource_type="key", resource_id=request.key_id, field="key_id"
            )
            if not is_live(row, now):
                raise Refusal(Reason.INVALID_FIELD, "the key is not live: make a new one instead", field="key_id")
            if successors := transaction.prefetched["key_successor"]:
                raise Refusal(
                    Reason.INVALID_FIELD,
                    "the key was rotated already: rotate its successor",
                    field="key_id",
                    metadata={"successor_key_id": successors[0]["key_id"]},
                )

        def change(transaction: Transaction, moment: Moment) -> messages.RotateKeyResponse:
            (found,) = transaction.prefetched["key_row"]
            ends_at = now + timedelta(seconds=overlap_seconds)
            replaced = {**found, "expires_at": min(ends_at, found["expires_at"] or ends_at)}
            transaction.amend(tables.api_keys, key_row(replaced), {"expires_at"})
            for before in transaction.prefetched["key_predecessor"]:
                if before["revoked_at"] is None:
                    ended = {**before, "revoked_at": max(now, before["created_at"])}
                    transaction.amend(tables.api_keys, key_row(ended), {"revoked_at"})
            row = {
                **found,
                "key_id": key_id,
                "key_hash": self._hash(key_id, secret),
                "created_at": now,
                "expires_at": expires_at,
                "revoked_at": None,
                "replaces_key_id": request.key_id,
            }
            transaction.insert(tables.api_keys, key_row(row))
            return messages.RotateKeyResponse(
                key=key_message(row, now),
                replaced=key_message(replaced, now),
                secret=key_text(key_id, secret),
                revision=moment.revision,
            )

        sql = load_sql("admin.sql")
        committed = await self.administration.commit(
            caller,
            "rotate_key",
            change,
            check=check,
            prefetch=[
                sql.query(name, team_id=caller.team_id, key_id=request.key_id)
                for name in ("key_row", "key_predecessor", "key_successor")
            ],
            idempotency=idempotency_of(request, caller.profile_id, messages.RotateKeyResponse, kept=_rotated_kept),
            deadline=deadline,
        )
        replaced = committed.value.replaced
        for ended in (replaced.key_id, replaced.replaces_key_id):
            self.forget(KeyId(ended))
        return committed

    async def revoke(
        self, caller: Caller, request: messages.RevokeKeyRequest, deadline: Deadline
    ) -> Committed[messages.RevokeKeyResponse]:
        """Ends a key for good; one that is revoked already stays as it is.

        Raises:
            Refusal: RESOURCE_NOT_FOUND.
        """
        now = self.administration.now()

        def found(transaction: Transaction) -> Row:
            rows = transaction.prefetched["key_row"]
            return dict(the_one(rows, resource_type="key", resource_id=request.key_id, field="key_id"))

        def check(transaction: Transaction) -> None:
            found(transaction)

        def change(transaction: Transaction, moment: Moment) -> messages.RevokeKeyResponse:
            row = found(transaction)
            if row["revoked_at"] is None:
                row["revoked_at"] = max(now, row["created_at"])
                transaction.amend(tables.api_keys, key_row(row), {"revoked_at"})
            return messages.RevokeKeyResponse(key=key_message(row, now), revision=moment.revision)

        committed = await self.administration.commit(
            caller,
            "revoke_key",
            change,
            check=check,
            prefetch=[load_sql("admin.sql").query("key_row", team_id=caller.team_id, key_id=request.key_id)],
            idempotency=idempotency_of(request, caller.profile_id, messages.RevokeKeyResponse),
            deadline=deadline,
        )
        self.forget(KeyId(request.key_id))
        return committed

    def _drawn(self) -> tuple[KeyId, bytes]:
        return KeyId(self.administration.new_ids().nth(0)), draw_secret()

    def _hash(self, key_id: KeyId, secret: bytes) -> bytes:
        return hash_key(PresentedKey(key_id=key_id, secret=secret), self.pepper)


def _expiry(request: messages.CreateKeyRequest | messages.RotateKeyRequest, now: Instant) -> Instant | None:
    expires_at = instant_of(request.expires_at) if request.HasField("expires_at") else None
    if expires_at is not None and expires_at <= now:
        raise Refusal(Reason.INVALID_FIELD, "expires_at has passed already", field="expires_at")
    return expires_at


def _created_kept(response: messages.CreateKeyResponse) -> messages.CreateKeyResponse:
    kept = messages.CreateKeyResponse()
    kept.CopyFrom(response)
    kept.ClearField("secret")
    return kept


def _rotated_kept(response: messages.RotateKeyResponse) -> messages.RotateKeyResponse:
    kept = messages.RotateKeyResponse()
    kept.CopyFrom(response)
    kept.ClearField("secret")
    return kept
