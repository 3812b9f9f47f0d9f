"""The commands for people, run against the session's stack: remembering, looking, recalling, conflicts."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Run = Callable[..., Awaitable[tuple[int, str, str]]]
CLAIM = ("--subject", "environment:production", "--predicate", "deploys from")


def says(branch: str) -> tuple[str, ...]:
    return (f"production deploys from {branch}", *CLAIM, "--object", f"git_branch:{branch}")


async def test_a_disagreement_is_remembered_foreseen_listed_and_shown(corrigenda: Run, new_team: NewTeam) -> None:
    team = await new_team()
    a, b, c = (team.keys[name] for name in "ABC")
    status, out, err = await corrigenda(a, "remember", *says("main"))
    assert (status, out.splitlines()[0], err) == (0, "inserted  production deploys_from main", "")
    status, out, _ = await corrigenda(b, "preflight", *says("release"), "--json")
    foreseen = json.loads(out)
    assert (status, foreseen["placement"]["relationships"][0]["conflict"]["effect"]) == (0, "opens_case")
    status, out, _ = await corrigenda(
        b, "remember", *says("release"), "--verification-token", foreseen["verification_token"]
    )
    assert status == 0
    assert "opens conflict" in out

    status, out, _ = await corrigenda(c, "conflicts", "list", "--entity", "production", "--json")
    (entry,) = json.loads(out)["entries"]
    conflict_id = entry["team_case"]["conflict_id"]
    status, out, _ = await corrigenda(c, "conflicts", "list", "--zone", "Asia/Tokyo")
    assert conflict_id in out
    assert "times in Asia/Tokyo" in out
    status, out, _ = await corrigenda(c, "conflicts", "show", conflict_id)
    assert status == 0
    assert "“production deploys from main”" in out
    assert "“production deploys from release”" in out
    assert "next review" in out
    status, out, _ = await corrigenda(team.keys["admin"], "recall", "which branch does production deploy from")
    assert status == 0
    assert "⟨disputed⟩" in out
    assert conflict_id in out


async def test_refusals_end_with_their_status_and_say_what_to_do(corrigenda: Run, new_team: NewTeam) -> None:
    team = await new_team(profiles=("A",))
    a = team.keys["A"]
    unknown = "01920000-0000-7000-8000-000000000001"
    for arguments, status, said in (
        (("recall", ""), 3, "query must be set"),
        (("conflicts", "show", unknown), 3, "RESOURCE_NOT_FOUND"),
        (("conflicts", "list", "--entity", "nobody"), 2, "no entity is called"),
        (("remember", "a" * 65_537), 3, "offered 65537, allowed 65536"),
        (("recall", "x", "--zone", "No/Where"), 2, "no time zone"),
        (("keys", "list"), 5, "SCOPE_MISSING"),
        (("recall", "x", "--recall", "127.0.0.1:1", "--timeout", "5"), 4, "corrigenda up"),
    ):
        ended, out, err = await corrigenda(a, *arguments)
        assert (ended, out, "Traceback" in err) == (status, "", False)
        assert said in err
    status, _, err = await corrigenda("cor_wrong", "recall", "x")
    assert (status, "CORRIGENDA_KEY" in err) == (5, True)


async def test_a_file_of_lines_is_remembered_once_however_often_it_is_sent(
    corrigenda: Run, new_team: NewTeam, tmp_path: Path
) -> None:
    team = await new_team(profiles=("A",))
    a = team.keys["A"]
    items = [{"evidence": [{"content": f"note {number}", "source_type": "manual"}]} for number in range(3)]
    file = tmp_path / "items.jsonl"
    file.write_text("\n".join(map(json.dumps, items)))
    load = ("remember", "--lines", str(file))
    status, out, _ = await corrigenda(a, *load, "--json")
    first = [json.loads(line) for line in out.splitlines()]
    assert (status, [one["index"] for one in first]) == (0, [0, 1, 2])
    # A cut load is repeated as it is; a line more, and one that is none, do not touch the others.
    with file.open("a") as more:
        more.write("\nno json\n" + json.dumps({**items[0], "idempotency_key": "mine"}) + "\n")
    status, out, err = await corrigenda(a, *load, "--json")
    second = [json.loads(line) for line in out.splitlines()]
    assert status == 1
    assert [one["response"]["revision"] for one in second[:3]] == [one["response"]["revision"] for one in first]
    assert second[3]["idempotency_key"] == "mine"
    assert "line 4: INVALID_FIELD: this is no JSON" in err
    status, out, _ = await corrigenda(a, "remember", "--lines", "-", given=json.dumps({**items[0]}))
    assert (status, out.splitlines()[0]) == (0, "1 line: 1 stored, 0 failed")


async def test_what_others_wrote_does_nothing_on_a_terminal(corrigenda: Run, new_team: NewTeam) -> None:
    team = await new_team()
    name = "main\x1b]0;owned\x07\u202e"
    await corrigenda(team.keys["A"], "remember", *says("main"))
    hostile = (f"production deploys from {name}", *CLAIM, "--object", f"git_branch:{name}")
    status, out, _ = await corrigenda(team.keys["B"], "remember", *hostile, "--label", name, "--color", "always")
    assert status == 0
    for arguments in (("entities",), ("recall", "main"), ("conflicts", "list"), ("entities", "--json")):
        _, shown, err = await corrigenda(team.keys["C"], *arguments)
        out += shown + err
    assert "\x1b]" not in out
    assert "\x07" not in out
    assert "\u202e" not in out
    assert "␛]0;owned␇" in out
