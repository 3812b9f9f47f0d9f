"""Releases follow each other without a pause: how a migration may lock, what it must leave, and old code on its schema.

`next_release` holds one migration of every kind that is allowed; the refused kinds stand here.
"""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import psycopg
import pytest
from alembic.script import ScriptDirectory
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.persistence import migrate as migrations
from corrigenda_core.persistence.catalogue import describe
from corrigenda_core.persistence.migrate import MigrationRefused, downgrade, migrate
from corrigenda_core.persistence.migration_steps import migrations_folder
from corrigenda_core.persistence.roles import ROLES
from corrigenda_core.testing.lock_audit import audited
from corrigenda_core.testing.postgres import PostgresCluster, ThrowawayDatabase, add_team
from psycopg import errors
from sqlalchemy.exc import OperationalError

pytestmark = [pytest.mark.database, pytest.mark.promise("Q22")]

NEXT = Path(__file__).parent / "next_release"
SNAPSHOT = migrations_folder() / "schema_snapshot.txt"
# What a release froze: a copy of the snapshot of its day, named <version>@<revision>.txt.
RELEASED = sorted((migrations_folder() / "releases").glob("*@*.txt"))


def revisions(*folders: Path) -> list[Any]:
    """Of the folders' migrations, from the first to the last."""
    script = ScriptDirectory(str(migrations_folder()), version_locations=[str(folder) for folder in folders])
    return list(reversed(list(script.walk_revisions())))


OURS = [one.revision for one in revisions(migrations_folder() / "versions")]
HEAD = OURS[-1]
STEPS = [one for one in revisions(migrations_folder() / "versions", NEXT) if one.revision not in OURS]


@dataclass(slots=True)
class Traffic:
    """What callers saw."""

    writes: int = 0
    reads: int = 0
    failures: list[str] = field(default_factory=list)
    slowest_seconds: float = 0.0

    async def more(self, calls: int = 1) -> None:
        """Waits until so many writes and reads that began after now were answered."""
        writes, reads = self.writes + calls, self.reads + calls
        while self.writes < writes or self.reads < reads:
            assert not self.failures, self.failures
            await asyncio.sleep(0.01)


@asynccontextmanager
async def traffic(team: Any, deploys_from: Callable[..., Any]) -> AsyncIterator[Traffic]:
    """Callers that write and read for as long as the context lasts; none of them is sent away."""
    seen, stop = Traffic(), asyncio.Event()

    async def call(ask: Callable[[], Awaitable[Any]], kind: str) -> None:
        while not stop.is_set():
            began = time.monotonic()
            try:
                await ask()
            except grpc.aio.AioRpcError as error:
                seen.failures.append(f"{error.code()}: {error.details()}")
                return
            seen.slowest_seconds = max(seen.slowest_seconds, time.monotonic() - began)
            setattr(seen, kind, getattr(seen, kind) + 1)

    def write(name: str) -> Callable[[], Awaitable[Any]]:
        async def ask() -> None:
            branch = uuid.uuid4().hex
            await team[name].ingest.Remember(deploys_from(f"production deploys from {branch}", branch))

        return ask

    async def read() -> None:
        await team["C"].recall.Recall(recall_service_pb2.RecallRequest(query="production deploys from"))

    async with asyncio.TaskGroup() as group:
        for ask, kind in ((write("A"), "writes"), (write("B"), "writes"), (read, "reads"), (read, "reads")):
            group.create_task(call(ask, kind))
        try:
            yield seen
        finally:
            stop.set()


async def test_the_next_release_migrates_under_traffic_and_this_one_goes_on(
    stack: Stack,
    new_team: Callable[..., Awaitable[Any]],
    deploys_from: Callable[..., Any],
    ledger_verifies: Callable[[str], Awaitable[bool]],
) -> None:
    team = await new_team()
    superuser = stack.admin_url
    try:
        async with traffic(team, deploys_from) as seen:
            await seen.more()
            for step in STEPS:
                report = await asyncio.to_thread(audited, superuser, step.revision, next_versions=NEXT)
                assert report.problems(getattr(step.module, "LOCKS", {})) == [], step.revision
                # Whatever it gives a reason for it does lock.
                assert set(report.blocking) == set(getattr(step.module, "LOCKS", {})), step.revision
                await seen.more()
            # A process of this release that is started again, or put back, finds the later schema in order.
            assert await asyncio.to_thread(migrate, superuser) == STEPS[-1].revision
            assert weights(superuser, team.team_id) == {1}
            await asyncio.to_thread(downgrade, superuser, HEAD, next_versions=NEXT)
            await seen.more()
        assert seen.failures == []
        with psycopg.connect(superuser, autocommit=True) as connection:
            found = describe(connection, roles=[role.name for role in ROLES])
        assert found == SNAPSHOT.read_text(encoding="utf-8")
    finally:
        await asyncio.to_thread(downgrade, superuser, HEAD, next_versions=NEXT)
    assert await ledger_verifies(team.team_id)


def weights(url: str, team_id: str) -> set[int]:
    """What rows have in the column of the next release that this one does not know."""
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT weight FROM evidence_fragments WHERE team_id = %s", [team_id]).fetchall()
    return {row[0] for row in rows}


