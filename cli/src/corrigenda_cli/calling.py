"""What commands that call a running stack share: where it listens, whose key calls, and how a refusal is told."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import uuid
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import grpc
    from corrigenda_core.rpc.client import Client
    from google.protobuf.message import Message

KEY_VARIABLE = "CORRIGENDA_KEY"
INGEST_VARIABLE, RECALL_VARIABLE = "CORRIGENDA_INGEST_ADDRESS", "CORRIGENDA_RECALL_ADDRESS"
INGEST_DEFAULT, RECALL_DEFAULT = "127.0.0.1:7101", "127.0.0.1:7103"
EXIT_DONE, EXIT_REFUSED, EXIT_USAGE = 0, 1, 2


def add_calling_options(parser: argparse.ArgumentParser) -> None:
    """Adds the addresses, TLS and ``--json``."""
    parser.add_argument(
        "--ingest",
        default=os.environ.get(INGEST_VARIABLE, INGEST_DEFAULT),
        help=f"host:port of the ingest service (default: {INGEST_VARIABLE}, else {INGEST_DEFAULT})",
    )
    parser.add_argument(
        "--recall",
        default=os.environ.get(RECALL_VARIABLE, RECALL_DEFAULT),
        help=f"host:port of the recall service (default: {RECALL_VARIABLE}, else {RECALL_DEFAULT})",
    )
    add_tls_options(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")


def add_tls_options(parser: argparse.ArgumentParser) -> None:
    """Adds how the services are connected to; what is not given is read from the environment."""
    parser.add_argument("--tls", action="store_true", help="connect by TLS, trusting what the system trusts")
    parser.add_argument(
        "--tls-ca", metavar="FILE", help="connect by TLS, trusting these authorities (CORRIGENDA_TLS_CA_FILE)"
    )
    parser.add_argument("--tls-cert", metavar="FILE", help="certificate to show (CORRIGENDA_TLS_CERT_FILE)")
    parser.add_argument("--tls-key", metavar="FILE", help="its private key (CORRIGENDA_TLS_KEY_FILE)")
    parser.add_argument(
        "--allow-plaintext",
        action="store_true",
        help="send the key to another machine in plain text, inside a network that you trust "
        "(CORRIGENDA_ALLOW_PLAINTEXT)",
    )


def tls_settings(options: argparse.Namespace) -> dict[str, Any]:
    """What was given of these options, by the names of the settings."""
    given = {
        "tls": options.tls,
        "tls_ca_file": options.tls_ca,
        "tls_cert_file": options.tls_cert,
        "tls_key_file": options.tls_key,
        "allow_plaintext": options.allow_plaintext,
    }
    return {name: value for name, value in given.items() if value}


def add_idempotency_option(parser: argparse.ArgumentParser) -> None:
    """Adds ``--idempotency-key``, for a caller who may have to repeat the call."""
    parser.add_argument(
        "--idempotency-key",
        metavar="TEXT",
        default=uuid.uuid4().hex,
        help="the call's own name; repeated with it, the call is answered as before (default: a new one)",
    )


def called(options: argparse.Namespace, work: Callable[[Client], Awaitable[int]]) -> int:
    """Runs ``work`` with a client of the key in the environment.

    Returns:
        The exit status: that of ``work``, 1 if a call is refused or fails, 2 without a key, and where the key would
        travel in plain text.
    """
    key = os.environ.get(KEY_VARIABLE, "")
    if not key:
        print(f"set {KEY_VARIABLE} to a key of the team", file=sys.stderr)
        return EXIT_USAGE
    try:
        credentials = credentials_of(options, options.ingest, options.recall)
    except (ValueError, OSError) as problem:
        print(f"not connected: {told(problem)}", file=sys.stderr)
        return EXIT_USAGE
    return asyncio.run(_called(options, key, credentials, work))


def credentials_of(options: argparse.Namespace, *addresses: str) -> grpc.ChannelCredentials | None:
    """How services at these addresses are connected to; ``None``: in plain text.

    Raises:
        ValueError: the options say half of something, or the key would leave this machine in plain text.
        OSError: a file does not hold what it should.
    """
    from corrigenda_core.wire_config import CallingSettings

    settings = CallingSettings(**tls_settings(options))
    (tls, *_) = [settings.client_tls(address) for address in addresses]
    return None if tls is None else tls.credentials()


def told(problem: Exception) -> str:
    """What is wrong, in the words of the settings where it is one of those."""
    from corrigenda_core import settings_source
    from pydantic import ValidationError

    return settings_source.told(problem) if isinstance(problem, ValidationError) else str(problem)


async def _called(
    options: argparse.Namespace,
    key: str,
    credentials: grpc.ChannelCredentials | None,
    work: Callable[[Client], Awaitable[int]],
) -> int:
    import grpc
    from corrigenda_core.rpc.client import Client, Endpoints
    from corrigenda_core.rpc.status import refusal_of

    endpoints = Endpoints(ingest=options.ingest, conflict=options.ingest, recall=options.recall)
    async with Client(endpoints, key, credentials=credentials) as client:
        try:
            return await work(client)
        except grpc.aio.AioRpcError as error:
            refusal = refusal_of(error)
            if refusal is None:
                told, reason = error.details() or error.code().name, error.code().name
            else:
                told, reason = refusal.message, refusal.reason.value
            if options.json:
                print(json.dumps({"error": reason, "message": told}))
            print(f"refused: {told} ({reason})", file=sys.stderr)
            return EXIT_REFUSED


def fields_of(message: Message) -> dict[str, Any]:
    """A message as a JSON object, with the names of the protos."""
    from google.protobuf.json_format import MessageToDict

    fields: dict[str, Any] = MessageToDict(message, preserving_proto_field_name=True)
    return fields


def printed(options: argparse.Namespace, message: Message, lines: Iterable[str]) -> int:
    """Prints an answer, as JSON or in lines, and returns the exit status of what is done."""
    print(json.dumps(fields_of(message)) if options.json else "\n".join(lines))
    return EXIT_DONE


def instant(text: str) -> datetime:
    """An RFC 3339 time on the command line."""
    from corrigenda_core.domain.errors import Refusal
    from corrigenda_core.policy.instants import decide_instant

    try:
        return decide_instant(text, field="TIME")
    except Refusal as refusal:
        raise argparse.ArgumentTypeError(refusal.message) from None
