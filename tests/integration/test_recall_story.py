"""A correction between two owners as recall shows it: before it, while it is open, and after it is resolved."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import conflict_case_pb2, conflict_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2, submission_pb2
from corrigenda.recall.v1 import recall_service_pb2, result_pb2
from corrigenda.type.v1 import evidence_pb2, predicate_pb2, relationship_pb2, time_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.actors import Caller, KeyScope
from corrigenda_core.domain.ids import KeyId, ProfileId, TeamId
from corrigenda_core.persistence.database import Database
from corrigenda_core.persistence.read_transaction import ReadRunner
from corrigenda_core.ports.deadline import NO_DEADLINE
from corrigenda_core.ports.providers import ProviderFailed, Vectors
from corrigenda_core.providers.embedder_hashing import HashingEmbedder
from corrigenda_core.rpc.convert import instant_of, timestamp_of
from corrigenda_core.testing.wire_recall import current_recall
from corrigenda_recall.requests import recall_question_of
from corrigenda_recall.use_cases.recall import Recall

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]

QUESTION = "which branch does production deploy from"
WAIT_SECONDS = 60.0


def day(month: int, of_month: int) -> datetime:
    return datetime(2026, month, of_month, 12, tzinfo=UTC)


RECORDED_A, RECORDED_B, RECORDED_C, NOW = day(1, 10), day(6, 1), day(6, 7), day(6, 20)
CUTOFF = datetime(2026, 3, 1, tzinfo=UTC)


async def drive(team: Any, time: datetime) -> None:
    await team.admin.admin.DriveClock(
        admin_service_pb2.DriveClockRequest(idempotency_key=f"drive to {time}", time=timestamp_of(time))
    )


async def until(ask: Callable[[], Awaitable[Any]], is_answered: Callable[[Any], bool]) -> Any:
    """Asks until the answer is there; other processes make it."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            answer = await ask()
            if is_answered(answer):
                return answer
            await asyncio.sleep(0.02)


async def recall(
    client: Any, query: str = QUESTION, *, temporal: time_pb2.TemporalSelector | None = None, **more: Any
) -> recall_service_pb2.RecallResponse:
    """What is recalled once the indexer has seen everything that was written."""
    return await current_recall(client, recall_service_pb2.RecallRequest(query=query, temporal=temporal, **more))


def at(
    *, valid_at: datetime | None = None, known_at: datetime | None = None, revision: int | None = None
) -> time_pb2.TemporalSelector:
    selector = time_pb2.TemporalSelector()
    if valid_at is not None:
        selector.valid_at.CopyFrom(timestamp_of(valid_at))
    if known_at is not None:
        selector.known_at.CopyFrom(timestamp_of(known_at))
    if revision is not None:
        selector.revision = revision
    return selector


def objects(answer: recall_service_pb2.RecallResponse) -> set[str]:
    return {path.relationship.object.entity.name for result in answer.results for path in result.paths}


def shown_case(answer: recall_service_pb2.RecallResponse) -> str | None:
    assert not (answer.conflicts and answer.resolved)
    return "open" if answer.conflicts else "resolved" if answer.resolved else None


@pytest.fixture
def correction(new_team: NewTeam, deploys_from: Request) -> Callable[..., Awaitable[Any]]:
    """A team in which B has corrected A and, if asked for, C has borne B out and the reviewer has decided."""

    async def make(*, c_says: str | None = None) -> tuple[Any, str]:
        team = await new_team(driven_from=day(1, 1), profiles=("A", "B", "C", "D"))
        await drive(team, RECORDED_A)
        await team["A"].ingest.Remember(
            deploys_from("since 1 January 2026 production deploys from main", "main", key="A")
        )
        await drive(team, RECORDED_B)
        said = await team["B"].ingest.Remember(
            deploys_from("since 1 March 2026 production deploys from release", "release", key="B")
        )
        conflict = said.placement.relationships[0].conflict
        assert conflict.effect == placement_pb2.CONFLICT_EFFECT_OPENS_CASE
        if c_says is not None:
            await drive(team, RECORDED_C)
            context = submission_pb2.ConflictContext(conflict_id=conflict.conflict_id)
            answer = await team["C"].ingest.Remember(deploys_from(c_says, "release", key="C", conflict_context=context))
            assert answer.placement.relationships[0].verdict == relationship_pb2.VERDICT_ENTAILED
            await drive(team, NOW)
            asked = conflict_service_pb2.GetConflictRequest(conflict_id=conflict.conflict_id)
            await until(
                lambda: team["A"].conflict.GetConflict(asked),
                lambda answer: answer.conflict.status == conflict_case_pb2.CASE_STATUS_RESOLVED,
            )
        return team, conflict.conflict_id

    return make


