"""Timeline: every value that an entity or a slot ever had, and every event, with its place on both time axes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from corrigenda.recall.v1 import recall_service_pb2 as messages
from corrigenda.recall.v1 import timeline_pb2
from corrigenda.type.v1 import object_pb2
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import missing
from corrigenda_core.domain.ids import RelationshipId
from corrigenda_core.domain.relationships import Relationship, Status, Tier
from corrigenda_core.domain.views import KnownAtRevision
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.row_values import basis_of, validity_of
from corrigenda_core.persistence.surroundings_store import read_known_rows
from corrigenda_core.persistence.view_store import ReadView, run_in_view
from corrigenda_core.policy.normalisation import decide_predicate_key, decide_scope_form
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.actor_messages import actor_message
from corrigenda_core.rpc.convert import temporal_selector_of, timestamp_of, timestamp_or_none, validity_message
from corrigenda_core.rpc.enums import RELATIONSHIP_STATUS, TIER
from corrigenda_core.rpc.page_tokens import PageTokens

from corrigenda_recall.in_view import RelationshipsInView, relationships_in_view

VERSIONS_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The use case."""

    reader: ReadRunner
    page_tokens: PageTokens

    async def __call__(
        self, caller: Caller, request: messages.TimelineRequest, deadline: Deadline
    ) -> messages.TimelineResponse:
        """A page of values in the order of valid time, whatever became of them; every page shows one view.

        Raises:
            Refusal: RESOURCE_NOT_FOUND, also for an entity that was not known then; PAGE_TOKEN_MISMATCH; INVALID_FIELD
                for a view of the future; REVISION_NOT_REPLICATED.
        """
        page = self.page_tokens.page_of(request, caller)
        selector = temporal_selector_of(request.temporal)
        offset = 0
        if page.revision is not None:
            # At a revision nothing is added; what is in force goes by the instant of the first page.
            offset = int(page.after[0])
            known = KnownAtRevision(revision=page.revision)
            selector = replace(selector, valid_at=datetime.fromisoformat(page.after[1]), known=known)

        async def read(transaction: ReadTransaction, view: ReadView) -> messages.TimelineResponse:
            entity, rows = await _entity_and_rows(transaction, view, request, limit=page.size + 1, offset=offset)
            token = ""
            if len(rows) > page.size:
                after = (str(offset + page.size), view.valid_at.isoformat())
                token = self.page_tokens.next_token(request, caller, after=after, revision=view.revision)
            return messages.TimelineResponse(
                entity=entity,
                entries=await _entries(transaction, view, [row["relationship_id"] for row in rows[: page.size]]),
                next_page_token=token,
                total=rows[0]["total"] if rows else 0,
                valid_at=timestamp_of(view.valid_at),
                known_at=timestamp_or_none(view.known_at),
                revision=view.revision,
            )

        return await run_in_view(
            self.reader,
            caller.team_id,
            selector,
            read,
            field="temporal",
            min_revision=request.min_revision,
            deadline=deadline,
        )


async def _entity_and_rows(
    transaction: ReadTransaction, view: ReadView, request: messages.TimelineRequest, *, limit: int, offset: int
) -> tuple[object_pb2.EntitySummary, list[Row]]:
    """The entity, and the ids of a page of its rows with their total."""
    of_entity = {"team_id": transaction.team_id, "known_at": view.recorded_by, "entity_id": request.entity_id}
    predicate = decide_predicate_key(request.predicate, field="predicate") if request.predicate else None
    scope = decide_scope_form(request.scope, field="scope") if request.HasField("scope") else None
    named, rows = await transaction.fetch_all(
        load_sql("entities.sql").query("entity_in_view", **of_entity),
        load_sql("timeline.sql").query(
            "timeline_rows",
            **of_entity,
            predicate=predicate,
            scope=scope,
            as_object=request.as_object,
            limit=limit,
            offset=offset,
        ),
    )
    if not named:
        raise missing("entity", request.entity_id, field="entity_id")
    entity = object_pb2.EntitySummary(
        entity_id=named[0]["entity_id"], name=named[0]["name"], entity_kind=named[0]["kind"]
    )
    return entity, rows


async def _entries(
    transaction: ReadTransaction, view: ReadView, relationship_ids: list[RelationshipId]
) -> list[timeline_pb2.TimelineEntry]:
    if not relationship_ids:
        return []
    known = await read_known_rows(transaction, view, relationship_ids)
    in_view = await relationships_in_view(transaction, view, known)
    query = load_sql("timeline.sql").query(
        "timeline_versions",
        team_id=transaction.team_id,
        known_at=view.recorded_by,
        relationship_ids=relationship_ids,
        shown=VERSIONS_SHOWN,
    )
    versions = _by_row(await transaction.fetch(query))
    rows = {row.relationship_id: row for row in known.rows}
    return [_entry(in_view, rows[one], versions[one]) for one in relationship_ids]


def _by_row(versions: Iterable[Row]) -> dict[str, list[Row]]:
    grouped: dict[str, list[Row]] = defaultdict(list)
    for version in versions:
        grouped[version["relationship_id"]].append(version)
    return grouped


def _entry(in_view: RelationshipsInView, row: Relationship, versions: list[Row]) -> timeline_pb2.TimelineEntry:
    total = versions[0]["total"]
    return timeline_pb2.TimelineEntry(
        relationship=in_view.message(row),
        versions=[_version(version) for version in versions],
        versions_total=total,
        versions_truncated=total > len(versions),
    )


def _version(row: Row) -> timeline_pb2.TimelineVersion:
    return timeline_pb2.TimelineVersion(
        version=row["version"],
        revision=row["revision"],
        recorded_from=timestamp_of(row["recorded_from"]),
        recorded_to=timestamp_or_none(row["recorded_to"]),
        status=RELATIONSHIP_STATUS.to_wire(Status(row["status"])),
        tier=TIER.to_wire(Tier(row["tier"])),
        facet=row["facet"],
        validity=validity_message(validity_of(row), basis_of(row["valid_from_basis"]), basis_of(row["valid_to_basis"])),
        actor=actor_message(row),
        reason=row["reason"],
        decision_id=row["decision_id"] or "",
        conflict_id=row["conflict_id"] or "",
    )
