"""Preflight says what Remember does, and a stream does what many calls of it do: one planner, on PostgreSQL."""

from __future__ import annotations

import random
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from corrigenda.ingest.v1 import ingest_service_pb2 as ingest
from corrigenda.ingest.v1 import submission_pb2
from corrigenda.type.v1 import evidence_pb2, relationship_pb2
from corrigenda_core.domain.actors import Caller, KeyScope
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import KeyId
from corrigenda_core.persistence.database import Database
from corrigenda_core.persistence.read_transaction import ReadRunner
from corrigenda_core.persistence.transaction import Transaction, TransactionRunner
from corrigenda_core.policy.time_words import decide_time_bounds
from corrigenda_core.ports.deadline import NO_DEADLINE
from corrigenda_core.ports.providers import ProviderFailed, VerificationRequest, VerifierAnswer
from corrigenda_core.providers.extraction_validation import ValidatedExtractor
from corrigenda_core.providers.extractor_local import LocalExtractor
from corrigenda_core.providers.validation import ValidatedVerifier
from corrigenda_core.providers.verifier_local import LocalVerifier
from corrigenda_core.rpc.idempotent import idempotency_of
from corrigenda_core.serving import new_ids
from corrigenda_core.testing.effort import examples
from corrigenda_core.testing.postgres import Team, ThrowawayDatabase, add_team
from corrigenda_core.testing.revisions import write_predicate
from corrigenda_core.testing.wire_submissions import PREDICATE_ROWS, ids_in, random_submission, shown_placements
from corrigenda_ingest.outside import Asked, OutsideLook
from corrigenda_ingest.proposing import Proposer
from corrigenda_ingest.requests import submission_of
from corrigenda_ingest.responses import PlacementMessages
from corrigenda_ingest.use_cases.preflight_remember import PreflightRemember
from corrigenda_ingest.use_cases.remember import Remember
from corrigenda_ingest.use_cases.remember_many import Looked, RememberMany, Result, Submitted
from corrigenda_ingest.verification_tokens import LIFETIME, VerificationTokens

pytestmark = pytest.mark.database

BEGAN = datetime(2026, 6, 1, 12, tzinfo=UTC)
STEPS = 12
AT_ONCE = 6
"""Of a stream's submissions that a look may take."""
TEXT = "production deploys from main"


@dataclass(slots=True)
class CountedVerifier:
    """The local verifier, its calls counted; it fails while it is told to."""

    calls: int = 0
    fails: bool = False
    local: LocalVerifier = field(default_factory=lambda: LocalVerifier(decide_time_bounds))

    async def verify(self, request: VerificationRequest, *, problems: tuple[str, ...] = ()) -> VerifierAnswer:
        self.calls += 1
        if self.fails:
            raise ProviderFailed("told to")
        return await self.local.verify(request, problems=problems)