DATED_WITNESS = "Since March 2026 production deploys from release. The build server keeps the log of it."
UNDATED_WITNESS = "our release checklist confirms it: production deploys from release"

GRID = [
    # valid_at, known_at (None: now), the values in force, the case
    (day(2, 15), day(5, 15), {"main"}, None),
    (day(4, 15), day(5, 15), {"main"}, None),
    (NOW, day(5, 15), {"main"}, None),
    (day(2, 15), day(6, 5), {"main"}, None),
    (day(4, 15), day(6, 5), {"main", "release"}, "open"),
    (NOW, day(6, 5), {"main", "release"}, "open"),
    (day(2, 15), None, {"main"}, None),
    (day(4, 15), None, {"release"}, "resolved"),
    (NOW, None, {"release"}, "resolved"),
    (None, None, {"release"}, "resolved"),
]


@pytest.mark.promise("time.both-axes", "I15", "I16")
@pytest.mark.rule("R8.1", "R8.2", "R8.3", "R9.2")
@pytest.mark.parametrize("witness", [DATED_WITNESS, UNDATED_WITNESS], ids=["dated", "undated"])
async def test_v23_grid(correction: Callable[..., Awaitable[Any]], witness: str) -> None:
    """V23: what is recalled for every pair of valid time and knowledge; a witness without a date moves nothing."""
    team, conflict_id = await correction(c_says=witness)
    for valid_at, known_at, values, case in GRID:
        answer = await recall(team["A"], temporal=at(valid_at=valid_at, known_at=known_at))
        where = f"valid {valid_at}, known {known_at}"
        assert objects(answer) == values, where
        assert shown_case(answer) == case, where
        assert {one.conflict_id for one in (*answer.conflicts, *answer.resolved)} <= {conflict_id}, where
        assert answer.valid_at == timestamp_of(NOW if valid_at is None else valid_at), where


@pytest.mark.rule("R9.2")
async def test_an_open_case_comes_with_everything_to_answer_it(correction: Callable[..., Awaitable[Any]]) -> None:
    team, conflict_id = await correction()
    answer = await recall(team["C"])
    (case,) = answer.conflicts
    assert (case.conflict_id, case.version, case.status) == (conflict_id, 1, conflict_case_pb2.CASE_STATUS_OPEN)
    assert case.question == "production deploys from: main or release?"
    assert instant_of(case.review_due_at) == RECORDED_B + timedelta(days=7)
    assert (case.positions_total, case.positions_truncated) == (2, False)
    sides = {position.label: position for position in case.positions}
    assert sides.keys() == {"main", "release"}
    ranks = {result.evidence.fragment_id: result.rank for result in answer.results}
    for name, owner, recorded in (("main", "A", RECORDED_A), ("release", "B", RECORDED_B)):
        side = sides[name]
        assert side.object.entity.name == name
        assert side.polarity == relationship_pb2.POLARITY_POSITIVE
        assert [one.name for one in side.owners] == [owner]
        assert (side.counted_groups, side.authoritative_groups, side.owners_total) == (1, 0, 1)
        assert (side.in_force, side.truncated) == (True, False)
        (evidence,) = side.evidence
        assert side.evidence_total == 1
        assert evidence.author.name == owner
        assert evidence.source_type == evidence_pb2.SOURCE_TYPE_CONVERSATION
        assert evidence.granted_authority == evidence_pb2.AUTHORITY_UNKNOWN
        assert instant_of(evidence.recorded_at) == recorded
        assert evidence.rank == ranks[evidence.fragment_id]
    assert {result.paths[0].relationship.object.entity.name for result in answer.results} == {"main", "release"}
    for result in answer.results:
        (path,) = result.paths
        assert list(path.marks) == [result_pb2.PATH_MARK_DISPUTED]
        assert list(path.conflict_ids) == [conflict_id]
        assert list(path.resolved_conflict_ids) == []


