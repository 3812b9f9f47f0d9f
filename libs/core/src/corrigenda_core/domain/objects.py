"""What a relationship points at: an entity, or a canonical typed value."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from corrigenda_core.domain.ids import EntityId, PredicateKey


class ValueType(StrEnum):
    """The types a value can have."""

    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    INSTANT = "instant"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityObject:
    """An entity of the same team as object."""

    entity_id: EntityId

    @property
    def key(self) -> str:
        """Text that is equal exactly for equal objects."""
        return f"entity:{self.entity_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueObject:
    """A typed scalar in normal form: values are equal if type, normal form and unit are.

    ``display`` is how the first author wrote it and takes no part in equality (see `key`).
    """

    type: ValueType
    canonical: str
    unit: str = ""
    display: str = ""

    @property
    def key(self) -> str:
        """Text that is equal exactly for equal values."""
        return f"{self.type.value}:{self.unit}:{self.canonical}"


Object = EntityObject | ValueObject


_OCCURRENCE = "at "


def occurrence_key(object_: Object, occurred: datetime) -> str:
    """Text that is equal exactly for equal objects of events of one day, which begins at ``occurred``."""
    return f"{_OCCURRENCE}{occurred.isoformat()} {object_.key}"


def occurrence_of_key(key: str) -> tuple[datetime | None, str]:
    """The start of the day that a key names, if it names one, and the key of the object itself."""
    if not key.startswith(_OCCURRENCE):
        return None, key
    occurred, _, object_key = key.removeprefix(_OCCURRENCE).partition(" ")
    return datetime.fromisoformat(occurred), object_key


def object_of_key(key: str) -> Object:
    """The object that has a key; a value is shown in its normal form, because a key does not know how it was written.

    Raises:
        ValueError: it is no key of an object.
    """
    kind, _, rest = key.partition(":")
    if kind == "entity":
        return EntityObject(entity_id=EntityId(rest))
    unit, _, canonical = rest.partition(":")
    return ValueObject(type=ValueType(kind), canonical=canonical, unit=unit, display=f"{canonical} {unit}".strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Where the values of a cardinality-one state compete; the team is implied, because nothing crosses a team."""

    subject_id: EntityId
    predicate: PredicateKey
    scope: str = ""


class Polarity(StrEnum):
    """Whether a statement asserts or denies."""

    POSITIVE = "+"
    NEGATIVE = "-"
