"""Lets the extractor propose what a submission says whose author proposes nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.evidence import ScanVerdict
from corrigenda_core.domain.ids import IdempotencyKey
from corrigenda_core.domain.predicates import Predicate
from corrigenda_core.domain.submissions import Submission
from corrigenda_core.persistence.idempotency import find_response
from corrigenda_core.persistence.ingest_store import active_predicates, predicate_of, team_policy_of, team_settings
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.policy.scanning import decide_scan
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.ports.providers import EvidenceText, ExtractionRequest, ExtractorAnswer
from corrigenda_core.providers.extraction_validation import ExtractorUnavailable, ValidatedExtractor

from corrigenda_ingest.computing import computed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Offered:
    """What an extractor may use: the active predicates, and the zone of words of time."""

    predicates: tuple[Predicate, ...]
    time_zone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposer:
    """Completes submissions; see `__call__`."""

    reader: ReadRunner
    extractor: ValidatedExtractor

    async def __call__(
        self,
        caller: Caller,
        submission: Submission,
        *,
        key: IdempotencyKey | None,
        min_revision: int,
        deadline: Deadline,
    ) -> Submission:
        """The submission with a proposal: its author's, else the extractor's; without either the evidence stands alone.

        A request that was answered before is not read again, and quarantined texts are not read at all.
        """
        if submission.relationships or submission.entities:
            return submission
        offered = await self._offered(caller, key, min_revision, deadline)
        if offered is None or not offered.predicates:
            return submission
        size = sum(len(item.content) for item in submission.evidence)
        request = await computed(size, lambda: _request(submission, offered))
        answer = await self.extractor.extract(request, deadline)
        match answer:
            case ExtractorUnavailable():
                return replace(submission, extractor_failed=True)
            case ExtractorAnswer(relationships=()):
                return submission
            case ExtractorAnswer():
                said = tuple(replace(one, comment=f"proposed by {answer.extractor}") for one in answer.relationships)
                return replace(submission, entities=answer.entities, relationships=said, extractor=answer.extractor)

    async def _offered(
        self, caller: Caller, key: IdempotencyKey | None, min_revision: int, deadline: Deadline
    ) -> _Offered | None:
        """What may be used, or ``None`` if the answer to the request is stored already."""
        stored = [] if key is None else [find_response(caller.team_id, caller.profile_id, key)]

        def read(transaction: ReadTransaction) -> _Offered | None:
            rows = transaction.prefetched
            if rows.get("find_response"):
                return None
            (settings,) = rows["team_settings"]
            return _Offered(
                predicates=tuple(predicate_of(row) for row in rows["active_predicates"]),
                time_zone=team_policy_of(settings).time_zone,
            )

        return await self.reader.run(
            caller.team_id,
            read,
            prefetch=[
                *stored,
                team_settings(caller.team_id, caller.profile_id),
                active_predicates(caller.team_id),
            ],
            min_revision=min_revision,
            deadline=deadline,
        )


def _request(submission: Submission, offered: _Offered) -> ExtractionRequest:
    return ExtractionRequest(
        evidence=tuple(
            EvidenceText(
                content="" if decide_scan(item.content).verdict is ScanVerdict.QUARANTINED else item.content,
                occurred_at=item.occurred_at,
            )
            for item in submission.evidence
        ),
        predicates=offered.predicates,
        time_zone=offered.time_zone,
    )
