"""What is found out about submissions before their commit: what they name, and what the verifier says of their texts.

Nothing is locked here and nothing is written: a verifier may take seconds. What the facts say is decided again, and
compared, by whoever plans on what is locked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import Refusal
from corrigenda_core.domain.ids import IdRange, IngestId, PredicateKey
from corrigenda_core.domain.submissions import Submission
from corrigenda_core.domain.time import Instant
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.idempotency import StoredResponse, find_responses, stored_responses
from corrigenda_core.persistence.ingest_store import FactQueries, SubmissionFacts, predicate_names
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.policy.normalisation import decide_predicate_key
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.ports.providers import VerificationRequest, VerifierAnswer
from corrigenda_core.providers.validation import ValidatedVerifier, VerifierUnavailable

from corrigenda_ingest.batching import Batch
from corrigenda_ingest.binding import bound_entities, bound_relationships
from corrigenda_ingest.computing import computed
from corrigenda_ingest.preparation import prepared_submission
from corrigenda_ingest.proposing import Proposer
from corrigenda_ingest.requirements import require_all
from corrigenda_ingest.slot_look import fact_queries
from corrigenda_ingest.submission import BoundRelationship, EntityAnswer, PreparedSubmission
from corrigenda_ingest.submission_ids import entity_ids_of
from corrigenda_ingest.verification_request import verification_request
from corrigenda_ingest.verification_tokens import VerificationTokens

Verification = VerifierAnswer | VerifierUnavailable

READINGS_AT_ONCE = 8
"""Submissions of one batch that a model may read at the same time."""


PredicateWords = tuple[tuple[PredicateKey, tuple[str, ...]], ...]
"""The team's predicates with their aliases, which an unknown phrase is compared with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A submission with what its caller sends beside it: the token of a preflight, or nothing."""

    submission: Submission
    token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundOutside:
    """What was found out: the submission in normal form, the facts then, what its words meant by them, the verdicts.

    ``ids`` is the submission's own range of ids. ``predicate_words`` are the team's predicates, if a phrase is unknown.
    """

    prepared: PreparedSubmission
    ids: IdRange
    facts: SubmissionFacts
    entities: tuple[EntityAnswer, ...]
    bound: tuple[BoundRelationship, ...]
    predicate_words: PredicateWords
    asked: VerificationRequest
    verification: Verification


