"""What the local verifier makes of sentences: a table, one row a reading."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta, tzinfo

import pytest
from corrigenda_core.domain.ids import EntityId, PredicateKey, ProposalId
from corrigenda_core.domain.objects import Polarity, ValueObject, ValueType
from corrigenda_core.domain.time import Side, TextSpan, TimeBound, WholeInterval
from corrigenda_core.domain.verification import CitedSpan, Modality, VerificationVerdict
from corrigenda_core.ports.providers import (
    EvidenceText,
    Finding,
    MentionedEntity,
    OfferedCandidate,
    PredicateWords,
    ProposalToVerify,
    ProviderFailed,
    VerificationRequest,
)
from corrigenda_core.providers.local.times import MAX_SENTENCE_WORDS
from corrigenda_core.providers.verifier_local import MAX_INLINE_CODE_POINTS, LocalVerifier

ENTAILED, CONTRADICTED, INSUFFICIENT = VerificationVerdict
BOTH_WAYS = "production deploys from main. But production does not deploy from main."
SINCE_MARCH = ("start", "2026-02-28T23:00", "since 2026-03-01")
DAY = re.compile(r"(?P<word>since|from|until|to) (?P<day>\d{4}-\d\d-\d\d)")


def read_iso_days(text: str, zone: tzinfo, *, mentions: Sequence[TextSpan] = ()) -> tuple[TimeBound, ...]:
    """A small reader of "since 2026-03-01" and "until 2026-03-01", to test the verifier apart from the real one."""
    bounds = []
    for found in DAY.finditer(text):
        if any(mention.start < found.end() and found.start("day") < mention.end for mention in mentions):
            continue
        first = datetime.combine(datetime.fromisoformat(found["day"]), time(), zone).astimezone(UTC)
        whole = WholeInterval(start=first, end=first + timedelta(days=1))
        side = Side.START if found["word"] in ("since", "from") else Side.END
        at = whole.end if found["word"] == "to" else whole.start
        bounds.append(TimeBound(side=side, whole=whole, at=at, span=TextSpan(start=found.start(), end=found.end())))
    return tuple(bounds)


VERIFIER = LocalVerifier(read_iso_days)
PRODUCTION = MentionedEntity(names=("production", "prod"), kind="environment")
DEPLOYS_FROM = PredicateWords(key=PredicateKey("deploys_from"), aliases=("is released from",))


def branch(name: str) -> MentionedEntity:
    return MentionedEntity(names=(name,), kind="git_branch")


def proposal(
    *texts: str,
    subject: MentionedEntity = PRODUCTION,
    predicate: PredicateWords = DEPLOYS_FROM,
    object_: MentionedEntity | ValueObject | None = None,
    polarity: Polarity = Polarity.POSITIVE,
    modality: Modality = Modality.STATEMENT,
    spans: Sequence[tuple[int, int]] = (),
) -> VerificationRequest:
    cited = tuple(
        CitedSpan(evidence_index=index, span=TextSpan(start=start, end=end))
        for index, text in enumerate(texts)
        for start, end in (spans or [(0, len(text))])
    )
    return VerificationRequest(
        evidence=tuple(EvidenceText(content=text) for text in texts),
        proposals=(
            ProposalToVerify(
                proposal_id=ProposalId("p1"),
                subject=subject,
                predicate=predicate,
                object=object_ if object_ is not None else branch("main"),
                polarity=polarity,
                modality=modality,
                cited=cited,
            ),
        ),
        time_zone="Europe/Berlin",
    )


def read(request: VerificationRequest) -> Finding:
    (finding,) = VERIFIER.read(request).findings
    return finding


STATEMENTS = [
    # Plain statements.
    ("production deploys from main", ENTAILED),
    ("PRODUCTION  deploys\nfrom Main!", ENTAILED),
    ("Our release checklist confirms: production deploys from main.", ENTAILED),
    ("The user confirmed that production now deploys from main.", ENTAILED),
    ("The production environment deploys from the main branch.", ENTAILED),
    ("The environment production deploys from the branch main.", ENTAILED),
    ("production deploys from `main`, and staging from dev", ENTAILED),
    ('"production" deploys from "main".', ENTAILED),
    ("production: deploys_from: main", ENTAILED),
    ("prod is released from main", ENTAILED),
    ("prod has been released from main for years", ENTAILED),
    ("production does deploy from main", ENTAILED),
    ("production still continues to deploy from main", ENTAILED),
    ("production is deploying from main", ENTAILED),
    ("production has deployed from main since 2026-03-01", ENTAILED),
    ("production not only deploys from main but also tests there", ENTAILED),
    ("No, production deploys from main.", ENTAILED),
    ("Nobody knows why; production deploys from main.", ENTAILED),
    ("because production deploys from main, hotfixes land there", ENTAILED),
    ("You should know that production deploys from main", ENTAILED),
    ("production deploys from main, not release", ENTAILED),
    ("production deploys from main every night", ENTAILED),
    ("production deploys from main\nstaging deploys from dev", ENTAILED),
    ("staging deploys from dev\nproduction deploys from main", ENTAILED),
    ("1. production deploys from main\n2. staging deploys from dev", ENTAILED),
    ("production deploys from main. It takes ten minutes.", ENTAILED),
    ("production deploys from the branch of main", ENTAILED),
    ("a production deploys from main", ENTAILED),
    ("Note: Production deploys from main", ENTAILED),
    ('A 24" screen shows production deploys from main', ENTAILED),
    ('The " sign shows production deploys from main', ENTAILED),
    ("Is it? Yes: production deploys from main.", ENTAILED),
    ("ｐｒｏｄｕｃｔｉｏｎ deploys from \u202emain\u202c", ENTAILED),
    # The past, with and without its end.
    ("production deployed from main until 2026-03-01", ENTAILED),
    ("production used to deploy from main until 2026-03-01", ENTAILED),
    ("production deployed from main", INSUFFICIENT),
    ("production used to deploy from main", INSUFFICIENT),
    ("production formerly deploys from main", INSUFFICIENT),
    ("production was released from main", INSUFFICIENT),
    ("production did not deploy from main", INSUFFICIENT),
    # Denials.
    ("production does not deploy from main", CONTRADICTED),
    ("production doesn't deploy from main", CONTRADICTED),
    ("production doesn’t deploy from main anymore", CONTRADICTED),
    ("production no longer deploys from main", CONTRADICTED),
    ("production never deploys from main", CONTRADICTED),
    ("production won't be released from main", INSUFFICIENT),
    ("production isn't released from main", CONTRADICTED),
    ("production stopped deploying from main", CONTRADICTED),
    ("production deploys from main no longer", CONTRADICTED),
    ("It is not true that production deploys from main", CONTRADICTED),
    ("It is not the case that production deploys from main", CONTRADICTED),
    ("It is untrue that production deploys from main", CONTRADICTED),
    # Negations that leave open what they deny.
    ("production does not always deploy from main", INSUFFICIENT),
    ("production never does not deploy from main", INSUFFICIENT),
    ("It is false that production doesn't deploy from main", INSUFFICIENT),
    ("Nobody believes that it is not true that production deploys from main", INSUFFICIENT),
    ("Bob denies that production deploys from main", INSUFFICIENT),
    ("It is no lie that production deploys from main", INSUFFICIENT),
    ("Contrary to the docs, production deploys from main", INSUFFICIENT),
    ("production deploys from main is not true", INSUFFICIENT),
    ("production deploys from main. That is false.", INSUFFICIENT),
    ("production deploys from main. Wrong!", INSUFFICIENT),
    ("production deploys from main. It does not.", INSUFFICIENT),
    ("production does\u200bn't deploy from main", INSUFFICIENT),
    # Hedges, conditions, questions, quotations, plans.
    ("production might deploy from main", INSUFFICIENT),
    ("production may deploy from main", INSUFFICIENT),
    ("Maybe production deploys from main", INSUFFICIENT),
    ("I think production deploys from main", INSUFFICIENT),
    ("production deploys from main, I think", INSUFFICIENT),
    ("production sometimes deploys from main", INSUFFICIENT),
    ("If the flag is set, production deploys from main", INSUFFICIENT),
    ("production deploys from main unless frozen", INSUFFICIENT),
    ("production deploys from main when the flag is set", INSUFFICIENT),
    ("production deploys from either main", INSUFFICIENT),
    ("production deploys from main or release", INSUFFICIENT),
    ("once production deploys from main, we celebrate", INSUFFICIENT),
    ("Does production deploy from main?", INSUFFICIENT),
    ("Does production deploy from main", INSUFFICIENT),
    ("production deploys from main?", INSUFFICIENT),
    ('Really, "production deploys from main"?!', INSUFFICIENT),
    ('Bob wrote: "production deploys from main"', INSUFFICIENT),
    ("“production deploys from main”", INSUFFICIENT),
    ("„production deploys from main“ stand im Wiki", INSUFFICIENT),
    ("'production deploys from main' stood on the wall", INSUFFICIENT),
    ("> production deploys from main\nThis was the old setup.", INSUFFICIENT),
    ("Bob said production deploys from main", INSUFFICIENT),
    ("production deploys from main, according to Bob", INSUFFICIENT),
    ("production will deploy from main", INSUFFICIENT),
    ("production plans to deploy from main", INSUFFICIENT),
    ("production is to deploy from main", INSUFFICIENT),
    ("We want production to deploy from main", INSUFFICIENT),
    ("Proposal: production deploys from main", INSUFFICIENT),
    ("Make production deploy from main", INSUFFICIENT),
    # Other subjects, other objects.
    ("the release branch was discussed on Monday", INSUFFICIENT),
    ("production is fine. staging deploys from main", INSUFFICIENT),
    ("main deploys from production", INSUFFICIENT),
    ("production, deploys from main", INSUFFICIENT),
    ("production deploys from of main", INSUFFICIENT),
    ("preproduction deploys from main", INSUFFICIENT),
    ("pre-production deploys from main", INSUFFICIENT),
    ("staging, unlike production, deploys from main", INSUFFICIENT),
    ("the owner of production deploys from main", INSUFFICIENT),
    ("Acme's production deploys from main", INSUFFICIENT),
    ("The team that runs production deploys from main", INSUFFICIENT),
    ("The production that deploys from main is broken", INSUFFICIENT),
    ("The tool that we run shows production deploys from main", INSUFFICIENT),
    ("Mega Production deploys from main", INSUFFICIENT),
    ("production deploys from main-legacy", INSUFFICIENT),
    ("production deploys from maintenance", INSUFFICIENT),
    ("production deploys from main/legacy", INSUFFICIENT),
    ("production deploys from main's fork", INSUFFICIENT),
    ("production deploys from main candidates", INSUFFICIENT),
    ('production deploys from "main"-legacy', INSUFFICIENT),
    ("production deploys from release", INSUFFICIENT),
    ("production and main and deploys from", INSUFFICIENT),
    ("production was deployed from main until 2026-03-01", INSUFFICIENT),
    # Other languages deny in their own ways.
    ("production deploys from main nicht", INSUFFICIENT),
    ("production deploys from main 本番ではない", INSUFFICIENT),
    ("“Open\n\nproduction deploys from main", ENTAILED),
    ("productionที่ deploys from main", INSUFFICIENT),
    (", deploys from main", INSUFFICIENT),
    ("", INSUFFICIENT),
]


@pytest.mark.rule("R3.3")
@pytest.mark.parametrize(("text", "verdict"), STATEMENTS)
def test_a_statement_is_read(text: str, verdict: VerificationVerdict) -> None:
    finding = read(proposal(text, spans=[(0, max(1, len(text)))]))
    assert (finding.verdict, text) == (verdict, text)
    assert finding.reason


@pytest.mark.parametrize(
    ("text", "polarity", "verdict", "found"),
    [
        ("production does not deploy from main", Polarity.NEGATIVE, ENTAILED, None),
        ("production no longer deploys from main", Polarity.NEGATIVE, ENTAILED, None),
        ("production did not deploy from main until 2026-03-01", Polarity.NEGATIVE, ENTAILED, None),
        ("production deploys from main", Polarity.NEGATIVE, CONTRADICTED, Polarity.POSITIVE),
        ("production does not deploy from main", Polarity.POSITIVE, CONTRADICTED, Polarity.NEGATIVE),
        ("production might not deploy from main", Polarity.NEGATIVE, INSUFFICIENT, None),
        (BOTH_WAYS, Polarity.POSITIVE, INSUFFICIENT, None),
        (BOTH_WAYS, Polarity.NEGATIVE, INSUFFICIENT, None),
    ],
)
def test_polarity_is_read(text: str, polarity: Polarity, verdict: VerificationVerdict, found: Polarity | None) -> None:
    finding = read(proposal(text, polarity=polarity))
    assert (finding.verdict, finding.found_polarity) == (verdict, found)


@pytest.mark.rule("R3.3")
@pytest.mark.parametrize(
    ("text", "modality", "verdict", "found"),
    [
        ("Does production deploy from main?", Modality.QUESTION, ENTAILED, None),
        ("I think production deploys from main", Modality.SPECULATION, ENTAILED, None),
        ("production is going to deploy from main", Modality.PLAN, ENTAILED, None),
        ("production will not deploy from main", Modality.PLAN, CONTRADICTED, None),
        ("Bob said: production deploys from main", Modality.QUOTATION, ENTAILED, None),
        ("production deploys from main", Modality.PLAN, INSUFFICIENT, Modality.STATEMENT),
        ("production will deploy from main", Modality.STATEMENT, INSUFFICIENT, Modality.PLAN),
        ("production might deploy from main", Modality.STATEMENT, INSUFFICIENT, Modality.SPECULATION),
        ("Bob thinks: 'production deploys from main'?", Modality.STATEMENT, INSUFFICIENT, Modality.QUESTION),
    ],
)
def test_modality_is_read(text: str, modality: Modality, verdict: VerificationVerdict, found: Modality | None) -> None:
    finding = read(proposal(text, modality=modality))
    assert (finding.verdict, finding.found_modality) == (verdict, found)


@pytest.mark.rule("R3.4")
@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("since 2026-03-01 production deploys from main", [SINCE_MARCH]),
        ("production, since 2026-03-01, deploys from main", [SINCE_MARCH]),
        ("production deploys from main in all regions since 2026-03-01", [SINCE_MARCH]),
        ("production deploys from main (since 2026-03-01)", [SINCE_MARCH]),
        ("production deploys from main (staging since 2026-03-01)", []),
        ("since 2026-03-01 staging is frozen, production deploys from main", []),
        ("since 2026-03-01 we know that production deploys from main", []),
        ("production deploys from main and staging from dev since 2026-03-01", []),
        ("since 2026-03-01 production deploys from main. since 2026-03-01 production deploys from main",
         [SINCE_MARCH]),
        ("from 2026-03-01 to 2026-03-31 production deployed from main",
         [("start", "2026-02-28T23:00", "from 2026-03-01"), ("end", "2026-03-31T22:00", "to 2026-03-31")]),
        ("production deploys from main. staging deploys from dev since 2026-03-01", []),
    ],
)  # fmt: skip
def test_times_of_the_statement_are_bounds(text: str, bounds: list[tuple[str, str, str]]) -> None:
    finding = read(proposal(text))
    assert finding.verdict is ENTAILED
    found = [cited.bound for cited in finding.bounds]
    assert [
        (bound.side.value, bound.at.isoformat()[:16], text[bound.span.start : bound.span.end]) for bound in found
    ] == bounds


@pytest.mark.rule("R3.4")
def test_a_name_that_looks_like_a_time_is_a_name() -> None:
    finding = read(proposal("production deploys from 2026-03-01", object_=branch("2026-03-01")))
    assert (finding.verdict, finding.bounds) == (ENTAILED, ())


@pytest.mark.rule("R3.4")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("since 2026-03-01 production deploys from main since 2026-04-01", "more than one"),
        ("from 2026-03-01 to 2026-02-01 production deployed from main", "before it starts"),
    ],
)
def test_times_that_do_not_fit_are_not_guessed(text: str, reason: str) -> None:
    finding = read(proposal(text))
    assert finding.verdict is INSUFFICIENT
    assert reason in finding.reason


@pytest.mark.rule("R3.4")
@pytest.mark.parametrize(
    ("cited", "verdict"),
    [
        ("production deploys from main until 2026-03-01", ENTAILED),
        ("production deploys from main", INSUFFICIENT),
    ],
)
def test_an_end_must_be_cited(cited: str, verdict: VerificationVerdict) -> None:
    text = "production deploys from main until 2026-03-01"
    assert read(proposal(text, spans=[(0, len(cited))])).verdict is verdict


@pytest.mark.rule("R3.4")
def test_an_uncited_start_is_no_evidence_time() -> None:
    text = "production deploys from main since 2026-03-01"
    finding = read(proposal(text, spans=[(0, len("production deploys from main"))]))
    assert (finding.verdict, finding.bounds) == (ENTAILED, ())


@pytest.mark.parametrize(
    ("text", "cited", "verdict"),
    [
        ("It is not true that production deploys from main", ["production deploys from main"], CONTRADICTED),
        ("I doubt it, but production deploys from main", ["production deploys from main"], INSUFFICIENT),
        ("preproduction deploys from main", ["production deploys from main"], INSUFFICIENT),
        ("production deploys from main", ["production", "deploys from main"], ENTAILED),
        ("production deploys from main", ["deploys from main"], INSUFFICIENT),
        ("production deploys from main", ["production deploys from"], INSUFFICIENT),
        ("production deploys from main", ["production", "main"], INSUFFICIENT),
        ("production deploys from main", ["production deploys"], INSUFFICIENT),
    ],
)
def test_the_passage_is_read_in_its_sentence(text: str, cited: list[str], verdict: VerificationVerdict) -> None:
    spans = [(text.index(part), text.index(part) + len(part)) for part in cited]
    assert read(proposal(text, spans=spans)).verdict is verdict


PREDICATE_FORMS = [
    ("The capital of Germany is Berlin.", "Germany", "capital_of", "Berlin", ENTAILED),
    ("The capital of Germany is not Berlin.", "Germany", "capital_of", "Berlin", CONTRADICTED),
    ("The capital of Germany was Berlin.", "Germany", "capital_of", "Berlin", INSUFFICIENT),
    ("The capital of Germany and Berlin", "Germany", "capital_of", "Berlin", INSUFFICIENT),
    ("The capital of Germany in Berlin.", "Germany", "capital_of", "Berlin", INSUFFICIENT),
    ("Germany has Berlin and Berlin is the capital of the", "Germany", "capital_of", "Berlin", INSUFFICIENT),
    ("Bob is Ann", "Bob", "is", "Ann", ENTAILED),
    ("The capital of East Germany is Berlin.", "Germany", "capital_of", "Berlin", INSUFFICIENT),
    ("The headquarters of Acme is located in Kiel.", "Acme", "headquarters_of", "Kiel", ENTAILED),
    ("Bob's job title is engineer.", "Bob", "job_title", "engineer", ENTAILED),
    ("Bob's job title was engineer.", "Bob", "job_title", "engineer", INSUFFICIENT),
    ("Bob's manager's job title is engineer.", "Bob", "job_title", "engineer", INSUFFICIENT),
    ("billing-service is not owned by team-a.", "billing-service", "is_owned_by", "team-a", CONTRADICTED),
    ("billing-service owned by team-a.", "billing-service", "is_owned_by", "team-a", INSUFFICIENT),
    ("Bob emailed Ann", "Bob", "email", "Ann", INSUFFICIENT),
    ("Bob is used Ann", "Bob", "uses", "Ann", INSUFFICIENT),
    ("Bob using Ann", "Bob", "uses", "Ann", INSUFFICIENT),
    ("Bob use Ann", "Bob", "uses", "Ann", INSUFFICIENT),
    ("services use Redis", "services", "uses", "Redis", ENTAILED),
    ("Bob never carried Ann until 2026-03-01", "Bob", "carries", "Ann", CONTRADICTED),
    ("Bob does not have Ann", "Bob", "has", "Ann", CONTRADICTED),
    ("Bob does not watch Ann", "Bob", "watches", "Ann", CONTRADICTED),
    ("Bob shipped to Ann until 2026-03-01", "Bob", "ships_to", "Ann", ENTAILED),
    ("Bob reports to Ann", "Bob", "report_to", "Ann", ENTAILED),
    ("Bob relies on Ann", "Bob", "rely_on", "Ann", ENTAILED),
    ("Bob watches over Ann", "Bob", "watch_over", "Ann", ENTAILED),
    ("Apple Inc. is owned by Bob", "Apple Inc.", "owned_by", "Bob", ENTAILED),
    ("Bob lives in Washington, D.C..", "Bob", "lives_in", "Washington, D.C.", ENTAILED),
    ("S.C. Fenmoor is owned by Bob", "S.C. Fenmoor", "owned_by", "Bob", ENTAILED),
    ("Bob lives in F.M. Lark is owned by Ada.", "Bob", "lives_in", "Lark", INSUFFICIENT),
    ("Bob writes C++", "Bob", "writes", "C", INSUFFICIENT),
    ("J. Smith knows Ann", "J. Smith", "knows", "Ann", ENTAILED),
    ("Bob lives in New York", "Bob", "lives_in", "York", INSUFFICIENT),
    ("サーバー uses Redis", "サーバー", "uses", "Redis", ENTAILED),
    ("本番は main を使う", "本番", "を使う", "main", INSUFFICIENT),
    ("production does not deploy from main", "production does not", "deploy_from", "main", INSUFFICIENT),
]


@pytest.mark.parametrize(("text", "subject", "key", "object_", "verdict"), PREDICATE_FORMS)
def test_forms_of_predicates_and_names(
    text: str, subject: str, key: str, object_: str, verdict: VerificationVerdict
) -> None:
    finding = read(
        proposal(
            text,
            subject=MentionedEntity(names=(subject,)),
            predicate=PredicateWords(key=PredicateKey(key)),
            object_=MentionedEntity(names=(object_,)),
        )
    )
    assert (finding.verdict, text) == (verdict, text)


def test_aliases_without_words_or_with_too_many_are_passed_over() -> None:
    odd = PredicateWords(key=PredicateKey("deploys_from"), aliases=("", " \u200b", "x " * 65))
    assert read(proposal("production deploys from main", predicate=odd)).verdict is ENTAILED


def test_an_event_needs_no_end_for_its_past() -> None:
    moved = PredicateWords(key=PredicateKey("moves_to"), is_event=True)
    assert read(proposal("production moved to main", predicate=moved)).verdict is ENTAILED


@pytest.mark.parametrize(
    ("text", "value", "verdict"),
    [
        ("3", ValueObject(type=ValueType.NUMBER, canonical="3"), ENTAILED),
        ("3.0", ValueObject(type=ValueType.NUMBER, canonical="3"), INSUFFICIENT),
        ("30", ValueObject(type=ValueType.NUMBER, canonical="3"), INSUFFICIENT),
        ("3%", ValueObject(type=ValueType.NUMBER, canonical="3"), INSUFFICIENT),
        ("3 ms", ValueObject(type=ValueType.NUMBER, canonical="3"), INSUFFICIENT),
        ("12,000", ValueObject(type=ValueType.NUMBER, canonical="12000"), ENTAILED),
        ("12000 req", ValueObject(type=ValueType.NUMBER, canonical="12000", unit="req"), ENTAILED),
        ("12000", ValueObject(type=ValueType.NUMBER, canonical="12000", unit="req"), INSUFFICIENT),
        ("10 ms", ValueObject(type=ValueType.NUMBER, canonical="0.01", unit="s", display="10 ms"), ENTAILED),
        ("many", ValueObject(type=ValueType.NUMBER, canonical="many"), ENTAILED),
        ("1E+99", ValueObject(type=ValueType.NUMBER, canonical="1e99", display="1E+99"), ENTAILED),
        ("1 March 2026", ValueObject(type=ValueType.DATE, canonical="2026-03-01"), ENTAILED),
        ("March 1st, 2026", ValueObject(type=ValueType.DATE, canonical="2026-03-01"), ENTAILED),
        ("the 22nd March 2026", ValueObject(type=ValueType.DATE, canonical="2026-03-22"), ENTAILED),
        ("11th Mar 2026", ValueObject(type=ValueType.DATE, canonical="2026-03-11"), ENTAILED),
        ("1 March 2025", ValueObject(type=ValueType.DATE, canonical="2026-03-01"), INSUFFICIENT),
        ("soon", ValueObject(type=ValueType.DATE, canonical="2026-02-30", display="soon"), ENTAILED),
        ("Degraded", ValueObject(type=ValueType.TEXT, canonical="degraded", display="degraded"), ENTAILED),
        ("true", ValueObject(type=ValueType.BOOLEAN, canonical="true"), ENTAILED),
    ],
)
def test_values_as_they_are_written(text: str, value: ValueObject, verdict: VerificationVerdict) -> None:
    status = PredicateWords(key=PredicateKey("status"))
    finding = read(proposal(f"production status is {text}", predicate=status, object_=value))
    assert (finding.verdict, text) == (verdict, text)


def test_a_known_candidate_lends_its_names_and_others_do_not() -> None:
    candidates = (
        OfferedCandidate(entity_id=EntityId("e1"), names=("live cluster",)),
        OfferedCandidate(entity_id=EntityId("e2"), names=("old cluster",)),
    )
    mention = MentionedEntity(names=("production",), known_entity_id=EntityId("e1"), candidates=candidates)
    assert read(proposal("live cluster deploys from main", subject=mention)).verdict is ENTAILED
    assert read(proposal("old cluster deploys from main", subject=mention)).verdict is INSUFFICIENT
    unknown = MentionedEntity(names=("production",), candidates=candidates)
    assert read(proposal("live cluster deploys from main", subject=unknown)).verdict is INSUFFICIENT


def test_a_kind_cannot_hide_a_negation() -> None:
    sly = MentionedEntity(names=("production",), kind="does not")
    assert read(proposal("production does not deploy from main", subject=sly)).verdict is CONTRADICTED


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("staging deploys from main", "name the subject"),
        ("production builds from main", "name the predicate"),
        ("production deploys from release", "name the object"),
        ("production is up. staging deploys from main", "together"),
    ],
)
def test_what_is_missing_is_named(text: str, missing: str) -> None:
    assert missing in read(proposal(text)).reason


def test_several_texts_give_each_their_times() -> None:
    finding = read(
        proposal("since 2026-03-01 production deploys from main", "since 2026-04-01 production deploys from main")
    )
    assert finding.verdict is ENTAILED
    assert [cited.evidence_index for cited in finding.bounds] == [0, 1]


async def test_asking_again_with_problems_gives_up_at_once() -> None:
    with pytest.raises(ProviderFailed):
        await VERIFIER.verify(proposal("production deploys from main"), problems=("wrong",))


@pytest.mark.parametrize("filler", ["", "Nothing else happened today. " * 1000])
async def test_short_and_long_submissions_get_the_same_answer(filler: str) -> None:
    text = f"{filler}production deploys from main."
    assert (len(text) > MAX_INLINE_CODE_POINTS) == bool(filler)
    answer = await VERIFIER.verify(proposal(text))
    assert [finding.verdict for finding in answer.findings] == [ENTAILED]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("production " * 5000 + "deploys from main", "too long"),
        ("production deploys from main " * 2000, "too long"),
        ("deploys " * 7000 + "from main", "name the subject"),
        ("production deploys from main since 2026-03-01 " * 100, "too long"),
    ],
)
def test_repetitive_text_costs_bounded_effort(text: str, reason: str) -> None:
    finding = read(proposal(text))
    assert finding.verdict is INSUFFICIENT
    assert reason in finding.reason


@pytest.mark.parametrize(("excess", "verdict"), [(0, ENTAILED), (1, INSUFFICIENT)])
def test_a_sentence_is_read_up_to_its_limit(excess: int, verdict: VerificationVerdict) -> None:
    words = ["since 2026-03-01", "production deploys from main", "and"]
    text = " ".join([*words, *["x"] * (MAX_SENTENCE_WORDS - 7 + excess)])
    finding = read(proposal(text))
    assert (finding.verdict, len(finding.bounds)) == (verdict, 1 - excess)


def test_a_submission_beyond_the_effort_is_answered_in_part() -> None:
    one = proposal("production deploys from main. " * 10)
    request = replace(
        one, proposals=tuple(replace(one.proposals[0], proposal_id=ProposalId(f"p{n}")) for n in range(50))
    )
    findings = LocalVerifier(read_iso_days, max_steps=1000).read(request).findings
    verdicts = [finding.verdict for finding in findings]
    assert len(findings) == 50
    assert verdicts[0] is ENTAILED
    assert verdicts == sorted(verdicts, key=lambda verdict: verdict is not ENTAILED)
    assert findings[-1].reason == "the submission is too long to be read by rule"
