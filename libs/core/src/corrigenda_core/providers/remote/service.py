"""Where a model service is and how much is asked of it; light enough for every process to import."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """Where a model service is and how much is asked of it.

    ``url`` is the base, such as ``https://models.internal/v1``; ``key`` is sent as a bearer token unless it is empty.
    ``sends_temperature`` says whether a model is asked for its most likely answer; some take no such wish.
    """

    url: str
    key: str = field(default="", repr=False)
    timeout_seconds: float = 20.0
    max_calls: int = 8
    sends_temperature: bool = True
    max_answer_bytes: int = 4 * 1024 * 1024
