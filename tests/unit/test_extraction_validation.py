"""No extractor is believed: what it proposes is checked field by field, asked for again, and given up in the end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from corrigenda_core.domain.ids import ConflictId, EntityId, PredicateKey, ProposalId, RelationshipId
from corrigenda_core.domain.objects import ValueType
from corrigenda_core.domain.predicates import Predicate
from corrigenda_core.domain.submissions import (
    ConflictContext,
    CorrectionTarget,
    EntityRef,
    ProposedEntity,
    ProposedRelationship,
    ProposedValue,
)
from corrigenda_core.domain.time import TextSpan
from corrigenda_core.domain.verification import CitedSpan
from corrigenda_core.ports.providers import (
    EvidenceText,
    ExtractionRequest,
    ExtractorAnswer,
    ProviderFailed,
    UnusableAnswer,
)
from corrigenda_core.providers.extraction_validation import (
    MAX_PROBLEMS,
    ExtractorUnavailable,
    ValidatedExtractor,
    find_extraction_problems,
)
from corrigenda_core.testing.slots import day

TEXT = "production deploys from main and billing costs 12 EUR"
REQUEST = ExtractionRequest(
    evidence=(EvidenceText(content=TEXT),),
    predicates=(
        Predicate(key=PredicateKey("deploys_from"), subject_kinds=("environment",), object_kinds=("git branch",)),
        Predicate(key=PredicateKey("costs"), value_types=(ValueType.NUMBER,), unit="EUR"),
        Predicate(key=PredicateKey("relates_to")),
    ),
)


def cited(start: int = 0, end: int = len(TEXT), index: int = 0) -> CitedSpan:
    return CitedSpan(evidence_index=index, span=TextSpan(start=start, end=end))


ENTITIES = (
    ProposedEntity(ref="e1", name="Production", kind="environment"),
    ProposedEntity(ref="e2", name="main", kind="git branch"),
)
STATED = ProposedRelationship(
    proposal_id=ProposalId("x1"),
    subject_ref="e1",
    predicate="deploys_from",
    object=EntityRef(ref="e2"),
    spans=(cited(),),
)
GOOD = ExtractorAnswer(extractor="a model", entities=ENTITIES, relationships=(STATED,))
COSTS = replace(STATED, predicate="costs", object=ProposedValue(type=ValueType.NUMBER, text="12 EUR"))


def stated(**more: Any) -> ExtractorAnswer:
    return replace(GOOD, relationships=(replace(STATED, **more),))


def entity(**more: Any) -> ExtractorAnswer:
    return replace(GOOD, entities=(replace(ENTITIES[0], **more), ENTITIES[1]))


def valued(value: ProposedValue) -> ExtractorAnswer:
    return replace(GOOD, entities=ENTITIES[:1], relationships=(replace(COSTS, object=value),))


@pytest.mark.parametrize(
    "answer",
    [
        GOOD,
        ExtractorAnswer(extractor="a model"),
        valued(ProposedValue(type=ValueType.NUMBER, text="12 EUR")),
        stated(predicate="relates_to"),
    ],
)
def test_a_valid_proposal_has_no_problem(answer: ExtractorAnswer) -> None:
    assert find_extraction_problems(REQUEST, answer) == ()


@pytest.mark.rule("R3.1")
@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (replace(GOOD, extractor=""), "name itself"),
        (replace(GOOD, extractor="x" * 129), "name itself"),
        (replace(GOOD, entities=ENTITIES * 51), "at most 100 entities"),
        (replace(GOOD, relationships=(STATED,) * 201), "at most 200 relationships"),
        (replace(GOOD, entities=(*ENTITIES, ENTITIES[0])), "every ref"),
        (replace(GOOD, relationships=(STATED, STATED)), "every proposal_id"),
        (replace(GOOD, entities=(*ENTITIES, replace(ENTITIES[0], ref="e3"))), "no relationship uses it"),
        (entity(ref="e" * 65), "reference_name"),
        (entity(name=""), "name must have"),
        (entity(name="\u200b"), "visible"),
        (entity(name="n" * 257), "name must have"),
        (entity(name="staging"), "stand in the cited text"),
        (replace(GOOD, extractor="x\x00"), "name of the extractor must have no NUL"),
        # Their normal forms are those of a name in the text and of a kind that the predicate takes.
        (entity(name="Produc\x00tion"), "name must have no NUL"),
        (entity(name="Produc\ud800tion"), "no unpaired surrogate"),
        (entity(kind="environ\x00ment"), "entity_kind must have no NUL"),
        (stated(proposal_id=ProposalId("x\x00")), "proposal_id must have no NUL"),
        (valued(ProposedValue(type=ValueType.NUMBER, text="1\x002 EUR")), "a value must have no NUL"),
        (entity(kind="k" * 65), "entity_kind"),
        (entity(kind="person"), "of kind environment"),
        (entity(aliases=("prod",)), "only a name"),
        (entity(context=(("a", "b"),)), "only a name"),
        (entity(known_entity_id=EntityId("e")), "only a name"),
        (stated(proposal_id=ProposalId("")), "proposal_id"),
        (stated(subject_ref="nobody"), "names no entity"),
        (stated(object=EntityRef(ref="nobody")), "names no entity"),
        (stated(predicate="deletes"), "none of those offered"),
        (stated(polarity="maybe"), "polarity"),
        (stated(modality="rumour"), "modality"),
        (stated(scope="eu"), "author's to state"),
        (stated(comment="hello"), "author's to state"),
        (stated(valid_from=day("1 Mar")), "author's to state"),
        (stated(correction_target=CorrectionTarget(relationship_id=RelationshipId("r"))), "author's to state"),
        (stated(conflict_context=ConflictContext(conflict_id=ConflictId("c"))), "author's to state"),
        (stated(spans=()), "passages must be cited"),
        (stated(spans=(cited(),) * 21), "passages must be cited"),
        (stated(spans=(cited(index=1),)), "evidence_index"),
        (stated(spans=(cited(end=len(TEXT) + 1),)), "inside its text"),
        (stated(spans=(cited(end=5),)), "stand in the cited text"),
        (stated(predicate="costs"), "takes a value"),
        (stated(object=ProposedValue(type=ValueType.TEXT, text="main")), "takes an entity"),
        (valued(ProposedValue(type=ValueType.TEXT, text="12")), "must be number"),
        (valued(ProposedValue(type=ValueType.NUMBER, text="many")), "is no number"),
        (valued(ProposedValue(type=ValueType.NUMBER, text="1" * 300)), "a value must have"),
    ],
)
def test_an_invalid_proposal_says_what_is_wrong(answer: ExtractorAnswer, problem: str) -> None:
    problems = find_extraction_problems(REQUEST, answer)
    assert any(problem in one for one in problems), problems


def test_problems_are_bounded_and_quote_nothing() -> None:
    many = [replace(STATED, proposal_id=ProposalId(f"x{n}"), predicate=f"secret{n}") for n in range(100)]
    problems = find_extraction_problems(REQUEST, replace(GOOD, relationships=tuple(many)))
    assert len(problems) == MAX_PROBLEMS
    assert not any("secret" in problem for problem in problems)


@dataclass
class Scripted:
    """An extractor that answers what it is told to and keeps what it was asked with."""

    script: Sequence[ExtractorAnswer | Exception | None]
    problems: list[tuple[str, ...]] = field(default_factory=list)
    closed: bool = False

    async def extract(self, request: ExtractionRequest, *, problems: tuple[str, ...] = ()) -> ExtractorAnswer:
        self.problems.append(problems)
        answer = self.script[len(self.problems) - 1]
        if isinstance(answer, Exception):
            raise answer
        if answer is None:
            await asyncio.Event().wait()
        assert answer is not None
        return answer

    async def close(self) -> None:
        self.closed = True


async def asked(
    script: Sequence[ExtractorAnswer | Exception | None], request: ExtractionRequest = REQUEST, retries: int = 3
) -> tuple[Scripted, object]:
    extractor = Scripted(script)
    return extractor, await ValidatedExtractor(extractor, call_timeout_seconds=0.05, retries=retries).extract(request)


async def test_a_refused_proposal_is_asked_for_again_with_the_reason() -> None:
    wrong = stated(predicate="deletes")
    extractor, answer = await asked([wrong, UnusableAnswer("no JSON"), ProviderFailed("busy"), GOOD])
    assert answer == GOOD
    refused = find_extraction_problems(REQUEST, wrong)
    assert extractor.problems == [(), refused, ("no JSON",), ("no JSON",)]


@pytest.mark.parametrize(
    ("script", "problem"),
    [([ProviderFailed("busy")] * 4, "busy"), ([None] * 4, "no answer in time"), ([UnusableAnswer("bad")] * 4, "bad")],
)
async def test_what_stays_unusable_is_given_up(
    script: Sequence[ExtractorAnswer | Exception | None], problem: str
) -> None:
    assert (await asked(script))[1] == ExtractorUnavailable(problems=(problem,), calls=4)


@pytest.mark.parametrize(
    "request_", [replace(REQUEST, predicates=()), replace(REQUEST, evidence=(EvidenceText(content=""),))]
)
async def test_nothing_to_read_needs_no_call(request_: ExtractionRequest) -> None:
    extractor, answer = await asked([], request_)
    assert answer == ExtractorAnswer(extractor="")
    assert extractor.problems == []


async def test_closing_releases_the_extractor() -> None:
    extractor = Scripted([])
    await ValidatedExtractor(extractor, call_timeout_seconds=1.0).close()
    assert extractor.closed


def test_more_retries_than_allowed_are_refused() -> None:
    with pytest.raises(ValueError, match="retries"):
        ValidatedExtractor(Scripted([]), call_timeout_seconds=1.0, retries=4)
