"""GetCompetingFacts: the live disagreements about an entity, slot by slot, as a view knows them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from corrigenda.conflict.v1 import competing_facts_pb2
from corrigenda.conflict.v1 import conflict_service_pb2 as messages
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.competing import CompetingSlot
from corrigenda_core.domain.errors import Refusal, missing
from corrigenda_core.domain.ids import EntityId, ProfileId, RelationshipId
from corrigenda_core.domain.objects import EntityObject
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.domain.views import KnownAt, KnownAtRevision, TemporalSelector
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.shown_store import (
    entity_names_of,
    entity_names_query,
    profile_names_of,
    profile_names_query,
)
from corrigenda_core.persistence.surroundings_store import read_known_rows
from corrigenda_core.persistence.view_store import ReadView, run_in_view
from corrigenda_core.policy.competing import decide_competing
from corrigenda_core.policy.normalisation import decide_predicate_key
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.convert import instant_of, timestamp_of, timestamp_or_none
from corrigenda_core.rpc.page_tokens import Page, PageTokens

from corrigenda_conflict.competing_responses import CompetingMessages

_FIELDS = {"known.known_at": "as_of", "known.revision": "revision"}
"""What the parts of the view are called in the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetCompetingFacts:
    """The use case; see `__call__`."""

    reader: ReadRunner
    page_tokens: PageTokens

    async def __call__(
        self, caller: Caller, request: messages.GetCompetingFactsRequest, deadline: Deadline
    ) -> messages.GetCompetingFactsResponse:
        """A page of slots with the disagreements that are live there; every page shows one view.

        Raises:
            Refusal: RESOURCE_NOT_FOUND, also for an entity that was not known then; PAGE_TOKEN_MISMATCH; INVALID_FIELD
                for a view of the future; REVISION_NOT_REPLICATED.
        """
        page = self.page_tokens.page_of(request, caller)
        # At a revision nothing is added to the list, so that a place in it stays what it is.
        offset = int(page.after[0]) if page.after else 0

        async def read(transaction: ReadTransaction, view: ReadView) -> messages.GetCompetingFactsResponse:
            slots = await _contested(transaction, view, request, limit=page.size + 1, offset=offset)
            token = ""
            if len(slots) > page.size:
                after = (str(offset + page.size), view.valid_at.isoformat())
                token = self.page_tokens.next_token(request, caller, after=after, revision=view.revision)
            return messages.GetCompetingFactsResponse(
                slots=await _competing(
                    transaction, view, EntityId(request.entity_id), caller.profile_id, slots[: page.size]
                ),
                next_page_token=token,
                valid_at=timestamp_of(view.valid_at),
                known_at=timestamp_or_none(view.known_at),
                revision=view.revision,
            )

        try:
            return await run_in_view(
                self.reader,
                caller.team_id,
                _selector(request, page),
                read,
                field="known",
                min_revision=request.min_revision,
                deadline=deadline,
            )
        except Refusal as refusal:
            refusal.field = _FIELDS.get(refusal.field, refusal.field)
            raise


def _selector(request: messages.GetCompetingFactsRequest, page: Page) -> TemporalSelector:
    """The asked view; what is asked as of an instant is also about that instant, unless another one is named."""
    selector = TemporalSelector()
    if request.HasField("as_of"):
        as_of = instant_of(request.as_of)
        selector = TemporalSelector(valid_at=as_of, known=KnownAt(at=as_of))
    elif request.HasField("revision"):
        selector = TemporalSelector(known=KnownAtRevision(revision=request.revision))
    if request.HasField("valid_at"):
        selector = replace(selector, valid_at=instant_of(request.valid_at))
    if page.revision is not None:
        known = KnownAtRevision(revision=page.revision)
        selector = TemporalSelector(valid_at=datetime.fromisoformat(page.after[1]), known=known)
    return selector


async def _contested(
    transaction: ReadTransaction,
    view: ReadView,
    request: messages.GetCompetingFactsRequest,
    *,
    limit: int,
    offset: int,
) -> list[Row]:
    """A page of the slots of the entity in which something may be disputed."""
    of_entity = {"team_id": transaction.team_id, "known_at": view.recorded_by, "entity_id": request.entity_id}
    predicate = decide_predicate_key(request.predicate, field="predicate") if request.predicate else None
    named, slots = await transaction.fetch_all(
        load_sql("entities.sql").query("entity_in_view", **of_entity),
        load_sql("competing.sql").query(
            "contested_slots",
            **of_entity,
            valid_at=view.valid_at,
            predicate=predicate,
            limit=limit,
            offset=offset,
        ),
    )
    if not named:
        raise missing("entity", request.entity_id, field="entity_id")
    return slots


async def _competing(
    transaction: ReadTransaction, view: ReadView, entity_id: EntityId, reader_id: ProfileId, slots: list[Row]
) -> list[competing_facts_pb2.CompetingSlot]:
    """The disagreements of slots; questions are shown to the owner whom they ask."""
    if not slots:
        return []
    found = await transaction.fetch(
        load_sql("competing.sql").query(
            "contesting_rows",
            team_id=transaction.team_id,
            known_at=view.recorded_by,
            valid_at=view.valid_at,
            subject_ids=[slot["subject_id"] for slot in slots],
            predicates=[slot["predicate"] for slot in slots],
            scopes=[slot["scope"] for slot in slots],
        )
    )
    known = await read_known_rows(transaction, view, [RelationshipId(row["relationship_id"]) for row in found])
    own = [question for question in known.questions if question.owner_id == reader_id]
    asked = {(slot["subject_id"], slot["predicate"], slot["scope"]) for slot in slots}
    # The cases of fellow members say from when on these count; what they dispute in other slots is on other pages.
    shown = [
        one
        for one in decide_competing(entity_id, view.valid_at, known.all_rows, known.cases, own)
        if (one.slot.subject_id, one.slot.predicate, one.slot.scope) in asked
    ]
    rows = list(_rows(shown))
    subjects = {one.slot.subject_id for one in shown}
    names, profiles = await transaction.fetch_all(
        entity_names_query(transaction.team_id, subjects | _entities(rows)),
        profile_names_query(transaction.team_id, {row.owner_id for row in rows}),
    )
    made = CompetingMessages(entity_names_of(names), profile_names_of(profiles))
    return [made.slot(one) for one in shown]


def _rows(slots: Iterable[CompetingSlot]) -> Iterable[Relationship]:
    return (row for slot in slots for facts in slot.facts for side in facts.sides for row in side.rows)


def _entities(rows: Iterable[Relationship]) -> set[EntityId]:
    found = set()
    for row in rows:
        found.add(row.slot.subject_id)
        if isinstance(row.object, EntityObject):
            found.add(row.object.entity_id)
    return found
