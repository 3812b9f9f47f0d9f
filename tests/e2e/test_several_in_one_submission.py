"""One submission that says several things: each proposal sees what the last one left, and no witness is lost."""

import uuid
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from corrigenda.conflict.v1 import conflict_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2, submission_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda.type.v1 import evidence_pb2, relationship_pb2
from corrigenda_core.rpc.convert import instant_of

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]

Cited = tuple[int, str]
"""An evidence item by its index, and the passage of it that is cited."""

BRANCHES = ("main", "release")


def saying(texts: Sequence[str], *said: tuple[str, Sequence[Cited]]) -> ingest_service_pb2.RememberRequest:
    """A submission of texts, and for each branch that is said to be deployed from the passages that say it."""
    return ingest_service_pb2.RememberRequest(
        idempotency_key=uuid.uuid4().hex,
        evidence=[
            submission_pb2.EvidenceItem(content=text, source_type=evidence_pb2.SOURCE_TYPE_CONVERSATION)
            for text in texts
        ],
        proposal=submission_pb2.Proposal(
            entities=[
                submission_pb2.ProposedEntity(ref="env", name="production", entity_kind="environment"),
                *(submission_pb2.ProposedEntity(ref=name, name=name, entity_kind="git_branch") for name in BRANCHES),
            ],
            relationships=[
                submission_pb2.ProposedRelationship(
                    proposal_id=f"p{number}",
                    subject_ref="env",
                    predicate="deploys_from",
                    object_ref=branch,
                    polarity=relationship_pb2.POLARITY_POSITIVE,
                    modality=relationship_pb2.MODALITY_STATEMENT,
                    evidence=[submission_pb2.Citation(evidence_index=index, quote=quote) for index, quote in cited],
                )
                for number, (branch, cited) in enumerate(said)
            ],
        ),
    )


def outcomes(answer: ingest_service_pb2.RememberResponse) -> list[int]:
    return [one.outcome for one in answer.placement.relationships]


@pytest.mark.rule("R4.8", "R4.12")
async def test_a_value_that_comes_back_in_the_same_text_is_an_episode_of_its_own(new_team: NewTeam) -> None:
    """A, B, A is three episodes, also where one text tells all of them."""
    team = await new_team()
    told = [
        ("main", "from 1 January 2026 to 1 February 2026 production deploys from main"),
        ("release", "since 1 March 2026 production deploys from release"),
        ("main", "since 1 April 2026 production deploys from main"),
    ]
    text = ". ".join(sentence for _, sentence in told) + "."
    answer = await team["A"].ingest.Remember(saying([text], *((name, [(0, sentence)]) for name, sentence in told)))
    assert outcomes(answer) == [
        placement_pb2.OUTCOME_INSERTED,
        placement_pb2.OUTCOME_INSERTED,
        placement_pb2.OUTCOME_SUPERSEDED,
    ]
    last = answer.placement.relationships[2].relationship
    assert last.relationship_id != answer.placement.relationships[0].relationship.relationship_id
    assert instant_of(last.validity.interval.valid_from) == datetime(2026, 4, 1, tzinfo=UTC)
    assert last.object.entity.name == "main"
    again = await team["A"].ingest.Remember(saying([text], *((name, [(0, sentence)]) for name, sentence in told)))
    assert outcomes(again) == [placement_pb2.OUTCOME_DUPLICATE] * 3
    assert [one.relationship for one in again.placement.relationships][2].relationship_id == last.relationship_id


@pytest.mark.rule("R4.12")
async def test_an_old_text_beside_a_new_one_does_not_take_the_new_one_with_it(new_team: NewTeam) -> None:
    """A statement that cites what was said before and something new is new: the new text is a support of its own."""
    team = await new_team()
    old, new = "production deploys from main", "the log of the build says it too: production deploys from main"
    first = await team["A"].ingest.Remember(saying([old], ("main", [(0, old)])))
    second = await team["A"].ingest.Remember(saying([old, new], ("main", [(0, old), (1, new)])))
    assert outcomes(second) == [placement_pb2.OUTCOME_CORROBORATED]
    (row,) = {
        one.relationship.relationship_id for one in (*first.placement.relationships, *second.placement.relationships)
    }
    traced = await team["A"].recall.Trace(
        recall_service_pb2.TraceRequest(relationship_id=row, include_evidence_content=True)
    )
    assert {one.content for one in traced.evidence} == {old, new}


def telling(text: str, branch: str | None) -> ingest_service_pb2.RememberRequest:
    """A submission of one text, with what it says if anything is proposed."""
    if branch is not None:
        return saying([text], (branch, [(0, text)]))
    bare = saying([text], ("main", [(0, text)]))
    bare.ClearField("proposal")
    return bare


@pytest.mark.rule("R6.2")
async def test_a_text_that_was_there_before_it_spoke_is_still_a_copy(new_team: NewTeam) -> None:
    """B copies A's text, and only then A says what it means: whoever speaks first, the two are one witness."""
    team = await new_team()
    told = "the checklist of the third quarter was read aloud, and all were there: production deploys from release"
    copied = told.replace("quarter", "quarters")
    await team["A"].ingest.Remember(telling(told, None))
    await team["C"].ingest.Remember(telling("production deploys from main", "main"))
    await team["B"].ingest.Remember(telling(copied, "release"))
    answer = await team["A"].ingest.Remember(telling(told, "release"))
    (fragment,), (placed,) = answer.placement.fragments, answer.placement.relationships
    assert fragment.disposition == placement_pb2.DISPOSITION_DUPLICATE
    assert placed.conflict.effect == placement_pb2.CONFLICT_EFFECT_JOINS_CASE
    seen = await team["A"].conflict.GetConflict(
        conflict_service_pb2.GetConflictRequest(conflict_id=placed.conflict.conflict_id)
    )
    assert {one.label: one.counted_groups for one in seen.conflict.positions} == {"main": 1, "release": 1}
    # What the placement counted is what the next one reads.
    await team["C"].ingest.Remember(telling("the log of the build: production deploys from main", "main"))
    again = await team["A"].conflict.GetConflict(
        conflict_service_pb2.GetConflictRequest(conflict_id=placed.conflict.conflict_id)
    )
    assert {one.label: one.counted_groups for one in again.conflict.positions} == {"main": 1, "release": 1}


@pytest.mark.rule("R6.2")
async def test_a_near_copy_is_found_however_much_was_said_since(new_team: NewTeam) -> None:
    """Texts that say the same in other words come in between: the one that is nearly the same is still known."""
    team = await new_team()
    told = "the checklist of the third quarter was read aloud, and all were there: production deploys from release"
    first = await team["A"].ingest.Remember(telling(told, "release"))
    for number in range(12):
        await team["A"].ingest.Remember(telling(f"note {number * 7919}: production deploys from release", "release"))
    await team["C"].ingest.Remember(telling("production deploys from main", "main"))
    copied = await team["B"].ingest.Remember(telling(told.replace("quarter", "quarters"), "release"))
    (row,) = (one.relationship.relationship_id for one in first.placement.relationships)
    (placed,) = copied.placement.relationships
    assert placed.relationship.relationship_id != row
    seen = await team["A"].conflict.GetConflict(
        conflict_service_pb2.GetConflictRequest(conflict_id=placed.conflict.conflict_id)
    )
    # B's copy joins the witness that A's text is: B counts for nothing of its own.
    assert {one.label: one.counted_groups for one in seen.conflict.positions} == {"main": 1, "release": 1}
