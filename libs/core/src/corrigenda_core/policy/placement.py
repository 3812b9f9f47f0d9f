"""Placement: what new statements of one owner do to their slot, and beyond it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from corrigenda_core.domain.changes import Changes, OutcomeKind, PlacementOutcome
from corrigenda_core.domain.decisions import TimelineDecision
from corrigenda_core.domain.errors import missing
from corrigenda_core.domain.evidence import Support
from corrigenda_core.domain.ids import DecisionId, ReferenceId, RelationshipId, StatementId
from corrigenda_core.domain.predicates import SameMomentPolicy
from corrigenda_core.domain.relationships import Closing, CrossReference, ReferenceKind, Relationship, Statement
from corrigenda_core.domain.resolutions import DecisionKind, DecisionRecord
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.domain.submissions import CorrectionTarget
from corrigenda_core.policy.case_side import plan_case_side, plan_reference_side
from corrigenda_core.policy.corrections import may_address, may_correct, plan_correction
from corrigenda_core.policy.duplicates import decide_duplicate
from corrigenda_core.policy.outcomes import Outcome, decide_outcome
from corrigenda_core.policy.refold import Refold, plan_owner_refold
from corrigenda_core.policy.settlements import decide_settlement
from corrigenda_core.policy.timeline import Timeline, fold_slot

PLACEMENT = "placement"


def plan_own_side(
    view: SlotView,
    context: PlanContext,
    statements: Sequence[Statement],
    supports: Iterable[Support],
    targets: Mapping[StatementId, CorrectionTarget] | None = None,
) -> Changes:
    """Places new statements of one owner in their slot; no row of another owner is touched.

    Args:
        view: the slot as it stands.
        context: the commit. Ids 0.. and the parts 1 to 3 are those of `plan_owner_refold`; those of part 4 name
            decisions, those of part 5 `corrects` references.
        statements: new ones of one owner, all of this slot, in the order of recording.
        supports: theirs.
        targets: the own relationship that a statement corrects.

    Returns:
        The changes, with one outcome for each statement in the order given.

    Raises:
        Refusal: as `may_correct` does; RESOURCE_NOT_FOUND for a target that is not in the slot.
    """
    placing = _Placing(view, context, tuple(supports), dict(targets or {}))
    for statement in statements:
        placing.place(statement)
    return placing.changes()


def plan_placement(
    view: SlotView,
    context: PlanContext,
    statements: Sequence[Statement],
    supports: Iterable[Support],
    targets: Mapping[StatementId, CorrectionTarget] | None = None,
    named: Iterable[Relationship] = (),
) -> Changes:
    """Everything that new statements of one owner do: to their own rows, to references, and to the team's cases.

    Args:
        view: the slot as it stands.
        context: the commit.
        statements: new ones of one owner, all of this slot, in the order of recording.
        supports: theirs.
        targets: the relationship that a statement says was wrong: an own one of this slot, which it corrects, or
            another owner's, which it only refers to.
        named: the current version of every target of another owner that is not a row of this slot.

    Returns:
        The changes, with one outcome for each statement that also says what it did to a case.

    Raises:
        Refusal: as `plan_own_side` and `may_address` do.
    """
    rows = {row.relationship_id: row for row in (*named, *view.rows)}
    own: dict[StatementId, CorrectionTarget] = {}
    addressed: dict[StatementId, Relationship] = {}
    for statement in statements:
        target = (targets or {}).get(statement.statement_id)
        row = None if target is None else rows.get(target.relationship_id)
        if target is not None and row is not None and row.owner_id != statement.owner_id:
            may_address(statement, row, target)
            addressed[statement.statement_id] = row
        elif target is not None:
            own[statement.statement_id] = target
    changes = plan_own_side(view, context, statements, supports, own)
    changes = plan_reference_side(view, changes, addressed, context)
    return plan_case_side(view, changes, context)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    statement: Statement
    outcome: Outcome
    row: RelationshipId | None = None
    correction: DecisionRecord | None = None


@dataclass(slots=True)
class _Placing:
    """The slot while statements are added to it one after the other; ``after`` holds what has been added so far.

    ``timeline`` is the fold of ``after`` once something has been added.
    """

    view: SlotView
    context: PlanContext
    supports: tuple[Support, ...]
    targets: dict[StatementId, CorrectionTarget]
    after: SlotView = field(init=False)
    placed: list[_Placed] = field(init=False, default_factory=list)
    timeline: Timeline | None = field(init=False, default=None)
    records: list[DecisionRecord] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.after = self.view

    def place(self, statement: Statement) -> None:
        """Adds one statement, with the decisions that its placement takes, and notes its outcome."""
        own = [support for support in self.supports if support.statement_id == statement.statement_id]
        said_before = decide_duplicate(self.after, statement, own)
        if said_before is not None:
            outcome = Outcome(kind=OutcomeKind.DUPLICATE, rule="R4.12")
            self.placed.append(_Placed(statement=statement, outcome=outcome, row=said_before.relationship_id))
            return
        before = self.timeline or self._fold(statement)
        target = self.targets.get(statement.statement_id)
        correction = None if target is None else self._correct(statement, target, before)
        self.after = replace(
            self.after, statements=(*self.after.statements, statement), supports=(*self.after.supports, *own)
        )
        after = self._fold(statement)
        settling = self._settle(statement, after)
        if settling:
            self.after = replace(self.after, decisions=(*self.after.decisions, *settling))
            after = self._fold(statement)
        outcome = decide_outcome(
            statement,
            self.view.predicate,
            before,
            after,
            corrected=correction is not None,
            closed=bool(settling),
        )
        self.placed.append(_Placed(statement=statement, outcome=outcome, correction=correction))
        self.timeline = after

    def _fold(self, statement: Statement) -> Timeline:
        own = [other for other in self.after.statements if other.owner_id == statement.owner_id]
        return fold_slot(self.after.predicate, own, self.after.decisions)

    def _correct(self, statement: Statement, target: CorrectionTarget, before: Timeline) -> DecisionRecord:
        rows = {row.relationship_id: row for row in self.after.rows}
        row = rows.get(target.relationship_id)
        if row is None:
            raise missing("relationship", target.relationship_id, field="correction_target")
        held = may_correct(statement, row, target)
        decision_id = self._next_decision_id()
        decisions = plan_correction(self.after, statement, row, held, before, decision_id)
        self.after = replace(self.after, decisions=(*self.after.decisions, *decisions))
        return self._record(decision_id, DecisionKind.CORRECT, statement, [row.relationship_id])

    def _settle(self, statement: Statement, after: Timeline) -> tuple[TimelineDecision, ...]:
        episode = after.episode_of(statement.statement_id)
        if self.view.predicate.same_moment is not SameMomentPolicy.CLOSE or episode is None or not episode.against:
            return ()
        decision_id = self._next_decision_id()
        decisions = decide_settlement(self.after, statement, episode.against, decision_id)
        if decisions:
            closed = [decision.relationship_id for decision in decisions if isinstance(decision, Closing)]
            self._record(decision_id, DecisionKind.SETTLE, statement, closed)
        return decisions

    def _next_decision_id(self) -> DecisionId:
        return DecisionId(self.context.ids.part(4).nth(len(self.records)))

    def _record(
        self, decision_id: DecisionId, kind: DecisionKind, statement: Statement, targets: Sequence[RelationshipId]
    ) -> DecisionRecord:
        record = DecisionRecord(
            decision_id=decision_id,
            kind=kind,
            actor=self.context.actor,
            target_ids=tuple(targets),
            statement_ids=(statement.statement_id,),
        )
        self.records.append(record)
        return record

    def changes(self) -> Changes:
        """The changes of the owner's rows, with the outcomes."""
        owners = {placed.statement.owner_id for placed in self.placed}
        if not owners:
            return Changes()
        if len(owners) > 1:
            raise ValueError("a placement is that of one owner")
        correction = next((placed.correction for placed in self.placed if placed.correction is not None), None)
        decision_id = None if correction is None else correction.decision_id
        refold = plan_owner_refold(
            self.view, self.after, owners.pop(), self.context, PLACEMENT, decision_id, self.timeline
        )
        carriers = refold.rows.carriers
        known = {statement.statement_id for statement in self.view.statements}
        added = [s for s in self.after.statements if s.statement_id not in known]
        new_supports = self.after.supports[len(self.view.supports) :]
        return replace(
            refold.changes,
            statements=tuple(replace(s, relationship_id=carriers[s.statement_id]) for s in added),
            supports=tuple(
                replace(s, relationship_id=carriers[s.statement_id]) for s in new_supports if s.statement_id is not None
            ),
            references=(*refold.changes.references, *self._correcting(refold)),
            decision_records=tuple(self.records),
            outcomes=tuple(self._outcome(placed, carriers) for placed in self.placed),
        )

    def _correcting(self, refold: Refold) -> list[CrossReference]:
        return [
            CrossReference(
                reference_id=ReferenceId(self.context.ids.part(5).nth(number)),
                kind=ReferenceKind.CORRECTS,
                source_id=refold.rows.carriers[placed.statement.statement_id],
                target_id=RelationshipId(placed.correction.target_ids[0]),
                decision_id=placed.correction.decision_id,
            )
            for number, placed in enumerate(self.placed)
            if placed.correction is not None
        ]

    def _outcome(self, placed: _Placed, carriers: Mapping[StatementId, RelationshipId]) -> PlacementOutcome:
        statement, outcome = placed.statement, placed.outcome
        opposing = {carriers[statement_id] for statement_id in outcome.opposing}
        return PlacementOutcome(
            statement_id=statement.statement_id,
            kind=outcome.kind,
            rule=outcome.rule,
            relationship_id=carriers.get(statement.statement_id, placed.row),
            opposing=tuple(sorted(opposing)),
            notes=outcome.notes,
        )
