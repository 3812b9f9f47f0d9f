"""The policy `independent-sources/1` as tables: one case a line, grouped by what decides it.

A witness of its own shares nothing with any other; everything that two witnesses share is written out. The deadline is
8 June 2026, the first contradiction was recorded on 1 June at noon.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from corrigenda_core.domain.snapshots import CaseSnapshot
from corrigenda_core.domain.time import TimeBasis
from corrigenda_core.policy.decision_codec import encode_decision
from corrigenda_core.policy.team_conflict import decide_at_deadline, decide_case
from corrigenda_core.testing.case_snapshots import (
    AFTER_DEADLINE,
    BEFORE_DEADLINE,
    DEADLINE,
    Witness,
    authorities,
    case,
    day,
    member,
    midnight,
    period,
    plain,
    side,
)

JANUARY_1, FEBRUARY_1, MARCH_1, MAY_1 = day("2026-01-01"), day("2026-02-01"), day("2026-03-01"), day("2026-05-01")
FIRST_CONTRADICTION = "2026-06-01T12:00:00Z"


def decided(snapshot: CaseSnapshot) -> dict[str, Any]:
    return dict(json.loads(encode_decision(decide_case(snapshot))))


def expect(snapshot: CaseSnapshot, outcome: str, **fields: object) -> None:
    """The decision has this outcome and these fields; a winner that is not named must not be there."""
    decision = decided(snapshot)
    expected = {"outcome": outcome, "winner": None, **fields}
    assert {field: decision.get(field) for field in expected} == expected


QUORUM = [
    pytest.param(plain(4), plain(1), "A", id="four of five"),
    pytest.param(plain(7), plain(2), "A", id="seven of nine"),
    pytest.param(plain(3), plain(1), None, id="three of four: neither enough in number nor in share"),
    pytest.param(plain(6), plain(2), None, id="six of eight: three quarters is not more than three quarters"),
    pytest.param(plain(4), plain(2), None, id="four of six: enough in number only"),
    pytest.param(authorities(4), plain(1), "A", id="an authority of one's own is no obstacle"),
    pytest.param(authorities(1), plain(3), None, id="an authority alone waits for the deadline"),
    pytest.param((Witness(author="p", group=None),) * 4, plain(1), None, id="four sentences of one author"),
]


@pytest.mark.rule("R7.11", "R7.13")
@pytest.mark.parametrize(("ours", "theirs", "winner"), QUORUM)
def test_quorum_before_the_deadline(ours: tuple[Witness, ...], theirs: tuple[Witness, ...], winner: str | None) -> None:
    snapshot = case(side("A", *ours), side("B", *theirs), now=BEFORE_DEADLINE)
    if winner is None:
        expect(snapshot, "keep_open", reason="before_deadline")
    else:
        expect(
            snapshot,
            "resolve",
            reason="early_quorum",
            winner=winner,
            basis="recorded_fallback",
            cutoff=FIRST_CONTRADICTION,
        )


MAJORITY = [
    pytest.param(DEADLINE, (2, 1), "A", id="two of three on the deadline itself"),
    pytest.param(AFTER_DEADLINE, (5, 4), "A", id="five of nine after it"),
    pytest.param(AFTER_DEADLINE, (1, 1), None, id="one against one"),
    pytest.param(AFTER_DEADLINE, (2, 2), None, id="two against two: half is not more than half"),
    pytest.param(AFTER_DEADLINE, (2, 1, 1), None, id="two of four over three positions"),
    pytest.param(AFTER_DEADLINE, (3, 1, 1), "A", id="three of five over three positions"),
]


@pytest.mark.rule("R7.12", "R7.13")
@pytest.mark.parametrize(("now", "sizes", "winner"), MAJORITY)
def test_majority_from_the_deadline_on(now: Any, sizes: tuple[int, ...], winner: str | None) -> None:
    sides = [side(name, *plain(size)) for name, size in zip("ABC", sizes, strict=False)]
    if winner is None:
        expect(case(*sides, now=now), "overdue", reason="no_qualifying_position")
    else:
        expect(case(*sides, now=now), "resolve", reason="due_majority", winner=winner)


@pytest.mark.rule("R7.12", "R7.13")
def test_a_majority_waits_for_the_deadline() -> None:
    expect(case(side("A", *plain(2)), side("B", *plain(1)), now=BEFORE_DEADLINE), "keep_open", reason="before_deadline")


DISMISSALS = [
    pytest.param(
        case(side("A", *plain(4)), side("B", member()), now=BEFORE_DEADLINE), id="only one position has support"
    ),
    pytest.param(
        case(side("A", member(*plain(2), owner="x")), side("B", member(*plain(1), owner="x")), now=AFTER_DEADLINE),
        id="one owner holds both positions",
    ),
    pytest.param(
        case(
            side("A", member(*plain(1), owner="x"), member(Witness(effective=False), owner="y")),
            side("B", member(*plain(1), owner="x")),
            now=AFTER_DEADLINE,
        ),
        id="a second owner without an effective support is none",
    ),
    pytest.param(case(), id="no position at all"),
]


@pytest.mark.rule("R7.10")
@pytest.mark.parametrize("snapshot", DISMISSALS)
def test_without_a_disagreement_between_owners_the_case_is_dismissed(snapshot: CaseSnapshot) -> None:
    assert decided(snapshot) == {"outcome": "dismiss", "reason": "no_material_disagreement"}


def test_two_owners_on_one_of_the_positions_are_enough() -> None:
    snapshot = case(
        side("A", member(*plain(1), owner="x"), member(*plain(1), owner="y")), side("B", member(*plain(1), owner="x"))
    )
    expect(snapshot, "resolve", winner="A")


AUTHORITY = [
    pytest.param(DEADLINE, authorities(1), plain(3), ("resolve", "unique_authority", "A"), id="one against three"),
    pytest.param(
        DEADLINE, authorities(3), authorities(1), ("overdue", "no_qualifying_position", None), id="on both sides"
    ),
    pytest.param(
        DEADLINE,
        authorities(2, since=MAY_1),
        authorities(1, since=JANUARY_1),
        ("overdue", "no_qualifying_position", None),
        id="two later ones are no strong position and override nothing",
    ),
    pytest.param(
        BEFORE_DEADLINE, plain(4), authorities(1), ("keep_open", "before_deadline", None), id="undated quorum, early"
    ),
    pytest.param(
        AFTER_DEADLINE, plain(4), authorities(1), ("resolve", "unique_authority", "B"), id="undated quorum, after"
    ),
]


@pytest.mark.rule("R7.11", "R7.12", "R7.13")
@pytest.mark.parametrize(("now", "ours", "theirs", "expected"), AUTHORITY)
def test_authority(
    now: Any, ours: tuple[Witness, ...], theirs: tuple[Witness, ...], expected: tuple[str, str, str | None]
) -> None:
    outcome, reason, winner = expected
    expect(case(side("A", *ours), side("B", *theirs), now=now), outcome, reason=reason, winner=winner)


APRIL_1 = midnight("2026-04-01")
OVERRIDES = [
    pytest.param(plain(4, since=MAY_1), side("B", *authorities(1, since=JANUARY_1)), True, id="begins later"),
    pytest.param(
        plain(4, since=day("2026-01-02")), side("B", *authorities(1, since=JANUARY_1)), True, id="begins as it ends"
    ),
    pytest.param(plain(4, since=MAY_1), side("B", *authorities(1, since=MAY_1)), False, id="the same day"),
    pytest.param(
        plain(4, since=MAY_1),
        side("B", *authorities(1, since=period("2026-01-01", "2027-01-01"))),
        False,
        id="some day of that year may be later",
    ),
    pytest.param(
        plain(4, since=MARCH_1),
        side("B", member(*authorities(1, since=JANUARY_1), valid_from=APRIL_1)),
        False,
        id="the authority's relationship starts later than its evidence says",
    ),
    pytest.param(
        plain(4, since=day("2026-04-01")),
        side("B", member(*authorities(1), valid_from=APRIL_1)),
        False,
        id="begins at the instant at which the authority starts",
    ),
    pytest.param(
        plain(4, since=day("2026-04-02")),
        side("B", member(*authorities(1), valid_from=APRIL_1)),
        True,
        id="begins after the stated start of an authority without evidence time",
    ),
    pytest.param(
        plain(4, since=MARCH_1),
        side(
            "B",
            member(*authorities(1), valid_from=midnight("2026-01-01"), valid_from_basis=TimeBasis.RECORDED_FALLBACK),
        ),
        False,
        id="a recorded fallback is no start to be later than",
    ),
    pytest.param(
        plain(4, since=MARCH_1),
        side("B", member(*authorities(1, since=JANUARY_1)), member(*plain(1), valid_from=APRIL_1)),
        False,
        id="too small a share with a fifth witness against it",
    ),
    pytest.param(
        plain(7, since=MARCH_1),
        side("B", member(*authorities(1, since=JANUARY_1)), member(*plain(1), valid_from=APRIL_1)),
        True,
        id="the later start of a relationship without authority does not matter",
    ),
    pytest.param(
        plain(7, since=MARCH_1),
        side(
            "B",
            member(*authorities(1, since=JANUARY_1)),
            member(Witness(group="group-8"), valid_from=APRIL_1),
        ),
        False,
        id="it does if the relationship shares the authority's witness",
    ),
    pytest.param(plain(4), side("B", *authorities(1)), False, id="nothing is dated"),
    pytest.param(
        (Witness(since=MAY_1, since_verified=False),) * 4,
        side("B", *authorities(1, since=JANUARY_1)),
        False,
        id="a time that the verifier did not confirm is none",
    ),
    pytest.param(
        (Witness(since=MAY_1), *plain(3)), side("B", *authorities(1, since=JANUARY_1)), True, id="one dated of four"
    ),
]


@pytest.mark.rule("R7.11")
@pytest.mark.parametrize(("ours", "theirs", "overrides"), OVERRIDES)
def test_a_strong_position_overrides_an_authority_only_if_it_begins_later(
    ours: tuple[Witness, ...], theirs: Any, overrides: bool
) -> None:
    snapshot = case(side("A", *ours), theirs, now=BEFORE_DEADLINE)
    if overrides:
        expect(snapshot, "resolve", reason="timed_override", winner="A", basis="evidence_time")
    else:
        expect(snapshot, "keep_open", reason="before_deadline")


@pytest.mark.rule("R7.11", "R7.12", "R7.15")
def test_an_override_is_dated_by_its_evidence_and_holds_after_the_deadline_too() -> None:
    sides = side("A", *plain(4, since=MAY_1)), side("B", *authorities(1, since=JANUARY_1))
    for now in (BEFORE_DEADLINE, AFTER_DEADLINE):
        expect(
            case(*sides, now=now),
            "resolve",
            reason="timed_override",
            winner="A",
            basis="evidence_time",
            cutoff="2026-05-01T00:00:00Z",
        )


@pytest.mark.rule("R7.11")
def test_an_override_must_be_later_than_every_authority() -> None:
    ours, early, late = plain(7, since=MARCH_1), authorities(1, since=JANUARY_1), authorities(1, since=MAY_1)
    expect(case(side("A", *ours), side("B", *early), side("C", *early)), "resolve", reason="timed_override", winner="A")
    expect(case(side("A", *ours), side("B", *early), side("C", *late)), "overdue")


LATER = [
    pytest.param(
        side("B", *authorities(1, since=JANUARY_1), *authorities(1, since=MAY_1)), id="a bound of a second authority"
    ),
    pytest.param(
        side("B", Witness(group="g", since=MAY_1, authoritative=True), Witness(group="g", since=JANUARY_1)),
        id="another bound of the same authority",
    ),
    pytest.param(
        side(
            "B",
            member(*authorities(1), valid_from=midnight("2026-01-01")),
            member(*authorities(1), valid_from=APRIL_1),
        ),
        id="the start of a second relationship",
    ),
    pytest.param(
        side("B", member(*authorities(1), Witness(group="group-1"), valid_from=APRIL_1)),
        id="the start of a relationship that has an excluded support as well",
    ),
]


@pytest.mark.rule("R7.11")
@pytest.mark.parametrize("theirs", LATER)
def test_an_override_must_be_later_than_everything_that_dates_an_authority(theirs: Any) -> None:
    early, late = plain(8, since=MARCH_1), plain(8, since=day("2026-05-09"))
    expect(case(side("A", *early), theirs, now=BEFORE_DEADLINE), "keep_open")
    expect(case(side("A", *late), theirs, now=BEFORE_DEADLINE), "resolve", reason="timed_override", winner="A")


@pytest.mark.rule("R7.12")
def test_an_authority_that_is_overridden_does_not_win_by_being_the_only_one() -> None:
    evaluation = decide_case(case(side("A", *plain(4, since=MAY_1)), side("B", *authorities(1, since=JANUARY_1))))
    assert decide_at_deadline(evaluation.standings) is None


@pytest.mark.rule("R7.11", "R7.12")
def test_times_that_conflict_override_nothing() -> None:
    ours = (*plain(3, since=MAY_1), *plain(1, since=day("2026-05-09")))
    theirs = authorities(1, since=JANUARY_1)
    expect(
        case(side("A", *ours), side("B", *theirs), now=AFTER_DEADLINE),
        "resolve",
        reason="unique_authority",
        winner="B",
        cutoff="2026-01-01T00:00:00Z",
    )


NOTHING = (0, 0)
INDEPENDENCE = [
    pytest.param(
        side("A", *plain(2), Witness(group="g")), side("B", *plain(1), Witness(group="g")), (2, 1), id="a shared group"
    ),
    pytest.param(side("A", Witness(group="g")), side("B", Witness(group="g")), NOTHING, id="only a shared group"),
    pytest.param(
        side("A", Witness(group="g", text="t"), Witness(text="t")),
        side("B", Witness(group="g")),
        NOTHING,
        id="a shared label takes its whole component with it",
    ),
    pytest.param(
        side("A", Witness(fragment="f", text="t"), *plain(2)),
        side("B", Witness(fragment="f", text="t")),
        (2, 0),
        id="one fragment cited by both",
    ),
    pytest.param(
        side("A", Witness(text="t"), *plain(1)), side("B", Witness(text="t")), (2, 0), id="the later copy of a text"
    ),
    pytest.param(
        side("A", Witness(text="t", minute=9), *plain(1)),
        side("B", Witness(text="t", minute=1)),
        (1, 1),
        id="the later copy of a text is ours",
    ),
    pytest.param(
        side("A", Witness(text="t", fragment="f2", minute=1)),
        side("B", Witness(text="t", fragment="f1", minute=1)),
        (0, 1),
        id="of copies recorded together the greater fragment id is out",
    ),
    pytest.param(
        side("A", Witness(text="t", minute=1)),
        side("B", Witness(text="t", minute=2)),
        (1, 0),
        id="the earlier witness stays",
    ),
    pytest.param(
        side("A", Witness(group="g", text="t", minute=3)),
        side("B", Witness(group="g", minute=1), Witness(text="t", minute=2)),
        (0, 1),
        id="copying the other side does not clear one's own shared label",
    ),
    pytest.param(
        side("A", Witness(fragment="line"), *plain(1)),
        side("B", Witness(resembles=("line",))),
        (2, 1),
        id="a near-duplicate on the other side is a statement of its own",
    ),
    pytest.param(
        side("A", Witness(derived_from=("outside",), minute=1)),
        side("B", Witness(adopted_from="outside", minute=2)),
        (1, 0),
        id="a common origin on the other side",
    ),
    pytest.param(
        side("A", *(Witness(group="g"),) * 3), side("B", *plain(1)), (1, 1), id="three fragments of one group"
    ),
    pytest.param(
        side("A", *(Witness(author="p", group=None),) * 4),
        side("B", *plain(1)),
        (1, 1),
        id="four sentences of one author without group and key",
    ),
    pytest.param(
        side("A", Witness(author="p"), Witness(author="p")), side("B", *plain(1)), (2, 1), id="one author, two groups"
    ),
    pytest.param(
        side("A", Witness(group="g1", text="t"), Witness(group="g2", text="t")),
        side("B", *plain(1)),
        (1, 1),
        id="one text under two groups",
    ),
    pytest.param(
        side("A", Witness(fragment="f", group="g1"), Witness(group="g2", adopted_from="f")),
        side("B", *plain(1)),
        (1, 1),
        id="an adopted fragment",
    ),
    pytest.param(
        side("A", *(Witness(derived_from=("outside",)),) * 2), side("B", *plain(1)), (1, 1), id="two summaries"
    ),
    pytest.param(
        side("A", Witness(group="g"), Witness(inherits=("group:g",))),
        side("B", *plain(1)),
        (1, 1),
        id="a label inherited from an outside fragment",
    ),
    pytest.param(
        side("A", Witness(fragment="f"), Witness(resembles=("f",))),
        side("B", *plain(1)),
        (1, 1),
        id="a near-duplicate on the same side",
    ),
    pytest.param(side("A", *(Witness(key="k"),) * 2), side("B", *plain(1)), (1, 1), id="two revisions of one source"),
    pytest.param(
        side("A", Witness(group="g"), Witness(group="g", text="t"), Witness(text="t"), *plain(1)),
        side("B", *plain(2)),
        (2, 2),
        id="joined over a third",
    ),
    pytest.param(
        side("A", Witness(fragment="f1", derived_from=("f2",)), Witness(derived_from=("f1",)), Witness(fragment="f2")),
        side("B", *plain(1)),
        (1, 1),
        id="a chain of derivations",
    ),
    pytest.param(
        side("A", *plain(1), Witness(effective=False)), side("B", *plain(1)), (1, 1), id="a support without effect"
    ),
    pytest.param(
        side("A", Witness(group="g1", text="t1"), Witness(group="g2", text="t2"), Witness(effective=False, group="g1")),
        side("B", Witness(group="g3"), Witness(effective=False, group="g2", text="t1")),
        (2, 1),
        id="labels and text of a support without effect join and exclude nothing",
    ),
    pytest.param(
        side(
            "A",
            Witness(effective=False, fragment="dead"),
            Witness(adopted_from="dead"),
            Witness(derived_from=("dead",)),
        ),
        side("B", *plain(1)),
        (1, 1),
        id="what comes from a fragment without effect is still joined",
    ),
]


@pytest.mark.rule("R6.1", "R6.2", "R6.3", "R6.4")
@pytest.mark.parametrize(("ours", "theirs", "counts"), INDEPENDENCE)
def test_what_counts_as_one_witness(ours: Any, theirs: Any, counts: tuple[int, int]) -> None:
    decision = decided(case(ours, theirs))
    assert decision["counts"] == {"A": counts[0], "B": counts[1]}
    if counts[0] >= 2 and counts[0] > counts[1]:
        assert (decision["outcome"], decision["winner"]) == ("resolve", "A")
    else:
        assert decision["outcome"] == "overdue"


@pytest.mark.rule("R6.3", "R7.12")
def test_deriving_from_an_authority_of_the_other_side_silences_oneself_only() -> None:
    ours = side("A", Witness(fragment="original", authoritative=True))
    theirs = side("B", Witness(derived_from=("original",)), *plain(2))
    expect(
        case(ours, theirs),
        "resolve",
        reason="unique_authority",
        winner="A",
        counts={"A": 1, "B": 2},
        authoritative={"A": 1, "B": 0},
        excluded=[{"supports": ["s2"], "reason": "copy_of_other_side"}],
    )


@pytest.mark.rule("R6.2", "R6.4")
def test_a_component_is_authoritative_if_any_of_its_supports_is() -> None:
    snapshot = case(side("A", Witness(group="g"), Witness(group="g", authoritative=True)), side("B", *plain(1)))
    expect(snapshot, "resolve", winner="A", counts={"A": 1, "B": 1}, authoritative={"A": 1, "B": 0})
    (component, _) = decide_case(snapshot).witnesses.components
    assert (component.support_ids, component.authoritative) == (("s1", "s2"), True)


@pytest.mark.rule("R6.4")
def test_every_component_and_every_exclusion_is_listed_with_its_reason() -> None:
    snapshot = case(
        side("B", Witness(group="shared"), Witness(text="t", minute=5), *plain(1)),
        side("A", Witness(text="t", minute=1), Witness(group="shared", text="u"), Witness(text="u"), *plain(1)),
    )
    witnesses = decide_case(snapshot).witnesses
    assert [(c.position_id, c.support_ids) for c in witnesses.components] == [
        ("A", ("s4",)),
        ("A", ("s7",)),
        ("B", ("s3",)),
    ]
    assert [(e.position_id, e.support_ids, e.reason) for e in witnesses.exclusions] == [
        ("A", ("s5", "s6"), "on_both_sides"),
        ("B", ("s1",), "on_both_sides"),
        ("B", ("s2",), "copy_of_other_side"),
    ]
    assert decided(snapshot)["excluded"] == [
        {"supports": ["s5", "s6"], "reason": "on_both_sides"},
        {"supports": ["s1"], "reason": "on_both_sides"},
        {"supports": ["s2"], "reason": "copy_of_other_side"},
    ]


CUTOFFS = [
    pytest.param(
        plain(2), member(*plain(1)), (FIRST_CONTRADICTION, "recorded_fallback", FIRST_CONTRADICTION), id="nothing dated"
    ),
    pytest.param(
        plain(2, since=FEBRUARY_1),
        member(*plain(1), valid_from=midnight("2026-03-01")),
        ("2026-02-01T00:00:00Z", "evidence_time", "2026-03-01T00:00:00Z"),
        id="the loser starts after the cutoff: closed to nothing",
    ),
    pytest.param(
        plain(2, since=day("2026-09-01")),
        member(*plain(1), valid_from=midnight("2026-01-01"), valid_to=midnight("2026-07-01")),
        ("2026-09-01T00:00:00Z", "evidence_time", "2026-07-01T00:00:00Z"),
        id="the loser has ended before the winner starts",
    ),
    pytest.param(
        plain(2, since=day("2026-02-01")),
        member(*plain(1), valid_from=midnight("2026-01-01"), valid_to=midnight("2026-07-01")),
        ("2026-02-01T00:00:00Z", "evidence_time", "2026-02-01T00:00:00Z"),
        id="the loser is cut short",
    ),
    pytest.param(
        (*plain(1, since=period("2026-03-01", "2026-04-01")), *plain(1, since=day("2026-03-15"))),
        member(*plain(1)),
        ("2026-03-15T00:00:00Z", "evidence_time", "2026-03-15T00:00:00Z"),
        id="a month and a day in it agree on the day",
    ),
    pytest.param(
        (*plain(1, since=MARCH_1), *plain(1, since=day("2026-04-01"))),
        member(*plain(1)),
        (FIRST_CONTRADICTION, "recorded_fallback", FIRST_CONTRADICTION),
        id="times that conflict are as missing",
    ),
    pytest.param(
        (*plain(1, since=MARCH_1), *plain(1, since=day("2026-03-02"))),
        member(*plain(1)),
        (FIRST_CONTRADICTION, "recorded_fallback", FIRST_CONTRADICTION),
        id="days that only touch have nothing in common",
    ),
    pytest.param(
        (*plain(2), Witness(group="g", since=MARCH_1)),
        member(Witness(group="g")),
        (FIRST_CONTRADICTION, "recorded_fallback", FIRST_CONTRADICTION),
        id="the time of an excluded witness is no time",
    ),
]


@pytest.mark.rule("R7.15", "R7.16")
@pytest.mark.parametrize(("ours", "loser", "expected"), CUTOFFS)
def test_cutoff_and_end_of_the_loser(ours: tuple[Witness, ...], loser: Any, expected: tuple[str, str, str]) -> None:
    cutoff, basis, end = expected
    expect(
        case(side("A", *ours), side("B", loser)),
        "resolve",
        winner="A",
        cutoff=cutoff,
        basis=basis,
        losers={"r2": end},
    )


@pytest.mark.rule("R7.15")
def test_a_start_that_the_winner_states_without_evidence_moves_no_cutoff() -> None:
    snapshot = case(side("A", member(*plain(2), valid_from=midnight("2026-02-01"))), side("B", *plain(1)))
    expect(snapshot, "resolve", winner="A", cutoff=FIRST_CONTRADICTION, basis="recorded_fallback")


@pytest.mark.rule("R7.15")
def test_the_older_side_may_win_and_the_newcomer_is_closed_at_its_own_start() -> None:
    older = side("old", member(*plain(3), valid_from=midnight("2025-01-01")))
    newer = side("new", member(*plain(1), valid_from=midnight("2026-06-05")))
    expect(case(older, newer), "resolve", winner="old", losers={"r2": "2026-06-05T00:00:00Z"})


@pytest.mark.rule("R7.16")
def test_only_live_members_of_the_other_positions_lose() -> None:
    snapshot = case(
        side("C", member(*plain(1)), member(Witness(effective=False))),
        side("A", member(*plain(3)), member(*plain(2))),
        side("B", *plain(1)),
        side("D", member()),
    )
    expect(snapshot, "resolve", winner="A", losers={"r1": FIRST_CONTRADICTION, "r5": FIRST_CONTRADICTION})


RECORDS = [
    pytest.param(BEFORE_DEADLINE, ("keep_open", "record_protected", None), id="before the deadline it is left open"),
    pytest.param(AFTER_DEADLINE, ("overdue", "record_protected", None), id="after it the case is escalated"),
]


@pytest.mark.rule("R7.14")
@pytest.mark.parametrize(("now", "expected"), RECORDS)
def test_a_system_of_record_cannot_lose(now: Any, expected: tuple[str, str, str | None]) -> None:
    outcome, reason, winner = expected
    snapshot = case(side("A", *plain(4)), side("B", member(*plain(1), record=True)), now=now)
    expect(snapshot, outcome, reason=reason, winner=winner)


@pytest.mark.rule("R7.14")
def test_one_system_of_record_among_several_members_protects_the_position() -> None:
    theirs = side("B", member(*plain(1)), member(*plain(1), record=True))
    expect(case(side("A", *plain(7)), theirs), "overdue", reason="record_protected")


@pytest.mark.rule("R7.14")
def test_a_system_of_record_wins_by_the_same_counting() -> None:
    ours, theirs = side("A", member(*plain(2), record=True)), side("B", *plain(1))
    expect(case(ours, theirs, now=AFTER_DEADLINE), "resolve", reason="due_majority", winner="A")


@pytest.mark.rule("R7.14")
def test_a_record_without_an_effective_support_protects_nothing() -> None:
    theirs = side("B", member(*plain(1)), member(Witness(effective=False), record=True))
    expect(case(side("A", *plain(2)), theirs), "resolve", winner="A")
