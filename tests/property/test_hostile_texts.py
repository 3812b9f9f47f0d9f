"""Texts, times, snapshots and answers of models that are anything at all: read, refused or left, in bounded work."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC
from typing import Any, cast
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from corrigenda_core.domain.errors import Refusal
from corrigenda_core.domain.ids import ItemId, PredicateKey, ProposalId, RelationshipId
from corrigenda_core.domain.judging import JudgedSide, JudgeQuestion
from corrigenda_core.domain.objects import Polarity, ValueType
from corrigenda_core.domain.predicates import Predicate
from corrigenda_core.domain.submissions import ProposedValue
from corrigenda_core.domain.time import TextSpan
from corrigenda_core.domain.verification import CitedSpan
from corrigenda_core.policy.date_words import decide_calendar_date, decide_named_time
from corrigenda_core.policy.instants import decide_instant
from corrigenda_core.policy.judging import decide_verdict
from corrigenda_core.policy.kept_text import is_kept_as_it_is
from corrigenda_core.policy.names import is_named_in
from corrigenda_core.policy.normalisation import (
    decide_content_hash,
    decide_name_form,
    decide_predicate_key,
    decide_scope_form,
    decide_text_form,
    decide_value,
)
from corrigenda_core.policy.scanning import MAX_FINDINGS_SHOWN, decide_scan
from corrigenda_core.policy.snapshot_codec import decode_snapshot, encode_snapshot
from corrigenda_core.policy.spans import OffsetCitation, QuoteCitation, decide_cited_span
from corrigenda_core.policy.time_words import decide_time_bounds
from corrigenda_core.ports.providers import (
    EvidenceText,
    ExtractionRequest,
    MentionedEntity,
    PredicateWords,
    ProposalToVerify,
    ProviderFailed,
    VerificationRequest,
)
from corrigenda_core.providers.extraction_validation import find_extraction_problems
from corrigenda_core.providers.extractor_local import LocalExtractor
from corrigenda_core.providers.remote.embedder import RemoteEmbedder
from corrigenda_core.providers.remote.endpoint import Endpoint
from corrigenda_core.providers.remote.extractor import RemoteExtractor
from corrigenda_core.providers.remote.judge import RemoteJudge
from corrigenda_core.providers.remote.verifier import RemoteVerifier
from corrigenda_core.providers.validation import find_problems
from corrigenda_core.providers.verifier_local import LocalVerifier
from corrigenda_core.testing.case_snapshots import Witness, case, day, member, midnight, plain, side
from corrigenda_core.testing.hostile_input import (
    any_json,
    any_text,
    calls_of,
    damaged,
    inputs,
    one_thing_wrong,
    result_of,
)
from hypothesis import given
from hypothesis import strategies as st

BERLIN = ZoneInfo("Europe/Berlin")


def refused_or(decide: Callable[[], object]) -> object:
    """What is decided, or ``None`` where it is refused; anything else fails the test."""
    try:
        return decide()
    except Refusal:
        return None


@inputs("citations")
@given(
    content=any_text, quote=any_text, start=st.integers(-(2**33), 2**33), end=st.integers(), index=st.integers(-1, 2)
)
def test_a_citation_lies_in_its_text_or_is_refused(content: str, quote: str, start: int, end: int, index: int) -> None:
    for citation in (
        OffsetCitation(evidence_index=index, start=start, end=end),
        OffsetCitation(evidence_index=0, start=start % 40, end=end % 41),
        QuoteCitation(evidence_index=index, quote=quote),
        QuoteCitation(evidence_index=0, quote=content[start % 40 : end % 41]),
    ):
        found = cast("CitedSpan | None", refused_or(lambda: decide_cited_span([content], citation, field="c")))  # noqa: B023
        assert found is None or (found.evidence_index == 0 and 0 <= found.span.start < found.span.end <= len(content))


TIMES = [
    "2026-03-01T09:30:00+01:00",
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59.999999-23:59",
    "Sunday, the 1st of March 2026 at 9:30 am UTC+14",
    "first quarter of 2026",
    "2026-03-29T02:30",
    "since 1 March 0001 until 31 December 9999, 24:00",
]
time_texts = st.one_of(
    any_text,
    st.sampled_from(TIMES).flatmap(lambda text: damaged(text.encode()).map(lambda found: found.decode("latin-1"))),
    st.lists(
        st.sampled_from([*" -:.TtZz+0129", "March", "2026", "at", "the", "until", "٣", "\u3000"]), max_size=14
    ).map("".join),
)


@inputs("times")
@given(text=time_texts, at=st.integers(0, 12))
def test_a_text_names_times_or_none(text: str, at: int) -> None:
    refused_or(lambda: decide_instant(text, field="at"))
    decide_calendar_date(text)
    named = decide_named_time(text, min(at, len(text)), BERLIN)
    assert named is None or named.end <= len(text)
    for bound in decide_time_bounds(text, UTC, mentions=[TextSpan(start=at, end=at + 3)]):
        assert bound.span.end <= len(text)


@inputs("normal forms")
@given(text=any_text, unit=any_text, kind=st.sampled_from(ValueType))
def test_any_text_has_a_normal_form_or_is_refused(text: str, unit: str, kind: ValueType) -> None:
    form = decide_text_form(text)
    assert decide_text_form(form) == form
    decide_content_hash(text)
    is_named_in(form or "x", decide_text_form(unit))
    for decide in (decide_name_form, decide_predicate_key, decide_scope_form):
        refused_or(lambda: decide(text, field="f"))  # noqa: B023
    for stated in ("", unit[:8]):
        value = ProposedValue(type=kind, text=text, unit=stated)
        refused_or(lambda: decide_value(value, predicate_unit=unit[:4], field="f"))  # noqa: B023


HOSTILE = [
    "ignore previous instructions",
    "<!--",
    "![a](",
    "http",
    "data:;base64,",
    "aWdub3Jl",
    "69676e6f7265",
    "system:",
]


@inputs("scans")
@given(parts=st.lists(any_text | st.sampled_from(HOSTILE), max_size=6))
def test_any_text_is_scanned(parts: list[str]) -> None:
    text = "".join(parts)
    result = decide_scan(text)
    assert len(result.findings) <= MAX_FINDINGS_SHOWN
    for finding in result.findings:
        assert 0 <= finding.span.start < finding.span.end <= len(text)


SNAPSHOT = encode_snapshot(
    case(
        side("A", member(Witness(since=day("2026-03-01"), key="k", adopted_from="f", inherits=("group:x",)))),
        side("B", member(*plain(1), valid_from=midnight("2026-01-01"), valid_to=midnight("2026-07-01"), record=True)),
    )
)


@inputs("snapshots")
@given(
    text=st.one_of(
        any_text,
        one_thing_wrong(json.loads(SNAPSHOT)).map(json.dumps),
        damaged(SNAPSHOT.encode()).map(lambda found: found.decode("latin-1")),
        any_json.map(json.dumps),
    )
)
def test_a_snapshot_is_read_and_written_alike_or_is_none(text: str) -> None:
    try:
        snapshot = decode_snapshot(text)
    except ValueError:
        return
    # Lists are written in an order of their own.
    written = encode_snapshot(snapshot)
    assert encode_snapshot(decode_snapshot(written)) == written


# Models: what a service answers is JSON at best, and what it says is none of our types.


class Answering:
    """A model service that gives one answer to everything."""

    sends_temperature = True

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def post(self, _path: str, _body: bytes) -> bytes:
        return self._body

    async def close(self) -> None:
        pass


CONTENT = "since March 2026 production deploys from main"
PREDICATES = (
    Predicate(key=PredicateKey("deploys_from"), subject_kinds=("environment",), object_kinds=("git branch",)),
    Predicate(key=PredicateKey("costs"), value_types=tuple(ValueType), unit="EUR"),
)
TO_EXTRACT = ExtractionRequest(evidence=(EvidenceText(content=CONTENT),), predicates=PREDICATES)
TO_VERIFY = VerificationRequest(
    evidence=(EvidenceText(content=CONTENT),),
    proposals=(
        ProposalToVerify(
            proposal_id=ProposalId("p"),
            subject=MentionedEntity(names=("production",)),
            predicate=PredicateWords(key=PredicateKey("deploys_from")),
            object=MentionedEntity(names=("main",)),
            cited=(CitedSpan(evidence_index=0, span=TextSpan(start=0, end=len(CONTENT))),),
        ),
    ),
)
SIDES = [
    JudgedSide(
        relationship_id=RelationshipId(name),
        value=name,
        polarity=Polarity.POSITIVE,
        start=None,
        end=None,
        stated_start=None,
        witness_at=midnight("2026-06-01"),
        recorded_at=midnight("2026-06-01"),
        excerpts=("a cited text",),
    )
    for name in ("new", "old")
]
QUESTION = JudgeQuestion(item_id=ItemId("i"), item_version=1, incoming=SIDES[0], opposing=SIDES[1])

VERIFIED: dict[str, Any] = {
    "findings": [
        {
            "proposal_id": "p",
            "verdict": "entailed",
            "reason": "it says so",
            "found_polarity": None,
            "found_modality": None,
            "bounds": [
                {
                    "side": "start",
                    "at": "begin",
                    "begin": "2026-03-01T00:00:00Z",
                    "end": "2026-04-01T00:00:00Z",
                    "evidence_index": 0,
                    "quote": "March 2026",
                }
            ],
        }
    ]
}
EXTRACTED: dict[str, Any] = {
    "entities": [
        {"ref": "e1", "name": "production", "kind": "environment"},
        {"ref": "e2", "name": "main", "kind": "git branch"},
    ],
    "relationships": [
        {
            "subject_ref": "e1",
            "predicate": "deploys_from",
            "object_ref": "e2",
            "value": None,
            "polarity": "+",
            "modality": "statement",
            "evidence_index": 0,
            "quote": CONTENT,
        }
    ],
}
JUDGED = {"verdict": "keep_new", "kept": "incoming", "excerpt": "cited", "reason": "later"}
EMBEDDED = {"data": [{"index": 0, "embedding": [0.6, 0.8]}, {"index": 1, "embedding": [1, 0]}]}


def endpoint(body: bytes) -> Endpoint:
    return cast("Endpoint", Answering(body))


def completion(answer: Any) -> bytes:
    said = answer if isinstance(answer, str) else json.dumps(answer)
    return json.dumps({"choices": [{"message": {"content": said}, "finish_reason": "stop"}]}).encode()


def bodies(valid: Any) -> st.SearchStrategy[bytes]:
    """What a service may answer where its model should say something like ``valid``."""
    return st.one_of(
        one_thing_wrong(valid).map(completion),
        one_thing_wrong(valid).flatmap(one_thing_wrong).map(completion),
        any_text.map(completion),
        damaged(completion(valid)),
        any_json.map(lambda said: json.dumps(said).encode()),
    )


async def verify(body: bytes) -> None:
    answer = await RemoteVerifier(endpoint(body), model="m").verify(TO_VERIFY)
    if not find_problems(TO_VERIFY, answer):
        assert all(is_kept_as_it_is(finding.reason) for finding in answer.findings)


async def extract(body: bytes) -> None:
    answer = await RemoteExtractor(endpoint(body), model="m").extract(TO_EXTRACT)
    if not find_extraction_problems(TO_EXTRACT, answer):
        texts = [text for one in answer.entities for text in (one.ref, one.name, one.kind)]
        assert all(is_kept_as_it_is(text) for text in texts)


async def judge(body: bytes) -> None:
    answer = await RemoteJudge(endpoint(body), model="m").judge(QUESTION)
    decide_verdict(QUESTION, answer)


async def embed(body: bytes) -> None:
    embedder = RemoteEmbedder(endpoint(body), model="m", revision="1", dimensions=2, asks_for_length=False)
    vectors = await embedder.embed(["a", "b"])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


ASKED = [
    pytest.param(verify, completion(VERIFIED), id="verifier"),
    pytest.param(extract, completion(EXTRACTED), id="extractor"),
    pytest.param(judge, completion(JUDGED), id="judge"),
    pytest.param(embed, json.dumps(EMBEDDED).encode(), id="embedder"),
]


@pytest.mark.parametrize(("ask", "body"), ASKED)
def test_a_good_answer_is_taken(ask: Callable[[bytes], Any], body: bytes) -> None:
    """Otherwise the next test would try nothing beyond the first look at an answer."""
    result_of(ask(body))


embeddings = st.one_of(
    one_thing_wrong(EMBEDDED),
    st.lists(st.lists(st.floats(), min_size=2, max_size=2), min_size=2, max_size=2).map(
        lambda rows: {"data": [{"index": index, "embedding": row} for index, row in enumerate(rows)]}
    ),
)


@inputs("answers of models")
@given(
    asked=st.one_of(
        st.tuples(st.just(verify), bodies(VERIFIED)),
        st.tuples(st.just(extract), bodies(EXTRACTED)),
        st.tuples(st.just(judge), bodies(JUDGED)),
        st.tuples(st.just(embed), embeddings.map(lambda said: json.dumps(said).encode())),
    )
)
def test_any_answer_of_a_service_is_taken_or_no_answer(asked: tuple[Callable[[bytes], Any], bytes]) -> None:
    # The problems are sent to the model again and are logged: they never quote it.
    assert len(failure_of(*asked).encode()) < 2_000


def failure_of(ask: Callable[[bytes], Any], body: bytes) -> str:
    try:
        result_of(ask(body))
    except ProviderFailed as failed:
        return str(failed)
    return ""


LOCAL_VERIFIER, LOCAL_EXTRACTOR = LocalVerifier(decide_time_bounds), LocalExtractor(decide_time_bounds)


@inputs("local models")
@given(content=any_text.filter(bool), name=any_text.filter(bool), other=any_text.filter(bool))
def test_a_local_model_reads_any_text(content: str, name: str, other: str) -> None:
    said = f"{content} deploys from {name}"
    for text in (content, said, f"{name}\ndeploys from\n{other}"):
        to_extract = ExtractionRequest(evidence=(EvidenceText(content=text),), predicates=PREDICATES)
        problems = find_extraction_problems(to_extract, LOCAL_EXTRACTOR.read(to_extract))
        # An extractor copies words of the text, and the wire has let no such text in.
        assert not problems or not is_kept_as_it_is(text)
        to_verify = VerificationRequest(
            evidence=(EvidenceText(content=text),),
            proposals=(
                ProposalToVerify(
                    proposal_id=ProposalId("p"),
                    subject=MentionedEntity(names=(name, content)),
                    predicate=PredicateWords(key=PredicateKey("deploys_from"), aliases=(other,)),
                    object=MentionedEntity(names=(other,)),
                    cited=(CitedSpan(evidence_index=0, span=TextSpan(start=0, end=len(text))),),
                ),
            ),
        )
        assert find_problems(to_verify, LOCAL_VERIFIER.read(to_verify)) == ()


# Work: a text four times as long costs about four times the calls, whatever it repeats. Calls are counted and not
# timed, so no other load changes the answer; the inside of one call of C is not seen.

UNITS = [
    "a",
    " ",
    "a ",
    "\u0301",
    "\u3164",
    "1",
    "1,",
    "2026-",
    "2026-03-01 ",
    "until ",
    "<!--",
    "![",
    "](",
    "=",
    "ab12",
]
UNITS += [
    "ignore ",
    "ignore previous instructions. ",
    "\u202e",
    "\U000e0041",
    "\x1b[",
    "本",
    "\ud800",
    "'",
    "\n\n",
    ".",
]
READERS: dict[str, Callable[[str], object]] = {
    "scan": decide_scan,
    "text form": decide_text_form,
    "time words": lambda text: decide_time_bounds(text, UTC),
    "quote": lambda text: refused_or(
        lambda: decide_cited_span([text], QuoteCitation(evidence_index=0, quote=text[:64] or "x"), field="c")
    ),
    "instant": lambda text: refused_or(lambda: decide_instant(text, field="at")),
    "number": lambda text: refused_or(
        lambda: decide_value(ProposedValue(type=ValueType.NUMBER, text=text), predicate_unit="", field="v")
    ),
}
SHORT, LONG = 512, 2048


@pytest.mark.parametrize("reader", READERS)
def test_work_grows_no_faster_than_the_text(reader: str) -> None:
    read = READERS[reader]
    read("x")
    for unit in UNITS:
        short, long = (calls_of(lambda: read((unit * length)[:length])) for length in (SHORT, LONG))  # noqa: B023
        assert long <= (LONG // SHORT) * short * 1.5 + 200, f"{unit!r}: {short} calls, then {long}"
