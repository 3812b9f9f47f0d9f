"""Cuts SQL text files into single statements: Citus takes one DDL command per call, errors name theirs."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\$\w*\$|'(?:[^']|'')*'|--[^\n]*|;")


def statements(sql: str) -> list[str]:
    """The statements of a text in order, without their final semicolons and without empty ones.

    Understands what our own files use: dollar-quoted bodies, quoted literals and line comments.

    Raises:
        ValueError: if a dollar-quoted body does not end.
    """
    found: list[str] = []
    start = position = 0
    while token := _TOKEN.search(sql, position):
        position = token.end()
        if token.group() == ";":
            found.append(sql[start : token.start()])
            start = position
        elif token.group().startswith("$"):
            end = sql.find(token.group(), position)
            if end < 0:
                raise ValueError(f"the body that starts with {token.group()} at {token.start()} does not end")
            position = end + len(token.group())
    found.append(sql[start:])
    return [text for text in (part.strip() for part in found) if _says_something(text)]


def _says_something(text: str) -> bool:
    return any(line.strip() and not line.strip().startswith("--") for line in text.splitlines())
