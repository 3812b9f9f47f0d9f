"""One owner's slot in a memory store, in the notation of `said`: what an owner does to it, by the planners alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from corrigenda_core.domain.actors import Actor
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.ids import ConflictId, ItemId, ProfileId, RelationshipId
from corrigenda_core.domain.items import ItemStatus, ReviewItem
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.predicates import Predicate
from corrigenda_core.domain.relationships import Statement
from corrigenda_core.domain.resolutions import Resolution
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.domain.time import Instant
from corrigenda_core.domain.views import TemporalSelector
from corrigenda_core.policy.case_review import ReviewPlan
from corrigenda_core.testing.memory_store import MemoryStore, profile
from corrigenda_core.testing.slot_ledger import described, support_of
from corrigenda_core.testing.slots import OWNER, SLOT, day, said

_MINUTE = timedelta(minutes=1)


class OwnerSlot:
    """A slot whose statements are named ``s0``, ``s1``, ... in the order of recording, a minute apart."""

    def __init__(self, by: Predicate) -> None:
        self.store = MemoryStore(day("1 Jun"))
        self.store.register(by)
        self._said = 0

    def context(self) -> PlanContext:
        """The owner's next commit."""
        return self.store.context(profile(OWNER))

    @property
    def view(self) -> SlotView:
        """The slot as it stands."""
        return self.store.view(SLOT)

    def place(
        self, line: str, *, owner: ProfileId = OWNER, corrects: str | None = None, group: str | None = None
    ) -> Changes:
        """Places one statement, supported by a text of its own."""
        statement = self._next(line, owner, SLOT)
        target = None if corrects is None else self.row_id(corrects)
        return self._then(self.store.place(statement, [support_of(statement, group=group)], target))

    def resolve(
        self, resolution: Resolution, *, expected_version: int | None = None, actor: Actor | None = None
    ) -> Changes:
        """Answers the one pending item of the slot."""
        return self._then(
            self.store.resolve(self.item().item_id, resolution, expected_version=expected_version, actor=actor)
        )

    def merge(self, line: str, expected_version: int, *, scope: Slot = SLOT, item_id: ItemId | None = None) -> Changes:
        """Answers an item, or the one pending item, with a sentence of the owner."""
        self.store.views(scope)
        sentence = self._next(line, OWNER, scope)
        asked = item_id or self.item().item_id
        return self._then(self.store.merge(asked, sentence, [support_of(sentence)], expected_version))

    def retract(self, name: str, *, revive: bool = True) -> Changes:
        """Takes back the relationship that carries a statement."""
        return self._then(self.store.retract(self.row_id(name), revive=revive))

    def end(self, name: str, at: str | None = None) -> Changes:
        """Ends the relationship that carries a statement."""
        return self._then(self.store.end(self.row_id(name), None if at is None else day(at)))

    def revert(self, changes: Changes) -> Changes:
        """Takes the decision of some changes back."""
        return self._then(self.store.revert(changes.decision_records[0].decision_id))

    def review(self, conflict_id: ConflictId, at: Instant | None = None) -> ReviewPlan:
        """Looks at a case, at once or later."""
        self.store.now = at or self.store.now
        return self.store.review(conflict_id)

    def commit(self, changes: Changes) -> Changes:
        """Applies a plan that was made for the slot."""
        return self._then(self.store.commit(SLOT, changes))

    def item(self) -> ReviewItem:
        """The one pending item."""
        (item,) = [item for item in self.view.items if item.status is ItemStatus.PENDING]
        return item

    def row_id(self, name: str) -> RelationshipId:
        """The row that carries a statement."""
        row_id = next(s.relationship_id for s in self.view.statements if s.statement_id == name)
        assert row_id is not None
        return row_id

    def rows(self) -> list[str]:
        """All rows in the order of first recording, as ``value start..end status``."""
        return described(self.view.rows)

    def in_force(self, at: str, *, selector: TemporalSelector | None = None) -> list[str]:
        """The values in force on a day, in the view of now unless another one is asked for."""
        picture = self.store.picture(replace(selector or TemporalSelector(), valid_at=day(at)))
        return sorted(edge.relationship.object.key.split(":")[-1] for edge in picture.edges)

    def _next(self, line: str, owner: ProfileId, slot: Slot) -> Statement:
        statement = replace(said(line, owner=owner, first=self._said)[0], slot=slot)
        self._said += 1
        return statement

    def _then(self, changes: Changes) -> Changes:
        self.store.now += _MINUTE
        return changes
