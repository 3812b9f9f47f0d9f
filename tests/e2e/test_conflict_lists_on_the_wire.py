"""Lists of conflicts and of review runs over the wire: every filter, pages that lose nothing, asking twice."""

import uuid
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import conflict_case_pb2, conflict_service_pb2, review_item_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2
from corrigenda.options.v1 import key_scope_pb2
from corrigenda.type.v1 import predicate_pb2, relationship_pb2, time_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.errors import Reason
from corrigenda_core.rpc.client import Client, Endpoints
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.testing.wire_decisions import refused

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]

BEGIN, LATER = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
STATE, POLARITY, ITEM = "current_state", "polarity", "item"


def name_of(entry: conflict_service_pb2.ConflictEntry) -> str:
    if entry.HasField("review_item"):
        return ITEM
    kind = conflict_case_pb2.CaseKind.Name(entry.team_case.kind)
    return f"{kind.removeprefix('CASE_KIND_').lower()} of {entry.team_case.predicate}"


async def listed(client: Any, **asked: Any) -> list[str]:
    answer = await client.conflict.ListConflicts(conflict_service_pb2.ListConflictsRequest(**asked))
    assert answer.total == len(answer.entries)
    return [name_of(entry) for entry in answer.entries]


async def paged(client: Any, **asked: Any) -> tuple[list[str], set[int]]:
    """Everything of a list in pages of one, and the totals and revisions that the pages state."""
    found: list[str] = []
    stated: set[int] = set()
    token = ""
    while True:
        page = await client.conflict.ListConflicts(
            conflict_service_pb2.ListConflictsRequest(page_size=1, page_token=token, **asked)
        )
        found += [entry.team_case.conflict_id or entry.review_item.item_id for entry in page.entries]
        stated |= {page.total}
        token = page.next_page_token
        if not token:
            return found, stated


@pytest.fixture
async def disputed(new_team: NewTeam, deploys_from: Request) -> tuple[Any, Mapping[str, str]]:
    """A team with three cases and a question of A, and the entities by name.

    Two of the cases open in one commit: what C says excludes A's denial and B's value at once.
    """
    team = await new_team(driven_from=BEGIN)
    await team.admin.admin.RegisterPredicate(
        admin_service_pb2.RegisterPredicateRequest(
            idempotency_key="ships_from",
            definition=predicate_pb2.PredicateDefinition(
                key="ships_from",
                aliases=["ships from"],
                relationship_kind=predicate_pb2.RELATIONSHIP_KIND_STATE,
                current_cardinality=predicate_pb2.CARDINALITY_ONE,
            ),
        )
    )
    entities: dict[str, str] = {}

    async def say(who: str, text: str, branch: str, *, denied: bool = False, predicate: str = "deploys_from") -> Any:
        request = deploys_from(text, branch, predicate=predicate)
        if denied:
            request.proposal.relationships[0].polarity = relationship_pb2.POLARITY_NEGATIVE
        answer = await team[who].ingest.Remember(request)
        (placed,) = answer.placement.relationships
        assert placed.verdict == relationship_pb2.VERDICT_ENTAILED
        entities.update({one.entity.name: one.entity.entity_id for one in answer.placement.entities})
        return placed

    await say("A", "production does not deploy from main", "main", denied=True)
    await say("B", "production deploys from release", "release")
    await say("C", "production deploys from main", "main")
    await team.admin.admin.DriveClock(
        admin_service_pb2.DriveClockRequest(idempotency_key="later", time=timestamp_of(LATER))
    )
    await say("B", "production ships from store", "store", predicate="ships_from")
    await say("C", "production ships from harbour", "harbour", predicate="ships_from")
    held = await say("C", "the log of the port: production ships from airport", "airport", predicate="ships_from")
    assert held.outcome == placement_pb2.OUTCOME_HELD
    return team, entities


ALL_CASES = ["current_state of deploys_from", "polarity of deploys_from", "current_state of ships_from"]


@pytest.mark.rule("R7.9")
async def test_each_filter_lets_pass_what_it_names(disputed: tuple[Any, Mapping[str, str]]) -> None:
    team, entities = disputed
    c = team["C"]
    cases = [conflict_service_pb2.CONFLICT_ENTRY_KIND_TEAM_CASE]
    assert sorted(await listed(c)) == sorted([*ALL_CASES, ITEM])
    assert sorted(await listed(team["A"])) == sorted(ALL_CASES)
    assert sorted(await listed(c, entry_kinds=cases)) == sorted(ALL_CASES)
    assert await listed(c, entry_kinds=[conflict_service_pb2.CONFLICT_ENTRY_KIND_REVIEW_ITEM]) == [ITEM]
    polarity = [conflict_case_pb2.CASE_KIND_POLARITY]
    assert await listed(c, entry_kinds=cases, case_kinds=polarity) == ["polarity of deploys_from"]
    assert await listed(c, entry_kinds=cases, case_statuses=[conflict_case_pb2.CASE_STATUS_RESOLVED]) == []
    assert await listed(c, entry_kinds=cases, predicate="ships_from") == ["current_state of ships_from"]
    assert sorted(await listed(team["A"], mine=True)) == ["polarity of deploys_from"]
    assert sorted(await listed(c, entry_kinds=cases, opened_before=timestamp_of(LATER))) == sorted(ALL_CASES[:2])
    closed = [review_item_pb2.ITEM_STATUS_CLOSED]
    assert (
        await listed(c, item_statuses=closed, entry_kinds=[conflict_service_pb2.CONFLICT_ENTRY_KIND_REVIEW_ITEM]) == []
    )
    # An entity is in dispute as the subject, as a side, or as what is denied.
    assert sorted(await listed(c, entity_id=entities["production"])) == sorted([*ALL_CASES, ITEM])
    assert sorted(await listed(c, entity_id=entities["main"])) == sorted(ALL_CASES[:2])
    assert await listed(c, entity_id=entities["release"]) == ["current_state of deploys_from"]
    assert sorted(await listed(c, entity_id=entities["harbour"])) == ["current_state of ships_from", ITEM]
    assert await listed(c, entity_id=entities["airport"]) == [ITEM]


