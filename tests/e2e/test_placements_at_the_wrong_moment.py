"""Decisions on placements whose verifier does not answer, or that something overtakes while it is asked."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import review_item_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2, submission_pb2
from corrigenda.type.v1 import evidence_pb2, predicate_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.actors import Caller, KeyScope
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import KeyId, ProfileId, TeamId
from corrigenda_core.persistence.database import Database
from corrigenda_core.persistence.read_transaction import ReadRunner
from corrigenda_core.persistence.transaction import TransactionRunner
from corrigenda_core.ports.deadline import NO_DEADLINE
from corrigenda_core.ports.providers import ProviderFailed, VerificationRequest, VerifierAnswer
from corrigenda_core.providers.validation import ValidatedVerifier
from corrigenda_core.rpc.idempotent import idempotency_of
from corrigenda_core.serving import new_ids
from corrigenda_core.testing.wire_decisions import items_of
from corrigenda_ingest.decision_responses import resolved_placement
from corrigenda_ingest.requests import placement_decision_of
from corrigenda_ingest.use_cases.resolve_placement import ResolvePlacement

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]
Deciding = ingest_service_pb2.ResolvePlacementRequest


@dataclass
class GoneVerifier:
    """A verifier that never answers; before it fails, what a test wants to happen meanwhile happens."""

    meanwhile: list[Callable[[], Awaitable[Any]]] = field(default_factory=list)

    async def verify(self, request: VerificationRequest, *, problems: tuple[str, ...] = ()) -> VerifierAnswer:
        while self.meanwhile:
            await self.meanwhile.pop()()
        raise ProviderFailed("gone")

    async def close(self) -> None:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """The use case in this process, on the stack's database, with a verifier of its own."""

    resolve: ResolvePlacement
    verifier: GoneVerifier

    async def __call__(self, waiting: Waiting, request: Deciding) -> ingest_service_pb2.ResolvePlacementResponse:
        """Decides as A."""
        caller = Caller(
            team_id=TeamId(waiting.team.team_id),
            profile_id=ProfileId(waiting.owner_id),
            key_id=KeyId("of this test"),
            scopes=frozenset({KeyScope.WRITE}),
        )
        committed = await self.resolve(
            caller,
            placement_decision_of(request),
            idempotency=idempotency_of(request, caller.profile_id, ingest_service_pb2.ResolvePlacementResponse),
            present=resolved_placement,
            deadline=NO_DEADLINE,
        )
        return committed.value


