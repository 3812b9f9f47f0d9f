"""SearchEntities: entities by name, page by page, with what tells namesakes apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from corrigenda.recall.v1 import entity_pb2
from corrigenda.recall.v1 import recall_service_pb2 as messages
from corrigenda.type.v1 import object_pb2
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.views import KnownAtRevision, TemporalSelector
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.view_store import ReadView, run_in_view
from corrigenda_core.policy.normalisation import decide_text_form
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.convert import known_of, timestamp_of
from corrigenda_core.rpc.page_tokens import PageTokens

NAMES_SHOWN = 20
PAIRS_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEntities:
    """The use case."""

    reader: ReadRunner
    page_tokens: PageTokens

    async def __call__(
        self, caller: Caller, request: messages.SearchEntitiesRequest, deadline: Deadline
    ) -> messages.SearchEntitiesResponse:
        """A page of entities, the best match first; every page shows the revision of the first one.

        A name that only another profile gave finds nothing and is not shown: it is not the team's.

        Raises:
            Refusal: INVALID_FIELD for a name without anything visible and for a view of the future;
                PAGE_TOKEN_MISMATCH; REVISION_NOT_REPLICATED.
        """
        page = self.page_tokens.page_of(request, caller)
        known = known_of(request.known) if page.revision is None else KnownAtRevision(revision=page.revision)
        # At a revision nothing is added to the list, so that a place in it stays what it is.
        offset = int(page.after[0]) if page.after else 0
        text = decide_text_form(request.name)
        if request.name and not text:
            raise Refusal(Reason.INVALID_FIELD, "name has nothing visible in it", field="name")
        sql = load_sql("entities.sql")

        async def read(transaction: ReadTransaction, view: ReadView) -> messages.SearchEntitiesResponse:
            visible = {"team_id": transaction.team_id, "known_at": view.recorded_by, "reader_id": caller.profile_id}
            found = await transaction.fetch(
                sql.query(
                    "entities_by_name",
                    **visible,
                    text=text,
                    kind=request.entity_kind or None,
                    limit=page.size + 1,
                    offset=offset,
                )
            )
            shown = found[: page.size]
            of_shown = {"entity_ids": [row["entity_id"] for row in shown]}
            in_view = {"team_id": transaction.team_id, "known_at": view.recorded_by}
            names, contexts = await transaction.fetch_all(
                sql.query("other_names_of_entities", **visible, **of_shown, shown=NAMES_SHOWN),
                sql.query("contexts_of_entities", **in_view, **of_shown, shown=PAIRS_SHOWN),
            )
            token = ""
            if len(found) > page.size:
                after = (str(offset + page.size),)
                token = self.page_tokens.next_token(request, caller, after=after, revision=view.revision)
            return messages.SearchEntitiesResponse(
                entities=_entities(shown, names, contexts),
                next_page_token=token,
                total=found[0]["total"] if found else 0,
                revision=view.revision,
            )

        return await run_in_view(
            self.reader,
            caller.team_id,
            TemporalSelector(known=known),
            read,
            field="known",
            min_revision=request.min_revision,
            deadline=deadline,
        )


def _entities(rows: Iterable[Row], names: Iterable[Row], contexts: Iterable[Row]) -> list[entity_pb2.FoundEntity]:
    names_of, pairs_of = _by_entity(names), _by_entity(contexts)
    return [_entity(row, names_of[row["entity_id"]], pairs_of[row["entity_id"]]) for row in rows]


def _by_entity(rows: Iterable[Row]) -> defaultdict[str, list[Row]]:
    grouped: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        grouped[row["entity_id"]].append(row)
    return grouped


def _entity(row: Row, names: list[Row], pairs: list[Row]) -> entity_pb2.FoundEntity:
    names_total = names[0]["total"] if names else 0
    pairs_total = pairs[0]["total"] if pairs else 0
    return entity_pb2.FoundEntity(
        entity=object_pb2.EntitySummary(entity_id=row["entity_id"], name=row["name"], entity_kind=row["kind"]),
        other_names=[one["name"] for one in names],
        other_names_total=names_total,
        other_names_truncated=names_total > len(names),
        identity_context=[entity_pb2.IdentityPair(key=one["context_key"], value=one["context_value"]) for one in pairs],
        identity_context_total=pairs_total,
        identity_context_truncated=pairs_total > len(pairs),
        recorded_at=timestamp_of(row["recorded_at"]),
        revision=row["revision"],
    )
