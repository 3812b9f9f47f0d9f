"""Validation from descriptors: each declared bound at its limit and one beyond, and what no option needs to say."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import conflict_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2
from corrigenda.options.v1 import rules_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda_core.domain.errors import Reason
from corrigenda_core.rpc.validation import BREACHES_MAX, InvalidRequest, find_breaches, refuse_invalid
from corrigenda_core.testing.filled_messages import UUID, fill, filled, is_map, rules_of
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

FILES = [
    ingest_service_pb2.DESCRIPTOR,
    conflict_service_pb2.DESCRIPTOR,
    recall_service_pb2.DESCRIPTOR,
    admin_service_pb2.DESCRIPTOR,
]
REQUESTS: list[Descriptor] = [
    method.input_type for file in FILES for service in file.services_by_name.values() for method in service.methods
]


@pytest.mark.parametrize("descriptor", REQUESTS, ids=lambda descriptor: descriptor.name)
def test_a_filled_request_has_no_breach(descriptor: Descriptor) -> None:
    assert find_breaches(filled(descriptor)) == ()


# Bounds: every one that a descriptor declares, at its limit and one beyond it.


@dataclass(frozen=True)
class Bound:
    """One declared bound: where it is, how to reach its limit and to break it, and what the breach says."""

    path: str
    name: str
    allowed: str
    reason: Reason
    holder: Callable[[Any], Any]
    at_limit: Callable[[Any], None]
    beyond: Callable[[Any], None]


def bounds(descriptor: Descriptor, path: str, holder: Callable[[Any], Any]) -> Iterator[Bound]:
    """The bounds of a message type and of everything in it; ``holder`` finds the message in a request."""
    for field in descriptor.fields:
        own = f"{path}{field.name}"
        yield from own_bounds(field, own, holder)
        nested = field.message_type
        if nested is None or nested.full_name.startswith("google.protobuf.") or is_map(field):
            continue
        inner = own + "[0]" if field.is_repeated else own
        yield from bounds(nested, f"{inner}.", descend(holder, field))


def descend(holder: Callable[[Any], Any], field: FieldDescriptor) -> Callable[[Any], Any]:
    if field.is_repeated:
        return lambda request: getattr(holder(request), field.name)[0]
    return lambda request: getattr(holder(request), field.name)


def own_bounds(field: FieldDescriptor, path: str, holder: Callable[[Any], Any]) -> Iterator[Bound]:
    rules = rules_of(field)
    if field.is_repeated:
        yield from count_bounds(field, rules, path, holder)
        if is_map(field):
            yield from text_bounds(rules.keys, f"{path}.key", holder, put_key(field.name))
            yield from text_bounds(rules.items, f"{path}.value", holder, put_value(field.name))
        elif field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
            yield from text_bounds(rules.items, f"{path}[0]", holder, put_first(field.name))
    elif field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        yield from text_bounds(rules, path, holder, put(field.name))
    else:
        yield from number_bounds(rules, path, holder, put(field.name))


Put = Callable[[Any, Any], None]


def put(name: str) -> Put:
    return lambda message, value: setattr(message, name, value)


def put_first(name: str) -> Put:
    return lambda message, value: getattr(message, name).__setitem__(0, value)


def put_value(name: str) -> Put:
    return lambda message, value: getattr(message, name).__setitem__("key", value)


def put_key(name: str) -> Put:
    def replace(message: Any, value: Any) -> None:
        getattr(message, name).clear()
        getattr(message, name)[value] = "value"

    return replace


def setting(set_to: Put, value: Any) -> Callable[[Any], None]:
    return lambda message: set_to(message, value)


def text_bounds(rules: rules_pb2.FieldRules, path: str, holder: Callable[[Any], Any], set_to: Put) -> Iterator[Bound]:
    def bound(name: str, limit: int, reason: Reason, at: str, beyond: str) -> Bound:
        return Bound(path, name, str(limit), reason, holder, setting(set_to, at), setting(set_to, beyond))

    if rules.HasField("max_code_points"):
        limit, unit = rules.max_code_points, "a" if rules.pattern else "\U0001f600"
        yield bound("max_code_points", limit, Reason.TOO_LARGE, unit * limit, unit * (limit + 1))
    if rules.HasField("max_bytes"):
        limit = rules.max_bytes
        yield bound("max_bytes", limit, Reason.TOO_LARGE, "é" * (limit // 2), "é" * (limit // 2) + "a")
    if rules.HasField("min_code_points") and rules.min_code_points > 0:
        limit = rules.min_code_points
        yield bound("min_code_points", limit, Reason.INVALID_FIELD, "a" * limit, "a" * (limit - 1))


def number_bounds(rules: rules_pb2.FieldRules, path: str, holder: Callable[[Any], Any], set_to: Put) -> Iterator[Bound]:
    for name, step in (("minimum", -1), ("maximum", 1)):
        if rules.HasField(name):
            limit = int(getattr(rules, name))
            beyond = limit + step
            yield Bound(
                path, name, str(limit), Reason.INVALID_FIELD, holder, setting(set_to, limit), setting(set_to, beyond)
            )


def resize(items: Any, count: int) -> None:
    """Makes a list hold its first item ``count`` times, or a map hold ``count`` entries."""
    if hasattr(items, "update"):
        items.clear()
        items.update({f"key{index}": "value" for index in range(count)})
        return
    if not items:
        # A part of a choice that the filled request did not make.
        fill(items.add())
    first = copy.deepcopy(items[0])
    del items[:]
    items.extend([first] * count)


def count_bounds(
    field: FieldDescriptor, rules: rules_pb2.FieldRules, path: str, holder: Callable[[Any], Any]
) -> Iterator[Bound]:
    def count_of(count: int) -> Callable[[Any], None]:
        return lambda message: resize(getattr(message, field.name), count)

    if rules.HasField("max_items"):
        limit = rules.max_items
        yield Bound(path, "max_items", str(limit), Reason.TOO_MANY_ITEMS, holder, count_of(limit), count_of(limit + 1))
    if rules.HasField("min_items"):
        limit = rules.min_items
        yield Bound(path, "min_items", str(limit), Reason.INVALID_FIELD, holder, count_of(limit), count_of(limit - 1))


BOUNDS = [(descriptor, bound) for descriptor in REQUESTS for bound in bounds(descriptor, "", lambda request: request)]


BOUND_IDS = [f"{descriptor.name}.{bound.path} {bound.name}" for descriptor, bound in BOUNDS]


@pytest.mark.parametrize(("descriptor", "bound"), BOUNDS, ids=BOUND_IDS)
def test_a_bound_holds_at_its_limit_and_breaks_one_beyond(descriptor: Descriptor, bound: Bound) -> None:
    request = filled(descriptor)
    bound.at_limit(bound.holder(request))
    assert [breach for breach in find_breaches(request) if breach.field == bound.path] == []

    bound.beyond(bound.holder(request))
    [breach] = [breach for breach in find_breaches(request) if breach.field == bound.path]
    assert (breach.problem.bound, breach.problem.allowed) == (bound.name, bound.allowed)
    assert breach.problem.reason is bound.reason


def test_the_bounds_of_the_contract_are_declared() -> None:
    declared = {name: int(bound.allowed) for name, (_, bound) in zip(BOUND_IDS, BOUNDS, strict=True)}
    expected = {
        "RememberRequest.evidence max_items": 20,
        "RememberRequest.evidence[0].content max_bytes": 64 * 1024,
        "RememberRequest.evidence[0].labels max_items": 20,
        "RememberRequest.evidence[0].labels[0] max_code_points": 64,
        "RememberRequest.proposal.entities max_items": 100,
        "RememberRequest.proposal.entities[0].name max_code_points": 256,
        "RememberRequest.proposal.entities[0].aliases max_items": 20,
        "RememberRequest.proposal.relationships max_items": 200,
        "RememberRequest.proposal.relationships[0].scope max_code_points": 128,
        "RememberRequest.proposal.relationships[0].evidence max_items": 20,
        "RememberRequest.idempotency_key max_bytes": 128,
        "RecallRequest.query max_code_points": 512,
        "RecallRequest.limit maximum": 50,
    }
    assert {name: declared.get(name) for name in expected} == expected


# What needs no option.


def remember() -> Any:
    return filled(ingest_service_pb2.DESCRIPTOR.message_types_by_name["RememberRequest"])


def breach_of(request: Message) -> tuple[str, str]:
    [breach] = find_breaches(request)
    return breach.field, breach.problem.bound


def test_a_required_field_must_be_there() -> None:
    request = remember()
    request.idempotency_key = ""
    request.evidence[0].content = ""
    assert [(breach.field, breach.problem.bound) for breach in find_breaches(request)] == [
        ("idempotency_key", "required"),
        ("evidence[0].content", "required"),
    ]


def test_a_required_message_must_be_there() -> None:
    request = filled(admin_service_pb2.DESCRIPTOR.message_types_by_name["DriveClockRequest"])
    request.ClearField("time")
    assert breach_of(request) == ("time", "required")


@pytest.mark.parametrize("number", [0, 99, -1])
def test_an_enum_value_is_defined_and_not_unspecified(number: int) -> None:
    request = remember()
    request.proposal.relationships[0].polarity = number
    assert breach_of(request) == ("proposal.relationships[0].polarity", "enum")


def test_unspecified_stands_where_its_comment_gives_a_meaning() -> None:
    request = remember()
    request.evidence[0].authority = 0
    assert find_breaches(request) == ()
    request.evidence[0].authority = 99
    assert breach_of(request) == ("evidence[0].authority", "enum")


def test_no_text_has_a_nul() -> None:
    request = remember()
    request.evidence[0].content = "a\x00b"
    assert breach_of(request) == ("evidence[0].content", "nul")


@pytest.mark.parametrize("text", [UUID.upper(), UUID[:-1], f"{UUID}\n", f"urn:uuid:{UUID}", "0" * 36])
def test_an_id_is_a_uuid_in_canonical_form(text: str) -> None:
    request = remember()
    request.proposal.entities[0].known_entity_id = text
    assert breach_of(request) == ("proposal.entities[0].known_entity_id", "uuid")


def test_a_pattern_matches_the_whole_text() -> None:
    request = filled(admin_service_pb2.DESCRIPTOR.message_types_by_name["RegisterPredicateRequest"])
    request.definition.key = "deploys from"
    assert breach_of(request) == ("definition.key", "pattern")


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_is_finite(number: float) -> None:
    request = remember()
    request.evidence[0].confidence = number
    assert breach_of(request) == ("evidence[0].confidence", "finite")


@pytest.mark.parametrize(
    ("seconds", "nanos", "bound"),
    [
        pytest.param(-62_135_596_800, 0, None, id="first instant"),
        pytest.param(253_402_300_799, 999_999_000, None, id="last instant"),
        pytest.param(-62_135_596_801, 0, "years", id="year 0"),
        pytest.param(253_402_300_800, 0, "years", id="year 10000"),
        pytest.param(0, 1, "nanos", id="a nanosecond would be lost"),
        pytest.param(0, -1000, "nanos", id="negative"),
        pytest.param(0, 1_000_000_000, "nanos", id="a second"),
    ],
)
def test_a_timestamp_is_an_instant_of_the_domain(seconds: int, nanos: int, bound: str | None) -> None:
    request = remember()
    request.evidence[0].occurred_at.seconds = seconds
    request.evidence[0].occurred_at.nanos = nanos
    assert [breach.problem.bound for breach in find_breaches(request)] == ([bound] if bound else [])


def test_a_field_that_the_server_does_not_know_is_refused_wherever_it_is() -> None:
    request = remember()
    request.proposal.entities[0].MergeFromString(b"\xf8\x07\x01")
    assert breach_of(request) == ("proposal.entities[0].#127", "unknown_field")


# Rules between fields.


def citation(**fields: Any) -> Any:
    request = remember()
    evidence = request.proposal.relationships[0].evidence[0]
    evidence.Clear()
    for name, value in fields.items():
        setattr(evidence, name, value)
    return request


@pytest.mark.parametrize(
    ("fields", "bounds"),
    [
        pytest.param({"start": 0, "end": 5}, [], id="offsets"),
        pytest.param({"quote": "main"}, [], id="quote"),
        pytest.param({}, ["exactly_one"], id="neither"),
        pytest.param({"start": 0, "end": 5, "quote": "main"}, ["exactly_one"], id="both"),
        pytest.param({"start": 0}, ["required_together"], id="half"),
        pytest.param({"end": 5, "quote": "main"}, ["required_together"], id="half and quote"),
    ],
)
def test_a_citation_is_by_offsets_or_by_quote(fields: dict[str, Any], bounds: list[str]) -> None:
    assert [breach.problem.bound for breach in find_breaches(citation(**fields))] == bounds


def test_an_object_is_an_entity_or_a_value() -> None:
    request = remember()
    request.proposal.relationships[0].ClearField("object")
    assert breach_of(request) == ("proposal.relationships[0].object_ref", "exactly_one")


# The answer as a whole.


def test_a_hostile_request_gets_a_bounded_answer() -> None:
    request = remember()
    for _ in range(100):
        request.proposal.relationships.add()
    assert len(find_breaches(request)) == BREACHES_MAX


def test_a_refusal_names_the_first_breach_and_holds_nothing_of_the_request() -> None:
    request = remember()
    request.evidence[0].content = "secret" * 20_000
    with pytest.raises(InvalidRequest) as caught:
        refuse_invalid(request)
    refusal = caught.value
    assert (refusal.reason, refusal.field) == (Reason.TOO_LARGE, "evidence[0].content")
    assert refusal.metadata == {"bound": "max_bytes", "offered": "120000", "allowed": "65536"}
    assert "secret" not in f"{refusal} {refusal.breaches}"
