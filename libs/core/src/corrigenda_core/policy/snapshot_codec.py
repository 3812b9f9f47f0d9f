"""Snapshot format: the JSON of a case snapshot, read strictly and written canonically.

Written text is one line of ASCII without spaces, every list in an order of its own: equal snapshots are equal bytes in
any process. Times are RFC 3339 in UTC with ``Z``; a fraction of a second (six digits) is written only where it is not
zero, and one of up to six digits is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import ParamSpec, TypeVar

from corrigenda_core.domain.evidence import Authority, StartWindow, Support
from corrigenda_core.domain.ids import FragmentId, PositionId, ProfileId, RelationshipId, SupportId
from corrigenda_core.domain.snapshots import CaseSnapshot, SnapshotMember, SnapshotPosition
from corrigenda_core.domain.time import Instant, TimeBasis, WholeInterval

JsonObject = dict[str, object]

_CASE_FIELDS = ("policy", "now", "review_due_at", "first_contradiction_at", "positions")
_POSITION_FIELDS = ("position_id", "members")
_MEMBER_FIELDS = (
    "relationship_id",
    "version",
    "owner",
    "valid_from",
    "valid_from_basis",
    "valid_to",
    "record",
    "supports",
)
_SUPPORT_FIELDS = (
    "support_id",
    "fragment_id",
    "author",
    "source_group",
    "source_key",
    "inherited_labels",
    "content_hash",
    "adopted_from_fragment_id",
    "derived_from_fragment_ids",
    "near_duplicate_fragment_ids",
    "authority",
    "effective",
    "recorded_at",
    "evidence_time",
)
_EVIDENCE_TIME_FIELDS = ("from", "to", "verified")

_RFC_3339_UTC = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?Z", re.ASCII
)

P = ParamSpec("P")
T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


def decode_snapshot(text: str) -> CaseSnapshot:
    """Reads a snapshot.

    Raises:
        ValueError: the text is no JSON, or a field is unknown, missing, given twice, of a wrong type, or contradicts
            another; the message begins with the path of the field.
    """
    try:
        value = json.loads(text, object_pairs_hook=_object_without_repetition)
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error
    case = _Reader("", value, _CASE_FIELDS)
    positions = tuple(_position(path, one) for path, one in case.listed("positions"))
    return case.build(
        CaseSnapshot,
        policy=case.text("policy"),
        now=case.instant("now"),
        review_due_at=case.instant("review_due_at"),
        first_contradiction_at=case.instant("first_contradiction_at"),
        positions=positions,
    )


def _position(path: str, value: object) -> SnapshotPosition:
    position = _Reader(path, value, _POSITION_FIELDS)
    return SnapshotPosition(
        position_id=PositionId(position.text("position_id")),
        members=tuple(_member(path, one) for path, one in position.listed("members")),
    )


def _member(path: str, value: object) -> SnapshotMember:
    member = _Reader(path, value, _MEMBER_FIELDS)
    return member.build(
        SnapshotMember,
        relationship_id=RelationshipId(member.text("relationship_id")),
        version=member.integer("version"),
        owner_id=ProfileId(member.text("owner")),
        valid_from=member.optional("valid_from", member.instant),
        valid_from_basis=member.optional("valid_from_basis", lambda name: member.choice(name, TimeBasis)),
        valid_to=member.optional("valid_to", member.instant),
        record=member.boolean("record"),
        supports=tuple(_support(path, one) for path, one in member.listed("supports")),
    )


def _support(path: str, value: object) -> Support:
    support = _Reader(path, value, _SUPPORT_FIELDS)
    adopted_from = support.optional("adopted_from_fragment_id", support.text)
    return Support(
        support_id=SupportId(support.text("support_id")),
        fragment_id=FragmentId(support.text("fragment_id")),
        author=ProfileId(support.text("author")),
        source_group=support.optional("source_group", support.text),
        source_key=support.optional("source_key", support.text),
        inherited_labels=support.texts("inherited_labels"),
        content_hash=support.optional("content_hash", support.text),
        adopted_from_fragment_id=None if adopted_from is None else FragmentId(adopted_from),
        derived_from_fragment_ids=tuple(FragmentId(one) for one in support.texts("derived_from_fragment_ids")),
        near_duplicate_fragment_ids=tuple(FragmentId(one) for one in support.texts("near_duplicate_fragment_ids")),
        authority=support.choice("authority", Authority),
        effective=support.boolean("effective"),
        recorded_at=support.instant("recorded_at"),
        evidence_time=support.optional("evidence_time", lambda name: _start_window(*support.at(name))),
    )


def _start_window(path: str, value: object) -> StartWindow:
    bound = _Reader(path, value, _EVIDENCE_TIME_FIELDS)
    whole = bound.build(WholeInterval, start=bound.instant("from"), end=bound.instant("to"))
    return StartWindow(whole=whole, verified=bound.boolean("verified"))


def _object_without_repetition(pairs: list[tuple[str, object]]) -> JsonObject:
    """An object as a dict; a field given twice is refused, because readers disagree on which one counts."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{repeated}: stands twice in one object")
    return fields


