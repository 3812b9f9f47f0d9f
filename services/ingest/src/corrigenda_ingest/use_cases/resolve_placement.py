"""ResolvePlacement: a decision on what a placement waits for, and everything that follows from it, in one commit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from corrigenda.ingest.v1.ingest_service_pb2 import RememberResponse, ResolvePlacementResponse
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import IdRange
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.placement_decisions import PlacementDecision
from corrigenda_core.domain.resolutions import DecisionKind
from corrigenda_core.persistence.idempotency import (
    IdempotencyRequest,
    StoredResponse,
    find_response,
    replay,
    stored_response,
)
from corrigenda_core.persistence.ingest_store import FactQueries, SubmissionFacts, predicate_names
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.slot_store import CaseRowVersions
from corrigenda_core.persistence.transaction import Committed, Transaction, TransactionRunner
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.ports.providers import VerificationRequest, VerifierAnswer
from corrigenda_core.providers.validation import ValidatedVerifier, VerifierUnavailable

from corrigenda_ingest.computing import computed
from corrigenda_ingest.deciding import PlannedDecision, called
from corrigenda_ingest.decision_work import DecisionWork, PredicateWords
from corrigenda_ingest.outside import Verification
from corrigenda_ingest.predicate_search import predicate_words
from corrigenda_ingest.preparation import prepared_submission
from corrigenda_ingest.question import require_decidable
from corrigenda_ingest.question_reading import QuestionReading, asked_queries, read_question, require_same_question
from corrigenda_ingest.requirements import require_same_predicates
from corrigenda_ingest.slot_look import loaded_answers, looks_at
from corrigenda_ingest.submission_writer import SubmissionWriter

Answer = ResolvePlacementResponse

Present = Callable[[PlannedDecision, SubmissionFacts, Caller], Answer]
"""Makes the response; the caller is the one whose record was decided about."""

CHANGE_KIND = "resolve_placement"

_WORK_IDS, _ROW_IDS = range(2)
_NOT_ASKED = VerifierAnswer(verifier="", findings=())
_NEEDS_VERDICT = frozenset({DecisionKind.ACCEPT, DecisionKind.RETRY_VERIFICATION})
"""Without a verdict these would change nothing; what any other action decides stands, and can be verified later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outside:
    """What was found out before the commit: the question, the facts, the slots in question, and the verdicts."""

    question: QuestionReading
    queries: FactQueries
    facts: SubmissionFacts
    words: PredicateWords
    slots: frozenset[Slot]
    asked: VerificationRequest
    verification: Verification = _NOT_ASKED


class ResolvePlacement:
    """The use case; see `__call__`.

    Args:
        reader: for the look-ups outside the commit.
        runner: for the commit.
        verifier: asked at most once per decision, never inside a transaction.
        new_ids: draws the range of ids of one decision.
    """

    def __init__(
        self,
        *,
        reader: ReadRunner,
        runner: TransactionRunner,
        verifier: ValidatedVerifier,
        new_ids: Callable[[], IdRange],
    ) -> None:
        self._reader = reader
        self._runner = runner
        self._verifier = verifier
        self._new_ids = new_ids

    async def __call__(
        self,
        caller: Caller,
        decision: PlacementDecision,
        *,
        idempotency: IdempotencyRequest[Answer],
        present: Present,
        deadline: Deadline,
    ) -> Committed[Answer]:
        """Takes a decision and places what waited for it.

        Args:
            caller: who decides.
            decision: what is decided.
            idempotency: the caller's key; a repeated request gets the stored answer.
            present: makes the response from what was planned.
            deadline: when the caller stops waiting.

        Raises:
            Refusal: nothing was stored; the comment of the RPC lists the reasons.
        """
        size = sum(len(item.content) for item in decision.submission.evidence)
        prepared = await computed(size, lambda: prepared_submission(decision.submission))
        ids = self._new_ids()
        work = DecisionWork(caller=caller, decision=decision, prepared=prepared, ids=ids.part(_WORK_IDS))
        outside = await self._look_outside(work, idempotency, deadline)
        if isinstance(outside, StoredResponse):
            return Committed(value=replay(idempotency, outside), revision=outside.revision, replayed=True)
        bands = work.bands(outside.question.question)
        guessed = looks_at(caller.team_id, outside.slots, bands)

        async def plan(transaction: Transaction) -> Answer:
            facts = outside.queries.facts(transaction.prefetched)
            question = outside.question.again(transaction.prefetched)
            require_decidable(question, decision, caller)
            require_same_question(outside.question.question, question)
            require_same_predicates(outside.facts, facts)
            planner = work.planner(question, facts, transaction.reading, outside.verification, outside.words)
            looks = looks_at(caller.team_id, planner.slots, bands)
            answers = await loaded_answers(transaction, looks, guessed)
            views = {look.slot: look.view(answers, facts) for look in looks}
            texts = {look.slot: look.texts(answers) for look in looks}
            compared = sum(len(text) for of_slot in texts.values() for _, text in of_slot)
            planned = called(CHANGE_KIND, await computed(compared, lambda: planner.planned(views, texts)))
            answer = present(planned, facts, work.owner(question))
            versions = CaseRowVersions()
            for look in looks:
                look.load_versions(answers, versions)
            writer = SubmissionWriter(
                transaction,
                planned.submission,
                facts,
                author=caller,
                ids=ids.part(_ROW_IDS),
                versions=versions,
            )
            kept = RememberResponse(placement=answer.placement, revision=answer.revision)
            writer.write(kept.SerializeToString(deterministic=True))
            return answer

        return await self._runner.run(
            caller.team_id,
            plan,
            prefetch=[
                *outside.queries.queries(),
                *outside.question.queries,
                *(query for look in guessed for query in look.queries()),
            ],
            idempotency=idempotency,
            deadline=deadline,
        )

    async def _look_outside(
        self, work: DecisionWork, idempotency: IdempotencyRequest[Answer], deadline: Deadline
    ) -> _Outside | StoredResponse:
        """The question, the facts, and the verifier's one answer; or the stored response."""
        team_id, decision = work.caller.team_id, work.decision

        async def read(transaction: ReadTransaction) -> _Outside | StoredResponse:
            stored = stored_response(transaction.prefetched["find_response"])
            if stored is not None:
                return stored
            question = await read_question(transaction, decision)
            require_decidable(question.question, decision, work.caller)
            queries = work.fact_queries(question.question)
            sent = queries.queries()
            answers = await transaction.fetch_all(*sent)
            facts = queries.facts({query.name: rows for query, rows in zip(sent, answers, strict=True)})
            words = await transaction.fetch(predicate_names(team_id)) if decision.submission.relationships else []
            known = predicate_words(words)
            planner = work.planner(question.question, facts, transaction.reading, _NOT_ASKED, known)
            return _Outside(
                question=question,
                queries=queries,
                facts=facts,
                words=known,
                slots=planner.slots,
                asked=work.verification_request(planner),
            )

        stored = find_response(team_id, work.caller.profile_id, idempotency.key)
        found: _Outside | StoredResponse = await self._reader.run(
            team_id, read, prefetch=[stored, *asked_queries(team_id, decision)], deadline=deadline
        )
        if isinstance(found, StoredResponse):
            return found
        verification = await self._verifier.verify(found.asked)
        if isinstance(verification, VerifierUnavailable) and decision.action in _NEEDS_VERDICT:
            raise Refusal(Reason.VERIFIER_UNAVAILABLE, "the verifier gave no valid answer", retry_after_seconds=1.0)
        return replace(found, verification=verification)
