"""The rows of same-owner resolution at once: whatever two of one owner's acts meet on a slot, one order of them is what
comes of it.

Each row prepares a slot and two acts on it, both asked for on what was seen before either. They are done in the one
order in a first slot, in the other order in a second, and meet at the team's lock in a third: answers, refusals, rows,
questions and decisions there are those of one of the two orders. Rows of which one act is a second decision on the same
item, or the undo of the same decision, are in ``test_decisions_at_once``, over two services.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import grpc
import psycopg
import pytest
from corrigenda.conflict.v1 import resolution_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, submission_pb2
from corrigenda.type.v1 import decision_pb2, evidence_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.rpc.status import refusal_of
from corrigenda_core.testing.effort import examples
from corrigenda_core.testing.meeting import TeamLock
from corrigenda_core.testing.wire_decisions import (
    Item,
    Row,
    deciding,
    items_of,
    keep_existing,
    keep_new,
    placed_row,
    retracting,
    reverting,
)

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]
Verifies = Callable[[str], Awaitable[bool]]
Act = Callable[[], Awaitable[Any]]

ROUNDS = examples(fast=1, full=20)


@dataclass(kw_only=True)
class Slot:
    """One slot of one owner, with what was said in it."""

    client: Any
    deploys_from: Request
    scope: str
    rows: dict[str, Row] = field(default_factory=dict)

    def saying(self, source: str, branch: str, **more: Any) -> Act:
        """Says where production deploys from; the text is made now, and sent when the act is done."""
        text = f"{source}production deploys from {branch} ({self.scope})"
        request = self.deploys_from(text, branch, scope=self.scope, **more)
        return lambda: self.client.ingest.Remember(request)

    async def say(self, source: str, branch: str) -> None:
        text = f"{source}production deploys from {branch} ({self.scope})"
        self.rows[branch] = await placed_row(self.client, self.deploys_from(text, branch, scope=self.scope))

    async def item(self) -> Item:
        (item,) = [one for one in await items_of(self.client) if one.incoming[0].scope == self.scope]
        return item

    async def deciding(self, **action: Any) -> Act:
        request = deciding(await self.item(), **action)
        return lambda: self.client.conflict.ResolveConflict(request)

    async def kept(self, branch: str) -> decision_pb2.Decision:
        """Keeps a side of the question."""
        answer = await (await self.deciding(keep_new=keep_new(self.rows[branch])))()
        decision: decision_pb2.Decision = answer.decision
        return decision

    def reverting(self, decision: decision_pb2.Decision) -> Act:
        request = reverting(decision)
        return lambda: self.client.conflict.RevertResolution(request)

    async def correcting(self, branch: str, by: str) -> Act:
        """Says another value in the place of one, as it stands now."""
        target = submission_pb2.CorrectionTarget(relationship_id=self.rows[branch].relationship_id)
        return self.saying("the report: ", by, correction_target=target)

    def retracting(self, branch: str) -> Act:
        request = retracting(self.rows[branch])
        return lambda: self.client.ingest.Forget(request)

    def merge(self, branch: str) -> resolution_pb2.Merge:
        return resolution_pb2.Merge(
            content=f"since 1 March 2026 production deploys from {branch} ({self.scope})",
            source_type=evidence_pb2.SOURCE_TYPE_MANUAL,
            entity=resolution_pb2.MergedEntity(name=branch, entity_kind="git_branch"),
        )


Acts = tuple[Act, Act]


async def main_and_release(slot: Slot) -> None:
    await slot.say("", "main")
    await slot.say("the log: ", "release")


async def s1_two_answers(slot: Slot) -> Acts:
    await main_and_release(slot)
    return await slot.deciding(keep_new=keep_new(slot.rows["release"])), await slot.deciding(
        keep_existing=keep_existing(slot.rows["main"])
    )


async def s3_keeping_one_while_a_third_comes(slot: Slot) -> Acts:
    await main_and_release(slot)
    return await slot.deciding(keep_existing=keep_existing(slot.rows["main"])), slot.saying("the wiki: ", "trunk")


async def s4_undo_and_a_correction_of_the_winner(slot: Slot) -> Acts:
    await main_and_release(slot)
    decision = await slot.kept("release")
    return slot.reverting(decision), await slot.correcting("release", "trunk")


async def s5_undo_and_an_older_value_said_again(slot: Slot) -> Acts:
    await slot.say("since 1 March 2026 ", "main")
    await slot.say("the log: since 1 May 2026 ", "release")
    await slot.say("the wiki: since 1 May 2026 ", "trunk")
    decision = await slot.kept("trunk")
    return slot.reverting(decision), slot.saying("the report: since 1 March 2026 ", "main")


async def s6_a_merge_and_the_third_that_says_the_same(slot: Slot) -> Acts:
    await main_and_release(slot)
    return await slot.deciding(merge=slot.merge("trunk")), slot.saying("the wiki: since 1 March 2026 ", "trunk")


async def s7_the_same_text_twice(slot: Slot) -> Acts:
    return slot.saying("", "main"), slot.saying("", "main")


async def s8_two_that_contradict(slot: Slot) -> Acts:
    return slot.saying("", "main"), slot.saying("the log: ", "release")


async def s9_keeping_both_while_a_third_comes(slot: Slot) -> Acts:
    await main_and_release(slot)
    return await slot.deciding(keep_both=resolution_pb2.KeepBoth()), slot.saying("the wiki: ", "trunk")


async def s10_undo_and_the_loser_said_again(slot: Slot) -> Acts:
    await main_and_release(slot)
    decision = await slot.kept("release")
    return slot.reverting(decision), slot.saying("the wiki: ", "main")


async def s11_each_side_said_again(slot: Slot) -> Acts:
    await main_and_release(slot)
    return slot.saying("the wiki: ", "main"), slot.saying("the report: ", "release")


async def s12_an_answer_and_a_correction_of_a_side(slot: Slot) -> Acts:
    await main_and_release(slot)
    return await slot.deciding(keep_new=keep_new(slot.rows["release"])), await slot.correcting("main", "trunk")


async def s14_undo_and_the_winner_forgotten(slot: Slot) -> Acts:
    await main_and_release(slot)
    decision = await slot.kept("release")
    return slot.reverting(decision), slot.retracting("release")


async def s16_two_that_differ_in_nothing_but_form(slot: Slot) -> Acts:
    await slot.say("", "main")
    return slot.saying("the log: ", "MAIN"), slot.saying("the wiki: ", "ｍａｉｎ")


async def s18_two_merges(slot: Slot) -> Acts:
    await main_and_release(slot)
    return await slot.deciding(merge=slot.merge("trunk")), await slot.deciding(merge=slot.merge("stable"))


async def s23_undo_and_the_next_answer(slot: Slot) -> Acts:
    await main_and_release(slot)
    decision = await slot.kept("release")
    await slot.reverting(decision)()
    again = await slot.kept("main")
    return slot.reverting(again), slot.reverting(decision)


ROWS = [
    s1_two_answers,
    s3_keeping_one_while_a_third_comes,
    s4_undo_and_a_correction_of_the_winner,
    s5_undo_and_an_older_value_said_again,
    s6_a_merge_and_the_third_that_says_the_same,
    s7_the_same_text_twice,
    s8_two_that_contradict,
    s9_keeping_both_while_a_third_comes,
    s10_undo_and_the_loser_said_again,
    s11_each_side_said_again,
    s12_an_answer_and_a_correction_of_a_side,
    s14_undo_and_the_winner_forgotten,
    s16_two_that_differ_in_nothing_but_form,
    s18_two_merges,
    s23_undo_and_the_next_answer,
]


async def result(call: Awaitable[Any]) -> str:
    """What an act came to in a word: of a placement its outcome, else that it was done, or why it was refused."""
    try:
        answer = await call
    except grpc.aio.AioRpcError as error:
        refusal = refusal_of(error)
        if refusal is None:
            raise
        return refusal.reason.value
    if isinstance(answer, ingest_service_pb2.RememberResponse):
        return str(answer.placement.relationships[0].outcome)
    return "done"


STATE = """
SELECT r.status, r.polarity, r.facet, r.valid_from = r.valid_to, r.valid_from = '-infinity', r.valid_to = 'infinity',
       (SELECT min(n.normal_name) FROM entity_names AS n
        WHERE n.team_id = r.team_id AND n.entity_id = r.object_entity_id AND n.is_primary),
       (SELECT count(*) FROM supports AS p JOIN carriages AS c USING (team_id, statement_id)
        WHERE p.team_id = r.team_id AND c.relationship_id = r.relationship_id)
