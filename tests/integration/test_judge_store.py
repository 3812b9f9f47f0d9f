"""What a judge is shown comes from the database, read as the conflict service's role."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from corrigenda.conflict.v1 import conflict_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.ids import EntityId, PredicateKey, TeamId
from corrigenda_core.domain.judging import JudgeQuestion
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.predicates import Predicate
from corrigenda_core.persistence.database import Database
from corrigenda_core.persistence.judge_store import judge_question
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.slot_store import SlotQueries

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]


@pytest.mark.rule("R4.18")
async def test_a_question_is_read_from_what_is_stored(stack: Stack, new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    a = team["A"]
    await a.ingest.Remember(deploys_from("production deploys from main", "main"))
    held = await a.ingest.Remember(deploys_from("We checked. production now deploys from release", "release"))
    await a.ingest.Remember(deploys_from("since 1 May 2020 production deploys from old", "old", scope="in the lab"))
    await team["B"].ingest.Remember(deploys_from("production deploys from hotfix", "hotfix", scope="elsewhere"))
    (entry,) = (await a.conflict.ListConflicts(conflict_service_pb2.ListConflictsRequest())).entries
    subject = held.placement.relationships[0].relationship.subject.entity_id
    slot = Slot(subject_id=EntityId(subject), predicate=PredicateKey("deploys_from"))
    queries = SlotQueries(team_id=TeamId(team.team_id), slot=slot)

    async def read(transaction: ReadTransaction) -> JudgeQuestion:
        view = queries.view(dict(transaction.prefetched), Predicate(key=slot.predicate))
        (item,) = view.items
        return await judge_question(transaction, view, item)

    async with Database(stack.url("corrigenda_conflict"), name="judge store test") as database:
        question = await ReadRunner(database).run(TeamId(team.team_id), read, prefetch=queries.queries())
    assert question.item_id == entry.review_item.item_id
    assert (question.subject, question.predicate) == ("production", "deploys_from")
    assert (question.incoming.value, question.opposing.value) == ("release", "main")
    assert question.incoming.excerpts == ("We checked. production now deploys from release",)
    assert question.incoming.sources == ("conversation by A",)
    assert question.others == ("production deploys from old (in the lab) from 2020-05-01T00:00:00+00:00",)
