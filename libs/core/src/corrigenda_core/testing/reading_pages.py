"""Reading a page of the documentation against running services: its calls are made, its answers compared."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import grpc
from corrigenda.ingest.v1 import ingest_service_pb2
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message

from corrigenda_core.rpc.status import refusal_of
from corrigenda_core.rpc.wire_methods import MethodCalls, WireMethod, wire_methods
from corrigenda_core.testing.documented_examples import Example, examples_of

METHODS = {method.descriptor.name: method for method in wire_methods()}

Run = Callable[..., Awaitable[tuple[int, str, str]]]
Said = dict[str, Any]


class Reading:
    """A page that is read from its first example to its last, by the profiles of a team."""

    def __init__(self, page: Path, calls: MethodCalls, keys: Mapping[str, str]) -> None:
        self._rest = examples_of(page)
        self.calls = calls
        self.keys = keys
        # Whether the clock is driven, so that times are the page's, too.
        self.driven = False

    def take(self, kind: str = "console") -> Example:
        """The next example of a kind; whatever is no example of calls before it is passed by."""
        while self._rest and (self._rest[0].kind == "" != kind or self._rest[0].asked.startswith("export ")):
            self._rest.pop(0)
        example = self._rest.pop(0)
        _require(example.kind == kind, f"line {example.line} is another example")
        return example

    async def call(self, who: str, method: str, **known: Any) -> Said:
        """Makes the next example's call; its answer must be the page's."""
        example = self.take()
        _require(example.method == method, f"line {example.line}")
        return await self.answers(example, who, method, example.request(**known))

    async def write(self, corrigenda: Run, who: str, *known: str, status: int = 0) -> str:
        """Runs the next example's command; it must write what the page says. Gives what it wrote."""
        example = self.take()
        ended, out, err = await corrigenda(self.keys[who], *example.arguments(*known))
        missing = example.lines_missing_from(out + err)
        _require(not missing, f"line {example.line} says {missing}, the command writes\n{out}{err}")
        _require(ended == status, err)
        return out

    async def answers(self, example: Example, who: str, method: str, request: Said) -> Said:
        """Makes a call that an example speaks of; its answer must be the page's."""
        answer = await self.ask(who, method, request)
        missing = example.missing_from(answer, times=self.driven)
        _require(not missing, f"line {example.line} says {missing}, the answer is {json.dumps(answer)}")
        return answer

    async def ask(self, who: str, name: str, request: Said) -> Said:
        """What a method answers or refuses, as JSON."""
        method = METHODS[name]
        message = ParseDict(request, method.new_request())
        try:
            return await self._answer(method, message, self.keys[who])
        except grpc.aio.AioRpcError as error:
            refusal = refusal_of(error)
            if refusal is None:
                raise
            told = {"code": error.code().name.lower(), "status": error.code().name, "message": refusal.message}
            return {**told, "reason": refusal.reason.value, "field": refusal.field, "metadata": dict(refusal.metadata)}

    async def _answer(self, method: WireMethod, message: Message, key: str) -> Said:
        if not method.descriptor.server_streaming:
            return MessageToDict(await self.calls.call(method, message, key=key))

        async def sent() -> AsyncIterator[Message]:
            yield message

        asked = sent() if method.descriptor.client_streaming else message
        return {"messages": [MessageToDict(one) async for one in self.calls.stream(method, asked, key=key)]}

    def done(self) -> None:
        """That no example was left out."""
        left = [example.line for example in self._rest if example.kind and not example.asked.startswith("export ")]
        _require(not left, f"nothing makes the examples in lines {left}")


class Told:
    """A team whose profiles say where something deploys from, in the words that a story needs."""

    def __init__(self, team: Any, deploys_from: Callable[..., Any]) -> None:
        self.team = team
        self._deploys_from = deploys_from

    def request(self, text: str, branch: str, *, of: str = "production", **more: Any) -> Said:
        """The submission of a statement, as JSON."""
        made: ingest_service_pb2.RememberRequest = self._deploys_from(text, branch, **more)
        made.proposal.entities[0].name = of
        return MessageToDict(made)

    async def say(self, who: str, text: str, branch: str, **more: Any) -> Said:
        """Remembers a statement; answers its placement."""
        made = ParseDict(self.request(text, branch, **more), ingest_service_pb2.RememberRequest())
        placement: Said = MessageToDict((await self.team[who].ingest.Remember(made)).placement)
        return placement


def row_id(placement: Said) -> str:
    """The relationship that a placement of one statement has made."""
    found: str = placement["relationships"][0]["relationship"]["relationshipId"]
    return found


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)
