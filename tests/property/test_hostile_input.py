"""What comes over the wire and is anything at all: JSON, bytes, tokens, keys, addresses. It is read or refused."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from corrigenda.conflict.v1 import conflict_service_pb2
from corrigenda_core.domain.actors import Caller, KeyScope
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import EntityId, KeyId, PredicateKey, ProfileId, ProposalId, TeamId
from corrigenda_core.domain.time import TextSpan
from corrigenda_core.domain.verification import CitedSpan, VerificationVerdict
from corrigenda_core.ports.providers import (
    EvidenceText,
    Finding,
    MentionedEntity,
    PredicateWords,
    ProposalToVerify,
    VerificationRequest,
    VerifierAnswer,
)
from corrigenda_core.rpc.json_mapping import fill_from_json, to_json
from corrigenda_core.rpc.page_tokens import PageTokens
from corrigenda_core.rpc.sealed_tokens import TokenSeal
from corrigenda_core.rpc.validation import BREACHES_MAX, InvalidRequest, find_breaches, refuse_invalid
from corrigenda_core.rpc.wire_methods import wire_methods
from corrigenda_core.security.keys import key_text, parse_key
from corrigenda_core.testing.filled_messages import filled
from corrigenda_core.testing.hostile_input import (
    ALWAYS_WRONG,
    SHARES,
    any_json,
    any_text,
    damaged,
    inputs,
    one_thing_wrong,
)
from corrigenda_gateway.resources import resource_call
from corrigenda_gateway.server import bearer_of
from corrigenda_gateway.tools import agent_tools
from corrigenda_ingest.impact_tokens import Impact, ImpactTokens
from corrigenda_ingest.verification_tokens import VerificationTokens
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

REQUESTS = [method.descriptor.input_type for method in wire_methods()]
VALID = {descriptor.full_name: to_json(filled(descriptor)) for descriptor in REQUESTS}
BYTES = {descriptor.full_name: filled(descriptor).SerializeToString(deterministic=True) for descriptor in REQUESTS}
TOOLS = agent_tools()
SCHEMAS = {name: Draft202012Validator(tool.told.input_schema) for name, tool in TOOLS.items()}

SECRET, OTHER_SECRET = bytes(range(32)), bytes(32)
NOW = datetime(2026, 6, 1, tzinfo=UTC)
CALLER = Caller(team_id=TeamId("t1"), profile_id=ProfileId("p1"), key_id=KeyId("k1"), scopes=frozenset({KeyScope.READ}))
STRANGERS = [replace(CALLER, team_id=TeamId("t2")), replace(CALLER, profile_id=ProfileId("p2"))]


@pytest.mark.promise("Q18")
def test_the_full_tier_tries_two_hundred_thousand_inputs() -> None:
    assert sum(SHARES.values()) == 200_000


def read(message: Any, said: Any) -> bool:
    """Whether JSON is taken for a request; else its refusal is one that can be told to anybody."""
    refused = refusal_of(message, said)
    if refused is None:
        return True
    # It can be written, and it does not grow with what was offered.
    told = json.dumps([refused.message, refused.field, dict(refused.metadata)], ensure_ascii=False)
    assert len(told.encode()) < 10_000
    assert not isinstance(refused, InvalidRequest) or len(refused.breaches) <= BREACHES_MAX
    return False


def refusal_of(message: Any, said: Any) -> Refusal | None:
    try:
        fill_from_json(message, said)
        refuse_invalid(message)
    except Refusal as refusal:
        return refusal
    return None


@pytest.mark.promise("answer.hostile", "Q18")
@inputs("json of any shape")
@given(descriptor=st.sampled_from(REQUESTS), said=any_json)
def test_json_of_any_shape_is_read_or_refused(descriptor: Any, said: Any) -> None:
    read(GetMessageClass(descriptor)(), said)


@inputs("json with one thing wrong")
@given(descriptor=st.sampled_from(REQUESTS), data=st.data())
def test_json_with_one_thing_wrong_is_read_or_refused(descriptor: Any, data: st.DataObject) -> None:
    message = GetMessageClass(descriptor)()
    if read(message, data.draw(one_thing_wrong(VALID[descriptor.full_name]))):
        again = GetMessageClass(descriptor)()
        fill_from_json(again, to_json(message))
        assert again == message


def places(said: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of everything in some JSON."""
    if path:
        yield path
    for key, one in said.items() if isinstance(said, dict) else enumerate(said) if isinstance(said, list) else ():
        yield from places(one, (*path, key))