@pytest.mark.promise("time.pages")
@pytest.mark.rule("R8.1")
async def test_pages_show_one_view_and_leave_nothing_out(
    disputed: tuple[Any, Mapping[str, str]], deploys_from: Request
) -> None:
    """Also where two cases opened at one instant; a case that opens between two pages is of another view."""
    team, _ = disputed
    whole = await team["C"].conflict.ListConflicts(conflict_service_pb2.ListConflictsRequest())
    ids = [entry.team_case.conflict_id or entry.review_item.item_id for entry in whole.entries]
    opened = [entry.team_case.opened_at.ToNanoseconds() for entry in whole.entries if entry.HasField("team_case")]
    assert len(opened) > len(set(opened))
    assert await paged(team["C"]) == (ids, {4})
    first = await team["C"].conflict.ListConflicts(conflict_service_pb2.ListConflictsRequest(page_size=2))
    await team["A"].ingest.Remember(deploys_from("production ships from cellar", "cellar", predicate="ships_from"))
    rest = await team["C"].conflict.ListConflicts(
        conflict_service_pb2.ListConflictsRequest(page_size=50, page_token=first.next_page_token)
    )
    assert rest.revision == first.revision
    seen = [entry.team_case for entry in (*first.entries, *rest.entries) if entry.HasField("team_case")]
    assert {case.conflict_id: case.version for case in seen} == {
        entry.team_case.conflict_id: entry.team_case.version for entry in whole.entries if entry.HasField("team_case")
    }
    # Asked for again at its revision, a list is what it was: the new side is no side of it yet.
    cellar = await team["A"].conflict.ListConflicts(
        conflict_service_pb2.ListConflictsRequest(known=time_pb2.KnownSelector(revision=first.revision))
    )
    assert [len(e.team_case.positions) for e in cellar.entries] == [
        len(e.team_case.positions) for e in whole.entries if e.HasField("team_case")
    ]


@pytest.mark.promise("time.future")
@pytest.mark.rule("R8.1")
async def test_the_future_is_refused_by_its_field(disputed: tuple[Any, Mapping[str, str]]) -> None:
    team, _ = disputed
    ahead = time_pb2.KnownSelector(known_at=timestamp_of(LATER + timedelta(days=1)))
    request = conflict_service_pb2.ListConflictsRequest(known=ahead)
    refusal = await refused(team["A"].conflict.ListConflicts(request))
    assert (refusal.reason, refusal.field) == (Reason.INVALID_FIELD, "known.known_at")
    unknown = conflict_service_pb2.GetConflictRequest(
        conflict_id=str(uuid.UUID(int=0)), known=time_pb2.KnownSelector(revision=10_000)
    )
    refusal = await refused(team["A"].conflict.GetConflict(unknown))
    assert (refusal.reason, refusal.field) == (Reason.INVALID_FIELD, "known.revision")


@pytest.mark.rule("R7.20")
async def test_a_run_is_asked_for_once_however_often_the_request_comes(stack: Stack, new_team: NewTeam) -> None:
    team = await new_team(driven_from=BEGIN)
    key = await team.admin.admin.CreateKey(
        admin_service_pb2.CreateKeyRequest(
            idempotency_key="operator",
            profile_id=(await team.admin.admin.ListProfiles(admin_service_pb2.ListProfilesRequest()))
            .profiles[0]
            .profile_id,
            scopes=[key_scope_pb2.KEY_SCOPE_READ, key_scope_pb2.KEY_SCOPE_OPERATOR],
        )
    )
    address = Endpoints(
        ingest=stack.address("ingest"), conflict=stack.address("conflict"), recall=stack.address("recall")
    )
    async with Client(address, key.secret) as operator:
        request = conflict_service_pb2.ReviewNowRequest(idempotency_key="now", wait_seconds=10)
        first = await operator.conflict.ReviewNow(request)
        again = await operator.conflict.ReviewNow(request)
        assert (first.run.run_id, first.run.status) == (again.run.run_id, again.run.status)
        other = conflict_service_pb2.ReviewNowRequest(idempotency_key="now", wait_seconds=1)
        assert (await refused(operator.conflict.ReviewNow(other))).reason is Reason.IDEMPOTENCY_CONFLICT
        for number in range(2):
            await operator.conflict.ReviewNow(
                conflict_service_pb2.ReviewNowRequest(idempotency_key=f"more {number}", wait_seconds=10)
            )
        runs: list[str] = []
        token = ""
        while True:
            page = await operator.conflict.ListReviewRuns(
                conflict_service_pb2.ListReviewRunsRequest(page_size=1, page_token=token)
            )
            runs += [run.run_id for run in page.runs]
            token = page.next_page_token
            if not token:
                break
    assert len(runs) == len(set(runs))
    assert first.run.run_id in runs
