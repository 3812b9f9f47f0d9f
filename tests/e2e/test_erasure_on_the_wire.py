"""Q23: an erased text is nowhere: no table, no index, no log, no answer; and the history still verifies."""

import re
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from corrigenda.admin.v1 import admin_service_pb2 as admin
from corrigenda.conflict.v1 import conflict_service_pb2
from corrigenda.ingest.v1 import forgetting_pb2, submission_pb2
from corrigenda.ingest.v1 import ingest_service_pb2 as ingest
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda.type.v1 import evidence_pb2, object_pb2, predicate_pb2, relationship_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.errors import Reason
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.testing.canaries import places_in_tables
from corrigenda_core.testing.effort import examples
from corrigenda_core.testing.wire_decisions import refused

pytestmark = [pytest.mark.database, pytest.mark.rule("R11.3")]

NewTeam = Callable[..., Awaitable[Any]]
Verifies = Callable[[str], Awaitable[bool]]

# Where the words of the first test are before the erasure; those of the others tables are in none of its submissions.
HOLDING = (
    "case_positions",
    "case_positions_history",
    "conflict_cases",
    "conflict_cases_history",
    "entity_contexts",
    "entity_names",
    "evidence_fragments",
    "idempotency_records",
    "ingests",
    "observations",
    "relationships",
    "relationships_history",
    "review_items",
    "review_items_history",
    "statements",
)

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


async def register_nickname(team: Any) -> None:
    await team.admin.admin.RegisterPredicate(
        admin.RegisterPredicateRequest(
            idempotency_key="nickname",
            definition=predicate_pb2.PredicateDefinition(
                key="nicknamed",
                aliases=["is nicknamed"],
                relationship_kind=predicate_pb2.RELATIONSHIP_KIND_STATE,
                current_cardinality=predicate_pb2.CARDINALITY_ONE,
                value_types=[object_pb2.VALUE_TYPE_TEXT],
            ),
        )
    )


def nickname(
    text: str, name: str, value: str, *, scope: str = "", ref: str = "who", **more: Any
) -> ingest.RememberRequest:
    """The request that says how somebody is nicknamed; the canary of a test is in every word that it may be in."""
    return ingest.RememberRequest(
        idempotency_key=uuid.uuid4().hex,
        metadata=more.pop("metadata", {}),
        evidence=[
            submission_pb2.EvidenceItem(
                content=text, source_type=evidence_pb2.SOURCE_TYPE_CONVERSATION, **more.pop("evidence", {})
            )
        ],
        proposal=submission_pb2.Proposal(
            entities=[
                submission_pb2.ProposedEntity(
                    ref=ref,
                    name=name,
                    entity_kind="person",
                    aliases=more.pop("aliases", ()),
                    identity_context=more.pop("context", {}),
                )
            ],
            relationships=[
                submission_pb2.ProposedRelationship(
                    proposal_id=more.pop("proposal_id", "p1"),
                    subject_ref=ref,
                    predicate="nicknamed",
                    object_value=object_pb2.Value(type=object_pb2.VALUE_TYPE_TEXT, text=value),
                    polarity=relationship_pb2.POLARITY_POSITIVE,
                    modality=relationship_pb2.MODALITY_STATEMENT,
                    scope=scope,
                    evidence=[submission_pb2.Citation(evidence_index=0, start=0, end=len(text))],
                    **more,
                )
            ],
        ),
    )


def erase(team: Any, fragment_id: str, **more: Any) -> Awaitable[Any]:
    request = admin.EraseEvidenceRequest(
        idempotency_key=more.pop("key", uuid.uuid4().hex), fragment_id=fragment_id, reason="asked by the person"
    )
    answer: Awaitable[Any] = team.admin.admin.EraseEvidence(request)
    return answer


def places_of(stack: Stack, canary: str) -> list[str]:
    """Every place of the database and of the logs that holds the canary, in any case and in any encoding of ours."""
    found = places_in_tables(stack.url("corrigenda_auditor"), canary)
    needle = canary.lower()
    for log in sorted((stack.directory / "logs").rglob("*")):
        if log.is_file() and needle in log.read_text(encoding="utf-8", errors="replace").lower():
            found.append(str(log.name))
    return found


def hash_of(stack: Stack, fragment_id: str) -> str:
    """The hash by which policies tell copies."""
    with psycopg.connect(stack.url("corrigenda_auditor"), autocommit=True) as connection:
        row = connection.execute(
            "SELECT encode(normal_sha256, 'hex') FROM evidence_fragments WHERE fragment_id = %s", [fragment_id]
        ).fetchone()
    assert row is not None
    return str(row[0])


