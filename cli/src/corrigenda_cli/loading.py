"""A bulk load at the command line: a progress bar for who watches, results for programs, a report at the end."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from corrigenda_cli.exit_statuses import ExitStatus
from corrigenda_cli.output import console, print_json
from corrigenda_cli.reading.lines import Reading, as_request, key_prefix_of, lines_of
from corrigenda_cli.reading.texts import opened

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client


def add_loading_options(parser: argparse._ActionsContainer) -> None:
    """Adds how lines are named and where to begin."""
    parser.add_argument(
        "--key-prefix",
        metavar="TEXT",
        help="name of the file in the keys that are derived for lines without one (default: its own name)",
    )
    parser.add_argument("--from-line", type=int, default=1, metavar="N", help="skip the lines before this one")


async def load_file(options: argparse.Namespace, client: Client, path: str, reading: Reading = as_request) -> int:
    """Loads a file of JSON lines.

    Returns:
        0 if every line is stored, 1 if some are not.
    """
    from corrigenda_cli.bulk import BulkLoad
    from corrigenda_cli.rendering.loads import draw_report

    prefix = key_prefix_of(path, options.key_prefix)
    stream = opened(path)
    load, finished = None, False
    try:
        with stream, progress(options, stream) as advanced:
            lines = lines_of(stream, prefix=prefix, first=options.from_line, reading=reading)
            load = BulkLoad(
                client, lines, told=lambda _, answer: print_json(answer) if options.json else None, advanced=advanced
            )
            await load.run()
            finished = True
    finally:
        if load is not None:
            # A load that is cut off tells how far it came. The results are the answer for programs; what people read
            # about them must not stand between.
            target = console(options, sys.stderr if options.json else sys.stdout)
            target.print(draw_report(load.report, finished=finished))
    return ExitStatus.FAILED if load.report.failed else ExitStatus.DONE


@contextmanager
def progress(options: argparse.Namespace, stream: BinaryIO) -> Iterator[Callable[[int], None]]:
    """A bar on standard error if that is a terminal; gives what to call with the bytes that are done."""
    if not sys.stderr.isatty():
        yield lambda _bytes: None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    size_bytes = os.fstat(stream.fileno()).st_size if stream is not sys.stdin.buffer else None
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.fields[lines]} lines"), console=console(options, sys.stderr)) as bar:
        task = bar.add_task("remembering", total=size_bytes or None, lines=0)
        lines = 0

        def advanced(spent_bytes: int) -> None:
            nonlocal lines
            lines += 1
            bar.update(task, advance=spent_bytes, lines=lines)

        yield advanced
