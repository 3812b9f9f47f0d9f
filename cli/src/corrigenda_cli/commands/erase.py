"""`corrigenda erase`: takes a text away for good, with everything that only it said."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from corrigenda_cli.asking import ask, said
from corrigenda_cli.calling import add_idempotency_option, printed, runs
from corrigenda_cli.help_text import add_command

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    parser = add_command(
        subparsers,
        "erase",
        summary="take a text away for good",
        description="Replaces a fragment's text, its exact copies and the words that nothing else gave by tombstones, "
        "in every table and every past view. What it supported is judged without it. Nobody can take this back. "
        "Afterwards have the tables rewritten (ANALYZE, VACUUM FULL) and see to the backups, as the guide says.",
        examples=['corrigenda erase 0192f0c4-6f6e-7c52-8f06-f852339d0772 --reason "asked for by the person"'],
    )
    parser.add_argument("fragment", help="id of the fragment")
    parser.add_argument("--reason", required=True, help="why, for the record; it must not repeat the text")
    add_idempotency_option(parser)
    runs(parser, _erase)


async def _erase(options: argparse.Namespace, client: Client) -> int:
    fields = said(idempotency_key=options.idempotency_key, fragment_id=options.fragment, reason=options.reason)
    answer = await ask(client, "EraseEvidence", fields)
    erasure = answer.erasure
    lines = [
        f"erasure        {erasure.erasure_id}, revision {answer.revision}",
        f"fragments      {' '.join(erasure.fragment_ids)}",
        f"tombstones     {erasure.erased_texts}",
        f"relationships  {' '.join(answer.relationship_ids) or 'none changed'}",
        f"conflicts      {' '.join(answer.conflict_ids) or 'none changed'}",
    ]
    if answer.derived_fragment_ids:
        lines.append(f"derived texts  {' '.join(answer.derived_fragment_ids)}   (look whether they repeat it)")
    return printed(options, answer, lines)
