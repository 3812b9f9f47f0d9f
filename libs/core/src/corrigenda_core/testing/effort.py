"""Effort: how much a test does in the fast tier, and how much in the full one."""

from __future__ import annotations

import os


def examples(*, fast: int, full: int) -> int:
    """How many examples to try: ``full`` of them if the full tier is run, else ``fast``."""
    return full if os.environ.get("CORRIGENDA_TEST_TIER") == "full" else fast
