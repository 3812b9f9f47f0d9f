"""Plans `accept` and `reject` of what came in against other values of its owner: verified again, and folded again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from corrigenda_core.domain.changes import Changes, OutcomeKind
from corrigenda_core.domain.ids import FragmentId, RelationshipId
from corrigenda_core.domain.items import ReviewItem
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.relationships import Statement
from corrigenda_core.domain.resolutions import Accept, Answer, DecisionKind, Provenance, Reject
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.domain.verification import VerificationVerdict
from corrigenda_core.policy.resolution import plan_resolution
from corrigenda_core.ports.providers import Finding

from corrigenda_ingest.deciding import DecisionPlanner, PlannedDecision, later_verdicts
from corrigenda_ingest.placing import Placing, grants_of
from corrigenda_ingest.submission import FragmentAnswer, PlannedRevision, RelationshipAnswer
from corrigenda_ingest.waiting import Waiting, accepted_submission

_ACCEPTING = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class SettlingPlanner:
    """Plans the decision of ``base``, whose item asks which of several values holds."""

    base: DecisionPlanner
    item: ReviewItem
    slot: Slot

    @property
    def slots(self) -> frozenset[Slot]:
        """The slots that the plan has to see."""
        return frozenset({self.slot})

    def planned(
        self, views: Mapping[Slot, SlotView], texts: Mapping[Slot, Sequence[tuple[FragmentId, str]]]
    ) -> PlannedDecision:
        """The whole plan; what the new evidence does not say is not accepted, and its evidence is kept.

        Raises:
            Refusal: as `plan_resolution` does.
        """
        base, view = self.base, views[self.slot]
        moment = base.reading.next_moment()
        fragments = base.fragments(moment)
        record = base.record(fragments)
        provenance = Provenance(key=record.key, reason=record.reason, details=record.details)
        revision = PlannedRevision(moment=moment)
        if base.decision.action is DecisionKind.ACCEPT:
            accepting = self._accepting(view, fragments, texts)
            placing, waiting = accepting.placing, accepting.waiting
            finding = placing.finding()
            verdicts = later_verdicts(placing, accepting.statement.statement_id, waiting)
            revision = replace(revision, verdicts=verdicts)
            if finding is None or finding.verdict is not VerificationVerdict.ENTAILED:
                return self._not_accepted(revision, fragments, accepting, finding)
            supports = [
                replace(one, relationship_id=accepting.statement.relationship_id) for one in placing.supports(finding)
            ]
            resolution: Accept | Reject = Accept(
                supports=tuple(supports), grants=grants_of(supports, base.owner.scopes), start=base.decision.valid_from
            )
        else:
            resolution = Reject()
        context = PlanContext(moment=moment, ids=base.ids.part(_ACCEPTING), actor=base.actor, policy=base.facts.policy)
        changes = plan_resolution(
            view,
            context,
            Answer(item=self.item, expected_version=self.item.version, resolution=resolution, provenance=provenance),
        )
        revision = replace(revision, before=view, changes=changes)
        (decided,) = changes.decision_records
        answers = self._answers(view, changes)
        return PlannedDecision(
            submission=base.submission(fragments, (revision,), answers),
            decision_id=decided.decision_id,
            item=next(one for one in changes.items if one.item_id == self.item.item_id),
        )

    def _accepting(
        self,
        view: SlotView,
        fragments: Sequence[FragmentAnswer],
        texts: Mapping[Slot, Sequence[tuple[FragmentId, str]]],
    ) -> _Accepting:
        """The statement that is accepted, on its way past the verifier once more."""
        base = self.base
        statement = incoming_statement(view, self.item)
        observation = next(one for one in base.question.observations if one.observation_id == statement.statement_id)
        waiting = accepted_submission(observation, base.prepared.evidence, fragments)
        (bound,) = waiting.bound(base.facts)
        placing = Placing(
            caller=base.owner,
            ingest_id=observation.ingest_id,
            observation_id=observation.observation_id,
            number=0,
            bound=bound,
            moment=base.reading.next_moment(),
            evidence=waiting.prepared.evidence,
            fragments=fragments,
            near=base.near_duplicates(waiting, (bound,), fragments, texts),
            facts=base.facts,
            verification=base.verification,
            predicate_words=(),
            asked_phrases={},
            ids=base.ids.part(_ACCEPTING).part(0),
            actor=base.actor,
        )
        return _Accepting(placing=placing, waiting=waiting, statement=statement)

    def _not_accepted(
        self,
        revision: PlannedRevision,
        fragments: tuple[FragmentAnswer, ...],
        accepting: _Accepting,
        finding: Finding | None,
    ) -> PlannedDecision:
        """The evidence and the verdict are kept, and the question stays as it is."""
        (observation,) = accepting.waiting.observations
        answer = RelationshipAnswer(
            proposal_id=observation.proposal_id,
            observation_id=observation.observation_id,
            outcome=OutcomeKind.QUARANTINED if finding is None else OutcomeKind.PENDING_EVIDENCE,
            rule="R5.2",
            reason="quarantined_evidence" if finding is None else "insufficient",
            finding=finding,
        )
        submission = self.base.submission(fragments, (revision,), (answer,))
        return PlannedDecision(submission=submission, decision_id=None, item=self.item)

    def _answers(self, view: SlotView, changes: Changes) -> tuple[RelationshipAnswer, ...]:
        """What became of what came in."""
        rows = {row.relationship_id: row for row in (*view.rows, *changes.relationships)}
        accepted = self.base.decision.action is DecisionKind.ACCEPT
        carried = _carried(view, self.item.incoming)
        names = {one.observation_id: one.proposal_id for one in self.base.question.observations}
        now = {one.statement_id: one.relationship_id for one in changes.carriages}
        return tuple(
            RelationshipAnswer(
                proposal_id=names[statement.statement_id],
                observation_id=statement.statement_id,
                outcome=OutcomeKind.SUPERSEDED if accepted else OutcomeKind.REJECTED,
                rule="R4.16a",
                reason="" if accepted else "reject",
                relationship=rows.get(now.get(statement.statement_id, statement.relationship_id or _NOWHERE)),
                opposing=self.item.opposing,
            )
            for statement in carried
            if statement.statement_id in names
        )


_NOWHERE = RelationshipId("")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Accepting:
    placing: Placing
    waiting: Waiting
    statement: Statement


def incoming_statement(view: SlotView, item: ReviewItem) -> Statement:
    """The statement that came in last of those that an item asks about."""
    return _carried(view, item.incoming)[-1]


def _carried(view: SlotView, rows: Sequence[RelationshipId]) -> list[Statement]:
    found = [statement for statement in view.statements if statement.relationship_id in rows]
    return sorted(found, key=lambda statement: statement.sequence)
