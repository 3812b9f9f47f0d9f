"""ListSources: the source registry page by page."""

from __future__ import annotations

from dataclasses import dataclass

from corrigenda.admin.v1 import admin_service_pb2
from corrigenda_core.domain.actors import Caller
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.source_store import is_in_use, source_of
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.page_tokens import PageTokens
from corrigenda_core.rpc.source_messages import source_message

_BEFORE_ALL = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSources:
    """The use case; see `__call__`."""

    reader: ReadRunner
    page_tokens: PageTokens

    async def __call__(
        self, caller: Caller, request: admin_service_pb2.ListSourcesRequest, deadline: Deadline
    ) -> admin_service_pb2.ListSourcesResponse:
        """A page of the registry, in the order in which its entries were registered.

        Raises:
            Refusal: PAGE_TOKEN_MISMATCH, REVISION_NOT_REPLICATED.
        """
        page = self.page_tokens.page_of(request, caller)
        after = page.after[0] if page.after else _BEFORE_ALL
        sql = load_sql("sources.sql")

        def read(transaction: ReadTransaction) -> admin_service_pb2.ListSourcesResponse:
            rows = transaction.prefetched["source_page"]
            shown, revision = rows[: page.size], transaction.reading.revision
            token = ""
            if len(rows) > page.size:
                token = self.page_tokens.next_token(request, caller, after=(shown[-1]["source_id"],), revision=revision)
            return admin_service_pb2.ListSourcesResponse(
                sources=[source_message(source_of(row), active=is_in_use(row)) for row in shown],
                next_page_token=token,
                total=transaction.prefetched["source_count"][0]["total"],
                revision=revision,
            )

        return await self.reader.run(
            caller.team_id,
            read,
            prefetch=[
                sql.query("source_page", team_id=caller.team_id, after=after, limit=page.size + 1),
                sql.query("source_count", team_id=caller.team_id),
            ],
            min_revision=request.min_revision,
            deadline=deadline,
        )
