"""`corrigenda health`: asks one process whether it serves; what a container's health check runs."""

from __future__ import annotations

import argparse
import os
import sys
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

from corrigenda_cli.exit_statuses import ExitStatus
from corrigenda_cli.help_text import add_command

if TYPE_CHECKING:
    from corrigenda_core.security.certificates import ClientTls

TARGET_VARIABLE = "CORRIGENDA_HEALTH_TARGET"
METRICS_VARIABLE, LISTEN_VARIABLE = "CORRIGENDA_METRICS_LISTEN", "CORRIGENDA_LISTEN"
DEPENDENCIES = ("database",)
"""What a service says apart from itself; see `RpcServer`."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    parser = add_command(
        subparsers,
        "health",
        summary="ask one process whether it serves",
        description="Asks a service by gRPC (HOST:PORT, by TLS where the settings say so), or any process by HTTP (a "
        "URL). Exit status 0: it serves; 1: it says that it does not; 4: it does not answer. Without a target, as in a "
        f"container: {TARGET_VARIABLE}, else /healthz and /readyz at {METRICS_VARIABLE}, else gRPC at "
        f"{LISTEN_VARIABLE}; with none of them set there is nothing to ask, and the exit status is 0.",
        examples=[
            "corrigenda health 127.0.0.1:7101",
            "corrigenda health http://127.0.0.1:7104/readyz",
            "corrigenda health",
        ],
    )
    parser.add_argument("target", nargs="?", help="HOST:PORT of a service, or the URL of a health check")
    parser.add_argument("--timeout", type=float, default=3.0, metavar="SECONDS", help="default: 3")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Asks, prints a line for each answer, returns the worst exit status."""
    targets = [options.target] if options.target else _own_targets()
    if not targets:
        print("nothing to ask")
    return max((_asked(target, options.timeout) for target in targets), default=ExitStatus.DONE)


def _own_targets() -> list[str]:
    """Where the process is asked whose environment this is."""
    if target := os.environ.get(TARGET_VARIABLE):
        return [target]
    if listen := os.environ.get(METRICS_VARIABLE):
        return [f"http://{_here(listen)}/healthz", f"http://{_here(listen)}/readyz"]
    listen = os.environ.get(LISTEN_VARIABLE)
    return [_here(listen)] if listen else []


def _here(listen: str) -> str:
    """An address that this machine reaches, of one that may stand for all of its addresses."""
    host, _, port = listen.rpartition(":")
    return f"{ {'0.0.0.0': '127.0.0.1', '[::]': '[::1]'}.get(host, host) }:{port}"


def _asked(target: str, timeout_seconds: float) -> ExitStatus:
    if target.startswith(("http://", "https://")):
        return _asked_by_http(target, timeout_seconds)
    return _asked_by_grpc(target, timeout_seconds)


def _asked_by_http(url: str, timeout_seconds: float) -> ExitStatus:
    # A proxy of the environment has no part in what a process says to its own machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=timeout_seconds) as answer:
            said = answer.read(1000)
    except urllib.error.HTTPError as refusal:
        with refusal:
            print(f"{url}: {refusal.code} {_text(refusal.read(1000))}")
        return ExitStatus.FAILED
    except (OSError, ValueError) as problem:
        return _unreached(url, str(problem))
    print(f"{url}: {_text(said)}")
    return ExitStatus.DONE


def _text(said: bytes) -> str:
    return said.decode(errors="replace").strip()


def _asked_by_grpc(address: str, timeout_seconds: float) -> ExitStatus:
    import grpc
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    try:
        tls = _tls(address)
    except (ValueError, OSError) as problem:
        print(f"corrigenda health: {problem}", file=sys.stderr)
        return ExitStatus.USAGE
    opened = (
        grpc.insecure_channel(address) if tls is None else grpc.secure_channel(address, credentials=tls.credentials())
    )
    status = ExitStatus.DONE
    with opened as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        for name in ("", *(f"dependency/{one}" for one in DEPENDENCIES)):
            try:
                answer = stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=timeout_seconds)
            except grpc.RpcError as problem:
                return _unreached(address, f"{problem.code().name} {problem.details()}")
            print(f"{name or address}: {health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)}")
            if answer.status != health_pb2.HealthCheckResponse.SERVING:
                status = ExitStatus.FAILED
    return status


def _tls(address: str) -> ClientTls | None:
    """How a service is asked; nobody's key is sent, so plain text to another machine gives nothing away."""
    from corrigenda_core.wire_config import CallingSettings

    settings = CallingSettings()
    return settings.client_tls(address) if settings.tls or settings.tls_ca_file is not None else None


def _unreached(target: str, problem: str) -> ExitStatus:
    print(f"{target}: no answer: {problem}", file=sys.stderr)
    return ExitStatus.UNAVAILABLE
