"""A team's store in memory: it applies the planners' changes as consecutive revisions, and serves as fake and oracle.

It has the nets of the database too: a version follows the last one, every change has its transition, every decision
its record, and no owner has two values of a slot in force at once.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import combinations
from typing import TypeVar

from corrigenda_core.domain.actors import SYSTEM_REVIEWER, Actor, ActorKind
from corrigenda_core.domain.cases import ConflictCase
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.errors import Refusal
from corrigenda_core.domain.evidence import Support, SupportDecision, SupportDecisionKind
from corrigenda_core.domain.ids import (
    ConflictId,
    DecisionId,
    FragmentId,
    IdRange,
    ItemId,
    PredicateKey,
    ProfileId,
    RelationshipId,
)
from corrigenda_core.domain.items import ItemStatus, ReviewItem
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.predicates import Predicate
from corrigenda_core.domain.relationships import Carriage, Relationship, Statement, Status, Transition
from corrigenda_core.domain.resolutions import (
    NO_PROVENANCE,
    Answer,
    DecisionRecord,
    Merge,
    PastDecision,
    Provenance,
    Resolution,
)
from corrigenda_core.domain.slots import CaseView, PlanContext, SlotView
from corrigenda_core.domain.submissions import CorrectionTarget
from corrigenda_core.domain.team import TeamPolicy
from corrigenda_core.domain.time import Instant, Moment
from corrigenda_core.domain.views import TemporalSelector, Version
from corrigenda_core.policy.case_review import ReviewPlan, plan_case_review
from corrigenda_core.policy.exclusion import is_excluding
from corrigenda_core.policy.forgetting import plan_end, plan_fragment_retraction, plan_retract
from corrigenda_core.policy.placement import plan_placement
from corrigenda_core.policy.resolution import may_answer_item, plan_resolution
from corrigenda_core.policy.revert import plan_revert
from corrigenda_core.policy.slot_change import plan_slot_change
from corrigenda_core.policy.validity import is_overlapping
from corrigenda_core.policy.view_changes import apply_changes
from corrigenda_core.policy.visibility import Picture, decide_picture, decide_view

_Row = TypeVar("_Row")
_TICK = timedelta(microseconds=1)
_IN_FORCE_ALONE = frozenset({Status.ACTIVE, Status.SUPERSEDED})


class NetTorn(AssertionError):
    """A plan that the database would refuse: it breaks what its constraints and triggers hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One commit: its moment, the slot it changed, what it wrote, and the slot before it.

    A commit that changes several slots is several of these with the same moment.
    """

    moment: Moment
    slot: Slot
    changes: Changes
    before: SlotView


class MemoryStore:
    """Slots, items and decisions of one team, every revision of them, and the commands that change them.

    Attributes:
        now: the team's clock; a commit is never earlier than it, and always later than the last one.
        revisions: all commits in their order.
        ids_from: what every id begins with; a greater number makes ids that come after those of before.
        as_committed: what becomes of a plan before it is applied; a twin of another store gives things its names.
    """

    def __init__(self, began_at: Instant, policy: TeamPolicy | None = None) -> None:
        self.now = began_at
        self.revisions: list[Revision] = []
        self.ids_from = 0
        self.as_committed: Callable[[Changes], Changes] = lambda changes: changes
        self._policy = policy or TeamPolicy()
        self._predicates: dict[PredicateKey, Predicate] = {}
        self._views: dict[Slot, list[SlotView]] = {}
        self._items: dict[ItemId, ReviewItem] = {}
        self._rows: dict[RelationshipId, list[Version[Relationship]]] = defaultdict(list)
        self._cases: dict[ConflictId, list[Version[ConflictCase]]] = defaultdict(list)

    # --- what is there ----------------------------------------------------------------------------------------------

    def register(self, predicate: Predicate) -> None:
        """Registers a predicate, or its next version."""
        self._predicates[predicate.key] = predicate
        for slot, views in self._views.items():
            if slot.predicate == predicate.key:
                views[-1] = replace(views[-1], predicate=predicate)

    def views(self, slot: Slot) -> list[SlotView]:
        """The slot before its first revision and after each of them."""
        if slot not in self._views:
            self._views[slot] = [SlotView(slot=slot, predicate=self._predicates[slot.predicate])]
        return self._views[slot]

    def view(self, slot: Slot) -> SlotView:
        """The slot as it stands."""
        return self.views(slot)[-1]

    def view_at(self, slot: Slot, revision: int) -> SlotView:
        """The slot as a revision of the team left it."""
        made = sum(1 for one in self.revisions if one.slot == slot and one.moment.revision <= revision)
        return self.views(slot)[made]

    def item(self, item_id: ItemId) -> ReviewItem:
        """The current version of an item, whatever its status."""
        return self._items[item_id]

    def row(self, row_id: RelationshipId) -> Relationship:
        """The current version of a relationship."""
        return self._rows[row_id][-1].row

    def context(self, actor: Actor) -> PlanContext:
        """The next commit; its ids are those of no other one."""
        last = self.revisions[-1].moment if self.revisions else None
        number = 1 if last is None else last.revision + 1
        at = self.now if last is None else max(self.now, last.at + _TICK)
        return PlanContext(
            moment=Moment(revision=number, at=at),
            ids=IdRange(base=uuid.UUID(int=(self.ids_from << 112) | (number << 64) | (7 << 76) | (2 << 62))),
            actor=actor,
            policy=self._policy,
        )

    def picture(self, selector: TemporalSelector) -> Picture:
        """What a reader sees who asks by both time axes; only versions are read, nothing is replayed."""
        now = max(self.now, self.revisions[-1].moment.at) if self.revisions else self.now
        moments = list(dict.fromkeys(revision.moment for revision in self.revisions))
        view = decide_view(selector, now=now, moments=moments)
        rows = (version for versions in self._rows.values() for version in versions)
        return decide_picture(view, rows, (version for versions in self._cases.values() for version in versions))

    def versions(self) -> Mapping[RelationshipId, Sequence[Version[Relationship]]]:
        """Every version of every relationship, those of one that was first recorded earlier first."""
        return self._rows

    def cases(self) -> Mapping[ConflictId, Sequence[Version[ConflictCase]]]:
        """Every version of every case, those of one that was opened earlier first."""
        return self._cases

    def items(self) -> Mapping[ItemId, ReviewItem]:
        """The current version of every item, whatever its status."""
        return self._items

    def slots(self) -> list[Slot]:
        """Every slot that anything was said in."""
        return list(self._views)

    # --- what changes it --------------------------------------------------------------------------------------------

    def place(self, statement: Statement, supports: Sequence[Support], target: RelationshipId | None = None) -> Changes:
        """Places a new statement; ``target`` is the relationship that it corrects, of whatever owner."""
        targets = {} if target is None else {statement.statement_id: CorrectionTarget(relationship_id=target)}
        named = [] if target is None else [self.row(target)]
        context = self.context(profile(statement.owner_id))
        view = self.view(statement.slot)
        return self.commit(statement.slot, plan_placement(view, context, [statement], supports, targets, named))

    def resolve(
        self,
        item_id: ItemId,
        resolution: Resolution,
        *,
        expected_version: int | None = None,
        actor: Actor | None = None,
        provenance: Provenance = NO_PROVENANCE,
    ) -> Changes:
        """Answers an item as its owner does, or as another actor tries to."""
        item = self.item(item_id)
        assert item.slot is not None
        answer = Answer(
            item=item,
            expected_version=item.version if expected_version is None else expected_version,
            resolution=resolution,
            provenance=provenance,
        )
        context = self.context(actor or profile(item.owner_id))
        return self.commit(item.slot, plan_resolution(self.view(item.slot), context, answer))

    def merge(
        self, item_id: ItemId, sentence: Statement, supports: Sequence[Support], expected_version: int
    ) -> Changes:
        """Places the owner's sentence and lets it end all sides of an item; nothing is stored if either is refused."""
        item = self.item(item_id)
        assert item.slot is not None
        may_answer_item(self.context(profile(sentence.owner_id)), item, expected_version)
        with self._transaction():
            self.place(sentence, supports)
            answer = Answer(
                item=item,
                current=self.item(item_id),
                expected_version=expected_version,
                resolution=Merge(statement_id=sentence.statement_id),
            )
            context = self.context(profile(sentence.owner_id))
            return self.commit(item.slot, plan_resolution(self.view(item.slot), context, answer))

    def end(self, row_id: RelationshipId, at: Instant | None = None, *, actor: Actor | None = None) -> Changes:
        """Ends a relationship: it is no longer true."""
        row = self.row(row_id)
        context = self.context(actor or profile(row.owner_id))
        return self.commit(row.slot, plan_end(self.view(row.slot), context, row_id, at))

    def retract(self, row_id: RelationshipId, *, revive: bool = True, actor: Actor | None = None) -> Changes:
        """Takes a relationship back: it never was true."""
        row = self.row(row_id)
        context = self.context(actor or profile(row.owner_id))
        return self.commit(row.slot, plan_retract(self.view(row.slot), context, row_id, revive=revive))

    def retract_fragment(self, slot: Slot, owner_id: ProfileId, fragment_id: FragmentId) -> Changes:
        """Takes one text back."""
        context = self.context(profile(owner_id))
        return self.commit(slot, plan_fragment_retraction(self.view(slot), context, owner_id, fragment_id))

    def revert(self, decision_id: DecisionId, *, actor: Actor | None = None) -> Changes:
        """Takes a decision back."""
        taken, past = self.past_decision(decision_id)
        owner_id = past.record.actor.profile_id
        assert owner_id is not None
        context = self.context(actor or profile(owner_id))
        return self.commit(taken.slot, plan_revert(self.view(taken.slot), context, owner_id, past))

    def switch(self, slot: Slot, fragment_id: FragmentId, kind: SupportDecisionKind) -> Changes:
        """Switches every support of a text in a slot, as a change of its source does."""
        before = self.view(slot)
        decisions = tuple(
            SupportDecision(support_id=s.support_id, kind=kind, authority=s.authority, reason="source")
            for s in before.supports
            if s.fragment_id == fragment_id
        )
        after = apply_changes(before, Changes(support_decisions=decisions))
        context = self.context(Actor(kind=ActorKind.OPERATOR))
        beside = Changes(support_decisions=decisions)
        return self.commit(slot, plan_slot_change(before, after, context, "support", beside=beside))

    def review(self, conflict_id: ConflictId) -> ReviewPlan:
        """Looks at a live case as the reviewer does; a look that changes nothing is no revision."""
        case = self._cases[conflict_id][-1].row
        view = self.view(case.set_key.slot)
        members = _member_ids(case)
        others = [_looked_at(view, o) for o in view.cases if o.conflict_id != conflict_id and members & _member_ids(o)]
        plan = plan_case_review(_looked_at(view, case), self.context(SYSTEM_REVIEWER), others)
        if plan.changes != Changes():
            self.commit(view.slot, plan.changes)
        return plan

    def commit(self, slot: Slot, changes: Changes, *, nets: bool = True) -> Changes:
        """Applies a plan as the next revision.

        Args:
            slot: the slot that it was made for.
            changes: the plan.
            nets: whether to refuse what the database would refuse.

        Raises:
            NetTorn: for a plan that breaks what the database holds.
        """
        self.commit_together([(slot, changes)], nets=nets)
        return self.revisions[-1].changes

    def commit_together(
        self,
        plans: Sequence[tuple[Slot, Changes]],
        *,
        nets: bool = True,
        bases: Mapping[Slot, SlotView] | None = None,
    ) -> None:
        """Applies plans of several slots as one revision; as `commit`.

        Args:
            plans: what changes in which slot.
            nets: whether to refuse what the database would refuse.
            bases: the slots after what the plans do not say, statements that go from one to another; the plans have
                their names then.
        """
        moment = self.context(SYSTEM_REVIEWER).moment
        for slot, planned in plans:
            changes = self.as_committed(planned) if bases is None else planned
            before = self.view(slot)
            after = apply_changes(before if bases is None else bases[slot], changes)
            if nets:
                self._require_transitions(changes)
                _require_records(changes)
                _require_one_value(after.rows)
            self.revisions.append(Revision(moment=moment, slot=slot, changes=changes, before=before))
            self._views[slot].append(after)
            self._items.update((item.item_id, item) for item in changes.items)
            for row in changes.relationships:
                _append(self._rows[row.relationship_id], row, moment)
            for case in changes.cases:
                _append(self._cases[case.conflict_id], case, moment)

    def past_decision(self, decision_id: DecisionId) -> tuple[Revision, PastDecision]:
        """A decision with what a revert has to know, and the revision that took it."""
        taken, record = next((r, d) for r, d in self._records() if d.decision_id == decision_id)
        number = taken.moment.revision
        named = {*record.statement_ids}
        placed = [
            r
            for r in self.revisions
            if r.moment.revision <= number and named.intersection(s.statement_id for s in r.changes.statements)
        ]
        parts = placed if placed and placed[-1] is taken else [*placed, taken]
        transitions = [t for part in parts for t in part.changes.transitions]
        touched = {transition.relationship_id for transition in transitions}
        asked = {item.item_id: item for item in parts[0].before.items}
        changed = {item.item_id for part in parts for item in part.changes.items}
        return taken, PastDecision(
            record=record,
            transitions=tuple(transitions),
            later=tuple(t for t in self._later_transitions(number) if t.relationship_id in touched),
            reference_ids=tuple(r.reference_id for part in parts for r in part.changes.references),
            carriers=tuple(
                Carriage(statement_id=s.statement_id, relationship_id=s.relationship_id)
                for s in parts[0].before.statements
                if s.relationship_id is not None
            ),
            items=tuple((asked[item_id], self._items[item_id]) for item_id in sorted(changed & asked.keys())),
            left_items=tuple(
                (item.item_id, item.version)
                for item in apply_changes(taken.before, taken.changes).items
                if item.status is ItemStatus.PENDING
            ),
            reverted_by=next((d.decision_id for _, d in self._records() if d.reverts == decision_id), None),
        )

    def _records(self) -> Iterable[tuple[Revision, DecisionRecord]]:
        return ((revision, record) for revision in self.revisions for record in revision.changes.decision_records)

    def _later_transitions(self, number: int) -> Iterable[Transition]:
        later = (revision for revision in self.revisions if revision.moment.revision > number)
        return (transition for revision in later for transition in revision.changes.transitions)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Several commits, all or none: what a refusal leaves behind is what was there."""
        revisions, items = list(self.revisions), dict(self._items)
        views = {slot: list(known) for slot, known in self._views.items()}
        rows = {row_id: list(versions) for row_id, versions in self._rows.items()}
        cases = {conflict_id: list(versions) for conflict_id, versions in self._cases.items()}
        try:
            yield
        except Refusal:
            self.revisions, self._items, self._views = revisions, items, views
            self._rows, self._cases = defaultdict(list, rows), defaultdict(list, cases)
            raise

    def _require_transitions(self, changes: Changes) -> None:
        made = [(t.relationship_id, t.version) for t in changes.transitions]
        if sorted(made) != sorted((row.relationship_id, row.version) for row in changes.relationships):
            raise NetTorn("a changed row has exactly one transition")
        for row in changes.relationships:
            versions = self._rows.get(row.relationship_id, [])
            if row.version != len(versions) + 1:
                raise NetTorn(f"version {row.version} of a row does not follow {len(versions)}")


def profile(owner_id: ProfileId) -> Actor:
    """A profile that acts."""
    return Actor(kind=ActorKind.PROFILE, profile_id=owner_id)


def _looked_at(view: SlotView, case: ConflictCase) -> CaseView:
    members = _member_ids(case)
    return CaseView(
        case=case,
        rows=tuple(row for row in view.rows if row.relationship_id in members),
        beside=tuple(row for row in view.rows if row.relationship_id not in members),
        supports=view.supports,
        carried=tuple((s.relationship_id, s.statement_id) for s in view.statements if s.relationship_id is not None),
    )


def _member_ids(case: ConflictCase) -> set[RelationshipId]:
    return {member.relationship_id for position in case.positions for member in position.members}


def _append(versions: list[Version[_Row]], row: _Row, at: Moment) -> None:
    if versions:
        versions[-1] = replace(versions[-1], until=at)
    versions.append(Version(row=row, since=at))


def _require_records(changes: Changes) -> None:
    recorded = {record.decision_id for record in changes.decision_records}
    for decision in changes.decisions:
        if decision.decision_id not in recorded:
            raise NetTorn("a decision has no record")
    for transition in changes.transitions:
        closing = transition.closing
        if closing is not None and closing.conflict_id is None and closing.decision_id not in recorded:
            raise NetTorn("a closing has no record")
        if closing is not None and closing.basis is not transition.time_basis:
            raise NetTorn("a closing that stands on its transition has no other basis than that")


def _require_one_value(rows: Iterable[Relationship]) -> None:
    alone = [row for row in rows if row.status in _IN_FORCE_ALONE]
    for first, second in combinations(alone, 2):
        same_timeline = first.owner_id == second.owner_id and first.facet == second.facet
        if same_timeline and is_excluding(first, second) and is_overlapping(first.validity, second.validity):
            raise NetTorn(f"two values are in force at once: {first} and {second}")