class Service:
    """Both use cases in this process; ``now`` is the clock by which tokens expire."""

    def __init__(self, database: Database) -> None:
        self.now = BEGAN
        self.commits = self.looked_ahead = 0
        self.verifier = CountedVerifier()
        self.runner = TransactionRunner(database)
        reader = ReadRunner(database)
        tokens = VerificationTokens(b"a key that only this test knows, long enough", now=lambda: self.now)
        look = OutsideLook(
            reader=reader,
            proposer=Proposer(
                reader=reader,
                extractor=ValidatedExtractor(LocalExtractor(decide_time_bounds), call_timeout_seconds=5.0, retries=0),
            ),
            verifier=ValidatedVerifier(self.verifier, call_timeout_seconds=5.0, retries=0),
            tokens=tokens,
            new_ids=new_ids,
        )
        self._remember = Remember(look=look, runner=self.runner)
        self._many = RememberMany(look=look, runner=self.runner)
        self._preflight = PreflightRemember(look=look, reader=reader, tokens=tokens)

    async def remember(self, caller: Caller, request: ingest.RememberRequest) -> ingest.RememberResponse:
        committed = await self._remember(
            caller,
            submission_of(request, key=request.idempotency_key),
            token=request.verification_token,
            idempotency=idempotency_of(request, caller.profile_id, ingest.RememberResponse),
            present=lambda planned, facts: PlacementMessages(caller, planned, facts).response(),
            deadline=NO_DEADLINE,
        )
        return committed.value

    async def stream(self, caller: Caller, requests: Sequence[ingest.RememberRequest]) -> list[Result]:
        """The results of a stream of submissions, as many to a commit as may share one.

        What may follow a commit is looked at before it, as early as a stream does.
        """
        results: list[Result] = []
        waiting = [self._submitted(caller, one) for one in requests]
        ahead: Looked | None = None
        while waiting:
            step = ahead or await self._many.look(caller, waiting[:AT_ONCE], NO_DEADLINE)
            waiting = waiting[len(step.submitted) :]
            ahead = None
            if waiting and not step.is_cut:
                ahead = await self._many.look(caller, waiting[:AT_ONCE], NO_DEADLINE, behind=step)
                self.looked_ahead += len(ahead.submitted)
                ahead = ahead if ahead.submitted else None
            results += await self._many.commit(caller, step, NO_DEADLINE)
            self.commits += 1
        return results

    def _submitted(self, caller: Caller, request: ingest.RememberRequest) -> Submitted:
        return Submitted(
            asked=Asked(submission=submission_of(request, key=request.idempotency_key)),
            idempotency=idempotency_of(request, caller.profile_id, ingest.RememberResponse),
            present=lambda planned, facts: PlacementMessages(caller, planned, facts).response(),
        )

    async def preflight(self, caller: Caller, request: ingest.RememberRequest) -> ingest.PreflightRememberResponse:
        return await self._preflight(
            caller,
            submission_of(request),
            present=lambda planned, facts, token, at: PlacementMessages(caller, planned, facts).preflight(token, at),
            min_revision=0,
            deadline=NO_DEADLINE,
        )


@pytest.fixture(scope="module")
async def database(shared_database: ThrowawayDatabase) -> AsyncIterator[Database]:
    async with Database(shared_database.url("corrigenda_ingest")) as opened:
        yield opened


@pytest.fixture
def service(database: Database) -> Service:
    return Service(database)


async def driven_team(database: ThrowawayDatabase, service: Service) -> tuple[Team, list[Caller]]:
    """A team whose clock stands still, so that a moment tells nothing apart, with predicates of several policies."""
    team = add_team(database, profiles=3, driven_now=BEGAN)

    def plan(transaction: Transaction) -> None:
        for row in PREDICATE_ROWS:
            write_predicate(transaction, team.profiles[0], row, None)

    await service.runner.run(team.team_id, plan)
    scopes = frozenset({KeyScope.WRITE})
    callers = [
        Caller(team_id=team.team_id, profile_id=profile, key_id=KeyId("key"), scopes=scopes)
        for profile in team.profiles
    ]
    return team, callers


async def answered(call: Any, caller: Caller, request: ingest.RememberRequest) -> Any:
    """The answer, or why there is none."""
    try:
        return await call(caller, request)
    except Refusal as refusal:
        return refusal.reason, refusal.field, refusal.message, refusal.metadata


def rows_of(database: ThrowawayDatabase, team: Team) -> list[tuple[object, ...]]:
    with psycopg.connect(database.superuser_url, autocommit=True) as connection:
        return connection.execute(
            "SELECT revision, closed_at, ledger_head, (SELECT count(*) FROM idempotency_records AS r"
            " WHERE r.team_id = c.team_id) FROM team_clock AS c WHERE team_id = %s",
            [team.team_id],
        ).fetchall()


