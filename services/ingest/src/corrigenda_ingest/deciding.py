"""Plans one decision on a placement under the team's lock: the decision itself, then everything that waited for it.

The decision is a revision of its own, with its evidence, the entity that it named and the item as answered. Each
observation that can be placed afterwards goes through the same planner as a new statement, in a revision of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from corrigenda_core.domain.actors import Actor, ActorKind, Caller
from corrigenda_core.domain.changes import Changes, OutcomeKind
from corrigenda_core.domain.entities import Mention
from corrigenda_core.domain.ids import DecisionId, EntityId, FragmentId, IdRange, IngestId, ItemId, StatementId
from corrigenda_core.domain.items import ItemKind, ReviewItem
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.placement_decisions import PlacementDecision
from corrigenda_core.domain.predicates import Predicate
from corrigenda_core.domain.resolutions import DecisionKind, DecisionRecord
from corrigenda_core.domain.slots import SlotView
from corrigenda_core.domain.submissions import ProposedEntity
from corrigenda_core.domain.time import Moment
from corrigenda_core.persistence.ingest_store import SubmissionFacts
from corrigenda_core.persistence.question_store import DecidedObservation
from corrigenda_core.persistence.team_clock import ClockReading
from corrigenda_core.policy.placement_actions import PROPOSED_PREDICATE, plan_answered_items
from corrigenda_core.ports.providers import VerifierAnswer

from corrigenda_ingest.fragment_plan import FragmentPlanner
from corrigenda_ingest.outside import Verification
from corrigenda_ingest.phrase_questions import proposed_question
from corrigenda_ingest.placing import Placing
from corrigenda_ingest.planning import apply_to
from corrigenda_ingest.question import PLACING, Question, binding_of, rebound
from corrigenda_ingest.slot_look import referred_slots
from corrigenda_ingest.source_plan import SourcePlan
from corrigenda_ingest.submission import (
    BoundRelationship,
    EntityAnswer,
    FragmentAnswer,
    LaterVerdict,
    PlannedRevision,
    PlannedSubmission,
    PreparedSubmission,
    RelationshipAnswer,
)
from corrigenda_ingest.waiting import Waiting

_FRAGMENTS, _DECISION, _ITEMS, _PLACEMENTS, _ENTITY = range(5)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedEntity:
    """The entity that a decision names, for all mentions that its item asks about; ``is_new`` if it is made by it."""

    entity_id: EntityId
    is_new: bool
    given: tuple[ProposedEntity, ...]
    mentions: tuple[Mention, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDecision:
    """Everything that a decision writes, and its answer; ``item`` is the answered one as it is afterwards."""

    submission: PlannedSubmission
    decision_id: DecisionId | None
    item: ReviewItem | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionPlanner:
    """Plans one decision; ``ids`` is its own range.

    ``prepared`` is what came with it, ``waiting`` what can be placed after it, ``caller`` who decides and
    ``owner`` whose record it is: an administrator decides about another one's.
    """

    caller: Caller
    owner: Caller
    decision: PlacementDecision
    question: Question
    prepared: PreparedSubmission
    named: NamedEntity | None
    predicate: Predicate | None
    waiting: Waiting | None
    verification: Verification
    facts: SubmissionFacts
    reading: ClockReading
    ids: IdRange

    @property
    def actor(self) -> Actor:
        """Who the records say decided."""
        return Actor(kind=ActorKind.PROFILE, profile_id=self.caller.profile_id)

    @property
    def slots(self) -> frozenset[Slot]:
        """The slots that the plan has to see."""
        bound = self.waiting.bound(self.facts) if self.waiting is not None else ()
        spoken = frozenset(one.slot for one in bound if one.slot is not None)
        return spoken.union(referred_slots(bound, self.facts))

    def planned(
        self, views: Mapping[Slot, SlotView], texts: Mapping[Slot, Sequence[tuple[FragmentId, str]]]
    ) -> PlannedDecision:
        """The whole plan.

        Args:
            views: every slot that `waiting` speaks in, as the transaction sees it.
            texts: of each such slot, the texts that speak in it already.

        Raises:
            Refusal: nothing of the decision may be stored.
        """
        moments = self._moments()
        first = next(moments)
        fragments = self.fragments(first)
        item, opened = self._items(first)
        decided = PlannedRevision(
            moment=first,
            changes=Changes(decision_records=(self.record(fragments),), items=(*item, *opened)),
            bindings=tuple(binding_of(one, self.decision_id) for one in self._rebound()),
            released=self._released(),
        )
        placed, answers = self._placements(moments, dict(views), texts)
        submission = self.submission(fragments, (decided, *placed), (*answers, *self._left()))
        return PlannedDecision(submission=submission, decision_id=self.decision_id, item=item[0] if item else None)

    @property
    def decision_id(self) -> DecisionId:
        """The decision."""
        return DecisionId(self.ids.part(_DECISION).nth(0))

    @property
    def ingest_id(self) -> IngestId:
        """The submission that the decision's own evidence belongs to."""
        return IngestId(self.ids.nth(0))

    def fragments(self, moment: Moment) -> tuple[FragmentAnswer, ...]:
        """What becomes of the evidence that came with the decision."""
        evidence = FragmentPlanner(
            author_id=self.caller.profile_id,
            ingest_id=self.ingest_id,
            prepared=self.prepared,
            facts=self.facts,
            sources=SourcePlan(),
            ids=self.ids.part(_FRAGMENTS),
            item_ids=self.ids.part(_ITEMS),
            at=moment.at,
        )
        return evidence.fragments()

    def near_duplicates(
        self,
        waiting: Waiting,
        bound: Sequence[BoundRelationship],
        fragments: Sequence[FragmentAnswer],
        texts: Mapping[Slot, Sequence[tuple[FragmentId, str]]],
    ) -> tuple[tuple[FragmentId, ...], ...]:
        """For each text of what is placed, earlier fragments that say nearly the same in a slot that it speaks in."""
        evidence = FragmentPlanner(
            author_id=self.owner.profile_id,
            ingest_id=self.ingest_id,
            prepared=waiting.prepared,
            facts=self.facts,
            sources=SourcePlan(),
            ids=self.ids,
            item_ids=self.ids,
            at=self.reading.next_moment().at,
        )
        return evidence.near_duplicates(bound, fragments, texts)

    def record(self, fragments: Sequence[FragmentAnswer]) -> DecisionRecord:
        """Who decided what about what, and with which evidence."""
        decision, item = self.decision, self.question.item
        said = {
            "entity_id": self.named.entity_id if self.named is not None else "",
            "predicate": self.predicate.key if self.predicate is not None else decision.predicate,
        }
        return DecisionRecord(
            decision_id=self.decision_id,
            kind=decision.action,
            actor=self.actor,
            item_id=None if item is None else item.item_id,
            item_version=None if item is None else item.version,
            target_ids=self._targets(),
            key=decision.submission.idempotency_key,
            reason=decision.reason,
            details=(
                *((name, text) for name, text in said.items() if text),
                *(("evidence", fragment.fragment_id) for fragment in fragments),
            ),
        )

    def submission(
        self,
        fragments: tuple[FragmentAnswer, ...],
        revisions: tuple[PlannedRevision, ...],
        answers: tuple[RelationshipAnswer, ...],
    ) -> PlannedSubmission:
        """The plan in the shape of a submission: of the decision's evidence, without a proposal of its own."""
        named = self.named
        entities = () if named is None else named.given
        prepared = replace(
            self.prepared,
            given=replace(self.prepared.given, entities=entities, relationships=()),
            mentions=() if named is None else named.mentions,
            relationships=(),
        )
        return PlannedSubmission(
            ingest_id=self.ingest_id,
            prepared=prepared,
            fragments=fragments,
            entities=() if named is None else _entity_answers(named, self.facts),
            bound=(),
            answers=answers,
            verifier=self.verification.verifier if isinstance(self.verification, VerifierAnswer) else "",
            revisions=revisions,
        )

    def _targets(self) -> tuple[str, ...]:
        item = self.question.item
        targets: list[str] = [one.observation_id for one in self.question.waiting_for(self.decision)]
        if item is not None:
            targets += [*item.incoming, *item.opposing]
            targets += [item.fragment_id] if item.fragment_id is not None else []
        if self.named is not None:
            targets.append(self.named.entity_id)
        return tuple(dict.fromkeys(targets)) or (self.question.ingest_id,)

    def _released(self) -> tuple[FragmentId, ...]:
        item = self.question.item
        if self.decision.action is not DecisionKind.RELEASE_QUARANTINE or item is None or item.fragment_id is None:
            return ()
        return (item.fragment_id,)

    def _items(self, moment: Moment) -> tuple[tuple[ReviewItem, ...], tuple[ReviewItem, ...]]:
        """The item as answered, and the one that a proposal opens for an administrator."""
        item, administrator = self.question.item, self.question.administrator
        if item is None:
            return (), ()
        answered = plan_answered_items((), item, self.decision.action, self.decision_id)
        if self.decision.action is not DecisionKind.PROPOSE_PREDICATE or administrator is None:
            return answered, ()
        proposed = proposed_question(
            item,
            ItemId(self.ids.part(_ITEMS).part(1).nth(0)),
            administrator=administrator,
            reason=PROPOSED_PREDICATE,
            proposed=self.decision.predicate,
            at=moment.at,
        )
        return answered, (proposed,)

    def _rebound(self) -> tuple[DecidedObservation, ...]:
        """The observations of which the decision says something, as they are bound after it."""
        action, item = self.decision.action, self.question.item
        if action in (DecisionKind.PROPOSE_PREDICATE, DecisionKind.RETRY_VERIFICATION, DecisionKind.RELEASE_QUARANTINE):
            return ()
        given_up = action in (DecisionKind.REJECT, DecisionKind.CORRECT)
        if item is not None and item.kind is ItemKind.RELATIONSHIP:
            return ()
        return tuple(
            rebound(
                one,
                self.question,
                entity_id=None if self.named is None else self.named.entity_id,
                predicate=self.predicate,
                given_up=given_up,
            )
            for one in self.question.waiting_for(self.decision)
        )

    def _placements(
        self,
        moments: Iterator[Moment],
        state: dict[Slot, SlotView],
        texts: Mapping[Slot, Sequence[tuple[FragmentId, str]]],
    ) -> tuple[list[PlannedRevision], list[RelationshipAnswer]]:
        revisions: list[PlannedRevision] = []
        answers: list[RelationshipAnswer] = []
        waiting = self.waiting
        if waiting is None:
            return revisions, answers
        bound = waiting.bound(self.facts)
        near = self.near_duplicates(waiting, bound, waiting.fragments, texts)
        for number, (one, observation) in enumerate(zip(bound, waiting.observations, strict=True)):
            placing = Placing(
                caller=self.owner,
                ingest_id=observation.ingest_id,
                observation_id=observation.observation_id,
                number=number,
                bound=one,
                moment=next(moments),
                evidence=waiting.prepared.evidence,
                fragments=waiting.fragments,
                near=near,
                facts=self.facts,
                verification=self.verification,
                predicate_words=(),
                asked_phrases={},
                ids=self.ids.part(_PLACEMENTS).part(number),
                actor=self.actor,
            )
            revision, answer = placing.placed(state)
            revisions.append(replace(revision, verdicts=later_verdicts(placing, observation.observation_id, waiting)))
            answers.append(_answer(answer, observation, waiting))
            if revision.before is not None:
                apply_to(state, revision)
        return revisions, answers

    def _left(self) -> list[RelationshipAnswer]:
        """What the decision was about and does not place: given up, or still waiting for something else."""
        placed = {one.observation_id for one in self.waiting.observations} if self.waiting is not None else set()
        return [
            RelationshipAnswer(
                proposal_id=one.proposal_id,
                observation_id=one.observation_id,
                outcome=OutcomeKind.REJECTED if one.given_up else OutcomeKind.NEEDS_REVIEW,
                rule="R5.2",
                reason=self.decision.action.value if one.given_up else "still_asked",
            )
            for one in self._rebound()
            if one.observation_id not in placed
        ]

    def _moments(self) -> Iterator[Moment]:
        reading = self.reading
        while True:
            moment = reading.next_moment()
            yield moment
            reading = reading.after(moment)


