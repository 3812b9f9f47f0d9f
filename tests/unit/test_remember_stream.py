"""A stream of submissions: results in order, bounded reading ahead, and how it ends, over a fake that remembers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from itertools import takewhile
from typing import Any

import pytest
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import KeyId, ProfileId, TeamId
from corrigenda_core.ports.deadline import NO_DEADLINE, Deadline
from corrigenda_ingest.use_cases.remember_many import Looked, RememberMany, Submitted
from corrigenda_ingest.use_cases.remember_stream import ITEMS_PER_COMMIT, ITEMS_WAITING, Arrived, RememberStream

CALLER = Caller(team_id=TeamId("t"), profile_id=ProfileId("p"), key_id=KeyId("k"), scopes=frozenset())
INVALID = Refusal(Reason.INVALID_FIELD, "no evidence")


def numbered(number: int) -> Submitted:
    """A submission of which only its number matters."""
    return Submitted(asked=number, idempotency=None, present=None)


class FakeMany(RememberMany):
    """Answers each submission with its number, ``share`` of them to a commit, once it may.

    Those whose numbers are ``dependent`` are not taken behind a commit that is not done.
    """

    def __init__(self, share: int = 1_000, dependent: frozenset[int] = frozenset()) -> None:
        self.share = share
        self.dependent = dependent
        self.commits: list[int] = []
        self.done: list[Any] = []
        self.looked_ahead = 0
        self.has_looked_ahead = asyncio.Event()
        self.may_commit = asyncio.Event()
        self.may_commit.set()

    async def look(
        self, caller: Caller, submitted: Sequence[Any], deadline: Deadline, *, behind: Looked | None = None
    ) -> Looked:
        taken = list(submitted[: self.share])
        if behind is not None:
            taken = list(takewhile(lambda one: one.asked not in self.dependent, taken))
            self.looked_ahead += len(taken)
            self.has_looked_ahead.set()
        elif taken[0].asked in self.dependent:
            assert self.done[-1] == taken[0].asked - 1, "it was looked at before what it depends on was committed"
        return Looked(submitted=taken, outside=(), is_cut=len(taken) < len(submitted))

    async def commit(self, caller: Caller, looked: Looked, deadline: Deadline) -> Any:
        await self.may_commit.wait()
        self.commits.append(len(looked.submitted))
        self.done += [one.asked for one in looked.submitted]
        return [one.asked for one in looked.submitted]


async def sent(*items: int | Refusal, then: asyncio.Event | None = None, read: list[int] | None = None) -> Any:
    for place, item in enumerate(items):
        if read is not None:
            read.append(place)
        yield Arrived(key=f"k{place}", submitted=item if isinstance(item, Refusal) else numbered(item), size_bytes=100)
    if then is not None:
        await then.wait()


def streamed(many: FakeMany, arriving: AsyncIterator[Arrived], **more: Any) -> AsyncIterator[Any]:
    stream = RememberStream(many, **{name: more.pop(name) for name in ("idle_seconds",) if name in more})
    return stream(CALLER, arriving, stopping=more.pop("stopping", asyncio.Event()), deadline=NO_DEADLINE)


@pytest.mark.parametrize("share", [1, 7, 1_000])
async def test_every_submission_has_one_result_in_its_place(share: int) -> None:
    items = [INVALID if number % 11 == 3 else number for number in range(350)]
    many = FakeMany(share)
    answers = [one async for one in streamed(many, sent(*items))]
    assert [one.result for one in answers] == items
    assert [(one.index, one.key) for one in answers] == [(n, f"k{n}") for n in range(350)]
    assert max(many.commits) <= ITEMS_PER_COMMIT


async def test_what_fills_the_next_commit_is_looked_at_while_one_is_under_way() -> None:
    many = FakeMany()
    many.may_commit.clear()
    answering = streamed(many, sent(*range(350)))
    first = asyncio.ensure_future(anext(answering))
    async with asyncio.timeout(10.0):
        await many.has_looked_ahead.wait()
    assert many.done == []
    many.may_commit.set()
    assert [(await first).result, *[one.result async for one in answering]] == list(range(350))
    assert many.looked_ahead == 250


@pytest.mark.parametrize(("dependent", "commits"), [(100, [100, 100, 50]), (130, [100, 30, 100, 20])])
async def test_what_depends_on_a_commit_is_looked_at_after_it(dependent: int, commits: list[int]) -> None:
    many = FakeMany(dependent=frozenset({dependent}))
    assert [one.result async for one in streamed(many, sent(*range(250)))] == list(range(250))
    assert many.commits == commits


async def test_a_look_ahead_that_fails_ends_the_stream_after_the_results_before_it() -> None:
    class Lost(FakeMany):
        async def look(self, *arguments: Any, behind: Looked | None = None) -> Looked:
            if behind is not None:
                raise Refusal(Reason.STORE_UNAVAILABLE, "the database is gone")
            return await super().look(*arguments)

    answering = streamed(Lost(), sent(*range(250)))
    assert [(await anext(answering)).result for _ in range(100)] == list(range(100))
    with pytest.raises(Refusal, match="gone"):
        await anext(answering)


async def test_a_sender_is_read_ahead_only_so_far() -> None:
    many, read = FakeMany(), list[int]()
    many.may_commit.clear()
    answering = streamed(many, sent(*range(1_000), read=read))
    first = asyncio.ensure_future(anext(answering))
    for _ in range(2_000):
        await asyncio.sleep(0)
    assert len(read) <= ITEMS_WAITING + 1
    many.may_commit.set()
    assert (await first).result == 0
    assert len([one async for one in answering]) == 999


async def test_when_the_server_drains_what_has_arrived_is_answered_and_the_stream_ends() -> None:
    stopping, forever = asyncio.Event(), asyncio.Event()
    answering = streamed(FakeMany(), sent(1, 2, 3, then=forever), stopping=stopping)
    answers = [(await anext(answering)).result]
    stopping.set()
    answers += [one.result async for one in answering]
    assert answers == [1, 2, 3]


async def test_a_stream_on_which_nothing_comes_for_long_ends_in_good_order() -> None:
    answering = streamed(FakeMany(), sent(1, then=asyncio.Event()), idle_seconds=0.05)
    assert [one.result async for one in answering] == [1]


async def test_what_ends_the_stream_comes_after_the_results_before_it() -> None:
    async def cut() -> Any:
        async for one in sent(1, 2):
            yield one
        raise Refusal(Reason.CREDENTIAL_INVALID, "the key was revoked")

    answering = streamed(FakeMany(), cut())
    assert [(await anext(answering)).result for _ in range(2)] == [1, 2]
    with pytest.raises(Refusal, match="revoked"):
        await anext(answering)
