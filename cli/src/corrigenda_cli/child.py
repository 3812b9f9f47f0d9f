"""One child process of a local stack: started with a ready line and a lifeline, stopped by its own pid."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from corrigenda_core.process import LIFELINE_FD, READY_FD

READY_TIMEOUT_SECONDS = 60.0
STOP_TIMEOUT_SECONDS = 35.0


class ChildFailedError(RuntimeError):
    """A child ended, or did not become ready in time."""


class Child:
    """A running ``python -m module``; its output goes to ``log_file``.

    Attributes:
        name: what the stack calls it.
        facts: what its ready line said, for a server ``{"address": "127.0.0.1:7101"}``.
    """

    def __init__(self, *, name: str, process: asyncio.subprocess.Process, lifeline: int, log_file: Path) -> None:
        self.name = name
        self.facts: dict[str, str] = {}
        self._process = process
        self._lifeline = lifeline
        self._log_file = log_file

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def return_code(self) -> int | None:
        """The exit status, or ``None`` while it runs."""
        return self._process.returncode

    async def wait(self) -> int:
        """Waits for the process to end and returns its exit status."""
        return await self._process.wait()

    async def stop(self) -> int:
        """SIGTERM, then SIGKILL after `STOP_TIMEOUT_SECONDS`; returns the exit status.

        A child drains on SIGTERM; one that has ended already is left as it is.
        """
        if self._process.returncode is None:
            self._process.terminate()
            try:
                await asyncio.wait_for(self._process.wait(), STOP_TIMEOUT_SECONDS)
            except TimeoutError:
                self._process.kill()
        status = await self._process.wait()
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1
        return status

    def log_tail(self, lines: int = 15) -> str:
        """The last lines that the process logged."""
        return "\n".join(self._log_file.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])


async def start_child(
    *, name: str, module: str, environment: Mapping[str, str], log_file: Path, through: str | None = None
) -> Child:
    """Starts ``python -m module`` and waits until it says that it is ready.

    Args:
        name: what the stack calls it.
        module: what is run.
        environment: all that it sees.
        log_file: where its output goes.
        through: a module that runs ``module`` in its own place, given its name.

    Raises:
        ChildFailedError: it ended first, or said nothing for `READY_TIMEOUT_SECONDS`.
    """
    ready_read, ready_write = os.pipe()
    lifeline_read, lifeline_write = os.pipe()
    with log_file.open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            *([] if through is None else [through]),
            module,
            env={**environment, READY_FD: str(ready_write), LIFELINE_FD: str(lifeline_read)},
            pass_fds=(ready_write, lifeline_read),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # Ctrl-C in a terminal reaches the whole foreground group: the stack decides the order of stopping.
            start_new_session=True,
        )
    os.close(ready_write)
    os.close(lifeline_read)
    child = Child(name=name, process=process, lifeline=lifeline_write, log_file=log_file)
    try:
        child.facts = await asyncio.wait_for(_read_ready_line(ready_read), READY_TIMEOUT_SECONDS)
    except (TimeoutError, ValueError) as error:
        await child.stop()
        raise ChildFailedError(f"{name} did not become ready; its log ends:\n{child.log_tail()}") from error
    return child


async def _read_ready_line(descriptor: int) -> dict[str, str]:
    """The facts of the ready line; a ``ValueError`` if the pipe ends without one."""
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb")
    )
    try:
        line = await reader.readline()
    finally:
        transport.close()
    facts: dict[str, str] = json.loads(line)
    return facts
