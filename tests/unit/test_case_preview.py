"""Previews of another setting or time, as a table over two small cases."""

import json
from datetime import datetime, timedelta

import pytest
from corrigenda_core.domain.snapshots import CaseSnapshot, DecisionReason
from corrigenda_core.policy.case_preview import PreviewedChange, apply_previewed_change, decide_preview
from corrigenda_core.policy.decision_codec import (
    encode_decision,
    encode_evaluation,
    encode_stored_decision,
    encode_stored_evaluation,
)
from corrigenda_core.policy.team_conflict import decide_case
from corrigenda_core.testing.case_snapshots import BEFORE_DEADLINE, DEADLINE, Witness, case, member, plain, side
from corrigenda_core.testing.case_strategies import case_snapshots
from corrigenda_core.testing.effort import examples
from hypothesis import given, settings

OPENED = DEADLINE - timedelta(days=7)
MAJORITY = case(side("main", *plain(1)), side("release", *plain(2)), now=BEFORE_DEADLINE)

ONE_AUTHOR = "p"


def claimed(group: str | None) -> Witness:
    """A text of the one author, who declares a group that nobody granted."""
    return Witness(author=ONE_AUTHOR, group=group, inherits=(f"author:{ONE_AUTHOR}",) if group else ())


MULTIPLIED = case(
    side("main", *plain(1)), side("release", member(*(claimed(group) for group in ("g1", "g2", "g3", None)), owner="p"))
)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (PreviewedChange(), DecisionReason.BEFORE_DEADLINE),
        (PreviewedChange(review_period_days=6), DecisionReason.DUE_MAJORITY),
        (PreviewedChange(review_period_days=30), DecisionReason.BEFORE_DEADLINE),
        (PreviewedChange(at=DEADLINE), DecisionReason.DUE_MAJORITY),
        (PreviewedChange(at=DEADLINE, review_period_days=8), DecisionReason.BEFORE_DEADLINE),
    ],
)
def test_another_deadline_or_time(change: PreviewedChange, reason: DecisionReason) -> None:
    preview = decide_preview(MAJORITY, OPENED, change)
    assert preview.now.reason is DecisionReason.BEFORE_DEADLINE
    assert preview.previewed.reason is reason


@pytest.mark.rule("R6.1")
def test_trusted_groups_are_witnesses_of_their_own_and_a_text_without_any_is_not() -> None:
    preview = decide_preview(MULTIPLIED, OPENED, PreviewedChange(trusts_declared_groups=True))
    assert preview.now.reason is DecisionReason.NO_QUALIFYING_POSITION
    assert preview.previewed.reason is DecisionReason.EARLY_QUORUM
    changed = apply_previewed_change(MULTIPLIED, OPENED, PreviewedChange(trusts_declared_groups=True))
    (release,) = (one for one in changed.positions if one.position_id == "release")
    assert {support.inherited_labels for member in release.members for support in member.supports} == {()}


@pytest.mark.parametrize("days", [0, 31])
def test_a_period_out_of_bounds_is_refused(days: int) -> None:
    with pytest.raises(ValueError, match="must be 1"):
        PreviewedChange(review_period_days=days)


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="at must be an aware instant"):
        PreviewedChange(at=datetime(2026, 1, 1))  # noqa: DTZ001 - that is what is refused


@settings(max_examples=examples(fast=25, full=500))
@given(case_snapshots())
def test_a_stored_evaluation_is_written_as_it_was_whatever_became_of_its_order(snapshot: CaseSnapshot) -> None:
    evaluation = decide_case(snapshot)
    stored = json.loads(json.dumps(json.loads(encode_evaluation(evaluation)), sort_keys=True))
    assert encode_stored_evaluation(stored) == encode_evaluation(evaluation)
    assert encode_stored_decision(stored) == encode_decision(evaluation)


def test_a_stored_field_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="surprise"):
        encode_stored_evaluation({"policy": "independent-sources/1", "surprise": 1})
