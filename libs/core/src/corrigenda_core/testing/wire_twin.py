"""A twin over the wire: a running team carries out the commands of the team machine, and the model follows it.

The system goes first. What it was given by chance, ids and the time of the commit, the model is told; everything else
the model decides by itself, and what the API shows afterwards must be what the model says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import conflict_service_pb2
from corrigenda.ingest.v1 import adoption_pb2, forgetting_pb2, ingest_service_pb2, placement_pb2, submission_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda.type.v1 import relationship_pb2
from google.protobuf.message import Message

from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.errors import Refusal
from corrigenda_core.domain.ids import (
    ConflictId,
    DecisionId,
    EntityId,
    FragmentId,
    ProfileId,
    RelationshipId,
    StatementId,
)
from corrigenda_core.domain.items import ReviewItem
from corrigenda_core.domain.objects import EntityObject, Slot
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.domain.resolutions import DecisionKind, Resolution
from corrigenda_core.domain.sources import OnlyProfiles, RegisteredSource
from corrigenda_core.domain.time import Instant
from corrigenda_core.domain.views import TemporalSelector
from corrigenda_core.rpc.client import Client
from corrigenda_core.rpc.convert import instant_of, timestamp_of
from corrigenda_core.rpc.enums import OUTCOME
from corrigenda_core.rpc.source_messages import source_message
from corrigenda_core.testing.memory_store import profile
from corrigenda_core.testing.memory_team import MemoryTeam, Said
from corrigenda_core.testing.memory_twin import said_of
from corrigenda_core.testing.shown_names import renamed, shown_names
from corrigenda_core.testing.shown_team import (
    NOTHING_SHOWN,
    ShownTeam,
    bare,
    expected_case,
    expected_item,
    expected_versions,
    read_team,
    with_place,
)
from corrigenda_core.testing.team_twin import BEGAN, PREDICATES, PROFILES, SUBJECTS, Utterance
from corrigenda_core.testing.wire_past import WirePast, answered, require_equal
from corrigenda_core.testing.wire_recall import POLL_SECONDS, WAIT_SECONDS
from corrigenda_core.testing.wire_trace import differing, expected_lineage, told_lineage
from corrigenda_core.testing.wire_utterances import action_of, new_key, request_of

# Commits are microseconds apart while the clock stands still; a night or a deadline is never that near.
_SOON = timedelta(seconds=1)


class WireTwin:
    """One team of a running system with its model.

    Args:
        admin: the client of the team's administrator.
        profiles: the clients of the profiles by name.
        run: runs a coroutine to its end, where the clients belong.
    """

    def __init__(
        self, admin: Client, profiles: Mapping[str, Client], run: Callable[[Coroutine[Any, Any, Any]], Any]
    ) -> None:
        self.model = MemoryTeam(BEGAN, PREDICATES)
        # What is new in a plan comes after everything that the system has named.
        self.model.ids_from = 0xFFFF
        self.refusals: list[Refusal] = []
        self._admin, self._clients, self._run = admin, profiles, run
        self._ids: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._subjects: dict[str, None] = {}
        self._driven = BEGAN
        self._looked_at: dict[str, Instant] = {}
        self._administrator = ProfileId("")
        self._shown = NOTHING_SHOWN
        self._past = WirePast(self.model, profiles["C"])
        self._last: tuple[Callable[[Any], Awaitable[Any]], Message, Message] | None = None
        run(self._learn_profiles())

    # --- commands ---------------------------------------------------------------------------------------------------

    def remember(self, who: str, what: Utterance, *, foreseen: bool = False) -> None:
        """See `Twin`."""
        self._run(self._remember(who, [what], foreseen=foreseen))

    def remember_all(self, who: str, what: Sequence[Utterance]) -> None:
        """See `Twin`."""
        self._run(self._remember(who, what, foreseen=True))

    def register_source(self, source: RegisteredSource) -> None:
        """See `Twin`."""
        self._run(self._register(source))

    def merge(self, who: str, item: ReviewItem, what: Utterance) -> None:
        """See `Twin`."""
        self._run(self._merge(who, item, what))

    def resolve(self, who: str, item: ReviewItem, resolution: Resolution, version: int) -> None:
        """See `Twin`."""
        request = conflict_service_pb2.ResolveConflictRequest(
            idempotency_key=new_key(), item_id=item.item_id, expected_version=version, **action_of(resolution)
        )
        actor = profile(self._profile(who))
        self._decide(
            self._clients[who].conflict.ResolveConflict,
            request,
            lambda answer: [answer.decision],
            lambda: self.model.resolve(item.item_id, resolution, expected_version=version, actor=actor),
            item.slot,
        )

    def end(self, who: str, row: Relationship, at: Instant | None) -> None:
        """See `Twin`."""
        end = forgetting_pb2.End(relationship_id=row.relationship_id)
        if at is not None:
            end.at.CopyFrom(timestamp_of(at))
        actor = profile(self._profile(who))
        self._forget(who, lambda: self.model.end(row.relationship_id, at, actor=actor), row.slot, end=end)

    def retract(self, who: str, row: Relationship, *, revive: bool) -> None:
        """See `Twin`."""
        retract = forgetting_pb2.Retract(relationship_id=row.relationship_id, revive=revive)
        actor = profile(self._profile(who))
        self._forget(
            who,
            lambda: self.model.retract(row.relationship_id, revive=revive, actor=actor),
            row.slot,
            retract=retract,
        )

    def retract_text(self, who: str, fragment_id: FragmentId) -> None:
        """See `Twin`."""
        owner_id = self._profile(who)
        self._forget(
            who,
            lambda: self.model.retract_everywhere(owner_id, fragment_id),
            None,
            retract_text=forgetting_pb2.RetractText(fragment_id=fragment_id),
        )

    def revert(self, who: str, decision_id: DecisionId) -> None:
        """See `Twin`."""
        request = conflict_service_pb2.RevertResolutionRequest(idempotency_key=new_key(), decision_id=decision_id)
        actor = profile(self._profile(who))
        self._decide(
            self._clients[who].conflict.RevertResolution,
            request,
            lambda answer: [answer.decision],
            lambda: self.model.revert(decision_id, actor=actor),
            self.model.past_decision(decision_id)[0].slot,
        )

    def adopt(self, who: str, row: Relationship, fragment_id: FragmentId) -> None:
        """See `Twin`."""
        self._run(self._adopt(who, row, fragment_id))

    def erase(self, fragment_id: FragmentId) -> None:
        """See `Twin`."""
        self._run(self._erase(fragment_id))

    def drive(self, time: Instant) -> None:
        """See `Twin`."""
        self._run(self._drive(time))

    def review(self) -> None:
        """See `Twin`."""
        request = conflict_service_pb2.ReviewNowRequest(idempotency_key=new_key(), wait_seconds=30)

        async def review() -> None:
            await self._admin.conflict.ReviewNow(request)
            await self._follow(lambda: None, self.model.now)

        self._run(review())

    def repeat(self) -> None:
        """See `Twin`."""
        if self._last is not None:
            call, request, answer = self._last

            async def repeat() -> Message | Refusal:
                return await answered(call(request))

            assert self._run(repeat()) == answer, f"another answer to the same key: {request}"

    def look_back(self, subject: str, selector: TemporalSelector) -> None:
        """See `Twin`."""
        if subject in self._ids:
            self._run(self._past.look_back(self._ids[subject], selector))

    def trace(self, row_id: RelationshipId) -> None:
        """See `Twin`."""
        told = self._run(told_lineage(self._clients["C"], row_id))
        different = differing(told, expected_lineage(self.model, row_id))
        assert not different, f"{row_id} is told otherwise than it came about: {different}"

    @property
    def seen(self) -> int:
        """How many answers about the past are asked for again at the end."""
        return self._past.seen

    def name_of(self, named: str) -> str:
        """See `Twin`."""
        return self._names[named]

    def close(self) -> None:
        """Reads the team's commits once, and hangs up."""
        self._run(self._close())

    # --- how the system is asked ------------------------------------------------------------------------------------

    async def _remember(self, who: str, what: Sequence[Utterance], *, foreseen: bool) -> None:
        client, request = self._clients[who], request_of(*what)
        before = None
        if foreseen:
            asked = ingest_service_pb2.PreflightRememberRequest(evidence=request.evidence, proposal=request.proposal)
            before = await answered(client.ingest.PreflightRemember(asked))
        answer = await answered(client.ingest.Remember(request))
        if isinstance(answer, Refusal):
            assert before is None or isinstance(before, Refusal), f"not foreseen: {answer}"
            refused = [(self._said(who, one, f"refused {n}"), FragmentId(f"refused {n}")) for n, one in enumerate(what)]
            self._refuse(answer, lambda: self.model.remember_all(refused))
            return
        self._last = (client.ingest.Remember, request, answer)
        placed = answer.placement.relationships
        if before is not None:
            assert not isinstance(before, Refusal), f"not done: {before}"
            for expected, done in zip(before.placement.relationships, placed, strict=True):
                assert _outcome(expected) == _outcome(done), f"foreseen was {expected}, and done {done}"
        self._learn(answer.placement)
        said = []
        for one, done, stored in zip(what, placed, answer.placement.fragments, strict=True):
            assert done.verdict == relationship_pb2.VERDICT_ENTAILED, f"{request}: {done.verdict_reason}"
            said.append((self._said(who, one, done.observation_id), FragmentId(stored.fragment_id)))
        kept: list[FragmentId] = []
        # A source that moves on takes its last texts with it, wherever they stand.
        slots = {one.slot for one, _ in said}
        alone = len(slots) == 1 and all(one.source_key is None for one in what)
        await self._follow(
            lambda: kept.extend(self.model.remember_all(said)),
            instant_of(answer.placement.recorded_at),
            revision=answer.revision,
            place=next(iter(slots)) if alone else None,
        )
        assert kept == [fragment_id for _, fragment_id in said], f"the texts are {answer.placement.fragments}"
        outcomes = {o.statement_id: o for revision in self.model.revisions for o in revision.changes.outcomes}
        for done in placed:
            own = outcomes[StatementId(done.observation_id)]
            assert OUTCOME.to_domain(done.outcome) == own.kind, f"{own} is not {done}"

    async def _register(self, source: RegisteredSource) -> None:
        source = self._with_ids(source)
        name = (source.source_group, source.source_key)
        known = self.model.registry.get(name)
        request = admin_service_pb2.RegisterSourceRequest(
            idempotency_key=new_key(),
            definition=source_message(source, active=True).definition,
            expected_version=None if known is None else known.version,
        )
        answer = await self._admin.admin.RegisterSource(request)
        registered = replace(source, version=answer.source.version)
        at = await self._time_of(answer.revision)
        by = profile(self._administrator)
        await self._follow(lambda: self.model.register_source(by, registered), at, revision=answer.revision)

    def _with_ids(self, source: RegisteredSource) -> RegisteredSource:
        """A source whose speakers are named by their ids."""
        if not isinstance(source.speakers, OnlyProfiles):
            return source
        return replace(source, speakers=OnlyProfiles(profiles=frozenset(map(self._profile, source.speakers.profiles))))

    async def _merge(self, who: str, item: ReviewItem, what: Utterance) -> None:
        client, request = self._clients[who], request_of(what)
        request.resolution_context.CopyFrom(
            submission_pb2.ResolutionContext(item_id=item.item_id, expected_version=item.version)
        )
        answer = await answered(client.ingest.Remember(request))
        if isinstance(answer, Refusal):
            said = self._said(who, what, "refused")
            self._refuse(answer, lambda: self.model.merge_text(item.item_id, said, item.version, FragmentId("refused")))
            return
        self._last = (client.ingest.Remember, request, answer)
        self._learn(answer.placement)
        (placed,), (stored,) = answer.placement.relationships, answer.placement.fragments
        said = self._said(who, what, placed.observation_id)
        fragment_id = FragmentId(stored.fragment_id)
        await self._follow(
            lambda: self.model.merge_text(item.item_id, said, item.version, fragment_id),
            instant_of(answer.placement.recorded_at),
            decided=[answer.resolution.decision_id],
            revision=answer.revision,
            place=said.slot,
        )

    async def _adopt(self, who: str, row: Relationship, fragment_id: FragmentId) -> None:
        client, owner_id = self._clients[who], self._profile(who)
        request = ingest_service_pb2.AdoptEvidenceRequest(
            idempotency_key=new_key(),
            fragment_id=fragment_id,
            relationship_id=row.relationship_id,
            passages=[submission_pb2.Citation(quote=self.model.texts[fragment_id].content)],
        )
        answer = await answered(client.ingest.AdoptEvidence(request))
        if isinstance(answer, Refusal):
            self._refuse(answer, lambda: self.model.adopt(owner_id, row.relationship_id, fragment_id))
            return
        changed: list[bool] = []
        at = await self._time_of(answer.revision)
        await self._follow(
            lambda: changed.append(self.model.adopt(owner_id, row.relationship_id, fragment_id)),
            at,
            revision=answer.revision,
            place=row.slot,
        )
        assert changed == [answer.adoption.outcome == adoption_pb2.ADOPTION_OUTCOME_ADOPTED], answer

    async def _erase(self, fragment_id: FragmentId) -> None:
        request = admin_service_pb2.EraseEvidenceRequest(
            idempotency_key=new_key(), fragment_id=fragment_id, reason="they asked for it"
        )
        answer = await self._admin.admin.EraseEvidence(request)
        self._last = None
        by = profile(self._administrator)
        at = instant_of(answer.erasure.erased_at)
        await self._follow(lambda: self.model.erase(by, fragment_id), at, revision=answer.revision)

    async def _drive(self, time: Instant) -> None:
        self._driven = time
        await self._admin.admin.DriveClock(
            admin_service_pb2.DriveClockRequest(idempotency_key=new_key(), time=timestamp_of(time))
        )
        await self._follow(lambda: None, time)

    def _forget(self, who: str, command: Callable[[], object], place: Slot | None, **how: Any) -> None:
        request = ingest_service_pb2.ForgetRequest(idempotency_key=new_key(), **how)
        self._decide(
            self._clients[who].ingest.Forget,
            request,
            lambda answer: [one.decision for one in answer.forgotten],
            command,
            place,
        )

    def _decide(
        self,
        call: Callable[[Any], Awaitable[Any]],
        request: Message,
        decisions_of: Callable[[Any], list[Any]],
        command: Callable[[], object],
        place: Slot | None,
    ) -> None:
        """Takes a decision, and lets the model take it at the same time under the same name."""

        async def decide() -> None:
            answer = await answered(call(request))
            if isinstance(answer, Refusal):
                self._refuse(answer, command)
                return
            self._last = (call, request, answer)
            decisions = decisions_of(answer)
            await self._follow(
                command,
                instant_of(decisions[0].recorded_at),
                decided=[one.decision_id for one in decisions],
                revision=answer.revision,
                place=place,
            )

        self._run(decide())

    # --- how the model follows --------------------------------------------------------------------------------------

    async def _follow(
        self,
        command: Callable[[], object],
        at: Instant,
        *,
        decided: list[str] | None = None,
        revision: int | None = None,
        place: Slot | None = None,
    ) -> None:
        """Lets the model do what the system did, then look where the reviewer has looked, and compares.

        Args:
            command: what the model does.
            at: when the system committed it.
            decided: the decisions that it took, in their order.
            revision: the number of the commit.
            place: where anything can have changed, if not everywhere; at the end everything is read once more.
        """
        shown = await self._read(place)
        self.model.now = at
        left = list(decided) if decided is not None else sorted(shown.decisions - self._known_decisions())

        def as_committed(changes: Changes) -> Changes:
            taken = []
            for record in changes.decision_records:
                # What a placement settles by its predicate's policy is none of the decisions that were asked for.
                is_named = left and (decided is None or record.kind is not DecisionKind.SETTLE)
                taken.append(left.pop(0) if is_named else record.decision_id)
            return renamed(changes, shown_names(changes, shown, self._known(), taken))

        self.model.as_committed = as_committed
        command()
        if revision is not None and self.model.revisions:
            self._past.revisions[self.model.revisions[-1].moment.revision] = revision
        looked = {i: at for i, at in shown.looked_at.items() if self._looked_at.get(i) != at}
        for conflict_id, looked_at in sorted(looked.items(), key=lambda one: one[1]):
            case = self.model.cases()[ConflictId(conflict_id)][-1].row
            if case.live:
                self.model.now = looked_at
                self.model.review(case.conflict_id)
        self._looked_at |= looked
        self.model.now = max(self.model.now, self._driven)
        self._compare(shown)

    def _refuse(self, refusal: Refusal, command: Callable[[], object]) -> None:
        """The model must refuse what the system has refused, for the same reason."""
        self.refusals.append(refusal)
        own: Refusal | None = None
        # What it does before it comes to that is taken back, and nobody else has names for it.
        self.model.as_committed = lambda changes: changes
        try:
            command()
        except Refusal as raised:
            own = raised
        assert own is not None, f"only the system refuses: {refusal.reason}: {refusal}"
        assert own.reason is refusal.reason, f"{own.reason}: {own} is not {refusal.reason}: {refusal}"

    async def _read(self, place: Slot | None) -> ShownTeam:
        """The team once the reviewer has looked at whatever is due, of which nothing else than a place has changed."""
        clients = {self._ids[name]: client for name, client in self._clients.items()}
        async with asyncio.timeout(WAIT_SECONDS):
            shown = await read_team(clients, self._subjects, place, self._is_settled)
        self._shown = shown if place is None else with_place(self._shown, shown, place)
        return self._shown

    async def _is_settled(self, due_at: Iterable[Instant]) -> bool:
        """Whether the reviewer has looked at whatever is due; waits a moment if it has not."""
        settled = all(at > self._driven + _SOON for at in due_at)
        if not settled:
            await asyncio.sleep(POLL_SECONDS)
        return settled

    def _known(self) -> set[str]:
        return {*self.model.versions(), *self.model.cases(), *self.model.items()}

    def _known_decisions(self) -> set[str]:
        return {d.decision_id for one in self.model.revisions for d in one.changes.decision_records}

    def _compare(self, shown: ShownTeam) -> None:
        model = self.model
        require_equal(
            {i: one.row for i, one in shown.rows.items()}, {i: bare(v[-1].row) for i, v in model.versions().items()}
        )
        require_equal(
            {i: one.versions for i, one in shown.rows.items()},
            {i: expected_versions(v)[-len(shown.rows[i].versions) :] for i, v in model.versions().items()},
        )
        require_equal(shown.cases, {i: expected_case(versions[-1].row) for i, versions in model.cases().items()})
        require_equal(shown.items, {i: expected_item(item) for i, item in model.items().items()})

    async def _close(self) -> None:
        request = recall_service_pb2.ListChangesRequest()
        changes = [one async for answer in self._admin.recall.ListChanges(request) for one in answer.changes]
        assert [one.revision for one in changes] == list(range(1, len(changes) + 1)), "revisions have no gap"
        times = [instant_of(one.recorded_at) for one in changes]
        assert times == sorted(set(times)), "time goes with them"
        self._compare(await self._read(None))
        await self._past.see_again()
        for client in (self._admin, *self._clients.values()):
            await client.close()

    # --- names ------------------------------------------------------------------------------------------------------

    async def _learn_profiles(self) -> None:
        answer = await self._admin.admin.ListProfiles(admin_service_pb2.ListProfilesRequest())
        for one in answer.profiles:
            if one.name in PROFILES:
                self._ids[one.name] = one.profile_id
                self._names[one.profile_id] = one.name
            else:
                self._administrator = ProfileId(one.profile_id)

    def _learn(self, placement: placement_pb2.Placement) -> None:
        for one in placement.entities:
            self._ids[one.entity.name] = one.entity.entity_id
            self._names[one.entity.entity_id] = one.entity.name
        self._subjects.update((one.entity.entity_id, None) for one in placement.entities if one.entity.name in SUBJECTS)

    def _profile(self, who: str) -> ProfileId:
        return ProfileId(self._ids[who])

    def _said(self, who: str, what: Utterance, observation_id: str) -> Said:
        return replace(
            said_of(self._profile(who), what, 0),
            statement_id=StatementId(observation_id),
            slot=Slot(
                subject_id=EntityId(self._ids.get(what.subject, what.subject)),
                predicate=what.predicate,
                scope=what.scope,
            ),
            object=EntityObject(entity_id=EntityId(self._ids.get(what.value, what.value))),
        )

    async def _time_of(self, revision: int) -> Instant:
        request = recall_service_pb2.ListChangesRequest(after_revision=revision - 1)
        async for answer in self._admin.recall.ListChanges(request):
            for change in answer.changes:
                if change.revision == revision:
                    return instant_of(change.recorded_at)
        raise AssertionError(f"there is no revision {revision}")


def _outcome(placed: placement_pb2.RelationshipPlacement) -> tuple[object, ...]:
    return placed.outcome, placed.rule, placed.reason, placed.conflict.effect, placed.verdict
