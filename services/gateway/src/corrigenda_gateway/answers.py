"""JSON as text, in the one form in which the gateway shows it."""

from __future__ import annotations

import json
from typing import Any


def text_of(answer: dict[str, Any]) -> str:
    """An answer as text: compact, since models read it by the token, and in its own script."""
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
