"""Q21: logs, errors and metrics hold no text that was remembered or asked, no secret, and no team's name.

Replicas of the three services that log everything are called with every RPC of the protos, each of its texts a canary:
as far as a request comes by being filled in, with everything about it wrong, and in a story that all goes well.
"""

import asyncio
import re
import socket
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import grpc
import pytest
from corrigenda.options.v1 import rules_pb2
from corrigenda_cli.child import Child, start_child
from corrigenda_cli.stack import PROCESSES, Stack
from corrigenda_core.domain.errors import Reason
from corrigenda_core.rpc.channels import ServiceChannel
from corrigenda_core.rpc.json_mapping import fill_from_json, to_json
from corrigenda_core.rpc.status import refusal_of
from corrigenda_core.rpc.wire_methods import MethodCalls, WireMethod, wire_methods
from corrigenda_core.testing.effort import examples
from corrigenda_core.testing.filled_messages import filled, is_map, rules_of
from corrigenda_core.testing.made_team import made_team
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

pytestmark = [pytest.mark.database, pytest.mark.promise("Q21")]

SERVICES = ("ingest", "conflict", "recall")
METHODS = {method.name: method for method in wire_methods()}
CANARY = f"zq{uuid.uuid4().hex[:10]}"
WAIT_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class Watched:
    """Three services that are watched: how they are called, what they log, and what they measure."""

    calls: MethodCalls
    key: str
    logs: list[Path]
    metrics: list[str]
    secrets: frozenset[str]

    def said(self) -> dict[str, str]:
        """What the services have logged and measured."""
        said = {str(path): path.read_text(encoding="utf-8") for path in self.logs}
        for url in self.metrics:
            with urlopen(url, timeout=WAIT_SECONDS) as answer:
                said[url] = answer.read().decode()
        return said

    async def call(self, name: str, said: Any, *, key: str | None = None) -> Any:
        """What a method answers to JSON, as JSON; of a stream its messages."""
        method = METHODS[name]
        request: Message = method.new_request()
        fill_from_json(request, said)
        return await self.send(method, request, key=key)

    async def send(self, method: WireMethod, request: Message, *, key: str | None = None) -> Any:
        """What a method answers, as JSON; of a stream its messages."""
        key = self.key if key is None else key
        if not method.descriptor.server_streaming:
            return to_json(await self.calls.call(method, request, key=key))

        async def sent() -> AsyncIterator[Message]:
            yield request

        asked = sent() if method.descriptor.client_streaming else request
        return [to_json(message) async for message in self.calls.stream(method, asked, key=key)]


@pytest.fixture(scope="module")
async def watched(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Watched]:
    folder = tmp_path_factory.mktemp("watched")
    made = made_team(
        stack.url("corrigenda_migrator"),
        stack.secrets.key_pepper,
        driven_from=None,
        name=f"{CANARY} team",
        admin_name=f"{CANARY} admin",
    )
    async with AsyncExitStack() as opened:
        ports = {name: free_port() for name in SERVICES}

        async def started(name: str) -> Child:
            (spec,) = [spec for spec in PROCESSES if spec.name == name]
            settings = {"CORRIGENDA_LOG_LEVEL": "debug", "CORRIGENDA_METRICS_LISTEN": f"127.0.0.1:{ports[name]}"}
            child = await start_child(
                name=name,
                module=spec.module,
                environment={**stack.environment_of(spec), **settings},
                log_file=folder / f"{name}.log",
            )
            opened.push_async_callback(child.stop)
            return child

        children = dict(zip(SERVICES, await asyncio.gather(*map(started, SERVICES)), strict=True))
        channels = {name: ServiceChannel(child.facts["address"]) for name, child in children.items()}
        for channel in channels.values():
            opened.push_async_callback(channel.close)
        yield Watched(
            calls=MethodCalls(channels, timeout_seconds=WAIT_SECONDS),
            key=made.key,
            logs=[*(folder / f"{name}.log" for name in SERVICES), *sorted(stack.logs.glob("*.log"))],
            metrics=[f"http://127.0.0.1:{port}/metrics" for port in ports.values()],
            secrets=frozenset(
                {made.key, stack.secrets.key_pepper, stack.secrets.page_token_key}
                | {f":{password}@" for password in stack.secrets.role_passwords.values()}
            ),
        )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def takes(rules: rules_pb2.FieldRules, text: str) -> bool:
    longest = rules.max_code_points if rules.HasField("max_code_points") else rules.max_bytes
    return not rules.uuid and len(text) <= longest and re.fullmatch(rules.pattern or ".*", text) is not None


