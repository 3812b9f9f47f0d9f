"""Plans a whole submission under the team's lock: fragments first, then one placement after the other.

Everything here is a function of what was loaded. Each placement has a revision of its own and sees what the last one
left; the first revision also carries the evidence, the entities and the observations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from corrigenda_core.domain.actors import Actor, ActorKind, Caller
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.ids import FragmentId, IdRange, IngestId, PredicateKey, ProfileId, StatementId
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.domain.sources import RetiredFragment
from corrigenda_core.domain.time import Moment
from corrigenda_core.persistence.ingest_store import SubmissionFacts
from corrigenda_core.persistence.team_clock import ClockReading
from corrigenda_core.policy.support_switches import plan_fragment_retirement
from corrigenda_core.policy.view_changes import apply_changes, with_neighbour
from corrigenda_core.ports.providers import VerifierAnswer

from corrigenda_ingest.binding import bound_entities, bound_relationships
from corrigenda_ingest.fragment_plan import FragmentPlanner
from corrigenda_ingest.merging import Merging
from corrigenda_ingest.outside import Verification
from corrigenda_ingest.placing import Placing
from corrigenda_ingest.requirements import require_all
from corrigenda_ingest.source_plan import planned_sources, require_bounded
from corrigenda_ingest.submission import (
    BoundRelationship,
    EntityAnswer,
    PlannedRevision,
    PlannedSubmission,
    PreparedSubmission,
    RelationshipAnswer,
)
from corrigenda_ingest.submission_ids import (
    ENTITIES,
    FRAGMENTS,
    ITEMS,
    MERGING,
    OBSERVATIONS,
    PLACEMENTS,
    RETIRING,
)
from corrigenda_ingest.touched_slots import SlotChange

CHANGE_KIND = "retire_fragments"


@dataclass(frozen=True, kw_only=True)  # without slots, so that what the words mean is found out once
class SubmissionPlanner:
    """Plans one submission of one caller; ``ids`` is the submission's own range.

    ``meant`` is what its mentions mean, where that was decided by the same facts already.
    """

    caller: Caller
    prepared: PreparedSubmission
    verification: Verification
    facts: SubmissionFacts
    reading: ClockReading
    ids: IdRange
    predicate_words: Sequence[tuple[PredicateKey, tuple[str, ...]]] = ()
    meant: tuple[EntityAnswer, ...] | None = None

    @cached_property
    def bound(self) -> tuple[BoundRelationship, ...]:
        """What the proposed relationships mean; says which slots have to be loaded.

        Raises:
            Refusal: see `bound_entities` and `bound_relationships`.
        """
        return bound_relationships(self.prepared, self.facts, self.entities)

    def planned(
        self, views: Mapping[Slot, SlotView], texts: Mapping[Slot, Sequence[tuple[FragmentId, str]]]
    ) -> PlannedSubmission:
        """The whole plan.

        Args:
            views: every slot that `bound` names or a source has touched, as the transaction sees it.
            texts: of each slot that `bound` names, the texts that speak in it already.

        Raises:
            Refusal: nothing of the submission may be stored: a case that is stale or foreign to it, a target that is
                missing, stale or unrelated, an origin that is missing, a question that its sentence does not answer.
        """
        bound = self.bound
        require_all(self.prepared, bound, self.facts, owner_id=self.caller.profile_id)
        sources = planned_sources(self.prepared, self.facts, author_id=self.caller.profile_id)
        require_bounded(sources, self.facts)
        ingest_id = self._ingest_id
        evidence = FragmentPlanner(
            author_id=self.caller.profile_id,
            ingest_id=ingest_id,
            prepared=self.prepared,
            facts=self.facts,
            sources=sources,
            ids=self.ids.part(FRAGMENTS),
            item_ids=self.ids.part(ITEMS),
            at=self.reading.next_moment().at,
        )
        fragments = evidence.fragments()
        near = evidence.near_duplicates(bound, fragments, texts)
        retired = sources.retired([one.fragment_id for one in fragments])
        state = dict(views)
        revisions: list[PlannedRevision] = []
        placed: dict[int, tuple[PlannedRevision, RelationshipAnswer]] = {}
        moments = self._moments()
        asked = dict(self.facts.asked_phrases)
        for number in _order(bound, state, retired, self.caller.profile_id, self._merges):
            if number is None:
                revision = self._retiring(retired, state, next(moments))
            else:
                placing = Placing(
                    caller=self.caller,
                    ingest_id=ingest_id,
                    observation_id=StatementId(self.ids.part(OBSERVATIONS).nth(number)),
                    number=number,
                    bound=bound[number],
                    moment=next(moments),
                    evidence=self.prepared.evidence,
                    fragments=fragments,
                    near=near,
                    facts=self.facts,
                    verification=self.verification,
                    predicate_words=self.predicate_words,
                    asked_phrases=asked,
                    ids=self.ids.part(PLACEMENTS).part(number),
                )
                revision, answer = placing.placed(state)
                placed[number] = revision, answer
                if bound[number].predicate is None and answer.item is not None:
                    asked[bound[number].prepared.form] = answer.item
            revisions.append(revision)
            apply_to(state, revision)
        answers = [_as_left(placed[number][1], state) for number in range(len(bound))]
        resolution = None
        if self.prepared.given.resolution_context is not None:
            merging = Merging(
                caller=self.caller,
                answered=self.prepared.given.resolution_context,
                facts=self.facts,
                moment=next(moments),
                ids=self.ids.part(MERGING),
            )
            revision, answers[0], resolution = merging.merged(answers[0], bound[0].slot, placed[0][0])
            revisions.append(revision)
        return PlannedSubmission(
            ingest_id=ingest_id,
            prepared=self.prepared,
            fragments=fragments,
            entities=self.entities,
            bound=bound,
            answers=tuple(answers),
            verifier=self.verification.verifier if isinstance(self.verification, VerifierAnswer) else "",
            revisions=tuple(revisions) or (PlannedRevision(moment=next(moments)),),
            sources=sources.states,
            resolution=resolution,
        )

    def _retiring(
        self, retired: Sequence[RetiredFragment], state: Mapping[Slot, SlotView], moment: Moment
    ) -> PlannedRevision:
        """The revision in which what sources have left behind loses its effect, in every slot and for every owner."""
        ids = self.ids.part(RETIRING)
        actor = Actor(kind=ActorKind.PROFILE, profile_id=self.caller.profile_id)
        changes = []
        for number, slot in enumerate(sorted(state, key=lambda one: (one.subject_id, one.predicate, one.scope))):
            context = PlanContext(moment=moment, ids=ids.part(number), actor=actor, policy=self.facts.policy)
            planned = plan_fragment_retirement(state[slot], context, retired)
            if planned != Changes():
                changes.append(SlotChange(before=state[slot], changes=planned))
        return PlannedRevision(moment=moment, change_kind=CHANGE_KIND, retired=tuple(retired), beside=tuple(changes))

    @property
    def _merges(self) -> bool:
        """Whether the submission is the sentence that answers a question."""
        return self.prepared.given.resolution_context is not None

    @property
    def _ingest_id(self) -> IngestId:
        return IngestId(self.ids.nth(0))

    @cached_property
    def entities(self) -> tuple[EntityAnswer, ...]:
        """What the mentions mean, in their order."""
        if self.meant is not None:
            return self.meant
        return bound_entities(
            self.prepared,
            self.facts,
            owner_id=self.caller.profile_id,
            ingest_id=self._ingest_id,
            ids=self.ids.part(ENTITIES),
            at=self.reading.next_moment().at,
        )

    def _moments(self) -> Iterator[Moment]:
        reading = self.reading
        while True:
            moment = reading.next_moment()
            yield moment
            reading = reading.after(moment)


def apply_to(state: dict[Slot, SlotView], revision: PlannedRevision) -> None:
    """Makes the slots what a revision leaves: those that it changes, and those that stand beside them."""
    for change in revision.slot_changes:
        changed = change.before.slot
        state[changed] = apply_changes(change.before, change.changes)
        beside = [slot for slot, view in state.items() if view.rows_beside or change.changes.cases]
        for slot in beside:
            if slot != changed:
                state[slot] = with_neighbour(state[slot], changed, change.changes)


def _order(
    bound: Sequence[BoundRelationship],
    state: Mapping[Slot, SlotView],
    retired: Sequence[RetiredFragment],
    owner_id: ProfileId,
    merges: bool,
) -> list[int | None]:
    """In which order the relationships are placed; ``None`` stands for what the sources have left behind.

    What a source still says is placed before its last revision loses its effect, so that the relationship goes on;
    everything else afterwards, so that the last revision cannot dispute it.
    """
    numbers = range(len(bound))
    if not retired:
        return list(numbers)
    leaving = {one.fragment_id for one in retired}
    going_on = [] if merges else [n for n in numbers if _goes_on(bound[n], state, leaving, owner_id)]
    return [*going_on, None, *(n for n in numbers if n not in going_on)]


def _goes_on(
    bound: BoundRelationship, state: Mapping[Slot, SlotView], leaving: Collection[FragmentId], owner_id: ProfileId
) -> bool:
    """Whether the owner says what they said on a text that is about to lose its effect."""
    view = None if bound.slot is None else state.get(bound.slot)
    if view is None or bound.object is None:
        return False
    said = (owner_id, bound.object.key, bound.prepared.given.polarity)
    same = {s.statement_id for s in view.statements if (s.owner_id, s.object.key, s.polarity) == said}
    return any(s.effective and s.statement_id in same and s.fragment_id in leaving for s in view.supports)


def _as_left(answer: RelationshipAnswer, state: Mapping[Slot, SlotView]) -> RelationshipAnswer:
    """An answer with the row and the case as the whole submission leaves them."""
    if answer.relationship is None:
        return answer
    view = state[answer.relationship.slot]
    row = next(row for row in view.rows if row.relationship_id == answer.relationship.relationship_id)
    case = next((case for case in view.cases if case.conflict_id == answer.conflict_id), None)
    return replace(answer, relationship=row, conflict_version=answer.conflict_version if case is None else case.version)
