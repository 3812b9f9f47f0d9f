"""The policy `independent-sources/1` as algebra: what must not matter, what must hold, and how it explains itself."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from corrigenda_core.domain.explanations import Quantity
from corrigenda_core.domain.ids import PositionId, ProfileId, RelationshipId, SupportId
from corrigenda_core.domain.snapshots import (
    CaseSnapshot,
    DecisionReason,
    Dismiss,
    KeepOpen,
    MarkOverdue,
    Resolve,
    SnapshotMember,
)
from corrigenda_core.domain.time import TimeBasis
from corrigenda_core.policy.decision_codec import encode_decision, encode_explanation
from corrigenda_core.policy.explanation import apply_one_more_witness, explain_case
from corrigenda_core.policy.snapshot_codec import decode_snapshot, encode_snapshot
from corrigenda_core.policy.team_conflict import decide_case, decide_live_positions, is_majority, is_strong
from corrigenda_core.testing.case_snapshots import AFTER_DEADLINE, BEFORE_DEADLINE
from corrigenda_core.testing.case_strategies import case_snapshots, contested_snapshots, shuffled
from corrigenda_core.testing.effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st

EXAMPLES = examples(fast=50, full=500)
SNAPSHOTS = st.one_of(case_snapshots(), contested_snapshots())


def decided(snapshot: CaseSnapshot) -> dict[str, Any]:
    return dict(json.loads(encode_decision(decide_case(snapshot))))


@pytest.mark.rule("R7.10", "R7.13", "R7.15", "R7.16")
@settings(max_examples=EXAMPLES, deadline=None)
@given(snapshot=SNAPSHOTS)
def test_every_snapshot_has_one_decision_that_fits_it(snapshot: CaseSnapshot) -> None:
    evaluation = decide_case(snapshot)
    live = decide_live_positions(snapshot)
    match evaluation.decision:
        case Dismiss():
            assert len(live) < 2 or len({m.owner_id for p in live for m in p.live_members}) < 2
            assert evaluation.standings == ()
        case MarkOverdue():
            assert snapshot.now >= snapshot.review_due_at
        case KeepOpen():
            assert snapshot.now < snapshot.review_due_at
        case Resolve(winner=winner, cutoff=cutoff, losers=losers):
            losing = {m.relationship_id: m for p in live if p.position_id != winner for m in p.live_members}
            assert [loser.relationship_id for loser in losers] == sorted(losing)
            for loser in losers:
                row = losing[loser.relationship_id]
                assert row.valid_from is None or loser.valid_to >= row.valid_from
                assert row.valid_to is None or loser.valid_to <= row.valid_to
                assert loser.valid_to == cutoff or loser.valid_to in (row.valid_from, row.valid_to)


@settings(max_examples=EXAMPLES, deadline=None)
@given(snapshot=SNAPSHOTS, data=st.data())
def test_the_order_of_anything_changes_no_byte(snapshot: CaseSnapshot, data: st.DataObject) -> None:
    other = data.draw(shuffled(snapshot))
    assert encode_snapshot(other) == encode_snapshot(snapshot)
    assert encode_decision(decide_case(other)) == encode_decision(decide_case(snapshot))
    assert encode_explanation(explain_case(other)) == encode_explanation(explain_case(snapshot))


@settings(max_examples=EXAMPLES, deadline=None)
@given(snapshot=SNAPSHOTS, seed=st.randoms(use_true_random=False))
def test_names_do_not_matter(snapshot: CaseSnapshot, seed: Any) -> None:
    def renaming(names: list[str], kind: str) -> dict[str, str]:
        numbers = list(range(len(set(names))))
        seed.shuffle(numbers)
        return {name: f"{kind} {number:02}" for name, number in zip(sorted(set(names)), numbers, strict=True)}

    members = [member for position in snapshot.positions for member in position.members]
    positions = renaming([position.position_id for position in snapshot.positions], "position")
    owners = renaming([member.owner_id for member in members], "owner")
    rows = renaming([member.relationship_id for member in members], "row")
    supports = renaming([support.support_id for member in members for support in member.supports], "support")

    def renamed(member: SnapshotMember) -> SnapshotMember:
        return replace(
            member,
            relationship_id=RelationshipId(rows[member.relationship_id]),
            owner_id=ProfileId(owners[member.owner_id]),
            supports=tuple(replace(s, support_id=SupportId(supports[s.support_id])) for s in member.supports),
        )

    other = replace(
        snapshot,
        positions=tuple(
            replace(p, position_id=PositionId(positions[p.position_id]), members=tuple(map(renamed, p.members)))
            for p in snapshot.positions
        ),
    )
    before, after = decided(snapshot), decided(other)
    for field in ("counts", "authoritative"):
        if field in before:
            before[field] = {positions[name]: number for name, number in before[field].items()}
    if "excluded" in before:
        listed = ((sorted(supports[one] for one in e["supports"]), e["reason"]) for e in before["excluded"])
        before["excluded"] = sorted(listed)
        after["excluded"] = sorted((e["supports"], e["reason"]) for e in after["excluded"])
    if "winner" in before:
        before["winner"] = positions[before["winner"]]
        before["losers"] = {rows[row]: end for row, end in before["losers"].items()}
    assert after == before


@pytest.mark.rule("R7.11", "R7.12")
@settings(max_examples=EXAMPLES, deadline=None)
@given(snapshot=contested_snapshots())
def test_an_independent_plain_supporter_never_turns_a_decision_away_from_its_position(snapshot: CaseSnapshot) -> None:
    decision = decide_case(snapshot).decision
    assume(isinstance(decision, Resolve))
    assert isinstance(decision, Resolve)
    supported = decide_case(apply_one_more_witness(snapshot, decision.winner)).decision
    assert isinstance(supported, Resolve)
    assert (supported.winner, supported.cutoff, supported.basis) == (decision.winner, decision.cutoff, decision.basis)


@settings(max_examples=EXAMPLES, deadline=None)
@given(snapshot=SNAPSHOTS)
def test_at_most_one_position_is_strong_and_at_most_one_has_a_majority(snapshot: CaseSnapshot) -> None:
    standings = decide_case(snapshot).standings
    total = sum(standing.counted for standing in standings)
    assert sum(is_strong(standing, total) for standing in standings) <= 1
    assert sum(is_majority(standing, total) for standing in standings) <= 1


@pytest.mark.rule("R7.13")
@settings(max_examples=EXAMPLES, deadline=None)
@given(snapshot=SNAPSHOTS)
def test_what_is_resolved_early_is_resolved_in_the_same_way_after_the_deadline(snapshot: CaseSnapshot) -> None:
    early = decide_case(replace(snapshot, now=BEFORE_DEADLINE)).decision
    late = decide_case(replace(snapshot, now=AFTER_DEADLINE)).decision
    if isinstance(early, Resolve | Dismiss):
        assert late == early
    if isinstance(early, KeepOpen) and early.reason is DecisionReason.RECORD_PROTECTED:
        assert late == MarkOverdue(reason=DecisionReason.RECORD_PROTECTED)
    assert not isinstance(late, KeepOpen)


@pytest.mark.rule("R7.20", "R7.14")
@settings(max_examples=EXAMPLES, deadline=None)
@given(snapshot=SNAPSHOTS)
def test_the_first_rule_that_misses_nothing_is_the_one_that_decided(snapshot: CaseSnapshot) -> None:
    explanation = explain_case(snapshot)
    decision = explanation.evaluation.decision
    assert all(condition.met for condition in explanation.disagreement) == (not isinstance(decision, Dismiss))
    for reading in explanation.readings:
        missing = {condition.quantity for condition in reading.missing}
        if not missing:
            assert isinstance(decision, Resolve)
            assert (decision.reason, decision.winner) == (reading.rule, reading.position_id)
            return
        if missing == {Quantity.OTHER_POSITIONS_OF_RECORD}:
            assert decision.reason is DecisionReason.RECORD_PROTECTED
            return
    assert not isinstance(decision, Resolve)
    assert decision.reason is not DecisionReason.RECORD_PROTECTED


@pytest.mark.promise("case.explained")
@pytest.mark.rule("R7.20")
@settings(max_examples=EXAMPLES, deadline=None)
@given(snapshot=SNAPSHOTS)
def test_what_ifs_are_what_the_policy_says(snapshot: CaseSnapshot) -> None:
    explanation = explain_case(snapshot)
    due = replace(snapshot, now=max(snapshot.now, snapshot.review_due_at))
    assert explanation.evaluation == decide_case(snapshot)
    assert explanation.at_deadline == decide_case(due).decision
    assert [one.position_id for one in explanation.one_more] == sorted(p.position_id for p in snapshot.positions)
    for one in explanation.one_more:
        assert one.now == decide_case(apply_one_more_witness(snapshot, one.position_id)).decision
        assert one.at_deadline == decide_case(apply_one_more_witness(due, one.position_id)).decision


@settings(max_examples=EXAMPLES, deadline=None)
@given(snapshot=SNAPSHOTS)
def test_one_more_witness_adds_one_to_a_count_and_nothing_else(snapshot: CaseSnapshot) -> None:
    before = decide_case(snapshot).standings
    assume(before)
    for position_id in (standing.position_id for standing in before):
        after = decide_case(apply_one_more_witness(snapshot, position_id)).standings
        assert after == tuple(
            replace(standing, counted=standing.counted + (standing.position_id == position_id)) for standing in before
        )


@settings(max_examples=EXAMPLES, deadline=None)
@given(snapshot=SNAPSHOTS)
def test_a_written_snapshot_is_read_back_and_decided_as_before(snapshot: CaseSnapshot) -> None:
    text = encode_snapshot(snapshot)
    read = decode_snapshot(text)
    assert encode_snapshot(read) == text
    assert encode_decision(decide_case(read)) == encode_decision(decide_case(snapshot))
    assert {m.relationship_id: replace(m, supports=()) for p in read.positions for m in p.members} == {
        m.relationship_id: replace(m, supports=()) for p in snapshot.positions for m in p.members
    }


@pytest.mark.rule("R7.15")
@settings(max_examples=EXAMPLES, deadline=None)
@given(snapshot=contested_snapshots())
def test_the_cutoff_is_dated_by_evidence_or_by_the_first_contradiction(snapshot: CaseSnapshot) -> None:
    decision = decide_case(snapshot).decision
    assume(isinstance(decision, Resolve))
    assert isinstance(decision, Resolve)
    named = {
        support.evidence_time.whole.start
        for position in snapshot.positions
        if position.position_id == decision.winner
        for member in position.members
        for support in member.supports
        if support.evidence_time is not None
    }
    if decision.basis is TimeBasis.EVIDENCE_TIME:
        assert decision.cutoff in named
    else:
        assert (decision.cutoff, decision.basis) == (snapshot.first_contradiction_at, TimeBasis.RECORDED_FALLBACK)
