"""Accuracy on Agent Memory Benchmark v1: 262 events by record time, 100 questions, scored exactly.

One agent keeps the memory and reads many sources: it is one author, so what it remembers is one timeline, and each
source is a source group of its evidence. (One profile for each source would ask another question, that of a team whose
members disagree; there a newer report of one source does not end what another one said.) The clock is driven to each
event's record time. The evidence is the event's text with a plain sentence in the predicate's words below it. Before it
remembers, the agent asks `PreflightRemember`: where the memory would hold the statement against one that starts at the
same moment, the later record corrects that one, and the agent says so by `correction_target`.

A question with a ``probe`` names its slot. What holds is read from Recall at the asked point of both time axes, what
ever held and when from Timeline, who said so from Trace. The others are read by the cues of the predicates alone. The
questions pass over most events, so every slot is asked for what it holds now as well.

    python3 dev.py bench accuracy agent_memory --data DIR [--json]

DIR holds ``agent_memory_benchmark/`` (events.jsonl, questions.jsonl, metadata.json), or is that folder itself.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from chains import asked_predicates, chains, named_in
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2, submission_pb2
from corrigenda.recall.v1 import recall_service_pb2, timeline_pb2
from corrigenda.type.v1 import evidence_pb2, predicate_pb2, relationship_pb2, time_pb2
from corrigenda_core.rpc.convert import instant_of, timestamp_of
from throw_away_team import KIND, AccuracyTeam, day_before, state, throw_away_team

Answer = frozenset[str]
"""What was answered; empty: nothing is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """How evidence says a predicate, and by which words a question asks for it."""

    phrase: str
    cues: tuple[str, ...]


WORDS = {
    "lives_in": Words(phrase="lives in", cues=("live", "lives", "lived", "living")),
    "job_title": Words(phrase="has the job title", cues=("job title",)),
    "works_at": Words(phrase="works at", cues=("works at", "employer", "employed")),
    "works_on": Words(phrase="works on", cues=("works on", "assigned to")),
    "plan": Words(phrase="is on the plan", cues=("plan", "plans")),
    "datastore": Words(phrase="uses the datastore", cues=("datastore", "datastores")),
    "auth_strategy": Words(phrase="uses the authentication strategy", cues=("authentication strategy",)),
    "deploy_region": Words(phrase="is deployed to", cues=("deployed to", "deployment region", "region")),
    "owned_by": Words(phrase="is owned by", cues=("owned by", "owns", "owner")),
    "team_lead": Words(phrase="is led by", cues=("leads", "led", "lead")),
    "hq_city": Words(phrase="is headquartered in", cues=("headquartered", "headquarters")),
    "born_in": Words(phrase="was born in", cues=("born", "birthplace")),
    "favourite_editor": Words(phrase="uses the editor", cues=("editor",)),
    "status": Words(phrase="has the status", cues=("status",)),
    "speaks": Words(phrase="speaks", cues=("speak", "speaks", "spoken", "languages")),
}

IN_FORCE_ONCE = {
    relationship_pb2.RELATIONSHIP_STATUS_ACTIVE,
    relationship_pb2.RELATIONSHIP_STATUS_COMPETING,
    relationship_pb2.RELATIONSHIP_STATUS_SUPERSEDED,
}


def definitions(metadata: Mapping[str, Any]) -> list[predicate_pb2.PredicateDefinition]:
    """The benchmark's predicates: its events say from when on they hold, so a stated start is a known one."""
    cardinalities = {"one": predicate_pb2.CARDINALITY_ONE, "many": predicate_pb2.CARDINALITY_MANY}
    return [
        state(
            key,
            WORDS[key].phrase,
            predicate_pb2.SUPERSESSION_BASIS_STATED_TIME,
            cardinalities[policy["cardinality"]],
        )
        for key, policy in metadata["predicates"].items()
    ]


def submission(event: Mapping[str, Any]) -> ingest_service_pb2.RememberRequest:
    """One event as the agent remembers it."""
    sentence = f"{event['subject']} {WORDS[event['predicate']].phrase} {event['object']}."
    text = f"{event['text']}\n{sentence}"
    return ingest_service_pb2.RememberRequest(
        idempotency_key=event["id"],
        evidence=[
            submission_pb2.EvidenceItem(
                content=text,
                source_type=evidence_pb2.SOURCE_TYPE_OBSERVATION,
                source_group=event["source"],
                # A report of its own: else a source that says the same words again, after others, only repeats itself.
                source_key=event["id"],
                source_revision="1",
                confidence=event["confidence"],
            )
        ],
        proposal=submission_pb2.Proposal(
            entities=[
                submission_pb2.ProposedEntity(ref="subject", name=event["subject"], entity_kind=KIND),
                submission_pb2.ProposedEntity(ref="object", name=event["object"], entity_kind=KIND),
            ],
            relationships=[
                submission_pb2.ProposedRelationship(
                    proposal_id="statement",
                    subject_ref="subject",
                    predicate=event["predicate"],
                    object_ref="object",
                    polarity=relationship_pb2.POLARITY_POSITIVE,
                    modality=relationship_pb2.MODALITY_STATEMENT,
                    validity=time_pb2.Interval(valid_from=timestamp_of(moment(event["valid_from"]))),
                    evidence=[submission_pb2.Citation(start=len(text) - len(sentence), end=len(text))],
                )
            ],
        ),
    )


