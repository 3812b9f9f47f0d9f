"""The file that names the webhook endpoints of a deployment, read once and checked at start.

Secrets stand in files of their own that this one names, so that neither the database nor this file holds one. Whoever
may write the file decides where events go: it belongs to the operator, and no request of a caller reaches it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit
from uuid import UUID

from corrigenda_core.domain.ids import TeamId
from corrigenda_core.domain.notices import NoticeKind
from corrigenda_core.persistence.notice_store import EndpointKey
from corrigenda_core.wire_config import is_loopback_host
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from corrigenda_conflict.notifier.signing import Secret, UnusableSecret, parse_secret

ENDPOINTS_MAX = 200
FILE_BYTES_MAX = 1 << 20


class EndpointsRefused(Exception):
    """The file cannot be used; the message says where and why, and shows neither a URL nor a secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One endpoint: where a team's notices of these kinds go, and the secrets that sign them.

    ``from_start`` says that an endpoint that is new is told all that has happened, not only what comes.
    """

    key: EndpointKey
    url: str
    secrets: tuple[Secret, ...]
    kinds: frozenset[NoticeKind]
    from_start: bool


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class _EndpointEntry(_Strict):
    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")]
    team_id: UUID
    url: Annotated[str, StringConstraints(min_length=1, max_length=2048, pattern=r"^[!-~]+$")]
    # A second one while receivers change to it.
    secret_files: Annotated[tuple[Path, ...], Field(min_length=1, max_length=2)]
    events: Annotated[frozenset[NoticeKind], Field(min_length=1)] = frozenset(NoticeKind)
    from_start: bool = False
    allow_plain_http: bool = False

    @model_validator(mode="after")
    def _goes_where_it_may(self) -> Self:
        try:
            parts = urlsplit(self.url)
            _ = parts.port
        except ValueError:
            raise ValueError("url is no URL") from None
        if not parts.hostname or parts.fragment or "@" in parts.netloc:
            raise ValueError("url must name a host, and neither a user, a password nor a fragment")
        may_be_plain = self.allow_plain_http or is_loopback_host(parts.hostname)
        if parts.scheme != "https" and not (parts.scheme == "http" and may_be_plain):
            raise ValueError("url must begin with https://, or name this machine, or allow_plain_http must be set")
        return self


class _EndpointsFile(_Strict):
    endpoints: Annotated[list[_EndpointEntry], Field(min_length=1, max_length=ENDPOINTS_MAX)]

    @model_validator(mode="after")
    def _names_each_once(self) -> Self:
        if len({(one.team_id, one.name) for one in self.endpoints}) != len(self.endpoints):
            raise ValueError("two endpoints of a team have one name")
        return self


def read_endpoints(path: Path) -> Sequence[Endpoint]:
    """The endpoints of a file, with their secrets; relative paths of secrets begin at the file's folder.

    Raises:
        EndpointsRefused: it cannot be read, an entry is not allowed, or a secret cannot be used.
    """
    try:
        named = _EndpointsFile.model_validate_json(_bounded(path))
    except ValidationError as problem:
        reasons = "; ".join(
            f"{'.'.join(str(part) for part in one['loc']) or 'file'}: {one['msg']}"
            for one in problem.errors(include_input=False, include_url=False, include_context=False)
        )
        raise EndpointsRefused(f"{path.name}: {reasons}") from None
    return [_endpoint(entry, path.parent) for entry in named.endpoints]


def _endpoint(entry: _EndpointEntry, folder: Path) -> Endpoint:
    try:
        secrets = tuple(parse_secret(_bounded(folder / file).decode("ascii").strip()) for file in entry.secret_files)
    except (UnusableSecret, UnicodeDecodeError):
        raise EndpointsRefused(
            f"{entry.name}: a secret is whsec_ and 24 to 64 bytes in base64; `corrigenda webhooks secret` makes one"
        ) from None
    return Endpoint(
        key=EndpointKey(team_id=TeamId(str(entry.team_id)), name=entry.name),
        url=entry.url,
        secrets=secrets,
        kinds=entry.events,
        from_start=entry.from_start,
    )


def _bounded(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except OSError as problem:
        raise EndpointsRefused(f"{path.name} cannot be read: {problem.strerror}") from None
    if len(content) > FILE_BYTES_MAX:
        raise EndpointsRefused(f"{path.name} is larger than {FILE_BYTES_MAX} bytes")
    return content
