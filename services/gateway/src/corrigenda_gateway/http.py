"""The streamable HTTP transport: sessionless, so that any replica answers any request."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import structlog
import uvicorn
from corrigenda_core.process import announce_ready, stop_event, wait_for_stop
from corrigenda_core.security.certificates import CertificateFiles, ServerTls
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from corrigenda_gateway.config import GatewaySettings
from corrigenda_gateway.server import bearer_of

PATH = "/mcp"
CERTIFICATE_LOOK_SECONDS = 1.0
# Longer than an agent thinks between two calls: one that is busy would write on a connection that was closed meanwhile.
KEEP_ALIVE_SECONDS = 75

_log = structlog.get_logger("corrigenda.gateway")

Ready = Callable[[], Awaitable[dict[str, bool]]]


class BearerRequired:
    """Refuses a request without a bearer token before it is read; whether the key is good, the services decide."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection (ASGI)."""
        if scope["type"] == "http" and scope["path"] == PATH:
            headers = dict(scope["headers"])
            if not bearer_of(headers.get(b"authorization", b"").decode("latin-1")):
                answer = PlainTextResponse(
                    "send the API key as a bearer token\n", status_code=401, headers={"WWW-Authenticate": "Bearer"}
                )
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)


def http_app(server: Server[Any], settings: GatewaySettings, ready: Ready) -> Starlette:
    """The web application: MCP at `PATH`, and two health checks."""

    async def livez(_request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_request: Request) -> Response:
        found = await ready()
        return JSONResponse(found, status_code=200 if all(found.values()) else 503)

    app = server.streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=settings.allowed_hosts,
            allowed_origins=settings.allowed_origins,
        ),
        custom_starlette_routes=[Route("/livez", livez), Route("/readyz", readyz)],
    )
    app.add_middleware(BearerRequired)
    return app


async def serve_http(app: Starlette, settings: GatewaySettings, *, ready_facts: Mapping[str, str]) -> None:
    """Serves until the process is told to stop, then lets requests in flight finish.

    ``ready_facts`` join its ready line.
    """
    host, _, port = settings.listen.rpartition(":")
    tls = settings.http_tls()
    context = None if tls is None else tls.context()
    with socket.create_server((host.strip("[]"), int(port)), family=_family(host), backlog=2048) as bound:
        bound_host, bound_port = bound.getsockname()[:2]
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=int(settings.drain_seconds),
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            ssl_context_factory=None if context is None else lambda _config, _default: context,
        )
        server = _Server(config)
        stop = stop_event()
        serving = asyncio.create_task(server.serve(sockets=[bound]))
        announce_ready(address=f"{bound_host}:{bound_port}", **ready_facts)
        stopping = asyncio.create_task(_stopped(stop, tls, context))
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        server.should_exit = True
        await serving


async def _stopped(stop: asyncio.Event, tls: ServerTls | None, context: ssl.SSLContext | None) -> None:
    """Waits until the process is told to stop, and meanwhile gives new connections the certificate of the files."""
    if tls is None or context is None:
        await stop.wait()
        return
    files = CertificateFiles(tls.files)
    while not stop.is_set():
        await wait_for_stop(stop, CERTIFICATE_LOOK_SECONDS)
        if files.have_changed():
            try:
                tls.context()
                context.load_cert_chain(tls.certificate, tls.private_key)
            except OSError as error:
                _log.error("certificate_not_loaded", file=str(tls.certificate), exc_info=error)


class _Server(uvicorn.Server):
    """A server that leaves the signals of the process to the process."""

    def install_signal_handlers(self) -> None:
        """Does nothing: `stop_event` listens."""


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if host.startswith("[") else socket.AF_INET
