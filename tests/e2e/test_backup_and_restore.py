"""A backup is restored without what was withdrawn after it: erased texts, ended keys; and its history verifies."""

import asyncio
import functools
import json
import shutil
import subprocess
import uuid
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from corrigenda.admin.v1 import admin_service_pb2 as admin
from corrigenda.options.v1 import key_scope_pb2
from corrigenda_cli.__main__ import main
from corrigenda_cli.stack import Stack
from corrigenda_core.persistence.catalogue import describe
from corrigenda_core.persistence.embedded_host import server_programs
from corrigenda_core.persistence.migrate import prepare
from corrigenda_core.persistence.migration_steps import migrations_folder
from corrigenda_core.persistence.roles import ROLES
from corrigenda_core.persistence.withdrawals import UnreadableWithdrawal, line_of, withdrawals_in
from corrigenda_core.rpc.client import Client, Endpoints
from corrigenda_core.testing.canaries import places_in_tables
from corrigenda_core.testing.postgres import PostgresCluster, ThrowawayDatabase

pytestmark = [pytest.mark.database]

NewTeam = Callable[..., Awaitable[Any]]
DeploysFrom = Callable[..., Any]


def program(name: str, database: ThrowawayDatabase) -> str:
    """A client program as old as the server: a newer one says what an older server does not understand."""
    with database.connect() as connection:
        wanted = f" {connection.info.server_version // 10_000}."
    for found in (shutil.which(name), str(server_programs(None) / name)):
        if found and wanted in subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout:
            return found
    pytest.skip(f"there is no {name} of the server's version")


@pytest.fixture
def restored(cluster: PostgresCluster) -> Iterator[ThrowawayDatabase]:
    """An empty database that is prepared for a dump."""
    database = cluster.create_empty()
    try:
        prepare(database.superuser_url)
        yield database
    finally:
        cluster.drop(database)


Corrigenda = Callable[..., Awaitable[tuple[int, str, str]]]


