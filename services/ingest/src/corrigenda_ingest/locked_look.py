"""Plans submissions on the state that a transaction shows: a commit under the team's lock, or a preflight's snapshot.

Both do the very same, so that a preflight says what a commit would do. Several submissions of one caller are planned
one after the other, each on what the last one left.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import FragmentId
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.slots import SlotView
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.ingest_store import SubmissionFacts
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.slot_store import CaseRowVersions
from corrigenda_core.persistence.team_clock import ClockReading

from corrigenda_ingest.computing import SLOT_AS_CODE_POINTS, computed
from corrigenda_ingest.outside import FoundOutside
from corrigenda_ingest.planning import SubmissionPlanner, apply_to
from corrigenda_ingest.slot_look import SlotLook, fact_queries, looks_of, referred_slots, spoken_in
from corrigenda_ingest.submission import BoundRelationship, PlannedSubmission, PreparedRelationship
from corrigenda_ingest.submission_ids import plan_ids_of
from corrigenda_ingest.touched_slots import load_slots


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What a transaction shows: the team's clock, what was prefetched, and a way to fetch more."""

    reading: ClockReading
    prefetched: Mapping[str, list[Row]]
    fetch_all: Callable[[Sequence[Query]], Awaitable[dict[str, list[Row]]]]


@dataclass(slots=True, kw_only=True)
class SeenState:
    """What was seen: the facts, and the slots and their texts as the submissions planned so far leave them.

    ``versions`` are those of the rows that cases stand in; the writer takes them. ``as_outside`` says that nothing was
    made known since the look outside.
    """

    caller: Caller
    facts: SubmissionFacts
    views: dict[Slot, SlotView]
    texts: dict[Slot, list[tuple[FragmentId, str]]]
    versions: CaseRowVersions = field(default_factory=CaseRowVersions)
    as_outside: bool = False

    async def planned(self, outside: FoundOutside, reading: ClockReading) -> PlannedSubmission:
        """The plan of the next submission, which is part of the state from then on.

        Raises:
            Refusal: CONTENTION if a predicate was registered since the verifier read the text; as
                `SubmissionPlanner.planned` does. The state is as it was.
        """
        _require_same_predicates(outside, self.facts)
        planner = _planner(self.caller, outside, self.facts, reading)
        # A question says when it was asked, and that is now.
        if self.as_outside and all(one.item is None for one in outside.entities):
            planner = replace(planner, meant=outside.entities)
        bound = planner.bound
        slots = {one.slot for one in bound if one.slot is not None}
        views = {slot: self.views.get(slot) or _empty_view(slot, bound) for slot in slots}
        # A source that moves on changes slots that the submission does not speak in.
        views |= {slot: self.views[slot] for slot in self.facts.touched if slot not in views}
        # A reference to another slot's relationship opens a case there.
        views |= {slot: self.views[slot] for slot in referred_slots(bound, self.facts) if slot not in views}
        texts = {slot: self.texts.get(slot, []) for slot in slots}
        compared = sum(len(text) for of_slot in texts.values() for _, text in of_slot)
        compared += SLOT_AS_CODE_POINTS * len(self.facts.touched)
        planned = await computed(compared, lambda: planner.planned(views, texts))
        self.views.update(views)
        for revision in planned.revisions:
            apply_to(self.views, revision)
        self.facts = _with_questions(self.facts, planned)
        said = [
            (fragment.fragment_id, outside.prepared.evidence[fragment.index].given.content)
            for fragment in planned.fragments
            if fragment.is_new
        ]
        self.texts.update({slot: [*of_slot, *said] for slot, of_slot in texts.items()})
        return planned


