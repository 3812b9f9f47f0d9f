"""Places one proposed relationship: from the verifier's finding to what changes in its slot."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from corrigenda_core.domain.actors import Actor, ActorKind, Caller, KeyScope
from corrigenda_core.domain.cases import ConflictCase
from corrigenda_core.domain.changes import CaseEffect, Changes, OutcomeKind, PlacementOutcome
from corrigenda_core.domain.errors import Refusal
from corrigenda_core.domain.evidence import (
    Authority,
    SourceType,
    StartWindow,
    Support,
    SupportDecision,
    SupportDecisionKind,
)
from corrigenda_core.domain.ids import (
    FragmentId,
    IdRange,
    IngestId,
    ItemId,
    PredicateKey,
    ProposalId,
    RelationshipId,
    StatementId,
    SupportId,
)
from corrigenda_core.domain.items import ItemStatus, ReviewItem
from corrigenda_core.domain.objects import Object, Slot
from corrigenda_core.domain.predicates import Predicate
from corrigenda_core.domain.relationships import Relationship, Statement
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.domain.submissions import CorrectionTarget
from corrigenda_core.domain.time import Moment, Side
from corrigenda_core.domain.verification import Modality, VerificationVerdict
from corrigenda_core.persistence.ingest_store import SubmissionFacts
from corrigenda_core.policy.authority import decide_authority
from corrigenda_core.policy.case_side import plan_referred_side
from corrigenda_core.policy.duplicates import decide_duplicate
from corrigenda_core.policy.placement import plan_placement
from corrigenda_core.policy.validity import (
    StatementTimes,
    decide_common_whole,
    decide_known_bounds,
    decide_witness_time,
)
from corrigenda_core.policy.view_changes import with_neighbour
from corrigenda_core.ports.providers import Finding
from corrigenda_core.providers.validation import VerifierUnavailable
from corrigenda_core.time_zones import team_zone

from corrigenda_ingest.outside import Verification
from corrigenda_ingest.phrase_questions import (
    is_full,
    joined_question,
    opened_question,
    repeated_observation,
    said_of,
)
from corrigenda_ingest.predicate_search import closest_predicates
from corrigenda_ingest.submission import (
    BoundRelationship,
    FragmentAnswer,
    PlannedRevision,
    PreparedEvidence,
    RelationshipAnswer,
)
from corrigenda_ingest.touched_slots import SlotChange

ORDINALS_PER_REVISION = 1000
_ITEMS, _SUPPORTS, _PLACEMENT, _REFERRED = range(4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placing:
    """One proposed relationship on its way into its slot.

    ``asked_phrases`` are the owner's pending questions about unknown phrases. ``actor`` acts in the place of the
    caller, whose statement it is.
    """

    caller: Caller
    ingest_id: IngestId
    observation_id: StatementId
    number: int
    bound: BoundRelationship
    moment: Moment
    evidence: Sequence[PreparedEvidence]
    fragments: Sequence[FragmentAnswer]
    near: Sequence[tuple[FragmentId, ...]]
    facts: SubmissionFacts
    verification: Verification
    predicate_words: Sequence[tuple[PredicateKey, tuple[str, ...]]]
    asked_phrases: Mapping[PredicateKey, ReviewItem]
    ids: IdRange
    actor: Actor | None = None

    @property
    def proposal_id(self) -> ProposalId:
        """The caller's name of the proposed relationship."""
        return self.bound.prepared.given.proposal_id

    def placed(self, state: Mapping[Slot, SlotView]) -> tuple[PlannedRevision, RelationshipAnswer]:
        """The revision of this placement, and the answer to it; the first outcome that fits.

        What is entailed becomes a statement, what is insufficient waits, what is contradicted is rejected; another
        modality stays an observation (R3.3).
        """
        if any(self.fragments[index].quarantined for index in self.bound.cited_indexes):
            return self._kept(OutcomeKind.QUARANTINED, "R2.7", "quarantined_evidence")
        if self.bound.predicate is None:
            return self._asked_predicate()
        slot, bound_object = self.bound.slot, self.bound.object
        if slot is None or bound_object is None:
            return self._kept(OutcomeKind.NEEDS_REVIEW, "R3.7", "identity_question")
        if self.bound.prepared.given.modality is not Modality.STATEMENT:
            return self._kept(OutcomeKind.OBSERVED, "R3.3", "no_statement")
        finding = self.finding()
        if finding is None:
            answer = self._answer(OutcomeKind.PENDING_EVIDENCE, "R3.2", "verifier_unavailable")
            return PlannedRevision(moment=self.moment), replace(answer, retry_verification=True)
        match finding.verdict:
            case VerificationVerdict.INSUFFICIENT:
                return self._kept(OutcomeKind.PENDING_EVIDENCE, "R3.3", "insufficient")
            case VerificationVerdict.CONTRADICTED:
                return self._kept(OutcomeKind.REJECTED, "R3.3", "contradicted")
            case VerificationVerdict.ENTAILED:
                return self._stated(state, slot, bound_object, finding)

    @property
    def _predicate(self) -> Predicate:
        """The predicate of what has come as far as a slot."""
        if self.bound.predicate is None:
            raise ValueError("a phrase that means no predicate has no slot")
        return self.bound.predicate

    def finding(self) -> Finding | None:
        """What the verifier said of it; ``None`` if it was not asked, or gave no answer."""
        verification = self.verification
        if isinstance(verification, VerifierUnavailable):
            return None
        return next((one for one in verification.findings if one.proposal_id == self.proposal_id), None)

    def _answer(self, outcome: OutcomeKind, rule: str, reason: str = "") -> RelationshipAnswer:
        finding = self.finding()
        return RelationshipAnswer(
            proposal_id=self.proposal_id,
            observation_id=self.observation_id,
            outcome=outcome,
            rule=rule,
            reason=reason,
            finding=finding,
            bounds=finding.bounds if finding is not None else (),
            object=self.bound.object,
            predicate=self.bound.predicate,
        )

    def _kept(self, outcome: OutcomeKind, rule: str, reason: str) -> tuple[PlannedRevision, RelationshipAnswer]:
        """The observation stays, and nothing depends on it."""
        return PlannedRevision(moment=self.moment), self._answer(outcome, rule, reason)

    def _asked_predicate(self) -> tuple[PlannedRevision, RelationshipAnswer]:
        """An unknown phrase stays on the observation, and its owner is asked once which predicate it means."""
        closest = closest_predicates(self.bound.prepared.form, self.predicate_words)
        said = said_of(self.bound, self.fragments)
        answer = self._answer(OutcomeKind.NEEDS_REVIEW, "R3.5", "unknown_predicate")
        answer = replace(answer, closest_predicates=closest)
        asked = self.asked_phrases.get(self.bound.prepared.form)
        if asked is None or is_full(asked):
            item = opened_question(
                ItemId(self.ids.part(_ITEMS).nth(0)),
                owner_id=self.caller.profile_id,
                ingest_id=self.ingest_id,
                phrase=self.bound.prepared.given.predicate,
                form=self.bound.prepared.form,
                closest=closest,
                waiting=(self.observation_id, said),
                at=self.moment.at,
            )
            return PlannedRevision(moment=self.moment, items=(item,)), replace(answer, item=item)
        repeated = repeated_observation(asked, said)
        if repeated is not None:
            answer = replace(answer, item=asked, observation_id=repeated, is_repeat=True)
            return PlannedRevision(moment=self.moment), answer
        joined = joined_question(asked, (self.observation_id, said))
        return PlannedRevision(moment=self.moment, items=(joined,)), replace(answer, item=joined)

    def _stated(
        self, state: Mapping[Slot, SlotView], slot: Slot, bound_object: Object, finding: Finding
    ) -> tuple[PlannedRevision, RelationshipAnswer]:
        view = state[slot]
        supports = self.supports(finding)
        statement = self._statement(slot, bound_object, finding, supports)
        said = decide_duplicate(view, statement, supports)
        if said is not None:
            row = next(row for row in view.rows if row.relationship_id == said.relationship_id)
            answer = self._answer(OutcomeKind.DUPLICATE, "R4.12")
            return (
                PlannedRevision(moment=self.moment),
                replace(answer, observation_id=said.statement_id, relationship=row),
            )
        supports = tuple(support for support in supports if support.effective)
        if not supports:
            return self._kept(OutcomeKind.PENDING_EVIDENCE, "R4.3", "retired_evidence")
        placed = self._planned(view, statement, supports)
        changes = replace(
            placed, support_decisions=(*placed.support_decisions, *grants_of(placed.supports, self.caller.scopes))
        )
        answer = self._placed_answer(view, changes, supports)
        referred = self._referred(state, changes, answer.relationship)
        if referred is None:
            return PlannedRevision(moment=self.moment, before=view, changes=changes), answer
        return (
            PlannedRevision(moment=self.moment, before=view, changes=changes, beside=(referred,)),
            answer if answer.case_effect is not CaseEffect.NONE else _with_case(answer, referred.changes),
        )

    def _referred(
        self, state: Mapping[Slot, SlotView], changes: Changes, row: Relationship | None
    ) -> SlotChange | None:
        """What the placement does to the cases of another slot, a relationship of which it says was wrong."""
        named = self.bound.prepared.given.correction_target
        target = None if named is None else self.facts.targets[named.relationship_id]
        if row is None or target is None or target.slot == row.slot:
            return None
        if all(reference.target_id != target.relationship_id for reference in changes.references):
            return None
        context = PlanContext(
            moment=self.moment,
            ids=self.ids.part(_REFERRED),
            actor=self.actor or Actor(kind=ActorKind.PROFILE, profile_id=self.caller.profile_id),
            policy=self.facts.policy,
        )
        planned = plan_referred_side(state[target.slot], row, changes, context)
        before = with_neighbour(state[target.slot], row.slot, changes, joining=row)
        return SlotChange(before=before, changes=planned)

    def _planned(self, view: SlotView, statement: Statement, supports: Sequence[Support]) -> Changes:
        context = PlanContext(
            moment=self.moment,
            ids=self.ids.part(_PLACEMENT),
            actor=self.actor or Actor(kind=ActorKind.PROFILE, profile_id=self.caller.profile_id),
            policy=self.facts.policy,
        )
        try:
            return plan_placement(view, context, (statement,), supports, *self._targets(statement))
        except Refusal as refusal:
            # The planner knows the statement, and not where in the request it stands.
            field = f"{self.bound.prepared.field}.{refusal.field}" if refusal.field else self.bound.prepared.field
            raise Refusal(refusal.reason, refusal.message, field=field, metadata=refusal.metadata) from refusal

    def _statement(self, slot: Slot, bound_object: Object, finding: Finding, supports: Sequence[Support]) -> Statement:
        given = self.bound.prepared.given
        occurred_ats = [support.occurred_at for support in supports if support.occurred_at is not None]
        start, end = decide_known_bounds(
            StatementTimes(
                bounds=tuple(cited.bound for cited in finding.bounds),
                valid_from=given.valid_from,
                valid_to=given.valid_to,
                occurred_ats=tuple(occurred_ats),
            ),
            self._predicate,
            team_zone(self.facts.policy.time_zone),
        )
        return Statement(
            statement_id=self.observation_id,
            owner_id=self.caller.profile_id,
            slot=slot,
            object=bound_object,
            polarity=given.polarity,
            start=start,
            end=end,
            stated_start=given.valid_from,
            witness_at=decide_witness_time(occurred_ats, self.moment.at, end),
            recorded_at=self.moment.at,
            sequence=self.moment.revision * ORDINALS_PER_REVISION + self.number,
            record=any(
                self.fragments[index].source_type is SourceType.SYSTEM_RECORD for index in self.bound.cited_indexes
            ),
            source=_source(supports),
        )

    def supports(self, finding: Finding) -> tuple[Support, ...]:
        """One support for each cited fragment, with what was granted to it for this predicate."""
        ids = self.ids.part(_SUPPORTS)
        indexes: dict[FragmentId, list[int]] = {}
        for index in self.bound.cited_indexes:
            indexes.setdefault(self.fragments[index].fragment_id, []).append(index)
        return tuple(
            self._support(SupportId(ids.nth(place)), same_text, finding)
            for place, same_text in enumerate(indexes.values())
        )

    def _support(self, support_id: SupportId, indexes: Sequence[int], finding: Finding) -> Support:
        """The support by one fragment, which the items at ``indexes`` are."""
        evidence, fragment = self.evidence[indexes[0]], self.fragments[indexes[0]]
        cited = [one.span for one in self.bound.prepared.given.spans if one.evidence_index in indexes]
        return Support(
            support_id=support_id,
            fragment_id=fragment.fragment_id,
            author=self.caller.profile_id,
            recorded_at=self.moment.at,
            authority=self._granted(indexes[0])[0],
            effective=not fragment.retired,
            source_group=evidence.given.source_group,
            source_key=evidence.given.source_key,
            inherited_labels=fragment.inherited_labels,
            content_hash=evidence.normal_sha256.hex(),
            derived_from_fragment_ids=fragment.derived_from_fragment_ids,
            near_duplicate_fragment_ids=tuple(sorted({near for index in indexes for near in self.near[index]})),
            evidence_time=_start_window(finding, indexes),
            occurred_at=fragment.occurred_at,
            statement_id=self.observation_id,
            spans=tuple(dict.fromkeys(cited)),
        )

    def _granted(self, index: int) -> tuple[Authority, str]:
        """What the text of one item is worth here, by what its fragment claims."""
        granted = decide_authority(
            self.fragments[index].authority,
            predicate=self._predicate.key,
            claim=self.evidence[index].claim(self.caller.profile_id),
            registry=self.facts.registry,
            scopes=self.caller.scopes,
        )
        return granted.authority, granted.note

    def _targets(self, statement: Statement) -> tuple[dict[StatementId, CorrectionTarget], tuple[Relationship, ...]]:
        """What the statement says was wrong, and that relationship as it stands."""
        named = self.bound.prepared.given.correction_target
        if named is None:
            return {}, ()
        return {statement.statement_id: named}, (self.facts.targets[named.relationship_id],)

    def _placed_answer(self, view: SlotView, changes: Changes, supports: Sequence[Support]) -> RelationshipAnswer:
        (outcome,) = changes.outcomes
        rows = {row.relationship_id: row for row in (*view.rows, *changes.relationships)}
        case = _case_of(outcome, changes)
        notes = [note for index in self.bound.cited_indexes if (note := self._granted_note(index))]
        return replace(
            self._answer(outcome.kind, outcome.rule),
            relationship=rows.get(outcome.relationship_id) if outcome.relationship_id is not None else None,
            granted_authority=supports[0].authority,
            opposing=tuple(dict.fromkeys((*outcome.opposing, *_opposing(outcome, case)))),
            references=tuple(
                reference for reference in changes.references if reference.source_id == outcome.relationship_id
            ),
            case_effect=outcome.case_effect,
            conflict_id=outcome.conflict_id,
            conflict_version=case.version if case is not None else 0,
            review_due_at=case.review_due_at if case is not None else None,
            item=next((item for item in changes.items if item.status is ItemStatus.PENDING), None),
            notes=tuple(dict.fromkeys((*outcome.notes, *notes))),
        )

    def _granted_note(self, index: int) -> str:
        return self._granted(index)[1]