Outside = FoundOutside | StoredResponse | Refusal
"""What a look at one submission comes to: what was found, the response of an earlier request, or why it is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """One submission with what the facts say of it."""

    prepared: PreparedSubmission
    ids: IdRange
    entities: tuple[EntityAnswer, ...]
    bound: tuple[BoundRelationship, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    facts: SubmissionFacts
    known: list[_Known | StoredResponse | Refusal]


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
        submissions: Sequence[Asked],
        *,
        is_stored: bool,
        behind: Sequence[Outside] = (),
        min_revision: int = 0,
        deadline: Deadline,
    ) -> list[Outside]:
        """What was found out about each submission, in order; at least about the first if there is nothing ``behind``.

        Those that depend on an earlier one are left out, and everything after them: they are looked at once that one
        is committed.

        Args:
            caller: the author.
            submissions: what is submitted, at least one.
            is_stored: whether the answers are stored under the submissions' keys.
            behind: what was found about earlier ones whose commit may not be done yet.
            min_revision: what the caller has seen.
            deadline: when the caller stops waiting.

        Raises:
            Refusal: for all of them: the database is not there, or knows less than ``min_revision``.
        """
        at_once = asyncio.Semaphore(READINGS_AT_ONCE)
        prepared = await asyncio.gather(
            *(self._prepared(caller, one, is_stored, min_revision, at_once, deadline) for one in submissions)
        )
        queries = fact_queries(caller, [one for one in prepared if isinstance(one, PreparedSubmission)])
        # What is asked about an unknown phrase already is a matter of the commit alone.
        queries = replace(queries, phrases=())
        keys = {one.submission.idempotency_key for one in submissions} if is_stored else set()
        found: _Facts = await self._reader.run(
            caller.team_id,
            lambda transaction: self._facts(caller, prepared, queries, behind, transaction),
            prefetch=[*([find_responses(caller.team_id, caller.profile_id, keys)] if keys else ()), *queries.queries()],
            min_revision=min_revision,
            one_trip=True,
            deadline=deadline,
        )
        words = await self._predicate_words(caller, found, min_revision, deadline)
        return list(
            await asyncio.gather(
                *(
                    self._found(caller, one, found.facts, words, asked.token, at_once, deadline)
                    for one, asked in zip(found.known, submissions, strict=False)
                )
            )
        )

    async def _prepared(
        self,
        caller: Caller,
        asked: Asked,
        is_stored: bool,
        min_revision: int,
        at_once: asyncio.Semaphore,
        deadline: Deadline,
    ) -> PreparedSubmission | Refusal:
        """A submission in normal form, with the extractor's proposal if its author proposes nothing."""
        key = asked.submission.idempotency_key if is_stored else None
        async with at_once:
            submission = await self._propose(
                caller, asked.submission, key=key, min_revision=min_revision, deadline=deadline
            )
        size = sum(len(item.content) for item in submission.evidence)
        try:
            return await computed(size, lambda: prepared_submission(submission))
        except Refusal as refusal:
            return refusal

    def _facts(
        self,
        caller: Caller,
        prepared: Sequence[PreparedSubmission | Refusal],
        queries: FactQueries,
        behind: Sequence[Outside],
        transaction: ReadTransaction,
    ) -> _Facts:
        """What a snapshot says of the submissions, up to the first that depends on an earlier one."""
        stored = stored_responses(transaction.prefetched.get("find_responses", []))
        facts = queries.facts(transaction.prefetched)
        at = transaction.reading.next_moment().at
        known: list[_Known | StoredResponse | Refusal] = []
        batch = Batch()
        for earlier in behind:
            if isinstance(earlier, FoundOutside):
                batch.add(earlier.prepared, earlier.entities, earlier.facts)
        for one in prepared:
            if isinstance(one, PreparedSubmission) and one.given.idempotency_key in stored:
                known.append(stored[one.given.idempotency_key])
                continue
            if isinstance(one, Refusal):
                known.append(one)
                continue
            if not batch.may_add(one):
                break
            seen = self._known(caller, one, facts, at)
            known.append(seen)
            if isinstance(seen, _Known):
                batch.add(one, seen.entities, facts)
        return _Facts(facts=facts, known=known)

    async def _predicate_words(
        self, caller: Caller, found: _Facts, min_revision: int, deadline: Deadline
    ) -> PredicateWords:
        """What an unknown phrase is compared with; nothing if there is none."""
        bound = [relationship for one in found.known if isinstance(one, _Known) for relationship in one.bound]
        if all(one.predicate is not None for one in bound):
            return ()
        words = predicate_names(caller.team_id)
        rows: list[Row] = await self._reader.run(
            caller.team_id,
            lambda transaction: transaction.prefetched[words.name],
            prefetch=[words],
            min_revision=min_revision,
            one_trip=True,
            deadline=deadline,
        )
        return tuple((PredicateKey(row["predicate"]), _forms(row["aliases"])) for row in rows)

    def _known(
        self, caller: Caller, prepared: PreparedSubmission, facts: SubmissionFacts, at: Instant
    ) -> _Known | Refusal:
        ids = self._new_ids()
        try:
            entities = bound_entities(
                prepared,
                facts,
                owner_id=caller.profile_id,
                ingest_id=IngestId(ids.nth(0)),
                ids=entity_ids_of(ids),
                at=at,
            )
            bound = bound_relationships(prepared, facts, entities)
            require_all(prepared, bound, facts, owner_id=caller.profile_id)
        except Refusal as refusal:
            return refusal
        return _Known(prepared=prepared, ids=ids, entities=entities, bound=bound)

    async def _found(
        self,
        caller: Caller,
        known: _Known | StoredResponse | Refusal,
        facts: SubmissionFacts,
        words: PredicateWords,
        token: str,
        at_once: asyncio.Semaphore,
        deadline: Deadline,
    ) -> Outside:
        if not isinstance(known, _Known):
            return known
        asked = verification_request(known.prepared, known.entities, known.bound, facts)
        try:
            kept = self._tokens.answer_of(token, caller, asked) if token else None
        except Refusal as refusal:
            return refusal
        async with at_once:
            verification = kept if kept is not None else await self._verifier.verify(asked, deadline)
        return FoundOutside(
            prepared=known.prepared,
            ids=known.ids,
            facts=facts,
            entities=known.entities,
            bound=known.bound,
            predicate_words=words,
            asked=asked,
            verification=verification,
        )


def _forms(aliases: list[str]) -> tuple[str, ...]:
    return tuple(decide_predicate_key(alias, field="aliases") for alias in aliases)