def sing(message: Any) -> None:
    """Puts a canary into every text of a message that may be one."""
    for field in message.DESCRIPTOR.fields:
        rules = rules_of(field)
        is_text = field.cpp_type == FieldDescriptor.CPPTYPE_STRING
        value = getattr(message, field.name)
        if is_map(field):
            value.clear()
            value[CANARY] = CANARY
        elif field.message_type is not None and not field.message_type.full_name.startswith("google.protobuf."):
            for nested in value if field.is_repeated else [value] if message.HasField(field.name) else []:
                sing(nested)
        elif is_text and field.is_repeated and takes(rules.items, CANARY):
            value[:] = [CANARY]
        elif is_text and not field.is_repeated and value and takes(rules, CANARY):
            setattr(message, field.name, CANARY)


def wrong_ways(method: WireMethod) -> Iterator[Message]:
    """A request that is filled with canaries, and each way to have everything about it too long or in no form."""
    singing = filled(method.descriptor.input_type)
    sing(singing)
    yield singing
    for times in (600, 70_000 // len(CANARY)):
        longer = filled(method.descriptor.input_type)
        stretch(longer, CANARY * times)
        yield longer


def stretch(message: Any, text: str) -> None:
    """Puts a text into every text of a message, whatever its rules say: ids and formats, too."""
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if is_map(field):
            value[text] = text
        elif field.message_type is not None and not field.message_type.full_name.startswith("google.protobuf."):
            for nested in value if field.is_repeated else [value] if message.HasField(field.name) else []:
                stretch(nested, text)
        elif field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
            if field.is_repeated:
                value[:] = [text]
            elif value:
                setattr(message, field.name, text)


def told_by(error: grpc.aio.AioRpcError) -> str:
    """Everything that a failed call says."""
    trailing = [value if isinstance(value, bytes) else value.encode() for _, value in error.trailing_metadata() or ()]
    return b" ".join([(error.details() or "").encode(), *trailing]).decode(errors="replace")


def words_of(told: str, watched: Watched) -> set[str]:
    return {word for word in (CANARY, *watched.secrets) if word in told}


@pytest.mark.promise("apart.words")
async def test_no_error_of_any_rpc_repeats_what_was_sent(watched: Watched) -> None:
    repeated, tried = {}, set()
    for method in METHODS.values():
        for number, request in enumerate(wrong_ways(method)):
            for key in (watched.key, f"cor_{CANARY}") if number == 0 else (watched.key,):
                try:
                    await watched.send(method, request, key=key)
                except grpc.aio.AioRpcError as error:
                    told = told_by(error)
                    tried.add(method.name)
                    refusal = refusal_of(error)
                    if refusal is not None and refusal.reason is Reason.RESOURCE_NOT_FOUND:
                        # What was asked for by its id is named: a predicate's id is its key.
                        told = told.replace(refusal.metadata["resource_id"], "")
                    if words_of(told, watched):
                        repeated[f"{method.name} {number}"] = told
    assert not repeated
    assert len(tried) > len(METHODS) // 2


def statement(subject: str, branch: str, text: str, **more: Any) -> dict[str, Any]:
    """A submission that says where something deploys from, with a canary wherever words may stand."""
    return {
        "idempotency_key": uuid.uuid4().hex,
        "metadata": {CANARY: CANARY},
        "evidence": [
            {
                "content": text,
                "source_type": "document",
                "source_group": f"{CANARY} group",
                "source_key": f"{CANARY} {uuid.uuid4().hex}",
                "source_revision": CANARY,
                "labels": [CANARY],
            }
        ],
        "proposal": {
            "entities": [
                {"ref": "env", "name": subject, "entity_kind": "environment", "identity_context": {CANARY: CANARY}},
                {"ref": "branch", "name": branch, "entity_kind": "git_branch", "aliases": [f"{CANARY} {branch}"]},
            ],
            "relationships": [
                {
                    "proposal_id": "p1",
                    "subject_ref": "env",
                    "predicate": "deploys_from",
                    "object_ref": "branch",
                    "polarity": "+",
                    "modality": "statement",
                    "comment": CANARY,
                    "scope": CANARY,
                    "evidence": [{"quote": text}],
                    **more,
                }
            ],
        },
    }


async def tell(watched: Watched) -> None:
    """A story in which everything goes well: what is remembered, found, decided, taken back and erased is a canary."""
    fresh = uuid.uuid4().hex
    env = f"{CANARY} {fresh[:6]}"
    definition = {"key": "deploys_from", "aliases": ["deploys from"], "relationship_kind": "state"}
    definition["current_cardinality"] = "one"
    known = await watched.call("RecallService/ListPredicates", {})
    if not known["predicates"]:
        await watched.call("AdminService/RegisterPredicate", {"idempotency_key": fresh, "definition": definition})
    profile = await watched.call(
        "AdminService/CreateProfile", {"idempotency_key": f"{fresh} p", "name": f"{env} profile"}
    )
    who = {"idempotency_key": f"{fresh} k", "profile_id": profile["profile"]["profile_id"], "label": CANARY}
    other = (await watched.call("AdminService/CreateKey", {**who, "scopes": ["read", "write"]}))["secret"]
    source = {"source_group": f"{env} group", "authoritative_for": ["deploys_from"]}
    await watched.call("AdminService/RegisterSource", {"idempotency_key": f"{fresh} s", "definition": source})

    main = statement(env, f"{CANARY}main", f"{env} deploys from {CANARY}main")
    foreseen = {name: main[name] for name in ("evidence", "proposal", "metadata")}
    await watched.call("IngestService/PreflightRemember", foreseen)
    placed = await watched.call("IngestService/Remember", main)
    (row,) = placed["placement"]["relationships"]
    assert row["outcome"] == "inserted", row
    relationship_id = row["relationship"]["relationship_id"]
    streamed = statement(env, f"{CANARY}two", f"the log: {env} deploys from {CANARY}two")
    await watched.call("IngestService/RememberStream", {"submission": streamed})
    opposed = statement(env, f"{CANARY}three", f"{env} deploys from {CANARY}three")
    opened = await watched.call("IngestService/Remember", opposed, key=other)
    conflict = opened["placement"]["relationships"][0]["conflict"]
    for name in ("GetConflict", "ExplainConflict"):
        await watched.call(f"ConflictService/{name}", {"conflict_id": conflict["conflict_id"]})
    (item,) = (await watched.call("ConflictService/ListReviewItems", {}))["items"][-1:]
    decision = {"item_id": item["item_id"], "expected_version": item["version"], "reason": CANARY, "keep_both": {}}
    decided = await watched.call("ConflictService/ResolveConflict", {"idempotency_key": f"{fresh} 1", **decision})
    undo = {"decision_id": decided["decision"]["decision_id"], "reason": CANARY, "idempotency_key": f"{fresh} 2"}
    await watched.call("ConflictService/RevertResolution", undo)
    await watched.call("RecallService/Recall", {"query": f"{CANARY} deploys from"})
    await watched.call("RecallService/Trace", {"relationship_id": relationship_id, "include_evidence_content": True})
    entity_id = placed["placement"]["entities"][0]["entity"]["entity_id"]
    await watched.call("RecallService/Timeline", {"entity_id": entity_id})
    await watched.call("RecallService/SearchEntities", {"name": CANARY})
    await watched.call("RecallService/GetSourceHistory", {"source_group": f"{CANARY} group"})
    await watched.call("ConflictService/GetCompetingFacts", {"entity_id": entity_id})
    for name in ("RecallService/ListChanges", "ConflictService/WatchConflicts"):
        await watched.call(name, {"until_now": True} if "Watch" in name else {})
    forgotten = {"idempotency_key": f"{fresh} f", "reason": CANARY, "retract": {"relationship_id": relationship_id}}
    await watched.call("IngestService/Forget", forgotten)
    fragment_id = placed["placement"]["fragments"][0]["fragment_id"]
    erased = {"idempotency_key": f"{fresh} e", "fragment_id": fragment_id, "reason": CANARY}
    await watched.call("AdminService/EraseEvidence", erased)


@pytest.mark.promise("apart.words")
async def test_no_log_and_no_metric_holds_what_was_said(watched: Watched) -> None:
    for _ in range(examples(fast=1, full=50)):
        await tell(watched)
    said = watched.said()
    calls = sum(text.count('"event": "rpc"') for text in said.values())
    assert calls > len(METHODS)
    assert sum("corrigenda_rpc_calls_total{" in text for text in said.values()) == len(SERVICES)
    found = {place: words for place, text in said.items() if (words := words_of(text, watched))}
    assert not found
