"""What is loaded for submissions: the facts about what they name, and each slot that they speak in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.ids import FragmentId, TeamId
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.slots import SlotView
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.ingest_store import FactQueries, SubmissionFacts, slot_texts
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.slot_store import CaseRowVersions, SlotQueries
from corrigenda_core.persistence.transaction import Transaction

from corrigenda_ingest.submission import BoundRelationship, EntityAnswer, PreparedSubmission


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotLook:
    """The queries of one slot; ``number`` tells those of one submission apart.

    ``bands`` find the texts that could be near duplicates.
    """

    team_id: TeamId
    slot: Slot
    number: int
    bands: tuple[int, ...]

    def queries(self) -> list[Query]:
        """What to send."""
        texts = slot_texts(self.team_id, self.slot, name=self._texts_name, bands=self.bands)
        return [*self._slot.queries(), texts]

    def view(self, answers: Mapping[str, list[Row]], facts: SubmissionFacts) -> SlotView:
        """The slot as the answers show it, with the current version of its predicate."""
        predicate = next(one for one in facts.predicates.values() if one.key == self.slot.predicate)
        return self._slot.view(answers, predicate)

    def load_versions(self, answers: Mapping[str, list[Row]], versions: CaseRowVersions) -> None:
        """Adds the versions of the rows of the slot's cases."""
        self._slot.load_versions(answers, versions)

    def texts(self, answers: Mapping[str, list[Row]]) -> list[tuple[FragmentId, str]]:
        """The texts that speak in the slot already."""
        return [(FragmentId(row["fragment_id"]), row["content"]) for row in answers[self._texts_name]]

    @property
    def _slot(self) -> SlotQueries:
        return SlotQueries(team_id=self.team_id, slot=self.slot, number=self.number)

    @property
    def _texts_name(self) -> str:
        return f"slot_texts:{self.number}"


def looks_of(team_id: TeamId, spoken: Iterable[tuple[Slot, Iterable[int]]]) -> list[SlotLook]:
    """One look for each slot that is spoken of, in an order that depends on the slots alone.

    Args:
        team_id: the team.
        spoken: slots, each with the bands of texts that speak in it; a slot may stand there more than once.
    """
    bands: dict[Slot, set[int]] = {}
    for slot, of_texts in spoken:
        bands.setdefault(slot, set()).update(of_texts)
    return [
        SlotLook(team_id=team_id, slot=slot, number=number, bands=tuple(sorted(bands[slot])))
        for number, slot in enumerate(sorted(bands, key=lambda one: (one.subject_id, one.predicate, one.scope)))
    ]


def looks_at(team_id: TeamId, slots: Iterable[Slot], bands: Iterable[int]) -> list[SlotLook]:
    """One look for each slot; ``bands`` are those of the texts whose near duplicates are looked for."""
    bands = tuple(bands)
    return looks_of(team_id, [(slot, bands) for slot in slots])


async def loaded_answers(
    transaction: Transaction, looks: list[SlotLook], guessed: list[SlotLook]
) -> dict[str, list[Row]]:
    """What was prefetched of the slots; a slot that was not foreseen is loaded now, while the team waits."""
    if looks == guessed:
        return dict(transaction.prefetched)
    return await transaction.fetch_all([query for look in looks for query in look.queries()])


def spoken_in(
    prepared: PreparedSubmission,
    entities: Iterable[EntityAnswer],
    bound: Sequence[BoundRelationship],
    facts: SubmissionFacts,
) -> list[tuple[Slot, list[int]]]:
    """The slots of a submission that may hold something already, with the bands of its texts.

    Nobody has spoken of a subject that the submission itself makes known. A slot that is only referred to has no text
    that could be a copy.
    """
    new = {one.entity_id for one in entities if one.created}
    bands = [band for item in prepared.evidence for band in item.bands]
    spoken = [(one.slot, bands) for one in bound if one.slot is not None and one.slot.subject_id not in new]
    return [*spoken, *((slot, list[int]()) for slot in referred_slots(bound, facts))]


def referred_slots(bound: Iterable[BoundRelationship], facts: SubmissionFacts) -> list[Slot]:
    """Other slots with a relationship that a statement says was wrong."""
    referred = []
    for one in bound:
        named = one.prepared.given.correction_target
        target = None if named is None else facts.targets.get(named.relationship_id)
        if target is None or one.slot is None or one.slot.predicate != target.slot.predicate:
            continue
        if target.slot != one.slot:
            referred.append(target.slot)
    return referred


def fact_queries(caller: Caller, submissions: Collection[PreparedSubmission]) -> FactQueries:
    """The queries for everything that submissions name."""
    evidence = [one for prepared in submissions for one in prepared.evidence]
    mentions = [one for prepared in submissions for one in prepared.mentions]
    relationships = [one for prepared in submissions for one in prepared.relationships]
    given = [one.given for one in relationships]
    resolutions = [prepared.given.resolution_context for prepared in submissions]
    forms = {one.form for one in relationships}
    return FactQueries(
        team_id=caller.team_id,
        profile_id=caller.profile_id,
        forms=forms,
        phrases=forms,
        names={name for mention in mentions for name in mention.names},
        known_entity_ids={one.known_entity_id for one in mentions if one.known_entity_id is not None},
        content_hashes={one.content_sha256 for one in evidence},
        origin_ids={origin for one in evidence for origin in one.given.derived_from_fragment_ids},
        conflict_ids={one.conflict_context.conflict_id for one in given if one.conflict_context is not None},
        target_ids={one.correction_target.relationship_id for one in given if one.correction_target is not None},
        source_groups={one.given.source_group for one in evidence if one.given.source_group},
        source_keys={one.given.source_key for one in evidence if one.given.source_key},
        advanced_keys={
            one.given.source_key for one in evidence if one.given.source_key and one.given.previous_source_revision
        },
        superseded_ids={named for one in evidence for named in one.given.supersedes_fragment_ids},
        item_ids={one.item_id for one in resolutions if one is not None},
    )
