"""What is found out about a submission before its commit: what it names, and what the verifier says of its texts.

Nothing is locked here and nothing is written: a verifier may take seconds. What the facts say is decided again, and
compared, by whoever plans on what is locked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.ids import IdempotencyKey, IdRange, IngestId, PredicateKey
from corrigenda_core.domain.submissions import Submission
from corrigenda_core.persistence.idempotency import StoredResponse, find_response, stored_response
from corrigenda_core.persistence.ingest_store import FactQueries, SubmissionFacts, predicate_names
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.policy.normalisation import decide_predicate_key
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.ports.providers import VerificationRequest, VerifierAnswer
from corrigenda_core.providers.validation import ValidatedVerifier, VerifierUnavailable

from corrigenda_ingest.binding import bound_entities, bound_relationships
from corrigenda_ingest.computing import computed
from corrigenda_ingest.preparation import prepared_submission
from corrigenda_ingest.proposing import Proposer
from corrigenda_ingest.requirements import require_all
from corrigenda_ingest.slot_look import fact_queries
from corrigenda_ingest.submission import BoundRelationship, EntityAnswer, PreparedSubmission
from corrigenda_ingest.verification_request import verification_request
from corrigenda_ingest.verification_tokens import VerificationTokens

Verification = VerifierAnswer | VerifierUnavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundOutside:
    """What was found out: the submission in normal form, the facts then, what its words meant by them, the verdicts.

    ``ids`` is the submission's own range of ids. ``predicate_words`` are the team's predicates, if a phrase is unknown.
    """

    prepared: PreparedSubmission
    queries: FactQueries
    ids: IdRange
    facts: SubmissionFacts
    bound: tuple[BoundRelationship, ...]
    predicate_words: tuple[tuple[PredicateKey, tuple[str, ...]], ...]
    asked: VerificationRequest
    verification: Verification


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    facts: SubmissionFacts
    entities: tuple[EntityAnswer, ...]
    bound: tuple[BoundRelationship, ...]
    predicate_words: tuple[tuple[PredicateKey, tuple[str, ...]], ...]


class OutsideLook:
    """Looks at submissions; see `__call__`.

    Args:
        reader: for the look-ups.
        proposer: proposes what a submission says whose author proposes nothing.
        verifier: asked once per submission, never inside a transaction.
        tokens: read the answers that a preflight has kept.
        new_ids: draws the range of ids of one submission.
    """

    def __init__(
        self,
        *,
        reader: ReadRunner,
        proposer: Proposer,
        verifier: ValidatedVerifier,
        tokens: VerificationTokens,
        new_ids: Callable[[], IdRange],
    ) -> None:
        self._reader = reader
        self._propose = proposer
        self._verifier = verifier
        self._tokens = tokens
        self._new_ids = new_ids

    async def __call__(
        self,
        caller: Caller,
        submission: Submission,
        *,
        key: IdempotencyKey | None = None,
        token: str = "",
        min_revision: int = 0,
        deadline: Deadline,
    ) -> FoundOutside | StoredResponse:
        """What was found out, or the response that is stored under the key.

        Args:
            caller: the author.
            submission: what is submitted.
            key: where the answer would be stored; ``None`` if it would not be.
            token: of a preflight, or empty.
            min_revision: what the caller has seen.
            deadline: when the caller stops waiting.

        Raises:
            Refusal: nothing of the submission may be stored; the comment of the RPC lists the reasons.
        """
        proposed = await self._propose(caller, submission, key=key, min_revision=min_revision, deadline=deadline)
        size = sum(len(item.content) for item in proposed.evidence)
        prepared = await computed(size, lambda: prepared_submission(proposed))
        queries = fact_queries(caller, prepared)
        ids = self._new_ids()

        async def read(transaction: ReadTransaction) -> _Facts | StoredResponse:
            stored = None if key is None else stored_response(transaction.prefetched["find_response"])
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
            predicate_words = tuple((PredicateKey(row["predicate"]), _forms(row["aliases"])) for row in words)
            return _Facts(facts=facts, entities=entities, bound=bound, predicate_words=predicate_words)

        stored = [] if key is None else [find_response(caller.team_id, caller.profile_id, key)]
        found: _Facts | StoredResponse = await self._reader.run(
            caller.team_id,
            read,
            prefetch=[*stored, *queries.queries()],
            min_revision=min_revision,
            deadline=deadline,
        )
        if isinstance(found, StoredResponse):
            return found
        asked = verification_request(prepared, found.entities, found.bound, found.facts)
        return FoundOutside(
            prepared=prepared,
            queries=queries,
            ids=ids,
            facts=found.facts,
            bound=found.bound,
            predicate_words=found.predicate_words,
            asked=asked,
            verification=await self._verification(caller, asked, token, deadline),
        )

    async def _verification(
        self, caller: Caller, asked: VerificationRequest, token: str, deadline: Deadline
    ) -> Verification:
        """What a token keeps of this very request, else the verifier's one answer."""
        kept = self._tokens.answer_of(token, caller, asked) if token else None
        return kept if kept is not None else await self._verifier.verify(asked, deadline)


def _forms(aliases: list[str]) -> tuple[str, ...]:
    return tuple(decide_predicate_key(alias, field="aliases") for alias in aliases)