@pytest.mark.promise("I15")
@pytest.mark.rule("R8.3", "R9.2")
async def test_a_resolved_case_is_a_compact_reference(correction: Callable[..., Awaitable[Any]]) -> None:
    team, conflict_id = await correction(c_says=UNDATED_WITNESS)
    answer = await recall(team["C"])
    (reference,) = answer.resolved
    assert (reference.conflict_id, answer.resolved_total, answer.conflicts_total) == (conflict_id, 1, 0)
    assert reference.question == "production deploys from: main or release?"
    assert (reference.preferred_label, list(reference.overruled_labels)) == ("release", ["main"])
    assert reference.preferred_object.entity.name == "release"
    assert instant_of(reference.effective_at) == CUTOFF
    assert reference.effective_time_basis == time_pb2.TIME_BASIS_EVIDENCE_TIME
    assert reference.resolution_reason == "due_majority"
    assert {mark for result in answer.results for path in result.paths for mark in path.marks} == {
        result_pb2.PATH_MARK_PREFERRED
    }
    assert all(list(path.resolved_conflict_ids) == [conflict_id] for one in answer.results for path in one.paths)

    before = await recall(team["C"], temporal=at(valid_at=day(2, 15)))
    (result,) = before.results
    assert list(result.paths[0].marks) == [result_pb2.PATH_MARK_OVERRULED_LATER]
    assert instant_of(result.paths[0].relationship.validity.interval.valid_to) == CUTOFF


@pytest.mark.rule("R8.3", "R9.1")
async def test_a_fragment_shows_no_path_that_counts_only_later(
    correction: Callable[..., Awaitable[Any]], deploys_from: Request
) -> None:
    """C's text says two things: before the cutoff it is eligible by the other one alone."""
    text = f"{UNDATED_WITNESS}. Production runs on zeus."
    team, _ = await correction(c_says=text)
    await team.admin.admin.RegisterPredicate(
        admin_service_pb2.RegisterPredicateRequest(
            idempotency_key="runs_on",
            definition=predicate_pb2.PredicateDefinition(
                key="runs_on",
                relationship_kind=predicate_pb2.RELATIONSHIP_KIND_STATE,
                current_cardinality=predicate_pb2.CARDINALITY_ONE,
            ),
        )
    )
    cited = submission_pb2.Citation(evidence_index=0, quote="Production runs on zeus.")
    await team["C"].ingest.Remember(deploys_from(text, "zeus", predicate="runs_on", cited=cited))
    shown = {}
    for valid_at in (day(2, 15), day(4, 15)):
        answer = await recall(team["A"], temporal=at(valid_at=valid_at))
        (result,) = [one for one in answer.results if one.evidence.content == text]
        shown[valid_at] = {path.relationship.object.entity.name for path in result.paths}
    assert shown == {day(2, 15): {"zeus"}, day(4, 15): {"zeus", "release"}}


