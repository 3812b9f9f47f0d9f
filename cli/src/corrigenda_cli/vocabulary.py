"""Reads a vocabulary: a TOML file of predicates, checked field by field before anything is sent."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Any

from corrigenda.type.v1 import predicate_pb2
from corrigenda_core.domain.objects import ValueType
from corrigenda_core.domain.predicates import (
    Cardinality,
    RelationshipKind,
    SameMomentPolicy,
    StartGranularity,
    SupersessionBasis,
)
from corrigenda_core.rpc.enums import (
    CARDINALITY,
    RELATIONSHIP_KIND,
    SAME_MOMENT_POLICY,
    START_GRANULARITY,
    SUPERSESSION_BASIS,
    VALUE_TYPE,
    EnumBridge,
)

_TEXTS = frozenset({"key", "unit", "pii_class", "says", "example"})
_LISTS = frozenset({"aliases", "subject_kinds", "object_kinds"})
_CHOICES: Mapping[str, tuple[type[StrEnum], EnumBridge[Any, Any], StrEnum]] = {
    "relationship_kind": (RelationshipKind, RELATIONSHIP_KIND, RelationshipKind.STATE),
    "current_cardinality": (Cardinality, CARDINALITY, Cardinality.ONE),
    "supersession_basis": (SupersessionBasis, SUPERSESSION_BASIS, SupersessionBasis.EVIDENCE_TIME),
    "same_moment_policy": (SameMomentPolicy, SAME_MOMENT_POLICY, SameMomentPolicy.HOLD),
    "start_granularity": (StartGranularity, START_GRANULARITY, StartGranularity.INSTANT),
}
_KNOWN = _TEXTS | _LISTS | _CHOICES.keys() | {"value_types", "review_after_days"}


class VocabularyError(ValueError):
    """A file is no vocabulary; the message says where and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One predicate, what it says in words, and a sentence that states it."""

    definition: predicate_pb2.PredicateDefinition
    says: str
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The predicates of one file, in its order."""

    name: str
    entries: tuple[Entry, ...]


def shipped_names() -> list[str]:
    """The names of the vocabularies that come with the product."""
    folder = files("corrigenda_cli.vocabularies")
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def vocabulary_text(name_or_path: str) -> str:
    """The text of a vocabulary that comes with the product, or of a file.

    Raises:
        VocabularyError: there is neither.
    """
    if name_or_path in shipped_names():
        return files("corrigenda_cli.vocabularies").joinpath(f"{name_or_path}.toml").read_text("utf-8")
    try:
        return Path(name_or_path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        known = ", ".join(shipped_names())
        raise VocabularyError(f"{name_or_path}: no such file, and none of the shipped ones ({known})") from problem


def parse_vocabulary(text: str) -> Vocabulary:
    """The vocabulary in some TOML.

    Raises:
        VocabularyError: a field that is unknown, missing, of another type, or a key that stands twice.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise VocabularyError(f"no TOML: {problem}") from problem
    if unknown := document.keys() - {"name", "predicate"}:
        raise VocabularyError(f"unknown: {', '.join(sorted(unknown))}")
    name, tables = document.get("name", ""), document.get("predicate", [])
    if not isinstance(name, str) or not name:
        raise VocabularyError("name must be a text")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise VocabularyError("there must be [[predicate]] tables")
    entries = tuple(_entry(table, f"predicate {number}") for number, table in enumerate(tables, start=1))
    keys = [entry.definition.key for entry in entries]
    if len(set(keys)) < len(keys):
        raise VocabularyError(f"{next(key for key in keys if keys.count(key) > 1)} stands twice")
    return Vocabulary(name=name, entries=entries)


def _entry(table: Mapping[str, Any], place: str) -> Entry:
    place = f"{place} ({table['key']})" if isinstance(table.get("key"), str) else place
    for problem in _problems(table):
        raise VocabularyError(f"{place}: {problem}")
    chosen = {
        field: bridge.to_wire(choice(table[field]) if field in table else default)
        for field, (choice, bridge, default) in _CHOICES.items()
    }
    definition = predicate_pb2.PredicateDefinition(
        key=table["key"],
        aliases=table.get("aliases", []),
        subject_kinds=table.get("subject_kinds", []),
        object_kinds=table.get("object_kinds", []),
        value_types=[VALUE_TYPE.to_wire(ValueType(one)) for one in table.get("value_types", [])],
        unit=table.get("unit", ""),
        pii_class=table.get("pii_class", ""),
        review_after_days=table.get("review_after_days"),
        **chosen,
    )
    return Entry(definition=definition, says=table.get("says", ""), example=table.get("example", ""))


def _problems(table: Mapping[str, Any]) -> Iterator[str]:
    if unknown := table.keys() - _KNOWN:
        yield f"unknown: {', '.join(sorted(unknown))}"
    if not table.get("key"):
        yield "key is missing"
    for field, value in table.items():
        if field in _TEXTS and not isinstance(value, str):
            yield f"{field} must be a text"
        if field in _LISTS and not (isinstance(value, list) and all(isinstance(one, str) for one in value)):
            yield f"{field} must be a list of texts"
        if field in _CHOICES and value not in list(_CHOICES[field][0]):
            yield f"{field} must be one of {', '.join(_CHOICES[field][0])}"
    types = table.get("value_types", [])
    if not isinstance(types, list) or any(one not in list(ValueType) for one in types):
        yield f"value_types must be a list of {', '.join(ValueType)}"
    days = table.get("review_after_days", 1)
    if not isinstance(days, int) or isinstance(days, bool) or days < 1:
        yield "review_after_days must be a number of days"
