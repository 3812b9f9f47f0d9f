"""What counts as one witness, against a second reading of the rules that looks at all pairs until nothing changes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from itertools import combinations, permutations

import pytest
from corrigenda_core.domain.evidence import Support
from corrigenda_core.domain.ids import FragmentId, SupportId
from corrigenda_core.domain.snapshots import CaseSnapshot
from corrigenda_core.policy.independence import (
    decide_independent_groups,
    decide_near_duplicates,
    decide_witnesses,
    is_near_duplicate,
)
from corrigenda_core.testing.case_snapshots import FIRST_RECORDED_AT, add_support
from corrigenda_core.testing.case_strategies import case_snapshots
from corrigenda_core.testing.effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st

EXAMPLES = examples(fast=50, full=500)

Sided = tuple[str, Support]


def effective(snapshot: CaseSnapshot) -> list[Sided]:
    return [
        (position.position_id, support)
        for position in snapshot.positions
        for member in position.members
        for support in member.supports
        if support.effective
    ]


def labels_of(support: Support) -> set[str]:
    labels = set(support.inherited_labels)
    if support.source_group is None and support.source_key is None:
        labels.add("author:" + support.author)
    if support.source_group is not None:
        labels.add("group:" + support.source_group)
    if support.source_key is not None:
        labels.add("key:" + support.source_key)
    return labels


def origins_of(support: Support) -> set[str]:
    adopted = {support.adopted_from_fragment_id} if support.adopted_from_fragment_id else set()
    return {*support.derived_from_fragment_ids, *adopted}


def is_copy(one: Support, other: Support) -> bool:
    return (
        (one.content_hash is not None and one.content_hash == other.content_hash)
        or one.fragment_id in origins_of(other)
        or other.fragment_id in origins_of(one)
        or bool(origins_of(one) & origins_of(other))
    )


def fragments_of(support: Support) -> set[str]:
    return {support.fragment_id, *origins_of(support), *support.near_duplicate_fragment_ids}


def is_joined(one: Support, other: Support) -> bool:
    return (
        bool(labels_of(one) & labels_of(other)) or is_copy(one, other) or bool(fragments_of(one) & fragments_of(other))
    )


def components_of(supports: Iterable[Support]) -> list[list[Support]]:
    components = [[support] for support in supports]
    while True:
        for one, other in combinations(components, 2):
            if any(is_joined(a, b) for a in one for b in other):
                components.remove(other)
                one.extend(other)
                break
        else:
            return components


def second_reading(snapshot: CaseSnapshot) -> tuple[set[tuple[str, ...]], dict[tuple[str, ...], str]]:
    """The counted components, and the exclusions with their reasons, as sets of support ids."""
    voices = effective(snapshot)
    shared: set[str] = set()
    for (side, one), (other_side, other) in combinations(voices, 2):
        if side != other_side:
            shared |= labels_of(one) & labels_of(other)
            shared |= {f"fragment {one.fragment_id}"} & {f"fragment {other.fragment_id}"}
    copies = {
        later.support_id
        for (side, earlier), (other_side, later) in permutations(voices, 2)
        if side != other_side
        and earlier.fragment_id != later.fragment_id
        and is_copy(earlier, later)
        and (earlier.recorded_at, earlier.fragment_id) < (later.recorded_at, later.fragment_id)
    }
    counted: set[tuple[str, ...]] = set()
    excluded: dict[tuple[str, ...], str] = {(support_id,): "copy_of_other_side" for support_id in copies}
    for side in {side for side, _ in voices}:
        for component in components_of(s for on, s in voices if on == side and s.support_id not in copies):
            ids = tuple(sorted(support.support_id for support in component))
            if any((labels_of(s) | {f"fragment {s.fragment_id}"}) & shared for s in component):
                excluded[ids] = "on_both_sides"
            else:
                counted.add(ids)
    return counted, excluded


@pytest.mark.rule("R6.2", "R6.3", "R6.4")
@settings(max_examples=EXAMPLES, deadline=None)
@given(snapshot=case_snapshots())
def test_witnesses_equal_a_second_reading_of_the_rules(snapshot: CaseSnapshot) -> None:
    witnesses = decide_witnesses(snapshot.positions)
    counted, excluded = second_reading(snapshot)
    assert {component.support_ids for component in witnesses.components} == counted
    assert {exclusion.support_ids: exclusion.reason.value for exclusion in witnesses.exclusions} == excluded


@pytest.mark.rule("R6.4")
@settings(max_examples=EXAMPLES, deadline=None)
@given(snapshot=case_snapshots())
def test_every_effective_support_is_accounted_for_once_on_its_own_side(snapshot: CaseSnapshot) -> None:
    witnesses = decide_witnesses(snapshot.positions)
    listed = [
        (entry.position_id, support_id)
        for entry in (*witnesses.components, *witnesses.exclusions)
        for support_id in entry.support_ids
    ]
    assert sorted(listed) == sorted((side, support.support_id) for side, support in effective(snapshot))
    assert list(witnesses.components) == sorted(witnesses.components, key=lambda c: (c.position_id, c.support_ids))
    assert list(witnesses.exclusions) == sorted(witnesses.exclusions, key=lambda e: (e.position_id, e.support_ids))


def counts(snapshot: CaseSnapshot) -> dict[str, int]:
    components = decide_witnesses(snapshot.positions).components
    return {
        position.position_id: sum(component.position_id == position.position_id for component in components)
        for position in snapshot.positions
    }


@pytest.mark.rule("R6.4")
@settings(max_examples=EXAMPLES, deadline=None)
@given(snapshot=case_snapshots(), data=st.data())
def test_a_support_like_an_existing_one_never_changes_a_count(snapshot: CaseSnapshot, data: st.DataObject) -> None:
    supports = [(m, s) for p in snapshot.positions for m in p.members for s in m.supports if s.effective]
    assume(supports)
    owner_row, original = data.draw(st.sampled_from(supports), label="original")
    is_same_fragment = data.draw(st.booleans(), label="same fragment")
    # A fragment that others come from can be recorded after them only by adoption, and then it is the same fragment.
    assume(is_same_fragment or not any(original.fragment_id in origins_of(s) for _, s in supports))
    likeness = replace(
        original,
        support_id=SupportId("likeness"),
        fragment_id=original.fragment_id if is_same_fragment else FragmentId("likeness"),
        recorded_at=FIRST_RECORDED_AT + timedelta(days=1),
        evidence_time=None,
    )
    assert counts(add_support(snapshot, owner_row.relationship_id, likeness)) == counts(snapshot)


@settings(max_examples=EXAMPLES, deadline=None)
@given(snapshot=case_snapshots())
def test_independent_groups_of_one_relationship_are_its_components_when_it_stands_alone(
    snapshot: CaseSnapshot,
) -> None:
    for position in snapshot.positions:
        for member in position.members:
            expected = len(components_of(support for support in member.supports if support.effective))
            assert decide_independent_groups(member.supports) == expected


NORMAL_FORMS = st.text(alphabet="ab ", max_size=40)


def shingles_of(text: str) -> set[str]:
    return {text[i : i + 5] for i in range(len(text)) if i + 5 <= len(text)} or ({text} if text else set())


@pytest.mark.rule("R6.2")
@settings(max_examples=EXAMPLES)
@given(text=NORMAL_FORMS, other=NORMAL_FORMS)
def test_near_duplicates_share_nine_tenths_of_their_shingles(text: str, other: str) -> None:
    one, two = shingles_of(text), shingles_of(other)
    expected = bool(one | two) and len(one & two) / len(one | two) >= 0.9
    assert is_near_duplicate(text, other) == is_near_duplicate(other, text) == expected
    found = decide_near_duplicates(text, [(FragmentId("other"), other), (FragmentId("itself"), text)])
    assert found == tuple(["itself"] * bool(text) + ["other"] * expected)
