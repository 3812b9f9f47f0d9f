"""ListPredicates: the registered predicates of a team by key, page by page."""

from __future__ import annotations

from dataclasses import dataclass

from corrigenda.recall.v1 import recall_service_pb2 as messages
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.predicates import Predicate, PredicateLifecycle
from corrigenda_core.domain.views import KnownAtRevision, KnownNow, TemporalSelector
from corrigenda_core.persistence.ingest_store import predicate_of
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.view_store import ReadView, run_in_view
from corrigenda_core.policy.normalisation import decide_predicate_key
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.page_tokens import PageTokens
from corrigenda_core.rpc.predicate_messages import predicate_message


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPredicates:
    """The use case."""

    reader: ReadRunner
    page_tokens: PageTokens

    async def __call__(
        self, caller: Caller, request: messages.ListPredicatesRequest, deadline: Deadline
    ) -> messages.ListPredicatesResponse:
        """A page of predicates; every page shows the revision of the first one.

        Raises:
            Refusal: INVALID_FIELD, PAGE_TOKEN_MISMATCH, REVISION_NOT_REPLICATED.
        """
        page = self.page_tokens.page_of(request, caller)
        prefix = decide_predicate_key(request.prefix, field="prefix") if request.prefix else ""
        after = page.after[0] if page.after else ""

        async def read(transaction: ReadTransaction, view: ReadView) -> messages.ListPredicatesResponse:
            # A registry is small, and the total wants all of it; which forms begin alike is not the database's to say.
            rows = await transaction.fetch(
                load_sql("shown.sql").query(
                    "predicates_in_view", team_id=transaction.team_id, known_at=view.recorded_by
                )
            )
            listed = sorted(
                (one for one in map(predicate_of, rows) if _is_listed(one, prefix, request.include_retired)),
                key=lambda predicate: predicate.key,
            )
            rest = [predicate for predicate in listed if predicate.key > after]
            shown, token = rest[: page.size], ""
            if len(rest) > page.size:
                token = self.page_tokens.next_token(request, caller, after=(shown[-1].key,), revision=view.revision)
            return messages.ListPredicatesResponse(
                predicates=[predicate_message(predicate) for predicate in shown],
                next_page_token=token,
                total=len(listed),
                revision=view.revision,
            )

        return await run_in_view(
            self.reader,
            caller.team_id,
            TemporalSelector(known=KnownNow() if page.revision is None else KnownAtRevision(revision=page.revision)),
            read,
            field="page_token",
            min_revision=request.min_revision,
            deadline=deadline,
        )


def _is_listed(predicate: Predicate, prefix: str, include_retired: bool) -> bool:
    if predicate.lifecycle is PredicateLifecycle.RETIRED and not include_retired:
        return False
    forms = (predicate.key, *(decide_predicate_key(alias, field="aliases") for alias in predicate.aliases))
    return any(form.startswith(prefix) for form in forms)
