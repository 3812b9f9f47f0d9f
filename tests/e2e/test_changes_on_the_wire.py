"""The stream of committed revisions: without a gap, provable by its reader, taken up again, and followed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest
from corrigenda.ingest.v1 import ingest_service_pb2
from corrigenda.recall.v1 import change_pb2, recall_service_pb2
from corrigenda.type.v1 import actor_pb2, time_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.actors import Actor, ActorKind
from corrigenda_core.domain.errors import Reason
from corrigenda_core.domain.ids import ProfileId, TeamId
from corrigenda_core.domain.time import Moment
from corrigenda_core.persistence.ledger import GENESIS_HASH, LedgerEntry
from corrigenda_core.rpc.convert import instant_of
from corrigenda_core.rpc.status import refusal_of

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]

WAIT_SECONDS = 30.0


def asked(**more: Any) -> recall_service_pb2.ListChangesRequest:
    return recall_service_pb2.ListChangesRequest(**more)


async def changes(client: Any, **more: Any) -> list[change_pb2.Change]:
    return [change async for message in client.recall.ListChanges(asked(**more)) for change in message.changes]


def hash_of(team_id: str, change: change_pb2.Change) -> str:
    kind = ActorKind[actor_pb2.ActorKind.Name(change.actor.kind).removeprefix("ACTOR_KIND_")]
    profile = ProfileId(change.actor.profile.profile_id) if change.actor.HasField("profile") else None
    entry = LedgerEntry(
        team_id=TeamId(team_id),
        moment=Moment(revision=change.revision, at=instant_of(change.recorded_at)),
        prior_hash=bytes.fromhex(change.prior_hash),
        change_hash=bytes.fromhex(change.change_hash),
        actor=Actor(kind=kind, profile_id=profile),
        change_kind=change.kind,
    )
    return entry.hash.hex()


@pytest.mark.promise("kept.provable")
@pytest.mark.rule("R11.4", "R8.1")
async def test_a_reader_can_prove_the_chain_and_take_it_up_again(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    for branch in ("main", "release"):
        await team["A"].ingest.Remember(deploys_from(f"production deploys from {branch}", branch))
    told = await changes(team["A"])
    assert [change.revision for change in told] == list(range(1, len(told) + 1))
    assert [change.prior_hash for change in told] == [GENESIS_HASH.hex(), *(change.hash for change in told[:-1])]
    assert [hash_of(team.team_id, change) for change in told] == [change.hash for change in told]
    assert told[-1].kind == "remember"
    assert told[-1].actor.profile.name == "A"

    last = told[-1].revision
    assert await changes(team["A"], after_revision=last) == []
    (message,) = [one async for one in team["A"].recall.ListChanges(asked(after_revision=last))]
    assert message.revision == last
    written = await team["B"].ingest.Remember(deploys_from("production deploys from trunk", "trunk"))
    more = await changes(team["A"], after_revision=last, min_revision=written.revision)
    assert [change.revision for change in more] == list(range(last + 1, written.revision + 1))
    # What was known before stays what it was.
    past = time_pb2.KnownSelector(revision=last)
    assert await changes(team["A"], known=past) == told


async def test_long_histories_come_in_bounded_messages(
    new_team: NewTeam, deploys_from: Request, monkeypatch: pytest.MonkeyPatch, stack: Stack
) -> None:
    """The batches of one stream are read in several snapshots, of which none shows more than the first."""
    from corrigenda_core.domain.actors import Caller, KeyScope
    from corrigenda_core.domain.ids import KeyId
    from corrigenda_core.persistence.database import Database
    from corrigenda_core.persistence.read_transaction import ReadRunner
    from corrigenda_core.ports.deadline import NO_DEADLINE
    from corrigenda_recall.use_cases import list_changes

    monkeypatch.setattr(list_changes, "BATCH_CHANGES", 3)
    team = await new_team()
    told = await changes(team["A"])
    caller = Caller(
        team_id=TeamId(team.team_id),
        profile_id=ProfileId(team.team_id),
        key_id=KeyId("key"),
        scopes=frozenset({KeyScope.READ}),
    )
    async with Database(stack.url("corrigenda_recall")) as database:
        listing = list_changes.ListChanges(reader=ReadRunner(database))
        sizes, batched = [], []
        async for message in listing(caller, asked(), NO_DEADLINE, asyncio.Event()):
            if not batched:
                await team["A"].ingest.Remember(deploys_from("production deploys from main", "main"))
            sizes.append(len(message.changes))
            batched += message.changes
    assert batched == told
    assert len(sizes) > 1
    assert set(sizes[:-1]) == {3}


async def test_who_follows_is_told_of_later_commits_until_the_deadline(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    last = (await changes(team["A"]))[-1].revision
    following = team["A"].recall.ListChanges(asked(after_revision=last, follow=True), timeout=WAIT_SECONDS)
    nothing_yet = await following.read()
    assert (len(nothing_yet.changes), nothing_yet.revision) == (0, last)
    written = await team["B"].ingest.Remember(deploys_from("production deploys from main", "main"))
    message = await following.read()
    assert message.changes[0].revision == last + 1
    assert message.revision <= written.revision
    following.cancel()
    ended = team["A"].recall.ListChanges(asked(after_revision=written.revision, follow=True), timeout=1.0)
    assert [len(one.changes) async for one in ended] == [0]
    assert await ended.code() is grpc.StatusCode.OK


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (asked(after_revision=1_000), "after_revision"),
        (asked(known=time_pb2.KnownSelector(revision=1_000)), "known.revision"),
        (asked(follow=True, known=time_pb2.KnownSelector(revision=1)), "follow"),
        (asked(after_revision=-1), "after_revision"),
    ],
)
async def test_what_is_not_committed_is_refused(
    new_team: NewTeam, request_: recall_service_pb2.ListChangesRequest, field: str
) -> None:
    team = await new_team()
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await team["A"].recall.ListChanges(request_).read()
    refusal = refusal_of(refused.value)
    assert refusal is not None
    assert (refusal.reason, refusal.field) == (Reason.INVALID_FIELD, field)


@pytest.mark.promise("time.own-writes")
@pytest.mark.error("REVISION_NOT_REPLICATED")
async def test_a_replica_that_is_behind_says_so(new_team: NewTeam) -> None:
    team = await new_team()
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await team["A"].recall.ListChanges(asked(min_revision=1_000)).read()
    refusal = refusal_of(refused.value)
    assert refusal is not None
    assert refusal.reason is Reason.REVISION_NOT_REPLICATED
