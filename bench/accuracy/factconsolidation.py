"""Accuracy on FactConsolidation: numbered facts that contradict each other, of which the later number holds.

A template extractor turns each line into a proposal of one statement, cited from the line, or, where the line's own
order is not the predicate's, from a plain sentence below it. The facts go in by one RememberStream in their order.
Fact n is observed n minutes after the beginning (``occurred_at``), and the predicates take the time of observation for
a known start: so the later number ends what an earlier one said of the same slot.

A direct question is read by the same templates and asked of Recall once. An indirect one is read by the cues of the
templates: from the entity that it names, a chain of recalled facts is followed that uses every cue.

    python3 dev.py bench accuracy factconsolidation --data DIR [--sizes 6k 32k] [--json]

DIR holds ``factconsolidation/`` (factconsolidation.json), or is that folder itself.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from chains import asked_predicates, chains, named_in
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2, submission_pb2
from corrigenda.type.v1 import evidence_pb2, predicate_pb2, relationship_pb2
from corrigenda_core.rpc.convert import timestamp_of
from fact_templates import TEMPLATES, Fact, read_fact, read_question
from throw_away_team import KIND, AccuracyTeam, day_before, state, throw_away_team

SIZES = ("6k", "32k")
BEGINNING = datetime(2020, 1, 1, tzinfo=UTC)
STEP = timedelta(minutes=1)
WRONG_SHOWN = 100
BY_KEY = {template.key: template for template in TEMPLATES}
CUES = {template.key: template.cues for template in TEMPLATES}


def definitions() -> list[predicate_pb2.PredicateDefinition]:
    """One predicate for each template: of each slot one value holds, and observation orders them."""
    return [
        state(template.key, template.phrase, predicate_pb2.SUPERSESSION_BASIS_OBSERVED_TIME) for template in TEMPLATES
    ]


def submission(fact: Fact) -> ingest_service_pb2.RememberRequest:
    """One fact as it is remembered."""
    text = fact.line if fact.line == fact.sentence else f"{fact.line}\n{fact.sentence}"
    return ingest_service_pb2.RememberRequest(
        idempotency_key=f"fact {fact.number}",
        evidence=[
            submission_pb2.EvidenceItem(
                content=text,
                source_type=evidence_pb2.SOURCE_TYPE_DOCUMENT,
                occurred_at=timestamp_of(BEGINNING + fact.number * STEP),
            )
        ],
        proposal=submission_pb2.Proposal(
            entities=[
                submission_pb2.ProposedEntity(ref="subject", name=fact.subject, entity_kind=KIND),
                submission_pb2.ProposedEntity(ref="object", name=fact.object, entity_kind=KIND),
            ],
            relationships=[
                submission_pb2.ProposedRelationship(
                    proposal_id="statement",
                    subject_ref="subject",
                    predicate=fact.template.key,
                    object_ref="object",
                    polarity=relationship_pb2.POLARITY_POSITIVE,
                    modality=relationship_pb2.MODALITY_STATEMENT,
                    evidence=[submission_pb2.Citation(start=len(text) - len(fact.sentence), end=len(text))],
                )
            ],
        ),
    )


async def remember(team: AccuracyTeam, facts: Sequence[Fact]) -> tuple[dict[str, int], list[dict[str, str]]]:
    """Streams the facts; the count of each outcome, and those that are not placed with the reason."""

    async def requests() -> AsyncIterator[ingest_service_pb2.RememberStreamRequest]:
        for fact in facts:
            yield ingest_service_pb2.RememberStreamRequest(submission=submission(fact))

    outcomes: dict[str, int] = {}
    left: list[dict[str, str]] = []
    async for result in team.agent.ingest.RememberStream(requests()):
        team.agent.seen_revision = max(team.agent.seen_revision, result.revision)
        if result.WhichOneof("result") == "refusal":
            outcome, reason = "refused", result.refusal.message
        else:
            (placement,) = result.response.placement.relationships
            outcome = placement_pb2.Outcome.Name(placement.outcome).removeprefix("OUTCOME_").lower()
            reason = "" if placement.HasField("relationship") else placement.reason or placement.verdict_reason
            if outcome == "pending_evidence":
                reason = placement.verdict_reason
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        if reason:
            left.append({"line": facts[result.index].line, "outcome": outcome, "reason": reason})
    return outcomes, left


class Asking:
    """Answers questions from the team's memory."""

    def __init__(self, team: AccuracyTeam) -> None:
        self._team = team

    async def direct(self, question: str) -> list[str]:
        """The object of the slot that a direct question names, from one Recall of the question."""
        read = read_question(question)
        if read is None:
            return []
        subject, template = read
        return [
            one.object.entity.name
            for one in await self._team.recall(question)
            if one.predicate == template.key and is_same(one.subject.name, subject)
        ]

    async def indirect(self, question: str) -> list[str]:
        """The ends of the chain that the question asks for, from the longest name in it that begins one."""
        found = await self._team.recall(question)
        names = {one.subject.name for one in found} | {one.object.entity.name for one in found}
        for name in named_in(question, names):
            ends = await chains(name, asked_predicates(question, name, CUES), self._objects)
            if ends:
                return list(dict.fromkeys(chain.end for chain in ends))
        return []

    async def _objects(self, name: str, predicate: str) -> list[str]:
        return [
            one.object.entity.name
            for one in await self._team.recall(f"{name} {BY_KEY[predicate].phrase}")
            if one.predicate == predicate and is_same(one.subject.name, name)
        ]


