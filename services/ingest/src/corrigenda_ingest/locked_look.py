"""Plans a submission on the state that a transaction shows: a commit under the team's lock, or a preflight's snapshot.

Both do the very same, so that a preflight says what a commit would do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.ingest_store import SubmissionFacts
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.slot_store import CaseRowVersions
from corrigenda_core.persistence.team_clock import ClockReading

from corrigenda_ingest.computing import SLOT_AS_CODE_POINTS, computed
from corrigenda_ingest.outside import FoundOutside
from corrigenda_ingest.planning import SubmissionPlanner
from corrigenda_ingest.slot_look import SlotLook, looks_of
from corrigenda_ingest.submission import PlannedSubmission
from corrigenda_ingest.touched_slots import load_slots

_PLAN_IDS = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What a transaction shows: the team's clock, what was prefetched, and a way to fetch more."""

    reading: ClockReading
    prefetched: Mapping[str, list[Row]]
    fetch_all: Callable[[Sequence[Query]], Awaitable[dict[str, list[Row]]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedInSight:
    """A plan with the facts that it was made from, and the versions of the rows that its cases stand in."""

    planned: PlannedSubmission
    facts: SubmissionFacts
    versions: CaseRowVersions


class LockedLook:
    """The second look at one submission of a caller."""

    def __init__(self, caller: Caller, outside: FoundOutside) -> None:
        self._caller = caller
        self._outside = outside
        self._guessed = looks_of(caller.team_id, outside.bound, outside.prepared)

    def queries(self) -> list[Query]:
        """What to prefetch: the facts again, and each slot that the submission is expected to speak in."""
        return [*self._outside.queries.queries(), *(query for look in self._guessed for query in look.queries())]

    async def planned(self, sight: Sight) -> PlannedInSight:
        """The plan on what a transaction shows.

        Raises:
            Refusal: CONTENTION if a predicate was registered since the verifier read the text; as
                `SubmissionPlanner.planned` does.
        """
        outside = self._outside
        facts = outside.queries.facts(sight.prefetched)
        _require_same_predicates(outside.facts, facts)
        planner = SubmissionPlanner(
            caller=self._caller,
            prepared=outside.prepared,
            verification=outside.verification,
            facts=facts,
            reading=sight.reading,
            ids=outside.ids.part(_PLAN_IDS),
            predicate_words=outside.predicate_words,
        )
        looks = looks_of(self._caller.team_id, planner.bound(), outside.prepared)
        answers = await self._answers(sight, looks)
        versions = CaseRowVersions()
        views = {look.slot: look.view(answers, facts) for look in looks}
        beside = {slot: predicate for slot, predicate in facts.touched.items() if slot not in views}
        views |= await load_slots(sight.fetch_all, self._caller.team_id, beside, versions)
        texts = {look.slot: look.texts(answers) for look in looks}
        compared = sum(len(text) for of_slot in texts.values() for _, text in of_slot)
        compared += SLOT_AS_CODE_POINTS * len(beside)
        planned = await computed(compared, lambda: planner.planned(views, texts))
        for look in looks:
            look.load_versions(answers, versions)
        return PlannedInSight(planned=planned, facts=facts, versions=versions)

    async def _answers(self, sight: Sight, looks: list[SlotLook]) -> Mapping[str, list[Row]]:
        """What was prefetched of the slots; a slot that was not foreseen is loaded now, while the team may wait."""
        if looks == self._guessed:
            return sight.prefetched
        return await sight.fetch_all([query for look in looks for query in look.queries()])


def _require_same_predicates(outside: SubmissionFacts, inside: SubmissionFacts) -> None:
    """The verifier read the text by the predicates that were registered then.

    Raises:
        Refusal: CONTENTION if a registration came between; asking again reads the new one.
    """
    if outside.predicates != inside.predicates:
        raise Refusal(
            Reason.CONTENTION,
            "a predicate was registered while the text was verified",
            retry_after_seconds=0.0,
        )
