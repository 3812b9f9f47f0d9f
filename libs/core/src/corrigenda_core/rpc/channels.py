"""Connections to our services: what all of them are opened with, and how they follow a change of certificates."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache
from typing import Any

import grpc
import structlog

from corrigenda_core.rpc.methods import SERVED_BY
from corrigenda_core.rpc.retrying import service_config
from corrigenda_core.rpc.server import MESSAGE_BYTES_MAX
from corrigenda_core.security.certificates import CertificateFiles, ClientTls

CLOSING_SECONDS = 180.0
"""How long calls on a connection whose certificates were replaced may go on."""

_log = structlog.get_logger("corrigenda.channels")


def open_channel(
    target: str,
    credentials: grpc.ChannelCredentials | None = None,
    *,
    interceptors: Sequence[grpc.aio.ClientInterceptor] = (),
    retries: bool = True,
) -> grpc.aio.Channel:
    """A channel to one service.

    Args:
        target: host and port.
        credentials: for TLS; without them the connection is plain.
        interceptors: what every call passes.
        retries: whether what is safe to repeat is repeated. Of services that call each other only the first one does.
    """
    options = [
        ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
        ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
        ("grpc.enable_retries", int(retries)),
        ("grpc.service_config", _service_config()),
    ]
    if credentials is None:
        return grpc.aio.insecure_channel(target, options=options, interceptors=interceptors)
    return grpc.aio.secure_channel(target, credentials, options=options, interceptors=interceptors)


@cache
def _service_config() -> str:
    return service_config(one for services in SERVED_BY.values() for one in services)


class ServiceChannel:
    """The channel to a service, opened anew once the files of its certificates were replaced.

    Args:
        target: host and port.
        tls: how it is connected; ``None``: in plain text.
        retries: as of `open_channel`.
    """

    def __init__(self, target: str, tls: ClientTls | None = None, *, retries: bool = True) -> None:
        self._target = target
        self._retries = retries
        self._tls = tls
        self._files = CertificateFiles(() if tls is None else tls.files)
        self._channel = open_channel(target, None if tls is None else tls.credentials(), retries=retries)
        self._closing: dict[asyncio.Task[Any], grpc.aio.Channel] = {}

    def current(self) -> grpc.aio.Channel:
        """The channel for a call that begins now."""
        if self._tls is not None and self._files.have_changed():
            self._reopen(self._tls)
        return self._channel

    async def close(self) -> None:
        """Closes the channel, and those that calls are still using."""
        replaced = list(self._closing.values())
        for task in self._closing:
            task.cancel()
        for channel in (*replaced, self._channel):
            await channel.close()

    def _reopen(self, tls: ClientTls) -> None:
        try:
            credentials = tls.credentials()
        except OSError as error:
            _log.error("certificate_not_loaded", at=self._target, exc_info=error)
            return
        replaced, self._channel = self._channel, open_channel(self._target, credentials, retries=self._retries)
        task = asyncio.create_task(replaced.close(CLOSING_SECONDS))
        self._closing[task] = replaced
        task.add_done_callback(self._closing.pop)
