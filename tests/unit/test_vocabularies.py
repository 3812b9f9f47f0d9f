"""Vocabularies: the shipped ones can be read and are understood, and a file that is none says why."""

from __future__ import annotations

import pytest
from corrigenda_cli.vocabulary import Entry, VocabularyError, parse_vocabulary, shipped_names, vocabulary_text
from corrigenda_core.domain.ids import PredicateKey
from corrigenda_core.domain.objects import ValueType
from corrigenda_core.domain.predicates import Predicate, RelationshipKind
from corrigenda_core.policy.normalisation import decide_predicate_key
from corrigenda_core.policy.time_words import decide_time_bounds
from corrigenda_core.ports.providers import EvidenceText, ExtractionRequest
from corrigenda_core.providers.extractor_local import LocalExtractor
from corrigenda_core.rpc.enums import RELATIONSHIP_KIND, VALUE_TYPE

ENTRIES = [
    pytest.param(name, entry, id=f"{name}:{entry.definition.key}")
    for name in shipped_names()
    for entry in parse_vocabulary(vocabulary_text(name)).entries
]


def predicate_of(entry: Entry) -> Predicate:
    definition = entry.definition
    return Predicate(
        key=PredicateKey(definition.key),
        aliases=tuple(definition.aliases),
        subject_kinds=tuple(definition.subject_kinds),
        object_kinds=tuple(definition.object_kinds),
        value_types=tuple(VALUE_TYPE.to_domain(one) for one in definition.value_types),
        unit=definition.unit,
        kind=RelationshipKind(RELATIONSHIP_KIND.to_domain(definition.relationship_kind)),
    )


@pytest.mark.parametrize(("name", "entry"), ENTRIES)
def test_the_example_of_a_predicate_is_understood_among_all_others(name: str, entry: Entry) -> None:
    request = ExtractionRequest(
        evidence=(EvidenceText(content=entry.example),),
        predicates=tuple(predicate_of(one) for one in parse_vocabulary(vocabulary_text(name)).entries),
    )
    answer = LocalExtractor(decide_time_bounds).read(request)
    assert [one.predicate for one in answer.relationships] == [entry.definition.key]


@pytest.mark.parametrize("name", shipped_names())
def test_no_phrase_of_a_shipped_vocabulary_means_two_predicates(name: str) -> None:
    entries = parse_vocabulary(vocabulary_text(name)).entries
    forms = [
        form
        for entry in entries
        for form in {
            entry.definition.key,
            *(decide_predicate_key(alias, field="alias") for alias in entry.definition.aliases),
        }
    ]
    assert len(set(forms)) == len(forms)
    assert all(entry.says and entry.example for entry in entries)


KEY = 'name = "mine"\n[[predicate]]\nkey = "likes"\n'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name = ", "no TOML"),
        ('name = "mine"', "tables"),
        ('predicate = []\nname = "mine"', "tables"),
        ('name = "mine"\npredicate = [1]', "tables"),
        ('[[predicate]]\nkey = "likes"', "name must be"),
        (f"other = 1\n{KEY}", "unknown: other"),
        ('name = "mine"\n[[predicate]]\nsays = "x"', "key is missing"),
        (f"{KEY}color = 'red'", "unknown: color"),
        (f"{KEY}unit = 3", "unit must be a text"),
        (f"{KEY}aliases = 'likes'", "aliases must be a list of texts"),
        (f"{KEY}aliases = [1]", "aliases must be a list of texts"),
        (f"{KEY}current_cardinality = 'two'", "one of one, many"),
        (f"{KEY}value_types = ['colour']", "value_types must be"),
        (f"{KEY}value_types = 'text'", "value_types must be"),
        (f"{KEY}review_after_days = 0", "review_after_days"),
        (f"{KEY}review_after_days = true", "review_after_days"),
        (f'{KEY}[[predicate]]\nkey = "likes"', "likes stands twice"),
    ],
)
def test_a_file_that_is_no_vocabulary_says_why(text: str, problem: str) -> None:
    with pytest.raises(VocabularyError, match=problem):
        parse_vocabulary(text)


def test_a_file_that_is_not_there_names_what_is() -> None:
    with pytest.raises(VocabularyError, match="software-teams"):
        vocabulary_text("nowhere.toml")


def test_what_is_not_said_has_the_documented_default() -> None:
    (entry,) = parse_vocabulary(f"{KEY}value_types = ['text']").entries
    predicate = predicate_of(entry)
    assert (predicate.kind, predicate.value_types) == (RelationshipKind.STATE, (ValueType.TEXT,))
    assert not entry.definition.HasField("review_after_days")
