"""The comments of the protos at run time: what tools for agents and help for people are described by."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files


@cache
def _comments() -> dict[str, str]:
    loaded: dict[str, str] = json.loads(files("corrigenda").joinpath("comments.json").read_text(encoding="utf-8"))
    return loaded


def comment_of(full_name: str) -> str:
    """The comment above an element of our protos, paragraphs parted by an empty line; empty if it has none.

    Args:
        full_name: such as ``corrigenda.recall.v1.RecallService.Recall``. A value of an enum is named below its enum.
    """
    return _comments().get(full_name, "")
