#!/usr/bin/env python3
"""Keeps docs/ERRORS.md and docs/LIMITS.md true: both are made from the code, and ``--check`` fails where they differ.

Errors come from the comments of `ErrorReason`, limits from the one table of bounds. Run by ``dev.py pages [--check]``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from corrigenda_core.domain.errors import Reason
from corrigenda_core.policy.limits import LIMITS
from corrigenda_core.rpc.refusal_text import next_action
from corrigenda_core.rpc.status import CODES, RETRY_AFTER_SECONDS

DOCS = Path(__file__).resolve().parent


def errors_page() -> str:
    """The page of reasons, by gRPC code."""
    lines = [
        "# Errors",
        "",
        "*Made from the protos by `dev.py pages`.*",
        "",
        "A failed call changes nothing. It carries a gRPC code and `google.rpc.ErrorInfo` with domain `corrigenda`, a",
        "reason of this closed list, and metadata; `BadRequest`, `PreconditionFailure`, `QuotaFailure` and `RetryInfo`",
        "where they fit. Over MCP and from `corrigenda call` the same is JSON, with the text below as `next_action`.",
        "",
    ]
    for code in dict.fromkeys(CODES.values()):
        lines += [
            f"## {code.name}",
            "",
            "| reason | what it means, its metadata, and what to do | the same call may succeed after |",
        ]
        lines.append("|---|---|---|")
        for reason in (one for one in Reason if CODES[one] is code):
            seconds = RETRY_AFTER_SECONDS.get(reason)
            after = "" if seconds is None else f"{seconds:g} s, unless the answer says otherwise"
            lines.append(f"| `{reason.name}` | {next_action(reason)} | {after} |")
        lines.append("")
    return "\n".join(lines)


def limits_page() -> str:
    """The page of bounds."""
    lines = [
        "# Limits",
        "",
        "*Made from `policy/limits.py` by `dev.py pages`.*",
        "",
        "Every bound has a name and a unit. What breaks it is refused with the name, the offered and allowed figure.",
        "Sizes of texts are bytes of UTF-8 or Unicode code points.",
        "",
        "| bound | unit | least | greatest | default | a value above it is refused with |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| `{one.name}` | {one.unit.value.replace('_', ' ')} | {one.least:,} | {one.greatest:,} |"
        f" {f'{one.default:,}' if one.default else ''} | `{one.breach.name}` |"
        for one in LIMITS
    ]
    return "\n".join([*lines, ""])


PAGES = {"ERRORS.md": errors_page, "LIMITS.md": limits_page}


def stale_pages() -> list[str]:
    """The names of the pages that are not what the code says."""
    return [
        name
        for name, made in PAGES.items()
        if not (DOCS / name).exists() or (DOCS / name).read_text(encoding="utf-8") != made()
    ]


def main() -> int:
    """Makes the pages, or with ``--check`` compares them; returns the exit status."""
    stale = stale_pages()
    if "--check" in sys.argv[1:]:
        for name in stale:
            print(f"docs/{name} is out of date: run `python3 dev.py pages`", file=sys.stderr)
        return 1 if stale else 0
    for name in stale:
        (DOCS / name).write_text(PAGES[name](), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
