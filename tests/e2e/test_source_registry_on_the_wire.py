"""The source registry over the wire: who may speak for a source, what its word is worth, and what a change decides."""

import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from corrigenda.admin.v1 import admin_service_pb2, source_pb2
from corrigenda.conflict.v1 import conflict_service_pb2
from corrigenda.ingest.v1 import placement_pb2, submission_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda.type.v1 import evidence_pb2, relationship_pb2
from corrigenda_core.domain.errors import Reason
from corrigenda_core.testing.wire_decisions import deciding, items_of, keep_new, refused

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., Any]
Verifies = Callable[[str], Awaitable[bool]]

AUTHORITATIVE = evidence_pb2.AUTHORITY_AUTHORITATIVE
PRIMARY = evidence_pb2.AUTHORITY_PRIMARY


def register(team: Any, *, expected_version: int | None = None, retire: bool = False, **definition: Any) -> Any:
    return team.admin.admin.RegisterSource(
        admin_service_pb2.RegisterSourceRequest(
            idempotency_key=uuid.uuid4().hex,
            definition=source_pb2.SourceDefinition(**definition),
            expected_version=expected_version,
            retire=retire,
        )
    )


@pytest.fixture
def remember(deploys_from: Request) -> Callable[..., Awaitable[Any]]:
    """Says as a profile where production deploys from, with fields of the evidence; answers the placement."""

    async def say(client: Any, branch: str, text: str = "", **evidence: Any) -> placement_pb2.Placement:
        request = deploys_from(text or f"production deploys from {branch}", branch)
        request.evidence[0].MergeFrom(submission_pb2.EvidenceItem(**evidence))
        answer = await client.ingest.Remember(request)
        placement: placement_pb2.Placement = answer.placement
        return placement

    return say


async def traced(client: Any, relationship_id: str) -> Any:
    return await client.recall.Trace(recall_service_pb2.TraceRequest(relationship_id=relationship_id))


@pytest.mark.rule("R2.3")
async def test_authority_follows_the_registry_in_both_directions(
    new_team: NewTeam, remember: Any, ledger_verifies: Verifies
) -> None:
    team = await new_team()
    placed = await remember(team["A"], "main", authority=AUTHORITATIVE, source_group="crm")
    (one,) = placed.relationships
    assert (one.granted_authority, list(one.notes)) == (PRIMARY, ["authority_lowered"])
    assert one.relationship.tier == relationship_pb2.TIER_VALIDATED_CLAIM
    # B disagrees: the case is told when the word of one side gains weight.
    opposed = (await remember(team["B"], "release")).relationships[0].conflict

    granted = await register(team, source_group="crm", authoritative_for=["deploys_from"])
    assert (granted.source.version, granted.changed_supports, granted.changed_relationships) == (1, 1, 1)
    trace = await traced(team["A"], one.relationship.relationship_id)
    assert trace.relationship.tier == relationship_pb2.TIER_FACT
    (support,) = trace.supports
    assert [(d.authority, d.reason) for d in support.decisions] == [
        (PRIMARY, "entailed"),
        (AUTHORITATIVE, "source_registry_changed"),
    ]
    case = await team["A"].conflict.GetConflict(
        conflict_service_pb2.GetConflictRequest(conflict_id=opposed.conflict_id)
    )
    assert case.conflict.version > opposed.version
    assert {p.label: p.authoritative_groups for p in case.conflict.positions} == {"main": 1, "release": 0}

    # Only for another predicate from now on: what was granted is taken back.
    other = await register(team, source_group="crm", expected_version=1)
    assert (other.source.version, other.changed_supports) == (2, 1)
    trace = await traced(team["A"], one.relationship.relationship_id)
    assert trace.relationship.tier == relationship_pb2.TIER_VALIDATED_CLAIM
    # Nothing changes for what says the same again.
    assert (await register(team, source_group="crm", expected_version=2)).changed_supports == 0
    assert await ledger_verifies(team.team_id)


