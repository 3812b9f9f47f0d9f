"""Explaining a case: the numbers of each rule, what is missing, and the text that people read."""

from __future__ import annotations

import json

import pytest
from corrigenda_cli.explanation_text import render_explanation
from corrigenda_core.domain.explanations import Quantity, RuleReading
from corrigenda_core.domain.ids import PositionId
from corrigenda_core.domain.snapshots import DecisionReason
from corrigenda_core.policy.decision_codec import encode_evaluation, encode_explanation
from corrigenda_core.policy.explanation import apply_one_more_witness, explain_case
from corrigenda_core.policy.team_conflict import decide_case
from corrigenda_core.testing.case_snapshots import (
    AFTER_DEADLINE,
    BEFORE_DEADLINE,
    DEADLINE,
    Member,
    Witness,
    authorities,
    case,
    day,
    member,
    midnight,
    plain,
    side,
)

JANUARY_1, MARCH_1, MAY_1 = day("2026-01-01"), day("2026-03-01"), day("2026-05-01")

TWO_TO_TWO = case(side("main", *plain(2)), side("release", *plain(2)), now=BEFORE_DEADLINE)
NARROW = case(
    side("A", Witness(since=MARCH_1), *plain(3)),
    side("B", member(*authorities(1, since=JANUARY_1), valid_from=midnight("2026-03-01"))),
    now=BEFORE_DEADLINE,
)


def reading_of(readings: tuple[RuleReading, ...], rule: str, position: str) -> RuleReading:
    (found,) = (one for one in readings if (one.rule, one.position_id) == (rule, position))
    return found


@pytest.mark.rule("R7.20")
def test_every_rule_is_read_for_every_position_in_the_order_in_which_it_is_asked() -> None:
    readings = explain_case(TWO_TO_TWO).readings
    assert [(one.rule.value, one.position_id) for one in readings] == [
        (rule, position)
        for rule in ("early_quorum", "timed_override", "unique_authority", "due_majority")
        for position in ("main", "release")
    ]


@pytest.mark.rule("R7.20")
def test_the_numbers_of_a_rule_are_those_that_it_compares() -> None:
    majority = reading_of(explain_case(TWO_TO_TWO).readings, "due_majority", "main")
    assert [(one.quantity.value, one.measured, one.required, one.met) for one in majority.conditions] == [
        ("now", BEFORE_DEADLINE, DEADLINE, False),
        ("witnesses", 2, 2, True),
        ("twice_witnesses", 4, 4, False),
        ("other_positions_with_authority", 0, 0, True),
        ("other_positions_of_record", 0, 0, True),
    ]


@pytest.mark.rule("R7.20")
def test_an_override_says_which_start_of_which_authority_it_fails_against() -> None:
    override = reading_of(explain_case(NARROW).readings, "timed_override", "A")
    (missing,) = override.missing
    assert (missing.quantity, missing.opponent, missing.measured, missing.required) == (
        Quantity.TIME_BEGINS,
        "B",
        midnight("2026-03-01"),
        midnight("2026-03-01"),
    )


@pytest.mark.rule("R7.20")
def test_an_override_misses_the_known_start_of_an_undated_authority() -> None:
    snapshot = case(side("A", *plain(4, since=MARCH_1)), side("B", *authorities(1)))
    override = reading_of(explain_case(snapshot).readings, "timed_override", "A")
    assert [one.quantity for one in override.missing] == [Quantity.OPPONENT_KNOWN_STARTS]


OVERRIDES = [
    pytest.param(member(*authorities(1), valid_from=midnight("2026-02-01")), id="a stated start alone"),
    pytest.param(member(*authorities(1, since=day("2026-02-28"))), id="a bound that ends as the override begins"),
]


@pytest.mark.rule("R7.20")
@pytest.mark.parametrize("authority", OVERRIDES)
def test_an_override_that_decides_misses_nothing(authority: Member) -> None:
    explanation = explain_case(case(side("A", *plain(4, since=MARCH_1)), side("B", authority)))
    assert explanation.evaluation.decision.reason is DecisionReason.TIMED_OVERRIDE
    assert reading_of(explanation.readings, "timed_override", "A").missing == ()


