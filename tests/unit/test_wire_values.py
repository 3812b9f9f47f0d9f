"""Instants, validity and enums between wire and domain."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

import pytest
from corrigenda.type.v1 import relationship_pb2, time_pb2
from corrigenda_core.domain.changes import CaseEffect
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.evidence import Authority
from corrigenda_core.domain.objects import Polarity
from corrigenda_core.domain.time import EARLIEST, LATEST, ClosedToNothing, Interval, TimeBasis, Validity
from corrigenda_core.domain.views import KnownAt, KnownAtRevision, KnownNow, TemporalSelector
from corrigenda_core.rpc import enums
from corrigenda_core.rpc.convert import (
    instant_of,
    known_of,
    stated_interval_of,
    temporal_selector_of,
    timestamp_of,
    timestamp_or_none,
    validity_message,
    validity_of,
)
from corrigenda_core.rpc.enums import EnumBridge
from corrigenda_core.rpc.field_rules import check_timestamp
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

INSTANTS = st.datetimes(EARLIEST.replace(tzinfo=None), LATEST.replace(tzinfo=None), timezones=st.just(UTC))
MARCH, MAY = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 5, 1, tzinfo=UTC)
BRIDGES = {name: value for name, value in vars(enums).items() if isinstance(value, EnumBridge)}


@given(instant=INSTANTS)
def test_an_instant_survives_the_wire_to_the_microsecond(instant: datetime) -> None:
    timestamp = timestamp_of(instant)
    assert instant_of(timestamp) == instant
    assert check_timestamp(timestamp) is None


@pytest.mark.parametrize("instant", [EARLIEST, LATEST, datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)])
def test_the_ends_of_time_and_what_lies_before_the_epoch_survive_too(instant: datetime) -> None:
    assert instant_of(timestamp_of(instant)) == instant
    assert timestamp_of(instant) == Timestamp.FromString(timestamp_of(instant).SerializeToString())


def test_an_unknown_instant_stays_absent() -> None:
    assert not time_pb2.Interval(valid_from=timestamp_or_none(None)).HasField("valid_from")


VALIDITIES: list[Validity] = [
    Interval(),
    Interval(start=MARCH),
    Interval(end=MAY),
    Interval(start=MARCH, end=MAY),
    ClosedToNothing(),
    ClosedToNothing(at=MARCH),
]


@pytest.mark.rule("R4.5")
@pytest.mark.parametrize("validity", VALIDITIES, ids=str)
def test_a_validity_survives_the_wire(validity: Validity) -> None:
    sent = validity_message(validity, TimeBasis.EVIDENCE_TIME, None)
    assert validity_of(time_pb2.Validity.FromString(sent.SerializeToString())) == validity
    assert sent.valid_from_basis == time_pb2.TIME_BASIS_EVIDENCE_TIME
    assert sent.valid_to_basis == time_pb2.TIME_BASIS_UNSPECIFIED


def test_a_validity_without_extent_is_none() -> None:
    with pytest.raises(ValueError, match="extent"):
        validity_of(time_pb2.Validity())


@pytest.mark.rule("R4.5")
@pytest.mark.parametrize(
    ("start", "end"),
    [(MARCH, MARCH), (MARCH, MARCH - timedelta(microseconds=1)), (None, EARLIEST)],
    ids=["empty", "inverted", "before all time"],
)
def test_an_empty_or_inverted_interval_of_a_request_is_refused(start: datetime | None, end: datetime) -> None:
    interval = time_pb2.Interval(valid_from=timestamp_or_none(start), valid_to=timestamp_of(end))
    with pytest.raises(Refusal) as caught:
        stated_interval_of(interval, "proposal.relationships[0].validity")
    assert caught.value.reason is Reason.INVALID_FIELD
    assert caught.value.field == "proposal.relationships[0].validity.valid_to"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, Interval()),
        ({"valid_from": timestamp_of(MARCH)}, Interval(start=MARCH)),
        ({"valid_from": timestamp_of(MARCH), "valid_to": timestamp_of(MAY)}, Interval(start=MARCH, end=MAY)),
    ],
)
def test_an_interval_of_a_request_may_leave_its_ends_unknown(fields: dict[str, Any], expected: Interval) -> None:
    assert stated_interval_of(time_pb2.Interval(**fields), "validity") == expected


def test_a_selector_asks_by_both_axes() -> None:
    by_time = time_pb2.TemporalSelector(valid_at=timestamp_of(MARCH), known_at=timestamp_of(MAY))
    assert temporal_selector_of(by_time) == TemporalSelector(valid_at=MARCH, known=KnownAt(at=MAY))
    assert temporal_selector_of(time_pb2.TemporalSelector()) == TemporalSelector()
    assert known_of(time_pb2.KnownSelector()) == KnownNow()
    assert known_of(time_pb2.KnownSelector(revision=0)) == KnownAtRevision(revision=0)


@pytest.mark.parametrize("name", BRIDGES)
def test_every_value_of_a_bridged_enum_survives_the_wire(name: str) -> None:
    bridge = BRIDGES[name]
    numbers = [number for number in range(100) if bridge_has(bridge, number)]
    values = [bridge.to_domain(number) for number in numbers]
    assert len(set(values)) == len(values) == len(type(values[0]))
    assert [bridge.to_wire(value) for value in values] == numbers


def bridge_has(bridge: EnumBridge[Any, Any], number: int) -> bool:
    try:
        bridge.to_domain(number)
    except ValueError:
        return False
    return True


def test_values_are_matched_by_name() -> None:
    assert enums.POLARITY.to_wire(Polarity.NEGATIVE) == relationship_pb2.POLARITY_NEGATIVE
    assert enums.POLARITY.to_domain(relationship_pb2.POLARITY_POSITIVE) is Polarity.POSITIVE


def test_unspecified_is_none_or_the_value_that_it_stands_for() -> None:
    assert enums.TIME_BASIS.to_wire(None) == 0
    assert enums.CONFLICT_EFFECT.to_wire(CaseEffect.NONE) == 0
    assert enums.CONFLICT_EFFECT.to_domain(enums.CONFLICT_EFFECT.to_wire(CaseEffect.NONE)) is CaseEffect.NONE
    assert enums.AUTHORITY.to_domain_or(enums.AUTHORITY.to_wire(None), Authority.UNKNOWN) is Authority.UNKNOWN
    with pytest.raises(ValueError, match="stands for no value"):
        enums.TIME_BASIS.to_domain(enums.TIME_BASIS.to_wire(None))


class Other(StrEnum):
    """An enum that lacks a value and has one too many."""

    POSITIVE = "+"
    NEUTRAL = "0"


def test_enums_that_differ_are_not_bridged() -> None:
    with pytest.raises(ValueError, match=r"\['NEGATIVE', 'NEUTRAL'\]"):
        EnumBridge(relationship_pb2.Polarity, Other)