async def remember(team: AccuracyTeam, event: Mapping[str, Any]) -> str:
    """Remembers one event and returns what became of it."""
    request = submission(event)
    planned = await team.agent.ingest.PreflightRemember(
        ingest_service_pb2.PreflightRememberRequest(evidence=request.evidence, proposal=request.proposal)
    )
    (placement,) = planned.placement.relationships
    if placement.outcome == placement_pb2.OUTCOME_HELD:
        (target,) = placement.opposing_relationship_ids
        request.proposal.relationships[0].correction_target.relationship_id = target
    else:
        request.verification_token = planned.verification_token
    answer = await team.agent.ingest.Remember(request)
    outcome: str = placement_pb2.Outcome.Name(answer.placement.relationships[0].outcome)
    return outcome.removeprefix("OUTCOME_").lower()


class Asking:
    """Answers questions of the benchmark from the team's memory."""

    def __init__(self, team: AccuracyTeam) -> None:
        self._team = team

    async def answer(self, question: Mapping[str, Any]) -> Answer:
        """What the memory says to one question."""
        temporal = time_pb2.TemporalSelector()
        if "at" in question:
            temporal.valid_at.CopyFrom(timestamp_of(moment(question["at"])))
        if "known_at" in question:
            temporal.known_at.CopyFrom(timestamp_of(moment(question["known_at"])))
        if "probe" not in question:
            return await self._read(question["question"], temporal)
        subject, predicate = question["probe"]
        if "about" in question:
            return await self._about(question, subject, predicate)
        if question["category"] == "change_detection":
            entries = await self._timeline(subject, predicate)
            return frozenset(name_of(entry) for entry in entries if ever_held(entry))
        return frozenset(await self._objects(subject, predicate, temporal))

    async def holds_now(self, subject: str, predicate: str) -> Answer:
        """What Recall finds of one slot now."""
        return frozenset(await self._objects(subject, predicate, time_pb2.TemporalSelector()))

    async def _objects(self, subject: str, predicate: str, temporal: time_pb2.TemporalSelector) -> list[str]:
        found = await self._team.recall(f"{subject} {WORDS[predicate].phrase}", temporal)
        return [one.object.entity.name for one in found if one.predicate == predicate and one.subject.name == subject]

    async def _subjects(self, object_: str, predicate: str, temporal: time_pb2.TemporalSelector) -> list[str]:
        found = await self._team.recall(f"{WORDS[predicate].phrase} {object_}", temporal)
        return [one.subject.name for one in found if one.predicate == predicate and one.object.entity.name == object_]

    async def _read(self, question: str, temporal: time_pb2.TemporalSelector) -> Answer:
        """Follows the chain that the question's words ask for, from the entity that it names."""

        async def neighbours(name: str, predicate: str) -> Sequence[str]:
            forward = await self._objects(name, predicate, temporal)
            return forward or await self._subjects(name, predicate, temporal)

        found = await self._team.recall(question, temporal)
        names = {one.subject.name for one in found} | {one.object.entity.name for one in found}
        cues = {predicate: words.cues for predicate, words in WORDS.items()}
        for name in named_in(question, names):
            ends = await chains(name, asked_predicates(question, name, cues), neighbours)
            if ends:
                return frozenset(chain.end for chain in ends)
        return frozenset()

    async def _about(self, question: Mapping[str, Any], subject: str, predicate: str) -> Answer:
        """When one value began to hold, when it was recorded, or who said so first."""
        about = question["about"]
        entries = [entry for entry in await self._timeline(subject, predicate) if name_of(entry) == about]
        if not entries:
            return frozenset()
        relationships = [entry.relationship.relationship for entry in entries]
        match question["category"]:
            case "change_time":
                started = [one.validity.interval.valid_from for one in relationships if is_living(one)]
                return frozenset({day_of(started[0])}) if started else frozenset()
            case "knowledge_time":
                first = min(relationships, key=lambda one: instant_of(one.first_recorded_at))
                return frozenset({day_of(first.first_recorded_at)})
            case "provenance":
                evidence = [text for one in relationships for text in await self._evidence(one.relationship_id)]
                return frozenset({min(evidence, key=lambda text: text.revision).source_group})
            case other:
                raise ValueError(f"no such question about one value: {other}")

    async def _timeline(self, subject: str, predicate: str) -> list[timeline_pb2.TimelineEntry]:
        found = await self._team.agent.recall.SearchEntities(
            recall_service_pb2.SearchEntitiesRequest(name=subject, entity_kind=KIND)
        )
        ids = [one.entity.entity_id for one in found.entities if one.entity.name == subject]
        if not ids:
            return []
        answer = await self._team.agent.recall.Timeline(
            recall_service_pb2.TimelineRequest(entity_id=ids[0], predicate=predicate, page_size=200)
        )
        return list(answer.entries)

    async def _evidence(self, relationship_id: str) -> list[evidence_pb2.Evidence]:
        answer = await self._team.agent.recall.Trace(recall_service_pb2.TraceRequest(relationship_id=relationship_id))
        return list(answer.evidence)


