"""What every proto must keep to, read from the descriptors: bounds, rights, idempotency, revisions, reasons, tools."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import conflict_service_pb2
from corrigenda.errors.v1 import error_reason_pb2
from corrigenda.ingest.v1 import ingest_service_pb2
from corrigenda.options.v1 import options_pb2, rules_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda_core.domain.errors import Reason
from corrigenda_core.policy.authorization import RIGHTS
from corrigenda_core.rpc.methods import access_of
from corrigenda_core.rpc.status import CODES
from corrigenda_core.rpc.validation import find_breaches
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.json_format import Parse

ROOT = Path(__file__).resolve().parents[2]
FILES = [
    ingest_service_pb2.DESCRIPTOR,
    conflict_service_pb2.DESCRIPTOR,
    recall_service_pb2.DESCRIPTOR,
    admin_service_pb2.DESCRIPTOR,
]
METHODS: list[MethodDescriptor] = [
    method for file in FILES for service in file.services_by_name.values() for method in service.methods
]
EVERY_METHOD = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.full_name)


def fields_below(message: Descriptor, path: str) -> Iterator[tuple[str, FieldDescriptor]]:
    """Every field that a request can hold, with its path."""
    for field in message.fields:
        yield f"{path}.{field.name}", field
        nested = field.message_type
        if nested is not None and not nested.full_name.startswith("google.protobuf.") and not is_map(field):
            yield from fields_below(nested, f"{path}.{field.name}")


def is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


REQUEST_FIELDS = [pair for method in METHODS for pair in fields_below(method.input_type, method.input_type.name)]


def rules_of(field: FieldDescriptor) -> rules_pb2.FieldRules:
    return field.GetOptions().Extensions[rules_pb2.rules]


def has_length_bound(rules: rules_pb2.FieldRules) -> bool:
    return rules.uuid or rules.HasField("max_code_points") or rules.HasField("max_bytes")


def has_bound(field: FieldDescriptor) -> bool:
    """Whether nothing in the field can be longer than the protos say."""
    rules = rules_of(field)
    is_text = field.cpp_type == FieldDescriptor.CPPTYPE_STRING
    if is_map(field):
        return rules.HasField("max_items") and has_length_bound(rules.keys) and has_length_bound(rules.items)
    if field.is_repeated:
        return rules.HasField("max_items") and (not is_text or has_length_bound(rules.items))
    return not is_text or has_length_bound(rules)


@pytest.mark.parametrize(("path", "field"), REQUEST_FIELDS, ids=[path for path, _ in REQUEST_FIELDS])
def test_every_text_list_and_map_of_a_request_has_a_bound(path: str, field: FieldDescriptor) -> None:
    assert has_bound(field), f"{path} has no bound"


@pytest.mark.parametrize(("path", "field"), REQUEST_FIELDS, ids=[path for path, _ in REQUEST_FIELDS])
def test_rules_fit_the_type_of_their_field(path: str, field: FieldDescriptor) -> None:
    rules = rules_of(field)
    is_number = field.enum_type is None and field.cpp_type not in {
        FieldDescriptor.CPPTYPE_STRING,
        FieldDescriptor.CPPTYPE_MESSAGE,
        FieldDescriptor.CPPTYPE_BOOL,
    }
    is_text = field.cpp_type == FieldDescriptor.CPPTYPE_STRING and not field.is_repeated
    allowed = {"required"} if not field.is_repeated else {"min_items", "max_items", "items"}
    allowed |= {"keys"} if is_map(field) else set()
    allowed |= {"minimum", "maximum"} if is_number and not field.is_repeated else set()
    allowed |= {"unspecified_allowed"} if field.enum_type is not None else set()
    if is_text:
        allowed |= {"min_code_points", "max_code_points", "min_bytes", "max_bytes", "pattern", "uuid"}
    used = {option.name for option, _ in rules.ListFields()}
    assert used <= allowed, f"{path}: nothing would enforce {used - allowed}"


@EVERY_METHOD
def test_rights_of_a_method_are_those_of_the_table(method: MethodDescriptor) -> None:
    declared = access_of(method)
    rights = [
        right for right in RIGHTS.values() if right.verb.method == f"{method.containing_service.name}/{method.name}"
    ]
    assert rights, f"{method.full_name} is not in the table of rights"
    assert declared.any_of == frozenset().union(*(right.any_of for right in rights))


def submitted_by(method: MethodDescriptor) -> Descriptor:
    """What a call submits: its request, or what each message of a stream has inside."""
    nested = method.input_type.fields_by_name.get("submission") if method.client_streaming else None
    return method.input_type if nested is None else nested.message_type


@EVERY_METHOD
def test_a_method_has_an_idempotency_key_exactly_if_it_mutates(method: MethodDescriptor) -> None:
    key = submitted_by(method).fields_by_name.get("idempotency_key")
    assert access_of(method).mutates is (key is not None)
    if key is not None:
        rules = rules_of(key)
        assert (rules.required, rules.max_bytes) == (True, 128)


@EVERY_METHOD
def test_every_answer_carries_a_revision_and_every_read_can_ask_for_one(method: MethodDescriptor) -> None:
    revision = method.output_type.fields_by_name["revision"]
    assert revision.type == FieldDescriptor.TYPE_INT64
    assert access_of(method).mutates or "min_revision" in method.input_type.fields_by_name


@EVERY_METHOD
def test_lists_are_paged(method: MethodDescriptor) -> None:
    names = {"page_size", "page_token"} & set(method.input_type.fields_by_name)
    assert names in (set(), {"page_size", "page_token"})
    # A stream is no page: its reader takes it up again where it ended.
    assert (method.name.startswith("List") and not method.server_streaming) <= bool(names)
    assert bool(names) == ("next_page_token" in method.output_type.fields_by_name)


@pytest.mark.promise("answer.cut")
def test_every_truncated_list_of_an_answer_has_a_total() -> None:
    for method in METHODS:
        for path, field in fields_below(method.output_type, method.output_type.name):
            if field.name.endswith("_truncated"):
                stem = field.name.removesuffix("_truncated")
                assert f"{stem}_total" in field.containing_type.fields_by_name, path


def test_tools_are_those_of_the_contract() -> None:
    tools = {
        method.name: method.GetOptions().Extensions[options_pb2.mcp_tool].name
        for method in METHODS
        if method.GetOptions().HasExtension(options_pb2.mcp_tool)
    }
    assert tools == {
        "Remember": "remember",
        "PreflightRemember": "detect_contradiction",
        "GetPlacement": "get_memory_placement",
        "AdoptEvidence": "adopt_evidence",
        "ResolvePlacement": "resolve_memory_placement",
        "CorrectEntityResolution": "correct_entity_resolution",
        "ListConflicts": "list_conflicts",
        "GetConflict": "get_conflict",
        "ExplainConflict": "explain_conflict",
        "GetCompetingFacts": "get_competing_facts",
        "ResolveConflict": "resolve_conflict",
        "RevertResolution": "revert_resolution",
        "AutoResolve": "auto_resolve_conflicts",
        "Forget": "forget",
        "ListReviewItems": "list_review_items",
        "Recall": "recall_memory",
        "Trace": "trace_memory",
        "Timeline": "get_entity_timeline",
        "SearchEntities": "search_entities",
        "ListPredicates": "list_predicates",
        "GetSourceHistory": "get_source_history",
    }


@EVERY_METHOD
def test_a_tool_is_read_only_exactly_if_its_method_does_not_mutate(method: MethodDescriptor) -> None:
    if method.GetOptions().HasExtension(options_pb2.mcp_tool):
        assert method.GetOptions().Extensions[options_pb2.mcp_tool].read_only is not access_of(method).mutates


def test_the_reasons_of_the_wire_are_those_of_the_domain_and_each_has_a_code() -> None:
    names = {name.removeprefix("ERROR_REASON_") for name in error_reason_pb2.ErrorReason.keys()}  # noqa: SIM118 - no mapping
    assert names - {"UNSPECIFIED"} == set(Reason.__members__) == {reason.name for reason in CODES}


def test_the_code_of_a_reason_is_the_one_its_comment_names() -> None:
    text = (ROOT / "protos/corrigenda/errors/v1/error_reason.proto").read_text()
    comments = re.findall(r"// ([A-Z_]+)\. (?:(?!ERROR_REASON)[\s\S])*?\n  ERROR_REASON_(\w+) = [1-9]", text)
    assert {name: code for code, name in comments} == {reason.name: code.name for reason, code in CODES.items()}


def test_reasons_named_in_the_comments_of_methods_exist() -> None:
    for file in sorted((ROOT / "protos").rglob("*_service.proto")):
        for block in re.findall(r"// Reasons: ((?:.*\n  //)*.*)\n", file.read_text()):
            named = set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b|\bOVERLOADED\b", block))
            assert named, file
            assert named <= set(Reason.__members__), file


def test_the_trace_request_of_the_contract_is_understood_as_it_stands() -> None:
    text = """{"relationship_id": "0190a6e2-0000-7000-8000-000000000001", "include_evidence_content": true,
               "include_verification": true, "include_transitions": true, "max_depth": 1, "max_edges": 12}"""
    request = Parse(text, recall_service_pb2.TraceRequest())
    assert find_breaches(request) == ()
    assert (request.max_depth, request.max_edges) == (1, 12)


def test_the_proposal_of_the_contract_is_understood_as_it_stands() -> None:
    text = """{
      "evidence": [{"content": "The user confirmed that production now deploys from release.",
                    "source_type": "SOURCE_TYPE_MANUAL", "authority": "AUTHORITY_AUTHORITATIVE",
                    "source_group": "user-resolution:ing_2"}],
      "proposal": {
        "entities": [{"ref": "production", "name": "production", "entity_kind": "environment",
                      "identity_context": {"system": "Dense-Mem"}},
                     {"ref": "release", "name": "release", "entity_kind": "git_branch",
                      "identity_context": {"repository": "Dense-Mem"}}],
        "relationships": [{"proposal_id": "p1", "subject_ref": "production", "predicate": "deploys_from",
                           "object_ref": "release", "polarity": "POLARITY_POSITIVE", "modality": "MODALITY_STATEMENT",
                           "evidence": [{"evidence_index": 0, "start": 0, "end": 60}]}]},
      "idempotency_key": "deployment-correction-1"}"""
    assert find_breaches(Parse(text, ingest_service_pb2.RememberRequest())) == ()


def buf(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("buf", path=str(Path(sys.executable).parent))
    assert program is not None
    return subprocess.run([program, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def test_every_element_is_commented_and_linted_without_exception() -> None:
    assert buf("lint").stdout == ""
    assert not [file for file in (ROOT / "protos").rglob("*.proto") if "buf:lint:ignore" in file.read_text()]
    configuration = (ROOT / "buf.yaml").read_text()
    assert "- STANDARD" in configuration
    assert "- COMMENTS" in configuration
    assert "except" not in configuration
    assert "ignore:" not in configuration


def test_the_protos_are_formatted() -> None:
    assert buf("format", "--diff").stdout == ""
