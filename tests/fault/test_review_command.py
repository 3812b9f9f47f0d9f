"""`corrigenda review`: past decisions replayed to the same bytes, a tampered one found, settings previewed."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from corrigenda_cli.__main__ import main
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.snapshots import Outcome

pytestmark = pytest.mark.database

Review = Callable[[str], Awaitable[list[Outcome]]]


async def command(stack: Stack, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Runs the command as the auditor."""
    environment = {**os.environ, "CORRIGENDA_DATABASE_URL": stack.url("corrigenda_auditor")}
    line = [sys.executable, "-m", "corrigenda_cli", *arguments]
    return await asyncio.to_thread(subprocess.run, line, env=environment, input=given, capture_output=True, check=False)


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a command has ended that ran in this process."""

    status: int
    said: str
    complained: str


@pytest.fixture
def run(without_workers: Stack, capsys: pytest.CaptureFixture[str]) -> Callable[..., Awaitable[Ended]]:
    """Runs the command as the auditor in this process: starting another one takes longer than what it does."""

    async def run(*arguments: str) -> Ended:
        url = without_workers.url("corrigenda_auditor")
        given = arguments if "--database-url" in arguments else (*arguments, "--database-url", url)
        capsys.readouterr()
        status = await asyncio.to_thread(main, given)
        captured = capsys.readouterr()
        return Ended(status=status, said=captured.out, complained=captured.err)

    return run


@pytest.fixture
async def reviewed(disputing: Any, review: Review) -> Any:
    """A team with looks of every outcome but a dismissal, and a case that waits for its deadline."""
    await disputing.dispute("decided")
    await disputing.dispute("undecided", votes="AB")
    assert await review(disputing.team_id) == [Outcome.KEEP_OPEN, Outcome.KEEP_OPEN]
    await disputing.drive(disputing.after_deadlines)
    assert sorted(await review(disputing.team_id)) == [Outcome.OVERDUE, Outcome.RESOLVE]
    await disputing.dispute("fresh")
    assert await review(disputing.team_id) == [Outcome.KEEP_OPEN]
    return disputing


@pytest.mark.promise("case.same-decision")
async def test_past_decisions_are_replayed_to_the_same_bytes(without_workers: Stack, reviewed: Any) -> None:
    replay = ("review", "replay", "--team", reviewed.team_id)
    replayed = await command(without_workers, *replay, "--json")
    assert replayed.returncode == 0, replayed.stderr
    assert json.loads(replayed.stdout) == {"looks": 5, "same": 5, "different": 0, "differences": []}
    snapshots = await command(without_workers, *replay, "--emit", "snapshots")
    evaluated = await command(without_workers, "policy", "evaluate", given=snapshots.stdout)
    decisions = await command(without_workers, *replay, "--emit", "decisions")
    assert evaluated.stdout == decisions.stdout
    assert len(decisions.stdout.splitlines()) == 5


async def test_a_decision_that_was_tampered_with_is_found(
    without_workers: Stack, reviewed: Any, run: Callable[..., Awaitable[Ended]]
) -> None:
    with psycopg.connect(without_workers.admin_url, autocommit=True) as owner:
        owner.execute("SET session_replication_role = replica")
        owner.execute(
            "UPDATE case_evaluations SET decision = jsonb_set(decision, '{reason}', '\"early_quorum\"') "
            "WHERE team_id = %s AND decision ->> 'outcome' = 'resolve'",
            [reviewed.team_id],
        )
    replayed = await run("review", "replay", "--team", reviewed.team_id, "--json")
    assert replayed.status == 1
    report = json.loads(replayed.said)
    assert (report["same"], report["different"]) == (4, 1)
    assert '"early_quorum"' in report["differences"][0]["stored"]


async def test_a_preview_says_what_another_setting_would_bring(
    reviewed: Any, run: Callable[..., Awaitable[Ended]]
) -> None:
    preview = ("review", "preview", "--team", reviewed.team_id, "--json")
    report = json.loads((await run(*preview, "--at", "2026-02-01T00:00:00Z")).said)
    assert (report["conflicts"], report["changed"]) == (2, 1)
    (changed,) = report["listed"]
    assert changed["now"]["reason"] == "before_deadline"
    assert (changed["previewed"]["reason"], bool(changed["previewed"]["winner"])) == ("due_majority", True)
    unchanged = json.loads((await run(*preview, "--review-period-days", "30")).said)
    assert [row["previewed"]["reason"] for row in unchanged["listed"]] == ["before_deadline"]
    refused = await run(*preview, "--review-period-days", "31")
    assert (refused.status, "must be 1..30" in refused.complained) == (2, True)


@pytest.mark.parametrize(
    ("role", "team", "said"),
    [
        ("corrigenda_reviewer", None, "does not see every team"),
        ("corrigenda_auditor", "01900000-0000-7000-8000-000000000000", "there is no such team"),
    ],
)
async def test_what_cannot_be_seen_is_no_success(
    without_workers: Stack,
    disputing: Any,
    run: Callable[..., Awaitable[Ended]],
    role: str,
    team: str | None,
    said: str,
) -> None:
    asked = ("review", "replay", "--team", team or disputing.team_id, "--database-url", without_workers.url(role))
    ended = await run(*asked)
    assert (ended.status, said in ended.complained) == (2, True)
