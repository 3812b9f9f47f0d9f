"""The rows of same-owner resolution at once: whatever two of one owner's acts meet on a slot, one order of them is what
comes of it.

Each row prepares a slot and two acts on it, both asked for on what was seen before either. They are done in the one
order in a first slot, in the other order in a second, and meet at the team's lock in a third: answers, refusals, rows,
questions and decisions there are those of one of the two orders. Rows of which one act is a second decision on the same
item, or the undo of the same decision, are in ``test_decisions_at_once``, over two services; those with a judge in them
are in ``test_judged_rows_at_once``.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import grpc
import psycopg
import pytest
from corrigenda.conflict.v1 import resolution_pb2, review_item_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2, submission_pb2
from corrigenda.type.v1 import decision_pb2, evidence_pb2, relationship_pb2
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

ROUNDS = examples(fast=1, full=20)
MINUTES = "the minutes of the meeting in spring go on about budgets, hiring and the new coffee machine. " * 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """What is done at once with another act: by which service, and the call of it."""

    service: str
    send: Callable[[], Awaitable[Any]]


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
        return Act(service="ingest", send=lambda: self.client.ingest.Remember(request))

    async def say(self, source: str, branch: str) -> None:
        text = f"{source}production deploys from {branch} ({self.scope})"
        self.rows[branch] = await placed_row(self.client, self.deploys_from(text, branch, scope=self.scope))

    async def item(self) -> Item:
        (item,) = [one for one in await items_of(self.client) if one.incoming[0].scope == self.scope]
        return item

    async def deciding(self, **action: Any) -> Act:
        request = deciding(await self.item(), **action)
        # What is merged is written by the ingest service, as any other sentence.
        service = "ingest" if "merge" in action else "conflict"
        return Act(service=service, send=lambda: self.client.conflict.ResolveConflict(request))

    async def kept(self, branch: str) -> decision_pb2.Decision:
        """Keeps a side of the question."""
        answer = await (await self.deciding(keep_new=keep_new(self.rows[branch]))).send()
        decision: decision_pb2.Decision = answer.decision
        return decision

    def reverting(self, decision: decision_pb2.Decision) -> Act:
        request = reverting(decision)
        return Act(service="conflict", send=lambda: self.client.conflict.RevertResolution(request))

    async def correcting(self, branch: str, by: str) -> Act:
        """Says another value in the place of one, as it stands now."""
        target = submission_pb2.CorrectionTarget(relationship_id=self.rows[branch].relationship_id)
        return self.saying("the report: ", by, correction_target=target)

    def retracting(self, branch: str) -> Act:
        request = retracting(self.rows[branch])
        return Act(service="ingest", send=lambda: self.client.ingest.Forget(request))

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


async def s2_keeping_what_is_no_side_and_an_answer(slot: Slot) -> Acts:
    await slot.say("since 1 January 2026 ", "trunk")
    await slot.say("since 1 March 2026 ", "main")
    await slot.say("the log: since 1 March 2026 ", "release")
    return await slot.deciding(keep_existing=keep_existing(slot.rows["trunk"])), await slot.deciding(
        keep_new=keep_new(slot.rows["release"])
    )


async def s2_keeping_what_was_no_side_and_its_value_said_again(slot: Slot) -> Acts:
    """The value becomes a side, and the row that is named does not."""
    await slot.say("since 1 January 2026 ", "trunk")
    await slot.say("since 1 March 2026 ", "main")
    await slot.say("the log: since 1 March 2026 ", "release")
    return await slot.deciding(keep_existing=keep_existing(slot.rows["trunk"])), slot.saying(
        "the wiki: since 1 March 2026 ", "trunk"
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


async def s17_two_that_contradict_in_texts_that_are_nothing_alike(slot: Slot) -> Acts:
    """What is written elsewhere is nearer to either text than they are to each other."""
    elsewhere = replace(slot, scope=f"{slot.scope} elsewhere", rows={})
    await elsewhere.say(MINUTES, "main")
    await elsewhere.say("", "main")
    return slot.saying(MINUTES, "main"), slot.saying("", "release")


async def s18_two_merges(slot: Slot) -> Acts:
    await main_and_release(slot)
    return await slot.deciding(merge=slot.merge("trunk")), await slot.deciding(merge=slot.merge("stable"))


async def s22_keeping_what_nobody_knows_and_an_answer(slot: Slot) -> Acts:
    await main_and_release(slot)
    unknown = relationship_pb2.Relationship(relationship_id=str(uuid.uuid4()))
    return await slot.deciding(keep_new=keep_new(unknown)), await slot.deciding(keep_both=resolution_pb2.KeepBoth())


async def s23_undo_and_the_next_answer(slot: Slot) -> Acts:
    await main_and_release(slot)
    decision = await slot.kept("release")
    await slot.reverting(decision).send()
    again = await slot.kept("main")
    return slot.reverting(again), slot.reverting(decision)


ROWS: dict[Callable[[Slot], Awaitable[Acts]], tuple[tuple[str, str], tuple[str, str]]] = {
    s1_two_answers: (("done", "ITEM_NOT_PENDING"), ("ITEM_NOT_PENDING", "done")),
    s2_keeping_what_is_no_side_and_an_answer: (("NOT_IN_CONFLICT", "done"), ("ITEM_NOT_PENDING", "done")),
    s2_keeping_what_was_no_side_and_its_value_said_again: (("NOT_IN_CONFLICT", "held"), ("STALE_VERSION", "held")),
    s3_keeping_one_while_a_third_comes: (("done", "held"), ("STALE_VERSION", "held")),
    s4_undo_and_a_correction_of_the_winner: (("done", "corrected"), ("REVERT_BLOCKED", "corrected")),
    s5_undo_and_an_older_value_said_again: (("done", "corroborated"), ("done", "corroborated")),
    s6_a_merge_and_the_third_that_says_the_same: (("done", "corroborated"), ("STALE_VERSION", "held")),
    s7_the_same_text_twice: (("inserted", "duplicate"), ("duplicate", "inserted")),
    s8_two_that_contradict: (("inserted", "held"), ("held", "inserted")),
    s9_keeping_both_while_a_third_comes: (("done", "held"), ("STALE_VERSION", "held")),
    s10_undo_and_the_loser_said_again: (("done", "corroborated"), ("REVERT_BLOCKED", "held")),
    s11_each_side_said_again: (("corroborated", "held"), ("corroborated", "held")),
    s12_an_answer_and_a_correction_of_a_side: (("done", "corrected"), ("STALE_VERSION", "corrected")),
    s14_undo_and_the_winner_forgotten: (("done", "done"), ("REVERT_BLOCKED", "done")),
    s16_two_that_differ_in_nothing_but_form: (("corroborated", "corroborated"), ("corroborated", "corroborated")),
    s17_two_that_contradict_in_texts_that_are_nothing_alike: (("inserted", "held"), ("held", "inserted")),
    s18_two_merges: (("done", "ITEM_NOT_PENDING"), ("ITEM_NOT_PENDING", "done")),
    s22_keeping_what_nobody_knows_and_an_answer: (("NOT_IN_CONFLICT", "done"), ("ITEM_NOT_PENDING", "done")),
    s23_undo_and_the_next_answer: (("done", "REVERT_BLOCKED"), ("done", "REVERT_BLOCKED")),
}
"""Rows, and what both acts come to in either order: if the first is done first, and if the second is."""


async def result(act: Act) -> str:
    """What an act came to in a word: of a placement its outcome, else that it was done, or why it was refused."""
    try:
        answer = await act.send()
    except grpc.aio.AioRpcError as error:
        refusal = refusal_of(error)
        if refusal is None:
            raise
        return refusal.reason.value
    if isinstance(answer, ingest_service_pb2.RememberResponse):
        outcome = answer.placement.relationships[0].outcome
        return placement_pb2.Outcome.Name(outcome).removeprefix("OUTCOME_").lower()
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
        for row, allowed in ROWS.items():
            came: dict[str, Came] = {}
            for order in ("first", "second", "together"):
                slot = Slot(client=client, deploys_from=deploys_from, scope=f"{row.__name__} {order}")
                one, other = await row(slot)
                if order == "first":
                    results = (await result(one), await result(other))
                elif order == "second":
                    late = await result(other)
                    results = (await result(one), late)
                else:
                    # A service has one writer of a team at a time: of its two calls the second waits behind the first.
                    calls = [result(one), result(other)]
                    met = await lock.meet(len({one.service, other.service}), calls if number % 2 == 0 else calls[::-1])
                    results = (met[0], met[1]) if number % 2 == 0 else (met[1], met[0])
                came[order] = Came(results=results, state=state_of(stack, team.team_id, slot.scope))
            assert (came["first"].results, came["second"].results) == allowed, row.__name__
            assert came["together"] in (came["first"], came["second"]), (row.__name__, came)
        assert await ledger_verifies(team.team_id)


@pytest.mark.rule("R5.1", "R4.16a")
async def test_s22_ids_that_nobody_knows_are_refused_while_an_answer_is_under_way(
    stack: Stack, new_team: NewTeam, deploys_from: Request
) -> None:
    """What names nothing waits for nobody, is no defect, and leaves the answer what it would have been."""
    team = await new_team(profiles=["A"])
    lock = TeamLock(
        holder_url=stack.url("corrigenda_migrator"), watcher_url=stack.url("corrigenda_auditor"), team_id=team.team_id
    )
    slots = [Slot(client=team["A"], deploys_from=deploys_from, scope=f"s22 {name}") for name in ("alone", "at once")]
    for slot in slots:
        await main_and_release(slot)
    answers = [await slot.deciding(keep_new=keep_new(slot.rows["release"])) for slot in slots]
    asked = await slots[1].item()
    wrong: list[Act] = []
    for unknown in (str(uuid.uuid4()), "x", ""):
        slots[1].rows[unknown] = relationship_pb2.Relationship(relationship_id=unknown)
        item = review_item_pb2.ReviewItem(item_id=unknown, version=asked.version)
        nothing = deciding(item, keep_new=keep_new(slots[1].rows["main"]))
        wrong += [
            Act(service="conflict", send=partial(team["A"].conflict.ResolveConflict, nothing)),
            slots[1].reverting(decision_pb2.Decision(decision_id=unknown)),
            slots[1].retracting(unknown),
        ]
        if unknown:  # an empty target is none
            wrong.append(await slots[1].correcting(unknown, "trunk"))
    assert await result(answers[0]) == "done"
    refusals = [result(act) for act in wrong]
    came, *refused = await lock.meet(1, [result(answers[1])], meanwhile=refusals)
    assert came == "done"
    assert refused == ["RESOURCE_NOT_FOUND"] * 4 + ["INVALID_FIELD"] * 7
    alone, at_once = (state_of(stack, team.team_id, slot.scope) for slot in slots)
    assert alone == at_once
