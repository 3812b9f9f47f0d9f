"""What every process of ours does at its edges: says that it is ready, learns that it shall stop, gives memory back.

Whoever starts a process may hand it two file descriptors by environment variable:

- ``CORRIGENDA_READY_FD``: the process writes one line of JSON there when it serves (for a server: its bound address),
  so a parent waits for a signal instead of polling, and port 0 works.
- ``CORRIGENDA_LIFELINE_FD``: the read end of a pipe whose write end the parent keeps open. When the parent is gone,
  however it went, the pipe ends and the process stops as it does on SIGTERM.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import os
import signal
import sys
from contextlib import suppress

READY_FD = "CORRIGENDA_READY_FD"
LIFELINE_FD = "CORRIGENDA_LIFELINE_FD"


def announce_ready(**facts: str) -> None:
    """Writes ``facts`` as one JSON line to the ready descriptor, once; does nothing if nobody asked for it."""
    descriptor = os.environ.pop(READY_FD, None)
    if descriptor is None:
        return
    with os.fdopen(int(descriptor), "w", encoding="utf-8") as channel:
        channel.write(json.dumps(facts) + "\n")


def stop_event() -> asyncio.Event:
    """An event of the running loop that is set on SIGTERM, on SIGINT, or when the parent is gone."""
    loop = asyncio.get_running_loop()
    event = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, event.set)
    lifeline = os.environ.pop(LIFELINE_FD, None)
    if lifeline is not None:
        descriptor = int(lifeline)

        def parent_gone() -> None:
            loop.remove_reader(descriptor)
            os.close(descriptor)
            event.set()

        # Nothing is ever written to the lifeline: it becomes readable only by its end.
        loop.add_reader(descriptor, parent_gone)
    return event


async def wait_for_stop(stop: asyncio.Event, seconds: float) -> None:
    """Waits for the stop event, but no longer than ``seconds``."""
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)


_NEW_OBJECTS_BEFORE_A_COLLECTION = 20_000
"""The interpreter's own choice is 700, which a batch of a stream passes many times with everything still in use."""


def settle_memory() -> None:
    """Tells the garbage collector that what is loaded stays, and that few of the new objects need it.

    A process is some hundred thousand objects of modules and descriptors that never go away, and that every full
    collection would visit. Almost all of what a call makes is freed by its reference counts.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS_BEFORE_A_COLLECTION)


def release_free_memory() -> None:
    """Gives memory that was freed back to the system; GNU's C library keeps it otherwise, others need no asking."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
