"""Remember: evidence and what it is proposed to say, verified outside and placed in one commit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from corrigenda.ingest.v1.ingest_service_pb2 import RememberResponse
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import IdRange, IngestId, PredicateKey
from corrigenda_core.domain.submissions import Submission
from corrigenda_core.persistence.database import Row
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
from corrigenda_core.policy.normalisation import decide_predicate_key
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.ports.providers import VerifierAnswer
from corrigenda_core.providers.validation import ValidatedVerifier

from corrigenda_ingest.binding import bound_entities, bound_relationships
from corrigenda_ingest.computing import computed
from corrigenda_ingest.placing import Verification
from corrigenda_ingest.planning import SubmissionPlanner
from corrigenda_ingest.preparation import prepared_submission
from corrigenda_ingest.requirements import require_all
from corrigenda_ingest.slot_look import SlotLook, fact_queries, looks_of
from corrigenda_ingest.submission import BoundRelationship, EntityAnswer, PlannedSubmission, PreparedSubmission
from corrigenda_ingest.submission_writer import SubmissionWriter
from corrigenda_ingest.verification_request import verification_request

Answer = RememberResponse
"""What is answered, stored with the submission, and stored under the idempotency key."""

Present = Callable[[PlannedSubmission, SubmissionFacts], Answer]

_PLAN_IDS, _ROW_IDS = range(2)
_NOT_ASKED = VerifierAnswer(verifier="", findings=())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outside:
    """What was found out before the commit: the facts then, what the words meant by them, and the verdicts."""

    facts: SubmissionFacts
    entities: tuple[EntityAnswer, ...]
    bound: tuple[BoundRelationship, ...]
    verification: Verification
    predicate_words: tuple[tuple[PredicateKey, tuple[str, ...]], ...]


class Remember:
    """The use case; see `__call__`.

    Args:
        reader: for the look-ups outside the commit.
        runner: for the commit.
        verifier: asked once per submission, never inside a transaction.
        new_ids: draws the range of ids of one submission.
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
        submission: Submission,
        *,
        idempotency: IdempotencyRequest[Answer],
        present: Present,
        deadline: Deadline,
    ) -> Committed[Answer]:
        """Stores a submission and places what it says.

        Args:
            caller: the author.
            submission: what is submitted.
            idempotency: the caller's key; a repeated request gets the stored answer.
            present: makes the response from what was planned.
            deadline: when the caller stops waiting.

        Raises:
            Refusal: nothing was stored; the comment of the RPC lists the reasons.
        """
        size = sum(len(item.content) for item in submission.evidence)
        prepared = await computed(size, lambda: prepared_submission(submission))
        queries = fact_queries(caller, prepared)
        ids = self._new_ids()
        outside = await self._look_outside(caller, prepared, queries, ids, idempotency, deadline)
        if isinstance(outside, StoredResponse):
            return Committed(value=replay(idempotency, outside), revision=outside.revision, replayed=True)
        guessed = looks_of(caller.team_id, outside.bound, prepared)

        async def plan(transaction: Transaction) -> Answer:
            facts = queries.facts(transaction.prefetched)
            _require_same_predicates(outside.facts, facts)
            planner = SubmissionPlanner(
                caller=caller,
                prepared=prepared,
                verification=outside.verification,
                facts=facts,
                reading=transaction.reading,
                ids=ids.part(_PLAN_IDS),
                predicate_words=outside.predicate_words,
            )
            looks = looks_of(caller.team_id, planner.bound(), prepared)
            answers = await _answers(transaction, looks, guessed)
            views = {look.slot: look.view(answers, facts) for look in looks}
            texts = {look.slot: look.texts(answers) for look in looks}
            compared = sum(len(text) for of_slot in texts.values() for _, text in of_slot)
            planned = await computed(compared, lambda: planner.planned(views, texts))
            answer = present(planned, facts)
            versions = CaseRowVersions()
            for look in looks:
                look.load_versions(answers, versions)
            writer = SubmissionWriter(
                transaction, planned, facts, author=caller, ids=ids.part(_ROW_IDS), versions=versions
            )
            writer.write(answer.SerializeToString(deterministic=True))
            return answer

        return await self._runner.run(
            caller.team_id,
            plan,
            prefetch=[*queries.queries(), *(query for look in guessed for query in look.queries())],
            idempotency=idempotency,
            deadline=deadline,
        )

    async def _look_outside(
        self,
        caller: Caller,
        prepared: PreparedSubmission,
        queries: FactQueries,
        ids: IdRange,
        idempotency: IdempotencyRequest[Answer],
        deadline: Deadline,
    ) -> _Outside | StoredResponse:
        """The facts, and the verifier's one answer, before any transaction that writes; or the stored response."""

        async def read(transaction: ReadTransaction) -> _Outside | StoredResponse:
            stored = stored_response(transaction.prefetched["find_response"])
            if stored is not None:
                return stored
            facts = queries.facts(transaction.prefetched)
            at = transaction.reading.next_moment().at
            entities = bound_entities(
                prepared, facts, owner_id=caller.profile_id, ingest_id=IngestId(ids.nth(0)), ids=ids, at=at
            )
            bound = bound_relationships(prepared, facts, entities)
            require_all(prepared, bound, facts, owner_id=caller.profile_id)
            unknown = any(one.predicate is None for one in bound)
            words = await transaction.fetch(predicate_names(caller.team_id)) if unknown else []
            return _Outside(
                facts=facts,
                entities=entities,
                bound=bound,
                verification=_NOT_ASKED,
                predicate_words=tuple((PredicateKey(row["predicate"]), _forms(row["aliases"])) for row in words),
            )

        stored = find_response(caller.team_id, caller.profile_id, idempotency.key)
        found: _Outside | StoredResponse = await self._reader.run(
            caller.team_id, read, prefetch=[stored, *queries.queries()], deadline=deadline
        )
        if isinstance(found, StoredResponse):
            return found
        request = verification_request(prepared, found.entities, found.bound, found.facts)
        return replace(found, verification=await self._verifier.verify(request))


async def _answers(transaction: Transaction, looks: list[SlotLook], guessed: list[SlotLook]) -> dict[str, list[Row]]:
    """What was prefetched of the slots; a slot that was not foreseen is loaded now, while the team waits."""
    if looks == guessed:
        return dict(transaction.prefetched)
    return await transaction.fetch_all([query for look in looks for query in look.queries()])


def _require_same_predicates(outside: SubmissionFacts, inside: SubmissionFacts) -> None:
    """The verifier read the text by the predicates that were registered then.

    Raises:
        Refusal: CONTENTION if a registration came between; asking again reads the new one.
    """
    if outside.predicates != inside.predicates:
        raise Refusal(
            Reason.CONTENTION,
            "a predicate was registered while the text was verified",
            retry_after_seconds=0.0,
        )


def _forms(aliases: list[str]) -> tuple[str, ...]:
    return tuple(decide_predicate_key(alias, field="aliases") for alias in aliases)
