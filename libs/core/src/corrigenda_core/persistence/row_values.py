"""Columns that several tables share, to domain values and back: objects, validity, row states, supports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from corrigenda_core.domain.actors import Actor
from corrigenda_core.domain.evidence import Authority, StartWindow, Support, SupportDecisionKind
from corrigenda_core.domain.ids import EntityId, PredicateKey
from corrigenda_core.domain.objects import EntityObject, Object, Polarity, Slot, ValueObject, ValueType
from corrigenda_core.domain.relationships import Relationship, RowState, Status, Tier
from corrigenda_core.domain.time import (
    ClosedToNothing,
    Instant,
    Interval,
    KnownBound,
    TextSpan,
    TimeBasis,
    Validity,
    WholeInterval,
)
from corrigenda_core.persistence.database import Row, Unbounded

_SWITCHED_ON = frozenset({SupportDecisionKind.GRANT, SupportDecisionKind.REINSTATE})


def object_of(row: Row) -> Object:
    """The entity or value of a row's object columns."""
    if row["object_entity_id"] is not None:
        return EntityObject(entity_id=EntityId(row["object_entity_id"]))
    return ValueObject(
        type=ValueType(row["value_type"]),
        canonical=row["value_canonical"],
        unit=row["value_unit"],
        display=row["value_display"],
    )


def object_columns(object_: Object | None) -> dict[str, object]:
    """The object columns of an entity, a value, or (all empty) of neither."""
    value = object_ if isinstance(object_, ValueObject) else None
    return {
        "object_entity_id": object_.entity_id if isinstance(object_, EntityObject) else None,
        "value_type": value and value.type,
        "value_canonical": value and value.canonical,
        "value_unit": value and value.unit,
        "value_display": value and value.display,
    }


def basis_of(text: str | None) -> TimeBasis | None:
    """The basis that a column names, if any."""
    return None if text is None else TimeBasis(text)


def validity_of(row: Row, prefix: str = "") -> Validity:
    """The validity of a row's columns; equal ends are the empty one.

    The row says by ``closed_to_nothing`` whether its ends are equal, since two infinite ends read alike.
    """
    start, end = row[f"{prefix}valid_from"], row[f"{prefix}valid_to"]
    if row[f"{prefix}closed_to_nothing"]:
        return ClosedToNothing(at=start)
    return Interval(start=start, end=end)


def validity_columns(validity: Validity, prefix: str = "") -> dict[str, object]:
    """The columns of a validity; an end that is not known is infinite, the empty one ends where it starts."""
    match validity:
        case Interval(start=start, end=end):
            return {f"{prefix}valid_from": start or Unbounded.START, f"{prefix}valid_to": end or Unbounded.END}
        case ClosedToNothing(at=at):
            instant = at or Unbounded.START
            return {f"{prefix}valid_from": instant, f"{prefix}valid_to": instant}


def relationship_of(row: Row) -> Relationship:
    """The relationship in a row of ``relationships`` (see `validity_of` for ``closed_to_nothing``)."""
    return Relationship(
        relationship_id=row["relationship_id"],
        version=row["version"],
        owner_id=row["owner_id"],
        slot=Slot(subject_id=row["subject_id"], predicate=PredicateKey(row["predicate"]), scope=row["scope"]),
        facet=row["facet"],
        object=object_of(row),
        polarity=Polarity(row["polarity"]),
        validity=validity_of(row),
        start_basis=basis_of(row["valid_from_basis"]),
        end_basis=basis_of(row["valid_to_basis"]),
        status=Status(row["status"]),
        tier=Tier(row["tier"]),
        record=row["record"],
        slot_exclusive=row["slot_exclusive"],
        event=row["event"],
        revision=row["revision"],
        recorded_at=row["recorded_at"],
        first_recorded_at=row["first_recorded_at"],
    )


def state_columns(state: RowState | None, prefix: str) -> dict[str, object]:
    """The columns of what a transition leaves, or (all empty) of the state before the first one."""
    if state is None:
        names = ("status", "tier", "facet", "valid_from", "valid_to", "valid_from_basis", "valid_to_basis")
        return {f"{prefix}{name}": None for name in names}
    return {
        f"{prefix}status": state.status,
        f"{prefix}tier": state.tier,
        f"{prefix}facet": state.facet,
        **validity_columns(state.validity, prefix),
        f"{prefix}valid_from_basis": state.start_basis,
        f"{prefix}valid_to_basis": state.end_basis,
    }


def bound_of(row: Row, side: str) -> KnownBound | None:
    """The known bound of one side (``start`` or ``end``)."""
    at: Instant | None = row[f"{side}_at"]
    if at is None:
        return None
    whole = WholeInterval(start=row[f"{side}_from"], end=row[f"{side}_to"])
    return KnownBound(at=at, whole=whole, basis=TimeBasis(row[f"{side}_basis"]))


def bound_columns(bound: KnownBound | None, side: str) -> dict[str, object]:
    """The columns of a known bound; all empty without one."""
    return {
        f"{side}_at": bound and bound.at,
        f"{side}_from": bound and bound.whole.start,
        f"{side}_to": bound and bound.whole.end,
        f"{side}_basis": bound and bound.basis,
    }


def support_of(row: Row) -> Support:
    """A support with its last decision (``kind``, ``authority``) and the columns of its fragment."""
    window = None
    if row["evidence_from"] is not None:
        whole = WholeInterval(start=row["evidence_from"], end=row["evidence_to"])
        window = StartWindow(whole=whole, verified=row["evidence_verified"])
    return Support(
        support_id=row["support_id"],
        fragment_id=row["fragment_id"],
        author=row["author_id"],
        recorded_at=row["recorded_at"],
        authority=Authority(row["authority"]),
        effective=is_switched_on(SupportDecisionKind(row["kind"])),
        # What counts witnesses does not ask: a retired fragment's supports are switched off as well.
        retired=row.get("retired", False),
        source_group=row["source_group"],
        source_key=row["source_key"],
        inherited_labels=tuple(row["inherited_labels"]),
        content_hash=None if row["normal_sha256"] is None else bytes(row["normal_sha256"]).hex(),
        adopted_from_fragment_id=row["adopted_from_fragment_id"],
        derived_from_fragment_ids=tuple(row["derived_from_fragment_ids"]),
        near_duplicate_fragment_ids=tuple(row["near_duplicate_fragment_ids"]),
        evidence_time=window,
        occurred_at=row["occurred_at"],
        relationship_id=row["relationship_id"],
        statement_id=row["statement_id"],
        spans=spans_of(row),
        erased=row.get("erased", False),
    )


def is_switched_on(last: SupportDecisionKind) -> bool:
    """Whether a support counts whose last decision is this one."""
    return last in _SWITCHED_ON


def spans_of(row: Row) -> tuple[TextSpan, ...]:
    """The passages that a support cites, in the columns of its spans."""
    return tuple(
        TextSpan(start=start, end=end) for start, end in zip(row["span_starts"], row["span_ends"], strict=True)
    )


def actor_columns(actor: Actor) -> Mapping[str, Any]:
    """The columns that say who acted."""
    return {"actor_kind": actor.kind, "actor_profile_id": actor.profile_id}
