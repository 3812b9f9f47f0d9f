"""What users of other memories complain about, by number: what a write ends, keeps, counts and answers here."""

import asyncio
import itertools
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import conflict_service_pb2, review_item_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2, submission_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda.type.v1 import evidence_pb2, predicate_pb2, relationship_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.errors import Reason
from corrigenda_core.rpc.convert import instant_of
from corrigenda_core.rpc.json_mapping import fill_from_json
from corrigenda_core.testing.wire_decisions import refused
from corrigenda_core.testing.wire_recall import current_recall

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]

ACTIVE = relationship_pb2.RELATIONSHIP_STATUS_ACTIVE
SUPERSEDED = relationship_pb2.RELATIONSHIP_STATUS_SUPERSEDED


@pytest.fixture
async def team(new_team: NewTeam) -> Any:
    """A team that knows where production deploys from, who owns what, and what people like."""
    team = await new_team()
    for key, cardinality in (("works_at", 1), ("responsible_for", 2), ("prefers", 2), ("seated_in", 1)):
        await team.admin.admin.RegisterPredicate(
            admin_service_pb2.RegisterPredicateRequest(
                idempotency_key=key,
                definition=predicate_pb2.PredicateDefinition(
                    key=key,
                    relationship_kind=predicate_pb2.RELATIONSHIP_KIND_STATE,
                    current_cardinality=cardinality,
                    supersession_basis=predicate_pb2.SUPERSESSION_BASIS_STATED_TIME,
                ),
            )
        )
    return team


def saying(
    subject: str, predicate: str, value: str, text: str = "", *, key: str = "", **more: Any
) -> ingest_service_pb2.RememberRequest:
    words = text or f"{subject} {predicate.replace('_', ' ')} {value}"
    return ingest_service_pb2.RememberRequest(
        idempotency_key=key or uuid.uuid4().hex,
        evidence=[submission_pb2.EvidenceItem(content=words, source_type=evidence_pb2.SOURCE_TYPE_CONVERSATION)],
        proposal=submission_pb2.Proposal(
            entities=[
                submission_pb2.ProposedEntity(ref="subject", name=subject, entity_kind="thing"),
                submission_pb2.ProposedEntity(ref="object", name=value, entity_kind="thing"),
            ],
            relationships=[
                submission_pb2.ProposedRelationship(
                    proposal_id="p1",
                    subject_ref="subject",
                    predicate=predicate,
                    object_ref="object",
                    polarity=relationship_pb2.POLARITY_POSITIVE,
                    modality=relationship_pb2.MODALITY_STATEMENT,
                    evidence=[submission_pb2.Citation(evidence_index=0, quote=words)],
                    **more,
                )
            ],
        ),
    )


def between(start: datetime | None, end: datetime | None) -> Any:
    """A stated validity."""
    request = submission_pb2.ProposedRelationship()
    if start is not None:
        request.validity.valid_from.FromDatetime(start)
    if end is not None:
        request.validity.valid_to.FromDatetime(end)
    return request.validity


async def said(client: Any, *words: str, **more: Any) -> placement_pb2.RelationshipPlacement:
    (placed,) = (await client.ingest.Remember(saying(*words, **more))).placement.relationships
    assert placed.verdict == relationship_pb2.VERDICT_ENTAILED, placed.verdict_reason
    return placed


async def now(client: Any, placed: placement_pb2.RelationshipPlacement) -> recall_service_pb2.TraceResponse:
    """The row as it is now, with everything that led to it."""
    return await client.recall.Trace(
        client.own_writes(
            recall_service_pb2.TraceRequest(
                relationship_id=placed.relationship.relationship_id,
                include_evidence_content=True,
                include_transitions=True,
            )
        )
    )


async def questions(client: Any) -> list[review_item_pb2.ReviewItem]:
    answer = await client.conflict.ListReviewItems(
        client.own_writes(conflict_service_pb2.ListReviewItemsRequest(statuses=[review_item_pb2.ITEM_STATUS_PENDING]))
    )
    return list(answer.items)


