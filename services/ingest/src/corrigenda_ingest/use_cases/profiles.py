"""Profiles and their keys: making, listing and revoking them."""

from __future__ import annotations

from dataclasses import dataclass

from corrigenda.admin.v1 import admin_service_pb2, profile_pb2
from corrigenda_core.domain.actors import Caller, KeyScope
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import KeyId, ProfileId
from corrigenda_core.domain.time import Moment
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.transaction import Committed, Transaction
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.convert import instant_of, timestamp_of, timestamp_or_none
from corrigenda_core.rpc.enums import KEY_SCOPE
from corrigenda_core.rpc.idempotent import idempotency_of
from corrigenda_core.rpc.page_tokens import PageTokens
from corrigenda_core.security.keys import PresentedKey, draw_secret, hash_key, key_text

from corrigenda_ingest.use_cases.administration import Administration, key_row, the_one


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiles:
    """The use cases on profiles and keys; ``pepper`` is what keys are hashed with."""

    administration: Administration
    reader: ReadRunner
    page_tokens: PageTokens
    pepper: bytes

    async def create(
        self, caller: Caller, request: admin_service_pb2.CreateProfileRequest, deadline: Deadline
    ) -> Committed[admin_service_pb2.CreateProfileResponse]:
        """Makes a profile.

        Raises:
            Refusal: INVALID_FIELD for a name that is taken.
        """
        profile_id = ProfileId(self.administration.new_ids().nth(0))

        def check(transaction: Transaction) -> None:
            if transaction.prefetched["profile_by_name"]:
                raise Refusal(Reason.INVALID_FIELD, "name is taken by another profile of the team", field="name")

        def change(transaction: Transaction, moment: Moment) -> admin_service_pb2.CreateProfileResponse:
            transaction.insert(tables.profiles, {"profile_id": profile_id, "name": request.name})
            profile = profile_pb2.Profile(profile_id=profile_id, name=request.name, created_at=timestamp_of(moment.at))
            return admin_service_pb2.CreateProfileResponse(profile=profile, revision=moment.revision)

        return await self.administration.commit(
            caller,
            "create_profile",
            change,
            check=check,
            prefetch=[load_sql("admin.sql").query("profile_by_name", team_id=caller.team_id, wanted=request.name)],
            idempotency=idempotency_of(request, caller.profile_id, admin_service_pb2.CreateProfileResponse),
            deadline=deadline,
        )

    async def list(
        self, caller: Caller, request: admin_service_pb2.ListProfilesRequest, deadline: Deadline
    ) -> admin_service_pb2.ListProfilesResponse:
        """A page of the team's profiles, by name."""
        page = self.page_tokens.page_of(request, caller)
        size = page.size
        after = page.after[0] if page.after else ""
        sql = load_sql("admin.sql")

        def read(transaction: ReadTransaction) -> admin_service_pb2.ListProfilesResponse:
            rows = transaction.prefetched["profile_page"]
            shown, revision = rows[:size], transaction.reading.revision
            token = ""
            if len(rows) > size:
                token = self.page_tokens.next_token(request, caller, after=(shown[-1]["name"],), revision=revision)
            return admin_service_pb2.ListProfilesResponse(
                profiles=[_profile(row) for row in shown],
                next_page_token=token,
                total=transaction.prefetched["profile_count"][0]["total"],
                revision=revision,
            )

        return await self.reader.run(
            caller.team_id,
            read,
            prefetch=[
                sql.query("profile_page", team_id=caller.team_id, after=after, limit=size + 1),
                sql.query("profile_count", team_id=caller.team_id),
            ],
            min_revision=request.min_revision,
            deadline=deadline,
        )

    async def create_key(
        self, caller: Caller, request: admin_service_pb2.CreateKeyRequest, deadline: Deadline
    ) -> Committed[admin_service_pb2.CreateKeyResponse]:
        """Makes a key; its secret is in this answer alone, not in that of a repeated request.

        Raises:
            Refusal: RESOURCE_NOT_FOUND for the profile, INVALID_FIELD for an expiry that has passed.
        """
        now = self.administration.now()
        expires_at = instant_of(request.expires_at) if request.HasField("expires_at") else None
        if expires_at is not None and expires_at <= now:
            raise Refusal(Reason.INVALID_FIELD, "expires_at has passed already", field="expires_at")
        key_id = KeyId(self.administration.new_ids().nth(0))
        secret = draw_secret()

        def check(transaction: Transaction) -> None:
            the_one(
                transaction.prefetched["profile_row"],
                resource_type="profile",
                resource_id=request.profile_id,
                field="profile_id",
            )

        def change(transaction: Transaction, moment: Moment) -> admin_service_pb2.CreateKeyResponse:
            scopes = sorted({KEY_SCOPE.to_domain(scope).value for scope in request.scopes})
            row = {
                "key_id": key_id,
                "profile_id": request.profile_id,
                "label": request.label,
                "key_hash": hash_key(PresentedKey(key_id=key_id, secret=secret), self.pepper),
                "scopes": scopes,
                "created_at": now,
                "expires_at": expires_at,
                "revoked_at": None,
            }
            transaction.insert(tables.api_keys, key_row(row))
            return admin_service_pb2.CreateKeyResponse(
                key=_key(row), secret=key_text(key_id, secret), revision=moment.revision
            )

        return await self.administration.commit(
            caller,
            "create_key",
            change,
            check=check,
            prefetch=[
                load_sql("admin.sql").query("profile_row", team_id=caller.team_id, profile_id=request.profile_id)
            ],
            idempotency=idempotency_of(
                request, caller.profile_id, admin_service_pb2.CreateKeyResponse, kept=_without_secret
            ),
            deadline=deadline,
        )

    async def revoke_key(
        self, caller: Caller, request: admin_service_pb2.RevokeKeyRequest, deadline: Deadline
    ) -> Committed[admin_service_pb2.RevokeKeyResponse]:
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

        def change(transaction: Transaction, moment: Moment) -> admin_service_pb2.RevokeKeyResponse:
            row = found(transaction)
            if row["revoked_at"] is None:
                row["revoked_at"] = max(now, row["created_at"])
                transaction.amend(tables.api_keys, key_row(row), {"revoked_at"})
            return admin_service_pb2.RevokeKeyResponse(key=_key(row), revision=moment.revision)

        return await self.administration.commit(
            caller,
            "revoke_key",
            change,
            check=check,
            prefetch=[load_sql("admin.sql").query("key_row", team_id=caller.team_id, key_id=request.key_id)],
            idempotency=idempotency_of(request, caller.profile_id, admin_service_pb2.RevokeKeyResponse),
            deadline=deadline,
        )


def _profile(row: Row) -> profile_pb2.Profile:
    return profile_pb2.Profile(
        profile_id=row["profile_id"], name=row["name"], created_at=timestamp_of(row["recorded_at"])
    )


def _key(row: Row) -> profile_pb2.Key:
    return profile_pb2.Key(
        key_id=row["key_id"],
        profile_id=row["profile_id"],
        label=row["label"],
        scopes=[KEY_SCOPE.to_wire(KeyScope(scope)) for scope in row["scopes"]],
        created_at=timestamp_of(row["created_at"]),
        expires_at=timestamp_or_none(row["expires_at"]),
        revoked_at=timestamp_or_none(row["revoked_at"]),
    )


def _without_secret(response: admin_service_pb2.CreateKeyResponse) -> admin_service_pb2.CreateKeyResponse:
    kept = admin_service_pb2.CreateKeyResponse()
    kept.CopyFrom(response)
    kept.ClearField("secret")
    return kept
