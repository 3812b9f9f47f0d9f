"""Requests as the JSON that agents use, sent by the name of the method: the one place where commands make requests."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client
    from corrigenda_core.rpc.wire_methods import WireMethod
    from google.protobuf.message import Message

    from corrigenda_cli.rendering.words import View

_STUBS = {
    "IngestService": "ingest",
    "AdminService": "admin",
    "ConflictService": "conflict",
    "RecallService": "recall",
}
PAGE_SIZE_MAX = 200
PAUSE_SECONDS = 0.5
"""Between a stream that has ended and the next one: a server that ends each at once is not asked without a pause."""


def add_paging_options(parser: argparse.ArgumentParser) -> None:
    """Adds ``--limit``, ``--page-token`` and ``--all``."""
    parser.add_argument("--limit", type=int, metavar="N", help=f"most entries of a page, 1..{PAGE_SIZE_MAX} (50)")
    parser.add_argument("--page-token", default="", metavar="TOKEN", help="go on where the page before ended")
    parser.add_argument("--all", action="store_true", help="all pages, one after the other")


def add_known_options(parser: argparse.ArgumentParser) -> None:
    """Adds ``--known-at`` and ``--revision``: as of when the record is read."""
    known = parser.add_mutually_exclusive_group()
    known.add_argument("--known-at", metavar="TIME", help="what was known then (RFC 3339; default: now)")
    known.add_argument("--revision", type=int, metavar="N", help="what was known after this commit")


def add_temporal_options(parser: argparse.ArgumentParser) -> None:
    """Adds the two points of time that a read looks at."""
    parser.add_argument("--valid-at", metavar="TIME", help="what holds then in the world (RFC 3339; default: now)")
    add_known_options(parser)


def add_min_revision_option(parser: argparse.ArgumentParser) -> None:
    """Adds ``--min-revision``, to read one's own writes."""
    parser.add_argument("--min-revision", type=int, metavar="N", help="the answer must know this commit")


def known_of(options: argparse.Namespace) -> dict[str, Any]:
    """As of when a read looks, as JSON."""
    return said(known_at=options.known_at, revision=options.revision)


def temporal_of(options: argparse.Namespace) -> dict[str, Any]:
    """Where a read looks on both time axes, as JSON."""
    return said(valid_at=options.valid_at, **known_of(options))


def said(**fields: Any) -> dict[str, Any]:
    """The fields that are given: neither ``None`` nor an empty text, list or object, nor a flag that is not set."""
    return {
        name: value
        for name, value in fields.items()
        if value is not None and value is not False and (isinstance(value, int | float) or value)
    }


@cache
def method_of(name: str) -> WireMethod:
    """The method with this name, such as ``Recall``."""
    from corrigenda_core.rpc.wire_methods import wire_methods

    (found,) = [method for method in wire_methods() if method.descriptor.name == name]
    return found


def request_of(name: str, fields: Mapping[str, Any]) -> Message:
    """The request of a method.

    Raises:
        Refusal: INVALID_FIELD, as the service would answer, for a value of the wrong form.
    """
    from corrigenda_core.rpc.json_mapping import fill_from_json

    request = method_of(name).new_request()
    fill_from_json(request, fields)
    return request


async def ask(client: Client, name: str, fields: Mapping[str, Any]) -> Any:
    """Calls a method that answers once; the answer is a message of the method's type."""
    return await _stub(client, name)(request_of(name, fields))


async def listen(client: Client, name: str, fields: Mapping[str, Any]) -> AsyncIterator[Any]:
    """Calls a method that answers with a stream."""
    call = _stub(client, name)(request_of(name, fields))
    try:
        async for message in call:
            yield message
    finally:
        call.cancel()


async def ask_pages(
    client: Client,
    options: argparse.Namespace,
    name: str,
    fields: Mapping[str, Any],
    *,
    on_every_page: Sequence[str] = (),
) -> Any:
    """One page of a list, or with ``--all`` all of them as one answer.

    Args:
        client: what calls.
        options: those of `add_paging_options`.
        name: the method.
        fields: the request without its page.
        on_every_page: fields that every page repeats; that of the first one is kept.
    """
    size = PAGE_SIZE_MAX if options.all and options.limit is None else options.limit
    page_fields = said(page_size=size, page_token=options.page_token)
    request: Any = request_of(name, {**fields, **page_fields})
    whole = await _stub(client, name)(request)
    while options.all and whole.next_page_token:
        request.page_token = whole.next_page_token
        page = await _stub(client, name)(request)
        for field in on_every_page:
            page.ClearField(field)
        whole.next_page_token = ""
        whole.MergeFrom(page)
    return whole


def page_lines(answer: Any) -> list[str]:
    """The line under a page that is not the last one."""
    token = answer.next_page_token
    return [f"go on with --all, or with --page-token {token}"] if token else []


async def view_of(client: Client, options: argparse.Namespace) -> View:
    """How times are shown: in the zone that is asked for, else in the team's, else in UTC."""
    from zoneinfo import ZoneInfo

    from corrigenda_cli.rendering.words import View

    if options.json:
        return View()
    zone = options.zone or await _zone_of_team(client)
    return View(zone=ZoneInfo(zone), zone_name=zone)


async def ask_in_view(client: Client, options: argparse.Namespace, asking: Awaitable[Any]) -> tuple[Any, View]:
    """An answer and how to show it, asked for at the same time."""
    view = asyncio.create_task(view_of(client, options))
    try:
        return await asking, await view
    finally:
        view.cancel()


async def _zone_of_team(client: Client) -> str:
    import grpc

    try:
        team = await ask(client, "GetTeam", {})
    except grpc.aio.AioRpcError:
        # A key that may only write cannot read it. Whatever else is wrong, the call itself will tell.
        return "UTC"
    zone: str = team.team.policy.time_zone
    return zone or "UTC"


def stub_of(client: Client, method: WireMethod) -> Any:
    """What calls a method with a client's key and deadline."""
    service = _STUBS[method.descriptor.containing_service.name]
    return getattr(getattr(client, service), method.descriptor.name)


def _stub(client: Client, name: str) -> Any:
    return stub_of(client, method_of(name))