def rows(stack: Stack, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with psycopg.connect(stack.url("corrigenda_auditor"), autocommit=True) as connection:
        return connection.execute(sql, parameters).fetchall()


# --- contradictions and wrong invalidation --------------------------------------------------------------------------


async def test_p01_a_fact_that_merely_names_an_entity_ends_nothing(team: Any) -> None:
    works = await said(team["A"], "ann", "works_at", "acme")
    await said(team["A"], "ann", "responsible_for", "billing")
    await said(team["A"], "acme", "works_at", "ann")
    assert (await now(team["A"], works)).relationship.status == ACTIVE


async def test_p05_the_newest_value_is_current_and_the_prior_one_readable(team: Any) -> None:
    prior = await said(team["A"], "ann", "works_at", "acme", "since 1 March 2025 ann works at acme")
    await said(team["A"], "ann", "works_at", "zeta", "since 1 March 2026 ann works at zeta")
    traced = await now(team["A"], prior)
    assert traced.relationship.status == SUPERSEDED
    assert instant_of(traced.relationship.validity.interval.valid_to) == datetime(2026, 3, 1, tzinfo=UTC)
    assert [one.content for one in traced.evidence] == ["since 1 March 2025 ann works at acme"]


@pytest.mark.promise("kept.values")
async def test_p06_nothing_ends_without_a_stored_successor(team: Any) -> None:
    first = await said(team["A"], "ann", "seated_in", "berlin")
    second = await said(team["A"], "ann", "seated_in", "paris")
    assert second.outcome == placement_pb2.OUTCOME_HELD
    assert (await now(team["A"], first)).relationship.status == ACTIVE
    assert len((await now(team["A"], second)).evidence) == 1


async def test_p07_an_exact_repeat_adds_no_vote_and_deletes_nothing(team: Any) -> None:
    first = await said(team["A"], "ann", "works_at", "acme")
    again = await said(team["A"], "ann", "works_at", "acme")
    assert again.outcome == placement_pb2.OUTCOME_DUPLICATE
    assert again.relationship == first.relationship


async def test_p08_values_of_intervals_that_do_not_overlap_contradict_nothing(team: Any) -> None:
    turn = datetime(2024, 2, 20, tzinfo=UTC)
    first = await said(team["A"], "ann", "works_at", "acme", validity=between(datetime(2023, 6, 1, tzinfo=UTC), turn))
    second = await said(team["A"], "ann", "works_at", "zeta", validity=between(turn, None))
    assert (first.outcome, second.outcome) == (placement_pb2.OUTCOME_INSERTED,) * 2
    assert not await questions(team["A"])


@pytest.mark.parametrize("days", [0, -300], ids=["empty", "inverted"])
async def test_p09_an_interval_that_holds_at_no_instant_is_refused(team: Any, days: int) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    stated = between(start, start + timedelta(days=days))
    refusal = await refused(team["A"].ingest.Remember(saying("ann", "works_at", "acme", validity=stated)))
    assert refusal.reason is Reason.INVALID_FIELD
    assert refusal.field.startswith("proposal.relationships[0].validity")


@pytest.mark.promise("case.opens")
async def test_p10_a_contradiction_of_two_owners_is_a_case_and_no_new_text(team: Any) -> None:
    await said(team["A"], "acme", "seated_in", "san francisco")
    other = await said(team["B"], "acme", "seated_in", "new york")
    case = await team["A"].conflict.GetConflict(
        conflict_service_pb2.GetConflictRequest(conflict_id=other.conflict.conflict_id)
    )
    assert {one.label for one in case.conflict.positions} == {"san francisco", "new york"}


async def test_p11_preferences_that_stand_side_by_side_raise_no_alarm(team: Any) -> None:
    placed = [await said(team["A"], "ann", "prefers", value) for value in ("dark theme", "vim", "tea")]
    placed.append(await said(team["B"], "ann", "prefers", "emacs"))
    assert not any(one.HasField("conflict") or one.HasField("item") for one in placed)


async def test_p15_a_supersession_and_the_change_of_status_are_one_commit(team: Any) -> None:
    prior = await said(team["A"], "search", "works_at", "jina", "since 1 March 2026 search works at jina")
    later = await said(team["A"], "search", "works_at", "exa", "since 1 April 2026 search works at exa")
    assert (await now(team["A"], prior)).relationship.revision == later.relationship.revision


# --- stale facts and times ------------------------------------------------------------------------------------------


@pytest.mark.promise("time.order")
async def test_p16_p17_order_of_arrival_decides_nothing(team: Any) -> None:
    """Every order of the same three statements leaves the same values with the same intervals."""
    statements = [(f"since 1 {month} 2026", value) for month, value in (("March", "a"), ("April", "b"), ("May", "c"))]
    seen = set()
    for number, order in enumerate(itertools.permutations(statements)):
        placed = [
            await said(team["A"], f"box{number}", "seated_in", value, f"{since} box{number} seated in {value}")
            for since, value in order
        ]
        left = [(await now(team["A"], one)).relationship for one in placed]
        seen.add(
            tuple(
                sorted(
                    (row.object.entity.name, row.status, str(row.validity.interval).replace("\n", " ")) for row in left
                )
            )
        )
    assert len(seen) == 1


async def test_p18_every_accepted_field_is_stored_and_what_is_unknown_is_refused(team: Any) -> None:
    request = saying("ann", "works_at", "acme", validity=between(None, datetime(2025, 1, 1, tzinfo=UTC)))
    request.evidence[0].source_group, request.evidence[0].confidence = "hr", 0.5
    request.evidence[0].labels.append("people")
    request.metadata["ticket"] = "T-1"
    (placed,) = (await team["A"].ingest.Remember(request)).placement.relationships
    assert instant_of(placed.relationship.validity.interval.valid_to) == datetime(2025, 1, 1, tzinfo=UTC)
    (evidence,) = (await now(team["A"], placed)).evidence
    assert (evidence.source_group, evidence.confidence, list(evidence.labels)) == ("hr", 0.5, ["people"])
    unknown = ingest_service_pb2.RememberRequest.FromString(
        saying("ann", "works_at", "zeta").SerializeToString() + b"\xba\x3e\x01x"
    )
    assert (await refused(team["A"].ingest.Remember(unknown))).reason is Reason.INVALID_FIELD


async def test_p20_a_later_start_of_the_same_owner_supersedes_at_once(team: Any) -> None:
    await said(team["A"], "ann", "works_at", "acme", "since 1 March 2026 ann works at acme")
    later = await said(team["A"], "ann", "works_at", "zeta", "since 2 March 2026 ann works at zeta")
    assert later.outcome == placement_pb2.OUTCOME_SUPERSEDED
    same = await said(team["A"], "ann", "works_at", "yota", "since 2 March 2026 ann works at yota")
    assert same.outcome == placement_pb2.OUTCOME_HELD
    assert len(await questions(team["A"])) == 1


@pytest.mark.promise("time.instant")
@pytest.mark.parametrize(
    "instant",
    [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(2025, 7, 25, 2, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999998, tzinfo=UTC),
    ],
    ids=["first", "before the epoch", "p22", "last"],
)
async def test_p21_p22_p24_an_instant_comes_back_as_it_was_sent(team: Any, instant: datetime) -> None:
    placed = await said(team["A"], "ann", "works_at", "acme", validity=between(instant, None))
    assert instant_of(placed.relationship.validity.interval.valid_from) == instant
    traced = await now(team["A"], placed)
    assert instant_of(traced.relationship.validity.interval.valid_from) == instant


@pytest.mark.promise("time.instant")
async def test_p23_a_time_that_is_no_instant_is_refused(team: Any) -> None:
    """The wire has no time without a zone; what it could still say is finer than the store, or no year."""
    request = saying("ann", "works_at", "acme", validity=between(datetime(2026, 1, 1, tzinfo=UTC), None))
    request.proposal.relationships[0].validity.valid_from.nanos = 1
    assert (await refused(team["A"].ingest.Remember(request))).reason is Reason.INVALID_FIELD
    request.proposal.relationships[0].validity.valid_from.seconds = 253402300800
    assert (await refused(team["A"].ingest.Remember(request))).reason is Reason.INVALID_FIELD


@pytest.mark.promise("time.instant")
async def test_p27_the_offset_that_was_written_comes_back_beside_the_instant(team: Any) -> None:
    """Seven in the evening of 1 June stays the evening of 1 June, though it is 2 June in UTC."""
    request = saying("ann", "works_at", "acme")
    fill_from_json(request.evidence[0], {"occurred_at": "2026-06-01T19:00:00-07:00"})
    placed = await team["A"].ingest.Remember(request)
    (row,) = placed.placement.relationships
    traced = await now(team["A"], row)
    (evidence,) = traced.evidence
    assert instant_of(evidence.occurred_at) == datetime(2026, 6, 2, 2, tzinfo=UTC)
    assert evidence.occurred_at_offset_minutes == -7 * 60
    found = await current_recall(team["A"], recall_service_pb2.RecallRequest(query="where does ann work"))
    assert [one.evidence.occurred_at_offset_minutes for one in found.results] == [-7 * 60]
    request.idempotency_key = uuid.uuid4().hex
    request.evidence[0].ClearField("occurred_at")
    refusal = await refused(team["A"].ingest.Remember(request))
    assert refusal.reason is Reason.INVALID_FIELD
    assert refusal.field == "evidence[0].occurred_at_offset_minutes"


# --- lost updates, concurrency, idempotency -------------------------------------------------------------------------


@pytest.mark.promise("kept.at-once")
async def test_p28_p29_p34_every_acknowledged_write_is_there(stack: Stack, team: Any) -> None:
    answers = await asyncio.gather(
        *(
            team[name].ingest.Remember(saying(f"box{number}", "seated_in", "berlin"))
            for number in range(16)
            for name in "ABC"
        )
    )
    for answer in answers:
        read = await team["A"].ingest.GetPlacement(
            ingest_service_pb2.GetPlacementRequest(ingest_id=answer.placement.ingest_id)
        )
        assert read.placement == answer.placement
    assert rows(stack, "SELECT count(*) FROM relationships WHERE team_id = %s", team.team_id) == [(48,)]


async def test_p30_s07_the_same_said_at_once_is_one_record(stack: Stack, team: Any) -> None:
    placed = await asyncio.gather(*(said(team["A"], "ann", "works_at", "acme") for _ in range(5)))
    assert len({one.relationship.relationship_id for one in placed}) == 1
    counts = "SELECT (SELECT count(*) FROM {0} WHERE team_id = t.team_id) FROM teams AS t WHERE team_id = %s"
    assert [
        rows(stack, counts.format(table), team.team_id)[0][0]
        for table in ("evidence_fragments", "evidence_occurrences", "ingests", "relationships", "statements")
    ] == [1, 4, 5, 1, 1]


@pytest.mark.promise("kept.at-once")
async def test_p31_supports_that_come_at_once_are_all_kept(team: Any) -> None:
    placed = await asyncio.gather(
        *(
            said(team["A"], "ann", "works_at", "acme", f"note {number * 7919} of {number}: ann works at acme")
            for number in range(6)
        )
    )
    assert len({one.relationship.relationship_id for one in placed}) == 1
    assert len((await now(team["A"], placed[0])).evidence) == 6


async def test_p32_a_write_during_a_review_survives(team: Any) -> None:
    await said(team["A"], "acme", "seated_in", "berlin")
    writes = [
        said(team["B"], "acme", "seated_in", "paris"),
        *(said(team["C"], f"x{n}", "seated_in", "rome") for n in range(8)),
    ]
    reviews = [
        team.admin.conflict.ReviewNow(conflict_service_pb2.ReviewNowRequest(idempotency_key=f"now {number}"))
        for number in range(3)
    ]
    placed = (await asyncio.gather(*writes, *reviews))[: len(writes)]
    assert [(await now(team["A"], one)).relationship.status for one in placed] == [ACTIVE] * len(writes)


async def test_p33_a_write_made_for_an_older_version_changes_nothing(team: Any) -> None:
    first = await said(team["A"], "ann", "works_at", "acme", "since 1 March 2026 ann works at acme")
    await said(team["A"], "ann", "works_at", "zeta", "since 1 May 2026 ann works at zeta")
    target = submission_pb2.CorrectionTarget(
        relationship_id=first.relationship.relationship_id, expected_version=first.relationship.version
    )
    stale = saying("ann", "works_at", "yota", "since 1 March 2026 ann works at yota", correction_target=target)
    refusal = await refused(team["A"].ingest.Remember(stale))
    assert (refusal.reason, refusal.metadata["current_version"]) == (Reason.STALE_VERSION, "2")


@pytest.mark.promise("kept.at-once")
async def test_p35_s08_two_values_at_once_leave_one_current_and_one_question(team: Any) -> None:
    placed = await asyncio.gather(
        said(team["A"], "ann", "works_at", "acme"), said(team["A"], "ann", "works_at", "zeta")
    )
    left = [(await now(team["A"], one)).relationship.status for one in placed]
    assert sorted(left) == sorted([ACTIVE, relationship_pb2.RELATIONSHIP_STATUS_NEEDS_REVIEW])
    assert len(await questions(team["A"])) == 1


@pytest.mark.promise("kept.values")
async def test_p36_no_call_overwrites(team: Any) -> None:
    first = await said(team["A"], "ann", "works_at", "acme", "since 1 March 2026 ann works at acme")
    await said(team["A"], "ann", "works_at", "zeta", "since 1 May 2026 ann works at zeta")
    versions = [one.version for one in (await now(team["A"], first)).transitions]
    assert sorted(versions) == [1, 2]


@pytest.mark.promise("kept.once")
async def test_p37_a_retried_turn_is_one_memory(stack: Stack, team: Any) -> None:
    request = saying("ann", "works_at", "acme", key="turn 1")
    answers = await asyncio.gather(*(team["A"].ingest.Remember(request) for _ in range(4)))
    assert all(answer == answers[0] for answer in answers)
    assert rows(stack, "SELECT count(*) FROM ingests WHERE team_id = %s", team.team_id) == [(1,)]
    other = saying("ann", "works_at", "zeta", key="turn 1")
    assert (await refused(team["A"].ingest.Remember(other))).reason is Reason.IDEMPOTENCY_CONFLICT


# --- one owner's conflicts ------------------------------------------------------------------------------------------


async def test_s11_equal_to_one_side_and_against_the_other(team: Any) -> None:
    first = await said(team["A"], "ann", "seated_in", "berlin")
    await said(team["A"], "ann", "seated_in", "paris")
    again = await said(team["A"], "ann", "seated_in", "berlin", "our checklist confirms: ann seated in berlin")
    assert (again.outcome, again.relationship.relationship_id) == (
        placement_pb2.OUTCOME_CORROBORATED,
        first.relationship.relationship_id,
    )
    (item,) = await questions(team["A"])
    assert {one.object.entity.name for one in (*item.incoming, *item.opposing)} == {"berlin", "paris"}


@pytest.mark.parametrize("value", ["Café Bar", "CAFÉ BAR", "cafe\u0301 bar", "ｃａｆé  bar"])
async def test_s16_the_same_in_another_form_is_the_same_value(team: Any, value: str) -> None:
    first = await said(team["A"], "ann", "seated_in", "café bar")
    again = await said(team["A"], "ann", "seated_in", value, f"our checklist confirms: ann seated in {value}")
    assert again.outcome == placement_pb2.OUTCOME_CORROBORATED
    assert again.relationship.relationship_id == first.relationship.relationship_id


async def test_s17_a_contradiction_is_found_by_its_slot_and_not_by_likeness(team: Any) -> None:
    long = "the minutes of the meeting in spring go on about budgets, hiring and the new coffee machine. "
    await said(team["A"], "ann", "seated_in", "berlin", long * 8 + "ann seated in berlin")
    other = await said(team["A"], "ann", "seated_in", "paris")
    assert other.outcome == placement_pb2.OUTCOME_HELD


# --- invariants -----------------------------------------------------------------------------------------------------


@pytest.mark.promise("kept.both-sides")
@pytest.mark.rule("R2.1", "R7.1")
async def test_invariant_01_a_conflict_keeps_both_evidences_byte_identical(team: Any) -> None:
    texts = ["  acme seated in berlin\n\n\u2003(as written)", "acme seated in paris. \u00e9 e\u0301"]
    placed = [
        await said(team[name], "acme", "seated_in", value, text)
        for name, value, text in zip("AB", ("berlin", "paris"), texts, strict=True)
    ]
    assert placed[1].conflict.effect == placement_pb2.CONFLICT_EFFECT_OPENS_CASE
    for one, text in zip(placed, texts, strict=True):
        assert [evidence.content for evidence in (await now(team["C"], one)).evidence] == [text]


@pytest.mark.promise("kept.reasons")
@pytest.mark.rule("R5.1")
async def test_invariant_03_a_decision_has_actor_provenance_time_targets_and_key(stack: Stack, team: Any) -> None:
    wrong = await said(team["A"], "ann", "works_at", "acme")
    target = submission_pb2.CorrectionTarget(relationship_id=wrong.relationship.relationship_id)
    await said(team["A"], "ann", "works_at", "zeta", key="the correction", correction_target=target)
    (decision,) = rows(
        stack,
        "SELECT kind, actor_kind, actor_profile_id IS NOT NULL, idempotency_key, target_ids::text[],"
        " recorded_at IS NOT NULL, statement_ids IS NOT NULL FROM decisions WHERE team_id = %s",
        team.team_id,
    )
    assert decision == ("correct", "profile", True, "the correction", [target.relationship_id], True, True)


@pytest.mark.promise("kept.evidence")
@pytest.mark.rule("R2.1")
async def test_invariant_04_evidence_is_never_mutated(stack: Stack, team: Any) -> None:
    await said(team["A"], "ann", "works_at", "acme")
    before = rows(stack, "SELECT f::text FROM evidence_fragments AS f WHERE team_id = %s", team.team_id)
    await said(team["A"], "ann", "works_at", "acme")
    await said(team["A"], "ann", "works_at", "zeta", "since 1 May 2026 ann works at zeta")
    await said(team["B"], "ann", "works_at", "yota")
    after = rows(stack, "SELECT f::text FROM evidence_fragments AS f WHERE team_id = %s", team.team_id)
    assert set(before) <= set(after)


@pytest.mark.promise("kept.reasons")
@pytest.mark.rule("R4.4")
async def test_invariant_07_no_state_changes_without_its_transition_in_the_same_revision(
    stack: Stack, team: Any
) -> None:
    for text, value in (
        ("since 1 March 2026 ann works at acme", "acme"),
        ("since 1 May 2026 ann works at zeta", "zeta"),
        ("since 1 April 2026 ann works at yota", "yota"),
    ):
        await said(team["A"], "ann", "works_at", value, text)
    await said(team["B"], "ann", "works_at", "acme")
    versions = "SELECT relationship_id, version, revision FROM {} WHERE team_id = %s ORDER BY 1, 2"
    history = rows(stack, versions.format("relationships_history"), team.team_id)
    assert history == rows(stack, versions.format("transitions"), team.team_id)
    assert len(history) >= 5


@pytest.mark.promise("own.answer")
@pytest.mark.rule("R7.2", "R7.7")
async def test_invariant_17_an_answer_is_the_answerers_own_record_and_a_vote_changes_nothing(team: Any) -> None:
    mine = await said(team["A"], "acme", "seated_in", "berlin")
    other = await said(team["B"], "acme", "seated_in", "paris")
    context = submission_pb2.ConflictContext(
        conflict_id=other.conflict.conflict_id, expected_version=other.conflict.version
    )
    vote = saying("acme", "seated_in", "paris", "B is right", conflict_context=context)
    (kept,) = (await team["C"].ingest.Remember(vote)).placement.relationships
    assert (kept.outcome, kept.reason) == (placement_pb2.OUTCOME_PENDING_EVIDENCE, "insufficient")
    case = await team["C"].conflict.GetConflict(
        conflict_service_pb2.GetConflictRequest(conflict_id=other.conflict.conflict_id)
    )
    assert case.conflict.version == other.conflict.version
    answer = await said(
        team["C"],
        "acme",
        "seated_in",
        "paris",
        "our checklist confirms: acme seated in paris",
        conflict_context=context,
    )
    assert answer.relationship.owner.name == "C"
    assert answer.relationship.relationship_id not in {
        mine.relationship.relationship_id,
        other.relationship.relationship_id,
    }
    assert [(await now(team["A"], one)).relationship.version for one in (mine, other)] == [1, 1]
