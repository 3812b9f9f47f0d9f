"""The local extractor on any text: total, repeatable, always valid, and never beyond what the verifier reads."""

from __future__ import annotations

from corrigenda_core.domain.ids import PredicateKey
from corrigenda_core.domain.objects import Polarity, ValueType
from corrigenda_core.domain.predicates import Predicate
from corrigenda_core.domain.submissions import EntityRef, ProposedRelationship
from corrigenda_core.domain.verification import VerificationVerdict
from corrigenda_core.policy.normalisation import decide_text_form, decide_value
from corrigenda_core.policy.time_words import decide_time_bounds
from corrigenda_core.ports.providers import (
    EvidenceText,
    ExtractionRequest,
    ExtractorAnswer,
    MentionedEntity,
    PredicateWords,
    ProposalToVerify,
    VerificationRequest,
)
from corrigenda_core.providers.extraction_validation import find_extraction_problems
from corrigenda_core.providers.extractor_local import LocalExtractor
from corrigenda_core.providers.local.cues import GAP_CUES, PREFIX_PLAN, REPORTS
from corrigenda_core.providers.verifier_local import LocalVerifier
from corrigenda_core.testing.effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

EXTRACTOR, VERIFIER = LocalExtractor(decide_time_bounds), LocalVerifier(decide_time_bounds)

PREDICATES = (
    Predicate(
        key=PredicateKey("deploys_from"),
        aliases=("deploys from", "本番は"),
        subject_kinds=("environment",),
        object_kinds=("git branch",),
    ),
    Predicate(key=PredicateKey("is"), subject_kinds=("service",), value_types=(ValueType.TEXT,)),
    Predicate(key=PredicateKey("began_on"), subject_kinds=("service",), value_types=(ValueType.DATE,)),
    Predicate(key=PredicateKey("costs"), subject_kinds=("service",), value_types=(ValueType.NUMBER,), unit="EUR"),
)
WORDS = [
    *[
        "production",
        "deploys",
        "deploy",
        "deploying",
        "from",
        "main",
        "release",
        "the",
        "a",
        "our",
        "branch",
        "is",
        "not",
        "never",
        "began",
        "on",
        "costs",
        "and",
        "or",
    ],
    *("\u3164", "x" * 300, "Aé" * 200, "Big", "\x00", "\u2028"),
    *("1 March 2026", "since May 2025", "12", "3.5 EUR", "本番", "は", "é", "🚀", "Team X", "it", "\u200b", "\u0301"),
    *(".", ",", "?", "!", '"', "`", "(", ")", "\n", "\n\n- ", "'s", "n't"),
    *sorted(GAP_CUES)[::7],
    *sorted(REPORTS)[::7],
    *sorted(PREFIX_PLAN)[::7],
]
SENTENCES = st.sampled_from(
    [
        "production deploys from main",
        "The production environment deploys from the release branch.",
        "billing began on 3 March 2026",
        "billing costs 12 EUR",
        "production no longer deploys from main",
    ]
)
TEXTS = st.one_of(
    st.text(max_size=80),
    st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join),
    st.lists(st.one_of(SENTENCES, st.sampled_from(WORDS)), max_size=6).map(" ".join),
    st.lists(st.one_of(SENTENCES, st.text(max_size=8)), max_size=6).map(". ".join),
)


def requested(texts: list[str]) -> ExtractionRequest:
    return ExtractionRequest(
        evidence=tuple(EvidenceText(content=text) for text in texts), predicates=PREDICATES, time_zone="Europe/Berlin"
    )


@settings(max_examples=examples(fast=150, full=5_000))
@given(st.lists(TEXTS, min_size=1, max_size=3))
def test_any_text_gives_a_valid_proposal_and_always_the_same(texts: list[str]) -> None:
    request = requested(texts)
    answer = EXTRACTOR.read(request)
    assert find_extraction_problems(request, answer) == ()
    assert EXTRACTOR.read(request) == answer
    for one in answer.relationships:
        for cited in one.spans:
            assert cited.span.end <= len(texts[cited.evidence_index])


@settings(max_examples=examples(fast=100, full=3_000))
@given(TEXTS)
def test_what_is_proposed_is_what_the_verifier_reads(text: str) -> None:
    request = requested([text])
    answer = EXTRACTOR.read(request)
    found = VERIFIER.read(
        VerificationRequest(
            evidence=request.evidence,
            proposals=tuple(asked(answer, one) for one in answer.relationships),
            time_zone=request.time_zone,
        )
    )
    assert all(finding.verdict is VerificationVerdict.ENTAILED for finding in found.findings)


def asked(answer: ExtractorAnswer, one: ProposedRelationship) -> ProposalToVerify:
    entities = {entity.ref: MentionedEntity(names=(entity.name,), kind=entity.kind) for entity in answer.entities}
    predicate = next(each for each in PREDICATES if each.key == one.predicate)
    if isinstance(one.object, EntityRef):
        said = entities[one.object.ref]
    else:
        said = decide_value(one.object, predicate_unit=predicate.unit, field="object_value")
    return ProposalToVerify(
        proposal_id=one.proposal_id,
        subject=entities[one.subject_ref],
        predicate=PredicateWords(key=predicate.key, aliases=predicate.aliases),
        object=said,
        polarity=one.polarity,
        cited=one.spans,
    )


@given(
    st.sampled_from(["production", "staging-2", "Ｐrod", "本"]), st.sampled_from(["main", "release-2.1", "été", "主"])
)
def test_a_plain_sentence_of_any_names_is_found(subject: str, branch: str) -> None:
    answer = EXTRACTOR.read(requested([f"{subject} deploys from {branch}"]))
    (one,) = answer.relationships
    assert one.polarity is Polarity.POSITIVE
    assert {decide_text_form(entity.name) for entity in answer.entities} == {
        decide_text_form(subject),
        decide_text_form(branch),
    }
