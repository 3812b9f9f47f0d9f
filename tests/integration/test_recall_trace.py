"""Trace and the list of predicates: every record with its totals, page by page, at one revision."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import grpc
import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2
from corrigenda.recall.v1 import recall_service_pb2, trace_pb2
from corrigenda.type.v1 import actor_pb2, predicate_pb2, relationship_pb2, time_pb2
from corrigenda_core.domain.errors import Reason
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.rpc.status import refusal_of

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]

MISSING = "01900000-0000-7000-8000-000000000000"
SECTIONS = {
    "evidence": trace_pb2.TRACE_SECTION_EVIDENCE,
    "observations": trace_pb2.TRACE_SECTION_OBSERVATIONS,
    "verifications": trace_pb2.TRACE_SECTION_VERIFICATIONS,
    "supports": trace_pb2.TRACE_SECTION_SUPPORTS,
    "transitions": trace_pb2.TRACE_SECTION_TRANSITIONS,
    "references": trace_pb2.TRACE_SECTION_REFERENCES,
    "cases": trace_pb2.TRACE_SECTION_CASES,
    "lineage": trace_pb2.TRACE_SECTION_LINEAGE,
}


async def trace(team: Any, relationship_id: str, **more: Any) -> recall_service_pb2.TraceResponse:
    return await team["C"].recall.Trace(recall_service_pb2.TraceRequest(relationship_id=relationship_id, **more))


EVERYTHING = {"include_evidence_content": True, "include_verification": True, "include_transitions": True}


@pytest.fixture
async def told(new_team: NewTeam, deploys_from: Request) -> tuple[Any, list[Any]]:
    """A's main, then A's release which replaces it, then B's hotfix which opens a case."""
    team = await new_team()
    placed = []
    for name, text, branch, more in (
        ("A", "since 1 January 2020 production deploys from main", "main", {"comment": "from the wiki"}),
        ("A", "since 1 March 2021 production deploys from release", "release", {}),
        ("B", "since 1 May 2022 production deploys from hotfix", "hotfix", {}),
    ):
        answer = await team[name].ingest.Remember(deploys_from(text, branch, key=f"key {branch}", **more))
        placed.append(answer.placement)
    return team, placed


def row_id(placement: Any) -> str:
    return placement.relationships[0].relationship.relationship_id


@pytest.mark.promise("answer.traced", "I09")
@pytest.mark.rule("R9.4")
async def test_a_trace_shows_everything_of_a_relationship(told: tuple[Any, list[Any]]) -> None:
    team, (main, release, hotfix) = told
    traced = await trace(team, row_id(release), **EVERYTHING)
    row = traced.relationship
    assert (row.object.entity.name, row.owner.name, row.version) == ("release", "A", 1)
    (evidence,) = traced.evidence
    assert evidence.content == "since 1 March 2021 production deploys from release"
    assert (evidence.author.name, evidence.fragment_id) == ("A", release.fragments[0].fragment_id)
    (observation,) = traced.observations
    assert observation.observation_id == release.relationships[0].observation_id
    assert (observation.subject_phrase, observation.predicate_phrase, observation.object_phrase) == (
        "production",
        "deploys_from",
        "release",
    )
    assert (observation.ingest_id, observation.proposal_id) == (release.ingest_id, "p1")
    assert not observation.HasField("stated_validity")
    (verification,) = traced.verifications
    assert verification.verdict == relationship_pb2.VERDICT_ENTAILED
    (bound,) = verification.time_bounds
    assert (bound.side, bound.at) == (
        time_pb2.BOUND_SIDE_START,
        timestamp_of(datetime(2021, 3, 1, tzinfo=UTC)),
    )
    assert evidence.content[bound.span.start : bound.span.end] == "since 1 March 2021"
    (support,) = traced.supports
    assert (support.effective, support.fragment_id) == (True, evidence.fragment_id)
    (decision,) = support.decisions
    assert decision.kind == trace_pb2.SUPPORT_DECISION_KIND_GRANT
    assert (decision.actor.kind, decision.actor.profile.name) == (actor_pb2.ACTOR_KIND_PROFILE, "A")
    (transition,) = traced.transitions
    assert (transition.version, transition.HasField("prior"), transition.idempotency_key) == (1, False, "key release")
    assert transition.resulting.status == relationship_pb2.RELATIONSHIP_STATUS_ACTIVE
    references = {(one.kind, one.direction, one.other.object.entity.name) for one in traced.references}
    assert references == {
        (relationship_pb2.REFERENCE_KIND_REPLACES, trace_pb2.REFERENCE_DIRECTION_OUTGOING, "main"),
        (relationship_pb2.REFERENCE_KIND_CORRECTS, trace_pb2.REFERENCE_DIRECTION_INCOMING, "hotfix"),
    }
    assert all(one.active for one in traced.references)
    (case,) = traced.cases
    assert case.question == "production deploys from: release or hotfix?"
    assert (case.position_label, case.preferred, case.HasField("closed_at")) == ("release", False, False)
    assert case.conflict_id == hotfix.relationships[0].conflict.conflict_id
    assert {(one.depth, one.relationship.object.entity.name) for one in traced.lineage} == {(1, "main"), (1, "hotfix")}
    assert traced.next_page_token == ""

    replaced = await trace(team, row_id(main), **EVERYTHING)
    assert replaced.observations[0].comment == "from the wiki"
    assert [one.resulting.status for one in replaced.transitions] == [
        relationship_pb2.RELATIONSHIP_STATUS_ACTIVE,
        relationship_pb2.RELATIONSHIP_STATUS_SUPERSEDED,
    ]
    assert replaced.transitions[1].prior == replaced.transitions[0].resulting


