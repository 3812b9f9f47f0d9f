"""Cases of the team-conflict policy as short lines: a line says only in what its case differs from a plain one.

A line has a ``name``, a time ``now`` {before, at, after} the deadline, and by position its members. A member is
what it has beside its ``supports``; a support is what a plain witness has not. What is not said: every member is of an
owner called by its position and says ``stated_time``; every support has an author, a group and a text of its own and
was recorded a minute after the one before. Relationships are r1, r2, … and supports s1, s2, … on f1, f2, …, in order.
``expect`` names the fields of the decision that the case is about.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

_NOW = {"before": "2026-06-07T23:59:59Z", "at": "2026-06-08T00:00:00Z", "after": "2026-06-20T00:00:00Z"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyVector:
    """One case as `corrigenda policy evaluate` reads it, and what must be decided."""

    name: str
    case: dict[str, Any]
    expect: dict[str, Any]


def read_vectors(text: str) -> list[PolicyVector]:
    """The vectors of a file, one a line."""
    return [_vector(json.loads(line)) for line in text.splitlines()]


def _vector(line: dict[str, Any]) -> PolicyVector:
    rows, texts = count(1), count(1)
    positions = [
        {"position_id": name, "members": [_member(name, one, next(rows), texts) for one in members]}
        for name, members in line["positions"].items()
    ]
    case = {
        "policy": "independent-sources/1",
        "now": _NOW[line["now"]],
        "review_due_at": _NOW["at"],
        "first_contradiction_at": "2026-06-01T12:00:00Z",
        "positions": positions,
    }
    return PolicyVector(name=line["name"], case=case, expect=line["expect"])


def _member(position: str, given: dict[str, Any], number: int, texts: Iterator[int]) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "relationship_id": f"r{number}",
        "version": 1,
        "owner": f"owner-{position}",
        "valid_from": None,
        "valid_from_basis": "stated_time",
        "valid_to": None,
        "record": False,
    }
    return {**plain, **given, "supports": [_support(one, next(texts)) for one in given["supports"]]}


def _support(given: dict[str, Any], number: int) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "support_id": f"s{number}",
        "fragment_id": f"f{number}",
        "author": f"author-{number}",
        "source_group": f"group-{number}",
        "source_key": None,
        "inherited_labels": [],
        "content_hash": f"hash-{number}",
        "adopted_from_fragment_id": None,
        "derived_from_fragment_ids": [],
        "near_duplicate_fragment_ids": [],
        "authority": "primary",
        "effective": True,
        "recorded_at": f"2026-05-01T{number // 60:02}:{number % 60:02}:00Z",
        "evidence_time": None,
    }
    return {**plain, **given}
