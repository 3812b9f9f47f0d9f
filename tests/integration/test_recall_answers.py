"""What recall finds and how it says it: only what holds, only the team's, in any spelling, with marks and totals."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, submission_pb2
from corrigenda.recall.v1 import recall_service_pb2, result_pb2
from corrigenda.type.v1 import evidence_pb2, predicate_pb2, relationship_pb2, time_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.actors import Caller, KeyScope
from corrigenda_core.domain.errors import Reason
from corrigenda_core.domain.ids import KeyId, ProfileId, TeamId
from corrigenda_core.persistence.database import Database
from corrigenda_core.persistence.read_transaction import ReadRunner
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.ports.providers import ProviderFailed, Vectors
from corrigenda_core.providers.embedder_hashing import HashingEmbedder
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.rpc.status import refusal_of
from corrigenda_core.testing.wire_recall import current_recall
from corrigenda_recall.recall_responses import RecallMessages
from corrigenda_recall.requests import recall_question_of
from corrigenda_recall.use_cases.recall import Recall
from google.protobuf.field_mask_pb2 import FieldMask

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]

QUESTION = "which branch does production deploy from"


async def recall(client: Any, query: str = QUESTION, **more: Any) -> recall_service_pb2.RecallResponse:
    """What is recalled once the indexer has seen everything that was written."""
    return await current_recall(client, recall_service_pb2.RecallRequest(query=query, **more))


def objects(answer: recall_service_pb2.RecallResponse) -> list[str]:
    """The names of the objects, the best result first."""
    return [path.relationship.object.entity.name for result in answer.results for path in result.paths]


def marks(answer: recall_service_pb2.RecallResponse) -> dict[str, list[str]]:
    """The marks of each object."""
    return {
        path.relationship.object.entity.name: [
            result_pb2.PathMark.Name(mark).removeprefix("PATH_MARK_").lower() for mark in path.marks
        ]
        for result in answer.results
        for path in result.paths
    }


def valid_at(year: int, month: int, day: int) -> time_pb2.TemporalSelector:
    selector = time_pb2.TemporalSelector()
    selector.valid_at.CopyFrom(timestamp_of(datetime(year, month, day, tzinfo=UTC)))
    return selector


async def register(team: Any, key: str, **definition: Any) -> None:
    await team.admin.admin.RegisterPredicate(
        admin_service_pb2.RegisterPredicateRequest(
            idempotency_key=f"register {key}",
            definition=predicate_pb2.PredicateDefinition(
                key=key,
                **{
                    "relationship_kind": predicate_pb2.RELATIONSHIP_KIND_STATE,
                    "current_cardinality": predicate_pb2.CARDINALITY_ONE,
                }
                | definition,
            ),
        )
    )


# --- only what holds


@pytest.mark.rule("R9.1", "R8.2")
async def test_p2_p4_what_has_ended_is_not_recalled_unless_it_is_asked_for(
    new_team: NewTeam, deploys_from: Request
) -> None:
    """By default only what holds now; an ended fact by asking for the time when it held."""
    team = await new_team()
    for name, since in (("main", "1 January 2020"), ("release", "1 March 2021"), ("hotfix", "1 May 2022")):
        text = f"since {since} production deploys from {name}"
        await team["A"].ingest.Remember(deploys_from(text, name))
    assert objects(await recall(team["A"])) == ["hotfix"]
    assert objects(await recall(team["A"], "production deploys from main")) == ["hotfix"]
    assert objects(await recall(team["A"], temporal=valid_at(2020, 6, 1))) == ["main"]
    assert objects(await recall(team["A"], temporal=valid_at(2021, 6, 1))) == ["release"]
    nothing_yet = await recall(team["A"], temporal=valid_at(2019, 1, 1))
    assert (objects(nothing_yet), nothing_yet.results_total) == ([], 0)


@pytest.mark.rule("R9.1")
async def test_p3_what_has_ended_takes_no_place_of_what_holds(new_team: NewTeam, deploys_from: Request) -> None:
    """More ended episodes, all of them better matches, than any branch hands over."""
    team = await new_team()
    ended = 60
    for number in range(ended):
        since = datetime(2015, 1, 1, tzinfo=UTC) + timedelta(days=30 * number)
        branch = f"branch-{number}"
        text = f"since {since:%d %B %Y} production deploys from {branch}"
        await team["A"].ingest.Remember(deploys_from(text, branch))
    last = "since 1 May 2024 production deploys from hotfix. " + "It was a long meeting about something else. " * 20
    said = submission_pb2.Citation(evidence_index=0, start=0, end=48)
    await team["A"].ingest.Remember(deploys_from(last, "hotfix", cited=said))
    answer = await recall(team["A"], "since when does production deploy from a branch", limit=1)
    assert objects(answer) == ["hotfix"]
    assert (answer.results_total, answer.results_truncated) == (1, False)


@pytest.mark.rule("R9.1", "R4.15")
async def test_a_fragment_stays_while_any_edge_needs_it(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    await register(team, "runs_on", object_kinds=["machine"])
    text = "Since 1 January 2020 production deploys from main. Production runs on zeus."
    request = deploys_from(text, "main", cited=submission_pb2.Citation(evidence_index=0, start=0, end=50))
    request.proposal.entities.add(ref="machine", name="zeus", entity_kind="machine")
    second = request.proposal.relationships.add()
    second.CopyFrom(request.proposal.relationships[0])
    second.proposal_id, second.predicate, second.object_ref = "p2", "runs_on", "machine"
    second.evidence[0].CopyFrom(submission_pb2.Citation(evidence_index=0, quote="Production runs on zeus."))
    await team["A"].ingest.Remember(request)
    both = await recall(team["A"])
    assert (len(both.results), both.results[0].paths_total) == (1, 2)
    assert sorted(objects(both)) == ["main", "zeus"]
    await team["A"].ingest.Remember(deploys_from("since 1 March 2021 production deploys from release", "release"))
    one = await recall(team["A"])
    kept = next(result for result in one.results if result.evidence.content == text)
    assert [path.relationship.object.entity.name for path in kept.paths] == ["zeus"]
    (span,) = kept.paths[0].spans
    assert text[span.start : span.end] == "Production runs on zeus."


# --- marks


@pytest.mark.rule("R9.2", "R4.10")
async def test_a_held_statement_marks_what_it_is_held_against(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    await team["A"].ingest.Remember(deploys_from("production deploys from main", "main"))
    assert marks(await recall(team["A"])) == {"main": []}
    await team["A"].ingest.Remember(deploys_from("production deploys from release", "release"))
    answer = await recall(team["A"])
    assert marks(answer) == {"main": ["held_against"]}
    earlier = time_pb2.TemporalSelector(revision=answer.revision - 1)
    assert marks(await recall(team["A"], temporal=earlier)) == {"main": []}


@pytest.mark.rule("R9.2", "R4.10")
async def test_competing_values_are_all_recalled_and_marked(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    await register(team, "ships_from", same_moment_policy=predicate_pb2.SAME_MOMENT_POLICY_COMPETE)
    for name in ("main", "release"):
        text = f"production ships from {name}"
        await team["A"].ingest.Remember(deploys_from(text, name, predicate="ships_from"))
    assert marks(await recall(team["A"], "where does production ship from")) == {
        "main": ["competing"],
        "release": ["competing"],
    }


@pytest.mark.rule("R9.2", "R7.1")
async def test_opposite_polarities_of_two_owners_are_a_case_about_one_object(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    await register(team, "uses", current_cardinality=predicate_pb2.CARDINALITY_MANY)
    await team["A"].ingest.Remember(deploys_from("production uses redis", "redis", predicate="uses"))
    denial = deploys_from("production does not use redis", "redis", predicate="uses")
    denial.proposal.relationships[0].polarity = relationship_pb2.POLARITY_NEGATIVE
    placed = await team["B"].ingest.Remember(denial)
    assert placed.placement.relationships[0].verdict == relationship_pb2.VERDICT_ENTAILED
    answer = await recall(team["C"], "does production use redis")
    (case,) = answer.conflicts
    assert case.question == "production uses redis: is it so or not?"
    assert {(side.label, side.polarity, side.object.entity.name) for side in case.positions} == {
        ("+", relationship_pb2.POLARITY_POSITIVE, "redis"),
        ("-", relationship_pb2.POLARITY_NEGATIVE, "redis"),
    }
    borne = sorted(
        sorted(result_pb2.PathMark.Name(mark) for mark in path.marks) for one in answer.results for path in one.paths
    )
    assert borne == [["PATH_MARK_DISPUTED"], ["PATH_MARK_DISPUTED", "PATH_MARK_NEGATIVE"]]


# --- only the team's


@pytest.mark.rule("R11.2")
async def test_p39_p40_p41_no_branch_finds_anything_of_another_team(new_team: NewTeam, deploys_from: Request) -> None:
    """Two teams that say the same things of entities with the same names."""
    teams = [await new_team(), await new_team()]
    for number, team in enumerate(teams):
        for name in "AB":
            branch = f"branch-{name}"
            text = f"Production deploys from {branch}. Noted in team {number}"
            cited = submission_pb2.Citation(evidence_index=0, quote=f"Production deploys from {branch}.")
            await team[name].ingest.Remember(deploys_from(text, branch, cited=cited))
    found = [await recall(team["C"], "production deploys from branch-A noted in team", explain=True) for team in teams]
    ids: list[set[str]] = []
    for number, answer in enumerate(found):
        assert answer.results_total == 2
        assert all(result.evidence.content.endswith(f"team {number}") for result in answer.results)
        branches = {one.branch for result in answer.results for one in result.explanation.branches}
        assert branches == {
            result_pb2.SEARCH_BRANCH_LEXICAL,
            result_pb2.SEARCH_BRANCH_VECTOR,
            result_pb2.SEARCH_BRANCH_ENTITY,
        }
        (case,) = answer.conflicts
        relationships = {path.relationship.relationship_id for one in answer.results for path in one.paths}
        fragments = {result.evidence.fragment_id for result in answer.results}
        ids.append({case.conflict_id} | relationships | fragments)
    assert ids[0].isdisjoint(ids[1])
    for mine, others in (ids, reversed(ids)):
        assert mine != others


# --- in any spelling


WORDS = ["café", "résumé", "naïve", "Zürich", "Łódź", "한국어", "がぎぐ", "é́clair", "Ångström", "ﬁle"]


@pytest.mark.rule("R9.1", "R3.10")
async def test_p57_p58_equivalent_spellings_find_each_other(new_team: NewTeam, deploys_from: Request) -> None:
    """Ten words written composed or decomposed, each asked for in the other way."""
    team = await new_team()
    await register(team, "serves", current_cardinality=predicate_pb2.CARDINALITY_MANY)
    for number, word in enumerate(WORDS):
        written = unicodedata.normalize(("NFC", "NFD")[number % 2], word)
        await team["A"].ingest.Remember(deploys_from(f"production serves {written}", written, predicate="serves"))
    for number, word in enumerate(WORDS):
        asked = unicodedata.normalize(("NFD", "NFC")[number % 2], word)
        answer = await recall(team["A"], asked, explain=True)
        by_words = [
            result.evidence.content
            for result in answer.results
            if any(one.branch == result_pb2.SEARCH_BRANCH_LEXICAL for one in result.explanation.branches)
        ]
        written = unicodedata.normalize(("NFC", "NFD")[number % 2], word)
        assert by_words == [f"production serves {written}"], word
        assert answer.results[0].evidence.content == f"production serves {written}", word


# --- totals and explanations


@pytest.mark.promise("answer.cut")
@pytest.mark.rule("R9.2")
async def test_what_is_left_out_is_counted(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    await register(team, "serves", current_cardinality=predicate_pb2.CARDINALITY_MANY)
    for number in range(12):
        await team["A"].ingest.Remember(
            deploys_from(f"production serves customer{number}", f"customer{number}", predicate="serves")
        )
    for limit, shown in ((None, 10), (3, 3), (50, 12)):
        more = {} if limit is None else {"limit": limit}
        answer = await recall(team["A"], "whom does production serve", **more)
        assert len(answer.results) == shown
        assert (answer.results_total, answer.results_truncated) == (12, shown < 12)
        assert [result.rank for result in answer.results] == list(range(1, shown + 1))


@pytest.mark.promise("answer.ranked")
@pytest.mark.rule("R9.3")
async def test_a_rank_can_be_explained_to_the_last_unit(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    await team["A"].ingest.Remember(deploys_from("production deploys from main", "main"))
    await team["B"].ingest.Remember(deploys_from("production deploys from release", "release"))
    assert not (await recall(team["A"])).results[0].HasField("explanation")
    answer = await recall(team["A"], explain=True)
    scores = []
    for result in answer.results:
        why = result.explanation
        assert sum(one.contribution_millionths for one in why.branches) == why.fused_score_millionths
        added = sum(one.contribution_millionths for one in why.adjustments)
        assert why.fused_score_millionths + added == why.score_millionths
        assert [one.reason for one in why.adjustments] == [
            "tier_validated_claim",
            "authority_unknown",
            "validity_in_force",
            "case_state_disputed",
        ]
        scores.append(why.score_millionths)
    assert scores == sorted(scores, reverse=True)


# --- without an embedding


class SilentEmbedder(HashingEmbedder):
    """An embedder that does not answer."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        raise ProviderFailed("not today")