@pytest.mark.rule("R9.4")
async def test_what_is_not_asked_for_is_left_out_and_counted(told: tuple[Any, list[Any]]) -> None:
    team, (_, release, _) = told
    traced = await trace(team, row_id(release), max_depth=0)
    assert [one.section for one in traced.sections] == list(SECTIONS.values())
    totals = {one.section: (one.total, one.left_out) for one in traced.sections}
    assert totals == {
        SECTIONS["evidence"]: (1, False),
        SECTIONS["observations"]: (1, False),
        SECTIONS["verifications"]: (1, True),
        SECTIONS["supports"]: (1, False),
        SECTIONS["transitions"]: (1, True),
        SECTIONS["references"]: (2, False),
        SECTIONS["cases"]: (1, False),
        SECTIONS["lineage"]: (0, True),
    }
    assert (len(traced.verifications), len(traced.transitions), len(traced.lineage)) == (0, 0, 0)
    assert traced.evidence[0].content == ""
    assert len(traced.evidence[0].content_sha256) == 64


@pytest.mark.rule("R9.4")
@pytest.mark.parametrize("page_size", [1, 2, 3, 200])
async def test_pages_of_any_size_show_the_same_records(
    told: tuple[Any, list[Any]], deploys_from: Request, page_size: int
) -> None:
    """Also when more is written between two pages: all show the revision of the first."""
    team, (_, release, _) = told
    pages = [await trace(team, row_id(release), **EVERYTHING, page_size=page_size)]
    await team["B"].ingest.Remember(deploys_from("since 1 June 2022 production deploys from canary", "canary"))
    await team["A"].ingest.Remember(deploys_from("production deploys from release, as always", "release"))
    while pages[-1].next_page_token:
        request = {**EVERYTHING, "page_size": page_size, "page_token": pages[-1].next_page_token}
        pages.append(await trace(team, row_id(release), **request))
    whole = await trace(team, row_id(release), **EVERYTHING, known=time_pb2.KnownSelector(revision=pages[0].revision))
    together: dict[str, list[Any]] = {name: [] for name in SECTIONS}
    for page in pages:
        assert (page.revision, page.relationship, list(page.sections)) == (
            whole.revision,
            whole.relationship,
            list(whole.sections),
        )
        records = [record for name in SECTIONS for record in getattr(page, name)]
        assert len(records) <= page_size
        for name in SECTIONS:
            together[name] += getattr(page, name)
    assert together == {name: list(getattr(whole, name)) for name in SECTIONS}


