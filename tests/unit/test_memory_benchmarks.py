"""The readers and the scores of the two memory benchmarks, on made-up lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "bench" / "accuracy"


@pytest.fixture(scope="module", autouse=True)
def scripts_can_be_imported() -> Iterator[None]:
    sys.path.insert(0, str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))


def module(name: str) -> ModuleType:
    return __import__(name)


@pytest.mark.parametrize(
    ("line", "subject", "key", "object_", "sentence"),
    [
        ("0. Ada Lark was born in the city of Fenmoor.", "Ada Lark", "born_in", "Fenmoor", None),
        ("7. The author of Of Is is J. Doe Jr..", "Of Is", "author", "J. Doe Jr.", "Of Is has the author J. Doe Jr.."),
        ("12. Ada Lark's child is Bo.", "Ada Lark", "child", "Bo", "Ada Lark has the child Bo."),
    ],
)  # fmt: skip
def test_a_fact_line_is_read_by_its_form(line: str, subject: str, key: str, object_: str, sentence: str | None) -> None:
    fact = module("fact_templates").read_fact(line)
    assert (fact.subject, fact.template.key, fact.object) == (subject, key, object_)
    assert f"{fact.number}. {fact.line}" == line
    assert fact.sentence == (sentence or fact.line)


@pytest.mark.parametrize("line", ["Ada Lark was born in the city of Fenmoor.", "3. Ada Lark likes Fenmoor."])
def test_a_line_of_no_known_form_is_not_read(line: str) -> None:
    assert module("fact_templates").read_fact(line) is None


def test_every_template_reads_its_own_fact_and_its_own_question() -> None:
    templates = module("fact_templates")
    for template in templates.TEMPLATES:
        line = "1. " + template.fact.format(x="Ada", y="Bo")
        assert templates.read_fact(line).template is template
        assert templates.read_question(template.asked.format(x="Ada")) == ("Ada", template)


@pytest.mark.parametrize(
    ("answer", "gold", "right"),
    [
        (["Fenmoor"], {"kind": "value", "value": "fenmoor"}, True),
        (["FM"], {"kind": "value", "value": "Fenmoor", "aliases": ["FM"]}, True),
        (["Fenmoor", "Lark"], {"kind": "value", "value": "Fenmoor"}, False),
        ([], {"kind": "value", "value": "Fenmoor"}, False),
        (["B", "A"], {"kind": "set", "values": ["a", "b"]}, True),
        (["A"], {"kind": "set", "values": ["a", "b"]}, False),
        (["2026-03-01"], {"kind": "date", "value": "2026-03-01"}, True),
        (["2026-03-02"], {"kind": "date", "value": "2026-03-01"}, False),
        ([], {"kind": "none"}, True),
        (["A"], {"kind": "none"}, False),
    ],
)
def test_agent_memory_is_scored_exactly(answer: Sequence[str], gold: dict[str, Any], right: bool) -> None:
    assert module("agent_memory").is_right(frozenset(answer), gold) is right


@pytest.mark.parametrize(
    ("answer", "gold", "right"),
    [
        (["The Lark, Inc."], ["Lark Inc"], True),
        (["Lark"], ["Lark Inc", "Lark"], True),
        (["Larks"], ["Lark"], False),
        (["Lark", "Finch"], ["Lark"], False),
        ([], ["Lark"], False),
    ],
)
def test_factconsolidation_is_scored_by_the_only_answer(answer: list[str], gold: list[str], right: bool) -> None:
    assert module("factconsolidation").is_right(answer, gold) is right


def test_a_slot_holds_what_starts_last_and_of_many_everything() -> None:
    told = [
        ("ada", "lives_in", "Wick", "2026-01-01", "2026-01-02"),
        ("ada", "lives_in", "Fenmoor", "2026-03-01", "2026-03-01"),
        # Told late, of an earlier time; then another value for the very start of the last one, recorded later.
        ("ada", "lives_in", "Lark", "2026-02-01", "2026-04-01"),
        ("bo", "lives_in", "Wick", "2026-01-01", "2026-01-02"),
        ("bo", "lives_in", "Lark", "2026-01-01", "2026-01-03"),
        ("bo", "speaks", "Dutch", "2026-01-01", "2026-01-03"),
        ("bo", "speaks", "Czech", "2026-01-01", "2026-01-03"),
    ]
    keys = ("subject", "predicate", "object", "valid_from", "recorded_at")
    metadata = {"predicates": {"lives_in": {"cardinality": "one"}, "speaks": {"cardinality": "many"}}}
    slots = module("agent_memory").slots_of([dict(zip(keys, one, strict=True)) for one in told], metadata)
    assert slots == {
        ("ada", "lives_in"): {"Fenmoor"},
        ("bo", "lives_in"): {"Lark"},
        ("bo", "speaks"): {"Dutch", "Czech"},
    }


@pytest.mark.parametrize("script", ["agent_memory", "factconsolidation"])
def test_a_folder_without_the_data_is_said(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [script, "--data", str(tmp_path)])
    assert module(script).main() == 2
    assert str(tmp_path) in capsys.readouterr().err


FACTS = {
    ("Bluebook", "author"): ["Ada"],
    ("Ada", "married_to"): ["Bo"],
    ("Bo", "born_in"): ["Fenmoor"],
    ("Ada", "born_in"): ["Wick"],
    ("Bluebook", "born_in"): [],
}


@pytest.mark.parametrize(
    ("question", "ends"),
    [
        ("Where was the spouse of the author of Bluebook born?", ["Fenmoor"]),
        ("What is the birthplace of Bluebook's author?", ["Wick"]),
        ("Where did the author of Bluebook die?", []),
        ("What of Bluebook?", []),
    ],
)
async def test_a_question_is_a_chain_that_uses_all_its_cues(question: str, ends: list[str]) -> None:
    chains, templates = module("chains"), module("fact_templates")
    cues = {template.key: template.cues for template in templates.TEMPLATES}

    async def neighbours(name: str, predicate: str) -> list[str]:
        return FACTS.get((name, predicate), [])

    (named,) = chains.named_in(question, ["Bluebook", "Blue", "Ada"])
    asked = chains.asked_predicates(question, named, cues)
    assert [chain.end for chain in await chains.chains(named, asked, neighbours)] == ends
