"""Case snapshots in a few words: sides, members and witnesses, with everything that is not said made distinct."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count

from corrigenda_core.domain.evidence import Authority, StartWindow, Support
from corrigenda_core.domain.ids import FragmentId, PositionId, ProfileId, RelationshipId, SupportId
from corrigenda_core.domain.snapshots import CaseSnapshot, SnapshotMember, SnapshotPosition
from corrigenda_core.domain.time import Instant, TimeBasis, WholeInterval

FIRST_RECORDED_AT = datetime(2026, 5, 1, tzinfo=UTC)
FIRST_CONTRADICTION_AT = datetime(2026, 6, 1, 12, tzinfo=UTC)
DEADLINE = datetime(2026, 6, 8, tzinfo=UTC)
BEFORE_DEADLINE = DEADLINE - timedelta(seconds=1)
AFTER_DEADLINE = DEADLINE + timedelta(days=12)

_OWN = "(its own)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """A support to be; what is left out is its own: text, author, group and fragment that nobody else has.

    ``since`` is the whole interval that its words name as the start. ``minute`` is when it was recorded, counted from
    `FIRST_RECORDED_AT`; left out, each is recorded a minute after the one before.
    """

    fragment: str = _OWN
    author: str = _OWN
    group: str | None = _OWN
    key: str | None = None
    text: str | None = _OWN
    inherits: tuple[str, ...] = ()
    adopted_from: str | None = None
    derived_from: tuple[str, ...] = ()
    resembles: tuple[str, ...] = ()
    authoritative: bool = False
    effective: bool = True
    since: WholeInterval | None = None
    since_verified: bool = True
    minute: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A relationship to be, with its witnesses; without an owner it belongs to that of its side."""

    witnesses: tuple[Witness, ...]
    owner: str | None = None
    valid_from: Instant | None = None
    valid_from_basis: TimeBasis = TimeBasis.STATED_TIME
    valid_to: Instant | None = None
    record: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A position to be."""

    name: str
    members: tuple[Member, ...]


def plain(number: int, *, since: WholeInterval | None = None) -> tuple[Witness, ...]:
    """So many independent witnesses without authority."""
    return (Witness(since=since),) * number


def authorities(number: int, *, since: WholeInterval | None = None) -> tuple[Witness, ...]:
    """So many independent witnesses with authority."""
    return (Witness(authoritative=True, since=since),) * number


def member(
    *witnesses: Witness,
    owner: str | None = None,
    valid_from: Instant | None = None,
    valid_from_basis: TimeBasis = TimeBasis.STATED_TIME,
    valid_to: Instant | None = None,
    record: bool = False,
) -> Member:
    """A relationship with these witnesses."""
    return Member(
        witnesses=witnesses,
        owner=owner,
        valid_from=valid_from,
        valid_from_basis=valid_from_basis,
        valid_to=valid_to,
        record=record,
    )


def side(name: str, *parts: Witness | Member) -> Side:
    """A position: members as given, and one member for all the witnesses that are given by themselves."""
    loose = tuple(part for part in parts if isinstance(part, Witness))
    members = tuple(part for part in parts if isinstance(part, Member))
    return Side(name=name, members=members if members and not loose else (Member(witnesses=loose), *members))


def day(text: str) -> WholeInterval:
    """The whole day ``2026-03-15`` (in UTC)."""
    start = midnight(text)
    return WholeInterval(start=start, end=start + timedelta(days=1))


def period(first: str, after: str) -> WholeInterval:
    """From the beginning of one day to the beginning of another."""
    return WholeInterval(start=midnight(first), end=midnight(after))


def midnight(text: str) -> Instant:
    """The beginning of the day ``2026-03-15`` (in UTC)."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def case(*sides: Side, now: Instant = DEADLINE) -> CaseSnapshot:
    """A snapshot of these sides: relationships ``r1``, ``r2``, ..., supports ``s1``, ``s2``, ... in the order given."""
    supports, relationships = count(1), count(1)
    return CaseSnapshot(
        now=now,
        review_due_at=DEADLINE,
        first_contradiction_at=FIRST_CONTRADICTION_AT,
        positions=tuple(
            SnapshotPosition(
                position_id=PositionId(one.name),
                members=tuple(_member(drafted, one.name, next(relationships), supports) for drafted in one.members),
            )
            for one in sides
        ),
    )


def _member(drafted: Member, side_name: str, number: int, support_numbers: Iterator[int]) -> SnapshotMember:
    return SnapshotMember(
        relationship_id=RelationshipId(f"r{number}"),
        version=1,
        owner_id=ProfileId(drafted.owner or f"owner-{side_name}"),
        valid_from=drafted.valid_from,
        valid_from_basis=drafted.valid_from_basis,
        valid_to=drafted.valid_to,
        record=drafted.record,
        supports=tuple(_support(witness, next(support_numbers)) for witness in drafted.witnesses),
    )


def _support(witness: Witness, number: int) -> Support:
    def own(value: str, kind: str) -> str:
        return f"{kind}-{number}" if value is _OWN else value

    return Support(
        support_id=SupportId(f"s{number}"),
        fragment_id=FragmentId(own(witness.fragment, "fragment")),
        author=ProfileId(own(witness.author, "author")),
        source_group=None if witness.group is None else own(witness.group, "group"),
        source_key=witness.key,
        inherited_labels=witness.inherits,
        content_hash=None if witness.text is None else own(witness.text, "hash"),
        adopted_from_fragment_id=None if witness.adopted_from is None else FragmentId(witness.adopted_from),
        derived_from_fragment_ids=tuple(map(FragmentId, witness.derived_from)),
        near_duplicate_fragment_ids=tuple(map(FragmentId, witness.resembles)),
        authority=Authority.AUTHORITATIVE if witness.authoritative else Authority.PRIMARY,
        effective=witness.effective,
        recorded_at=FIRST_RECORDED_AT + timedelta(minutes=number if witness.minute is None else witness.minute),
        evidence_time=None
        if witness.since is None
        else StartWindow(whole=witness.since, verified=witness.since_verified),
    )


def add_support(snapshot: CaseSnapshot, relationship_id: RelationshipId, support: Support) -> CaseSnapshot:
    """The snapshot with one more support of a relationship."""
    return replace(
        snapshot,
        positions=tuple(
            replace(
                position,
                members=tuple(
                    replace(one, supports=(*one.supports, support)) if one.relationship_id == relationship_id else one
                    for one in position.members
                ),
            )
            for position in snapshot.positions
        ),
    )
