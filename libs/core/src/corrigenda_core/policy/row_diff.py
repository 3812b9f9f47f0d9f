"""Rows against episodes: the new versions, transitions and carriages that make the rows say the timeline."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from corrigenda_core.domain.decisions import RemovalReason
from corrigenda_core.domain.evidence import Support
from corrigenda_core.domain.ids import DecisionId, ProfileId, RelationshipId, StatementId, TransitionId
from corrigenda_core.domain.predicates import RelationshipKind
from corrigenda_core.domain.relationships import (
    Carriage,
    Closing,
    Relationship,
    RowState,
    Statement,
    Status,
    Transition,
)
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.domain.time import ClosedToNothing, Instant, Interval, Validity
from corrigenda_core.policy.lanes import is_slot_exclusive
from corrigenda_core.policy.row_identity import OutsideStatement, RowOfPart, decide_row_identity
from corrigenda_core.policy.tiers import decide_tier
from corrigenda_core.policy.timeline import Episode, HeldStatement, Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why rows change: a reason code, the decision if one was taken, and the closings that it makes.

    ``replacing`` says whether what ends a row replaces it; a merge joins, and a revert says nothing new.
    """

    reason: str
    decision_id: DecisionId | None = None
    closings: tuple[Closing, ...] = ()
    replacing: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChanges:
    """What makes one owner's rows say a timeline.

    ``relationships`` are new versions, each with its transition. ``rows`` are all rows of the owner afterwards, and
    ``carriers`` says which row carries which statement.
    """

    relationships: tuple[Relationship, ...] = ()
    transitions: tuple[Transition, ...] = ()
    carriages: tuple[Carriage, ...] = ()
    rows: tuple[Relationship, ...] = ()
    carriers: Mapping[StatementId, RelationshipId]


def plan_row_changes(
    before: SlotView, view: SlotView, owner_id: ProfileId, timeline: Timeline, context: PlanContext, cause: Cause
) -> RowChanges:
    """Compares an owner's rows with a timeline; rows that say it already stay as they are (R4.1).

    After it, no two living rows of the owner say the same of the same facet from the same start, because no two
    episodes of a timeline do, and every episode has exactly one row.

    Args:
        before: the slot with the rows that carry its statements now.
        view: the same rows, and all statements, supports and decisions that the timeline was folded from. Its
            statements name the rows that they shall keep if they can: those of before, or whatever they are put back
            to by a revert.
        owner_id: whose rows change; nobody else's do.
        timeline: the fold of the owner's statements.
        context: the commit; its ids 0.. name new rows, those of part 1 transitions.
        cause: why.
    """
    return _RowDiff(before, view, owner_id, timeline, context, cause).changes()


