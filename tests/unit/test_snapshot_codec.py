"""The snapshot format: what is read, what is refused and with which path, and what is written."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from corrigenda_core.domain.time import TimeBasis
from corrigenda_core.policy.snapshot_codec import decode_snapshot, encode_snapshot
from corrigenda_core.testing.case_snapshots import Witness, case, day, member, midnight, plain, side

SNAPSHOT = case(
    side("A", member(Witness(since=day("2026-03-01"), key="k", adopted_from="f", inherits=("group:x",)))),
    side("B", member(*plain(1), valid_from=midnight("2026-01-01"), valid_to=midnight("2026-07-01"), record=True)),
)


def as_json() -> Any:
    return json.loads(encode_snapshot(SNAPSHOT))


def test_a_snapshot_is_one_line_of_ascii_with_the_fields_in_their_order() -> None:
    text = encode_snapshot(case(side("Ä", Witness(text=None, group=None))))
    assert text.isascii()
    assert "\n" not in text
    assert json.loads(text) == {
        "policy": "independent-sources/1",
        "now": "2026-06-08T00:00:00Z",
        "review_due_at": "2026-06-08T00:00:00Z",
        "first_contradiction_at": "2026-06-01T12:00:00Z",
        "positions": [
            {
                "position_id": "Ä",
                "members": [
                    {
                        "relationship_id": "r1",
                        "version": 1,
                        "owner": "owner-Ä",
                        "valid_from": None,
                        "valid_from_basis": "stated_time",
                        "valid_to": None,
                        "record": False,
                        "supports": [
                            {
                                "support_id": "s1",
                                "fragment_id": "fragment-1",
                                "author": "author-1",
                                "source_group": None,
                                "source_key": None,
                                "inherited_labels": [],
                                "content_hash": None,
                                "adopted_from_fragment_id": None,
                                "derived_from_fragment_ids": [],
                                "near_duplicate_fragment_ids": [],
                                "authority": "primary",
                                "effective": True,
                                "recorded_at": "2026-05-01T00:01:00Z",
                                "evidence_time": None,
                            }
                        ],
                    }
                ],
            }
        ],
    }


def test_a_snapshot_is_read_back_as_it_was() -> None:
    assert decode_snapshot(encode_snapshot(SNAPSHOT)) == SNAPSHOT


TIMES = [
    pytest.param("2026-06-08T00:00:00Z", "2026-06-08T00:00:00Z", id="a whole second"),
    pytest.param("2026-06-08T00:00:00.000Z", "2026-06-08T00:00:00Z", id="a fraction of zero"),
    pytest.param("2026-06-08T00:00:00.5Z", "2026-06-08T00:00:00.500000Z", id="half a second"),
    pytest.param("2026-06-08T23:59:59.999999Z", "2026-06-08T23:59:59.999999Z", id="a microsecond before midnight"),
    pytest.param("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z", id="the first instant"),
]


@pytest.mark.parametrize(("read", "written"), TIMES)
def test_times_are_rfc_3339_in_utc_with_fractions_only_where_they_are_not_zero(read: str, written: str) -> None:
    value = as_json()
    value["now"] = read
    assert json.loads(encode_snapshot(decode_snapshot(json.dumps(value))))["now"] == written


def put(*path: str | int, value: Any) -> Callable[[Any], None]:
    def change(whole: Any) -> None:
        for step in path[:-1]:
            whole = whole[step]
        whole[path[-1]] = value

    return change


def take(*path: str | int) -> Callable[[Any], None]:
    def change(whole: Any) -> None:
        for step in path[:-1]:
            whole = whole[step]
        del whole[path[-1]]

    return change


def twice(*path: str | int) -> Callable[[Any], None]:
    def change(whole: Any) -> None:
        for step in path:
            whole = whole[step]
        whole.append(copy.deepcopy(whole[0]))

    return change


ROW: tuple[str | int, ...] = ("positions", 0, "members", 0)
SUPPORT: tuple[str | int, ...] = (*ROW, "supports", 0)
DATED: tuple[str | int, ...] = ("positions", 1, "members", 0)

REFUSALS = [
    (put("colour", value=1), "colour: is no field of the format"),
    (take("now"), "now: is missing"),
    (put("policy", value="independent-sources/2"), "case: unknown policy"),
    (put("policy", value=1), "policy: must be a text"),
    (put("now", value=None), "now: must be a time"),
    (put("now", value=20260608), "now: must be a time"),
    (put("now", value="2026-06-08"), "now: must be a time"),
    (put("now", value="2026-06-08T00:00:00"), "now: must be a time"),
    (put("now", value="2026-06-08T02:00:00+02:00"), "now: must be a time"),
    (put("now", value="2026-06-08T00:00:00z"), "now: must be a time"),
    (put("now", value="2026-06-08T24:00:00Z"), "now: must be a time"),
    (put("now", value="2026-06-08T00:00:00.1234567Z"), "now: must be a time"),
    (put("now", value="٢٠٢٦-06-08T00:00:00Z"), "now: must be a time"),
    (put("now", value="2026-02-30T00:00:00Z"), "now: day is out of range"),
    (put("positions", value={}), "positions: must be a list"),
    (put("positions", 0, value=None), "positions[0]: must be an object"),
    (put("positions", 1, "position_id", value=""), "positions[1].position_id: must be a text"),
    (put("positions", 1, "position_id", value="A"), "case: position_id 'A' stands twice"),
    (twice(*ROW[:3]), "case: relationship_id 'r1' stands twice"),
    (twice(*SUPPORT[:5]), "case: support_id 's1' stands twice"),
    (take(*ROW, "owner"), "positions[0].members[0].owner: is missing"),
    (put(*ROW, "version", value=True), "positions[0].members[0].version: must be an integer"),
    (put(*ROW, "version", value=1.0), "positions[0].members[0].version: must be an integer"),
    (put(*ROW, "record", value=0), "positions[0].members[0].record: must be true or false"),
    (put(*ROW, "valid_from_basis", value="hearsay"), "positions[0].members[0].valid_from_basis: must be one of"),
    (put(*ROW, "valid_from_basis", value=1), "positions[0].members[0].valid_from_basis: must be one of"),
    (put(*DATED, "valid_from_basis", value=None), "positions[1].members[0]: valid_from needs valid_from_basis"),
    (put(*DATED, "valid_to", value="2025-01-01T00:00:00Z"), "positions[1].members[0]: valid_to must not be before"),
    (put(*SUPPORT, "note", value=""), "positions[0].members[0].supports[0].note: is no field"),
    (put(*SUPPORT, "authority", value="PRIMARY"), "positions[0].members[0].supports[0].authority: must be one of"),
    (put(*SUPPORT, "source_group", value=""), "positions[0].members[0].supports[0].source_group: must be a text"),
    (put(*SUPPORT, "inherited_labels", value="g"), "supports[0].inherited_labels: must be a list of texts"),
    (put(*SUPPORT, "inherited_labels", value=[""]), "supports[0].inherited_labels: must be a list of texts"),
    (put(*SUPPORT, "derived_from_fragment_ids", value=[1]), "derived_from_fragment_ids: must be a list of texts"),
    (put(*SUPPORT, "evidence_time", value=[]), "supports[0].evidence_time: must be an object"),
    (take(*SUPPORT, "evidence_time", "verified"), "supports[0].evidence_time.verified: is missing"),
    (
        put(*SUPPORT, "evidence_time", "to", value="2026-03-01T00:00:00Z"),
        "positions[0].members[0].supports[0].evidence_time: a whole interval needs start < end",
    ),
]


@pytest.mark.parametrize(("change", "message"), REFUSALS, ids=[message for _, message in REFUSALS])
def test_what_is_not_of_the_format_is_refused_with_its_path(change: Callable[[Any], None], message: str) -> None:
    value = as_json()
    change(value)
    with pytest.raises(ValueError, match=re.escape(message)):
        decode_snapshot(json.dumps(value))


NO_SNAPSHOTS = [
    pytest.param("", "Expecting value", id="nothing"),
    pytest.param("{", "Expecting property name", id="half an object"),
    pytest.param("[]", "case: must be an object", id="a list"),
    pytest.param("\ufeff{}", "BOM", id="a byte order mark"),
    pytest.param("[" * 100_000, "nested too deeply", id="a hundred thousand brackets"),
    pytest.param('{"policy":"x","now":1,"now":2}', "now: stands twice in one object", id="a field twice"),
]


@pytest.mark.parametrize(("text", "message"), NO_SNAPSHOTS)
def test_what_is_no_snapshot_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decode_snapshot(text)


def test_a_misspelt_field_is_missing() -> None:
    value = as_json()
    value["polcy"] = value.pop("policy")
    with pytest.raises(ValueError, match=r"^policy: is missing$"):
        decode_snapshot(json.dumps(value))


def test_an_unbounded_start_needs_no_basis() -> None:
    value = as_json()
    value["positions"][0]["members"][0]["valid_from_basis"] = None
    snapshot = decode_snapshot(json.dumps(value))
    assert snapshot.positions[0].members[0].valid_from_basis is None
    assert json.loads(encode_snapshot(snapshot)) == value


def test_a_relationship_closed_to_nothing_is_read() -> None:
    value = as_json()
    value["positions"][1]["members"][0]["valid_to"] = value["positions"][1]["members"][0]["valid_from"]
    (row,) = decode_snapshot(json.dumps(value)).positions[1].members
    assert row.valid_to == row.valid_from == datetime(2026, 1, 1, tzinfo=UTC)
    assert row.valid_from_basis is TimeBasis.STATED_TIME
