"""`corrigenda keys`: makes, lists, rotates and revokes the API keys of a team, as its administrator."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from corrigenda_cli.asking import add_paging_options, ask, ask_pages, page_lines, said
from corrigenda_cli.calling import add_idempotency_option, printed, runs
from corrigenda_cli.help_text import add_command

if TYPE_CHECKING:
    from corrigenda.admin.v1 import profile_pb2
    from corrigenda_core.rpc.client import Client

SCOPES = ("read", "write", "assert_authority", "admin", "operator")


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
    create.add_argument("--expires", metavar="TIME", help="when it expires (default: never)")
    add_idempotency_option(create)
    runs(create, _create)

    listing = add_command(
        actions,
        "list",
        summary="list keys, the oldest first, without their secrets",
        examples=["corrigenda keys list --ended --all --json"],
    )
    listing.add_argument("--profile", default="", metavar="ID", help="only keys of this profile")
    listing.add_argument("--ended", action="store_true", help="also keys that are revoked or have expired")
    add_paging_options(listing)
    runs(listing, _list)

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
    rotate.add_argument("--expires", metavar="TIME", help="when the new key expires (default: never)")
    add_idempotency_option(rotate)
    runs(rotate, _rotate)

    revoke = add_command(
        actions,
        "revoke",
        summary="end a key for good",
        examples=['corrigenda keys revoke 0192f0c4-6f6e-7c52-8f06-f852339d0772 --reason "changed over"'],
    )
    revoke.add_argument("key", help="id of the key")
    revoke.add_argument("--reason", default="", help="why, for the record")
    add_idempotency_option(revoke)
    runs(revoke, _revoke)


async def _create(options: argparse.Namespace, client: Client) -> int:
    fields = said(
        idempotency_key=options.idempotency_key,
        profile_id=options.profile,
        label=options.label,
        scopes=options.scope,
        expires_at=options.expires,
    )
    answer = await ask(client, "CreateKey", fields)
    return printed(options, answer, [_line(answer.key), _secret(answer.secret)])


async def _list(options: argparse.Namespace, client: Client) -> int:
    fields = said(profile_id=options.profile, include_ended=options.ended)
    answer = await ask_pages(client, options, "ListKeys", fields)
    lines = [_line(key) for key in answer.keys] or ["no keys"]
    return printed(options, answer, [*lines, *page_lines(answer)])


async def _rotate(options: argparse.Namespace, client: Client) -> int:
    fields = said(
        idempotency_key=options.idempotency_key,
        key_id=options.key,
        overlap_seconds=options.overlap_seconds,
        expires_at=options.expires,
    )
    answer = await ask(client, "RotateKey", fields)
    return printed(options, answer, [_line(answer.key), _secret(answer.secret), _line(answer.replaced)])


async def _revoke(options: argparse.Namespace, client: Client) -> int:
    fields = said(idempotency_key=options.idempotency_key, key_id=options.key, reason=options.reason)
    answer = await ask(client, "RevokeKey", fields)
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