def test_every_field_reads_or_refuses_each_thing_that_is_always_wrong() -> None:
    tried = set()
    for descriptor in REQUESTS:
        for path in places(VALID[descriptor.full_name]):
            # A field of a message that many requests hold is tried in the first of them.
            field = path[-2:] if len(path) > 1 else (descriptor.name, *path)
            if field in tried:
                continue
            tried.add(field)
            for wrong in ALWAYS_WRONG:
                said = copy.deepcopy(VALID[descriptor.full_name])
                holder = said
                for key in path[:-1]:
                    holder = holder[key]
                holder[path[-1]] = wrong
                read(GetMessageClass(descriptor)(), said)
    assert len(tried) > 100


def without_nothing(said: Any) -> Any:
    """JSON without what says no more than an absent field: null, and the empty text."""
    if isinstance(said, dict):
        return {name: without_nothing(one) for name, one in said.items() if one not in (None, "")}
    return [without_nothing(one) for one in said] if isinstance(said, list) else said


@inputs("schemas of tools")
@given(name=st.sampled_from(sorted(TOOLS)), data=st.data())
def test_what_the_server_takes_the_schema_of_a_tool_takes(name: str, data: st.DataObject) -> None:
    """The server takes two things more than a schema says: a null and an empty text, which it reads as absent.

    The other way a schema takes more: it has no words for bytes, NUL, real instants and the root's own choices.
    """
    method = TOOLS[name].method
    said = data.draw(one_thing_wrong(VALID[method.descriptor.input_type.full_name]))
    if isinstance(said, dict) and read(method.new_request(), said):
        assert not list(SCHEMAS[name].iter_errors(without_nothing(said)))


@inputs("bytes of a message")
@given(descriptor=st.sampled_from(REQUESTS), data=st.data())
def test_bytes_are_parsed_or_refused_and_what_is_parsed_is_looked_at(descriptor: Any, data: st.DataObject) -> None:
    valid = BYTES[descriptor.full_name]
    sent = data.draw(st.one_of(damaged(valid), damaged(valid).flatmap(damaged), st.binary(max_size=64)))
    message = GetMessageClass(descriptor)()
    try:
        message.ParseFromString(sent)
    except DecodeError:
        return
    assert len(find_breaches(message)) <= BREACHES_MAX
    to_json(message)


@pytest.mark.parametrize("text", [b"\xed\xa0\x80", b"\xff", b"\xc0\x80", b"\xf4\x90\x80\x80"])
def test_no_text_of_the_wire_has_a_surrogate_or_is_no_utf8(text: bytes) -> None:
    message = GetMessageClass(next(one for one in REQUESTS if one.name == "RecallRequest"))()
    number = message.DESCRIPTOR.fields_by_name["query"].number
    with pytest.raises(DecodeError):
        message.ParseFromString(bytes([number << 3 | 2, len(text)]) + text)


# Tokens: whatever was not issued for this very caller and request opens nothing.


def listing(**fields: Any) -> Any:
    return conflict_service_pb2.ListConflictsRequest(predicate="deploys_from", **fields)


wire_text = st.text(max_size=80)


def other_tokens(token: str) -> st.SearchStrategy[str]:
    """Texts that decode to other bytes than a token does, and such as decode to none."""
    sealed = base64.urlsafe_b64decode(token)
    return st.one_of(
        wire_text,
        damaged(sealed)
        .filter(lambda other: other != sealed)
        .map(lambda other: base64.urlsafe_b64encode(other).decode()),
        st.integers(0, len(token) - 5).map(lambda length: token[:length]),
        st.integers(0, len(token)).flatmap(lambda at: wire_text.filter(bool).map(lambda part: token[:at] + part)),
    ).filter(lambda other: decoded(other) != sealed)


def decoded(token: str) -> bytes | None:
    try:
        return base64.b64decode(token.encode(), altchars=b"-_", validate=True)
    except ValueError:
        return None


PAGES = PageTokens(SECRET)
PAGE_TOKEN = PAGES.next_token(listing(), CALLER, after=("2026-03-01", "id"), revision=12)


