"""EraseEvidence: every copy of a text becomes a tombstone, and what it supported is judged without it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from corrigenda.admin.v1 import admin_service_pb2 as messages
from corrigenda.admin.v1 import erasure_pb2
from corrigenda_core.domain.actors import Actor, ActorKind, Caller
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import FragmentId, IdRange
from corrigenda_core.domain.items import ItemKind, ItemStatus, ReviewItem
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.domain.time import Moment
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.changes_writer import ChangesWriter
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.erased_rows import Tombstones, json_of
from corrigenda_core.persistence.ingest_store import predicate_of, team_policy_of
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.persistence.slot_store import CaseRowVersions, SlotQueries
from corrigenda_core.persistence.transaction import Committed, Transaction, TransactionRunner
from corrigenda_core.policy.erasure import apply_erased_words, plan_closed_questions, plan_evidence_erasure
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.rpc.erased_responses import without_words
from corrigenda_core.rpc.idempotent import idempotency_of

from corrigenda_ingest.erased_copies import ErasedCopies
from corrigenda_ingest.erasing import ErasedSpeech, cited_ids, slot_of
from corrigenda_ingest.use_cases.administration import the_one

_SQL = "erasure.sql"
_BY_OBSERVATION = (
    "erasure_relationships",
    "erasure_closings",
    "erasure_decided_closings",
    "erasure_cases",
    "erasure_positions",
    "erasure_evaluations",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseEvidence:
    """The use case; ``pepper`` is what tombstones are keyed with, by a key drawn from it."""

    runner: TransactionRunner
    new_ids: Callable[[], IdRange]
    pepper: bytes

    async def __call__(
        self, caller: Caller, request: messages.EraseEvidenceRequest, deadline: Deadline
    ) -> Committed[messages.EraseEvidenceResponse]:
        """Erases a text with its exact copies.

        Raises:
            Refusal: RESOURCE_NOT_FOUND, EVIDENCE_ERASED.
        """
        ids = self.new_ids()
        sql = load_sql(_SQL)

        async def plan(transaction: Transaction) -> messages.EraseEvidenceResponse:
            fragments = _required(transaction.prefetched["erasure_fragments"], FragmentId(request.fragment_id))
            tombstones = Tombstones(secret=self.pepper, team_id=caller.team_id)
            speech = await _speech(transaction, fragments, tombstones)
            return await _erased(transaction, caller, request, speech, ids)

        return await self.runner.run(
            caller.team_id,
            plan,
            prefetch=[
                sql.query("erasure_fragments", team_id=caller.team_id, fragment_id=request.fragment_id),
                load_sql("ingest.sql").query("team_settings", team_id=caller.team_id, profile_id=caller.profile_id),
            ],
            idempotency=idempotency_of(request, caller.profile_id, messages.EraseEvidenceResponse),
            deadline=deadline,
        )


def _required(rows: list[Row], fragment_id: FragmentId) -> list[Row]:
    named = [row for row in rows if row["fragment_id"] == fragment_id]
    row = the_one(named, resource_type="fragment", resource_id=fragment_id, field="fragment_id")
    if row["erasure_id"] is not None:
        raise Refusal(
            Reason.EVIDENCE_ERASED,
            "the evidence was erased already",
            field="fragment_id",
            metadata={"fragment_id": fragment_id},
        )
    return rows


async def _speech(transaction: Transaction, fragments: list[Row], tombstones: Tombstones) -> ErasedSpeech:
    """Everything that holds a copy, found step by step: each step says what the next one asks for."""
    sql = load_sql(_SQL)
    answers: dict[str, list[Row]] = {}
    team_id = transaction.team_id
    fragment_ids = sorted(row["fragment_id"] for row in fragments)

    def found() -> ErasedSpeech:
        return ErasedSpeech(fragments=fragments, answers=answers, tombstones=tombstones)

    async def ask(*queries: Query) -> None:
        answers.update(await transaction.fetch_all(queries))

    texts = {"team_id": team_id, "fragment_ids": fragment_ids}
    await ask(
        *(sql.query(name, **texts) for name in ("erasure_occurrences", "erasure_observations", "erasure_derived"))
    )
    speech = found()
    observation_ids, ingest_ids = speech.affected_ids, sorted(speech.ingest_ids)
    cited = sorted({one for row in speech.touched for one in cited_ids(row)} - speech.fragment_ids)
    entities = {**texts, "entity_ids": speech.entity_ids, "ingest_ids": ingest_ids}
    spoken = {"team_id": team_id, "observation_ids": observation_ids}
    await ask(
        sql.query(
            "erasure_living_texts",
            **texts,
            cited_ids=cited,
            ingest_ids=ingest_ids,
            observation_ids=observation_ids,
        ),
        sql.query("erasure_statements", **texts, observation_ids=observation_ids),
        sql.query("erasure_names", **entities),
        sql.query("erasure_contexts", **entities),
        sql.query("erasure_verdicts", **spoken),
        sql.query("erasure_items", **texts, ingest_ids=ingest_ids, observation_ids=observation_ids),
        *(sql.query(name, **spoken) for name in _BY_OBSERVATION),
    )
    named = sorted({*speech.entity_ids, *(row["entity_id"] for row in answers["erasure_names"])})
    row_ids = {row["relationship_id"] for row in answers["erasure_relationships"]}
    item_ids = {row["item_id"] for row in answers["erasure_items"]}
    await ask(
        sql.query("erasure_living_phrases", **texts, entity_ids=named),
        sql.query(
            "erasure_decisions",
            **spoken,
            target_ids=sorted({*row_ids, *item_ids, *observation_ids, *fragment_ids}),
            item_ids=sorted(item_ids),
        ),
    )
    speech = found()
    told = {
        "team_id": team_id,
        "since_revision": min(row["revision"] for row in fragments),
        "ids": sorted({*fragment_ids, *observation_ids, *row_ids, *(row["entity_id"] for row in speech.names)}),
    }
    await ask(*(sql.query(name, **told) for name in ("erasure_responses", "erasure_results")))
    return found()


async def _erased(
    transaction: Transaction,
    caller: Caller,
    request: messages.EraseEvidenceRequest,
    speech: ErasedSpeech,
    ids: IdRange,
) -> messages.EraseEvidenceResponse:
    """Writes one revision: the record, the tombstones, and what follows for every slot."""
    views, versions = await _views(transaction, speech)
    rows = ErasedCopies(speech=speech, scrubbed=without_words).collected()
    actor = Actor(kind=ActorKind.PROFILE, profile_id=caller.profile_id)
    moment = transaction.next_moment(actor, "erase_evidence")
    fragment_ids = sorted(speech.fragment_ids)
    erasure_id = ids.nth(0)
    transaction.insert(
        tables.erasures,
        {
            "erasure_id": erasure_id,
            "fragment_id": request.fragment_id,
            "fragment_ids": fragment_ids,
            "reason": request.reason,
            "erased_by": caller.profile_id,
        },
    )
    rows.write(transaction, erasure_id, moment)
    (settings,) = transaction.prefetched["team_settings"]
    writer = ChangesWriter(transaction=transaction, actor=actor, versions=versions)
    planned: list[Changes] = []
    for number, view in enumerate(views):
        context = PlanContext(moment=moment, ids=ids.part(number + 1), actor=actor, policy=team_policy_of(settings))
        changes = plan_evidence_erasure(view, context, speech.fragment_ids)
        writer.write(changes, at=moment.at, cases=view.cases)
        planned.append(changes)
    for item in plan_closed_questions(_items(speech), speech.fragment_ids, speech.silenced):
        writer.item(item)
    return messages.EraseEvidenceResponse(
        erasure=_message(request, erasure_id, moment, caller, speech, erased_texts=len(rows.entries)),
        relationship_ids=sorted({row.relationship_id for one in planned for row in one.relationships}),
        conflict_ids=sorted({case.conflict_id for one in planned for case in one.cases}),
        derived_fragment_ids=[row["fragment_id"] for row in speech.answers["erasure_derived"]],
        revision=moment.revision,
    )


async def _views(transaction: Transaction, speech: ErasedSpeech) -> tuple[list[SlotView], CaseRowVersions]:
    """The slots as they read once their words are erased."""
    looks = [
        SlotQueries(team_id=transaction.team_id, slot=slot, number=number) for number, slot in enumerate(speech.slots)
    ]
    predicates = [
        Query(
            name=f"predicate:{look.number}",
            sql=load_sql("admin.sql")["predicate_row"].sql,
            parameters={"team_id": transaction.team_id, "predicate": look.slot.predicate},
        )
        for look in looks
    ]
    answers = await transaction.fetch_all([*predicates, *(query for look in looks for query in look.queries())])
    versions = CaseRowVersions()
    views = []
    for look in looks:
        look.load_versions(answers, versions)
        view = look.view(answers, predicate_of(answers[f"predicate:{look.number}"][0]))
        views.append(apply_erased_words(view, speech.slots[look.slot]))
    return views, versions


def _items(speech: ErasedSpeech) -> Iterable[ReviewItem]:
    """The current versions of the questions that nothing but an erased text asks."""
    for row in speech.answers["erasure_items"]:
        # A question about a phrase may be that of several observations.
        waiting = set(json_of(row["details"]).get("observation_ids", "").split())
        if row["version"] == row["current_version"] and waiting <= speech.silenced:
            yield _item(row, speech)


def _item(one: Row, speech: ErasedSpeech) -> ReviewItem:
    slot = None
    if one["subject_id"] is not None:
        slot = slot_of(one)
        erased = speech.slots.get(slot)
        if erased is not None and erased.scope is not None:
            slot = slot_of({**one, "scope": erased.scope})
    return ReviewItem(
        item_id=one["item_id"],
        version=one["version"],
        kind=ItemKind(one["kind"]),
        status=ItemStatus(one["status"]),
        owner_id=one["owner_id"],
        reason=one["reason"],
        ingest_id=one["ingest_id"],
        fragment_id=one["fragment_id"],
        slot=slot,
        statement_id=one["statement_id"],
        incoming=tuple(one["incoming"]),
        opposing=tuple(one["opposing"]),
        decision_id=one["decision_id"],
        opened_at=one["opened_at"],
    )


def _message(
    request: messages.EraseEvidenceRequest,
    erasure_id: str,
    moment: Moment,
    caller: Caller,
    speech: ErasedSpeech,
    *,
    erased_texts: int,
) -> erasure_pb2.Erasure:
    (named,) = [row for row in speech.fragments if row["fragment_id"] == request.fragment_id]
    return erasure_pb2.Erasure(
        erasure_id=erasure_id,
        fragment_ids=sorted(speech.fragment_ids),
        keyed_hash=speech.tombstones.keyed_hash(named["content"]).hex(),
        erased_texts=erased_texts,
        reason=request.reason,
        erased_by=caller.profile_id,
        erased_at=timestamp_of(moment.at),
    )
