"""Processor time of a process, and of the database server with all of its own: a busy machine changes it least."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_FIELDS = 15


def process_seconds(pid: int) -> float:
    """What all threads of a process have taken so far, in its own code and in the system's."""
    return sum(_times(pid)[:2])


class ServerTime:
    """The processor time of a database server on this machine.

    Args:
        admin_url: URL of its superuser.
    """

    def __init__(self, admin_url: str) -> None:
        with psycopg.connect(admin_url, autocommit=True) as connection:
            row = connection.execute("SELECT split_part(pg_read_file('postmaster.pid'), E'\n', 1)::integer").fetchone()
        if row is None:
            raise RuntimeError("the server has no postmaster.pid")
        self._pid: int = row[0]

    def seconds(self) -> float:
        """What the server itself, its processes, and those of them that have ended, have taken so far."""
        processes = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
        return sum(_times(self._pid)) + sum(sum(_times(one)) for one in processes if _parent(one) == self._pid)


def _fields(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # It has ended meanwhile.
        return ["0"] * _FIELDS


def _times(pid: int) -> list[float]:
    """Seconds of a process in its own code and in the system's, and the same two of its children that have ended."""
    return [int(field) / _TICKS_PER_SECOND for field in _fields(pid)[11:_FIELDS]]


def _parent(pid: int) -> int:
    return int(_fields(pid)[1])