@pytest.mark.rule("R7.20")
@pytest.mark.parametrize(
    ("rule", "ours", "theirs"),
    [
        ("early_quorum", plain(4), plain(1)),
        ("unique_authority", authorities(1), plain(3)),
        ("due_majority", plain(2), plain(1)),
    ],
)
def test_a_rule_that_just_decides_misses_nothing(
    rule: str, ours: tuple[Witness, ...], theirs: tuple[Witness, ...]
) -> None:
    explanation = explain_case(case(side("A", *ours), side("B", *theirs)))
    assert explanation.evaluation.decision.reason == rule
    assert reading_of(explanation.readings, rule, "A").missing == ()
    assert reading_of(explanation.readings, rule, "B").missing != ()


@pytest.mark.rule("R7.20")
def test_the_what_ifs_name_what_the_deadline_and_one_more_witness_would_bring() -> None:
    explanation = explain_case(TWO_TO_TWO)
    assert explanation.evaluation.decision.reason is DecisionReason.BEFORE_DEADLINE
    assert explanation.at_deadline.reason is DecisionReason.NO_QUALIFYING_POSITION
    assert [(one.position_id, one.now.reason.value, one.at_deadline.reason.value) for one in explanation.one_more] == [
        ("main", "before_deadline", "due_majority"),
        ("release", "before_deadline", "due_majority"),
    ]


@pytest.mark.rule("R7.20")
def test_after_the_deadline_it_brings_what_is_decided_already() -> None:
    snapshot = case(side("A", *plain(2)), side("B", *plain(1)), now=AFTER_DEADLINE)
    explanation = explain_case(snapshot)
    assert explanation.at_deadline == explanation.evaluation.decision


@pytest.mark.rule("R7.20")
def test_of_a_dismissed_case_it_is_said_what_there_was_to_decide() -> None:
    snapshot = case(side("A", *plain(1)), side("B", member()))
    explanation = explain_case(snapshot)
    assert [(one.quantity.value, one.measured, one.met) for one in explanation.disagreement] == [
        ("live_positions", 1, False),
        ("live_owners", 1, False),
    ]
    assert explanation.readings == ()
    (_, for_b) = explanation.one_more
    assert for_b.now.reason is DecisionReason.NO_QUALIFYING_POSITION


def test_a_witness_for_a_position_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="no position 'C'"):
        apply_one_more_witness(TWO_TO_TWO, PositionId("C"))


@pytest.mark.parametrize("name", ["one more witness", "one more witness+", "a name that is longer than that one"])
def test_the_witness_is_new_whatever_names_the_snapshot_has(name: str) -> None:
    snapshot = case(side("A", Witness(author=name, group=None), *plain(1)), side("B", *plain(1)))
    (for_a, _) = decide_case(apply_one_more_witness(snapshot, PositionId("A"))).standings
    assert for_a.counted == 3


def test_an_evaluation_is_written_with_its_components() -> None:
    snapshot = case(side("A", Witness(group="g"), Witness(group="g", authoritative=True)), side("B", *plain(1)))
    assert json.loads(encode_evaluation(decide_case(snapshot))) == {
        "policy": "independent-sources/1",
        "outcome": "resolve",
        "reason": "unique_authority",
        "counts": {"A": 1, "B": 1},
        "authoritative": {"A": 1, "B": 0},
        "excluded": [],
        "winner": "A",
        "cutoff": "2026-06-01T12:00:00Z",
        "basis": "recorded_fallback",
        "losers": {"r2": "2026-06-01T12:00:00Z"},
        "components": [
            {"position": "A", "supports": ["s1", "s2"], "authoritative": True},
            {"position": "B", "supports": ["s3"], "authoritative": False},
        ],
    }