@pytest.fixture
async def elsewhere(stack: Stack) -> AsyncIterator[Elsewhere]:
    verifier = GoneVerifier()
    async with Database(stack.url("corrigenda_ingest")) as database:
        resolve = ResolvePlacement(
            reader=ReadRunner(database),
            runner=TransactionRunner(database),
            verifier=ValidatedVerifier(verifier, call_timeout_seconds=30.0, retries=0),
            new_ids=new_ids,
        )
        yield Elsewhere(resolve=resolve, verifier=verifier)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A held statement of A, and the question about it."""

    team: Any
    owner_id: str
    fragment_id: str
    ingest_id: str
    item: review_item_pb2.ReviewItem
    deploys_from: Request

    def deciding(self, action: placement_pb2.PlacementAction) -> ingest_service_pb2.ResolvePlacementRequest:
        """A decision with new evidence; a correction says with it what holds."""
        text = "our checklist confirms it: production deploys from release"
        said = submission_pb2.EvidenceItem(content=text, source_type=evidence_pb2.SOURCE_TYPE_MANUAL)
        corrects = action == placement_pb2.PLACEMENT_ACTION_CORRECT
        return ingest_service_pb2.ResolvePlacementRequest(
            idempotency_key=uuid.uuid4().hex,
            ingest_id=self.ingest_id,
            placement_item_id=self.item.item_id,
            action=action,
            evidence=[said],
            proposal=self.deploys_from(text, "release").proposal if corrects else None,
        )

    async def is_untouched(self) -> bool:
        """Whether the question is as it was."""
        (now,) = await items_of(self.team["A"])
        return (now.item_id, now.version, now.status) == (self.item.item_id, self.item.version, self.item.status)


@pytest.fixture
async def waiting(new_team: NewTeam, deploys_from: Request) -> Waiting:
    team = await new_team(profiles=("A",))
    await team["A"].ingest.Remember(deploys_from("production deploys from main", "main"))
    said = await team["A"].ingest.Remember(
        deploys_from("the log of the build: production deploys from release", "release")
    )
    (item,) = await items_of(team["A"])
    return Waiting(
        team=team,
        owner_id=said.placement.author.profile_id,
        fragment_id=said.placement.fragments[0].fragment_id,
        ingest_id=said.placement.ingest_id,
        item=item,
        deploys_from=deploys_from,
    )


@pytest.mark.error("VERIFIER_UNAVAILABLE")
async def test_a_decision_that_needs_a_verdict_waits_for_the_verifier(waiting: Waiting, elsewhere: Elsewhere) -> None:
    request = waiting.deciding(placement_pb2.PLACEMENT_ACTION_ACCEPT)
    with pytest.raises(Refusal) as refused:
        await elsewhere(waiting, request)
    assert refused.value.reason is Reason.VERIFIER_UNAVAILABLE
    assert refused.value.retry_after_seconds is not None
    assert await waiting.is_untouched()
    # The same call, where somebody reads.
    answered = await waiting.team["A"].ingest.ResolvePlacement(request)
    assert answered.item.status == review_item_pb2.ITEM_STATUS_RESOLVED


@pytest.mark.rule("R3.2", "R5.2")
async def test_a_decision_that_needs_no_verdict_is_kept_and_changes_nothing_before_there_is_one(
    waiting: Waiting, elsewhere: Elsewhere
) -> None:
    answered = await elsewhere(waiting, waiting.deciding(placement_pb2.PLACEMENT_ACTION_CORRECT))
    (placed,) = answered.placement.relationships
    assert placed.outcome == placement_pb2.OUTCOME_PENDING_EVIDENCE
    assert len(answered.placement.fragments) == 1
    assert await waiting.is_untouched()


@pytest.mark.error("CONTENTION")
async def test_a_registration_while_the_text_is_read_asks_for_another_reading(
    waiting: Waiting, elsewhere: Elsewhere
) -> None:
    async def another_alias() -> None:
        await waiting.team.admin.admin.RegisterPredicate(
            admin_service_pb2.RegisterPredicateRequest(
                idempotency_key=uuid.uuid4().hex,
                definition=predicate_pb2.PredicateDefinition(
                    key="deploys_from",
                    aliases=["deploys from", "is deployed from"],
                    relationship_kind=predicate_pb2.RELATIONSHIP_KIND_STATE,
                    current_cardinality=predicate_pb2.CARDINALITY_ONE,
                ),
                expected_version=1,
            )
        )

    request = waiting.deciding(placement_pb2.PLACEMENT_ACTION_CORRECT)
    elsewhere.verifier.meanwhile.append(another_alias)
    with pytest.raises(Refusal) as refused:
        await elsewhere(waiting, request)
    assert refused.value.reason is Reason.CONTENTION
    assert refused.value.retry_after_seconds is not None
    assert await waiting.is_untouched()
    # The same call again reads what is registered now.
    answered = await waiting.team["A"].ingest.ResolvePlacement(request)
    assert answered.item.status == review_item_pb2.ITEM_STATUS_RESOLVED


async def test_a_text_that_is_erased_while_the_decision_is_made_is_not_decided_about(
    waiting: Waiting, elsewhere: Elsewhere
) -> None:
    async def erased() -> None:
        await waiting.team.admin.admin.EraseEvidence(
            admin_service_pb2.EraseEvidenceRequest(
                idempotency_key=uuid.uuid4().hex, fragment_id=waiting.fragment_id, reason="a mistake"
            )
        )

    elsewhere.verifier.meanwhile.append(erased)
    with pytest.raises(Refusal) as refused:
        await elsewhere(waiting, waiting.deciding(placement_pb2.PLACEMENT_ACTION_CORRECT))
    # The erasure has closed the question, and whoever loses a race learns that from the question itself.
    assert refused.value.reason is Reason.ITEM_NOT_PENDING