@pytest.mark.rule("R9.4")
async def test_the_lineage_follows_references_both_ways_and_says_where_it_is_cut(told: tuple[Any, list[Any]]) -> None:
    team, (main, release, hotfix) = told

    def ends(traced: recall_service_pb2.TraceResponse) -> list[tuple[int, str]]:
        return [(one.depth, one.relationship.object.entity.name) for one in traced.lineage]

    def is_cut(traced: recall_service_pb2.TraceResponse) -> bool:
        return traced.sections[-1].truncated

    near = await trace(team, row_id(main), max_depth=1)
    far = await trace(team, row_id(main), max_depth=5)
    assert (ends(near), is_cut(near)) == ([(1, "release")], True)
    assert (ends(far), is_cut(far)) == ([(1, "release"), (2, "hotfix")], False)
    assert (far.lineage[0].source_relationship_id, far.lineage[0].target_relationship_id) == (
        row_id(release),
        row_id(main),
    )
    few = await trace(team, row_id(release), max_edges=1)
    assert (len(few.lineage), is_cut(few)) == (1, True)
    assert few.lineage[0].relationship.relationship_id in {row_id(main), row_id(hotfix)}


@pytest.mark.rule("R9.4", "R8.2")
async def test_a_trace_of_the_past_is_what_it_was(told: tuple[Any, list[Any]]) -> None:
    team, (main, release, _) = told
    earlier = time_pb2.KnownSelector(revision=main.revision)
    before = await trace(team, row_id(main), **EVERYTHING, known=earlier)
    assert before.relationship.status == relationship_pb2.RELATIONSHIP_STATUS_ACTIVE
    assert (len(before.transitions), len(before.references), len(before.cases)) == (1, 0, 0)
    assert before.revision == main.revision
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await trace(team, row_id(release), known=earlier)
    assert refused.value.code() == grpc.StatusCode.NOT_FOUND


@pytest.mark.rule("R9.4")
async def test_a_statement_that_is_carried_on_by_another_row_is_traced_by_both(
    new_team: NewTeam, deploys_from: Request
) -> None:
    """An equal value that arrives between is divided off: both rows show the observation, one of them counts it."""
    team = await new_team()
    first = await team["A"].ingest.Remember(deploys_from("since 1 January 2020 production deploys from main", "main"))
    await team["A"].ingest.Remember(deploys_from("since 1 May 2022 production deploys from main again", "main"))
    divided = await team["A"].ingest.Remember(
        deploys_from("since 1 March 2021 production deploys from release", "release")
    )
    assert divided.placement.relationships[0].outcome
    old = await trace(team, row_id(first.placement), **EVERYTHING)
    assert len(old.observations) == 2
    assert sorted(one.effective for one in old.supports) == [False, True]
    later = next(one for one in old.supports if not one.effective)
    assert later.observation_id == old.observations[1].observation_id


@pytest.mark.parametrize(
    ("change", "reason", "field"),
    [
        ({"relationship_id": MISSING}, Reason.RESOURCE_NOT_FOUND, "relationship_id"),
        ({"relationship_id": "no id"}, Reason.INVALID_FIELD, "relationship_id"),
        ({"max_depth": 11}, Reason.INVALID_FIELD, "max_depth"),
        ({"max_edges": 201}, Reason.INVALID_FIELD, "max_edges"),
        ({"page_token": "bm8gdG9rZW4="}, Reason.PAGE_TOKEN_MISMATCH, "page_token"),
        ({"known": time_pb2.KnownSelector(revision=10_000)}, Reason.INVALID_FIELD, "known.revision"),
        (
            {"known": time_pb2.KnownSelector(known_at=timestamp_of(datetime(2099, 1, 1, tzinfo=UTC)))},
            Reason.INVALID_FIELD,
            "known.known_at",
        ),
    ],
)
async def test_a_trace_that_cannot_be_made_names_its_field(
    told: tuple[Any, list[Any]], change: dict[str, Any], reason: Reason, field: str
) -> None:
    team, (main, _, _) = told
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await trace(team, **{"relationship_id": row_id(main), **change})
    refusal = refusal_of(refused.value)
    assert refusal is not None
    assert (refusal.reason, refusal.field) == (reason, field)


