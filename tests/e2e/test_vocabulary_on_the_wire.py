"""A vocabulary is loaded over the wire, again without effect, and texts are read in terms of it without a proposal."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2, submission_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda.type.v1 import evidence_pb2
from corrigenda_cli.__main__ import main
from corrigenda_cli.stack import Stack
from corrigenda_cli.vocabulary import parse_vocabulary, vocabulary_text

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
KEYS = sorted(entry.definition.key for entry in parse_vocabulary(vocabulary_text("software-teams")).entries)
# The team has it already, of another form.
REST = [key for key in KEYS if key != "deploys_from"]


@pytest.fixture
def load(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Awaitable[tuple[int, Any]]]:
    async def loaded(key: str, vocabulary: str, *more: str) -> tuple[int, Any]:
        monkeypatch.setenv("CORRIGENDA_KEY", key)
        addresses = ["--ingest", stack.address("ingest"), "--recall", stack.address("recall")]
        status = await asyncio.to_thread(main, ["predicates", "load", vocabulary, *addresses, "--json", *more])
        printed = capsys.readouterr()
        return status, json.loads(printed.out) if printed.out else printed.err

    return loaded


@pytest.mark.rule("R3.1", "R3.6")
async def test_a_vocabulary_is_loaded_and_used(new_team: NewTeam, load: Any, tmp_path: Path) -> None:
    team = await new_team()
    key = team.keys["admin"]
    status, done = await load(key, "software-teams")
    assert (status, sorted(done["new"]), done["different"]) == (1, REST, ["deploys_from"])
    status, done = await load(key, "software-teams", "--update")
    assert (status, sorted(done["unchanged"]), done["updated"]) == (0, REST, ["deploys_from"])
    listed = await team["A"].recall.ListPredicates(recall_service_pb2.ListPredicatesRequest(page_size=200))
    assert [one.definition.key for one in listed.predicates] == KEYS
    assert {one.definition.key: one.version for one in listed.predicates}["deploys_from"] == 2

    mine = vocabulary_text("software-teams").replace('"is owned by", ', '"is owned by", "is run by", ')
    (tmp_path / "mine.toml").write_text(mine)
    status, done = await load(key, str(tmp_path / "mine.toml"))
    assert (status, done["different"]) == (1, ["owned_by"])

    remembered = await team["A"].ingest.Remember(
        ingest_service_pb2.RememberRequest(
            idempotency_key="notes",
            evidence=[
                submission_pb2.EvidenceItem(
                    content="Notes of Monday. The billing service is owned by team Payments. Ada works on Atlas.",
                    source_type=evidence_pb2.SOURCE_TYPE_DOCUMENT,
                )
            ],
        )
    )
    said = [
        (one.relationship.subject.name, one.relationship.predicate, one.relationship.object.entity.name, one.outcome)
        for one in remembered.placement.relationships
    ]
    assert said == [
        ("billing", "owned_by", "Payments", placement_pb2.OUTCOME_INSERTED),
        ("Ada", "works_on", "Atlas", placement_pb2.OUTCOME_INSERTED),
    ]


async def test_only_an_administrator_loads_one(new_team: NewTeam, load: Any) -> None:
    team = await new_team()
    status, told = await load(team.keys["A"], "software-teams")
    assert status == 5
    assert "SCOPE_MISSING" in told
    status, told = await load(team.keys["admin"], "nowhere.toml")
    assert status == 2
    assert "software-teams" in told
