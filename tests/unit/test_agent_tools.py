"""The tools that agents see: one for each method that is offered, with schemas that say what the server enforces."""

import json
from typing import Any

import pytest
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.rpc.json_mapping import fill_from_json
from corrigenda_core.rpc.refusal_text import next_action
from corrigenda_core.rpc.validation import find_breaches
from corrigenda_gateway.failures import failed
from corrigenda_gateway.resources import resource_call
from corrigenda_gateway.tools import AgentTool, agent_tools
from jsonschema import Draft202012Validator

TOOLS = agent_tools()
EVERY_TOOL = pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
ID = "0190a6e2-0000-7000-8000-000000000001"


def remember(**relationship: Any) -> dict[str, Any]:
    """A request that Remember takes, with one relationship changed."""
    entity = {"ref": "e", "name": "production", "entity_kind": "environment"}
    whole = {
        "proposal_id": "p",
        "subject_ref": "e",
        "predicate": "deploys_from",
        "object_ref": "e",
        "polarity": "+",
        "modality": "statement",
        "evidence": [{"start": 0, "end": 4}],
        **relationship,
    }
    return {
        "idempotency_key": "k",
        "evidence": [{"content": "text", "source_type": "manual"}],
        "proposal": {
            "entities": [entity],
            "relationships": [{name: value for name, value in whole.items() if value is not None}],
        },
    }


@EVERY_TOOL
def test_a_tool_is_described_and_its_schemas_are_schemas(tool: AgentTool) -> None:
    told = tool.told
    assert told.description
    assert "Reasons:" not in told.description
    Draft202012Validator.check_schema(told.input_schema)
    Draft202012Validator.check_schema(told.output_schema or {})
    assert told.input_schema["additionalProperties"] is False
    assert "$ref" not in json.dumps(told.input_schema)
    assert not {"oneOf", "anyOf", "allOf", "not"} & set(told.input_schema)


def closed(schema: Any) -> bool:
    """Whether every object in a schema says what else it may hold."""
    if isinstance(schema, list):
        return all(closed(one) for one in schema)
    if not isinstance(schema, dict):
        return True
    says = schema.get("type") != "object" or "additionalProperties" in schema
    return says and all(closed(one) for one in schema.values())


@EVERY_TOOL
def test_the_schema_of_a_request_is_closed_at_every_depth(tool: AgentTool) -> None:
    assert closed(tool.told.input_schema)


@pytest.mark.parametrize(
    ("tool", "given", "good"),
    [
        ("remember", remember(), True),
        ("remember", remember(polarity="-"), True),
        ("remember", remember(polarity="plus"), False),
        ("remember", remember(polarity=None), False),
        ("remember", remember(object_value={"type": "text", "text": "x"}), False),
        ("remember", remember(object_ref=None, object_value={"type": "text", "text": "x"}), True),
        ("remember", remember(object_ref=None), False),
        ("remember", remember(evidence=[]), False),
        ("remember", remember(evidence=[{"start": 0}]), False),
        ("remember", remember(evidence=[{"quote": "text"}]), True),
        ("remember", remember(evidence=[{"quote": "text", "start": 0, "end": 4}]), False),
        ("remember", remember(scope="s" * 128), True),
        ("remember", remember(scope="s" * 129), False),
        ("remember", remember(unheard_of=1), False),
        ("trace_memory", {"relationship_id": ID}, True),
        ("trace_memory", {"relationship_id": "r_1"}, False),
        ("trace_memory", {"relationship_id": ID, "max_depth": 11}, False),
        ("trace_memory", {}, False),
        ("recall_memory", {"query": ""}, False),
        ("recall_memory", {"query": "x", "limit": 50}, True),
        ("recall_memory", {"query": "x", "limit": 51}, False),
        ("recall_memory", {"query": "x", "temporal": {"valid_at": "2026-03-01T00:00:00Z", "revision": 7}}, True),
        (
            "recall_memory",
            {"query": "x", "temporal": {"known_at": "2026-03-01T00:00:00Z", "revision": 7}},
            False,
        ),
    ],
)
def test_the_schema_takes_what_the_server_takes(tool: str, given: dict[str, Any], good: bool) -> None:
    schema_takes = Draft202012Validator(TOOLS[tool].told.input_schema).is_valid(given)
    request = TOOLS[tool].method.new_request()
    try:
        fill_from_json(request, given)
        server_takes = find_breaches(request) == ()
    except Refusal:
        server_takes = False
    assert (schema_takes, server_takes) == (good, good)


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_says_what_to_do_next(reason: Reason) -> None:
    said = next_action(reason)
    assert said.endswith(".")
    assert not said.startswith(("INVALID_ARGUMENT", "FAILED_PRECONDITION"))


def test_a_failure_says_reason_place_and_what_to_do() -> None:
    refusal = Refusal(Reason.QUOTE_NOT_FOUND, "no such quote", field="f", metadata={"count": "0"})
    result = failed(refusal)
    assert result.is_error
    assert result.structured_content["error"] == {
        "reason": "QUOTE_NOT_FOUND",
        "code": "INVALID_ARGUMENT",
        "message": "no such quote",
        "next_action": next_action(Reason.QUOTE_NOT_FOUND),
        "field": "f",
        "metadata": {"count": "0"},
    }


@pytest.mark.parametrize(
    ("uri", "tool"),
    [
        ("corrigenda://conflicts", "list_conflicts"),
        (f"corrigenda://conflicts/{ID}", "get_conflict"),
        (f"corrigenda://relationships/{ID}/trace", "trace_memory"),
        ("corrigenda://conflicts/", None),
        (f"corrigenda://conflicts/{ID}/..", None),
        (f"corrigenda://relationships/{ID}", None),
        ("file:///etc/passwd", None),
    ],
)
def test_a_resource_is_a_read_that_some_tool_makes(uri: str, tool: str | None) -> None:
    call = resource_call(uri)
    assert (call and call.tool) == tool
    if call is not None:
        request = TOOLS[call.tool].method.new_request()
        fill_from_json(request, call.arguments)
        assert find_breaches(request) == ()


@pytest.mark.parametrize("given", [{"query": "\ud800"}, {"limit": "\ud800"}, {"\ud800": 1}])
def test_a_refusal_can_be_sent_whatever_was_refused(given: dict[str, Any]) -> None:
    with pytest.raises(Refusal) as refused:
        fill_from_json(TOOLS["recall_memory"].method.new_request(), given)
    assert refused.value.reason is Reason.INVALID_FIELD
    assert failed(refused.value).model_dump_json()