class SlowEmbedder(HashingEmbedder):
    """An embedder that answers when nobody waits any more."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        await asyncio.Event().wait()
        raise AssertionError


@pytest.fixture
async def reader(stack: Stack) -> AsyncIterator[ReadRunner]:
    async with Database(stack.url("corrigenda_recall")) as database:
        yield ReadRunner(database)


@pytest.mark.promise("answer.degraded")
@pytest.mark.rule("R9.6")
@pytest.mark.parametrize("embedder", [SilentEmbedder(), SlowEmbedder()], ids=["failing", "slow"])
async def test_without_an_embedding_the_words_answer_and_the_answer_says_so(
    new_team: NewTeam, deploys_from: Request, reader: ReadRunner, embedder: HashingEmbedder
) -> None:
    team = await new_team()
    placed = await team["A"].ingest.Remember(deploys_from("production deploys from main", "main"))
    assert list((await recall(team["A"])).degraded) == []
    caller = Caller(
        team_id=TeamId(team.team_id),
        profile_id=ProfileId(placed.placement.author.profile_id),
        key_id=KeyId("key"),
        scopes=frozenset({KeyScope.READ}),
    )
    use_case = Recall(reader=reader, embedder=embedder, embedding_timeout_seconds=0.2)
    request = recall_service_pb2.RecallRequest(query=QUESTION)
    answer = await use_case(caller, recall_question_of(request), Deadline.after(10))
    response = RecallMessages(answer, explain=True).response()
    assert objects(response) == ["main"]
    assert list(response.degraded) == [result_pb2.DEGRADATION_NO_EMBEDDING]
    branches = {one.branch for one in response.results[0].explanation.branches}
    assert branches == {result_pb2.SEARCH_BRANCH_LEXICAL, result_pb2.SEARCH_BRANCH_ENTITY}


# --- what is refused


def beyond(seconds: int) -> time_pb2.TemporalSelector:
    selector = time_pb2.TemporalSelector()
    selector.known_at.CopyFrom(timestamp_of(datetime.now(UTC) + timedelta(seconds=seconds)))
    return selector


@pytest.mark.rule("R8.1")
@pytest.mark.parametrize(
    ("change", "reason", "field"),
    [
        ({"query": ""}, Reason.INVALID_FIELD, "query"),
        ({"query": "\u200b \u200b"}, Reason.INVALID_FIELD, "query"),
        ({"query": "x" * 513}, Reason.TOO_LARGE, "query"),
        ({"limit": 0}, Reason.INVALID_FIELD, "limit"),
        ({"limit": 51}, Reason.INVALID_FIELD, "limit"),
        ({"temporal": beyond(3600)}, Reason.INVALID_FIELD, "temporal.known_at"),
        ({"temporal": time_pb2.TemporalSelector(revision=10_000)}, Reason.INVALID_FIELD, "temporal.revision"),
        ({"temporal": time_pb2.TemporalSelector(revision=-1)}, Reason.INVALID_FIELD, "temporal.revision"),
        ({"min_revision": 10_000}, Reason.REVISION_NOT_REPLICATED, ""),
        ({"read_mask": FieldMask(paths=["results.text"])}, Reason.INVALID_FIELD, "read_mask.paths[0]"),
        ({"read_mask": FieldMask(paths=["results"] * 65)}, Reason.TOO_MANY_ITEMS, "read_mask.paths"),
    ],
)
async def test_a_question_that_cannot_be_answered_names_its_field(
    new_team: NewTeam, change: dict[str, Any], reason: Reason, field: str
) -> None:
    team = await new_team(profiles=("A",))
    request = recall_service_pb2.RecallRequest(**{"query": QUESTION, **change})
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await team["A"].recall.Recall(request)
    refusal = refusal_of(refused.value)
    assert refusal is not None
    assert (refusal.reason, refusal.field) == (reason, field)


async def test_only_what_the_mask_names_comes(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    await team["A"].ingest.Remember(deploys_from("production deploys from main", "main"))
    await team["B"].ingest.Remember(deploys_from("production deploys from release", "release"))
    whole = await recall(team["A"])
    # Of the same revision: the reviewer may look at the conflict meanwhile, which is one more.
    mask = FieldMask(paths=["results.evidence.content", "conflicts.question"])
    masked = await recall(team["A"], read_mask=mask, temporal=time_pb2.TemporalSelector(revision=whole.revision))
    assert [result.evidence.content for result in masked.results] == [one.evidence.content for one in whole.results]
    assert all(not result.paths and not result.evidence.fragment_id for result in masked.results)
    assert [case.question for case in masked.conflicts] == [case.question for case in whole.conflicts]
    assert (masked.results_total, masked.conflicts_total, masked.revision) == (2, 1, whole.revision)
    assert masked.ByteSize() < whole.ByteSize() / 4


async def test_before_the_first_revision_nothing_is_known(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team(profiles=("A",))
    await team["A"].ingest.Remember(deploys_from("production deploys from main", "main"))
    answer = await recall(team["A"], temporal=time_pb2.TemporalSelector(revision=0))
    assert (answer.revision, answer.results_total, answer.HasField("known_at")) == (0, 0, False)
    (result,) = (await recall(team["A"])).results
    assert result.evidence.source_type == evidence_pb2.SOURCE_TYPE_CONVERSATION
