"""`corrigenda policy`: the team-conflict policy offline, on snapshots from standard input.

Nothing but the policy is needed: no database, no service, no network. Both subcommands read one snapshot a line and
answer each before they read the next.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from itertools import count
from typing import BinaryIO

from corrigenda_cli.help_text import add_command

LINE_LIMIT_BYTES = 4 * 1024 * 1024


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `policy evaluate` and `policy explain`."""
    parser = add_command(
        subparsers,
        "policy",
        summary="decide or explain case snapshots from standard input",
        examples=["corrigenda policy evaluate < snapshots.jsonl"],
    )
    actions = parser.add_subparsers(metavar="action", required=True)

    evaluate = add_command(
        actions,
        "evaluate",
        summary="one decision for each snapshot",
        description="Reads one case snapshot a line (JSON) and writes one decision a line. A line that is no snapshot "
        'is answered with {"error": ..., "line": n}, and the exit status is 1 in the end.',
        examples=["corrigenda policy evaluate < snapshots.jsonl > decisions.jsonl"],
    )
    evaluate.set_defaults(run=run_evaluate)

    explain = add_command(
        actions,
        "explain",
        summary="why each snapshot is decided as it is, and what would change it",
        description="Reads one case snapshot a line (JSON) and writes what each rule compared, what is missing, what "
        "the deadline would bring and what one more independent witness would change.",
        examples=["corrigenda policy explain --json < snapshots.jsonl"],
    )
    explain.add_argument("--json", action="store_true", help="one JSON object a line instead of tables")
    explain.set_defaults(run=run_explain)


def run_evaluate(_options: argparse.Namespace) -> int:
    """Writes the decision on every snapshot."""
    from corrigenda_core.policy.decision_codec import encode_decision
    from corrigenda_core.policy.snapshot_codec import decode_snapshot
    from corrigenda_core.policy.team_conflict import decide_case

    return _answer_lines(lambda text: encode_decision(decide_case(decode_snapshot(text))))


def run_explain(options: argparse.Namespace) -> int:
    """Writes the explanation of the decision on every snapshot."""
    from corrigenda_core.policy.decision_codec import encode_explanation
    from corrigenda_core.policy.explanation import explain_case
    from corrigenda_core.policy.snapshot_codec import decode_snapshot

    from corrigenda_cli.explanation_text import render_explanation

    render = encode_explanation if options.json else render_explanation
    return _answer_lines(lambda text: render(explain_case(decode_snapshot(text))))


def _answer_lines(answer: Callable[[str], str]) -> int:
    """Answers every line of standard input on standard output; 1 if a line could not be read as what it should be."""
    from corrigenda_core.policy.snapshot_codec import write_json

    status = 0
    output = sys.stdout.buffer
    for number, line in _lines(sys.stdin.buffer):
        try:
            if len(line) > LINE_LIMIT_BYTES:
                raise ValueError(f"the line is longer than {LINE_LIMIT_BYTES} bytes")
            # Bytes, not text streams: what is read and written does not depend on the locale.
            answered = answer(line.decode("utf-8"))
        except ValueError as error:
            answered = write_json({"error": str(error), "line": number})
            status = 1
        output.write(answered.encode("utf-8") + b"\n")
        output.flush()
    return status


def _lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank with their numbers; of a line over the limit only its beginning is kept."""
    for number in count(1):
        line = stream.readline(LINE_LIMIT_BYTES + 1)
        if not line:
            return
        rest = line
        while len(rest) > LINE_LIMIT_BYTES and not rest.endswith(b"\n"):
            rest = stream.readline(LINE_LIMIT_BYTES + 1)
        if line.strip():
            yield number, line
