"""What a running team knew, asked for by both time axes: compared with the model, and asked for again later."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import grpc
from corrigenda.conflict.v1 import conflict_service_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda.type.v1 import time_pb2
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from corrigenda_core.domain.errors import Refusal
from corrigenda_core.domain.views import KnownAt, KnownAtRevision, TemporalSelector
from corrigenda_core.policy.visibility import decide_version_in_view, decide_view
from corrigenda_core.rpc.client import Client
from corrigenda_core.rpc.convert import timestamp_of, validity_of
from corrigenda_core.rpc.status import refusal_of
from corrigenda_core.testing.memory_team import MemoryTeam
from corrigenda_core.testing.shown_team import bare, row_of
from corrigenda_core.testing.wire_recall import current_recall
from corrigenda_core.testing.wire_utterances import known_of

_ERASED = re.compile(r"erased:[0-9a-f]{64}")
_QUERY = "production staging deploys from owned by hosted on uses main release trunk"
_Answer = TypeVar("_Answer")


class WirePast:
    """Asks a reader for the past of a team.

    Args:
        model: the team as the model knows it.
        reader: a client that may read.

    Attributes:
        revisions: the system's number of a commit by that of the model, where it is known.
    """

    def __init__(self, model: MemoryTeam, reader: Client) -> None:
        self.revisions: dict[int, int] = {}
        self._model, self._reader = model, reader
        self._seen: list[tuple[Callable[[Any], Awaitable[Any]], Message, Message]] = []

    @property
    def seen(self) -> int:
        """How many answers are asked for again."""
        return len(self._seen)

    async def look_back(self, subject_id: str, selector: TemporalSelector) -> None:
        """What was in force, what was disputed and what is found, as it was known then."""
        model, temporal = self._model, self._temporal(selector)
        moments = list(dict.fromkeys(one.moment for one in model.revisions))
        view = decide_view(selector, now=max(model.now, moments[-1].at), moments=moments)
        known = {
            row_id: row
            for row_id, versions in model.versions().items()
            if (row := decide_version_in_view(versions, view)) is not None and row.slot.subject_id == subject_id
        }
        picture = model.picture(selector)
        edges = {
            edge.relationship.relationship_id: edge.validity
            for edge in picture.edges
            if edge.relationship.slot.subject_id == subject_id
        }
        request = recall_service_pb2.TimelineRequest(entity_id=subject_id, temporal=temporal, page_size=200)
        told = await answered(self._reader.recall.Timeline(request))
        if isinstance(told, Refusal):
            assert not known, told
            return
        self._seen.append((self._reader.recall.Timeline, request, told))
        rows = {one.relationship.relationship.relationship_id: one.relationship for one in told.entries}
        require_equal({i: row_of(one.relationship) for i, one in rows.items()}, {i: bare(r) for i, r in known.items()})
        counted = {i: validity_of(one.counted_validity) for i, one in rows.items() if one.in_force}
        require_equal(counted, dict(edges))
        asked = conflict_service_pb2.GetCompetingFactsRequest(
            entity_id=subject_id, valid_at=temporal.valid_at, page_size=200, **known_of(temporal)
        )
        competing = await self._reader.conflict.GetCompetingFacts(asked)
        self._seen.append((self._reader.conflict.GetCompetingFacts, asked, competing))
        disputed = {facts.conflict_id for slot in competing.slots for facts in slot.facts} - {""}
        live = {case.conflict_id for case in picture.live_cases if case.set_key.subject_id == subject_id}
        assert disputed == live, f"{disputed} is not {live} at {selector}"
        if not any(text.erased for text in model.texts.values()):
            # What is erased is found no more, in no view.
            await self._recall(temporal, {edge.relationship.relationship_id for edge in picture.edges})

    async def _recall(self, temporal: time_pb2.TemporalSelector, in_force: set[Any]) -> None:
        request = recall_service_pb2.RecallRequest(query=_QUERY, temporal=temporal, limit=50)
        answer = await current_recall(self._reader, request)
        self._seen.append((self._reader.recall.Recall, request, answer))
        found = {path.relationship.relationship_id for one in answer.results for path in one.paths}
        if not answer.results_truncated:
            assert found == in_force, f"{found} is recalled, and {in_force} is in force at {temporal}"

    async def see_again(self) -> None:
        """Whatever was answered about the past is answered again; erased words and what they found have left it."""
        erased = any(text.erased for text in self._model.texts.values())
        for call, request, answer in self._seen:
            if erased and isinstance(answer, recall_service_pb2.RecallResponse):
                continue
            again = await call(request)
            same = is_same_or_erased(MessageToDict(answer), MessageToDict(again)) if erased else again == answer
            assert same, f"{request} was answered with {answer}, and is with {again}"

    def _temporal(self, selector: TemporalSelector) -> time_pb2.TemporalSelector:
        """The selector by the numbers of the system, which counts revisions that the model does not have."""
        temporal = time_pb2.TemporalSelector()
        if selector.valid_at is not None:
            temporal.valid_at.CopyFrom(timestamp_of(selector.valid_at))
        if isinstance(selector.known, KnownAt):
            temporal.known_at.CopyFrom(timestamp_of(selector.known.at))
        elif isinstance(selector.known, KnownAtRevision):
            moment = next(o.moment for o in self._model.revisions if o.moment.revision == selector.known.revision)
            if moment.revision in self.revisions:
                temporal.revision = self.revisions[moment.revision]
            else:
                temporal.known_at.CopyFrom(timestamp_of(moment.at))
        return temporal


async def answered(call: Awaitable[_Answer]) -> _Answer | Refusal:
    """The answer, or why there is none."""
    try:
        return await call
    except grpc.aio.AioRpcError as error:
        refusal = refusal_of(error)
        if refusal is None:
            raise
        return refusal


def is_same_or_erased(before: Any, after: Any) -> bool:
    """Whether two answers differ in nothing but words that stand for erased ones by now."""
    if isinstance(before, dict) and isinstance(after, dict):
        return before.keys() == after.keys() and all(is_same_or_erased(before[one], after[one]) for one in before)
    if isinstance(before, list) and isinstance(after, list):
        return len(before) == len(after) and all(map(is_same_or_erased, before, after))
    return bool(before == after or (isinstance(after, str) and _ERASED.search(after)))


def require_equal(shown: Mapping[str, object], expected: Mapping[Any, object]) -> None:
    """What is shown is what the model says; only what differs is told."""
    differing = [i for i in {*shown, *expected} if shown.get(i) != expected.get(i)]
    told = "\n".join(f"{i}\n  shown    {shown.get(i)}\n  expected {expected.get(i)}" for i in differing)
    assert not differing, f"the system shows something else than the model says:\n{told}"
