"""What commands that call a running stack share: where it listens, whose key calls, and how a refusal is told."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import uuid
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from corrigenda_cli.exit_statuses import ExitStatus
from corrigenda_cli.output import add_output_options, complain, print_json

if TYPE_CHECKING:
    import grpc
    from corrigenda_core.domain.errors import Refusal
    from corrigenda_core.rpc.client import Client
    from google.protobuf.message import Message

KEY_VARIABLE = "CORRIGENDA_KEY"
TIMEOUT_SECONDS_DEFAULT, TIMEOUT_SECONDS_MAX = 30.0, 180.0
ADDRESSES = {"ingest": "127.0.0.1:7101", "conflict": "127.0.0.1:7102", "recall": "127.0.0.1:7103"}
"""Where `corrigenda up` serves, by the name of the service."""


class InputError(Exception):
    """What the caller gave cannot be read or does not fit together; nothing was sent."""


def add_calling_options(parser: argparse.ArgumentParser) -> None:
    """Adds the addresses, TLS, the deadline, and how the answer is shown."""
    group = parser.add_argument_group("connection and output", f"The key is read from {KEY_VARIABLE}.")
    for name, default in ADDRESSES.items():
        variable = f"CORRIGENDA_{name.upper()}_ADDRESS"
        group.add_argument(
            f"--{name}",
            dest=f"{name}_address",
            metavar="HOST:PORT",
            default=os.environ.get(variable, default),
            help=f"address of the {name} service (default: {variable}, else {default})",
        )
    add_tls_options(group)
    group.add_argument(
        "--timeout",
        type=_timeout,
        metavar="SECONDS",
        default=TIMEOUT_SECONDS_DEFAULT,
        help=f"deadline of a call, at most {TIMEOUT_SECONDS_MAX:g} (default: {TIMEOUT_SECONDS_DEFAULT:g})",
    )
    add_output_options(group)


def add_tls_options(parser: argparse._ActionsContainer) -> None:
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


def add_idempotency_option(parser: argparse.ArgumentParser) -> None:
    """Adds ``--idempotency-key``, for a caller who may have to repeat the call."""
    parser.add_argument(
        "--idempotency-key",
        metavar="TEXT",
        default=uuid.uuid4().hex,
        help="the call's own name; repeated with it, the call is answered as before (default: a new one)",
    )


def runs(parser: argparse.ArgumentParser, work: Callable[[argparse.Namespace, Client], Awaitable[int]]) -> None:
    """Lets a subcommand call the services: adds the options for that, and what it does with a client."""
    add_calling_options(parser)
    parser.set_defaults(run=lambda options: called(options, lambda client: work(options, client)))


def called(options: argparse.Namespace, work: Callable[[Client], Awaitable[int]]) -> int:
    """Runs ``work`` with a client of the key in the environment.

    Returns:
        The exit status: that of ``work``, or that of the refusal or failure that ended it.
    """
    key = os.environ.get(KEY_VARIABLE, "")
    if not key:
        complain(f"corrigenda: set {KEY_VARIABLE} to a key of the team")
        return ExitStatus.USAGE
    try:
        credentials = _credentials(options)
    except (ValueError, OSError) as problem:
        complain(f"corrigenda: not connected: {_told(problem)}")
        return ExitStatus.USAGE
    return asyncio.run(_called(options, key, credentials, work))


def _credentials(options: argparse.Namespace) -> grpc.ChannelCredentials | None:
    """How the services are connected to; ``None``: in plain text.

    Raises:
        ValueError: the options say half of something, or the key would leave this machine in plain text.
        OSError: a file does not hold what it should.
    """
    from corrigenda_core.wire_config import CallingSettings

    given = {
        "tls": options.tls,
        "tls_ca_file": options.tls_ca,
        "tls_cert_file": options.tls_cert,
        "tls_key_file": options.tls_key,
        "allow_plaintext": options.allow_plaintext,
    }
    settings = CallingSettings(**{name: value for name, value in given.items() if value})
    addresses = (options.ingest_address, options.conflict_address, options.recall_address)
    (tls, *_) = [settings.client_tls(address) for address in addresses]
    return None if tls is None else tls.credentials()


def _told(problem: Exception) -> str:
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
    from corrigenda_core.domain.errors import Refusal
    from corrigenda_core.rpc.client import Client, Endpoints
    from corrigenda_core.rpc.status import refusal_of

    endpoints = Endpoints(
        ingest=options.ingest_address, conflict=options.conflict_address, recall=options.recall_address
    )
    async with Client(endpoints, key, credentials=credentials, timeout_seconds=options.timeout) as client:
        try:
            return await work(client)
        except InputError as problem:
            complain(f"corrigenda: {problem}")
            return ExitStatus.USAGE
        except Refusal as refusal:
            return refused(options, refusal)
        except grpc.aio.AioRpcError as error:
            carried = refusal_of(error)
            return _failed(options, error) if carried is None else refused(options, carried)


def refused(options: argparse.Namespace, refusal: Refusal) -> int:
    """Tells a refusal on standard error and returns its status."""
    from corrigenda_cli.exit_statuses import status_of_reason
    from corrigenda_cli.rendering.failures import refusal_json, refusal_lines

    _tell(options, refusal_json(refusal), refusal_lines(refusal))
    return status_of_reason(refusal.reason)


def _failed(options: argparse.Namespace, error: grpc.aio.AioRpcError) -> int:
    from corrigenda_cli.exit_statuses import status_of_code
    from corrigenda_cli.rendering.failures import failure_json, failure_lines

    code, details = error.code(), error.details() or ""
    status = status_of_code(code)
    unreached = status is ExitStatus.UNAVAILABLE
    _tell(options, failure_json(code.name, details), failure_lines(code.name, details, unreached=unreached))
    return status


def _tell(options: argparse.Namespace, told: object, lines: Iterable[str]) -> None:
    from corrigenda_cli.rendering.safe_text import json_text

    if options.json:
        print(json_text(told), file=sys.stderr, flush=True)
    else:
        complain("corrigenda: " + "\n".join(lines))


def printed(options: argparse.Namespace, message: Message, lines: Iterable[str]) -> int:
    """Prints an answer, as JSON or in lines, and returns the exit status of what is done."""
    from corrigenda_cli.rendering.safe_text import neutral

    if options.json:
        print_json(message)
    else:
        print("\n".join(map(neutral, lines)), flush=True)
    return ExitStatus.DONE


def json_object(text: str) -> dict[str, object]:
    """A JSON object on the command line or in a file.

    Raises:
        InputError: it is none.
    """
    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"this is no JSON: {error}") from error
    if not isinstance(said, dict):
        raise InputError("this is no JSON object")
    return said


def _timeout(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds") from None
    if not 0 < seconds <= TIMEOUT_SECONDS_MAX:
        raise argparse.ArgumentTypeError(f"must be more than 0 and at most {TIMEOUT_SECONDS_MAX:g}")
    return seconds
