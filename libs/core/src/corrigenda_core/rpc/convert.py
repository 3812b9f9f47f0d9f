"""Instants, validity and the point of time that a read asks for: wire to domain and back.

Whatever comes from the wire has passed validation, so that its timestamps are instants of the domain.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from corrigenda.type.v1 import time_pb2
from google.protobuf.timestamp_pb2 import Timestamp

from corrigenda_core.domain.time import ClosedToNothing, Instant, Interval, TimeBasis, Validity
from corrigenda_core.domain.views import Known, KnownAt, KnownAtRevision, KnownNow, TemporalSelector
from corrigenda_core.policy.validity import decide_requested_interval
from corrigenda_core.rpc.enums import TIME_BASIS

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def timestamp_of(instant: Instant) -> Timestamp:
    """The wire form of an instant, exact to the microsecond."""
    seconds, microseconds = divmod((instant - _EPOCH) // _MICROSECOND, 1_000_000)
    return Timestamp(seconds=seconds, nanos=microseconds * 1000)


def timestamp_or_none(instant: Instant | None) -> Timestamp | None:
    """The wire form of an instant that may be unknown; a field that is given ``None`` stays absent."""
    return None if instant is None else timestamp_of(instant)


def instant_of(timestamp: Timestamp) -> Instant:
    """The instant of a timestamp."""
    return _EPOCH + timedelta(seconds=timestamp.seconds, microseconds=timestamp.nanos // 1000)


def stated_interval_of(interval: time_pb2.Interval, field: str) -> Interval:
    """The interval that a request states; an absent end is not known.

    Raises:
        Refusal: INVALID_FIELD for an empty or inverted interval, naming its end below ``field``.
    """
    return decide_requested_interval(
        instant_of(interval.valid_from) if interval.HasField("valid_from") else None,
        instant_of(interval.valid_to) if interval.HasField("valid_to") else None,
        field=field,
    )


def validity_message(
    validity: Validity,
    start_basis: TimeBasis | None = None,
    end_basis: TimeBasis | None = None,
) -> time_pb2.Validity:
    """The wire form of a validity with the bases of its ends."""
    message = time_pb2.Validity(
        valid_from_basis=TIME_BASIS.to_wire(start_basis),
        valid_to_basis=TIME_BASIS.to_wire(end_basis),
    )
    match validity:
        case Interval(start=start, end=end):
            message.interval.CopyFrom(
                time_pb2.Interval(valid_from=timestamp_or_none(start), valid_to=timestamp_or_none(end))
            )
        case ClosedToNothing(at=at):
            message.closed_to_nothing.CopyFrom(time_pb2.ClosedToNothing(at=timestamp_or_none(at)))
    return message


def validity_of(message: time_pb2.Validity) -> Validity:
    """The validity of a wire message that a server of ours made.

    Raises:
        ValueError: if it says neither an interval nor nothing, or an interval that is none.
    """
    match message.WhichOneof("extent"):
        case "interval":
            interval = message.interval
            return Interval(
                start=instant_of(interval.valid_from) if interval.HasField("valid_from") else None,
                end=instant_of(interval.valid_to) if interval.HasField("valid_to") else None,
            )
        case "closed_to_nothing":
            nothing = message.closed_to_nothing
            return ClosedToNothing(at=instant_of(nothing.at) if nothing.HasField("at") else None)
        case _:
            raise ValueError("a validity has an extent")


def known_of(selector: time_pb2.KnownSelector | time_pb2.TemporalSelector) -> Known:
    """As of when a read asks for the system's knowledge."""
    match selector.WhichOneof("known"):
        case "known_at":
            return KnownAt(at=instant_of(selector.known_at))
        case "revision":
            return KnownAtRevision(revision=selector.revision)
        case _:
            return KnownNow()


def temporal_selector_of(selector: time_pb2.TemporalSelector) -> TemporalSelector:
    """The point of both time axes that a read asks for."""
    valid_at = instant_of(selector.valid_at) if selector.HasField("valid_at") else None
    return TemporalSelector(valid_at=valid_at, known=known_of(selector))
