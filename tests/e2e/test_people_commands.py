"""The commands for people, run against the session's stack: remembering, looking, recalling, conflicts."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from corrigenda_cli.stack import Stack

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
    for arguments in (("entities", "list"), ("recall", "main"), ("conflicts", "list"), ("entities", "list", "--json")):
        _, shown, err = await corrigenda(team.keys["C"], *arguments)
        out += shown + err
    assert "\x1b]" not in out
    assert "\x07" not in out
    assert "\u202e" not in out
    assert "␛]0;owned␇" in out


def only(out: str, *path: str) -> Any:
    """The value at a path of the JSON that a command wrote; of a list the only entry."""
    value = json.loads(out)
    for name in path:
        value = value[name]
        if isinstance(value, list):
            (value,) = value
    return value


async def test_an_owner_answers_a_question_takes_it_back_and_forgets(corrigenda: Run, new_team: NewTeam) -> None:
    team = await new_team(profiles=("A",))
    a = team.keys["A"]
    await corrigenda(a, "remember", *says("main"))
    status, out, _ = await corrigenda(a, "remember", *says("trunk"))
    assert (status, out.split()[0]) == (0, "held")
    _, out, _ = await corrigenda(a, "items", "list", "--json")
    item = only(out, "items")
    trunk = item["incoming"][0]["relationship_id"]
    status, out, _ = await corrigenda(a, "items", "show", item["item_id"])
    assert status == 0
    assert "keep new trunk" in out
    status, out, err = await corrigenda(a, "conflicts", "resolve", item["item_id"], "--keep-new", trunk, "--json")
    assert (status, err) == (0, "")
    decision = json.loads(out)["decision"]["decision_id"]
    status, out, _ = await corrigenda(a, "conflicts", "revert", decision, "--reason", "too soon")
    assert status == 0
    assert "comes back" in out
    status, out, _ = await corrigenda(a, "conflicts", "auto", "--dry-run")
    assert (status, out.splitlines()[-1]) == (
        0,
        "1 question: 0 resolved, 1 recorded, 0 not asked, 0 skipped, 0 refused",
    )
    status, out, _ = await corrigenda(a, "conflicts", "watch", "--until-now", "--json")
    kinds = [change["item_change"]["status"] for line in out.splitlines() for change in json.loads(line)["changes"]]
    assert kinds == ["pending", "resolved", "pending"]
    status, out, _ = await corrigenda(a, "forget", "retract", f"{trunk}@1")
    assert (status, out) == (3, "")
    status, out, _ = await corrigenda(a, "forget", "retract", trunk, "--evidence", "trunk was a slip of the tongue")
    assert (status, out.split()[0]) == (0, "retract")
    status, out, _ = await corrigenda(a, "conflicts", "resolve", item["item_id"], "--keep-new", trunk)
    assert (status, out) == (2, "")


async def test_what_happened_is_drawn_over_time_and_traced(corrigenda: Run, new_team: NewTeam) -> None:
    team = await new_team(profiles=("A",))
    a = team.keys["A"]
    for branch, since in (("main", "1 March 2026"), ("release", "1 May 2026")):
        await corrigenda(a, "remember", f"since {since} production deploys from {branch}", *says(branch)[1:])
    status, out, _ = await corrigenda(a, "timeline", "environment:production", "--versions")
    assert status == 0
    bars = [line for line in out.splitlines() if "(A)" in line]
    assert ["░" in line or "█" in line for line in bars if "known" not in line] == [True, True]
    assert "superseded · 2026-03-01 → 2026-05-01" in out
    assert "v2 known" in out
    _, out, _ = await corrigenda(a, "timeline", "production", "--limit", "1", "--json")
    page = json.loads(out)
    assert (len(page["entries"]), bool(page["next_page_token"])) == (1, True)
    _, out, _ = await corrigenda(a, "timeline", "production", "--limit", "1", "--all", "--json")
    assert len(json.loads(out)["entries"]) == 2
    main = page["entries"][0]["relationship"]["relationship"]["relationship_id"]
    status, out, _ = await corrigenda(a, "trace", main, "--limit", "3", "--all")
    assert status == 0
    for said in ("since 1 March 2026 production deploys from main", "verdicts", "version 2  active", "replaces"):
        assert said in out
    assert out.count("what was said") == 1
    status, out, _ = await corrigenda(a, "relationships", "show", main, "--valid-at", "2026-04-01T00:00:00Z")
    assert (status, "in force" in out, "not in force" in out) == (0, True, False)


async def test_another_memory_is_imported_with_a_report(corrigenda: Run, new_team: NewTeam, tmp_path: Path) -> None:
    team = await new_team(profiles=("A",))
    fact = {
        "subject": {"kind": "environment", "name": "production"},
        "predicate": "deploys from",
        "object": {"kind": "git_branch", "name": "main"},
    }
    lines = [
        {"id": "1", "text": "production deploys from main", "facts": [fact]},
        {"id": "2", "text": "nothing in particular"},
        {"id": "3", "text": "x", "embedding": [0.5]},
        {"id": "4", "text": "y", "facts": [{**fact, "quote": "not there"}]},
    ]
    file = tmp_path / "memories.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    status, out, _ = await corrigenda(team.keys["A"], "import", str(file), "--label", "old")
    assert status == 1
    assert out.splitlines()[0] == "4 lines: 2 stored, 2 failed"
    assert "inserted 1" in out
    assert "1 text kept without a statement" in out
    assert "line 3: INVALID_FIELD: a line has no field 'embedding'" in out
    assert "line 4: QUOTE_NOT_FOUND" in out


async def test_a_team_is_kept_by_commands(corrigenda: Run, new_team: NewTeam) -> None:
    team = await new_team(profiles=("A",))
    admin = team.keys["admin"]
    status, out, _ = await corrigenda(admin, "teams", "policy", "--review-start", "02:30", "--team-zone", "Asia/Tokyo")
    assert (status, "02:30 in Asia/Tokyo" in out) == (0, True)
    status, out, _ = await corrigenda(admin, "profiles", "create", "dora")
    assert (status, out.splitlines()[0], out.splitlines()[-1].endswith("times in Asia/Tokyo")) == (0, "dora", True)
    status, out, _ = await corrigenda(
        admin, "sources", "register", "--group", "runbooks", "--authoritative-for", "deploys_from", "--record"
    )
    assert (status, "system of record" in out) == (0, True)
    await corrigenda(team.keys["A"], "remember", *says("main"), "--source-group", "runbooks")
    status, out, _ = await corrigenda(team.keys["A"], "sources", "history", "--group", "runbooks")
    assert (status, "1 text, 1 observation" in out) == (0, True)
    status, out, _ = await corrigenda(admin, "review", "now", "--wait", "20")
    assert (status, out.split()[0]) == (0, "finished")
    status, out, _ = await corrigenda(admin, "changes", "--json")
    revisions = [change["revision"] for line in out.splitlines() for change in json.loads(line)["changes"]]
    assert revisions == list(range(1, len(revisions) + 1))


async def test_who_watches_is_told_and_leaves_by_ctrl_c(stack: Stack, new_team: NewTeam, deploys_from: Any) -> None:
    team = await new_team(profiles=("A", "B"))
    await team["A"].ingest.Remember(deploys_from("production deploys from main", "main"))
    addresses = {f"CORRIGENDA_{name.upper()}_ADDRESS": stack.address(name) for name in ("ingest", "conflict", "recall")}
    watching = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "corrigenda_cli", "conflicts", "watch"),
        env={**os.environ, **addresses, "CORRIGENDA_KEY": team.keys["A"]},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        # A shell that starts the tests in the background has them ignore Ctrl-C, and their children with them.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        assert watching.stdout is not None
        placed = await team["B"].ingest.Remember(deploys_from("production deploys from release", "release"))
        conflict_id = placed.placement.relationships[0].conflict.conflict_id
        told = await asyncio.wait_for(watching.stdout.readline(), timeout=30)
        assert f"conflict {conflict_id} · opened" in told.decode()
        watching.send_signal(signal.SIGINT)
        _, errors = await asyncio.wait_for(watching.communicate(), timeout=30)
        assert (watching.returncode, errors) == (130, b"")
    finally:
        if watching.returncode is None:
            watching.kill()
            await watching.communicate()