class _RowDiff:
    def __init__(
        self,
        before: SlotView,
        view: SlotView,
        owner_id: ProfileId,
        timeline: Timeline,
        context: PlanContext,
        cause: Cause,
    ) -> None:
        self._view, self._timeline, self._context, self._cause = view, timeline, context, cause
        self._owner_id = owner_id
        self._statements = [s for s in view.statements if s.owner_id == owner_id]
        self._by_id = {statement.statement_id: statement for statement in self._statements}
        self._carriers_before = _carriers(before.statements)
        self._carrying_before = set(self._carriers_before.values())
        self._rows = [row for row in view.rows if row.owner_id == owner_id]
        self._removed = {removal.statement_id: removal for removal in timeline.removed}
        self._supports: dict[StatementId, list[Support]] = {}
        for support in view.supports:
            if support.statement_id is not None:
                self._supports.setdefault(support.statement_id, []).append(support)

    def changes(self) -> RowChanges:
        identity = decide_row_identity(self._timeline, self._rows, self._statements)
        ids = self._row_ids(identity)
        carriers = _carriers(self._statements)
        for part, relationship_id in zip(identity, ids, strict=True):
            carriers.update((statement_id, relationship_id) for statement_id in part.statement_ids)
        after = [self._row_of_part(part, row_id) for part, row_id in zip(identity, ids, strict=True)]
        carried: dict[RelationshipId, list[StatementId]] = {}
        for statement_id, relationship_id in carriers.items():
            carried.setdefault(relationship_id, []).append(statement_id)
        after += [
            self._row_without_part(row, carried.get(row.relationship_id, []))
            for row in self._rows
            if row.relationship_id not in ids
        ]
        return self._compared(after, carriers)

    def _row_ids(self, identity: Iterable[RowOfPart]) -> list[RelationshipId]:
        fresh = 0
        ids = []
        for part in identity:
            if part.row is not None:
                ids.append(part.row.relationship_id)
            else:
                ids.append(RelationshipId(self._context.ids.nth(fresh)))
                fresh += 1
        return ids

    def _row_of_part(self, part: RowOfPart, relationship_id: RelationshipId) -> Relationship:
        base = part.row or self._new_row(relationship_id, self._by_id[part.statement_ids[0]])
        tier = decide_tier(self._supports_of(part.statement_ids))
        match part.part:
            case Episode() as episode:
                return replace(
                    base,
                    facet=episode.facet,
                    validity=episode.validity,
                    start_basis=episode.start_basis,
                    end_basis=episode.end_basis,
                    status=episode.status,
                    record=episode.record,
                    tier=tier,
                )
            case HeldStatement():
                return replace(self._as_stated(base, part.statement_ids), status=Status.NEEDS_REVIEW, tier=tier)
            case OutsideStatement():
                return self._outside(base, part.statement_ids)
            case _:
                assert_never(part.part)

    def _new_row(self, relationship_id: RelationshipId, statement: Statement) -> Relationship:
        return Relationship(
            relationship_id=relationship_id,
            version=0,
            owner_id=self._owner_id,
            slot=self._view.slot,
            object=statement.object,
            polarity=statement.polarity,
            validity=Interval(),
            status=Status.NEEDS_REVIEW,
            slot_exclusive=is_slot_exclusive(self._view.predicate),
            event=self._view.predicate.kind is RelationshipKind.EVENT,
            revision=self._context.moment.revision,
            recorded_at=self._context.moment.at,
            first_recorded_at=self._context.moment.at,
        )

    def _row_without_part(self, row: Relationship, carried: Sequence[StatementId]) -> Relationship:
        """A row whose statements are all outside the timeline, or now carried by other rows."""
        if not carried and row.relationship_id not in self._carrying_before:
            return row
        return self._outside(row, carried)

    def _outside(self, row: Relationship, carried: Sequence[StatementId]) -> Relationship:
        """A row outside the timeline: closed to nothing, or what its statements say of themselves."""
        status = self._status_outside(carried)
        if status is Status.PENDING_EVIDENCE and row.status is Status.QUARANTINED:
            status = row.status
        tier = decide_tier(self._supports_of(carried))
        if status is Status.SUPERSEDED:
            return replace(row, status=status, validity=ClosedToNothing(at=_start(row.validity)), tier=tier)
        return replace(self._as_stated(row, carried), status=status, tier=tier)

    def _as_stated(self, row: Relationship, statement_ids: Sequence[StatementId]) -> Relationship:
        """A row from the earliest start to the latest end that its statements state, whatever others say."""
        stated = [self._by_id[statement_id] for statement_id in statement_ids]
        starts = [statement.start for statement in stated if statement.start is not None]
        ends = [statement.end for statement in stated if statement.end is not None]
        start = min(starts, key=lambda bound: bound.at) if len(starts) == len(stated) else None
        end = max(ends, key=lambda bound: bound.at) if len(ends) == len(stated) else None
        if start is not None and end is not None and end.at <= start.at:
            end = None
        return replace(
            row,
            facet=0,
            validity=Interval(start=start.at if start else None, end=end.at if end else None),
            start_basis=start.basis if start else None,
            end_basis=end.basis if end else None,
            record=any(statement.record for statement in stated),
        )

    def _status_outside(self, carried: Collection[StatementId]) -> Status:
        """The status of a row by what took its statements out, the one that may bring it back first."""
        removals = [self._removed[i].reason for i in carried if i in self._removed]
        if any(i not in self._removed and not self._by_id[i].effective for i in carried):
            return Status.PENDING_EVIDENCE
        if RemovalReason.RETRACTED in removals:
            return Status.RETRACTED
        return Status.REJECTED if RemovalReason.REJECTED in removals else Status.SUPERSEDED

    def _supports_of(self, statement_ids: Collection[StatementId]) -> list[Support]:
        return [support for statement_id in statement_ids for support in self._supports.get(statement_id, ())]

    def _compared(self, after: Iterable[Relationship], carriers: Mapping[StatementId, RelationshipId]) -> RowChanges:
        before = {row.relationship_id: row for row in self._rows}
        # Whether values exclude each other is what the registry says by now, also of rows that are older than that.
        exclusive = is_slot_exclusive(self._view.predicate)
        after = [replace(row, slot_exclusive=exclusive) for row in after]
        rows: list[Relationship] = []
        changed: list[Relationship] = []
        transitions: list[Transition] = []
        for row in sorted(after, key=lambda row: (row.first_recorded_at, row.relationship_id)):
            prior = before.get(row.relationship_id)
            if row == prior:
                rows.append(row)
                continue
            moment = self._context.moment
            new = replace(row, version=row.version + 1, revision=moment.revision, recorded_at=moment.at)
            rows.append(new)
            changed.append(new)
            transitions.append(self._transition(prior, new, len(transitions)))
        return RowChanges(
            relationships=tuple(changed),
            transitions=tuple(transitions),
            carriages=tuple(
                Carriage(statement_id=statement_id, relationship_id=relationship_id)
                for statement_id, relationship_id in carriers.items()
                if self._carriers_before.get(statement_id) != relationship_id
            ),
            rows=tuple(rows),
            carriers=carriers,
        )

    def _transition(self, prior: Relationship | None, row: Relationship, number: int) -> Transition:
        """The record of one change, with the closing that makes it (R4.4): no row changes without one."""
        moved_end = prior is not None and _end(prior.validity) != _end(row.validity)
        closings = [c for c in self._cause.closings if c.relationship_id == row.relationship_id]
        own_basis = row.end_basis if moved_end else row.start_basis
        return Transition(
            transition_id=TransitionId(self._context.ids.part(1).nth(number)),
            relationship_id=row.relationship_id,
            version=row.version,
            prior=None if prior is None else decide_row_state(prior),
            resulting=decide_row_state(row),
            actor=self._context.actor,
            reason=self._cause.reason,
            # A closing is read from its transition again, also where the row had another end of its own.
            time_basis=closings[0].basis if closings else own_basis,
            decision_id=closings[0].decision_id if closings else self._cause.decision_id,
            closing=closings[0] if closings else None,
        )


def decide_row_state(row: Relationship) -> RowState:
    """What a transition records of a row."""
    return RowState(
        status=row.status,
        tier=row.tier,
        facet=row.facet,
        validity=row.validity,
        start_basis=row.start_basis,
        end_basis=row.end_basis,
    )


def _carriers(statements: Iterable[Statement]) -> dict[StatementId, RelationshipId]:
    return {s.statement_id: s.relationship_id for s in statements if s.relationship_id is not None}


def _start(validity: Validity) -> Instant | None:
    return validity.at if isinstance(validity, ClosedToNothing) else validity.start


def _end(validity: Validity) -> Instant | None:
    return validity.at if isinstance(validity, ClosedToNothing) else validity.end