def name_of(entry: timeline_pb2.TimelineEntry) -> str:
    name: str = entry.relationship.relationship.object.entity.name
    return name


def is_living(relationship: relationship_pb2.Relationship) -> bool:
    return relationship.status in IN_FORCE_ONCE and relationship.validity.HasField("interval")


def ever_held(entry: timeline_pb2.TimelineEntry) -> bool:
    return is_living(entry.relationship.relationship)


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def day_of(timestamp: Any) -> str:
    return instant_of(timestamp).date().isoformat()


def is_right(answer: Answer, gold: Mapping[str, Any]) -> bool:
    """The exact score: one value or an alias of it, the whole set, the day, or nothing."""
    given = {text.casefold() for text in answer}
    match gold["kind"]:
        case "none":
            return not given
        case "set":
            return given == {text.casefold() for text in gold["values"]}
        case "value" | "date":
            accepted = {text.casefold() for text in (gold["value"], *gold.get("aliases", ()))}
            return len(given) == 1 and given <= accepted
        case other:
            raise ValueError(f"no such kind of answer: {other}")


def summary(
    questions: Sequence[Mapping[str, Any]], answers: Sequence[Answer], dimensions: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """How many are right, over all and by dimension, and what was answered where it is wrong."""
    judged = [
        (question, answer, is_right(answer, question["gold"]))
        for question, answer in zip(questions, answers, strict=True)
    ]
    return {
        "questions": len(judged),
        "right": sum(right for _, _, right in judged),
        "dimensions": {
            dimension: {
                "questions": sum(question["category"] in categories for question, _, _ in judged),
                "right": sum(right for question, _, right in judged if question["category"] in categories),
            }
            for dimension, categories in dimensions.items()
        },
        "wrong": [
            {"id": question["id"], "question": question["question"], "answer": sorted(answer), "gold": question["gold"]}
            for question, answer, right in judged
            if not right
        ],
    }


def slots_of(events: Iterable[Mapping[str, Any]], metadata: Mapping[str, Any]) -> dict[tuple[str, str], Answer]:
    """What each slot holds after all events: every value it ever had, or the one that starts last, the later record
    where several start together."""
    slots: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for event in events:
        slots.setdefault((event["subject"], event["predicate"]), []).append(event)
    held = {}
    for slot, told in slots.items():
        last = max(told, key=lambda event: (moment(event["valid_from"]), moment(event["recorded_at"])))
        one = metadata["predicates"][slot[1]]["cardinality"] == "one"
        held[slot] = frozenset({last["object"]} if one else {event["object"] for event in told})
    return held


async def run(folder: Path) -> dict[str, Any]:
    """Remembers all events, asks all questions."""
    metadata = json.loads((folder / "metadata.json").read_text(encoding="utf-8"))
    events = sorted(lines(folder / "events.jsonl"), key=lambda event: moment(event["recorded_at"]))
    questions = lines(folder / "questions.jsonl")
    outcomes: dict[str, int] = {}
    async with throw_away_team(definitions(metadata), driven_from=day_before(moment(events[0]["recorded_at"]))) as team:
        for event in events:
            await team.drive(moment(event["recorded_at"]))
            outcome = await remember(team, event)
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
        await team.drive(moment(metadata["evaluated_at"]))
        await team.searchable()
        asking = Asking(team)
        answers = [await asking.answer(question) for question in questions]
        slots = slots_of(events, metadata)
        recalled = {slot: await asking.holds_now(*slot) for slot in slots}
    return {
        "events": len(events),
        "outcomes": outcomes,
        "slots": {"slots": len(slots), "right": sum(recalled[slot] == held for slot, held in slots.items())},
        **summary(questions, answers, metadata["dimensions"]),
    }


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def readable(result: Mapping[str, Any]) -> str:
    shown = [f"{'overall':16} {result['right']:>3} of {result['questions']}"]
    shown += [f"{name:16} {one['right']:>3} of {one['questions']}" for name, one in result["dimensions"].items()]
    shown += [f"wrong: {one['question']} {one['answer']} {one['gold']}" for one in result["wrong"]]
    shown.append(f"{'slots now':16} {result['slots']['right']:>3} of {result['slots']['slots']}")
    return "\n".join([*shown, f"what became of {result['events']} events: {result['outcomes']}"])


def main() -> int:
    parser = argparse.ArgumentParser(description="Accuracy on Agent Memory Benchmark v1, through the gRPC API.")
    parser.add_argument(
        "--data", type=Path, required=True, help="the folder that holds agent_memory_benchmark/, or that"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    inner = options.data / "agent_memory_benchmark"
    folder = inner if inner.is_dir() else options.data
    if not (folder / "questions.jsonl").is_file():
        print(f"there is no agent memory benchmark in {options.data}", file=sys.stderr)
        return 2
    result = asyncio.run(run(folder))
    print(json.dumps(result) if options.json else readable(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
