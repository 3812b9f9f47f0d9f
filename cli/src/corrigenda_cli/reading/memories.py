"""The export of another memory, a JSON object a line, as submissions: the minimal format that `import` takes.

``text`` is the one field that must be there. ``facts`` say what the text says; without them the extractor proposes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from corrigenda_cli.asking import said
from corrigenda_cli.calling import InputError
from corrigenda_cli.reading.lines import Reading

FIELDS = ("text", "id", "created_at", "author", "source", "labels", "confidence", "metadata", "facts")
FACT_FIELDS = (
    "subject",
    "predicate",
    "object",
    "value",
    "negative",
    "scope",
    "valid_from",
    "valid_to",
    "quote",
)
IMPORTED_ID, IMPORTED_AUTHOR = "imported_id", "imported_author"


def memories_as(source_type: str, *, labels: list[str]) -> Reading:
    """How a line of an export is read.

    Args:
        source_type: what kind of source its texts are said to come from.
        labels: labels for each of them, beside those that the line names.
    """

    def read(line: dict[str, Any]) -> dict[str, Any]:
        return _request(line, source_type, labels)

    return read


def _request(line: Mapping[str, Any], source_type: str, labels: list[str]) -> dict[str, Any]:
    _only(line, FIELDS, "a line")
    text = line.get("text")
    if not isinstance(text, str):
        raise InputError("a line needs its text")
    item = said(
        content=text,
        source_type=source_type,
        source_group=line.get("source"),
        occurred_at=line.get("created_at"),
        labels=[*_list(line, "labels"), *labels],
        confidence=line.get("confidence"),
    )
    metadata = {**_object(line, "metadata"), **_origin(line)}
    facts = _list(line, "facts")
    return said(evidence=[item], proposal=_proposal(facts, text) if facts else None, metadata=metadata)


def _origin(line: Mapping[str, Any]) -> dict[str, str]:
    """Where a memory comes from, as what its submission states."""
    origin = {IMPORTED_ID: line.get("id"), IMPORTED_AUTHOR: line.get("author")}
    return {name: str(value) for name, value in origin.items() if value is not None}


def _proposal(facts: list[Any], text: str) -> dict[str, Any]:
    entities: dict[tuple[str, str], str] = {}
    relationships = [_relationship(number, fact, text, entities) for number, fact in enumerate(facts, 1)]
    named = [{"ref": ref, "entity_kind": kind, "name": name} for (kind, name), ref in entities.items()]
    return {"entities": named, "relationships": relationships}


def _relationship(number: int, fact: Any, text: str, entities: dict[tuple[str, str], str]) -> dict[str, Any]:
    if not isinstance(fact, dict):
        raise InputError(f"fact {number} is no object")
    _only(fact, FACT_FIELDS, f"fact {number}")
    if ("object" in fact) == ("value" in fact):
        raise InputError(f"fact {number} needs an object or a value")
    quote = fact.get("quote")
    return said(
        proposal_id=f"fact-{number}",
        subject_ref=_ref(fact.get("subject"), f"subject of fact {number}", entities),
        predicate=fact.get("predicate"),
        object_ref=_ref(fact["object"], f"object of fact {number}", entities) if "object" in fact else None,
        object_value=fact.get("value"),
        polarity="-" if fact.get("negative") else "+",
        modality="statement",
        scope=fact.get("scope"),
        validity=said(valid_from=fact.get("valid_from"), valid_to=fact.get("valid_to")),
        evidence=[{"start": 0, "end": len(text)} if quote is None else {"quote": quote}],
    )


def _ref(given: Any, what: str, entities: dict[tuple[str, str], str]) -> str:
    """The name by which the proposal refers to an entity; the same one is named once."""
    if not (isinstance(given, dict) and isinstance(given.get("kind"), str) and isinstance(given.get("name"), str)):
        raise InputError(f"the {what} is an object with a kind and a name")
    _only(given, ("kind", "name"), f"the {what}")
    return entities.setdefault((given["kind"], given["name"]), f"e{len(entities) + 1}")


def _list(line: Mapping[str, Any], name: str) -> list[Any]:
    value = line.get(name, [])
    if not isinstance(value, list):
        raise InputError(f"{name} is a list")
    return value


def _object(line: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = line.get(name, {})
    if not isinstance(value, dict):
        raise InputError(f"{name} is an object")
    return value


def _only(given: Mapping[str, Any], allowed: tuple[str, ...], what: str) -> None:
    """Refuses what would be lost without a word."""
    for name in given:
        if name not in allowed:
            raise InputError(f"{what} has no field {name!r}; it has {', '.join(allowed)}")