def grants_of(supports: Sequence[Support], scopes: Collection[KeyScope]) -> tuple[SupportDecision, ...]:
    """The decisions that switch new supports on; what the key may assert by itself no registry takes away."""
    return tuple(
        SupportDecision(
            support_id=support.support_id,
            kind=SupportDecisionKind.GRANT,
            authority=support.authority,
            reason="entailed",
            granted_by_key=support.authority is Authority.AUTHORITATIVE and KeyScope.ASSERT_AUTHORITY in scopes,
        )
        for support in supports
    )


def _case_of(outcome: PlacementOutcome, changes: Changes) -> ConflictCase | None:
    if outcome.case_effect is CaseEffect.NONE:
        return None
    return next((case for case in changes.cases if case.conflict_id == outcome.conflict_id), None)


def _with_case(answer: RelationshipAnswer, changes: Changes) -> RelationshipAnswer:
    """The answer with what the placement did to a case of the slot that it refers to."""
    outcome = next((one for one in changes.outcomes if one.relationship_id == _row_id(answer)), None)
    case = None if outcome is None else _case_of(outcome, changes)
    if outcome is None or case is None:
        return answer
    return replace(
        answer,
        opposing=tuple(dict.fromkeys((*answer.opposing, *_opposing(outcome, case)))),
        case_effect=outcome.case_effect,
        conflict_id=outcome.conflict_id,
        conflict_version=case.version,
        review_due_at=case.review_due_at,
    )


def _row_id(answer: RelationshipAnswer) -> RelationshipId | None:
    return None if answer.relationship is None else answer.relationship.relationship_id


def _opposing(outcome: PlacementOutcome, case: ConflictCase | None) -> list[RelationshipId]:
    """The members of the case that stand on other positions than the placed row."""
    return [
        member.relationship_id
        for position in (case.positions if case is not None else ())
        if all(member.relationship_id != outcome.relationship_id for member in position.members)
        for member in position.members
    ]


def _source(supports: Sequence[Support]) -> str | None:
    """The one source that the cited texts declare: a later record of it is known by that."""
    declared = {support.source_key or support.source_group for support in supports}
    return declared.pop() if len(declared) == 1 else None


def _start_window(finding: Finding, indexes: Collection[int]) -> StartWindow | None:
    """The start that one fragment's words name; words that contradict each other name none."""
    whole = decide_common_whole(
        cited.bound.whole
        for cited in finding.bounds
        if cited.evidence_index in indexes and cited.bound.side is Side.START
    )
    return None if whole is None else StartWindow(whole=whole)
