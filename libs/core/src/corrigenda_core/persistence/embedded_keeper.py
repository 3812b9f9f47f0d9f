"""Keeps one PostgreSQL server running for its owner, and stops it when the owner goes away.

A program of its own (standard library only) that `embedded.EmbeddedPostgres` starts. Its standard input is a pipe that
only the owner holds open: when that ends, because the owner asked or because it was killed, the server gets a fast
shutdown. A server that dies by itself is started again on the same port. If the keeper itself is killed, the kernel
sends the server the same signal (Linux). So a server never outlives those who are responsible for it.

While the server lives the keeper holds the server lock, which therefore outlives a killed owner until the old server
is gone; the next owner waits for it.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

POLL_SECONDS = 0.02
LONGEST_RESTART_DELAY_SECONDS = 5.0
STEADY_SECONDS = 60.0
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class KeeperOrder:
    """What the owner asks for; crosses the process border as one JSON argument.

    ``port`` 0 means any free one. ``user_id`` and ``group_id`` are ``None`` when the server runs as the owner does.
    ``remove_at_end`` is a directory that goes when the server has stopped, empty for none.
    """

    binary: str
    data_dir: str
    log_file: str
    lock_file: str
    port: int
    settings: dict[str, str]
    start_timeout_seconds: float
    stop_timeout_seconds: float
    user_id: int | None = None
    group_id: int | None = None
    remove_at_end: str = ""


class OwnerGone(Exception):
    """The owner closed the pipe or died."""


class Keeper:
    """The state of one kept server; all of it runs in one thread, because a parent-death signal belongs to a thread."""

    def __init__(self, order: KeeperOrder) -> None:
        self._order = order
        self._port = order.port
        self._die_with_parent = _parent_death_hook()
        self._wake_reader, wake_writer = os.pipe()
        os.set_blocking(wake_writer, False)
        signal.set_wakeup_fd(wake_writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def run(self) -> int:
        """Keeps the server until the owner goes away; returns the exit status (0: the server was stopped)."""
        try:
            deadline = time.monotonic() + self._order.start_timeout_seconds
            lock = self._take_lock(deadline)
        except (OwnerGone, TimeoutError) as problem:
            _report({"failed": f"the server of a former owner does not end: {problem}"})
            return 1
        with lock:
            status = self._keep(deadline)
            if self._order.remove_at_end:
                shutil.rmtree(self._order.remove_at_end, ignore_errors=True)
            return status

    def _keep(self, deadline: float) -> int:
        delay = 0.1
        reported = False
        while True:
            try:
                server = self._start(deadline)
            except OwnerGone:
                return 0
            except TimeoutError as problem:
                _report({"failed": str(problem)})
                return 1
            if not reported:
                _report({"ready": server.pid, "port": self._port})
                reported = True
            started = time.monotonic()
            try:
                self._wait_for_exit(server)
                steady = time.monotonic() - started >= STEADY_SECONDS
                delay = 0.1 if steady else min(2 * delay, LONGEST_RESTART_DELAY_SECONDS)
                self._pause(delay)
            except OwnerGone:
                self._stop(server)
                return 0
            deadline = time.monotonic() + self._order.start_timeout_seconds

    def _take_lock(self, deadline: float) -> _Lock:
        lock = _Lock(self._order.lock_file)
        while not lock.try_take():
            self._pause(POLL_SECONDS, deadline)
        return lock

    def _start(self, deadline: float) -> subprocess.Popen[bytes]:
        """Starts the server, again and again while the old one's backends die, until it accepts connections.

        Raises:
            TimeoutError: with the end of the server's log, when it is not ready at ``deadline``.
            OwnerGone: if the owner goes away meanwhile; nothing is left running.
        """
        any_port = self._port == 0
        log_start = _size(self._order.log_file)
        while True:
            if any_port:
                self._port = free_port()
            server = self._spawn()
            try:
                while server.poll() is None:
                    if self._is_ready(server.pid):
                        return server
                    self._pause(POLL_SECONDS, deadline)
                # The usual reasons pass by themselves: backends of a killed server that still hold its memory, a
                # port that someone else took a moment before. The rest is told when the time is over.
                self._pause(10 * POLL_SECONDS, deadline)
            except (OwnerGone, TimeoutError) as problem:
                self._stop(server)
                if isinstance(problem, OwnerGone):
                    raise
                raise TimeoutError(_tail(self._order.log_file, log_start)) from problem

    def _spawn(self) -> subprocess.Popen[bytes]:
        order = self._order
        settings = {**order.settings, "port": str(self._port)}
        options = [part for name, value in sorted(settings.items()) for part in ("-c", f"{name}={value}")]
        with Path(order.log_file).open("ab") as log:
            return subprocess.Popen(
                [order.binary, "-D", order.data_dir, *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                user=order.user_id,
                group=order.group_id,
                extra_groups=None if order.user_id is None else [],
                # Runs after the change of user, which would clear the parent-death signal.
                preexec_fn=self._die_with_parent,
            )

    def _is_ready(self, pid: int) -> bool:
        lines = read_postmaster_file(self._order.data_dir)
        return len(lines) >= 8 and lines[0].strip() == str(pid) and lines[7].strip() == "ready"

    def _wait_for_exit(self, server: subprocess.Popen[bytes]) -> None:
        while server.poll() is None:
            self._pause(None)

    def _pause(self, seconds: float | None, deadline: float | None = None) -> None:
        """Waits for a child's end, at most ``seconds``.

        Raises:
            OwnerGone: as soon as the owner has gone.
            TimeoutError: if the deadline has passed.
        """
        if deadline is not None and time.monotonic() >= deadline:
            raise TimeoutError("out of time")
        readable, _, _ = select.select([0, self._wake_reader], [], [], seconds)
        if self._wake_reader in readable:
            os.read(self._wake_reader, 4096)
        if 0 in readable and not os.read(0, 4096):
            raise OwnerGone

    def _stop(self, server: subprocess.Popen[bytes]) -> None:
        """Fast shutdown; then immediate; then the signal that nothing survives."""
        for stop_signal, patience in (
            (signal.SIGINT, self._order.stop_timeout_seconds),
            (signal.SIGQUIT, 10.0),
            (signal.SIGKILL, 10.0),
        ):
            if server.poll() is not None:
                return
            server.send_signal(stop_signal)
            try:
                server.wait(patience)
            except subprocess.TimeoutExpired:
                continue


class _Lock:
    """An exclusive lock on a file for as long as this process lives or the context lasts."""

    def __init__(self, path: str) -> None:
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def try_take(self) -> bool:
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)


def free_port() -> int:
    """A TCP port of the loopback interface that was free a moment ago."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def read_postmaster_file(data_dir: str) -> list[str]:
    """The lines of the server's pid file (pid first, state eighth); none if there is no such file."""
    try:
        return Path(data_dir, "postmaster.pid").read_text("utf-8").splitlines()
    except FileNotFoundError:
        return []


def _parent_death_hook() -> Callable[[], None] | None:
    """What a child runs before exec so that it gets a fast shutdown when this process dies; Linux only."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    keeper_pid = os.getpid()

    def die_with_parent() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGINT), 0, 0, 0)
        if os.getppid() != keeper_pid:
            os._exit(1)

    return die_with_parent


def _size(path: str) -> int:
    return Path(path).stat().st_size if Path(path).exists() else 0


def _tail(path: str, start: int) -> str:
    with Path(path).open("rb") as log:
        log.seek(max(start, _size(path) - 2000))
        return log.read(2000).decode("utf-8", "replace").strip() or "the server does not get ready and says nothing"


def _report(message: dict[str, object]) -> None:
    try:
        os.write(1, json.dumps(message).encode() + b"\n")
    except BrokenPipeError:
        # Nobody is left to be told; the end of the owner's pipe says the same and is handled there.
        return


def main() -> int:
    """Reads the order from the first argument and keeps it."""
    return Keeper(KeeperOrder(**json.loads(sys.argv[1]))).run()


if __name__ == "__main__":
    sys.exit(main())
