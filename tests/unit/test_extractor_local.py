"""The extractor by rule: simple sentences over registered predicates, and nothing that is guessed."""

from __future__ import annotations

import pytest
from corrigenda_core.domain.ids import PredicateKey
from corrigenda_core.domain.objects import ValueType
from corrigenda_core.domain.predicates import Predicate
from corrigenda_core.domain.submissions import EntityRef
from corrigenda_core.policy.time_words import decide_time_bounds
from corrigenda_core.ports.providers import EvidenceText, ExtractionRequest, ExtractorAnswer, ProviderFailed
from corrigenda_core.providers.extraction_validation import find_extraction_problems
from corrigenda_core.providers.extractor_local import LocalExtractor

DEPLOYS_FROM = Predicate(
    key=PredicateKey("deploys_from"),
    aliases=("deploys from", "is deployed from"),
    subject_kinds=("env",),
    object_kinds=("branch",),
)
DEPLOYS = Predicate(key=PredicateKey("deploys"), subject_kinds=("env",), object_kinds=("service",))
OWNED_BY = Predicate(
    key=PredicateKey("owned_by"), aliases=("is owned by",), subject_kinds=("service",), object_kinds=("team",)
)
STATUS = Predicate(key=PredicateKey("has_status"), subject_kinds=("service",), value_types=(ValueType.TEXT,))
TARGET = Predicate(
    key=PredicateKey("has_latency_target_of"), subject_kinds=("service",), value_types=(ValueType.NUMBER,), unit="ms"
)
LAUNCHED = Predicate(key=PredicateKey("was_launched_on"), subject_kinds=("service",), value_types=(ValueType.DATE,))
ANYTHING = Predicate(key=PredicateKey("relates_to"))
MANY_KINDS = Predicate(
    key=PredicateKey("runs_on"), subject_kinds=("service", "database"), object_kinds=("host",), aliases=("runs on",)
)
ALL = (DEPLOYS_FROM, DEPLOYS, OWNED_BY, STATUS, TARGET, LAUNCHED, ANYTHING, MANY_KINDS)
EXTRACTOR = LocalExtractor(decide_time_bounds)


def read(*texts: str, predicates: tuple[Predicate, ...] = ALL) -> tuple[ExtractionRequest, ExtractorAnswer]:
    request = ExtractionRequest(
        evidence=tuple(EvidenceText(content=text) for text in texts), predicates=predicates, time_zone="Europe/Berlin"
    )
    answer = EXTRACTOR.read(request)
    assert find_extraction_problems(request, answer) == ()
    return request, answer


def statements(*texts: str) -> list[str]:
    """What is proposed, one line a statement, as ``subject[kind] polarity predicate object[kind] | cited``."""
    request, answer = read(*texts)
    entities = {entity.ref: f"{entity.name}[{entity.kind}]" for entity in answer.entities}
    lines = []
    for one in answer.relationships:
        (cited,) = one.spans
        said = entities[one.object.ref] if isinstance(one.object, EntityRef) else one.object.text
        text = request.evidence[cited.evidence_index].content[cited.span.start : cited.span.end]
        lines.append(f"{entities[one.subject_ref]} {one.polarity.value} {one.predicate} {said} | {text}")
    return lines


@pytest.mark.rule("R3.1")
@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("production deploys from main", "production[env] + deploys_from main[branch]"),
        ("The production env deploys from the main branch.", "production[env] + deploys_from main[branch]"),
        ("Since 1 May 2026 production deploys from release-2.1", "production[env] + deploys_from release-2.1[branch]"),
        ("production now deploys from `main`, as agreed", "production[env] + deploys_from main[branch]"),
        ("production is deployed from main", "production[env] + deploys_from main[branch]"),
        ("We confirm that production deploys from main", "production[env] + deploys_from main[branch]"),
        ("production does not deploy from main", "production[env] - deploys_from main[branch]"),
        ("production no longer deploys from main", "production[env] - deploys_from main[branch]"),
        ("The billing service is owned by team Payments.", "billing[service] + owned_by Payments[team]"),
        ("Billing is owned by Payments and Support helps", "Billing[service] + owned_by Payments[team]"),
        ("Card Billing is owned by Payments", "Card Billing[service] + owned_by Payments[team]"),
        ("the card billing service is owned by Payments", "card billing[service] + owned_by Payments[team]"),
        ("Suche is owned by Straße", "Suche[service] + owned_by Straße[team]"),
        ("billing has status degraded.", "billing[service] + has_status degraded"),
        ("billing has latency target of 250 ms", "billing[service] + has_latency_target_of 250 ms"),
    ],
)  # fmt: skip
def test_a_simple_sentence_is_proposed(text: str, stated: str) -> None:
    assert statements(text) == [f"{stated} | {text}"]