class LockedLook:
    """The second look at submissions of one caller; those of a batch do not depend on each other."""

    def __init__(self, caller: Caller, outsides: Sequence[FoundOutside]) -> None:
        self._caller = caller
        self._outsides = outsides
        # A phrase that meant a predicate outside must mean it here too, so nobody is asked about it.
        unknown = {one.form for outside in outsides for one in _unknown(outside)}
        self._facts = replace(fact_queries(caller, [one.prepared for one in outsides]), phrases=unknown)
        spoken = [
            one
            for outside in outsides
            for one in spoken_in(outside.prepared, outside.entities, outside.bound, outside.facts)
        ]
        self._guessed = looks_of(caller.team_id, spoken)

    def queries(self) -> list[Query]:
        """What to prefetch: the facts again, and each slot that the submissions are expected to speak in."""
        return [*self._facts.queries(), *(query for look in self._guessed for query in look.queries())]

    async def seen(self, sight: Sight) -> SeenState:
        """What a transaction shows, before any of the submissions is planned."""
        facts = self._facts.facts(sight.prefetched)
        as_outside = self._is_as_outside(facts)
        looks = self._guessed if as_outside else self._looks(facts, sight)
        answers = await self._answers(sight, looks)
        versions = CaseRowVersions()
        for look in looks:
            look.load_versions(answers, versions)
        views = {look.slot: look.view(answers, facts) for look in looks}
        beside = {slot: predicate for slot, predicate in facts.touched.items() if slot not in views}
        views |= await load_slots(sight.fetch_all, self._caller.team_id, beside, versions)
        return SeenState(
            caller=self._caller,
            facts=facts,
            views=views,
            texts={look.slot: look.texts(answers) for look in looks},
            versions=versions,
            as_outside=as_outside,
        )

    def _is_as_outside(self, facts: SubmissionFacts) -> bool:
        # A batch was looked at together: its facts are one object.
        seen = {id(one.facts): one.facts for one in self._outsides}.values()
        return all(replace(one, asked_phrases=facts.asked_phrases) == facts for one in seen)

    def _looks(self, facts: SubmissionFacts, sight: Sight) -> list[SlotLook]:
        """The slots to look at by these facts."""
        spoken = [one for outside in self._outsides for one in self._spoken(outside, facts, sight)]
        return looks_of(self._caller.team_id, spoken)

    def _spoken(self, outside: FoundOutside, facts: SubmissionFacts, sight: Sight) -> list[tuple[Slot, list[int]]]:
        """The slots that a submission speaks in by these facts; one that is refused by them speaks in none."""
        planner = _planner(self._caller, outside, facts, sight.reading)
        try:
            return spoken_in(outside.prepared, planner.entities, planner.bound, facts)
        except Refusal:
            return []

    async def _answers(self, sight: Sight, looks: list[SlotLook]) -> Mapping[str, list[Row]]:
        """What was prefetched of the slots; a slot that was not foreseen is loaded now, while the team may wait."""
        if looks == self._guessed:
            return sight.prefetched
        return await sight.fetch_all([query for look in looks for query in look.queries()])


def _unknown(outside: FoundOutside) -> list[PreparedRelationship]:
    """What was proposed in phrases that meant no predicate then."""
    return [one for one in outside.prepared.relationships if one.form not in outside.facts.predicates]


def _planner(caller: Caller, outside: FoundOutside, facts: SubmissionFacts, reading: ClockReading) -> SubmissionPlanner:
    return SubmissionPlanner(
        caller=caller,
        prepared=outside.prepared,
        verification=outside.verification,
        facts=facts,
        reading=reading,
        ids=plan_ids_of(outside.ids),
        predicate_words=outside.predicate_words,
    )


def _with_questions(facts: SubmissionFacts, planned: PlannedSubmission) -> SubmissionFacts:
    """The facts with the questions about unknown phrases as a submission leaves them: the next one joins them."""
    asked = {
        bound.prepared.form: answer.item
        for bound, answer in zip(planned.bound, planned.answers, strict=True)
        if bound.predicate is None and answer.item is not None
    }
    return replace(facts, asked_phrases={**facts.asked_phrases, **asked}) if asked else facts


def _empty_view(slot: Slot, bound: Sequence[BoundRelationship]) -> SlotView:
    """The slot of a subject that nobody has spoken of yet."""
    predicate = next(one.predicate for one in bound if one.slot == slot and one.predicate is not None)
    return SlotView(slot=slot, predicate=predicate)


def _require_same_predicates(outside: FoundOutside, inside: SubmissionFacts) -> None:
    """The verifier read the text by the predicates that were registered then.

    Raises:
        Refusal: CONTENTION if a registration came between; asking again reads the new one.
    """
    forms = {one.form for one in outside.prepared.relationships}
    if any(outside.facts.predicates.get(form) != inside.predicates.get(form) for form in forms):
        raise Refusal(
            Reason.CONTENTION,
            "a predicate was registered while the text was verified",
            retry_after_seconds=0.0,
        )
