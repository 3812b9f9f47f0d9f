"""Reads a question: outside any transaction step by step, inside the commit all at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import IngestId, ProfileId, StatementId, TeamId
from corrigenda_core.domain.items import ReviewItem
from corrigenda_core.domain.placement_decisions import PlacementDecision
from corrigenda_core.domain.resolutions import DecisionKind
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.question_store import (
    QuestionQueries,
    cited_fragment_of,
    decided_item_of,
    decided_observation_of,
    first_administrator,
)
from corrigenda_core.persistence.read_transaction import ReadTransaction

from corrigenda_ingest.phrase_questions import waiting_observations
from corrigenda_ingest.question import Question
from corrigenda_ingest.use_cases.administration import the_one


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionReading:
    """A question, and the queries that read the same again in one round trip."""

    question: Question
    queries: tuple[Query, ...]

    def again(self, answers: Mapping[str, list[Row]]) -> Question:
        """The question as it stands now."""
        return _question(answers, self.question.administrator)


def asked_queries(team_id: TeamId, decision: PlacementDecision) -> list[Query]:
    """What is read first: the submission, the item, and who is asked about a proposed predicate."""
    queries = _queries(team_id, decision).asked()
    if decision.action is DecisionKind.PROPOSE_PREDICATE:
        queries.append(first_administrator(team_id))
    return queries


async def read_question(transaction: ReadTransaction, decision: PlacementDecision) -> QuestionReading:
    """Reads a question, whose first part was prefetched by `asked_queries`.

    Raises:
        Refusal: RESOURCE_NOT_FOUND for a submission or an item that the team does not have.
    """
    queries = _queries(transaction.team_id, decision)
    answers = dict(transaction.prefetched)
    the_one(answers["decided_ingest"], resource_type="ingest", resource_id=decision.ingest_id, field="ingest_id")
    ingest_ids, observation_ids = [decision.ingest_id], list[StatementId]()
    if decision.item_id is not None:
        row = the_one(
            answers["decided_item"],
            resource_type="review_item",
            resource_id=decision.item_id,
            field="placement_item_id",
        )
        item = decided_item_of(row)
        ingest_ids += [item.ingest_id] if item.ingest_id is not None else []
        observation_ids += waiting_observations(item)
        spoken_of = queries.spoken_of(item)
        spoken = dict(zip([one.name for one in spoken_of], await transaction.fetch_all(*spoken_of), strict=True))
        observation_ids += [row["statement_id"] for row in spoken.get("statements_of_rows", ())]
        ingest_ids += [IngestId(row["ingest_id"]) for row in spoken.get("ingests_of_fragment", ())]
    of_observations = queries.observations(ingest_ids, observation_ids)
    answers[of_observations.name] = await transaction.fetch(of_observations)
    of_fragments = queries.fragments(
        cited for row in answers[of_observations.name] for cited, _ in decided_observation_of(row).cited
    )
    answers[of_fragments.name] = await transaction.fetch(of_fragments)
    return QuestionReading(
        question=_question(answers, _administrator(decision, answers)),
        queries=(*queries.asked(), of_observations, of_fragments),
    )


def require_same_question(before: Question, now: Question) -> None:
    """What was verified is what is decided; whoever has lost a race learns it from the item itself before.

    Raises:
        Refusal: CONTENTION if what waits has changed since; asking again reads it anew.
    """
    if before != replace(now, administrator=before.administrator):
        raise Refusal(Reason.CONTENTION, "what the decision is about has changed meanwhile", retry_after_seconds=0.0)


def _queries(team_id: TeamId, decision: PlacementDecision) -> QuestionQueries:
    return QuestionQueries(team_id=team_id, ingest_id=decision.ingest_id, item_id=decision.item_id)


def _question(answers: Mapping[str, list[Row]], administrator: ProfileId | None) -> Question:
    (ingest,) = answers["decided_ingest"]
    item: ReviewItem | None = None
    for row in answers.get("decided_item", ()):
        item = decided_item_of(row)
    fragments = [cited_fragment_of(row) for row in answers["cited_fragments"]]
    return Question(
        ingest_id=ingest["ingest_id"],
        author_id=ingest["profile_id"],
        item=item,
        observations=tuple(decided_observation_of(row) for row in answers["decided_observations"]),
        fragments={one.stored.fragment_id: one for one in fragments},
        administrator=administrator,
    )


def _administrator(decision: PlacementDecision, answers: Mapping[str, list[Row]]) -> ProfileId | None:
    if decision.action is not DecisionKind.PROPOSE_PREDICATE:
        return None
    return ProfileId(
        the_one(answers["first_administrator"], resource_type="profile", resource_id="administrator", field="action")[
            "profile_id"
        ]
    )
