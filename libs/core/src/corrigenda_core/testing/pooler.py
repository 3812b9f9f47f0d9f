"""A pgbouncer in transaction mode before a test server, for tests that say what a pooler may not change.

The program is the one that ``CORRIGENDA_TEST_POOLER`` names, or the system's; without one, nothing can be shown.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from corrigenda_core.persistence.embedded_host import server_user
from corrigenda_core.persistence.roles import LOGIN_ROLES
from corrigenda_core.testing.postgres import ROLE_PASSWORD

PROGRAM_VARIABLE = "CORRIGENDA_TEST_POOLER"
# Fewer than the processes of a stack hold together: every server connection serves many clients in turn.
SERVER_CONNECTIONS_PER_ROLE = 3
_READY_SECONDS = 15.0
_STOP_SECONDS = 10.0
_SYSTEM_FOLDERS = "/usr/sbin:/usr/local/sbin"


class PoolerFailedError(RuntimeError):
    """The pooler ended, or did not listen in time; the message holds what it logged."""


def pooler_program(environment: Mapping[str, str] = os.environ) -> str | None:
    """The path of pgbouncer, or ``None`` if there is none on this machine."""
    named = environment.get(PROGRAM_VARIABLE)
    return named or shutil.which("pgbouncer") or shutil.which("pgbouncer", path=_SYSTEM_FOLDERS)


@contextlib.contextmanager
def transaction_pooler(program: str, server_url: str) -> Iterator[str]:
    """The URL of a pooler that gives each transaction of a role of ours one of few connections to the server.

    Args:
        program: of pgbouncer.
        server_url: any URL of the server; its host and port count.

    Raises:
        PoolerFailedError: it cannot be started.
    """
    server = urlsplit(server_url)
    user = server_user("nobody")
    with tempfile.TemporaryDirectory(prefix="corrigenda-pooler-") as folder:
        directory = Path(folder)
        directory.chmod(0o755)
        port = _free_port()
        users = directory / "users.txt"
        users.write_text("".join(f'"{role}" "{ROLE_PASSWORD}"\n' for role in LOGIN_ROLES), encoding="utf-8")
        settings = directory / "pgbouncer.ini"
        lines = [
            "[databases]",
            f"* = host={server.hostname} port={server.port}",
            "[pgbouncer]",
            "listen_addr = 127.0.0.1",
            f"listen_port = {port}",
            "unix_socket_dir =",
            "pool_mode = transaction",
            "auth_type = scram-sha-256",
            f"auth_file = {users}",
            f"default_pool_size = {SERVER_CONNECTIONS_PER_ROLE}",
            "max_client_conn = 500",
            "log_connections = 0",
            "log_disconnections = 0",
            *([] if user is None else [f"user = {user.name}"]),
        ]
        settings.write_text("\n".join(lines) + "\n", encoding="utf-8")
        log_file = directory / "log"
        with log_file.open("wb") as log:
            process = subprocess.Popen([program, str(settings)], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            _wait_until_listening(process, port, log_file)
            yield urlunsplit(server._replace(netloc=f"{server.netloc.rpartition('@')[0]}@127.0.0.1:{port}"))
        finally:
            process.kill()  # a polite end would wait for clients that tests have left
            process.wait(_STOP_SECONDS)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _wait_until_listening(process: subprocess.Popen[bytes], port: int, log_file: Path) -> None:
    give_up = time.monotonic() + _READY_SECONDS
    while time.monotonic() < give_up and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
    raise PoolerFailedError(log_file.read_text(encoding="utf-8", errors="replace")[-2_000:])
