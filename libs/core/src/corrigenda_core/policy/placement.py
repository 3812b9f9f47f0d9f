"""Placement: what new statements of one owner do to their slot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from corrigenda_core.domain.changes import Changes, OutcomeKind, PlacementOutcome
from corrigenda_core.domain.decisions import GivenStart, TimelineDecision
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.evidence import Support
from corrigenda_core.domain.ids import DecisionId, ReferenceId, RelationshipId, StatementId
from corrigenda_core.domain.predicates import SameMomentPolicy
from corrigenda_core.domain.relationships import Closing, CrossReference, ReferenceKind, Relationship, Statement
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.domain.submissions import CorrectionTarget
from corrigenda_core.domain.time import TimeBasis
from corrigenda_core.policy.corrections import may_correct, plan_correction
from corrigenda_core.policy.outcomes import Outcome, decide_outcome
from corrigenda_core.policy.refold import Refold, plan_owner_refold
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    statement: Statement
    outcome: Outcome
    row: RelationshipId | None = None
    corrected: RelationshipId | None = None
    decision_id: DecisionId | None = None


@dataclass(slots=True)
class _Placing:
    """The slot while statements are added to it one after the other; ``after`` holds what has been added so far."""

    view: SlotView
    context: PlanContext
    supports: tuple[Support, ...]
    targets: dict[StatementId, CorrectionTarget]
    after: SlotView = field(init=False)
    placed: list[_Placed] = field(init=False, default_factory=list)
    decided: int = field(init=False, default=0)

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
        before = self._fold(statement)
        target = self.targets.get(statement.statement_id)
        corrected = None if target is None else self._correct(statement, target, before)
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
            corrected=corrected is not None,
            closed=bool(settling),
        )
        self.placed.append(_Placed(statement=statement, outcome=outcome, corrected=corrected))

    def _fold(self, statement: Statement) -> Timeline:
        own = [other for other in self.after.statements if other.owner_id == statement.owner_id]
        return fold_slot(self.after.predicate, own, self.after.decisions)

    def _correct(self, statement: Statement, target: CorrectionTarget, before: Timeline) -> RelationshipId:
        rows = {row.relationship_id: row for row in self.after.rows}
        row = rows.get(target.relationship_id)
        if row is None:
            raise Refusal(Reason.RESOURCE_NOT_FOUND, "there is no such relationship", field="correction_target")
        held = may_correct(statement, row, target)
        decisions = plan_correction(self.after, statement, row, held, before, self._decision_id())
        self.after = replace(self.after, decisions=(*self.after.decisions, *decisions))
        return row.relationship_id

    def _settle(self, statement: Statement, after: Timeline) -> tuple[TimelineDecision, ...]:
        episode = after.episode_of(statement.statement_id)
        if self.view.predicate.same_moment is not SameMomentPolicy.CLOSE or episode is None or not episode.against:
            return ()
        return decide_settlement(self.after, statement, episode.against, self._decision_id())

    def _decision_id(self) -> DecisionId:
        self.decided += 1
        return DecisionId(self.context.ids.part(4).nth(self.decided - 1))

    def changes(self) -> Changes:
        """The changes of the owner's rows, with the outcomes."""
        owners = {placed.statement.owner_id for placed in self.placed}
        if not owners:
            return Changes()
        if len(owners) > 1:
            raise ValueError("a placement is that of one owner")
        refold = plan_owner_refold(self.view, self.after, owners.pop(), self.context, PLACEMENT)
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
            outcomes=tuple(self._outcome(placed, carriers) for placed in self.placed),
        )

    def _correcting(self, refold: Refold) -> list[CrossReference]:
        return [
            CrossReference(
                reference_id=ReferenceId(self.context.ids.part(5).nth(number)),
                kind=ReferenceKind.CORRECTS,
                source_id=refold.rows.carriers[placed.statement.statement_id],
                target_id=placed.corrected,
            )
            for number, placed in enumerate(self.placed)
            if placed.corrected is not None
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


def decide_duplicate(view: SlotView, statement: Statement, supports: Sequence[Support]) -> Statement | None:
    """The owner's statement that says the same from the same text, if there is one (R4.12).

    Such a statement adds an occurrence and nothing else, whatever has become of the first one: saying it again revives
    nothing. The text is the same where the fragment is, and the passages that are cited have something in common.
    """
    fragment_ids = {support.fragment_id for support in supports}
    theirs: dict[StatementId, list[Support]] = {}
    for support in view.supports:
        if support.statement_id is not None and support.fragment_id in fragment_ids:
            theirs.setdefault(support.statement_id, []).append(support)
    said = (statement.owner_id, statement.object.key, statement.polarity)
    for other in view.statements:
        found = theirs.get(other.statement_id)
        if (
            found is not None
            and (other.owner_id, other.object.key, other.polarity) == said
            and all(any(_is_same_passage(support, one) for one in found) for support in supports)
        ):
            return other
    return None


def _is_same_passage(first: Support, second: Support) -> bool:
    if first.fragment_id != second.fragment_id:
        return False
    if not first.spans or not second.spans:
        return True
    return any(a.start < b.end and b.start < a.end for a in first.spans for b in second.spans)


def decide_settlement(
    view: SlotView, statement: Statement, against: Sequence[StatementId], decision_id: DecisionId
) -> tuple[TimelineDecision, ...]:
    """What the policy `close` decides about a statement that cannot be ordered against others.

    Without a known start it starts when it was recorded, unless it ends before that. With one, every value against it
    that has none ends there. What remains, such as two equal known starts, competes.
    """
    started = {decision.statement_id for decision in view.decisions if isinstance(decision, GivenStart)}
    if statement.statement_id in started:
        return ()
    if statement.start is None:
        if statement.end is not None and statement.end.at <= statement.recorded_at:
            return ()
        return (
            GivenStart(
                decision_id=decision_id,
                statement_id=statement.statement_id,
                at=statement.recorded_at,
                basis=TimeBasis.RECORDED_FALLBACK,
            ),
        )
    rows: dict[RelationshipId, Relationship] = {row.relationship_id: row for row in view.rows}
    ending = sorted(
        {
            other.relationship_id
            for other in view.statements
            if other.statement_id in against
            and other.start is None
            and other.statement_id not in started
            and other.relationship_id in rows
        }
    )
    return tuple(
        Closing(
            decision_id=decision_id,
            relationship_id=relationship_id,
            facet=rows[relationship_id].facet,
            object_key=rows[relationship_id].object.key,
            polarity=rows[relationship_id].polarity,
            at=statement.start.at,
            statement_ids=tuple(s.statement_id for s in view.statements if s.relationship_id == relationship_id),
            made_for=(statement.statement_id,),
            conditional=True,
            basis=statement.start.basis,
        )
        for relationship_id in ending
    )