@pytest.mark.rule("R2.3")
async def test_what_a_key_asserts_no_registry_takes_away(new_team: NewTeam, remember: Any) -> None:
    team = await new_team()
    await register(team, source_group="crm", authoritative_for_every_predicate=True)
    # The key of the first administrator may assert authority; so may the registry grant it.
    placed = await remember(team.admin, "main", authority=AUTHORITATIVE, source_group="crm")
    assert placed.relationships[0].granted_authority == AUTHORITATIVE
    retired = await register(team, source_group="crm", expected_version=1, retire=True)
    assert (retired.source.active, retired.changed_supports) == (False, 0)


@pytest.mark.promise("own.source")
@pytest.mark.error("SOURCE_NOT_ALLOWED")
@pytest.mark.rule("R2.4")
async def test_a_source_with_speakers_is_theirs(new_team: NewTeam, remember: Any) -> None:
    team = await new_team()
    speaker = (await remember(team["A"], "main")).author.profile_id
    await register(team, source_group="crm", speaker_profile_ids=[speaker])
    placed = await remember(team["A"], "main", "the crm says: production deploys from main", source_group="crm")
    assert list(placed.fragments[0].notes) == []
    refusal = await refused(remember(team["B"], "release", source_group="crm"))
    assert (refusal.reason, refusal.field) == (Reason.SOURCE_NOT_ALLOWED, "evidence[0].source_group")
    assert refusal.metadata["source"] == "crm"


@pytest.mark.promise("case.witness")
@pytest.mark.rule("R6.1")
async def test_an_invented_group_counts_as_its_author_and_a_registered_one_as_itself(
    new_team: NewTeam, remember: Any
) -> None:
    team = await new_team()
    await remember(team["B"], "release")
    opened = await remember(team["A"], "main", "one: production deploys from main", source_group="one")
    assert list(opened.fragments[0].notes) == ["author_counts_as_group"]
    conflict_id = opened.relationships[0].conflict.conflict_id

    async def counted() -> dict[str, int]:
        seen = await team["A"].conflict.GetConflict(conflict_service_pb2.GetConflictRequest(conflict_id=conflict_id))
        return {position.label: position.counted_groups for position in seen.conflict.positions}

    await remember(team["A"], "main", "two, by another name: production deploys from main", source_group="two")
    assert await counted() == {"main": 1, "release": 1}
    await register(team, source_group="three")
    await remember(team["A"], "main", "the third, in its own words: production deploys from main", source_group="three")
    assert await counted() == {"main": 2, "release": 1}


@pytest.mark.promise("own.system-of-record")
@pytest.mark.rule("R2.3", "R4.13")
@pytest.mark.error("SYSTEM_OF_RECORD")
async def test_acceptance_v19_a_record_is_untouched_by_what_others_say(
    new_team: NewTeam, remember: Any, deploys_from: Request
) -> None:
    team = await new_team()
    record = evidence_pb2.SOURCE_TYPE_SYSTEM_RECORD
    unregistered = await remember(team["B"], "trunk", source_type=record, source_group="crm")
    assert unregistered.fragments[0].source_type == evidence_pb2.SOURCE_TYPE_MANUAL
    assert "stored_as_manual" in unregistered.fragments[0].notes

    await register(team, source_group="crm", record=True)
    gold = await remember(
        team["A"], "gold", "since 1 March 2026 production deploys from gold", source_type=record, source_group="crm"
    )
    assert gold.fragments[0].source_type == record
    row = gold.relationships[0].relationship
    assert row.record
    # The same person says something else, at the same time and later.
    for text in ("production deploys from bronze", "since 1 May 2026 production deploys from bronze"):
        bronze = (await remember(team["A"], "bronze", text)).relationships[0]
        assert bronze.outcome in {placement_pb2.OUTCOME_HELD, placement_pb2.OUTCOME_COMPETING}
    # Asking for more does not help, neither as a decision nor as a correction.
    (item,) = await items_of(team["A"])
    refusal = await refused(team["A"].conflict.ResolveConflict(deciding(item, keep_new=keep_new(bronze.relationship))))
    assert (refusal.reason, refusal.metadata["relationship_id"]) == (Reason.SYSTEM_OF_RECORD, row.relationship_id)
    correction = submission_pb2.CorrectionTarget(relationship_id=row.relationship_id)
    corrected = deploys_from("no, production deploys from tin", "tin", correction_target=correction)
    refusal = await refused(team["A"].ingest.Remember(corrected))
    assert (refusal.reason, refusal.metadata["relationship_id"]) == (Reason.SYSTEM_OF_RECORD, row.relationship_id)
    kept = (await traced(team["A"], row.relationship_id)).relationship
    assert (kept.version, kept.status) == (row.version, row.status)
    # A newer record of the same source supersedes it.
    newer = await remember(
        team["A"], "silver", "since 1 June 2026 production deploys from silver", source_type=record, source_group="crm"
    )
    assert newer.relationships[0].outcome == placement_pb2.OUTCOME_SUPERSEDED
    ended = (await traced(team["A"], row.relationship_id)).relationship
    assert ended.status == relationship_pb2.RELATIONSHIP_STATUS_SUPERSEDED