@inputs("page tokens")
@given(token=other_tokens(PAGE_TOKEN).filter(bool))
def test_no_other_text_is_a_page_token(token: str) -> None:
    with pytest.raises(Refusal) as refused:
        PAGES.page_of(listing(page_token=token), CALLER)
    assert refused.value.reason is Reason.PAGE_TOKEN_MISMATCH


SEAL = TokenSeal(SECRET, purpose="impact")


@inputs("sealed tokens")
@given(body=st.binary(max_size=64), data=st.data())
def test_a_sealed_token_opens_for_its_caller_purpose_and_key_alone(body: bytes, data: st.DataObject) -> None:
    token = SEAL.sealed(body, CALLER)
    assert SEAL.opened(token, CALLER) == body
    assert SEAL.opened(data.draw(other_tokens(token)), CALLER) is None
    assert SEAL.opened(token, data.draw(st.sampled_from(STRANGERS))) is None
    assert TokenSeal(SECRET, purpose="verification").opened(token, CALLER) is None
    assert TokenSeal(OTHER_SECRET, purpose="impact").opened(token, CALLER) is None


IMPACTS = ImpactTokens(SECRET, now=lambda: NOW)
IMPACT_TOKEN, _ = IMPACTS.issued(CALLER, Impact(digest="d", entity_id=EntityId("e")))


@inputs("impact tokens")
@given(token=other_tokens(IMPACT_TOKEN))
def test_no_other_text_is_an_impact_token(token: str) -> None:
    with pytest.raises(Refusal) as refused:
        IMPACTS.impact_of(token, CALLER)
    assert refused.value.reason is Reason.INVALID_FIELD


ASKED = VerificationRequest(
    evidence=(EvidenceText(content="production deploys from main"),),
    proposals=(
        ProposalToVerify(
            proposal_id=ProposalId("p"),
            subject=MentionedEntity(names=("production",)),
            predicate=PredicateWords(key=PredicateKey("deploys_from")),
            object=MentionedEntity(names=("main",)),
            cited=(CitedSpan(evidence_index=0, span=TextSpan(start=0, end=28)),),
        ),
    ),
)
VERIFICATIONS = VerificationTokens(SECRET, now=lambda: NOW)
FINDING = Finding(proposal_id=ProposalId("p"), verdict=VerificationVerdict.ENTAILED, reason="it says so")
ISSUED = VERIFICATIONS.issued(CALLER, ASKED, VerifierAnswer(verifier="v", findings=(FINDING,)))
assert ISSUED is not None
VERIFICATION_TOKEN = ISSUED.token


@inputs("verification tokens")
@given(token=other_tokens(VERIFICATION_TOKEN), text=any_text.filter(lambda text: text != ASKED.evidence[0].content))
def test_no_other_text_is_a_verification_token_and_no_other_request_its_own(token: str, text: str) -> None:
    with pytest.raises(Refusal) as refused:
        VERIFICATIONS.answer_of(token, CALLER, ASKED)
    assert refused.value.reason is Reason.INVALID_FIELD
    other = replace(ASKED, evidence=(EvidenceText(content=text),))
    assert VERIFICATIONS.answer_of(VERIFICATION_TOKEN, CALLER, other) is None
    assert VERIFICATIONS.answer_of(VERIFICATION_TOKEN, CALLER, ASKED) is not None


KEY_ID = KeyId("0190a6e2-0000-7000-8000-000000000001")


@inputs("keys")
@given(secret=st.binary(min_size=32, max_size=32), data=st.data())
def test_only_a_key_as_it_was_shown_is_a_key(secret: bytes, data: st.DataObject) -> None:
    key = key_text(KEY_ID, secret)
    assert (parse_key(key).key_id, parse_key(key).secret) == (KEY_ID, secret)
    changed = damaged(key.encode()).map(lambda other: other.decode("latin-1"))
    other = data.draw(st.one_of(any_text, changed, st.just(key.upper()), st.just(f"{key}\n")))
    if other != key:
        with pytest.raises(Refusal) as refused:
            parse_key(other)
        assert refused.value.reason is Reason.CREDENTIAL_INVALID


@inputs("headers and addresses")
@given(text=any_text | any_text.map(lambda text: f"Bearer {text}") | any_text.map(lambda end: f"corrigenda://{end}"))
def test_a_header_and_an_address_are_understood_or_nothing(text: str) -> None:
    assert bearer_of(text) in text
    call = resource_call(text)
    assert call is None or call.tool in TOOLS