def is_same(name: str, other: str) -> bool:
    return " ".join(name.split()).casefold() == " ".join(other.split()).casefold()


def is_right(answer: Sequence[str], gold: Sequence[str]) -> bool:
    """Exactly one answer, and it is one of the gold answers but for case, articles and punctuation."""
    return len(answer) == 1 and _plain(answer[0]) in {_plain(text) for text in gold}


def _plain(text: str) -> str:
    words = re.findall(r"[^\W_]+", text.casefold())
    return " ".join(word for word in words if word not in {"a", "an", "the"})


def score(questions: Sequence[str], answers: Sequence[Sequence[str]], golds: Iterable[Sequence[str]]) -> dict[str, Any]:
    """How many questions are answered at all, and how many rightly; what was answered where it is wrong."""
    judged = list(zip(questions, answers, golds, strict=True))
    wrong = [(question, answer, gold) for question, answer, gold in judged if not is_right(answer, gold)]
    return {
        "questions": len(judged),
        "answered": sum(bool(answer) for _, answer, _ in judged),
        "right": len(judged) - len(wrong),
        "wrong": [
            {"question": question, "answer": list(answer), "gold": list(gold)}
            for question, answer, gold in wrong[:WRONG_SHOWN]
        ],
    }


async def run(sets: Mapping[str, Mapping[str, Any]], size: str) -> dict[str, Any]:
    """Remembers the facts of one size and asks the questions of both kinds."""
    single, multi = sets[f"factconsolidation_sh_{size}"], sets[f"factconsolidation_mh_{size}"]
    if single["context"] != multi["context"]:
        raise ValueError(f"the two kinds of questions of {size} are about different facts")
    numbered = [line for line in single["context"].split("\n")[1:] if line]
    facts = [fact for line in numbered if (fact := read_fact(line))]
    async with throw_away_team(definitions(), driven_from=day_before(BEGINNING)) as team:
        await team.drive(BEGINNING + (len(numbered) + 1) * STEP)
        outcomes, left = await remember(team, facts)
        await team.searchable()
        asking = Asking(team)
        direct = [await asking.direct(question) for question in single["questions"]]
        indirect = [await asking.indirect(question) for question in multi["questions"]]
    return {
        "facts": len(numbered),
        "read": len(facts),
        "outcomes": outcomes,
        "not_placed": left,
        "single_hop": score(single["questions"], direct, single["answers"]),
        "multi_hop": score(multi["questions"], indirect, multi["answers"]),
    }


def readable(result: Mapping[str, Mapping[str, Any]]) -> str:
    shown = []
    for size, figures in result.items():
        for kind in ("single_hop", "multi_hop"):
            one = figures[kind]
            shown.append(
                f"{size:>4} {kind:10} {one['right']:>3} of {one['questions']} right, {one['answered']} answered"
            )
        shown.append(f"{'':4} {figures['read']} of {figures['facts']} facts read: {figures['outcomes']}")
    return "\n".join(shown)


def main() -> int:
    parser = argparse.ArgumentParser(description="Accuracy on FactConsolidation, through the gRPC API.")
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds factconsolidation/, or that")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=SIZES, help="which sizes to run")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    inner = options.data / "factconsolidation"
    file = (inner if inner.is_dir() else options.data) / "factconsolidation.json"
    if not file.is_file():
        print(f"there is no FactConsolidation data in {options.data}", file=sys.stderr)
        return 2
    sets = {one["source"]: one for one in json.loads(file.read_text(encoding="utf-8"))}
    result = {size: asyncio.run(run(sets, size)) for size in options.sizes}
    print(json.dumps(result) if options.json else readable(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
