"""The settings of the wire: who a process is, whom it trusts, where plain text is spoken, how much is taken at once.

Plain text is for one machine. A process that would speak it with another one does not start, unless its operator has
said that the network between them is trusted.
"""

from __future__ import annotations

import ipaddress
from typing import Self

from pydantic import Field, FilePath, model_validator
from pydantic_settings import BaseSettings

from corrigenda_core.rpc.admission import AdmissionBounds
from corrigenda_core.rpc.rate_limit import RateLimit, RateLimits
from corrigenda_core.security.certificates import ClientTls, ServerTls
from corrigenda_core.settings_source import SETTINGS_SOURCE


def is_loopback(address: str) -> bool:
    """Whether ``host:port`` is reached from this machine alone."""
    return is_loopback_host(address.rpartition(":")[0].strip("[]"))


def is_loopback_host(host: str) -> bool:
    """Whether a host is reached from this machine alone: by its address, or by the one name that means it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


class CallingSettings(BaseSettings):
    """How a process connects to a service."""

    model_config = SETTINGS_SOURCE

    tls: bool = Field(
        default=False,
        description="Connect to services by TLS and trust what the system trusts; naming an authority implies TLS.",
    )
    tls_ca_file: FilePath | None = Field(
        default=None,
        description="PEM file of the authorities that sign the services' certificates. Default: those of the system.",
    )
    tls_cert_file: FilePath | None = Field(
        default=None,
        description="PEM file of this process's own certificate and those between it and its authority. Default: none.",
    )
    tls_key_file: FilePath | None = Field(default=None, description="PEM file of the certificate's private key.")
    allow_plaintext: bool = Field(
        default=False,
        description="Whether calls may leave or reach this machine in plain text, inside a network that you trust.",
    )

    @model_validator(mode="after")
    def _has_whole_identity(self) -> Self:
        if (self.tls_cert_file is None) is not (self.tls_key_file is None):
            raise ValueError("CORRIGENDA_TLS_CERT_FILE and CORRIGENDA_TLS_KEY_FILE go together: set both or neither")
        return self

    def client_tls(self, address: str) -> ClientTls | None:
        """How a service is connected to; ``None``: in plain text.

        Raises:
            ValueError: that would be plain text on a network, which is not allowed.
        """
        if self.tls or self.tls_ca_file is not None:
            return ClientTls(
                authorities=self.tls_ca_file, certificate=self.tls_cert_file, private_key=self.tls_key_file
            )
        if not self.allow_plaintext and not is_loopback(address):
            raise ValueError(
                f"{address} is another machine, and the API key would travel there in plain text: set"
                " CORRIGENDA_TLS_CA_FILE (or CORRIGENDA_TLS=true for an authority that the system trusts), or"
                " CORRIGENDA_ALLOW_PLAINTEXT=true inside a network that you trust"
            )
        return None

    def refuse_plain_text_at(self, listen: str, *, unless: str) -> None:
        """Lets calls arrive in plain text on loopback, or where that is allowed.

        Args:
            listen: host:port where they are taken.
            unless: the settings that change it.

        Raises:
            ValueError: they would cross a network in plain text.
        """
        if not self.allow_plaintext and not is_loopback(listen):
            raise ValueError(
                f"CORRIGENDA_LISTEN {listen} is reached from other machines, and API keys would arrive there in plain"
                f" text: {unless}"
            )


class ListeningSettings(CallingSettings):
    """How a process is connected to."""

    tls_client_ca_file: FilePath | None = Field(
        default=None,
        description="PEM file of the authorities whose certificates callers must show. Default: callers show none.",
    )

    def server_tls(self, address: str) -> ServerTls | None:
        """How calls are taken at an address; ``None``: in plain text.

        Raises:
            ValueError: that would be plain text on a network, or callers' certificates without one of its own.
        """
        if self.tls_cert_file is not None and self.tls_key_file is not None:
            return ServerTls(
                certificate=self.tls_cert_file,
                private_key=self.tls_key_file,
                client_authorities=self.tls_client_ca_file,
            )
        if self.tls_client_ca_file is not None:
            raise ValueError("CORRIGENDA_TLS_CLIENT_CA_FILE needs CORRIGENDA_TLS_CERT_FILE and _KEY_FILE beside it")
        self.refuse_plain_text_at(
            address,
            unless="set CORRIGENDA_TLS_CERT_FILE and CORRIGENDA_TLS_KEY_FILE, or CORRIGENDA_ALLOW_PLAINTEXT=true inside"
            " a network that you trust",
        )
        return None


class AdmissionSettings(BaseSettings):
    """How much a process takes at once, and how often it may be called."""

    model_config = SETTINGS_SOURCE

    calls_at_once: int = Field(default=64, ge=1, le=10_000, description="How many calls work at the same time.")
    calls_waiting: int = Field(
        default=256, ge=0, le=100_000, description="How many calls wait behind them before more are refused."
    )
    streams_at_once: int = Field(default=256, ge=1, le=100_000, description="How many streams are open at once.")
    key_calls_per_second: float = Field(
        default=200.0, gt=0.0, description="How often one key may call this process, on average."
    )
    key_burst_calls: int = Field(default=400, ge=1, description="How many calls of one key may come at once.")
    team_calls_per_second: float = Field(
        default=1000.0, gt=0.0, description="How often all keys of one team may call this process, on average."
    )
    team_burst_calls: int = Field(default=2000, ge=1, description="How many calls of one team may come at once.")

    @property
    def admission_bounds(self) -> AdmissionBounds:
        """How many calls there may be."""
        return AdmissionBounds(
            calls_at_once=self.calls_at_once, calls_waiting=self.calls_waiting, streams_at_once=self.streams_at_once
        )

    @property
    def rate_limits(self) -> RateLimits:
        """How often may be called."""
        return RateLimits(
            key=RateLimit(calls_per_second=self.key_calls_per_second, burst_calls=self.key_burst_calls),
            team=RateLimit(calls_per_second=self.team_calls_per_second, burst_calls=self.team_burst_calls),
        )
