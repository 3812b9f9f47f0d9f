"""The invariants of team cases (14, 18 to 21), each with a reviewer that looks when the test lets it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import psycopg
import pytest
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.snapshots import Outcome
from corrigenda_core.persistence.roles import ROLES

pytestmark = pytest.mark.database

Rows = Mapping[str, Mapping[str, Mapping[str, Any]]]
Review = Callable[[str], Awaitable[list[Outcome]]]

# What a resolution writes beside the rows of the case and of its losers.
RECORDS = {
    "case_evaluations",
    "case_events",
    "case_lease",
    "conflict_cases",
    "conflict_cases_history",
    "ledger",
    "relationships",
    "relationships_history",
    "search_refresh_intents",
    "team_clock",
    "transitions",
}


def events(rows: Rows, conflict_id: str) -> list[tuple[str, str, int]]:
    """Actor, action and resulting version of the events of a case, in their order."""
    found = [row for row in rows["case_events"].values() if row["conflict_id"] == conflict_id]
    return [
        (row["actor_kind"], row["action"], row["version"]) for row in sorted(found, key=lambda row: row["revision"])
    ]


@pytest.mark.promise("case.opens")
@pytest.mark.rule("R7.3", "R7.5")
async def test_invariant_14_one_durable_case_append_only_events_versioned_members(
    without_workers: Stack, disputing: Any, rows_of: Callable[[str], Rows]
) -> None:
    conflict_id = await disputing.dispute("service")
    rows = rows_of(disputing.team_id)
    (case,) = rows["conflict_cases"].values()
    assert (case["conflict_id"], case["version"]) == (conflict_id, 2)
    assert events(rows, conflict_id) == [("profile", "opened", 1), ("profile", "joined", 2)]
    members = rows["case_members"].values()
    known = {row["relationship_id"]: row["version"] for row in rows["relationships"].values()}
    assert {row["relationship_id"]: row["relationship_version"] for row in members} == known
    with psycopg.connect(without_workers.admin_url) as owner:
        for change in ("UPDATE case_events SET reason = ''", "DELETE FROM case_events"):
            with pytest.raises(psycopg.Error) as refused:
                owner.execute(f"{change} WHERE conflict_id = %s", [conflict_id])
            assert refused.value.sqlstate == "ZC001"
            owner.rollback()


@pytest.mark.promise("case.reviewer-alone")
@pytest.mark.rule("R7.8")
async def test_invariant_18_placement_never_resolves_dismisses_or_marks_overdue(
    disputing: Any, rows_of: Callable[[str], Rows]
) -> None:
    """The deadline has passed and one side has the majority: a placement still only joins."""
    conflict_id = await disputing.dispute("service", votes="AB")
    await disputing.drive(disputing.after_deadlines)
    await disputing.dispute("service", votes="C")
    rows = rows_of(disputing.team_id)
    (case,) = rows["conflict_cases"].values()
    assert (case["status"], case["version"], case["policy_version"]) == ("open", 2, None)
    assert events(rows, conflict_id) == [("profile", "opened", 1), ("profile", "joined", 2)]
    assert rows["case_evaluations"] == {}
    assert {row["status"] for row in rows["relationships"].values()} == {"active"}


@pytest.mark.promise("case.reviewer-alone")
@pytest.mark.rule("R7.19")
async def test_invariant_19_only_the_reviewer_closes_a_case(
    without_workers: Stack, disputing: Any, review: Review, rows_of: Callable[[str], Rows]
) -> None:
    """Offline and model-free is what the test of the process shows; here: nobody else could."""
    closing = ("status", "resolved_at", "dismissed_at", "preferred_position_id", "effective_at", "resolution_reason")
    with psycopg.connect(without_workers.admin_url, autocommit=True) as owner:
        for role in ROLES:
            for column in closing:
                (may,) = owner.execute(
                    "SELECT has_column_privilege(%s, 'conflict_cases', %s, 'UPDATE')", [role.name, column]
                ).fetchone() or (None,)
                assert may is (role.name in {"corrigenda_reviewer", "corrigenda_migrator"}), (role.name, column)
    conflict_id = await disputing.dispute("service")
    await disputing.drive(disputing.after_deadlines)
    assert await review(disputing.team_id) == [Outcome.RESOLVE]
    assert events(rows_of(disputing.team_id), conflict_id)[-1] == ("reviewer", "resolved", 3)


@pytest.mark.promise("case.deadline")
@pytest.mark.rule("R7.13")
async def test_invariant_20_deadline_without_a_winner_is_overdue_and_prefers_nobody(
    disputing: Any, review: Review, rows_of: Callable[[str], Rows]
) -> None:
    conflict_id = await disputing.dispute("service", votes="AB")
    await disputing.drive(disputing.after_deadlines)
    assert await review(disputing.team_id) == [Outcome.OVERDUE]
    rows = rows_of(disputing.team_id)
    (case,) = rows["conflict_cases"].values()
    assert (case["status"], case["preferred_position_id"], case["resolved_at"]) == ("overdue", None, None)
    assert events(rows, conflict_id) == [("profile", "opened", 1), ("reviewer", "marked_overdue", 1)]
    assert {row["status"] for row in rows["relationships"].values()} == {"active"}


@pytest.mark.promise("case.loser")
@pytest.mark.rule("R7.16")
async def test_invariant_21_after_a_resolution_only_its_own_rows_differ(
    disputing: Any, review: Review, rows_of: Callable[[str], Rows]
) -> None:
    await disputing.dispute("service")
    await disputing.dispute("another", votes="AB")
    await disputing.drive(disputing.after_deadlines)
    before = rows_of(disputing.team_id)
    assert sorted(await review(disputing.team_id)) == [Outcome.OVERDUE, Outcome.RESOLVE]
    after = rows_of(disputing.team_id)
    assert {table for table in before if before[table] != after[table]} <= RECORDS
    differing = {key for key, row in before["relationships"].items() if after["relationships"][key] != row}
    (loser,) = differing
    changed = {
        name for name, value in before["relationships"][loser].items() if after["relationships"][loser][name] != value
    }
    assert changed == {"status", "valid_to", "valid_to_basis", "version", "revision", "recorded_at"}
    for table in ("case_events", "case_evaluations", "transitions", "ledger", "search_refresh_intents"):
        assert all(after[table][key] == row for key, row in before[table].items()), table
