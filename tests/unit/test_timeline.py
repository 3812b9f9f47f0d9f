"""The fold of one owner's slot: tables of statements and the episodes that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from corrigenda_core.domain.decisions import GivenStart, Removal, RemovalReason, TimelineDecision
from corrigenda_core.domain.ids import DecisionId, StatementId
from corrigenda_core.domain.predicates import Predicate, SameMomentPolicy
from corrigenda_core.domain.relationships import Status
from corrigenda_core.domain.time import EARLIEST, LATEST, TimeBasis
from corrigenda_core.policy.extents import decide_exact_bound
from corrigenda_core.policy.timeline import Timeline, fold_slot
from corrigenda_core.testing.slots import day, predicate, said, shown

HOLD, COMPETE = predicate(), predicate(same_moment=SameMomentPolicy.COMPETE)


def episodes(timeline: Timeline) -> list[str]:
    """The episodes in the order of time, as ``value start..end status``."""
    ordered = sorted(timeline.episodes, key=lambda e: (e.validity.start or EARLIEST, e.statement_ids))
    return [
        f"{'' if e.polarity == '+' else '-'}{e.object.key.split(':')[-1]} {shown(e.validity)} {e.status.value}"
        for e in ordered
    ]


def held(timeline: Timeline) -> list[str]:
    return [one.statement_id for one in timeline.held]


def fold(lines: Sequence[str], *decisions: TimelineDecision, by: Predicate = HOLD) -> Timeline:
    return fold_slot(by, said(*lines), decisions)


def removal(name: str, reason: RemovalReason = RemovalReason.RETRACTED) -> Removal:
    return Removal(decision_id=DecisionId(f"out-{name}"), statement_id=StatementId(name), reason=reason)


@pytest.mark.rule("R4.7", "R4.8")
@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["premium 1 May", "trial 1 Jan"], ["trial 1 Jan..1 May superseded", "premium 1 May.. active"]),
        (["a 1 Jan", "b 1 Dec"], ["a 1 Jan..1 Dec superseded", "b 1 Dec.. active"]),
        (["a 1 Jan", "b 1 Mar", "c 1 May"],
         ["a 1 Jan..1 Mar superseded", "b 1 Mar..1 May superseded", "c 1 May.. active"]),
        (["a 1 Jan..1 Feb", "c 1 Apr", "b 15 Jan"],
         ["a 1 Jan..15 Jan superseded", "b 15 Jan..1 Apr superseded", "c 1 Apr.. active"]),
        (["a 1 Jan..31 Jan", "d 1 Jun"], ["a 1 Jan..31 Jan active", "d 1 Jun.. active"]),
        (["a 1 Jan", "a 1 Mar"], ["a 1 Jan.. active"]),
        (["a 1 Jan..1 Mar", "a 1 Mar"], ["a 1 Jan..1 Mar active", "a 1 Mar.. active"]),
        (["a 1 Jan..1 Mar", "a 1 Feb..1 May"], ["a 1 Jan..1 May active"]),
        (["a 1 Jan..1 Jun", "a 1 Feb..1 Mar", "a 1 Apr"], ["a 1 Jan..1 Mar active", "a 1 Apr.. active"]),
        (["a 1 Jan..1 Mar", "a 1 Jan..1 May"], ["a 1 Jan..1 May active"]),
        (["a 1 Jan", "b 1 Feb", "a 1 Mar"],
         ["a 1 Jan..1 Feb superseded", "b 1 Feb..1 Mar superseded", "a 1 Mar.. active"]),
        (["a 1 Mar..1 Feb"], ["a 1 Mar.. active"]),
        (["a 1 Jan..1 Feb", "b 1 Feb"], ["a 1 Jan..1 Feb active", "b 1 Feb.. active"]),
    ],
)  # fmt: skip
def test_known_starts_make_touching_episodes(lines: list[str], expected: list[str]) -> None:
    assert episodes(fold(lines)) == expected
    assert [e.split(" ", 1)[1] for e in episodes(fold(lines[::-1]))] == [e.split(" ", 1)[1] for e in expected]


@pytest.mark.rule("R4.7", "R4.15")
def test_a_retracted_value_is_as_if_it_had_never_been_said() -> None:
    timeline = fold(["standard 1 Jan", "gold 1 Mar", "platinum 1 May"], removal("s1"))
    assert episodes(timeline) == ["standard 1 Jan..1 May superseded", "platinum 1 May.. active"]


@pytest.mark.rule("R4.9")
@pytest.mark.parametrize(
    ("lines", "expected", "waiting"),
    [
        pytest.param(["main @1 Jan", "release 1 Mar"], ["main ..1 Mar superseded", "release 1 Mar.. active"], [],
                     id="later-than-the-witness"),
        pytest.param(["main @1 Apr", "release 1 Mar"], ["main .. active"], ["s1"], id="not-later-than-the-witness"),
        pytest.param(["release 1 Mar", "main @1 Apr"], ["release 1 Mar.. active"], ["s1"], id="another-in-force"),
        pytest.param(["main 1 Mar", "main @1 Apr"], ["main 1 Mar.. active"], [], id="only-supports"),
        pytest.param(["main 1 Mar..1 Apr", "main @1 May"], ["main 1 Mar..1 Apr active", "main 1 May.. active"], [],
                     id="everything-ended"),
        pytest.param(["main 1 Mar", "main..1 Apr @1 May"], ["main 1 Mar..1 Apr active"], [], id="before-its-own-end"),
        pytest.param(["main 1 Mar", "main @1 Feb"], ["main .. active"], [], id="unbounded-joins-a-later-start"),
        pytest.param(["main 1 Jan", "release 1 Mar", "main @1 Feb"],
                     ["main 1 Jan..1 Mar superseded", "release 1 Mar.. active"], [], id="in-force-then"),
    ],
)  # fmt: skip
def test_statements_without_a_start_are_placed_by_witness_time(
    lines: list[str], expected: list[str], waiting: list[str]
) -> None:
    timeline = fold(lines)
    assert episodes(timeline) == expected
    assert held(timeline) == waiting


@pytest.mark.rule("R4.8", "R4.10")
@pytest.mark.parametrize(
    ("lines", "on_hold", "competing"),
    [
        pytest.param(["main @1 Jan", "release @1 Feb"],
                     ["main .. active"], ["main .. competing", "release .. competing"], id="both-unknown"),
        pytest.param(["x 1 Mar", "y 1 Mar", "z 1 Mar"], ["x 1 Mar.. active"],
                     ["x 1 Mar.. competing", "y 1 Mar.. competing", "z 1 Mar.. competing"], id="three-at-once"),
        pytest.param(["x 1 Mar", "y 1 Mar", "v 1 Apr"], ["x 1 Mar..1 Apr superseded", "v 1 Apr.. active"],
                     ["x 1 Mar..1 Apr competing", "y 1 Mar..1 Apr competing", "v 1 Apr.. active"], id="overtaken"),
        pytest.param(["x 1 Mar", "y 1 Mar", "x 1 Apr"], ["x 1 Mar.. active"],
                     ["x 1 Mar..1 Apr competing", "y 1 Mar..1 Apr competing", "x 1 Apr.. active"],
                     id="overtaken-by-one-side"),
        pytest.param(["m Mar", "x 10 Mar"], ["m 1 Mar.. active"], ["m 10 Mar.. competing", "x 10 Mar.. competing"],
                     id="the-later-from"),
        pytest.param(["m Mar..5 Mar", "x 10 Mar"], ["m 1 Mar..5 Mar active", "x 10 Mar.. active"],
                     ["m 1 Mar..5 Mar active", "x 10 Mar.. active"], id="an-own-end-orders"),
        pytest.param(["b Mar", "a Mar..20 Mar", "d 22 Mar"], ["b 1 Mar.. active"],
                     ["a 1 Mar..20 Mar active", "b 22 Mar.. competing", "d 22 Mar.. competing"],
                     id="who-ends-before-the-tie"),
        pytest.param(["a Mar..20 Mar", "b 5 Mar", "d 22 Mar"], ["a 1 Mar..20 Mar active", "d 22 Mar.. active"],
                     ["a 5 Mar..20 Mar competing", "b 5 Mar..22 Mar competing", "d 22 Mar.. active"],
                     id="who-ends-ties-with-nobody-later"),
        pytest.param(["x 1 Mar", "x 1 Apr", "x 1 Jun", "y @1 May"], ["x 1 Mar.. active"],
                     ["x 1 Mar..1 Jun competing", "y 1 Mar..1 Jun competing", "x 1 Jun.. active"],
                     id="joins-the-episode"),
    ],
)  # fmt: skip
def test_statements_without_an_order_are_held_or_compete(
    lines: list[str], on_hold: list[str], competing: list[str]
) -> None:
    assert episodes(fold(lines)) == on_hold
    assert episodes(fold(lines, by=COMPETE)) == competing


@pytest.mark.rule("R4.8")
def test_what_is_held_is_tried_again_when_the_other_leaves() -> None:
    lines = ["x 1 Mar", "y 1 Mar", "z 1 Mar"]
    assert held(fold(lines)) == ["s1", "s2"]
    timeline = fold(lines, removal("s0"))
    assert episodes(timeline) == ["y 1 Mar.. active"]
    assert held(timeline) == ["s2"]


@pytest.mark.rule("R4.7")
def test_starts_at_the_last_instant_tie_as_others_do() -> None:
    at = decide_exact_bound(LATEST, TimeBasis.STATED_TIME)
    timeline = fold_slot(COMPETE, [replace(one, start=at) for one in said("x", "y")], ())
    assert [episode.status for episode in timeline.episodes] == [Status.COMPETING, Status.COMPETING]


@pytest.mark.rule("R4.10")
def test_a_given_start_that_is_not_before_its_own_end_gives_nothing() -> None:
    given = [
        GivenStart(
            decision_id=DecisionId("given"),
            statement_id=StatementId("s0"),
            at=day(text),
            basis=TimeBasis.RECORDED_FALLBACK,
        )
        for text in ("1 Feb", "1 Mar", "1 Apr")
    ]
    shown_with = [episodes(fold(["x..1 Mar"], one)) for one in given]
    assert shown_with == [["x 1 Feb..1 Mar active"], ["x ..1 Mar active"], ["x ..1 Mar active"]]
