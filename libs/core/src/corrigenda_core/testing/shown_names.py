"""The same names on both sides: what is new in a model's plan is called as the system has called the same."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from corrigenda_core.domain.cases import CasePosition
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.testing.shown_team import ShownCase, ShownTeam, ShownVersion

_Value = TypeVar("_Value")


def shown_names(changes: Changes, shown: ShownTeam, known: Collection[str], decided: Iterable[str]) -> dict[str, str]:
    """What new things of a plan are called where the same was planned before: by the new id there, by its own here.

    Things that look alike are matched in the order of their ids, which is that of their making.

    Args:
        changes: the plan.
        shown: the other team after it.
        known: every id that both know.
        decided: the decisions that the other team has taken by it, in their order.
    """
    made: list[str] = [one.decision_id for one in changes.decision_records]
    names: dict[str, str] = dict(zip(made, decided, strict=False))
    left: dict[str, Any] = {
        row_id: _likeness(one.row, one.versions[0]) for row_id, one in shown.rows.items() if row_id not in known
    }
    for row in sorted(changes.relationships, key=lambda one: one.relationship_id):
        if row.relationship_id not in known:
            names[row.relationship_id] = _taken(left, _likeness(row, row), row)
    cases: dict[str, Any] = {i: (c.kind, c.slot, _members(c)) for i, c in shown.cases.items() if i not in known}
    for case in changes.cases:
        if case.conflict_id not in known:
            members = {renamed(m.relationship_id, names) for p in case.positions for m in p.members}
            alike = {i: c for i, c in cases.items() if c[2] >= members or len(cases) == 1}
            names[case.conflict_id] = _taken(alike, None, case)
            cases.pop(names[case.conflict_id])
    items: dict[str, Any] = {
        i: (one.owner_id, one.kind, one.opened_at) for i, one in shown.items.items() if i not in known
    }
    for item in sorted(changes.items, key=lambda one: one.item_id):
        if item.item_id not in known:
            sides = {renamed(one, names) for one in (*item.incoming, *item.opposing)}
            same = {i: s for i, s in items.items() if shown.items[i].incoming | shown.items[i].opposing == sides}
            names[item.item_id] = _taken(same or dict(items), (item.owner_id, item.kind, item.opened_at), item)
            items.pop(names[item.item_id])
    return names


def _likeness(row: Relationship, first: Relationship | ShownVersion) -> tuple[object, ...]:
    shape = (first.status, first.facet, first.validity)
    # Ids of one submission are not in the order of its commits, and their times are.
    return (row.owner_id, row.slot, row.object.key, row.polarity, row.first_recorded_at, *shape)


def _members(case: ShownCase) -> set[str]:
    return {row_id for position in case.positions for row_id, _ in position.members}


def _taken(left: dict[str, Any], wanted: object, what: object) -> str:
    alike = sorted(one for one, likeness in left.items() if wanted is None or likeness == wanted)
    assert alike, f"the model made what the system did not: {what}"
    left.pop(alike[0])
    return alike[0]


def renamed(value: _Value, names: Mapping[str, str]) -> _Value:
    """A frozen value with other ids in it, at any depth."""
    found: Any = value
    if type(found) is str:
        found = names.get(found, found)
    elif isinstance(found, tuple):
        found = tuple(renamed(one, names) for one in found)
    elif is_dataclass(found) and not isinstance(found, type):
        found = replace(found, **{one.name: renamed(getattr(found, one.name), names) for one in fields(found)})
        if isinstance(found, CasePosition):
            # A position keeps its members in the order of their ids.
            found = replace(found, members=tuple(sorted(found.members, key=lambda one: one.relationship_id)))
    renamed_value: _Value = found
    return renamed_value
