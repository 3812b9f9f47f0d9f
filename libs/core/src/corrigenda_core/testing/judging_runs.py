"""Runs of a judge over an owner's questions in few words: what is asked for, and what the stream said."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterable
from dataclasses import dataclass, field
from typing import Any

from corrigenda.conflict.v1 import auto_resolution_pb2, conflict_service_pb2

RESOLVED, RECORDED, NOT_ASKED, SKIPPED, REFUSED = (
    auto_resolution_pb2.AUTO_RESOLUTION_RESOLVED,
    auto_resolution_pb2.AUTO_RESOLUTION_RECORDED,
    auto_resolution_pb2.AUTO_RESOLUTION_NOT_ASKED,
    auto_resolution_pb2.AUTO_RESOLUTION_SKIPPED,
    auto_resolution_pb2.AUTO_RESOLUTION_REFUSED,
)


def asking(**more: Any) -> conflict_service_pb2.AutoResolveRequest:
    """A run that no pair is too young for; anything of the request can be given."""
    return conflict_service_pb2.AutoResolveRequest(
        **{"idempotency_key": uuid.uuid4().hex, "minimum_age_seconds": 0, **more}
    )


@dataclass(slots=True)
class Run:
    """What a run said: of each question, and at last."""

    items: list[auto_resolution_pb2.AutoResolvedItem] = field(default_factory=list)
    report: auto_resolution_pb2.AutoResolveReport | None = None

    @property
    def outcomes(self) -> list[auto_resolution_pb2.AutoResolution.ValueType]:
        """What came of each question."""
        return [one.outcome for one in self.items]


async def run_of(answers: AsyncIterable[conflict_service_pb2.AutoResolveResponse]) -> Run:
    """A whole run.

    Raises:
        AssertionError: if its progress does not count every question, or the report is not the last word.
    """
    run = Run()
    async for answer in answers:
        if run.report is not None:
            raise AssertionError("something after the report")
        if answer.HasField("report"):
            run.report = answer.report
        else:
            run.items.append(answer.item)
        if not answer.done == len(run.items) <= answer.total:
            raise AssertionError(f"{answer.done} of {answer.total} after {len(run.items)} questions")
    if run.report is None:
        raise AssertionError("no report")
    return run