def later_verdicts(placing: Placing, observation_id: StatementId, waiting: Waiting) -> tuple[LaterVerdict, ...]:
    """What the verifier said of an observation that was recorded before, if it was asked."""
    finding = placing.finding()
    if finding is None:
        return ()
    fragment_ids = tuple(one.fragment_id for one in waiting.fragments)
    return (LaterVerdict(observation_id=observation_id, finding=finding, fragment_ids=fragment_ids),)


def ready_observations(
    question: Question,
    decision: PlacementDecision,
    *,
    entity_id: EntityId | None,
    predicate: Predicate | None,
) -> tuple[DecidedObservation, ...]:
    """The observations that can be placed after a decision: everything that they name is known then."""
    if decision.action not in PLACING:
        return ()
    named = [
        rebound(one, question, entity_id=entity_id, predicate=predicate, given_up=False)
        for one in question.waiting_for(decision)
    ]
    return tuple(one for one in named if one.is_bound)


def called(change_kind: str, planned: PlannedDecision) -> PlannedDecision:
    """The plan with the name that the ledger gives to each of its revisions."""
    revisions = tuple(replace(one, change_kind=change_kind) for one in planned.submission.revisions)
    return replace(planned, submission=replace(planned.submission, revisions=revisions))


def _answer(answer: RelationshipAnswer, observation: DecidedObservation, waiting: Waiting) -> RelationshipAnswer:
    """The answer under the names that the observation had in its own submission."""
    return replace(
        answer,
        proposal_id=observation.proposal_id,
        cited_fragment_ids=tuple(one.fragment_id for one in waiting.fragments),
    )


def _entity_answers(named: NamedEntity, facts: SubmissionFacts) -> tuple[EntityAnswer, ...]:
    shown = facts.names.get(named.entity_id)
    return tuple(
        EntityAnswer(
            ref=mention.ref,
            entity_id=named.entity_id,
            kind=mention.kind if shown is None else shown.kind,
            name=given.name if shown is None else shown.name,
            created=named.is_new,
            known=not named.is_new,
        )
        for mention, given in zip(named.mentions, named.given, strict=True)
    )