def files_with(stack: Stack, canary: str) -> list[str]:
    """The files of tables and indexes that hold the canary: what the server has not yet cleared away counts as well."""
    held = f"%{canary}%"
    with psycopg.connect(str(stack.database_url), autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        rows = connection.execute(
            "SELECT c.relname, encode(pg_read_binary_file(pg_relation_filepath(c.oid)), 'escape') ILIKE %s"
            " FROM pg_class AS c WHERE c.relkind IN ('r', 'i', 't') AND pg_relation_size(c.oid) > 0",
            [held],
        ).fetchall()
    return [str(name) for name, found in rows if found]


def rewrite_tables(stack: Stack) -> None:
    """What the guide tells the operator to do: the planner's statistics hold samples of columns, they come first."""
    with psycopg.connect(str(stack.database_url), autocommit=True) as connection:
        connection.execute("ANALYZE")
        connection.execute("VACUUM FULL")


@pytest.mark.promise("erase.nowhere", "Q23")
async def test_an_erased_text_is_nowhere_and_the_history_still_verifies(
    stack: Stack, new_team: NewTeam, ledger_verifies: Verifies
) -> None:
    team = await new_team(driven_from=BEGIN)
    await register_nickname(team)
    canaries = []
    for number in range(examples(fast=2, full=50)):
        canary = f"Quex{uuid.uuid4().hex[:12]}"
        canaries.append(canary)
        text = f"Ann{number} is nicknamed {canary}."
        request = nickname(
            text,
            f"Ann{number}",
            canary,
            scope=f"at {canary}",
            proposal_id=f"p-{canary}",
            comment=f"a comment on {canary}",
            aliases=[f"{canary}son"],
            context={"seen": canary},
            metadata={"where": f"the desk of {canary}"},
        )
        placed = await team["A"].ingest.Remember(request)
        other = nickname(f"Ann{number} is nicknamed Ace.", f"Ann{number}", "Ace", scope=f"at {canary}")
        disputed = await team["B"].ingest.Remember(other)
        conflict_id = disputed.placement.relationships[0].conflict.conflict_id
        assert conflict_id, f"{placed}{disputed}"
        await team.admin.conflict.ReviewNow(
            conflict_service_pb2.ReviewNowRequest(idempotency_key=f"review {number}", wait_seconds=20)
        )
        # Whoever is meant here is a question, and the question repeats the caller's own name for the mention.
        asked = nickname(f"{text} Indeed.", f"Ann{number}", canary, ref=f"who-{canary}", context={"seen": "elsewhere"})
        unclear = await team["C"].ingest.Remember(asked)
        assert unclear.placement.entities[0].item.item_id
        if number == 0:
            # Asked while the row is live: how long a replaced row's bytes stay is the server's to choose.
            assert "evidence_fragments" in files_with(stack, canary)
        holding = places_of(stack, canary)
        for table in HOLDING:
            assert any(place.startswith(f"{table}: ") for place in holding), table
        hashed = hash_of(stack, placed.placement.fragments[0].fragment_id)
        assert "case_evaluations" in {place.partition(":")[0] for place in places_of(stack, hashed)}
        # What was decided is audit; what was said about it in words is not.
        row_id = disputed.placement.relationships[0].relationship.relationship_id
        await team["B"].ingest.Forget(
            ingest.ForgetRequest(
                idempotency_key=f"forget {number}",
                retract=forgetting_pb2.Retract(relationship_id=row_id),
                reason=f"nobody but {canary} says so",
            )
        )
        assert any(place.startswith("decisions: ") for place in places_of(stack, canary))
        await erase(team, disputed.placement.fragments[0].fragment_id)
        answer = await erase(team, placed.placement.fragments[0].fragment_id)
        assert answer.erasure.erased_texts > 10
        assert re.fullmatch(r"[0-9a-f]{64}", answer.erasure.keyed_hash)
        await erase(team, unclear.placement.fragments[0].fragment_id)
        assert places_of(stack, canary) == []
        # What can be tried against texts is kept for the ledger alone, out of the services' sight.
        assert {place.partition(":")[0] for place in places_of(stack, hashed)} <= {"erased_texts"}
        # The name that others gave, if by an erased text, is nobody's any more either.
        assert places_of(stack, f"Ann{number} is") == []
        again = await team["A"].ingest.Remember(request)
        assert (again.placement.ingest_id, canary in str(again)) == (placed.placement.ingest_id, False)
        shown = await team["A"].ingest.GetPlacement(ingest.GetPlacementRequest(ingest_id=placed.placement.ingest_id))
        assert canary not in str(shown)
    assert await ledger_verifies(team.team_id)
    # Replaced rows may stay in the files until the operator has the tables rewritten, as the guide says.
    rewrite_tables(stack)
    assert [name for canary in canaries for name in files_with(stack, canary)] == []


@pytest.mark.promise("erase.others")
async def test_what_others_gave_stays_and_what_the_text_supported_goes(stack: Stack, new_team: NewTeam) -> None:
    team = await new_team(driven_from=BEGIN)
    await register_nickname(team)
    canary = f"Quex{uuid.uuid4().hex[:12]}"
    first = await team["A"].ingest.Remember(nickname(f"Bea is nicknamed {canary}.", "Bea", canary))
    second = await team["B"].ingest.Remember(nickname("Bea is nicknamed Bee.", "Bea", "Bee"))
    third = await team["C"].ingest.Remember(nickname(f"Bea is nicknamed {canary}, as we know.", "Bea", canary))
    own = first.placement.relationships[0].relationship
    answer = await erase(team, first.placement.fragments[0].fragment_id)
    assert list(answer.relationship_ids) == [own.relationship_id]
    assert list(answer.conflict_ids) == [second.placement.relationships[0].conflict.conflict_id]
    traced = await team["A"].recall.Trace(
        team["A"].own_writes(
            recall_service_pb2.TraceRequest(relationship_id=own.relationship_id, include_evidence_content=True)
        )
    )
    # The value and the name are those of the other texts as well; the row has lost its only support.
    assert traced.relationship.object.value.canonical == canary.lower()
    assert traced.relationship.subject.name == "Bea"
    assert traced.relationship.status == relationship_pb2.RELATIONSHIP_STATUS_PENDING_EVIDENCE
    (evidence,) = traced.evidence
    assert (evidence.erased, evidence.content) == (True, "")
    assert evidence.content_sha256 == answer.erasure.keyed_hash
    conflict = await team["A"].conflict.GetConflict(
        conflict_service_pb2.GetConflictRequest(conflict_id=answer.conflict_ids[0])
    )
    members = {member.relationship_id for position in conflict.conflict.positions for member in position.members}
    assert members == {one.placement.relationships[0].relationship.relationship_id for one in (second, third)}
    # Then the other text that gave the value goes as well, and the value with it.
    await erase(team, third.placement.fragments[0].fragment_id)
    assert places_of(stack, canary) == []


@pytest.mark.promise("erase.past")
async def test_a_past_view_shows_the_tombstone_and_search_finds_nothing(stack: Stack, new_team: NewTeam) -> None:
    team = await new_team(driven_from=BEGIN)
    await register_nickname(team)
    canary = f"Quex{uuid.uuid4().hex[:12]}"
    placed = await team["A"].ingest.Remember(nickname(f"Cid is nicknamed {canary}.", "Cid", canary))
    relationship_id = placed.placement.relationships[0].relationship.relationship_id
    await team.admin.admin.DriveClock(
        admin.DriveClockRequest(idempotency_key="later", time=timestamp_of(BEGIN + timedelta(days=1)))
    )
    before = placed.placement.revision
    answer = await erase(team, placed.placement.fragments[0].fragment_id)
    for revision, status in (
        (before, relationship_pb2.RELATIONSHIP_STATUS_ACTIVE),
        (answer.revision, relationship_pb2.RELATIONSHIP_STATUS_PENDING_EVIDENCE),
    ):
        traced = await team["A"].recall.Trace(
            recall_service_pb2.TraceRequest(
                relationship_id=relationship_id,
                include_evidence_content=True,
                include_verification=True,
                include_transitions=True,
                known={"revision": revision},
            )
        )
        assert traced.relationship.status == status
        assert traced.evidence[0].erased
        assert canary.lower() not in str(traced).lower()
        assert traced.relationship.object.value.canonical.startswith("erased:")
        for query in (canary, "Cid", f"Cid is nicknamed {canary}"):
            found = await team["A"].recall.Recall(
                recall_service_pb2.RecallRequest(query=query, temporal={"revision": revision})
            )
            assert canary.lower() not in str(found).lower()


async def test_whoever_adopted_a_text_loses_it_as_well_and_nobody_adopts_it_again(new_team: NewTeam) -> None:
    team = await new_team()
    await register_nickname(team)
    adopted = await team["A"].ingest.Remember(nickname("Fay is nicknamed Fairy.", "Fay", "Fairy"))
    fragment_id = adopted.placement.fragments[0].fragment_id
    own = await team["B"].ingest.Remember(nickname("We all know: Fay is nicknamed Fairy.", "Fay", "Fairy"))
    row = own.placement.relationships[0].relationship

    def adoption() -> ingest.AdoptEvidenceRequest:
        return ingest.AdoptEvidenceRequest(
            idempotency_key=uuid.uuid4().hex,
            fragment_id=fragment_id,
            relationship_id=row.relationship_id,
            passages=[submission_pb2.Citation(evidence_index=0, quote="Fay is nicknamed Fairy.")],
        )

    await team["B"].ingest.AdoptEvidence(adoption())
    answer = await erase(team, fragment_id)
    traced = await team["B"].recall.Trace(
        team["B"].own_writes(recall_service_pb2.TraceRequest(relationship_id=row.relationship_id))
    )
    assert {support.fragment_id: support.effective for support in traced.supports} == {
        fragment_id: False,
        own.placement.fragments[0].fragment_id: True,
    }
    assert traced.relationship.status == relationship_pb2.RELATIONSHIP_STATUS_ACTIVE
    assert answer.erasure.erased_texts > 0
    again = await refused(team["B"].ingest.AdoptEvidence(adoption()))
    assert (again.reason, again.metadata["fragment_id"]) == (Reason.EVIDENCE_ERASED, fragment_id)


@pytest.mark.promise("erase.others")
async def test_exact_copies_go_as_well_and_summaries_are_named(stack: Stack, new_team: NewTeam) -> None:
    team = await new_team()
    await register_nickname(team)
    canary = f"Quex{uuid.uuid4().hex[:12]}"
    text = f"Dot is nicknamed {canary}."
    first = await team["A"].ingest.Remember(nickname(text, "Dot", canary))
    copy = await team["B"].ingest.Remember(nickname(text, "Dot", canary))
    fragment_id = first.placement.fragments[0].fragment_id
    summary = await team["C"].ingest.Remember(
        nickname("Somebody has a nickname.", "Dot", "Dotty", evidence={"derived_from_fragment_ids": [fragment_id]})
    )
    answer = await erase(team, copy.placement.fragments[0].fragment_id)
    assert set(answer.erasure.fragment_ids) == {fragment_id, copy.placement.fragments[0].fragment_id}
    assert list(answer.derived_fragment_ids) == [summary.placement.fragments[0].fragment_id]
    assert places_of(stack, canary) == []


@pytest.mark.promise("erase.final")
@pytest.mark.error("EVIDENCE_ERASED")
async def test_an_erased_text_is_erased_once_and_cited_by_nobody(new_team: NewTeam) -> None:
    team = await new_team()
    await register_nickname(team)
    placed = await team["A"].ingest.Remember(nickname("Eve is nicknamed E.", "Eve", "E"))
    fragment_id = placed.placement.fragments[0].fragment_id
    first = await erase(team, fragment_id, key="once")
    assert await erase(team, fragment_id, key="once") == first
    twice = await refused(erase(team, fragment_id))
    assert (twice.reason, twice.metadata["fragment_id"]) == (Reason.EVIDENCE_ERASED, fragment_id)
    missing = await refused(erase(team, str(uuid.uuid4())))
    assert missing.reason is Reason.RESOURCE_NOT_FOUND
    citing = nickname("Eve is nicknamed Evie.", "Eve", "Evie", evidence={"derived_from_fragment_ids": [fragment_id]})
    cited = await refused(team["B"].ingest.Remember(citing))
    assert (cited.reason, cited.field) == (Reason.EVIDENCE_ERASED, "evidence[0].derived_from_fragment_ids[0]")
    profile = await refused(
        team["A"].admin.EraseEvidence(
            admin.EraseEvidenceRequest(idempotency_key="mine", fragment_id=fragment_id, reason="mine")
        )
    )
    assert profile.reason is Reason.SCOPE_MISSING
    # Said again, the text is a new one.
    again = await team["A"].ingest.Remember(nickname("Eve is nicknamed E.", "Eve", "E"))
    assert again.placement.fragments[0].fragment_id != fragment_id