@pytest.mark.rule("R3.1")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "\u200b",
        "hello world",
        "does production deploy from main?",
        "production deploys from main?",
        "production will deploy from main",
        "production might deploy from main",
        "Bob says production deploys from main",
        'the log reads "production deploys from main"',
        "production deployed from main",
        "if production deploys from main we are fine",
        "it deploys from main",
        "our production deploys from main",
        "this env deploys from main",
        "an env deploys from main",
        "the env deploys from main",
        "production deploys from it",
        "production deploys from a branch",
        "production deploys from the branch",
        "production deploys from",
        "deploys from main",
        "the head of production deploys from main",
        "production deploys from main. That is no longer true.",
        "East Berlin, production; deploys from main",
        "one two three four five six deploys from main",
        "produktion deploys from nicht main",
        "Frank likes production deploys from main",
        "card billing is owned by Payments",
        "\u3164 deploys from main",
        f"{'x' * 257} deploys from main",
        f"production deploys from {'x' * 60_000}",
        "db1 runs on host7",
        "billing relates to payments",
        "billing has latency target of many ms",
    ],
)
def test_what_is_not_plainly_said_is_not_proposed(text: str) -> None:
    assert statements(text) == []


@pytest.mark.rule("R3.1")
def test_every_sentence_of_every_text_is_read() -> None:
    assert statements(
        "Notes. production deploys from main. staging deploys from trunk!",
        "production deploys from main",
        "billing is owned by Payments\n\n- search is owned by Discovery",
    ) == [
        "production[env] + deploys_from main[branch] | production deploys from main.",
        "staging[env] + deploys_from trunk[branch] | staging deploys from trunk!",
        "production[env] + deploys_from main[branch] | production deploys from main",
        "billing[service] + owned_by Payments[team] | billing is owned by Payments",
        "search[service] + owned_by Discovery[team] | - search is owned by Discovery",
    ]


def test_an_entity_is_named_once_by_kind_and_normal_form() -> None:
    _, answer = read("Production deploys from main. production deploys from MAIN")
    assert [(entity.ref, entity.name) for entity in answer.entities] == [("e1", "Production"), ("e2", "main")]
    assert [one.proposal_id for one in answer.relationships] == ["x1", "x2"]


def test_the_longest_predicate_counts() -> None:
    _, answer = read("production deploys from main", predicates=(DEPLOYS, DEPLOYS_FROM))
    assert [one.predicate for one in answer.relationships] == ["deploys_from"]


def test_a_text_full_of_statements_is_read_up_to_a_bound() -> None:
    _, answer = read(" ".join(f"env{number} deploys from branch{number}." for number in range(300)))
    assert 40 <= len(answer.relationships) <= 100
    assert len(answer.entities) <= 100


def test_a_hostile_text_costs_a_bounded_effort() -> None:
    text = "production deploys from " * 2_700
    assert statements(text) == []


async def test_rules_are_not_asked_twice() -> None:
    request, _ = read("production deploys from main")
    assert (await EXTRACTOR.extract(request)).relationships
    with pytest.raises(ProviderFailed):
        await EXTRACTOR.extract(request, problems=("no",))


def test_a_name_that_runs_over_a_line_is_one() -> None:
    _, answer = read("Card\nBilling is owned by Payments")
    assert [entity.name for entity in answer.entities] == ["Card Billing", "Payments"]