@pytest.mark.parametrize(
    ("definition", "more", "reason", "field"),
    [
        ({}, {}, Reason.INVALID_FIELD, "definition.source_group"),
        (
            {"source_group": "crm", "authoritative_for_every_predicate": True, "authoritative_for": ["deploys_from"]},
            {},
            Reason.INVALID_FIELD,
            "definition.authoritative_for",
        ),
        (
            {"source_group": "crm", "authoritative_for": ["not_registered"]},
            {},
            Reason.INVALID_FIELD,
            "definition.authoritative_for",
        ),
        ({"source_group": "new"}, {"expected_version": 1}, Reason.STALE_VERSION, "expected_version"),
        ({"source_group": "taken"}, {}, Reason.STALE_VERSION, "expected_version"),
        ({"source_group": "new"}, {"retire": True}, Reason.INVALID_FIELD, "retire"),
    ],
)
async def test_a_registration_that_cannot_be_meant_is_refused(
    new_team: NewTeam, definition: dict[str, Any], more: dict[str, Any], reason: Reason, field: str
) -> None:
    team = await new_team(profiles=())
    await register(team, source_group="taken")
    refusal = await refused(register(team, **definition, **more))
    assert (refusal.reason, refusal.field) == (reason, field)


async def test_the_registry_is_listed_page_by_page_in_the_order_of_registration(new_team: NewTeam) -> None:
    team = await new_team(profiles=("A",))
    named: Sequence[dict[str, str]] = (
        {"source_group": "zoo"},
        {"source_key": "\U0001f600" * 256},
        {"source_group": "\U0001f600" * 256, "source_key": "\U0001f600" * 256},
    )
    for names in named:
        await register(team, **names)
    await register(team, source_group="zoo", expected_version=1, retire=True)
    listed: list[tuple[str, str, bool]] = []
    token = ""
    while True:
        page = await team["A"].admin.ListSources(admin_service_pb2.ListSourcesRequest(page_size=1, page_token=token))
        assert page.total == len(named)
        listed += [(s.definition.source_group, s.definition.source_key, s.active) for s in page.sources]
        token = page.next_page_token
        if not token:
            break
    assert listed == [
        (names.get("source_group", ""), names.get("source_key", ""), "source_group" not in names or number > 0)
        for number, names in enumerate(named)
    ]
    refusal = await refused(team["A"].admin.ListSources(admin_service_pb2.ListSourcesRequest(page_token="damaged")))
    assert refusal.reason is Reason.PAGE_TOKEN_MISMATCH


async def test_a_repeated_registration_answers_what_the_first_did(new_team: NewTeam) -> None:
    team = await new_team(profiles=())
    request = admin_service_pb2.RegisterSourceRequest(
        idempotency_key="once", definition=source_pb2.SourceDefinition(source_group="crm")
    )
    first = await team.admin.admin.RegisterSource(request)
    assert await team.admin.admin.RegisterSource(request) == first
    request.definition.record = True
    assert (await refused(team.admin.admin.RegisterSource(request))).reason is Reason.IDEMPOTENCY_CONFLICT


@pytest.mark.error("SCOPE_MISSING")
async def test_only_an_administrator_registers(new_team: NewTeam) -> None:
    team = await new_team(profiles=("A",))
    request = admin_service_pb2.RegisterSourceRequest(
        idempotency_key="k", definition=source_pb2.SourceDefinition(source_group="crm")
    )
    assert (await refused(team["A"].admin.RegisterSource(request))).reason is Reason.SCOPE_MISSING
