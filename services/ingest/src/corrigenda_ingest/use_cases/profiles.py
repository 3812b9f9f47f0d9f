"""Profiles: making and listing them."""

from __future__ import annotations

from dataclasses import dataclass

from corrigenda.admin.v1 import admin_service_pb2, profile_pb2
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import ProfileId
from corrigenda_core.domain.time import Moment
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.transaction import Committed, Transaction
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.rpc.idempotent import idempotency_of
from corrigenda_core.rpc.page_tokens import PageTokens

from corrigenda_ingest.use_cases.administration import Administration


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiles:
    """The use cases on profiles."""

    administration: Administration
    reader: ReadRunner
    page_tokens: PageTokens

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


def _profile(row: Row) -> profile_pb2.Profile:
    return profile_pb2.Profile(
        profile_id=row["profile_id"], name=row["name"], created_at=timestamp_of(row["recorded_at"])
    )
