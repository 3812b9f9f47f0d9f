"""The local verifier on any text: it never fails, never answers invalidly, and doubts what it does not understand."""

import os
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo

import pytest
from corrigenda_core.domain.ids import PredicateKey, ProposalId
from corrigenda_core.domain.objects import Polarity
from corrigenda_core.domain.time import Side, TextSpan, TimeBound, WholeInterval
from corrigenda_core.domain.verification import CitedSpan, Modality, VerificationVerdict
from corrigenda_core.ports.providers import (
    EvidenceText,
    MentionedEntity,
    PredicateWords,
    ProposalToVerify,
    VerificationRequest,
)
from corrigenda_core.providers.local.cues import (
    DENIALS,
    GAP_CUES,
    NEGATIONS,
    PREFIX_PLAN,
    REPORTS,
    SENTENCE_SPECULATION,
    Cue,
)
from corrigenda_core.providers.validation import find_problems
from corrigenda_core.providers.verifier_local import LocalVerifier
from hypothesis import given, settings
from hypothesis import strategies as st

COUNT = 2000 if os.environ.get("CORRIGENDA_TEST_TIER") == "full" else 60
ENTAILED, CONTRADICTED, INSUFFICIENT = VerificationVerdict


def read_years(text: str, zone: tzinfo, *, mentions: Sequence[TextSpan] = ()) -> tuple[TimeBound, ...]:
    """A reader that takes the first "2026" for a start and the second for an end."""
    bounds = []
    position = 0
    for side in Side:
        position = text.find("2026", position)
        if position < 0:
            break
        start = datetime(2026 if side is Side.START else 2027, 1, 1, tzinfo=UTC)
        whole = WholeInterval(start=start, end=start + timedelta(days=365))
        span = TextSpan(start=position, end=position + 4)
        bounds.append(TimeBound(side=side, whole=whole, at=start, span=span))
        position += 4
    return tuple(bounds)


VERIFIER = LocalVerifier(read_years)

PLAIN = "production deploys deploy deployed from main branch 2026 not n't never is was has the and or that 本番 é"
MARKS = [",", ".", "?", ":", "'", '"', "“", "”", "(", ">", "\n", "\n\n- "]
WORDS = st.sampled_from([*PLAIN.split(), *MARKS, *sorted(GAP_CUES)[::5], *sorted(SENTENCE_SPECULATION)[::5]])
TEXTS = st.one_of(
    st.lists(WORDS, min_size=1, max_size=25).map(" ".join),
    st.lists(WORDS, min_size=1, max_size=25).map("".join),
    st.text(min_size=1, max_size=60),
)


def request(
    text: str,
    *,
    subject: str = "production",
    key: str = "deploys_from",
    object_: str = "main",
    polarity: Polarity = Polarity.POSITIVE,
    modality: Modality = Modality.STATEMENT,
    span: tuple[int, int] | None = None,
) -> VerificationRequest:
    start, end = span or (0, len(text))
    return VerificationRequest(
        evidence=(EvidenceText(content=text),),
        proposals=(
            ProposalToVerify(
                proposal_id=ProposalId("p"),
                subject=MentionedEntity(names=(subject,), kind="environment"),
                predicate=PredicateWords(key=PredicateKey(key)),
                object=MentionedEntity(names=(object_,), kind="git_branch"),
                polarity=polarity,
                modality=modality,
                cited=(CitedSpan(evidence_index=0, span=TextSpan(start=start, end=end)),),
            ),
        ),
    )


def verdict(asked: VerificationRequest) -> VerificationVerdict:
    (finding,) = VERIFIER.read(asked).findings
    return finding.verdict


@pytest.mark.rule("R3.2")
@settings(max_examples=COUNT, deadline=None)
@given(data=st.data(), text=TEXTS, polarity=st.sampled_from(Polarity), modality=st.sampled_from(Modality))
def test_any_text_gets_a_valid_answer(data: st.DataObject, text: str, polarity: Polarity, modality: Modality) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    names = st.one_of(WORDS, st.text(min_size=1, max_size=12), st.sampled_from(text.split() or ["x"]))
    asked = request(
        text,
        subject=data.draw(names),
        key=data.draw(names),
        object_=data.draw(names),
        polarity=polarity,
        modality=modality,
        span=(start, end),
    )
    assert find_problems(asked, VERIFIER.read(asked)) == ()


@settings(max_examples=COUNT, deadline=None)
@given(text=TEXTS)
def test_both_polarities_get_opposite_verdicts(text: str) -> None:
    positive, negative = (verdict(request(text, polarity=polarity)) for polarity in Polarity)
    opposite = {ENTAILED: CONTRADICTED, CONTRADICTED: ENTAILED, INSUFFICIENT: INSUFFICIENT}
    assert negative is opposite[positive]


@settings(max_examples=COUNT, deadline=None)
@given(text=TEXTS)
def test_equivalent_spellings_get_equal_verdicts(text: str) -> None:
    composed = unicodedata.normalize("NFC", text)
    assert verdict(request(composed)) is verdict(request(unicodedata.normalize("NFD", composed)))


@settings(max_examples=COUNT, deadline=None)
@given(text=TEXTS, before=TEXTS)
def test_a_paragraph_of_its_own_changes_nothing(text: str, before: str) -> None:
    plain = "production deploys from main"
    full = f"{before}\n\n{plain}\n\n{text}"
    at = len(before) + 2
    assert verdict(request(full, span=(at, at + len(plain)))) in (ENTAILED, INSUFFICIENT)


@pytest.mark.parametrize("pattern", ["{} production deploys from main", "{} that production deploys from main"])
def test_no_doubting_word_in_front_is_overread(pattern: str) -> None:
    doubting = sorted(SENTENCE_SPECULATION | PREFIX_PLAN | REPORTS | NEGATIONS)
    assert [word for word in doubting if verdict(request(pattern.format(word))) is ENTAILED] == []


def test_no_doubting_word_behind_is_overread() -> None:
    doubting = sorted(SENTENCE_SPECULATION | REPORTS | DENIALS)
    assert {verdict(request(f"production deploys from main, {word}")) for word in doubting} == {INSUFFICIENT}


SPOILS = frozenset({Cue.NEGATION, Cue.CEASED, Cue.SPECULATION, Cue.PLAN, Cue.PAST, Cue.PAST_COPULA, Cue.DID, Cue.TO})


@pytest.mark.parametrize("form", ["deploys", "deploy", "deploying", "deployed"])
def test_no_doubting_word_between_is_overread(form: str) -> None:
    doubting = sorted(word for word, cue in GAP_CUES.items() if cue in SPOILS)
    texts = [f"production {word} {form} from main" for word in doubting]
    assert [text for text in texts if verdict(request(text)) is ENTAILED] == []


@settings(max_examples=COUNT, deadline=None)
@given(word=st.from_regex(r"[a-z]{3,10}", fullmatch=True))
def test_a_word_that_is_not_known_is_not_read_over(word: str) -> None:
    known = word in GAP_CUES or word in ("environment", "branch", "git", "production", "main")
    if not known:
        assert verdict(request(f"production {word} deploys from main")) is INSUFFICIENT
        assert verdict(request(f"production deploys from {word} main")) is INSUFFICIENT
