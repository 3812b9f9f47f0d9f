"""The settings of the gateway."""

from __future__ import annotations

from typing import Self

from corrigenda_core.config import Address, ObservedSettings, Secret
from corrigenda_core.security.certificates import ServerTls
from corrigenda_core.wire_config import CallingSettings
from pydantic import Field, FilePath, model_validator


class GatewaySettings(ObservedSettings, CallingSettings):
    """Where the services are, and how agents reach the gateway."""

    ingest_address: Address = Field(default="127.0.0.1:7101", description="host:port of the ingest service.")
    conflict_address: Address = Field(default="127.0.0.1:7102", description="host:port of the conflict service.")
    recall_address: Address = Field(default="127.0.0.1:7103", description="host:port of the recall service.")
    listen: Address = Field(
        default="127.0.0.1:7104",
        description="host:port of the streamable HTTP transport; port 0 lets the system choose.",
    )
    http_tls_cert_file: FilePath | None = Field(
        default=None,
        description="PEM file of the certificate that agents see on the HTTP transport. Default: plain HTTP.",
    )
    http_tls_key_file: FilePath | None = Field(default=None, description="PEM file of its private key.")
    key: Secret | None = Field(
        default=None,
        description="The API key of the agent; the stdio transport alone uses it, HTTP calls bring theirs.",
    )
    call_timeout_seconds: float = Field(default=30.0, gt=0.0, le=180.0, description="How long one tool call may take.")
    allowed_hosts: list[str] = Field(
        default=["127.0.0.1:*", "localhost:*", "[::1]:*"],
        description="Host headers that are answered, as a JSON list; a browser cannot be led here by another name.",
    )
    allowed_origins: list[str] = Field(
        default=["http://127.0.0.1:*", "http://localhost:*", "http://[::1]:*"],
        description="Origin headers of browsers that are answered, as a JSON list.",
    )

    @model_validator(mode="after")
    def _connects_safely(self) -> Self:
        for address in (self.ingest_address, self.conflict_address, self.recall_address):
            self.client_tls(address)
        return self

    def http_tls(self) -> ServerTls | None:
        """How agents connect to the HTTP transport; ``None``: in plain text.

        Raises:
            ValueError: that would be plain text on a network, which is not allowed, or half of a certificate.
        """
        if (self.http_tls_cert_file is None) is not (self.http_tls_key_file is None):
            raise ValueError("CORRIGENDA_HTTP_TLS_CERT_FILE and CORRIGENDA_HTTP_TLS_KEY_FILE go together")
        if self.http_tls_cert_file is not None and self.http_tls_key_file is not None:
            return ServerTls(certificate=self.http_tls_cert_file, private_key=self.http_tls_key_file)
        self.refuse_plain_text_at(
            self.listen,
            unless="set CORRIGENDA_HTTP_TLS_CERT_FILE and CORRIGENDA_HTTP_TLS_KEY_FILE, or"
            " CORRIGENDA_ALLOW_PLAINTEXT=true behind something that ends TLS",
        )
        return None
