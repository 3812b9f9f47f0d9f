"""`corrigenda call`: calls any method of the services with JSON, the same JSON that agents use."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from corrigenda_cli.calling import add_tls_options, tls_settings, told

if TYPE_CHECKING:
    from corrigenda_core.domain.errors import Refusal
    from corrigenda_core.rpc.wire_methods import MethodCalls, WireMethod
    from google.protobuf.message import Message

EXIT_REFUSED, EXIT_USAGE = 1, 2


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `call`."""
    parser = subparsers.add_parser(
        "call",
        help="call any method of the services with JSON",
        description="Calls a method and prints its answer as JSON, one line for each message of a stream. Fields have "
        "their names in the protos, enum values their short names (polarity + or -), times are RFC 3339. "
        "CORRIGENDA_KEY is the API key; CORRIGENDA_INGEST_ADDRESS, CORRIGENDA_CONFLICT_ADDRESS and "
        "CORRIGENDA_RECALL_ADDRESS say where the services are (default: those of `corrigenda up`). "
        "Exit status: 0 answered, 1 refused (the refusal is printed as JSON), 2 wrong usage.",
        epilog='examples: corrigenda call Recall \'{"query": "where does production deploy from"}\' · '
        "corrigenda call RememberStream - < items.jsonl · corrigenda call --list",
    )
    parser.add_argument("method", nargs="?", help="its name, or service and name: Recall, RecallService/Recall")
    parser.add_argument("request", nargs="?", default="{}", help="JSON, or - for standard input (default: {})")
    parser.add_argument("--list", action="store_true", help="list the methods with what they do")
    parser.add_argument("--compact", action="store_true", help="print each message on one line")
    add_tls_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Calls the method, or lists all."""
    from corrigenda_core.rpc.wire_methods import wire_methods

    methods = wire_methods()
    if options.list or options.method is None:
        for method in methods:
            print(f"{method.name:<40} {_summary(method)}")
        return 0 if options.list else EXIT_USAGE
    found = [one for one in methods if options.method in (one.name, one.descriptor.name)]
    if len(found) != 1:
        print(f"there is no method {options.method}; --list shows them", file=sys.stderr)
        return EXIT_USAGE
    import asyncio

    return asyncio.run(_call(found[0], options))


async def _call(method: WireMethod, options: argparse.Namespace) -> int:
    import grpc
    from corrigenda_core.domain.errors import Refusal
    from corrigenda_core.rpc.json_mapping import to_json
    from corrigenda_core.rpc.wire_methods import MethodCalls
    from corrigenda_gateway.bootstrap import service_channels
    from corrigenda_gateway.config import GatewaySettings
    from corrigenda_gateway.failures import refusal_of_call

    try:
        settings = GatewaySettings(**tls_settings(options))
        if settings.key is None:
            print("CORRIGENDA_KEY is not set", file=sys.stderr)
            return EXIT_USAGE
        channels = service_channels(settings)
    except (ValueError, OSError) as problem:
        print(f"not connected: {told(problem)}", file=sys.stderr)
        return EXIT_USAGE
    calls = MethodCalls(channels, timeout_seconds=settings.call_timeout_seconds)
    streams = method.descriptor.server_streaming
    try:
        async for message in _answers(calls, method, options.request, settings.key.get_secret_value()):
            indent = None if options.compact or streams else 2
            print(json.dumps(to_json(message), ensure_ascii=False, indent=indent), flush=True)
    except Refusal as refusal:
        return _refused(refusal)
    except grpc.aio.AioRpcError as error:
        return _refused(refusal_of_call(error))
    finally:
        for channel in channels.values():
            await channel.close()
    return 0


async def _answers(calls: MethodCalls, method: WireMethod, given: str, key: str) -> AsyncIterator[Message]:
    requests = _requests(method, given)
    if method.descriptor.client_streaming:
        async for message in calls.stream(method, _streamed(requests), key=key):
            yield message
    elif method.descriptor.server_streaming:
        async for message in calls.stream(method, next(requests), key=key):
            yield message
    else:
        yield await calls.call(method, next(requests), key=key)


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


def _refused(refusal: Refusal) -> int:
    from corrigenda_gateway.failures import told_of

    print(json.dumps({"error": told_of(refusal)}, ensure_ascii=False, indent=2), file=sys.stderr)
    return EXIT_REFUSED


def _summary(method: WireMethod) -> str:
    """The first sentence of its comment."""
    from corrigenda_core.rpc.comments import comment_of

    text = " ".join(comment_of(method.descriptor.full_name).split("\n\n")[0].split())
    return text.split(". ")[0].rstrip(".") + "."
