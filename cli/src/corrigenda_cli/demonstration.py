"""The demonstration: one disagreement from its first sentence to its resolution, through the public API alone.

Profile A says where production deploys from; months later B says otherwise, with a date; C is asked, and answers with
evidence of its own. The reviewer decides at the deadline. Every field of the result is computed from answers of the
services. The team's clock is driven, so months pass without waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import conflict_case_pb2, conflict_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2, submission_pb2
from corrigenda.recall.v1 import recall_service_pb2, result_pb2
from corrigenda.type.v1 import evidence_pb2, relationship_pb2, time_pb2
from corrigenda_core.rpc.client import Client, Endpoints
from corrigenda_core.rpc.convert import instant_of, timestamp_of

from corrigenda_cli.demonstration_team import prepare

BEGINNING = datetime(2026, 1, 10, 9, tzinfo=UTC)
CORRECTION = datetime(2026, 6, 1, 9, tzinfo=UTC)
BEFORE_CORRECTION = CORRECTION - timedelta(days=1)
BEFORE_CUTOFF = datetime(2026, 2, 15, tzinfo=UTC)
# Bounds for a busy machine: what is waited for is there within a second.
REVIEW_WAIT_SECONDS = 60.0
INDEX_WAIT_SECONDS = 60.0
POLL_SECONDS = 0.05

QUESTION = "Which branch does production deploy from?"
A_SAYS = "production deploys from main"
B_SAYS = "since 1 March 2026 production deploys from release"
B_SAYS_NOTHING = "the release branch was discussed on Monday"
C_SAYS = "Our release checklist confirms it: production deploys from release."

Say = Callable[[str], None]
Names = str | list[str] | None
"""Names of objects: one, several, or none."""


@dataclass(kw_only=True)
class Result:
    """What the demonstration found; the fields stand for themselves."""

    case_opened: bool = False
    owner_a_unchanged_by_placement: bool = False
    both_positions_recalled_while_open: bool = False
    resolved_by_review: bool = False
    winner: Names = None
    recall_now: Names = None
    recall_valid_before_cutoff: Names = None
    recall_known_before_correction: Names = None
    known_before_correction_shows_no_case: bool = False
    resolved_reference_recalled: bool = False
    trace_keeps_loser: bool = False
    ledger_verified: bool = False
    question: str = ""
    case_version_answered: int = 0
    revision: int = 0


@dataclass(kw_only=True)
class Demonstration:
    """Plays the story on a running stack.

    Attributes:
        endpoints: where the services listen.
        admin_key: the key of the team's administrator; the team's clock is driven and stands before `BEGINNING`.
        entailed: whether B's text says what B proposes.
        review_wait_seconds: how long it waits for the case to be decided.
        say: tells the story to people.
    """

    endpoints: Endpoints
    admin_key: str
    entailed: bool = True
    review_wait_seconds: float = REVIEW_WAIT_SECONDS
    say: Say = lambda _: None
    result: Result = field(default_factory=Result)
    _calls: int = 0

    async def play(self) -> Result:
        """The whole story; what the services refuse is passed on."""
        async with Client(self.endpoints, self.admin_key) as admin:
            keys = await self._prepare(admin)
            async with (
                Client(self.endpoints, keys["A"]) as a,
                Client(self.endpoints, keys["B"]) as b,
                Client(self.endpoints, keys["C"]) as c,
            ):
                await self._story(admin, a, b, c)
        return self.result

    def _key(self) -> str:
        self._calls += 1
        return f"demo-{self._calls}"

    async def _prepare(self, admin: Client) -> dict[str, str]:
        """Three profiles with a key each, one predicate, and a clock that stands at the beginning."""
        keys = await prepare(admin, ("A", "B", "C"))
        await self._drive(admin, BEGINNING)
        return keys

    async def _story(self, admin: Client, a: Client, b: Client, c: Client) -> None:
        placed_a = await self._remember(a, "A", A_SAYS, "main")
        row_a = placed_a.placement.relationships[0].relationship.relationship_id
        before = await self._trace(a, row_a)

        await self._drive(admin, CORRECTION)
        text = B_SAYS if self.entailed else B_SAYS_NOTHING
        placed_b = await self._remember(b, "B", text, "release")
        answer_b = placed_b.placement.relationships[0]
        after = await self._trace(a, row_a)
        self.result.owner_a_unchanged_by_placement = before.relationship == after.relationship and len(
            before.transitions
        ) == len(after.transitions)
        self.result.case_opened = answer_b.conflict.effect == placement_pb2.CONFLICT_EFFECT_OPENS_CASE
        self._tell_placement(answer_b, row_a)

        case = await self._open_case(c)
        if case is not None:
            await self._recalled_while_open(c)
            await self._answer(c, case)
            await self._drive(admin, instant_of(case.review_due_at) + timedelta(minutes=1))
            await self._reviewed(c, case.conflict_id)
        await self._recalled_afterwards(c)
        kept = await self._trace(c, row_a)
        self.result.trace_keeps_loser = any(A_SAYS in evidence.content for evidence in kept.evidence)
        self.result.revision = kept.revision

    async def _remember(
        self, client: Client, name: str, text: str, branch: str, answers: conflict_case_pb2.ConflictCase | None = None
    ) -> ingest_service_pb2.RememberResponse:
        self.say(f"{name} remembers: “{text}”")
        context = None
        if answers is not None:
            context = submission_pb2.ConflictContext(conflict_id=answers.conflict_id, expected_version=answers.version)
        response: ingest_service_pb2.RememberResponse = await client.ingest.Remember(
            ingest_service_pb2.RememberRequest(
                idempotency_key=self._key(),
                evidence=[submission_pb2.EvidenceItem(content=text, source_type=evidence_pb2.SOURCE_TYPE_CONVERSATION)],
                proposal=submission_pb2.Proposal(
                    entities=[
                        submission_pb2.ProposedEntity(ref="env", name="production", entity_kind="environment"),
                        submission_pb2.ProposedEntity(ref="branch", name=branch, entity_kind="git_branch"),
                    ],
                    relationships=[
                        submission_pb2.ProposedRelationship(
                            proposal_id="p1",
                            subject_ref="env",
                            predicate="deploys_from",
                            object_ref="branch",
                            polarity=relationship_pb2.POLARITY_POSITIVE,
                            modality=relationship_pb2.MODALITY_STATEMENT,
                            evidence=[submission_pb2.Citation(evidence_index=0, start=0, end=len(text))],
                            conflict_context=context,
                        )
                    ],
                ),
            )
        )
        return response

    def _tell_placement(self, answer: placement_pb2.RelationshipPlacement, row_a: str) -> None:
        outcome = placement_pb2.Outcome.Name(answer.outcome).removeprefix("OUTCOME_").lower()
        self.say(f"  → {outcome}" + (f": {answer.verdict_reason}" if answer.verdict_reason else ""))
        for reference in answer.references:
            kind = relationship_pb2.ReferenceKind.Name(reference.kind).removeprefix("REFERENCE_KIND_").lower()
            whose = "A's statement" if reference.relationship_id == row_a else reference.relationship_id
            self.say(f"  → {kind} {whose}, which stays as it is")
        if self.result.case_opened:
            self.say(f"  → opens a case, to be decided by {instant_of(answer.conflict.review_due_at):%d %B %Y}")

    async def _open_case(self, client: Client) -> conflict_case_pb2.ConflictCase | None:
        listed = await client.conflict.ListConflicts(
            conflict_service_pb2.ListConflictsRequest(entry_kinds=[conflict_service_pb2.CONFLICT_ENTRY_KIND_TEAM_CASE])
        )
        for entry in listed.entries:
            self.result.question = entry.team_case.question
            self.say(f"the team is asked: {entry.team_case.question}")
            case: conflict_case_pb2.ConflictCase = entry.team_case
            return case
        return None

    async def _recalled_while_open(self, client: Client) -> None:
        answer = await self._recall(client)
        conflicts = list(answer.conflicts)
        self.result.both_positions_recalled_while_open = (
            {"main", "release"} <= set(_objects(answer))
            and len(conflicts) == 1
            and {position.label for position in conflicts[0].positions} == {"main", "release"}
            and bool(conflicts[0].question)
            and conflicts[0].version >= 1
            and conflicts[0].HasField("review_due_at")
        )
        # By name, not by rank: a dispute is shown without taking a side, and in the same words each time.
        self.say(f"C recalls: {_shown(sorted(_objects(answer)))}, marked as disputed")

    async def _answer(self, client: Client, case: conflict_case_pb2.ConflictCase) -> None:
        self.result.case_version_answered = case.version
        await self._remember(client, "C", C_SAYS, "release", answers=case)
        self.say(f"  → answers the case at version {case.version}")

    async def _reviewed(self, client: Client, conflict_id: str) -> None:
        """Waits, for a bounded time, for the reviewer process to decide the case."""
        request = conflict_service_pb2.GetConflictRequest(conflict_id=conflict_id)
        deadline = asyncio.get_running_loop().time() + self.review_wait_seconds
        while True:
            seen = await client.conflict.GetConflict(request)
            case = seen.conflict
            if case.status == conflict_case_pb2.CASE_STATUS_RESOLVED:
                break
            if asyncio.get_running_loop().time() > deadline:
                self.say("the deadline passes, and nobody reviews the case")
                return
            await asyncio.sleep(POLL_SECONDS)
        self.result.resolved_by_review = True
        winners = [position.label for position in case.positions if position.position_id == case.preferred_position_id]
        self.result.winner = winners[0] if len(winners) == 1 else winners or None
        self.say(
            f"the reviewer decides at the deadline: {self.result.winner}, "
            f"from {instant_of(case.effective_at):%d %B %Y} ({case.resolution_reason.replace('_', ' ')})"
        )

    async def _recalled_afterwards(self, client: Client) -> None:
        now = await self._recall(client)
        self.result.recall_now = _names(now)
        self.result.resolved_reference_recalled = bool(now.resolved)
        self.say(f"recalled now: {_shown(self.result.recall_now)}")
        before = await self._recall(client, time_pb2.TemporalSelector(valid_at=timestamp_of(BEFORE_CUTOFF)))
        self.result.recall_valid_before_cutoff = _names(before)
        self.say(f"recalled for {BEFORE_CUTOFF:%d %B %Y}: {_shown(self.result.recall_valid_before_cutoff)}")
        older = await self._recall(client, time_pb2.TemporalSelector(known_at=timestamp_of(BEFORE_CORRECTION)))
        self.result.recall_known_before_correction = _names(older)
        self.result.known_before_correction_shows_no_case = not older.conflicts and not older.resolved
        self.say(
            f"recalled as it was known on {BEFORE_CORRECTION:%d %B %Y}: "
            f"{_shown(self.result.recall_known_before_correction)}"
        )

    async def _recall(
        self, client: Client, at: time_pb2.TemporalSelector | None = None
    ) -> recall_service_pb2.RecallResponse:
        """Recalls once the search documents know everything that was remembered; that wait is bounded too."""
        request = recall_service_pb2.RecallRequest(query=QUESTION, temporal=at)
        deadline = asyncio.get_running_loop().time() + INDEX_WAIT_SECONDS
        while True:
            answer: recall_service_pb2.RecallResponse = await client.recall.Recall(request)
            behind = result_pb2.DEGRADATION_SEARCH_BEHIND in answer.degraded
            if not behind or asyncio.get_running_loop().time() > deadline:
                return answer
            await asyncio.sleep(POLL_SECONDS)

    async def _trace(self, client: Client, relationship_id: str) -> recall_service_pb2.TraceResponse:
        traced: recall_service_pb2.TraceResponse = await client.recall.Trace(
            recall_service_pb2.TraceRequest(
                relationship_id=relationship_id, include_evidence_content=True, include_transitions=True
            )
        )
        return traced

    async def _drive(self, admin: Client, time: datetime) -> None:
        await admin.admin.DriveClock(
            admin_service_pb2.DriveClockRequest(idempotency_key=self._key(), time=timestamp_of(time))
        )
        self.say(f"\n{time:%d %B %Y}")


def _objects(answer: recall_service_pb2.RecallResponse) -> list[str]:
    """The names of the objects that the recalled relationships point at, the best first, each once."""
    names = [path.relationship.object.entity.name for result in answer.results for path in result.paths]
    return list(dict.fromkeys(names))


def _names(answer: recall_service_pb2.RecallResponse) -> Names:
    names = _objects(answer)
    return names[0] if len(names) == 1 else names or None


def _shown(names: Names) -> str:
    if names is None:
        return "nothing"
    return names if isinstance(names, str) else " and ".join(names)