def test_an_explanation_is_written_with_numbers_conditions_and_what_ifs() -> None:
    written = json.loads(encode_explanation(explain_case(NARROW)))
    assert written["positions"][0] == {
        "position": "A",
        "witnesses": 4,
        "authoritative": 0,
        "start_bounds": 1,
        "time": {"from": "2026-03-01T00:00:00Z", "to": "2026-03-02T00:00:00Z"},
        "authority_bounds_end": None,
        "authority_valid_from": None,
        "record": False,
    }
    assert written["positions"][1]["authority_valid_from"] == "2026-03-01T00:00:00Z"
    override = next(rule for rule in written["rules"] if rule["rule"] == "timed_override" and rule["position"] == "A")
    assert override["met"] is False
    assert override["conditions"][-2] == {
        "quantity": "time_begins",
        "opponent": "B",
        "measured": "2026-03-01T00:00:00Z",
        "relation": ">",
        "required": "2026-03-01T00:00:00Z",
        "met": False,
    }
    assert written["disagreement"][0] == {
        "quantity": "live_positions",
        "opponent": None,
        "measured": 2,
        "relation": ">=",
        "required": 2,
        "met": True,
    }
    assert written["at_deadline"] == {"outcome": "resolve", "reason": "unique_authority", "winner": "B"}
    assert written["one_more_witness"]["B"]["now"] == {
        "outcome": "keep_open",
        "reason": "before_deadline",
        "winner": None,
    }


def test_people_read_tables() -> None:
    text = render_explanation(explain_case(NARROW))
    assert text.startswith("Decision: keep_open (before_deadline)\n")
    assert "start of its evidence time against B: 2026-03-01T00:00:00Z, needs to be after 2026-03-01T00:00:00Z" in text
    assert "the time of the look: 2026-06-07T23:59:59Z, needs to be not before 2026-06-08T00:00:00Z" in text
    assert [line for line in text.splitlines() if line.startswith("nothing changes")] == [
        "nothing changes         keep_open (before_deadline)  resolve for B (unique_authority)"
    ]


def test_people_read_cutoff_losers_records_exclusions_and_conflicting_times() -> None:
    snapshot = case(
        side("A", member(*plain(2), Witness(group="g"), Witness(since=MARCH_1), Witness(since=MAY_1), record=True)),
        side("B", Witness(group="g"), Witness()),
    )
    lines = render_explanation(explain_case(snapshot)).splitlines()
    assert lines[:3] == [
        "Decision: resolve for A (early_quorum)",
        "Cutoff: 2026-06-01T12:00:00Z (recorded_fallback)",
        "Closes r2 at 2026-06-01T12:00:00Z",
    ]
    assert [line.split() for line in lines if line.startswith("A ")] == [["A", "4", "0", "conflicting", "yes"]]
    assert [line.split(maxsplit=2) for line in lines if line.startswith("s3 ")] == [
        ["s3", "A", "nothing: on_both_sides"]
    ]
    assert next(line.split() for line in lines if line.startswith("early_quorum")) == ["early_quorum", "A", "yes"]
    assert "start of its evidence time: none, needs one" in "\n".join(lines)


def test_people_read_what_one_more_witness_would_change_and_what_not() -> None:
    lines = render_explanation(explain_case(case(side("A", *plain(2)), side("B", *plain(1))))).splitlines()
    assert lines[-2:] == [
        "one more witness for A  no change                         no change",
        "one more witness for B  overdue (no_qualifying_position)  overdue (no_qualifying_position)",
    ]


def test_people_read_why_there_is_nothing_to_decide() -> None:
    text = render_explanation(explain_case(case(side("A", *plain(1)))))
    assert text.splitlines()[:2] == [
        "Decision: dismiss (no_material_disagreement)",
        "Nothing to decide: live positions: 1, needs at least 2; owners of live positions: 1, needs at least 2",
    ]


@pytest.mark.rule("R7.20")
def test_one_more_witness_is_tried_for_the_positions_that_are_asked_about() -> None:
    every, asked = explain_case(TWO_TO_TWO), explain_case(TWO_TO_TWO, [PositionId("release")])
    assert asked.one_more == tuple(one for one in every.one_more if one.position_id == "release")
    assert (asked.readings, asked.at_deadline) == (every.readings, every.at_deadline)
