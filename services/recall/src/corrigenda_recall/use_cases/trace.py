"""Trace: everything that is recorded about one relationship, page by page, as a view knows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from corrigenda.recall.v1 import recall_service_pb2 as messages
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import missing
from corrigenda_core.domain.ids import EntityId, RelationshipId
from corrigenda_core.domain.objects import EntityObject
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.domain.views import KnownAtRevision, TemporalSelector
from corrigenda_core.persistence.case_rows import cases_of
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.row_values import relationship_of
from corrigenda_core.persistence.shown_store import (
    entity_names_of,
    entity_names_query,
    profile_names_of,
    profile_names_query,
)
from corrigenda_core.persistence.trace_store import Lineage, LineageEdge, TraceHead, TraceStore
from corrigenda_core.persistence.view_store import ReadView, run_in_view
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.convert import known_of
from corrigenda_core.rpc.page_tokens import PageTokens

from corrigenda_recall.message_room import fitting_count
from corrigenda_recall.trace_pages import PlannedPage, Section, TracePlace, planned_page
from corrigenda_recall.trace_responses import ShownTrace, TraceMessages

DEPTH_DEFAULT = 1
EDGES_DEFAULT = 50

_ROW_SECTIONS = tuple(section for section in Section if section is not Section.LINEAGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The use case."""

    reader: ReadRunner
    page_tokens: PageTokens

    async def __call__(
        self, caller: Caller, request: messages.TraceRequest, deadline: Deadline
    ) -> messages.TraceResponse:
        """A page of state, evidence, observations, verdicts, supports and decisions, transitions, references both
        ways, cases and lineage (R9.4); every page shows the revision of the first one.

        Raises:
            Refusal: RESOURCE_NOT_FOUND, PAGE_TOKEN_MISMATCH, INVALID_FIELD, REVISION_NOT_REPLICATED.
        """
        page = self.page_tokens.page_of(request, caller)
        known = known_of(request.known) if page.revision is None else KnownAtRevision(revision=page.revision)

        async def read(transaction: ReadTransaction, view: ReadView) -> messages.TraceResponse:
            store = TraceStore(transaction, view, RelationshipId(request.relationship_id))
            head = await store.head()
            if head is None:
                raise missing("relationship", request.relationship_id, field="relationship_id")
            lineage = await _lineage(store, request)
            totals = _totals(head, lineage)
            planned = planned_page(_paged(totals, request), TracePlace.of(page.after), page.size)
            shown, following = await _shown(transaction, store, head, lineage, planned, request)
            token = ""
            if following is not None:
                token = self.page_tokens.next_token(request, caller, after=following.cursor, revision=view.revision)
            response = TraceMessages(shown).response(totals=totals, left_out=_left_out(request))
            response.next_page_token = token
            response.revision = view.revision
            return response

        return await run_in_view(
            self.reader,
            caller.team_id,
            TemporalSelector(known=known),
            read,
            field="known",
            min_revision=request.min_revision,
            deadline=deadline,
        )


def _max_depth(request: messages.TraceRequest) -> int:
    return request.max_depth if request.HasField("max_depth") else DEPTH_DEFAULT


async def _lineage(store: TraceStore, request: messages.TraceRequest) -> Lineage:
    max_edges = request.max_edges if request.HasField("max_edges") else EDGES_DEFAULT
    if _max_depth(request) == 0:
        return Lineage()
    return await store.lineage(max_depth=_max_depth(request), max_edges=max_edges)


def _totals(head: TraceHead, lineage: Lineage) -> dict[Section, int]:
    return {section: head.totals[section.value] for section in _ROW_SECTIONS} | {Section.LINEAGE: len(lineage.edges)}


def _left_out(request: messages.TraceRequest) -> frozenset[Section]:
    asked_for = {
        Section.VERIFICATIONS: request.include_verification,
        Section.TRANSITIONS: request.include_transitions,
        Section.LINEAGE: _max_depth(request) > 0,
    }
    return frozenset(section for section, is_asked_for in asked_for.items() if not is_asked_for)


