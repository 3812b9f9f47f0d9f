"""What a model answers is JSON at best: it is taken or is no answer; and a local model reads any text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from corrigenda_core.domain.ids import ItemId, PredicateKey, ProposalId, RelationshipId
from corrigenda_core.domain.judging import JudgedSide, JudgeQuestion
from corrigenda_core.domain.objects import Polarity, ValueType
from corrigenda_core.domain.predicates import Predicate
from corrigenda_core.domain.time import TextSpan
from corrigenda_core.domain.verification import CitedSpan
from corrigenda_core.policy.judging import decide_verdict
from corrigenda_core.policy.kept_text import is_kept_as_it_is
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
from corrigenda_core.testing.case_snapshots import midnight
from corrigenda_core.testing.hostile_input import (
    any_json,
    any_text,
    damaged,
    inputs,
    one_thing_wrong,
    result_of,
)
from hypothesis import given
from hypothesis import strategies as st


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


@pytest.mark.parametrize("figure", [0.0, 5e-324, 3e-162, 1e-160, 1.5e154, 1e308])
def test_a_vector_without_a_direction_is_no_answer(figure: float) -> None:
    body = json.dumps({"data": [{"index": index, "embedding": [figure, figure]} for index in range(2)]}).encode()
    with pytest.raises(ProviderFailed, match="no directions"):
        result_of(embed(body))


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
