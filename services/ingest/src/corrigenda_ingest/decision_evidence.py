"""Evidence that comes with a decision: a submission without a proposal, stored in the decision's own revision."""

from __future__ import annotations

from dataclasses import dataclass

from corrigenda.ingest.v1 import placement_pb2
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.ids import IdRange
from corrigenda_core.domain.resolutions import EVIDENCE
from corrigenda_core.domain.submissions import Submission
from corrigenda_core.domain.time import Moment
from corrigenda_core.persistence.ingest_store import FactQueries
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.slot_store import CaseRowVersions
from corrigenda_core.persistence.transaction import Transaction
from corrigenda_core.ports.providers import VerifierAnswer

from corrigenda_ingest.computing import computed
from corrigenda_ingest.planning import SubmissionPlanner
from corrigenda_ingest.preparation import prepared_submission
from corrigenda_ingest.responses import PlacementMessages
from corrigenda_ingest.slot_look import fact_queries
from corrigenda_ingest.source_plan import require_no_revision
from corrigenda_ingest.submission import PreparedSubmission
from corrigenda_ingest.submission_writer import SubmissionWriter

_NOT_ASKED = VerifierAnswer(verifier="", findings=())
_PLAN_IDS, _ROW_IDS = range(2)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvidence:
    """What became of the evidence; nothing, if a decision came without."""

    ingest_id: str = ""
    fragments: tuple[placement_pb2.FragmentPlacement, ...] = ()

    @property
    def details(self) -> tuple[tuple[str, str], ...]:
        """The details of a decision that link it to the texts, each once."""
        return tuple((EVIDENCE, fragment_id) for fragment_id in dict.fromkeys(f.fragment_id for f in self.fragments))


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionEvidence:
    """Evidence in normal form, or none, on its way into the commit of a decision."""

    caller: Caller
    prepared: PreparedSubmission | None
    facts: FactQueries | None
    ids: IdRange

    def queries(self) -> list[Query]:
        """What the plan needs to know."""
        return [] if self.facts is None else self.facts.queries()

    def write(self, transaction: Transaction, moment: Moment) -> StoredEvidence:
        """Plans the evidence on what is locked, and writes it into the decision's revision.

        Raises:
            Refusal: RESOURCE_NOT_FOUND for a fragment that it says it is derived from, SOURCE_NOT_ALLOWED.
            RuntimeError: if the plan was made for another moment.
        """
        if self.prepared is None or self.facts is None:
            return StoredEvidence()
        facts = self.facts.facts(transaction.prefetched)
        planner = SubmissionPlanner(
            caller=self.caller,
            prepared=self.prepared,
            verification=_NOT_ASKED,
            facts=facts,
            reading=transaction.reading,
            ids=self.ids.part(_PLAN_IDS),
        )
        planned = planner.planned({}, {})
        if planned.revisions[0].moment != moment:
            raise RuntimeError(f"the evidence was planned for {planned.revisions[0].moment}, not {moment}")
        answer = PlacementMessages(self.caller, planned, facts).response()
        writer = SubmissionWriter(
            transaction,
            planned,
            facts,
            author=self.caller,
            ids=self.ids.part(_ROW_IDS),
            versions=CaseRowVersions(),
        )
        writer.write_evidence(answer.SerializeToString(deterministic=True))
        return StoredEvidence(ingest_id=planned.ingest_id, fragments=tuple(answer.placement.fragments))


async def prepared_evidence(caller: Caller, submission: Submission | None, ids: IdRange) -> DecisionEvidence:
    """The evidence of a decision in normal form."""
    if submission is None:
        return DecisionEvidence(caller=caller, prepared=None, facts=None, ids=ids)
    size = sum(len(item.content) for item in submission.evidence)
    prepared = await computed(size, lambda: prepared_submission(submission))
    require_no_revision(prepared, author_id=caller.profile_id)
    return DecisionEvidence(caller=caller, prepared=prepared, facts=fact_queries(caller, [prepared]), ids=ids)