FROM relationships AS r WHERE r.team_id = %(team)s AND r.scope = %(scope)s ORDER BY 7, 1, 2, 3, 4, 5, 6, 8
"""
DECISIONS = """
SELECT d.kind, count(*) FROM decisions AS d WHERE d.team_id = %(team)s AND d.target_ids && ARRAY(
    SELECT r.relationship_id FROM relationships AS r WHERE r.team_id = %(team)s AND r.scope = %(scope)s)
GROUP BY 1 ORDER BY 1
"""
ITEMS = """
SELECT i.status, i.kind, i.reason, cardinality(i.opposing) FROM review_items AS i
WHERE i.team_id = %(team)s AND i.scope = %(scope)s ORDER BY 1, 2, 3, 4
"""
FRAGMENTS = "SELECT count(*) FROM evidence_fragments WHERE team_id = %(team)s AND strpos(content, %(mention)s) > 0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """What came of two acts: of each, and of the slot."""

    results: tuple[str, str]
    state: tuple[Any, ...]


def state_of(stack: Stack, team_id: str, scope: str) -> tuple[Any, ...]:
    parameters = {"team": team_id, "scope": scope, "mention": f"({scope})"}
    with psycopg.connect(stack.url("corrigenda_auditor"), autocommit=True) as connection:
        return tuple(
            tuple(connection.execute(query, parameters).fetchall()) for query in (STATE, DECISIONS, ITEMS, FRAGMENTS)
        )


@pytest.mark.rule("R4.8", "R4.16a", "R4.17", "R5.1")
async def test_what_meets_at_once_comes_to_what_one_order_of_it_comes_to(
    stack: Stack, new_team: NewTeam, deploys_from: Request, ledger_verifies: Verifies
) -> None:
    for number in range(ROUNDS):
        team = await new_team(profiles=["A"])
        client = team["A"]
        lock = TeamLock(
            holder_url=stack.url("corrigenda_migrator"),
            watcher_url=stack.url("corrigenda_auditor"),
            team_id=team.team_id,
        )
        for row in ROWS:
            came: dict[str, Came] = {}
            for order in ("first", "second", "together"):
                slot = Slot(client=client, deploys_from=deploys_from, scope=f"{row.__name__} {order}")
                one, other = await row(slot)
                if order == "first":
                    results = (await result(one()), await result(other()))
                elif order == "second":
                    late = await result(other())
                    results = (await result(one()), late)
                else:
                    calls = [result(one()), result(other())]
                    met = await lock.meet(1, calls if number % 2 == 0 else calls[::-1])
                    results = (met[0], met[1]) if number % 2 == 0 else (met[1], met[0])
                came[order] = Came(results=results, state=state_of(stack, team.team_id, slot.scope))
            assert came["together"] in (came["first"], came["second"]), (row.__name__, came)
        assert await ledger_verifies(team.team_id)
