"""`corrigenda call`: calls any method of the services with JSON, the same JSON that agents use."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from corrigenda_cli.asking import stub_of
from corrigenda_cli.calling import add_calling_options, called
from corrigenda_cli.exit_statuses import ExitStatus
from corrigenda_cli.help_text import add_command

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client
    from corrigenda_core.rpc.wire_methods import WireMethod
    from google.protobuf.message import Message


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `call`."""
    parser = add_command(
        subparsers,
        "call",
        summary="call any method of the services with JSON",
        description="Calls a method and prints its answer as JSON, one line for each message of a stream. Fields have "
        "their names in the protos, enum values their short names (polarity + or -), times are RFC 3339. A refusal is "
        "JSON on standard error.",
        examples=[
            'corrigenda call Recall \'{"query": "where does production deploy from"}\'',
            "corrigenda call RememberStream - < items.jsonl",
            "corrigenda call --list",
        ],
    )
    parser.add_argument("method", nargs="?", help="its name, or service and name: Recall, RecallService/Recall")
    parser.add_argument("request", nargs="?", default="{}", help="JSON, or - for standard input (default: {})")
    parser.add_argument("--list", action="store_true", help="list the methods with what they do")
    parser.add_argument("--compact", action="store_true", help="print each message on one line")
    add_calling_options(parser)
    # What this command says is JSON, refusals too.
    parser.set_defaults(run=run, json=True)


def run(options: argparse.Namespace) -> int:
    """Calls the method, or lists all."""
    from corrigenda_core.rpc.wire_methods import wire_methods

    methods = wire_methods()
    if options.list or options.method is None:
        for method in methods:
            print(f"{method.name:<40} {_summary(method)}{_beside(method)}")
        return ExitStatus.DONE if options.list else ExitStatus.USAGE
    found = [one for one in methods if options.method in (one.name, one.descriptor.name)]
    if len(found) != 1:
        print(f"there is no method {options.method}; --list shows them", file=sys.stderr)
        return ExitStatus.USAGE
    return called(options, lambda client: _call(client, found[0], options))


async def _call(client: Client, method: WireMethod, options: argparse.Namespace) -> int:
    from corrigenda_core.rpc.json_mapping import to_json

    from corrigenda_cli.rendering.safe_text import json_text

    indent = None if options.compact or method.descriptor.server_streaming else 2
    async for message in _answers(client, method, options.request):
        print(json_text(to_json(message), indent=indent), flush=True)
    return ExitStatus.DONE


async def _answers(client: Client, method: WireMethod, given: str) -> AsyncIterator[Message]:
    requests, stub = _requests(method, given), stub_of(client, method)
    if not method.descriptor.server_streaming:
        yield await stub(next(requests))
        return
    async for message in stub(_streamed(requests) if method.descriptor.client_streaming else next(requests)):
        yield message


async def _streamed(requests: Iterator[Message]) -> AsyncIterator[Message]:
    for request in requests:
        yield request


def _requests(method: WireMethod, given: str) -> Iterator[Message]:
    """The request, or the requests of a stream, one JSON object a line.

    Raises:
        Refusal: INVALID_FIELD for what is no JSON, and for what does not fit the method.
    """
    from corrigenda_core.domain.errors import Reason, Refusal
    from corrigenda_core.rpc.json_mapping import fill_from_json

    several = method.descriptor.client_streaming
    text = sys.stdin if given == "-" else given.splitlines()
    for part in text if several else ["".join(text)]:
        if several and not part.strip():
            continue
        try:
            said: Any = json.loads(part)
        except (ValueError, RecursionError) as error:
            raise Refusal(Reason.INVALID_FIELD, f"the request is no JSON: {error}") from error
        request = method.new_request()
        fill_from_json(request, said)
        yield request


def _beside(method: WireMethod) -> str:
    """The command for people that reaches it, if there is one."""
    from corrigenda_cli.reached import command_of

    command = command_of(method.name)
    return f" ({command})" if command else ""


def _summary(method: WireMethod) -> str:
    """The first sentence of its comment."""
    from corrigenda_core.rpc.comments import comment_of

    text = " ".join(comment_of(method.descriptor.full_name).split("\n\n")[0].split())
    return text.split(". ")[0].rstrip(".") + "."