def _paged(totals: Mapping[Section, int], request: messages.TraceRequest) -> dict[Section, int]:
    left_out = _left_out(request)
    return {section: 0 if section in left_out else total for section, total in totals.items()}


async def _shown(
    transaction: ReadTransaction,
    store: TraceStore,
    head: TraceHead,
    lineage: Lineage,
    planned: PlannedPage,
    request: messages.TraceRequest,
) -> tuple[ShownTrace, TracePlace | None]:
    """The records of a page with what is shown beside them; where its texts are too many, the page ends after them."""
    rows = await _section_rows(transaction, store, planned, request)
    following = planned.following
    fitting = fitting_count(row["content"] for row in rows[Section.EVIDENCE])
    if fitting < len(rows[Section.EVIDENCE]):
        rows = {section: [] for section in rows} | {Section.EVIDENCE: rows[Section.EVIDENCE][:fitting]}
        offset = planned.slices[Section.EVIDENCE].offset + fitting
        following = TracePlace(section=Section.EVIDENCE, offset=offset)
        planned = replace(planned, slices={Section.EVIDENCE: planned.slices[Section.EVIDENCE]})
    edges = _edges(lineage, planned)
    others, decisions, positions, members, merges = await transaction.fetch_all(
        store.rows(_other_ids(head.row, rows[Section.REFERENCES], edges)),
        store.support_decisions(row["support_id"] for row in rows[Section.SUPPORTS]),
        store.positions(row["conflict_id"] for row in rows[Section.CASES]),
        store.members(row["conflict_id"] for row in rows[Section.CASES]),
        store.merges(head.row),
    )
    merged = {row[end] for row in merges for end in ("source_id", "target_id")}
    related = {row["relationship_id"]: relationship_of(row) for row in others}
    in_cases = {row["relationship_id"]: relationship_of(row) for row in members}
    named = [head.row, *related.values(), *in_cases.values()]
    names, profiles = await transaction.fetch_all(
        entity_names_query(transaction.team_id, {*_entities(named), *_subjects(rows[Section.CASES]), *merged}),
        profile_names_query(
            transaction.team_id, {*(row.owner_id for row in named), *(row["merged_by"] for row in merges)}
        ),
    )
    return (
        ShownTrace(
            row=head.row,
            with_content=request.include_evidence_content,
            rows=rows,
            edges=edges,
            lineage_truncated=lineage.truncated,
            related=related,
            decisions=decisions,
            cases=cases_of(rows[Section.CASES], positions, members),
            members=in_cases,
            merges=merges,
            names=entity_names_of(names),
            profiles=profile_names_of(profiles),
        ),
        following,
    )


async def _section_rows(
    transaction: ReadTransaction, store: TraceStore, planned: PlannedPage, request: messages.TraceRequest
) -> dict[Section, list[Row]]:
    """The rows of every section of a page; none for those that it does not touch."""
    asked = [section for section in planned.slices if section is not Section.LINEAGE]
    queries = []
    for section in asked:
        part = planned.slices[section]
        more = {"with_content": request.include_evidence_content} if section is Section.EVIDENCE else {}
        queries.append(store.section(section.value, offset=part.offset, limit=part.limit, **more))
    answers = await transaction.fetch_all(*queries) if queries else []
    return {section: [] for section in _ROW_SECTIONS} | dict(zip(asked, answers, strict=True))


def _edges(lineage: Lineage, planned: PlannedPage) -> tuple[LineageEdge, ...]:
    part = planned.slices.get(Section.LINEAGE)
    return () if part is None else lineage.edges[part.offset : part.offset + part.limit]


def _other_ids(row: Relationship, references: list[Row], edges: tuple[LineageEdge, ...]) -> set[RelationshipId]:
    ends = {end for reference in references for end in (reference["source_id"], reference["target_id"])}
    return (ends - {row.relationship_id}) | {edge.further for edge in edges}


def _entities(rows: list[Relationship]) -> set[EntityId]:
    objects = {row.object.entity_id for row in rows if isinstance(row.object, EntityObject)}
    return objects | {row.slot.subject_id for row in rows}


def _subjects(cases: list[Row]) -> set[EntityId]:
    return {row["subject_id"] for row in cases}