@pytest.mark.promise("asked.preview", "Q4")
@pytest.mark.rule("R10.1", "R10.2")
async def test_remember_does_exactly_what_preflight_said(shared_database: ThrowawayDatabase, service: Service) -> None:
    outcomes: set[int] = set()
    refused: set[Reason] = set()
    effects: set[int] = set()
    for seed in range(examples(fast=6, full=1_000 // STEPS + 1)):
        chance = random.Random(seed)
        team, callers = await driven_team(shared_database, service)
        known: list[relationship_pb2.Relationship] = []
        cases: list[tuple[str, int]] = []
        existing: set[str] = {*team.profiles}
        for step in range(STEPS):
            caller, request = chance.choice(callers), random_submission(chance, known, cases)
            before = rows_of(shared_database, team)
            foreseen = await answered(service.preflight, caller, request)
            assert rows_of(shared_database, team) == before
            calls = service.verifier.calls
            if isinstance(foreseen, ingest.PreflightRememberResponse):
                request.verification_token = foreseen.verification_token
            done = await answered(service.remember, caller, request)
            where = f"seed {seed}, step {step}: {request}"
            if not isinstance(done, ingest.RememberResponse):
                assert foreseen == done, where
                refused.add(done[0])
                continue
            assert service.verifier.calls == calls, "the token keeps the verdict"
            assert shown_placements([foreseen.placement], existing) == shown_placements([done.placement], existing), (
                where
            )
            existing |= ids_in(done.placement)
            for one in done.placement.relationships:
                outcomes.add(one.outcome)
                effects.add(one.conflict.effect)
                if one.HasField("relationship"):
                    known.append(one.relationship)
                if one.HasField("conflict"):
                    cases.append((one.conflict.conflict_id, one.conflict.version))
    # What is never said proves nothing: the submissions reach most outcomes and both effects on cases.
    assert len(outcomes) >= 10
    assert effects == {0, 1, 2}
    assert {Reason.INVALID_FIELD, Reason.CONFLICT_VERSION_STALE} <= refused


async def test_a_stream_does_what_one_call_after_the_other_does(
    shared_database: ThrowawayDatabase, service: Service
) -> None:
    """Two teams with the same clock get the same submissions, one by calls and one by a stream."""
    for seed in range(examples(fast=2, full=60)):
        chance = random.Random(f"stream {seed}")
        requests = [random_submission(chance) for _ in range(30)]
        for place in range(5):
            # Said again, under another key and under its own; and a key that is used for something else.
            requests.append(random_submission(chance))
            requests[-1].proposal.CopyFrom(requests[place].proposal)
            requests[-1].ClearField("evidence")
            requests[-1].evidence.extend(requests[place].evidence)
        requests.append(requests[3])
        requests.append(random_submission(chance))
        requests[-1].idempotency_key = requests[4].idempotency_key
        requests.insert(7, random_submission(chance))
        requests[7].proposal.entities[0].known_entity_id = "01900000-0000-7000-8000-000000000000"
        _, (by_calls, *_) = await driven_team(shared_database, service)
        _, (by_stream, *_) = await driven_team(shared_database, service)
        called = [await answered(service.remember, by_calls, request) for request in requests]
        service.commits = service.looked_ahead = 0
        streamed = await service.stream(by_stream, requests)
        assert service.commits < len(requests) / 2
        assert service.looked_ahead > 0
        assert [one if isinstance(one, tuple) else "stored" for one in called] == [
            (one.reason, one.field, one.message, one.metadata) if isinstance(one, Refusal) else "stored"
            for one in streamed
        ]
        ours = [one.placement for one in called if isinstance(one, ingest.RememberResponse)]
        theirs = [one.value.placement for one in streamed if not isinstance(one, Refusal)]
        assert shown_placements(ours) == shown_placements(theirs), seed


@pytest.mark.error("SOURCE_REVISION_STALE")
@pytest.mark.rule("R2.5", "R2.6")
async def test_texts_of_a_source_share_a_commit_until_it_moves_on(
    shared_database: ThrowawayDatabase, service: Service
) -> None:
    """A bulk load names its source in every text; only the first text of a source and a new revision go alone."""
    revisions = [("r1", "")] * 8 + [("r2", "r1")] + [("r2", "")] * 5 + [("r1", "")] + [("r2", "")] * 3
    requests = []
    for number, (revision, previous) in enumerate(revisions):
        requests.append(plain(f"production deploys from main. Ticket {number // 2}.", ("main", "release")[number == 5]))
        requests[-1].proposal.relationships[0].evidence[0].quote = "production deploys from main"
        requests[-1].evidence[0].source_key, requests[-1].evidence[0].source_revision = "tickets", revision
        requests[-1].evidence[0].previous_source_revision = previous
    requests.insert(4, plain("production deploys from main, the wiki says"))
    requests[4].evidence[0].source_key, requests[4].evidence[0].source_revision = "wiki", "1"
    _, (by_calls, *_) = await driven_team(shared_database, service)
    _, (by_stream, *_) = await driven_team(shared_database, service)
    called = [await answered(service.remember, by_calls, request) for request in requests]
    streamed = await service.stream(by_stream, requests)
    ours = [one.placement for one in called if isinstance(one, ingest.RememberResponse)]
    theirs = [one.value.placement for one in streamed if not isinstance(one, Refusal)]
    assert shown_placements(ours) == shown_placements(theirs)
    assert [one[0] for one in called if isinstance(one, tuple)] == [Reason.SOURCE_REVISION_STALE]
    assert [one.reason for one in streamed if isinstance(one, Refusal)] == [Reason.SOURCE_REVISION_STALE]
    assert service.commits < len(requests) * 2 / 3


def plain(text: str = TEXT, value: str = "main") -> ingest.RememberRequest:
    request = ingest.RememberRequest(idempotency_key=uuid.uuid4().hex)
    request.evidence.add(content=text, source_type=evidence_pb2.SOURCE_TYPE_CONVERSATION)
    request.proposal.entities.add(ref="env", name="production", entity_kind="environment")
    request.proposal.entities.add(ref="value", name=value, entity_kind="git_branch")
    request.proposal.relationships.add(
        proposal_id="p1",
        subject_ref="env",
        predicate="deploys_from",
        object_ref="value",
        polarity=relationship_pb2.POLARITY_POSITIVE,
        modality=relationship_pb2.MODALITY_STATEMENT,
        evidence=[submission_pb2.Citation(evidence_index=0, quote=text)],
    )
    return request


@pytest.mark.error("VERIFIER_UNAVAILABLE")
@pytest.mark.rule("R10.1", "R3.2")
async def test_without_a_verdict_nothing_is_foreseen_and_remember_keeps_the_evidence(
    shared_database: ThrowawayDatabase, service: Service
) -> None:
    _, (caller, *_) = await driven_team(shared_database, service)
    service.verifier.fails = True
    assert (await answered(service.preflight, caller, plain()))[0] is Reason.VERIFIER_UNAVAILABLE
    kept = await service.remember(caller, plain())
    assert kept.placement.relationships[0].reason == "verifier_unavailable"


@pytest.mark.rule("R10.2")
@pytest.mark.parametrize("used", ["as it is", "expired", "of another text", "after another candidate came"])
async def test_a_token_saves_the_verifier_exactly_while_it_answers_what_is_asked(
    shared_database: ThrowawayDatabase, service: Service, used: str
) -> None:
    _, (caller, other, _) = await driven_team(shared_database, service)
    token = (await service.preflight(caller, plain())).verification_token
    request = plain()
    if used == "of another text":
        request = plain("our log says: production deploys from main")
    if used == "after another candidate came":
        await service.remember(other, plain())
    if used == "expired":
        service.now += LIFETIME
    request.verification_token = token
    calls = service.verifier.calls
    await service.remember(caller, request)
    assert service.verifier.calls - calls == (0 if used == "as it is" else 1)


@pytest.mark.rule("R10.2")
@pytest.mark.parametrize("harm", ["another caller's", "cut", "changed", "no token at all", "a byte more"])
async def test_a_token_that_was_not_given_to_the_caller_is_refused_and_nothing_is_stored(
    shared_database: ThrowawayDatabase, service: Service, harm: str
) -> None:
    team, (caller, other, _) = await driven_team(shared_database, service)
    token = (await service.preflight(caller, plain())).verification_token
    request = plain()
    request.verification_token = {
        "another caller's": token,
        "cut": token[:-8],
        "changed": token[:-8] + ("A" if token[-8] != "A" else "B") + token[-7:],
        "no token at all": "ü" * 40,
        "a byte more": token + "AAAA",
    }[harm]
    before = rows_of(shared_database, team)
    refused = await answered(service.remember, other if harm == "another caller's" else caller, request)
    assert refused[:2] == (Reason.INVALID_FIELD, "verification_token")
    assert rows_of(shared_database, team) == before
