"""`corrigenda call`: every method from a shell, with the JSON that agents use."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Run = Callable[..., Awaitable[tuple[int, str, str]]]


async def test_a_method_is_called_by_its_name_and_answers_with_json(corrigenda: Run, new_team: NewTeam) -> None:
    team = await new_team()
    status, output, _ = await corrigenda(team.keys["A"], "call", "ListPredicates", '{"page_size": 10}')
    assert status == 0
    assert [one["definition"]["key"] for one in json.loads(output)["predicates"]] == ["deploys_from"]


async def test_a_refusal_is_json_with_what_to_do_and_exit_status_3(corrigenda: Run, new_team: NewTeam) -> None:
    team = await new_team()
    for request in ('{"querry": "x"}', '{"query": ""}', "no json", "[" * 5_000):
        status, output, errors = await corrigenda(team.keys["A"], "call", "RecallService/Recall", request)
        assert (status, output) == (3, "")
        error = json.loads(errors)["error"]
        assert error["reason"] == "INVALID_FIELD"
        assert error["next_action"]


async def test_a_stream_takes_one_object_a_line(corrigenda: Run, new_team: NewTeam) -> None:
    team = await new_team()
    notes = [{"content": f"note {number}", "source_type": "manual"} for number in range(3)]
    items = [
        {"submission": {"idempotency_key": f"item {number}", "evidence": [note]}} for number, note in enumerate(notes)
    ]
    given = "\n".join(json.dumps(item) for item in items)
    status, output, errors = await corrigenda(team.keys["A"], "call", "RememberStream", "-", given=given)
    assert status == 0, errors
    assert [json.loads(line)["idempotency_key"] for line in output.splitlines()] == ["item 0", "item 1", "item 2"]


async def test_wrong_usage_is_told_and_the_methods_are_listed(corrigenda: Run, new_team: NewTeam) -> None:
    assert (await corrigenda("", "call", "Recall"))[0] == 2
    assert (await corrigenda("", "call", "NoSuchMethod"))[0] == 2
    status, output, _ = await corrigenda("", "call", "--list")
    assert status == 0
    assert "IngestService/Remember " in output
    assert "AdminService/EraseEvidence" in output
