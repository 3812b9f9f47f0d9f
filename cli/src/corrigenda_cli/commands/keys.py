"""`corrigenda keys`: makes, lists, rotates and revokes the API keys of a team, as its administrator."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from corrigenda_cli.calling import add_calling_options, add_idempotency_option, called, instant, printed
from corrigenda_cli.help_text import add_command

if TYPE_CHECKING:
    from corrigenda.admin.v1 import profile_pb2
    from corrigenda_core.rpc.client import Client

SCOPES = ("read", "write", "assert_authority", "admin", "operator")
PAGE_SIZE = 200


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    actions = add_command(
        subparsers, "keys", summary="make, list, rotate and revoke API keys", examples=["corrigenda keys list"]
    ).add_subparsers(metavar="action", required=True)
    create = add_command(
        actions,
        "create",
        summary="make a key for a profile; its secret is shown once",
        examples=['corrigenda keys create 0192f0c4-6f6e-7c52-8f06-f852339d0772 --scope read --label "the night job"'],
    )
    create.add_argument("profile", help="id of the profile that it acts for")
    create.add_argument("--scope", action="append", choices=SCOPES, required=True, help="what it may do; repeatable")
    create.add_argument("--label", default="", help="what it is for, in words")
    create.add_argument("--expires", type=instant, metavar="TIME", help="when it expires (default: never)")
    create.set_defaults(run=lambda options: called(options, lambda client: _create(options, client)))

    listing = add_command(
        actions,
        "list",
        summary="list keys, the oldest first, without their secrets",
        examples=["corrigenda keys list --all --json"],
    )
    listing.add_argument("--profile", default="", metavar="ID", help="only keys of this profile")
    listing.add_argument("--all", action="store_true", help="also keys that are revoked or have expired")
    listing.set_defaults(run=lambda options: called(options, lambda client: _list(options, client)))

    rotate = add_command(
        actions,
        "rotate",
        summary="make the next key of a line; the one before works on for a while",
        description="Makes a key for the same profile that may do the same and shows its secret, once. The replaced "
        "key works on until the overlap has passed. What that one had replaced is revoked.",
        examples=["corrigenda keys rotate 0192f0c4-6f6e-7c52-8f06-f852339d0772 --overlap-seconds 3600"],
    )
    rotate.add_argument("key", help="id of the key to replace")
    rotate.add_argument("--overlap-seconds", type=int, metavar="N", help="how long it works on (default: a day)")
    rotate.add_argument("--expires", type=instant, metavar="TIME", help="when the new key expires (default: never)")
    rotate.set_defaults(run=lambda options: called(options, lambda client: _rotate(options, client)))

    revoke = add_command(
        actions,
        "revoke",
        summary="end a key for good",
        examples=['corrigenda keys revoke 0192f0c4-6f6e-7c52-8f06-f852339d0772 --reason "changed over"'],
    )
    revoke.add_argument("key", help="id of the key")
    revoke.add_argument("--reason", default="", help="why, for the record")
    revoke.set_defaults(run=lambda options: called(options, lambda client: _revoke(options, client)))

    for parser in (create, rotate, revoke):
        add_idempotency_option(parser)
    for parser in (create, listing, rotate, revoke):
        add_calling_options(parser)


async def _create(options: argparse.Namespace, client: Client) -> int:
    from corrigenda.admin.v1 import admin_service_pb2
    from corrigenda.options.v1 import key_scope_pb2
    from corrigenda_core.rpc.convert import timestamp_or_none

    answer = await client.admin.CreateKey(
        admin_service_pb2.CreateKeyRequest(
            idempotency_key=options.idempotency_key,
            profile_id=options.profile,
            label=options.label,
            scopes=[key_scope_pb2.KeyScope.Value(f"KEY_SCOPE_{scope.upper()}") for scope in options.scope],
            expires_at=timestamp_or_none(options.expires),
        )
    )
    return printed(options, answer, [_line(answer.key), _secret(answer.secret)])


async def _list(options: argparse.Namespace, client: Client) -> int:
    from corrigenda.admin.v1 import admin_service_pb2

    request = admin_service_pb2.ListKeysRequest(
        profile_id=options.profile, include_ended=options.all, page_size=PAGE_SIZE
    )
    whole = admin_service_pb2.ListKeysResponse()
    while True:
        page = await client.admin.ListKeys(request)
        whole.keys.extend(page.keys)
        whole.total, whole.revision = page.total, page.revision
        if not page.next_page_token:
            return printed(options, whole, [_line(key) for key in whole.keys] or ["no keys"])
        request.page_token = page.next_page_token


async def _rotate(options: argparse.Namespace, client: Client) -> int:
    from corrigenda.admin.v1 import admin_service_pb2
    from corrigenda_core.rpc.convert import timestamp_or_none

    answer = await client.admin.RotateKey(
        admin_service_pb2.RotateKeyRequest(
            idempotency_key=options.idempotency_key,
            key_id=options.key,
            overlap_seconds=options.overlap_seconds,
            expires_at=timestamp_or_none(options.expires),
        )
    )
    return printed(options, answer, [_line(answer.key), _secret(answer.secret), _line(answer.replaced)])


async def _revoke(options: argparse.Namespace, client: Client) -> int:
    from corrigenda.admin.v1 import admin_service_pb2

    answer = await client.admin.RevokeKey(
        admin_service_pb2.RevokeKeyRequest(
            idempotency_key=options.idempotency_key, key_id=options.key, reason=options.reason
        )
    )
    return printed(options, answer, [_line(answer.key)])


def _line(key: profile_pb2.Key) -> str:
    from corrigenda.options.v1 import key_scope_pb2

    scopes = ",".join(key_scope_pb2.KeyScope.Name(one).removeprefix("KEY_SCOPE_").lower() for one in key.scopes)
    if key.HasField("revoked_at"):
        state = f"revoked {key.revoked_at.ToJsonString()}"
    elif key.HasField("expires_at"):
        state = f"{'live until' if key.live else 'expired'} {key.expires_at.ToJsonString()}"
    else:
        state = "live"
    return f"{key.key_id}  {state}  {scopes}{f'  {key.label}' if key.label else ''}"


def _secret(secret: str) -> str:
    return f"  {secret}   (shown once)" if secret else "  (its secret was shown by the first call)"