LISTED = 'LOCKS = {"relationships": "a reason"}'
REFUSED = {
    "ALTER TABLE relationships ADD COLUMN note TEXT": ("", "gives no reason"),
    "CREATE INDEX note_idx ON relationships (team_id, scope)": (LISTED, "is read while writers wait"),
    "ALTER TABLE relationships ADD COLUMN note UUID DEFAULT gen_random_uuid()": (LISTED, "is written anew"),
    "ALTER TABLE relationships ALTER COLUMN facet TYPE bigint": (LISTED, "is written anew"),
    "ALTER TABLE relationships ADD CHECK (scope <> '-')": (LISTED, "is read while writers wait"),
    "ALTER TABLE relationships ALTER COLUMN value_unit SET NOT NULL": (LISTED, "is read while writers wait"),
    "ALTER TABLE relationships ADD COLUMN note TEXT NOT NULL": (LISTED, "must be given"),
    "ALTER TABLE relationships DROP COLUMN value_unit": (LISTED, "value_unit text is gone"),
    "ALTER TABLE relationships RENAME COLUMN value_unit TO unit": (LISTED, "value_unit text is gone"),
    "REVOKE INSERT ON relationships FROM corrigenda_ingest": (LISTED, "right corrigenda_ingest INSERT"),
    "DROP FUNCTION stale_teams(integer)": ("", "function stale_teams(integer)"),
    "LOCK TABLE relationships, observations IN SHARE MODE": (LISTED, "2 tables are locked at once"),
}


@pytest.mark.parametrize("statement", REFUSED)
def test_what_would_stop_others_is_refused(fresh_database: ThrowawayDatabase, tmp_path: Path, statement: str) -> None:
    listed, problem = REFUSED[statement]
    # The function belongs to a role that the migrator may become.
    become = 'op.execute("SET LOCAL ROLE corrigenda_definer")' if "FUNCTION" in statement else "pass"
    back = 'op.execute("SET LOCAL ROLE corrigenda_migrator")' if "FUNCTION" in statement else "pass"
    step = one_step(tmp_path, f"{become}\n    op.execute({statement!r})\n    {back}", listed)
    report = audited(fresh_database.superuser_url, step.revision, next_versions=tmp_path)
    problems = report.problems(getattr(step.module, "LOCKS", {}))
    assert [one for one in problems if problem in one], problems


def test_what_runs_outside_of_a_transaction_is_known_or_refused(
    fresh_database: ThrowawayDatabase, tmp_path: Path
) -> None:
    statement = "ALTER TABLE relationships ADD COLUMN note TEXT"
    step = one_step(tmp_path, f"with op.get_context().autocommit_block():\n        op.execute({statement!r})")
    report = audited(fresh_database.superuser_url, step.revision, next_versions=tmp_path)
    assert report.problems({}) == [f"not known to keep nobody out: {statement}"]


def one_step(folder: Path, body: str, listed: str = "") -> Any:
    """A migration of a next release, written into a folder."""
    (folder / "9001_expand_try.py").write_text(
        f'"""Tries."""\nfrom alembic import op\nrevision = "9001_expand_try"\ndown_revision = "{HEAD}"\n'
        f"{listed}\n\ndef upgrade():\n    {body}\n"
    )
    return revisions(migrations_folder() / "versions", folder)[-1]


def test_a_migration_that_cannot_have_its_lock_gives_way(
    fresh_database: ThrowawayDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "LOCK_TIMEOUT", "100ms")
    url = fresh_database.superuser_url
    with psycopg.connect(url) as reader:
        reader.execute("SELECT count(*) FROM relationships")
        with pytest.raises(OperationalError) as given_way:
            migrate(url, revision=STEPS[0].revision, next_versions=NEXT)
        assert isinstance(given_way.value.orig, errors.LockNotAvailable)
    migrate(url, revision=STEPS[0].revision, next_versions=NEXT)


def test_a_schema_that_no_release_has_made_is_refused(fresh_database: ThrowawayDatabase) -> None:
    with fresh_database.connect() as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0000_other'")
    with pytest.raises(MigrationRefused, match="0000_other"):
        migrate(fresh_database.superuser_url)


@pytest.fixture
def empty(cluster: PostgresCluster) -> Iterator[ThrowawayDatabase]:
    database = cluster.create_empty()
    try:
        yield database
    finally:
        cluster.drop(database)


@pytest.mark.parametrize(
    ("revision", "frozen"),
    [*((file.stem.partition("@")[2], file) for file in RELEASED), (HEAD, SNAPSHOT)],
    ids=[*(file.stem for file in RELEASED), "next"],
)
def test_every_release_comes_to_the_head_with_what_is_in_it(
    empty: ThrowawayDatabase, revision: str, frozen: Path
) -> None:
    """The schema of a release is still what it froze: nobody has edited its migrations since."""
    migrate(empty.superuser_url, revision=revision)
    assert described(empty) == frozen.read_text(encoding="utf-8")
    team = add_team(empty)
    migrate(empty.superuser_url)
    assert described(empty) == SNAPSHOT.read_text(encoding="utf-8")
    with empty.connect() as connection:
        kept = connection.execute("SELECT team_id::text FROM teams").fetchall()
    assert kept == [(team.team_id,)]


def test_what_follows_the_last_release_keeps_the_rules(empty: ThrowawayDatabase) -> None:
    """Each of our own migrations since then; before the first release there is nobody who could be kept waiting."""
    last = max((file.stem.partition("@")[2] for file in RELEASED), default=HEAD)
    migrate(empty.superuser_url, revision=last)
    for step in revisions(migrations_folder() / "versions")[OURS.index(last) + 1 :]:
        report = audited(empty.superuser_url, step.revision)
        if "_expand_" in step.revision:
            assert report.problems(getattr(step.module, "LOCKS", {})) == [], step.revision


def described(database: ThrowawayDatabase) -> str:
    with database.connect() as connection:
        return describe(connection, roles=[role.name for role in ROLES])