class Silent(HashingEmbedder):
    """An embedder that does not answer: what has none of the words is not found."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        raise ProviderFailed("not today")


@pytest.mark.rule("R8.3", "R9.2")
async def test_a_member_counts_from_the_cutoff_of_an_earlier_case_also_if_nothing_of_that_case_is_found(
    correction: Callable[..., Awaitable[Any]], deploys_from: Request, stack: Stack
) -> None:
    """C won without a date of its own: before the cutoff it disputes nothing, whatever the next case says."""
    team, _ = await correction(c_says=UNDATED_WITNESS)
    text = "Production deploys from hotfix. Zebra."
    cited = submission_pb2.Citation(evidence_index=0, quote="Production deploys from hotfix.")
    said = await team["D"].ingest.Remember(deploys_from(text, "hotfix", cited=cited))
    conflict = said.placement.relationships[0].conflict
    assert conflict.effect == placement_pb2.CONFLICT_EFFECT_OPENS_CASE
    await recall(team["D"])
    caller = Caller(
        team_id=TeamId(team.team_id),
        profile_id=ProfileId(said.placement.author.profile_id),
        key_id=KeyId("key"),
        scopes=frozenset({KeyScope.READ}),
    )
    async with Database(stack.url("corrigenda_recall")) as database:
        use_case = Recall(reader=ReadRunner(database), embedder=Silent(), embedding_timeout_seconds=1.0)
        shown = {}
        for valid_at in (day(2, 15), day(4, 15)):
            request = recall_service_pb2.RecallRequest(query="zebra", temporal=at(valid_at=valid_at))
            answer = await use_case(caller, recall_question_of(request), NO_DEADLINE)
            assert [result.fragment.content for result in answer.results] == [text]
            shown[valid_at] = [case.conflict_id for case in answer.live]
    assert shown == {day(2, 15): [], day(4, 15): [conflict.conflict_id]}


@pytest.mark.promise("time.past-view", "Q2")
@pytest.mark.rule("R8.1")
async def test_an_answer_at_a_revision_never_changes(
    correction: Callable[..., Awaitable[Any]], deploys_from: Request
) -> None:
    """Answers by revision and by a settled instant are the same bytes after more writes and a resolution."""
    team, _ = await correction()
    known = await recall(team["A"])
    selectors = [
        at(valid_at=valid_at, **by)
        for valid_at in (day(2, 15), day(4, 15), RECORDED_B)
        for by in ({"revision": known.revision}, {"revision": 1}, {"known_at": RECORDED_B}, {"known_at": day(5, 1)})
    ]
    requests = [
        recall_service_pb2.RecallRequest(query=query, temporal=selector, explain=True)
        for selector in selectors
        for query in (QUESTION, "release", "nothing of that kind")
    ]
    recorded = [await team["A"].recall.Recall(request) for request in requests]
    assert any(answer.conflicts for answer in recorded)
    by_default = await recall(team["A"], temporal=at(valid_at=RECORDED_B), explain=True)

    await drive(team, RECORDED_C)
    for name, text, branch in (
        ("C", UNDATED_WITNESS, "release"),
        ("A", "since 5 April 2026 production deploys from hotfix", "hotfix"),
        ("B", "production deploys from release, says the release manager", "release"),
    ):
        await team[name].ingest.Remember(deploys_from(text, branch))
    await drive(team, NOW)
    await recall(team["A"])
    replayed = [await team["A"].recall.Recall(request) for request in requests]
    assert [one.SerializeToString(deterministic=True) for one in replayed] == [
        one.SerializeToString(deterministic=True) for one in recorded
    ]
    again = await team["A"].recall.Recall(
        recall_service_pb2.RecallRequest(
            query=QUESTION, temporal=at(valid_at=RECORDED_B, revision=by_default.revision), explain=True
        )
    )
    assert again == by_default


@pytest.mark.rule("R8.1")
async def test_an_instant_is_settled_before_it_is_answered_for(
    new_team: NewTeam, deploys_from: Request, stack: Stack
) -> None:
    """No later commit can be recorded at or before an instant for which something was answered."""
    team = await new_team()
    await team["A"].ingest.Remember(deploys_from("production deploys from main", "main"))
    asked_at = (await recall(team["A"])).valid_at
    answer = await recall(team["A"], temporal=time_pb2.TemporalSelector(valid_at=asked_at, known_at=asked_at))
    with psycopg.connect(stack.url("corrigenda_auditor")) as connection:
        ((closed_at, revision),) = connection.execute(
            "SELECT closed_at, revision FROM team_clock WHERE team_id = %s", [team.team_id]
        ).fetchall()
    assert closed_at == instant_of(asked_at)
    assert (answer.known_at, answer.revision, objects(answer)) == (asked_at, revision, {"main"})
