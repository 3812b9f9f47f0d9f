"""The pure effect of a plan on the view that it was made from; the next plan of a transaction is made from that."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import TypeVar

from corrigenda_core.domain.cases import CaseStatus, ConflictCase, SetKey
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.decisions import TimelineDecision
from corrigenda_core.domain.evidence import Support, SupportDecision, SupportDecisionKind
from corrigenda_core.domain.ids import ConflictId, RelationshipId, StatementId, SupportId
from corrigenda_core.domain.items import ItemStatus, ReviewItem
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.relationships import Relationship, Statement
from corrigenda_core.domain.slots import SlotView
from corrigenda_core.policy.own_items import OVERTAKEN
from corrigenda_core.policy.tiers import is_carried
from corrigenda_core.policy.validity import decide_witness_time

_Value = TypeVar("_Value")


def apply_changes(view: SlotView, changes: Changes) -> SlotView:
    """The slot as changes leave it, complete in the sense of `SlotView`.

    Statements follow their carriages and, where supports are switched, their effect. An item stays while it is pending
    or can be again. A closed case makes room for the next one of its set key.
    """
    carriers = {c.statement_id: c.relationship_id for c in changes.carriages}
    supports = _switched((*view.supports, *changes.supports), changes.support_decisions)
    statements = [
        _carried(statement, carriers, supports, switched=bool(changes.support_decisions))
        for statement in (*view.statements, *changes.statements)
    ]
    rows = {s.statement_id: s.relationship_id for s in statements}
    return replace(
        view,
        rows=_merged(view.rows, changes.relationships, lambda row: row.relationship_id),
        statements=tuple(statements),
        supports=tuple(_of_row(support, rows) for support in supports),
        decisions=_decided(view.decisions, changes),
        references=_merged(
            (*view.references, *changes.references), changes.references_switched_off, lambda r: r.reference_id
        ),
        items=tuple(i for i in _merged(view.items, changes.items, lambda item: item.item_id) if _is_kept(i)),
        cases=tuple(c for c in _merged(view.cases, changes.cases, lambda case: case.conflict_id) if c.live),
        closed_cases=_closed_cases(view.closed_cases, changes.cases),
        resolved_cases=(*view.resolved_cases, *(c for c in changes.cases if c.status is CaseStatus.RESOLVED)),
    )


def with_neighbour(view: SlotView, changed: Slot, changes: Changes, *, joining: Relationship | None = None) -> SlotView:
    """A slot as changes of another one leave it: the cases that both know, and the rows that stand beside it.

    Args:
        view: the slot.
        changed: the other one.
        changes: what changes there.
        joining: its row that stands beside the slot from now on, because it refers to it.
    """
    beside = {row.relationship_id for row in view.rows_beside}
    rows = [row for row in changes.relationships if row.slot == changed and row.relationship_id in beside]
    if joining is not None:
        rows.append(joining)
        beside.add(joining.relationship_id)
    supports = _switched((*view.supports_beside, *changes.supports), changes.support_decisions)
    known = {case.conflict_id for case in view.cases}
    cases = [case for case in changes.cases if case.conflict_id in known or case.set_key.slot == view.slot]
    own = {row.relationship_id for row in view.rows}
    references = [one for one in changes.references if one.target_id in own or one.source_id in own]
    return replace(
        view,
        rows_beside=_merged(view.rows_beside, rows, lambda row: row.relationship_id),
        supports_beside=tuple(support for support in supports if support.relationship_id in beside),
        references=_merged(view.references, references, lambda one: one.reference_id),
        cases=tuple(c for c in _merged(view.cases, cases, lambda case: case.conflict_id) if c.live),
        closed_cases=_closed_cases(view.closed_cases, tuple(cases)),
    )


def _merged(before: Iterable[_Value], after: Iterable[_Value], key: Callable[[_Value], Hashable]) -> tuple[_Value, ...]:
    """The values of before with those of after in the place of older versions, new ones at the end."""
    merged = {key(value): value for value in before}
    for value in after:
        merged[key(value)] = value
    return tuple(merged.values())


def _carried(
    statement: Statement,
    carriers: dict[StatementId, RelationshipId],
    supports: Iterable[Support],
    *,
    switched: bool,
) -> Statement:
    row = carriers.get(statement.statement_id, statement.relationship_id)
    if row != statement.relationship_id:
        statement = replace(statement, relationship_id=row)
    own = [support for support in supports if support.statement_id == statement.statement_id] if switched else []
    if not own:
        return statement
    seen = [support.occurred_at for support in own if support.effective and support.occurred_at is not None]
    witness_at = decide_witness_time(seen, statement.recorded_at, statement.end)
    return replace(statement, effective=is_carried(own), witness_at=witness_at)


def _switched(supports: Iterable[Support], decisions: Iterable[SupportDecision]) -> list[Support]:
    last: dict[SupportId, SupportDecision] = {decision.support_id: decision for decision in decisions}
    return [
        replace(
            support,
            effective=last[support.support_id].kind is not SupportDecisionKind.REVOKE,
            authority=last[support.support_id].authority,
        )
        if support.support_id in last
        else support
        for support in supports
    ]


def _of_row(support: Support, rows: dict[StatementId, RelationshipId | None]) -> Support:
    row = support.relationship_id if support.statement_id is None else rows.get(support.statement_id)
    return support if row in (None, support.relationship_id) else replace(support, relationship_id=row)


def _decided(before: tuple[TimelineDecision, ...], changes: Changes) -> tuple[TimelineDecision, ...]:
    """All decisions; a closing may stand on its transition alone."""
    closings = [transition.closing for transition in changes.transitions if transition.closing is not None]
    standing = (decision for decision in before if decision.decision_id not in changes.decisions_taken_back)
    return tuple(dict.fromkeys((*standing, *changes.decisions, *closings)))


def _is_kept(item: ReviewItem) -> bool:
    return item.status is ItemStatus.PENDING or item.reason == OVERTAKEN


def _closed_cases(
    before: Iterable[tuple[SetKey, ConflictId]], cases: Iterable[ConflictCase]
) -> tuple[tuple[SetKey, ConflictId], ...]:
    closed = dict(before)
    closed.update((case.set_key, case.conflict_id) for case in cases if not case.live)
    return tuple(closed.items())
