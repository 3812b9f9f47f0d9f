"""A twin without a system: the model alone carries out the commands of the team machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import count

from corrigenda_core.domain.entities import Entity
from corrigenda_core.domain.errors import Refusal
from corrigenda_core.domain.ids import DecisionId, EntityId, FragmentId, ProfileId, RelationshipId, StatementId
from corrigenda_core.domain.items import ReviewItem
from corrigenda_core.domain.objects import EntityObject, Polarity, Slot
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.domain.resolutions import Resolution
from corrigenda_core.domain.sources import RegisteredSource
from corrigenda_core.domain.time import Instant
from corrigenda_core.domain.views import TemporalSelector
from corrigenda_core.policy.visibility import Picture
from corrigenda_core.testing.memory_identity import merge_entities, split_entity
from corrigenda_core.testing.memory_store import profile
from corrigenda_core.testing.memory_team import MemoryTeam, Said
from corrigenda_core.testing.team_twin import BEGAN, PREDICATES, Utterance
from corrigenda_core.testing.wire_trace import expected_lineage

_SECOND = timedelta(seconds=1)


class MemoryTwin:
    """One team of the model, in which names serve as ids. What was once seen of the past is looked at again.

    Attributes:
        model: the team.
        refusals: why commands were refused.
    """

    def __init__(self) -> None:
        self.model = MemoryTeam(BEGAN, PREDICATES)
        self.refusals: list[Refusal] = []
        self._numbers = count()
        self._seen: dict[TemporalSelector, Picture] = {}

    def remember(self, who: str, what: Utterance, *, foreseen: bool = False) -> None:  # noqa: ARG002 - the plan is it
        """See `Twin`."""
        said = said_of(self._actor(who), what, next(self._numbers))
        self._tried(lambda: self.model.remember(said, FragmentId(f"text of {said.statement_id}")))

    def remember_all(self, who: str, what: Sequence[Utterance]) -> None:
        """See `Twin`."""
        said = [said_of(self._actor(who), one, next(self._numbers)) for one in what]
        self._tried(lambda: self.model.remember_all([(one, FragmentId(f"text of {one.statement_id}")) for one in said]))

    def register_source(self, source: RegisteredSource) -> None:
        """See `Twin`."""
        self._tried(lambda: self.model.register_source(ADMINISTRATOR, source))

    def resolve(self, who: str, item: ReviewItem, resolution: Resolution, version: int) -> None:
        """See `Twin`."""
        actor = profile(self._actor(who))
        self._tried(lambda: self.model.resolve(item.item_id, resolution, expected_version=version, actor=actor))

    def merge(self, who: str, item: ReviewItem, what: Utterance) -> None:
        """See `Twin`."""
        said = said_of(self._actor(who), what, next(self._numbers))
        fragment_id = FragmentId(f"text of {said.statement_id}")
        self._tried(lambda: self.model.merge_text(item.item_id, said, item.version, fragment_id))

    def end(self, who: str, row: Relationship, at: Instant | None) -> None:
        """See `Twin`."""
        self._tried(lambda: self.model.end(row.relationship_id, at, actor=profile(self._actor(who))))

    def retract(self, who: str, row: Relationship, *, revive: bool) -> None:
        """See `Twin`."""
        actor = profile(self._actor(who))
        self._tried(lambda: self.model.retract(row.relationship_id, revive=revive, actor=actor))

    def retract_text(self, who: str, fragment_id: FragmentId) -> None:
        """See `Twin`."""
        self._tried(lambda: self.model.retract_everywhere(self._actor(who), fragment_id))

    def revert(self, who: str, decision_id: DecisionId) -> None:
        """See `Twin`."""
        self._tried(lambda: self.model.revert(decision_id, actor=profile(self._actor(who))))

    def split(self, who: str, row: Relationship, entity_id: EntityId, name: str) -> None:
        """What carries a relationship is about another entity than that; the new one is called by a name."""
        statements = self.model.view(row.slot).statements
        chosen = [one.statement_id for one in statements if one.relationship_id == row.relationship_id]
        self._tried(lambda: split_entity(self.model, self._actor(who), entity_id, EntityId(name), chosen))

    def merge_entities(self, who: str, source_id: EntityId, target_id: EntityId) -> None:
        """What somebody has said of an entity is about another one."""
        # Nothing else of them is of use where both are given by their ids, and are of one kind.
        source, target = (Entity(entity_id=one, kind="thing", names=frozenset()) for one in (source_id, target_id))
        self._tried(lambda: merge_entities(self.model, self._actor(who), source, target))

    def adopt(self, who: str, row: Relationship, fragment_id: FragmentId) -> None:
        """See `Twin`."""
        self._tried(lambda: self.model.adopt(self._actor(who), row.relationship_id, fragment_id))

    def erase(self, fragment_id: FragmentId) -> None:
        """See `Twin`."""
        self._tried(lambda: self.model.erase(ADMINISTRATOR, fragment_id))

    def drive(self, time: Instant) -> None:
        """See `Twin`."""
        self.model.now = time
        self.review()

    def review(self) -> None:
        """See `Twin`."""
        for conflict_id, versions in list(self.model.cases().items()):
            if versions[-1].row.live:
                self.model.review(conflict_id)

    def repeat(self) -> None:
        """See `Twin`; what is stored to answer a repetition with is no part of the model."""

    def look_back(self, subject: str, selector: TemporalSelector) -> None:  # noqa: ARG002 - a picture shows all of them
        """See `Twin`."""
        self._seen.setdefault(selector, self.model.picture(selector))

    def trace(self, row_id: RelationshipId) -> None:
        """See `Twin`; the commits alone must tell how the relationship came to be what it is."""
        assert len(expected_lineage(self.model, row_id).transitions) == self.model.row(row_id).version

    def name_of(self, named: str) -> str:
        """See `Twin`."""
        return named

    def close(self) -> None:
        """Whatever was seen is seen again."""
        for selector, picture in self._seen.items():
            assert self.model.picture(selector) == picture, f"{selector} shows something else by now"

    def _actor(self, who: str) -> ProfileId:
        return ProfileId(who)

    def _tried(self, command: Callable[[], object]) -> None:
        """Runs a command a second later; one that is refused has done nothing."""
        revisions, items = len(self.model.revisions), dict(self.model.items())
        try:
            command()
        except Refusal as refusal:
            self.refusals.append(refusal)
            assert (len(self.model.revisions), dict(self.model.items())) == (revisions, items)
        self.model.now += _SECOND


ADMINISTRATOR = profile(ProfileId("administrator"))


def said_of(owner_id: ProfileId, what: Utterance, number: int) -> Said:
    """An utterance of the model, whose names are ids."""
    return Said(
        statement_id=StatementId(f"s{number}"),
        owner_id=owner_id,
        content=what.content,
        slot=Slot(subject_id=EntityId(what.subject), predicate=what.predicate, scope=what.scope),
        object=EntityObject(entity_id=EntityId(what.value)),
        polarity=Polarity.NEGATIVE if what.denied else Polarity.POSITIVE,
        valid_from=what.valid_from,
        valid_to=what.valid_to,
        occurred_at=what.occurred_at,
        source_group=what.source_group,
        source_key=what.source_key,
        source_revision=what.source_revision,
        previous_source_revision=what.previous_source_revision,
        authority=what.authority,
        target=what.target,
        answer=what.answer,
    )