@pytest.fixture
def corrigenda(stack: Stack, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Corrigenda:
    """Runs the command with the services' pepper; gives its status and what it wrote to its two outputs."""
    monkeypatch.setenv("CORRIGENDA_KEY_PEPPER", stack.secrets.key_pepper)

    async def run(*arguments: str, url: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = await asyncio.to_thread(main, [*arguments, "--database-url", url])
        written = capsys.readouterr()
        return status, written.out, written.err

    return run


async def erase(client: Client, placed: Any, reason: str) -> None:
    await client.admin.EraseEvidence(
        admin.EraseEvidenceRequest(
            idempotency_key=uuid.uuid4().hex, fragment_id=placed.placement.fragments[0].fragment_id, reason=reason
        )
    )


async def second_administrator(team: Any) -> admin.CreateKeyResponse:
    """A key of somebody whom no backup made before knows."""
    profile = await team.admin.admin.CreateProfile(
        admin.CreateProfileRequest(idempotency_key="later profile", name="who came later")
    )
    answer: admin.CreateKeyResponse = await team.admin.admin.CreateKey(
        admin.CreateKeyRequest(
            idempotency_key="later key",
            profile_id=profile.profile.profile_id,
            scopes=[key_scope_pb2.KEY_SCOPE_ADMIN],
        )
    )
    return answer


def live_keys(database: ThrowawayDatabase, team_id: str) -> set[str]:
    with database.connect() as connection:
        rows = connection.execute(
            "SELECT key_id FROM api_keys WHERE team_id = %s AND revoked_at = 'infinity'", [team_id]
        ).fetchall()
    return {str(row[0]) for row in rows}


@pytest.mark.rule("R11.3", "R11.4")
@pytest.mark.promise("erase.backup")
async def test_what_was_withdrawn_after_a_backup_does_not_come_back_with_it(
    stack: Stack,
    new_team: NewTeam,
    deploys_from: DeploysFrom,
    restored: ThrowawayDatabase,
    corrigenda: Corrigenda,
    tmp_path: Path,
) -> None:
    exporting = functools.partial(
        corrigenda,
        "withdrawals",
        "export",
        str(file := tmp_path / "withdrawals.jsonl"),
        url=stack.url("corrigenda_auditor"),
    )
    replaying = functools.partial(
        corrigenda, "withdrawals", "replay", str(file), "--json", url=restored.url("corrigenda_ingest")
    )
    team = await new_team()
    before, after = (f"quex{uuid.uuid4().hex[:12]}" for _ in range(2))
    dump = tmp_path / "backup.dump"
    first = await team["A"].ingest.Remember(deploys_from(f"production deploys from {before}", before))
    await erase(team.admin, first, "before the backup")
    text = f"production deploys from {after}"
    named = await team["A"].ingest.Remember(deploys_from(text, after))
    await team["B"].ingest.Remember(deploys_from(text, after))
    await team["C"].ingest.Remember(deploys_from("production deploys from main", "main"))
    assert (await exporting())[0] == 0

    backup = [program("pg_dump", restored), "--format=custom", f"--file={dump}", stack.url("corrigenda_backup")]
    await asyncio.to_thread(subprocess.run, backup, check=True)

    # What is done after the backup, some of it by somebody whom the backup does not know.
    later = await second_administrator(team)
    endpoints = Endpoints(
        ingest=stack.address("ingest"), conflict=stack.address("conflict"), recall=stack.address("recall")
    )
    async with Client(endpoints, later.secret) as colleague:
        await erase(colleague, named, "after the backup")
        ended = team.keys["C"].partition("_")[2].partition("_")[0]
        ended_id = str(uuid.UUID(ended))
        await colleague.admin.RevokeKey(admin.RevokeKeyRequest(idempotency_key="end", key_id=ended_id))
    assert [(await exporting())[1].split(",")[0] for _ in range(2)] == ["2 added", "0 added"]
    assert after not in file.read_text()

    restore = [program("pg_restore", restored), "--exit-on-error", f"--dbname={restored.superuser_url}", str(dump)]
    await asyncio.to_thread(subprocess.run, restore, check=True)
    with restored.connect() as connection:
        found = describe(connection, roles=[role.name for role in ROLES])
    assert found == (migrations_folder() / "schema_snapshot.txt").read_text(encoding="utf-8")
    auditor = restored.url("corrigenda_auditor")
    assert places_in_tables(auditor, before) == []
    assert places_in_tables(auditor, after) != []
    assert ended_id in live_keys(restored, team.team_id)

    done = json.loads((await replaying())[1])
    assert (done["erasures"], done["keys"]) == (1, 1)
    assert places_in_tables(auditor, after) == []
    assert ended_id not in live_keys(restored, team.team_id)
    assert len(live_keys(restored, team.team_id)) == len(team.keys) - 1
    assert (await corrigenda("verify-ledger", "--team", team.team_id, url=auditor))[0] == 0
    again = json.loads((await replaying())[1])
    assert (again["erasures"], again["keys"]) == (0, 0)


async def test_a_role_that_sees_one_team_alone_exports_nothing(
    stack: Stack, corrigenda: Corrigenda, tmp_path: Path
) -> None:
    file = tmp_path / "withdrawals.jsonl"
    status, _, problem = await corrigenda("withdrawals", "export", str(file), url=stack.url("corrigenda_ingest"))
    assert (status, file.exists()) == (2, False)
    assert "corrigenda_auditor" in problem


async def test_a_file_that_cannot_be_read_whole_is_not_replayed(
    stack: Stack, corrigenda: Corrigenda, tmp_path: Path
) -> None:
    file = tmp_path / "withdrawals.jsonl"
    file.write_text('\n{"kind":"erasure","team_id":"0')
    status, _, problem = await corrigenda("withdrawals", "replay", str(file), url=stack.url("corrigenda_ingest"))
    assert status == 2
    assert "line 2 is no withdrawal" in problem


ID = "01920000-0000-7000-8000-00000000000"
ERASURE = {
    "kind": "erasure",
    "team_id": f"{ID}1",
    "erasure_id": f"{ID}2",
    "fragment_ids": [f"{ID}4", f"{ID}3"],
    "erased_by": f"{ID}5",
    "reason": "asked for – by the person",
}
KEY = {"kind": "key", "team_id": f"{ID}1", "key_id": f"{ID}6", "ends_at": "2026-03-01T09:30:00+00:00"}


@pytest.mark.parametrize("fields", [ERASURE, KEY], ids=["erasure", "key"])
def test_a_line_says_again_what_it_was_made_of(fields: dict[str, Any]) -> None:
    (withdrawal,) = withdrawals_in(["", json.dumps(fields)])
    assert json.loads(line_of(withdrawal)) == fields


@pytest.mark.parametrize(
    "fields",
    [
        {**ERASURE, "kind": "other"},
        {**ERASURE, "team_id": "1"},
        {**ERASURE, "fragment_ids": 1},
        {name: value for name, value in ERASURE.items() if name != "reason"},
        {**KEY, "key_id": None},
        {**KEY, "ends_at": "2026-03-01T09:30:00"},
        {**KEY, "ends_at": 5},
        [],
        "erasure",
    ],
)
def test_a_line_that_is_none_of_ours_is_refused(fields: Any) -> None:
    with pytest.raises(UnreadableWithdrawal, match="line 1 is no withdrawal"):
        withdrawals_in([json.dumps(fields)])