@pytest.mark.error("PAGE_TOKEN_MISMATCH")
async def test_a_page_token_serves_its_own_request_alone(told: tuple[Any, list[Any]]) -> None:
    team, (main, release, _) = told
    first = await trace(team, row_id(main), page_size=1)
    for other in ({"relationship_id": row_id(release)}, {"include_transitions": True}):
        request = {"relationship_id": row_id(main), "page_size": 1, "page_token": first.next_page_token, **other}
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await trace(team, **request)
        refusal = refusal_of(refused.value)
        assert refusal is not None
        assert refusal.reason is Reason.PAGE_TOKEN_MISMATCH


# --- predicates


async def register(team: Any, key: str, *, retire: bool = False, **definition: Any) -> None:
    await team.admin.admin.RegisterPredicate(
        admin_service_pb2.RegisterPredicateRequest(
            idempotency_key=f"{key} {retire}",
            definition=predicate_pb2.PredicateDefinition(
                key=key,
                relationship_kind=predicate_pb2.RELATIONSHIP_KIND_STATE,
                current_cardinality=predicate_pb2.CARDINALITY_MANY,
                **definition,
            ),
            retire=retire,
            **({"expected_version": 1} if retire else {}),
        )
    )


@pytest.fixture
async def registry(new_team: NewTeam) -> Any:
    """Beside ``deploys_from`` three predicates, one of them retired."""
    team = await new_team(profiles=("A",))
    await register(team, "uses", aliases=["Works  with"], unit="")
    await register(team, "deploys_to", value_types=[1])
    await register(team, "owns")
    await register(team, "owns", retire=True)
    return team


async def keys(team: Any, **request: Any) -> tuple[list[str], int]:
    answer = await team["A"].recall.ListPredicates(recall_service_pb2.ListPredicatesRequest(**request))
    return [one.definition.key for one in answer.predicates], answer.total


@pytest.mark.rule("R3.6")
@pytest.mark.parametrize(
    ("request_fields", "listed"),
    [
        ({}, ["deploys_from", "deploys_to", "uses"]),
        ({"include_retired": True}, ["deploys_from", "deploys_to", "owns", "uses"]),
        ({"prefix": "deploys"}, ["deploys_from", "deploys_to"]),
        ({"prefix": "DEPLOYS  t"}, ["deploys_to"]),
        ({"prefix": "works w"}, ["uses"]),
        ({"prefix": "o"}, []),
        ({"prefix": "own", "include_retired": True}, ["owns"]),
    ],
)
async def test_predicates_are_listed_by_key_and_found_by_alias(
    registry: Any, request_fields: dict[str, Any], listed: list[str]
) -> None:
    assert await keys(registry, **request_fields) == (listed, len(listed))


async def test_predicates_are_paged_at_one_revision(registry: Any) -> None:
    shown: list[str] = []
    request = recall_service_pb2.ListPredicatesRequest(page_size=1)
    revisions = set()
    while True:
        answer = await registry["A"].recall.ListPredicates(request)
        shown += [one.definition.key for one in answer.predicates]
        revisions.add(answer.revision)
        assert answer.total == 3
        if not answer.next_page_token:
            break
        request.page_token = answer.next_page_token
        await register(registry, f"later_{len(shown)}")
    assert (shown, len(revisions)) == (["deploys_from", "deploys_to", "uses"], 1)
    assert (await keys(registry))[1] == 5


async def test_a_predicate_is_shown_as_it_is_registered(registry: Any) -> None:
    answer = await registry["A"].recall.ListPredicates(
        recall_service_pb2.ListPredicatesRequest(prefix="own", include_retired=True)
    )
    (owns,) = answer.predicates
    assert (owns.version, owns.lifecycle) == (2, predicate_pb2.PREDICATE_LIFECYCLE_RETIRED)
    assert owns.definition.current_cardinality == predicate_pb2.CARDINALITY_MANY
