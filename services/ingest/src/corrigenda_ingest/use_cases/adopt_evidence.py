"""AdoptEvidence: a relationship of the caller stands on a text of another profile, verified like any other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from corrigenda.ingest.v1 import adoption_pb2, ingest_service_pb2
from corrigenda_core.domain.actors import Actor, ActorKind, Caller, KeyScope
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.evidence import Authority, StartWindow, Support, SupportDecision, SupportDecisionKind
from corrigenda_core.domain.ids import FragmentId, IdempotencyKey, IdRange, RelationshipId, SupportId
from corrigenda_core.domain.relationships import Relationship, Statement
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.domain.sources import GrantedAuthority
from corrigenda_core.domain.time import Moment, Side
from corrigenda_core.domain.verification import CitedSpan, VerificationVerdict
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.changes_writer import ChangesWriter
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.idempotency import StoredResponse, find_response, replay, stored_response
from corrigenda_core.persistence.ingest_store import FactQueries, SubmissionFacts, slot_texts
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.slot_store import CaseRowVersions, SlotQueries
from corrigenda_core.persistence.text_bands import text_bands
from corrigenda_core.persistence.transaction import Committed, Transaction, TransactionRunner
from corrigenda_core.policy.adoption import decide_adopting_statement, is_adopted, plan_adoption
from corrigenda_core.policy.authority import decide_authority
from corrigenda_core.policy.independence import decide_near_duplicates
from corrigenda_core.policy.normalisation import decide_text_form
from corrigenda_core.policy.spans import decide_cited_span
from corrigenda_core.policy.validity import decide_common_whole
from corrigenda_core.policy.view_changes import apply_changes
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.ports.providers import Finding
from corrigenda_core.providers.validation import ValidatedVerifier, VerifierUnavailable
from corrigenda_core.rpc.idempotent import idempotency_of

from corrigenda_ingest.adoption_look import (
    AdoptableText,
    adoptable_text,
    carried_by_text,
    named_facts,
    own_relationship,
    text_queries,
    verification_of,
)
from corrigenda_ingest.adoption_messages import AdoptionMessages
from corrigenda_ingest.requests import citation_of
from corrigenda_ingest.verdict_rows import verdict_row

CHANGE_KIND = "adopt_evidence"
_TEXTS = "slot_texts:0"

Request = ingest_service_pb2.AdoptEvidenceRequest
Response = ingest_service_pb2.AdoptEvidenceResponse

_Found = tuple[Relationship, AdoptableText, FactQueries, SubmissionFacts]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verified:
    """What was found out before the commit: the relationship, the text, the cited passages and the verdict on them."""

    queries: FactQueries
    row: Relationship
    text: AdoptableText
    passages: tuple[CitedSpan, ...]
    finding: Finding
    verifier: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptEvidence:
    """The use case; see `__call__`."""

    reader: ReadRunner
    runner: TransactionRunner
    verifier: ValidatedVerifier
    new_ids: Callable[[], IdRange]

    async def __call__(self, caller: Caller, request: Request, deadline: Deadline) -> Committed[Response]:
        """Verifies the passages for what the relationship says, and lets it stand on them.

        Raises:
            Refusal: nothing was stored; the comment of the RPC lists the reasons.
        """
        idempotency = idempotency_of(request, caller.profile_id, Response)
        verified = await self._verified(caller, request, idempotency.key, deadline)
        if isinstance(verified, StoredResponse):
            return Committed(value=replay(idempotency, verified), revision=verified.revision, replayed=True)
        slot = SlotQueries(team_id=caller.team_id, slot=verified.row.slot)
        ids = self.new_ids()

        def plan(transaction: Transaction) -> Response:
            adopting = _Adopting(caller, request, verified, slot, ids)
            return adopting.adopted(transaction)

        bands = sorted(text_bands(decide_text_form(verified.text.content)))
        texts = slot_texts(caller.team_id, verified.row.slot, name=_TEXTS, bands=bands)
        return await self.runner.run(
            caller.team_id,
            plan,
            prefetch=[
                *text_queries(caller.team_id, verified.text.fragment_id),
                *verified.queries.queries(),
                *slot.queries(),
                texts,
            ],
            idempotency=idempotency,
            deadline=deadline,
        )

    async def _verified(
        self, caller: Caller, request: Request, key: IdempotencyKey, deadline: Deadline
    ) -> _Verified | StoredResponse:
        """The verdict on the passages, before any transaction that writes; or the stored response."""
        fragment_id, row_id = FragmentId(request.fragment_id), RelationshipId(request.relationship_id)
        named = FactQueries(team_id=caller.team_id, profile_id=caller.profile_id, target_ids={row_id})

        async def read(transaction: ReadTransaction) -> _Found | StoredResponse:
            stored = stored_response(transaction.prefetched["find_response"])
            if stored is not None:
                return stored
            row = own_relationship(named.facts(transaction.prefetched), row_id, caller)
            text = adoptable_text(transaction.prefetched, fragment_id, adopter=caller.profile_id)
            queries = named_facts(caller, row, text)
            sent = queries.queries()
            answers = dict(zip((query.name for query in sent), await transaction.fetch_all(*sent), strict=True))
            return row, text, queries, queries.facts(answers)

        found: _Found | StoredResponse = await self.reader.run(
            caller.team_id,
            read,
            prefetch=[
                find_response(caller.team_id, caller.profile_id, key),
                *named.queries(),
                *text_queries(caller.team_id, fragment_id),
            ],
            deadline=deadline,
        )
        if isinstance(found, StoredResponse):
            return found
        row, text, queries, facts = found
        passages = tuple(
            decide_cited_span([text.content], citation_of(one), field=f"passages[{number}]")
            for number, one in enumerate(request.passages)
        )
        answer = await self.verifier.verify(verification_of(row, text, passages, facts), deadline)
        if isinstance(answer, VerifierUnavailable):
            raise Refusal(Reason.VERIFIER_UNAVAILABLE, "the verifier gave no valid answer")
        (finding,) = answer.findings
        return _Verified(
            queries=queries, row=row, text=text, passages=passages, finding=finding, verifier=answer.verifier
        )


class _Adopting:
    """The commit of one adoption."""

    def __init__(self, caller: Caller, request: Request, verified: _Verified, slot: SlotQueries, ids: IdRange) -> None:
        self._caller, self._request, self._verified = caller, request, verified
        self._slot, self._ids = slot, ids
        self._actor = Actor(kind=ActorKind.PROFILE, profile_id=caller.profile_id)

    def adopted(self, transaction: Transaction) -> Response:
        """Plans on what is locked now, and writes it."""
        verified, answers = self._verified, transaction.prefetched
        facts = verified.queries.facts(answers)
        row_id = own_relationship(facts, verified.row.relationship_id, self._caller).relationship_id
        text = adoptable_text(answers, verified.text.fragment_id, adopter=self._caller.profile_id)
        view = self._slot.view(answers, facts.predicates[verified.row.slot.predicate])
        context = PlanContext(
            moment=transaction.reading.next_moment(), ids=self._ids, actor=self._actor, policy=facts.policy
        )
        request = self._request
        expected = request.expected_version if request.HasField("expected_version") else None
        statement = decide_adopting_statement(view, context, row_id, expected)
        granted = decide_authority(
            text.claimed,
            predicate=view.predicate.key,
            claim=text.claim,
            registry=facts.registry,
            scopes=text.scopes,
        )
        support = self._support(text, granted, context.moment, answers[_TEXTS])
        messages = AdoptionMessages(self._caller, facts, text, verified.finding)
        if is_adopted(view, row_id, support):
            return messages.unchanged(
                adoption_pb2.ADOPTION_OUTCOME_ADOPTED_BEFORE, view, row_id, transaction.reading.revision
            )
        if verified.finding.verdict is not VerificationVerdict.ENTAILED:
            return messages.unchanged(
                adoption_pb2.ADOPTION_OUTCOME_NOT_ENTAILED, view, row_id, transaction.reading.revision
            )
        grant = SupportDecision(
            support_id=support.support_id,
            kind=SupportDecisionKind.GRANT,
            authority=granted.authority,
            reason="adopted",
            granted_by_key=granted.authority is Authority.AUTHORITATIVE and KeyScope.ASSERT_AUTHORITY in text.scopes,
        )
        changes = plan_adoption(view, context, statement, support, grant, carried_by_text(answers))
        self._write(transaction, view, changes, statement)
        return messages.adopted(apply_changes(view, changes), row_id, changes, granted, context.moment)

    def _support(self, text: AdoptableText, granted: GrantedAuthority, moment: Moment, texts: list[Row]) -> Support:
        others = [(FragmentId(row["fragment_id"]), decide_text_form(row["content"])) for row in texts]
        near = decide_near_duplicates(decide_text_form(text.content), others)
        finding = self._verified.finding
        whole = decide_common_whole(cited.bound.whole for cited in finding.bounds if cited.bound.side is Side.START)
        return Support(
            support_id=SupportId(self._ids.part(4).nth(0)),
            fragment_id=text.fragment_id,
            author=text.author,
            recorded_at=moment.at,
            authority=granted.authority,
            source_group=text.claim.source_group,
            source_key=text.claim.source_key,
            inherited_labels=text.inherited_labels,
            content_hash=text.content_hash,
            adopted_from_fragment_id=text.fragment_id,
            derived_from_fragment_ids=text.derived_from_fragment_ids,
            near_duplicate_fragment_ids=tuple(one for one in near if one != text.fragment_id),
            evidence_time=None if whole is None else StartWindow(whole=whole),
            occurred_at=text.occurred_at,
            spans=tuple(dict.fromkeys(passage.span for passage in self._verified.passages)),
        )

    def _write(self, transaction: Transaction, view: SlotView, changes: Changes, statement: Statement) -> None:
        verified = self._verified
        versions = CaseRowVersions()
        self._slot.load_versions(transaction.prefetched, versions)
        moment = transaction.next_moment(self._actor, CHANGE_KIND)
        row = verdict_row(
            verified.finding,
            verification_id=self._ids.part(4).nth(1),
            observation_id=statement.statement_id,
            verifier=verified.verifier,
            fragment_ids=[verified.text.fragment_id],
        )
        transaction.insert(tables.verification_events, row)
        writer = ChangesWriter(
            transaction=transaction,
            actor=self._actor,
            versions=versions,
            key=IdempotencyKey(self._request.idempotency_key),
        )
        writer.write(changes, at=moment.at, cases=view.cases, predicate_version=view.predicate.version)
