"""Bounds: each at its limit and one beyond."""

from __future__ import annotations

import pytest
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.policy.limits import (
    LIMITS,
    Limit,
    Unit,
    decide_limit,
    decide_page_size,
    is_within,
    may_offer,
    may_offer_items,
    may_offer_text,
)

# The figures of the contracts and the rules, written down a second time: name, unit, least, greatest.
AGREED = """
    evidence_per_call                  items        1  20
    content                            bytes        1  65536
    labels_per_evidence                items        0  20
    label                              code_points  1  64
    source_group                       code_points  0  256
    source_key                         code_points  0  256
    source_revision                    code_points  0  128
    superseded_fragments_per_evidence  items        0  20
    origins_per_evidence               items        0  20
    entities_per_proposal              items        0  100
    relationships_per_proposal         items        1  200
    aliases_per_entity                 items        0  20
    name                               code_points  1  256
    entity_kind                        code_points  1  64
    context_entries_per_entity         items        0  20
    context_key                        code_points  1  64
    context_value                      code_points  1  256
    reference_name                     code_points  1  64
    predicate_phrase                   code_points  1  128
    evidence_refs_per_relationship     items        1  20
    quote                              code_points  1  4096
    scope                              code_points  0  128
    comment                            code_points  0  1024
    idempotency_key                    bytes        1  128
    metadata_entries                   items        0  20
    metadata_key                       code_points  1  64
    metadata_value                     code_points  0  512
    stream_items_per_transaction       items        1  100
    stream_items_waiting               items        1  200
    stream_bytes_waiting               bytes        0  8388608
    stream_idle                        seconds      0  180
    speakers_per_source                items        0  100
    predicates_per_source              items        0  200
    predicate_key                      code_points  1  64
    slots_per_source_change            items        0  500
    supports_per_source_change         items        0  10000
    observations_per_identity_correction  items     0  2000
    slots_per_identity_correction      items        0  200
    impact_token_lifetime              seconds      1  600
    query                              code_points  1  512
    recall_limit                       results      1  50
    read_mask_paths                    items        0  64
    positions_shown                    results      0  10
    page_size                          results      1  200
    page_token                         bytes        0  1024
    year                               years        1  9999
    message                            bytes        0  4194304
    deadline                           seconds      0  180
    verifier_retries                   attempts     0  3
    verification_token                 bytes        0  65536
    preflight_token_lifetime           seconds      1  600
    judge_other_statements             items        0  6
    review_period                      days         1  30
    review_start                       minutes      0  1439
    driven_year                        years        2  9998
    scanned_slots_per_commit           items        1  100
    key_overlap                        seconds      0  2592000
"""


def refusal_of(name: str, offered: int) -> Refusal:
    with pytest.raises(Refusal) as raised:
        may_offer(name, offered, field="a.b")
    return raised.value


def test_the_table_has_the_agreed_figures() -> None:
    agreed = [tuple(row.split()) for row in AGREED.strip().splitlines()]
    assert [(one.name, one.unit.value, str(one.least), str(one.greatest)) for one in LIMITS] == agreed
    defaults = {limit.name: limit.default for limit in LIMITS if limit.default}
    expected = {
        "page_size": 50,
        "deadline": 30,
        "impact_token_lifetime": 600,
        "preflight_token_lifetime": 600,
        "review_period": 7,
        "review_start": 120,
        "scanned_slots_per_commit": 20,
        "key_overlap": 86_400,
    }
    assert defaults == expected


def test_names_are_unique_and_defaults_keep_their_bounds() -> None:
    assert len({limit.name for limit in LIMITS}) == len(LIMITS)
    assert all(limit.least <= limit.greatest for limit in LIMITS)
    assert all(is_within(limit, limit.default) for limit in LIMITS if limit.default)
    with pytest.raises(KeyError):
        decide_limit("no such bound")


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.name)
def test_each_bound_at_its_limit_and_one_beyond(limit: Limit) -> None:
    may_offer(limit.name, limit.greatest, field="a.b")
    may_offer(limit.name, limit.least, field="a.b")
    above = refusal_of(limit.name, limit.greatest + 1)
    reasons = {Unit.ITEMS: Reason.TOO_MANY_ITEMS, Unit.BYTES: Reason.TOO_LARGE, Unit.CODE_POINTS: Reason.TOO_LARGE}
    assert above.reason is reasons.get(limit.unit, Reason.INVALID_FIELD)
    assert above.field == "a.b"
    assert above.metadata == {
        "bound": limit.name,
        "offered": str(limit.greatest + 1),
        "allowed": str(limit.greatest),
    }
    below = refusal_of(limit.name, limit.least - 1)
    assert below.reason is Reason.INVALID_FIELD
    assert below.metadata["allowed"] == str(limit.least)
    assert limit.name in below.message
    assert limit.unit.value in below.message


def test_bytes_and_code_points_are_counted_as_such() -> None:
    may_offer_text("content", "é" * 32768, field="content")
    with pytest.raises(Refusal) as raised:
        may_offer_text("content", "é" * 32768 + "x", field="content")
    assert raised.value.metadata["offered"] == "65537"
    may_offer_text("name", "é" * 256, field="name")
    with pytest.raises(Refusal):
        may_offer_text("name", "é" * 257, field="name")
    with pytest.raises(Refusal):
        may_offer_text("name", "", field="name")
    with pytest.raises(ValueError, match="not a text"):
        may_offer_text("review_period", "7", field="review_period_days")


def test_items_are_counted() -> None:
    may_offer_items("entities_per_proposal", range(100), field="proposal.entities")
    with pytest.raises(Refusal) as raised:
        may_offer_items("entities_per_proposal", range(101), field="proposal.entities")
    assert raised.value.reason is Reason.TOO_MANY_ITEMS


@pytest.mark.parametrize(("requested", "given"), [(-1, 50), (0, 50), (1, 1), (200, 200), (201, 200), (10**9, 200)])
def test_a_page_size_is_clamped(requested: int, given: int) -> None:
    assert decide_page_size(requested) == given