class _Reader:
    """Reads the fields of one JSON object by name and type; a refusal names the path of the field."""

    __slots__ = ("_fields", "_path")

    def __init__(self, path: str, value: object, names: tuple[str, ...]) -> None:
        self._path = path
        if type(value) is not dict:
            raise ValueError(f"{path or 'case'}: must be an object")
        self._fields = value
        if len(value) != len(names) or not all(name in value for name in names):
            for name in names:
                if name not in value:
                    raise ValueError(f"{self._path_of(name)}: is missing")
            unknown = next(name for name in value if name not in names)
            raise ValueError(f"{self._path_of(unknown)}: is no field of the format")

    def _path_of(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name

    def _refused(self, name: str, needed: str) -> ValueError:
        return ValueError(f"{self._path_of(name)}: must be {needed}")

    def at(self, name: str) -> tuple[str, object]:
        """The path and the value of a field."""
        return self._path_of(name), self._fields[name]

    def optional(self, name: str, read: Callable[[str], T]) -> T | None:
        return None if self._fields[name] is None else read(name)

    def text(self, name: str) -> str:
        value = self._fields[name]
        if type(value) is not str or not value:
            raise self._refused(name, "a text that is not empty")
        return value

    def boolean(self, name: str) -> bool:
        value = self._fields[name]
        if type(value) is not bool:
            raise self._refused(name, "true or false")
        return value

    def integer(self, name: str) -> int:
        value = self._fields[name]
        if type(value) is not int:
            raise self._refused(name, "an integer")
        return value

    def instant(self, name: str) -> Instant:
        value = self._fields[name]
        if type(value) is str and _RFC_3339_UTC.fullmatch(value):
            try:
                return datetime.fromisoformat(value)
            except ValueError as error:
                raise ValueError(f"{self._path_of(name)}: {error}") from error
        raise self._refused(name, "a time such as 2026-03-01T00:00:00Z")

    def choice(self, name: str, choices: type[E]) -> E:
        value = self._fields[name]
        if type(value) is str and value in choices.__members__.values():
            return choices(value)
        raise self._refused(name, f"one of {', '.join(choices)}")

    def listed(self, name: str) -> list[tuple[str, object]]:
        """The entries of a list with their paths."""
        value = self._fields[name]
        if type(value) is not list:
            raise self._refused(name, "a list")
        path = self._path_of(name)
        return [(f"{path}[{place}]", one) for place, one in enumerate(value)]

    def texts(self, name: str) -> tuple[str, ...]:
        value = self._fields[name]
        if type(value) is not list or not all(type(one) is str and one for one in value):
            raise self._refused(name, "a list of texts that are not empty")
        return tuple(value)

    def build(self, make: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Makes a value of the domain; what its constructor refuses is refused at this object's path."""
        try:
            return make(*args, **kwargs)
        except ValueError as error:
            raise ValueError(f"{self._path or 'case'}: {error}") from error


def encode_snapshot(snapshot: CaseSnapshot) -> str:
    """Writes a snapshot canonically; what a replay does not need of a support (spans, statement) is left out."""
    return write_json(snapshot_object(snapshot))


def snapshot_object(snapshot: CaseSnapshot) -> JsonObject:
    """A snapshot as the object that `encode_snapshot` writes: texts, integers, truths, lists and objects of them."""
    return {
        "policy": snapshot.policy,
        "now": write_instant(snapshot.now),
        "review_due_at": write_instant(snapshot.review_due_at),
        "first_contradiction_at": write_instant(snapshot.first_contradiction_at),
        "positions": [
            {
                "position_id": position.position_id,
                "members": [
                    _member_object(member)
                    for member in sorted(position.members, key=lambda member: member.relationship_id)
                ],
            }
            for position in sorted(snapshot.positions, key=lambda position: position.position_id)
        ],
    }


def _member_object(member: SnapshotMember) -> JsonObject:
    return {
        "relationship_id": member.relationship_id,
        "version": member.version,
        "owner": member.owner_id,
        "valid_from": write_optional_instant(member.valid_from),
        "valid_from_basis": member.valid_from_basis,
        "valid_to": write_optional_instant(member.valid_to),
        "record": member.record,
        "supports": [
            _support_object(support) for support in sorted(member.supports, key=lambda support: support.support_id)
        ],
    }


def _support_object(support: Support) -> JsonObject:
    return {
        "support_id": support.support_id,
        "fragment_id": support.fragment_id,
        "author": support.author,
        "source_group": support.source_group,
        "source_key": support.source_key,
        "inherited_labels": sorted(support.inherited_labels),
        "content_hash": support.content_hash,
        "adopted_from_fragment_id": support.adopted_from_fragment_id,
        "derived_from_fragment_ids": sorted(support.derived_from_fragment_ids),
        "near_duplicate_fragment_ids": sorted(support.near_duplicate_fragment_ids),
        "authority": support.authority,
        "effective": support.effective,
        "recorded_at": write_instant(support.recorded_at),
        "evidence_time": None if support.evidence_time is None else _start_window_object(support.evidence_time),
    }


def _start_window_object(bound: StartWindow) -> JsonObject:
    return {
        "from": write_instant(bound.whole.start),
        "to": write_instant(bound.whole.end),
        "verified": bound.verified,
    }


def write_instant(instant: Instant) -> str:
    """An instant as RFC 3339 text in UTC."""
    return f"{instant.isoformat()[:-6]}Z"


def write_optional_instant(instant: Instant | None) -> str | None:
    """An instant as text, ``None`` where it is unbounded or not known."""
    return None if instant is None else write_instant(instant)


def write_json(value: Mapping[str, object]) -> str:
    """One line of ASCII without spaces."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
