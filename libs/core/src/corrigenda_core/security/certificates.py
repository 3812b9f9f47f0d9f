"""Certificates as files that an operator replaces while the process runs: nobody restarts it for a rotation.

What is read is checked as a whole before it is used: a rotation that is half written, a key that does not belong to the
certificate, or a file that is gone leave what was loaded before in force, with a line in the log.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import structlog

_log = structlog.get_logger("corrigenda.certificates")

Stamp = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTls:
    """Who a server is, and by whose certificates its callers show who they are (``None``: they show none)."""

    certificate: Path
    private_key: Path
    client_authorities: Path | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """All of them."""
        return _named(self.certificate, self.private_key, self.client_authorities)

    def context(self) -> ssl.SSLContext:
        """A context of the standard library, for a server that speaks HTTP.

        Raises:
            OSError: a file is gone, or does not hold what it should (`ssl.SSLError`).
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        _load(context, self.certificate, self.private_key, self.client_authorities)
        if self.client_authorities is not None:
            context.verify_mode = ssl.CERT_REQUIRED
        return context


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTls:
    """Whom a client trusts (``None``: whom the system trusts), and who it is to a server that asks."""

    authorities: Path | None
    certificate: Path | None = None
    private_key: Path | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """All of them."""
        return _named(self.authorities, self.certificate, self.private_key)

    def credentials(self) -> grpc.ChannelCredentials:
        """What the files hold now.

        Raises:
            OSError: a file is gone, or does not hold what it should (`ssl.SSLError`).
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        _load(context, self.certificate, self.private_key, self.authorities)
        return grpc.ssl_channel_credentials(
            root_certificates=_bytes(self.authorities),
            private_key=_bytes(self.private_key),
            certificate_chain=_bytes(self.certificate),
        )


class CertificateFiles:
    """Notices that files were replaced, from now on."""

    def __init__(self, files: tuple[Path, ...]) -> None:
        self._files = files
        self._seen: Stamp | None = None
        self.have_changed()

    def have_changed(self) -> bool:
        """Whether they are others than at the last call that said so, and all there."""
        try:
            # A certificate that is mounted into a container is a link that is turned to another file.
            stamp = tuple((found.st_mtime_ns, found.st_ino, found.st_size) for found in map(Path.stat, self._files))
        except OSError:
            return False
        if stamp == self._seen:
            return False
        self._seen = stamp
        return True


def server_credentials(tls: ServerTls) -> grpc.ServerCredentials:
    """Credentials that every handshake takes from the files as they are then.

    Raises:
        OSError: the files do not hold what they should when the server starts.
    """
    files = CertificateFiles(tls.files)
    first = _configuration(tls)

    # What the stubs do not know: ``None`` keeps what there is.
    def fetch() -> Any:
        """Called by gRPC before each handshake, on a thread of its own."""
        if not files.have_changed():
            return None
        try:
            changed = _configuration(tls)
        except OSError as error:
            _log.error("certificate_not_loaded", file=str(tls.certificate), exc_info=error)
            return None
        _log.info("certificate_loaded", file=str(tls.certificate))
        return changed

    return grpc.dynamic_ssl_server_credentials(
        first, fetch, require_client_authentication=tls.client_authorities is not None
    )


def _configuration(tls: ServerTls) -> grpc.ServerCertificateConfiguration:
    tls.context()
    return grpc.ssl_server_certificate_configuration(
        [(tls.private_key.read_bytes(), tls.certificate.read_bytes())], root_certificates=_bytes(tls.client_authorities)
    )


def _load(
    context: ssl.SSLContext, certificate: Path | None, private_key: Path | None, authorities: Path | None
) -> None:
    if certificate is not None:
        # A key under a passphrase is refused: nobody would be there to type it.
        context.load_cert_chain(certificate, private_key, password="")
    if authorities is not None:
        context.load_verify_locations(cafile=authorities)


def _named(*files: Path | None) -> tuple[Path, ...]:
    return tuple(file for file in files if file is not None)


def _bytes(file: Path | None) -> bytes | None:
    return None if file is None else file.read_bytes()
