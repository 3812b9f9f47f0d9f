"""ListAlerts: what a person has to look at, the latest first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from corrigenda.admin.v1 import admin_service_pb2 as messages
from corrigenda.admin.v1 import alert_pb2
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.time import LATEST
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.rpc.page_tokens import PageTokens

_LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAlerts:
    """The use case; see `__call__`."""

    reader: ReadRunner
    page_tokens: PageTokens

    async def __call__(
        self, caller: Caller, request: messages.ListAlertsRequest, deadline: Deadline
    ) -> messages.ListAlertsResponse:
        """A page of alerts.

        Raises:
            Refusal: PAGE_TOKEN_MISMATCH, REVISION_NOT_REPLICATED.
        """
        page = self.page_tokens.page_of(request, caller)
        before, before_id = page.after or (LATEST.isoformat(), _LAST_ID)

        def read(transaction: ReadTransaction) -> messages.ListAlertsResponse:
            rows, revision = transaction.prefetched["alert_page"], transaction.reading.revision
            shown, token = rows[: page.size], ""
            if len(rows) > page.size:
                last = (shown[-1]["raised_at"].isoformat(), shown[-1]["alert_id"])
                token = self.page_tokens.next_token(request, caller, after=last, revision=revision)
            return messages.ListAlertsResponse(
                alerts=[_alert(row) for row in shown],
                next_page_token=token,
                total=transaction.prefetched["alert_count"][0]["total"],
                revision=revision,
            )

        sql = load_sql("admin.sql")
        return await self.reader.run(
            caller.team_id,
            read,
            prefetch=[
                sql.query(
                    "alert_page",
                    team_id=caller.team_id,
                    before=datetime.fromisoformat(before),
                    before_id=before_id,
                    limit=page.size + 1,
                ),
                sql.query("alert_count", team_id=caller.team_id),
            ],
            min_revision=request.min_revision,
            deadline=deadline,
        )


def _alert(row: Row) -> alert_pb2.Alert:
    return alert_pb2.Alert(
        alert_id=row["alert_id"],
        kind=row["kind"],
        conflict_id=row["conflict_id"] or "",
        reason=row["reason"],
        raised_at=timestamp_of(row["raised_at"]),
    )
