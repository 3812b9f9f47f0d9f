"""Plans a whole submission under the team's lock: fragments first, then one placement after the other.

Everything here is a function of what was loaded. Each placement has a revision of its own and sees what the last one
left; the first revision also carries the evidence, the entities and the observations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.ids import FragmentId, IdRange, IngestId, PredicateKey, StatementId
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.slots import SlotView
from corrigenda_core.domain.time import Moment
from corrigenda_core.persistence.ingest_store import SubmissionFacts
from corrigenda_core.persistence.team_clock import ClockReading
from corrigenda_core.policy.view_changes import apply_changes
from corrigenda_core.ports.providers import VerifierAnswer

from corrigenda_ingest.binding import bound_entities, bound_relationships
from corrigenda_ingest.fragment_plan import FragmentPlanner
from corrigenda_ingest.merging import Merging
from corrigenda_ingest.outside import Verification
from corrigenda_ingest.placing import Placing
from corrigenda_ingest.requirements import require_all
from corrigenda_ingest.submission import (
    BoundRelationship,
    EntityAnswer,
    PlannedRevision,
    PlannedSubmission,
    PreparedSubmission,
    RelationshipAnswer,
)
from corrigenda_ingest.submission_ids import ENTITIES, FRAGMENTS, ITEMS, MERGING, OBSERVATIONS, PLACEMENTS


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionPlanner:
    """Plans one submission of one caller; ``ids`` is the submission's own range."""

    caller: Caller
    prepared: PreparedSubmission
    verification: Verification
    facts: SubmissionFacts
    reading: ClockReading
    ids: IdRange
    predicate_words: Sequence[tuple[PredicateKey, tuple[str, ...]]] = ()

    def bound(self) -> tuple[BoundRelationship, ...]:
        """What the proposed relationships mean; says which slots have to be loaded.

        Raises:
            Refusal: see `bound_entities` and `bound_relationships`.
        """
        return bound_relationships(self.prepared, self.facts, self.entities())

    def planned(
        self, views: Mapping[Slot, SlotView], texts: Mapping[Slot, Sequence[tuple[FragmentId, str]]]
    ) -> PlannedSubmission:
        """The whole plan.

        Args:
            views: every slot that `bound` names, as the transaction sees it.
            texts: of each such slot, the texts that speak in it already.

        Raises:
            Refusal: nothing of the submission may be stored: a case that is stale or foreign to it, a target that is
                missing, stale or unrelated, an origin that is missing, a question that its sentence does not answer.
        """
        bound = self.bound()
        require_all(self.prepared, bound, self.facts, owner_id=self.caller.profile_id)
        ingest_id = self._ingest_id
        evidence = FragmentPlanner(
            author_id=self.caller.profile_id,
            ingest_id=ingest_id,
            prepared=self.prepared,
            facts=self.facts,
            ids=self.ids.part(FRAGMENTS),
            item_ids=self.ids.part(ITEMS),
            at=self.reading.next_moment().at,
        )
        fragments = evidence.fragments()
        near = evidence.near_duplicates(bound, fragments, texts)
        state = dict(views)
        revisions: list[PlannedRevision] = []
        answers: list[RelationshipAnswer] = []
        moments = self._moments()
        for number, one in enumerate(bound):
            placing = Placing(
                caller=self.caller,
                ingest_id=ingest_id,
                observation_id=StatementId(self.ids.part(OBSERVATIONS).nth(number)),
                number=number,
                bound=one,
                moment=next(moments),
                evidence=self.prepared.evidence,
                fragments=fragments,
                near=near,
                facts=self.facts,
                verification=self.verification,
                predicate_words=self.predicate_words,
                ids=self.ids.part(PLACEMENTS).part(number),
            )
            revision, answer = placing.placed(state)
            revisions.append(revision)
            answers.append(answer)
            if revision.before is not None:
                state[revision.before.slot] = apply_changes(revision.before, revision.changes)
        resolution = None
        if self.prepared.given.resolution_context is not None:
            merging = Merging(
                caller=self.caller,
                answered=self.prepared.given.resolution_context,
                facts=self.facts,
                moment=next(moments),
                ids=self.ids.part(MERGING),
            )
            revision, answers[0], resolution = merging.merged(answers[0], bound[0].slot, revisions[0])
            revisions.append(revision)
        return PlannedSubmission(
            ingest_id=ingest_id,
            prepared=self.prepared,
            fragments=fragments,
            entities=self.entities(),
            bound=bound,
            answers=tuple(answers),
            verifier=self.verification.verifier if isinstance(self.verification, VerifierAnswer) else "",
            revisions=tuple(revisions) or (PlannedRevision(moment=next(moments)),),
            resolution=resolution,
        )

    @property
    def _ingest_id(self) -> IngestId:
        return IngestId(self.ids.nth(0))

    def entities(self) -> tuple[EntityAnswer, ...]:
        """What the mentions mean.

        Raises:
            Refusal: see `bound_entities`.
        """
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
