"""Effort: how much a test does in the fast tier, and how much in the full one."""

from __future__ import annotations

import os


def is_full_tier() -> bool:
    """Whether the full tier is run: it takes half an hour instead of minutes."""
    return os.environ.get("CORRIGENDA_TEST_TIER") == "full"


def examples(*, fast: int, full: int) -> int:
    """How many examples to try: ``full`` of them if the full tier is run, else ``fast``."""
    return full if is_full_tier() else fast
