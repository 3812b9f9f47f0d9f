"""What holds of every team, read off the model by plain search and not by the planners that made it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import combinations, pairwise
from typing import TypeVar

from corrigenda_core.domain.ids import ProfileId, RelationshipId
from corrigenda_core.domain.items import ItemKind, ItemStatus
from corrigenda_core.domain.objects import Polarity
from corrigenda_core.domain.relationships import Relationship, Status
from corrigenda_core.domain.slots import SlotView
from corrigenda_core.domain.time import EARLIEST, ClosedToNothing, Instant, Interval
from corrigenda_core.domain.views import Version
from corrigenda_core.policy.exclusion import is_excluding
from corrigenda_core.policy.timeline import fold_slot
from corrigenda_core.testing.memory_team import MemoryTeam

_Row = TypeVar("_Row")

_MOMENT = timedelta(microseconds=1)
_DISPUTED = frozenset({Status.ACTIVE, Status.COMPETING})
_IN_FORCE = frozenset({Status.ACTIVE, Status.COMPETING, Status.SUPERSEDED})


def require_sound(model: MemoryTeam) -> None:
    """Checks a team.

    Raises:
        AssertionError: naming what does not hold.
    """
    _require_history(model)
    for slot in model.slots():
        view = model.view(slot)
        _require_one_value_at_a_time(view)
        _require_rows_of_the_fold(view, model)
        _require_supported(view)
        _require_every_dispute_to_be_a_case(view, model)
    _require_items_of_what_waits(model)


def _require_history(model: MemoryTeam) -> None:
    moments = list(dict.fromkeys(revision.moment for revision in model.revisions))
    assert [moment.revision for moment in moments] == list(range(1, len(moments) + 1)), "revisions have no gap"
    assert all(earlier.at < later.at for earlier, later in pairwise(moments)), "time goes with them"
    for versions in model.versions().values():
        _require_versions(versions)
        assert [one.row.version for one in versions] == list(range(1, len(versions) + 1))
    for cases in model.cases().values():
        _require_versions(cases)


def _require_versions(versions: Sequence[Version[_Row]]) -> None:
    for earlier, later in pairwise(versions):
        assert earlier.until == later.since, "each version's end is the next one's start"
    assert versions[-1].until is None, "the last version is the current one"


def _instants(rows: Iterable[Relationship]) -> list[Instant]:
    """Every instant at which something may begin or end, and one just before each."""
    bounds = {EARLIEST + _MOMENT}
    for row in rows:
        if isinstance(row.validity, Interval):
            bounds |= {bound for bound in (row.validity.start, row.validity.end) if bound is not None}
    return sorted(bounds | {bound - _MOMENT for bound in bounds})


def holds_at(row: Relationship, at: Instant) -> bool:
    """Whether a row is in force at an instant."""
    validity = row.validity
    if row.status not in _IN_FORCE or isinstance(validity, ClosedToNothing):
        return False
    return (validity.start is None or validity.start <= at) and (validity.end is None or at < validity.end)


def _require_one_value_at_a_time(view: SlotView) -> None:
    """Of one owner and facet, apart from what competes; a denial and what it denies never hold at once."""
    for at in _instants(view.rows):
        alone = [row for row in view.rows if holds_at(row, at) and row.status is not Status.COMPETING]
        for first, second in combinations(alone, 2):
            if (first.owner_id, first.facet) == (second.owner_id, second.facet):
                assert not is_excluding(first, second), f"two values at {at}: {first} and {second}"


def _require_rows_of_the_fold(view: SlotView, model: MemoryTeam) -> None:
    """The rows in force are what the owner's statements and decisions say, however they came about.

    A resolved case ends the rows that lose, and no other one: what was held against them is tried again with the
    owner's next change of the slot.
    """
    for owner in {statement.owner_id for statement in view.statements}:
        if _is_ended_by_a_case_last(view, model, owner):
            continue
        own = [statement for statement in view.statements if statement.owner_id == owner]
        folded = fold_slot(view.predicate, own, view.decisions)
        rows = {row.relationship_id: row for row in view.rows}
        carriers = {statement.statement_id: statement.relationship_id for statement in own}
        said = Counter[RelationshipId]()
        for episode in folded.episodes:
            (row_id,) = {carriers[one] for one in episode.statement_ids}
            assert row_id is not None, "an episode has a row"
            row = rows[row_id]
            said[row_id] += 1
            assert (row.status, row.validity, row.object.key, row.polarity, row.facet) == (
                episode.status,
                episode.validity,
                episode.object.key,
                episode.polarity,
                episode.facet,
            ), f"{row} is not {episode}"
        assert set(said.values()) <= {1}, "a row is one episode"
        living = {
            row.relationship_id
            for row in view.rows
            if row.owner_id == owner and row.status in _IN_FORCE and isinstance(row.validity, Interval)
        }
        assert living == set(said), "nothing else is in force"


def _is_ended_by_a_case_last(view: SlotView, model: MemoryTeam, owner: ProfileId) -> bool:
    own = {row.relationship_id for row in view.rows if row.owner_id == owner}
    for revision in reversed(model.revisions):
        changed = [one for one in revision.changes.transitions if one.relationship_id in own]
        if revision.slot == view.slot and changed:
            return any(one.conflict_id is not None for one in changed)
    return False


def _require_supported(view: SlotView) -> None:
    supported = {support.relationship_id for support in view.supports if support.effective}
    for row in view.rows:
        if row.status in _IN_FORCE and isinstance(row.validity, Interval):
            assert row.relationship_id in supported, f"{row} stands on nothing"


def _require_every_dispute_to_be_a_case(view: SlotView, model: MemoryTeam) -> None:
    """At most one live case has a key, and of two owners who exclude each other from now on one is in a case."""
    keys = Counter(case.set_key for case in view.cases)
    assert set(keys.values()) <= {1}, "one live case for a key"
    members: dict[RelationshipId, set[str]] = {}
    for case in view.cases:
        for position in case.positions:
            for member in position.members:
                members.setdefault(member.relationship_id, set()).add(case.conflict_id)
    looked_at = max((one.moment.at for one in model.revisions if one.slot == view.slot), default=model.now)
    disputed = [row for row in view.rows if row.status in _DISPUTED]
    for first, second in combinations(disputed, 2):
        if first.owner_id == second.owner_id or not is_excluding(first, second):
            continue
        if Polarity.NEGATIVE in (first.polarity, second.polarity) and first.object.key != second.object.key:
            continue
        later = [at for at in _instants((first, second)) if at >= looked_at] + [looked_at]
        if any(holds_at(first, at) and holds_at(second, at) for at in later):
            both = members.get(first.relationship_id, set()) & members.get(second.relationship_id, set())
            assert both, f"nobody was told of {first} and {second}"


def _require_items_of_what_waits(model: MemoryTeam) -> None:
    waiting = {
        row_id
        for item in model.items().values()
        if item.status is ItemStatus.PENDING and item.kind is ItemKind.RELATIONSHIP
        for row_id in (*item.incoming, *item.opposing)
    }
    for versions in model.versions().values():
        row = versions[-1].row
        if row.status is Status.NEEDS_REVIEW:
            assert row.relationship_id in waiting, f"{row} waits, and nobody is asked"
