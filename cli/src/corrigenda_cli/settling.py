"""`corrigenda conflicts resolve`, `revert` and `auto`: an owner's decisions on questions about its own statements."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from corrigenda_cli.asking import ask, ask_in_view, listen, said, view_of
from corrigenda_cli.calling import InputError, add_idempotency_option, runs
from corrigenda_cli.finding import item_of
from corrigenda_cli.help_text import add_command
from corrigenda_cli.output import shown
from corrigenda_cli.reading.submissions import add_source_options, named_entity, source_of, typed_value

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client

_ITEM, _SIDE = "0192f0c4-6f6e-7c52-8f06-f852339d0772", "0192f0c4-6f6e-7c52-8f06-f852339d0999"


def add_settling_parsers(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the three actions."""
    _add_resolve(actions)
    revert = add_command(
        actions,
        "revert",
        summary="take back a decision of yours: an answer, a correction, a forgetting",
        examples=[f'corrigenda conflicts revert {_ITEM} --reason "the log was of another host"'],
    )
    revert.add_argument("decision", help="id of the decision")
    revert.add_argument("--reason", default="", metavar="TEXT", help="why, for people")
    add_idempotency_option(revert)
    runs(revert, _revert)

    auto = add_command(
        actions,
        "auto",
        summary="let the judge decide between statements of your own",
        description="The judge looks at your pending questions between two statements, the oldest first. A decisive "
        "verdict is carried out like a decision of yours and can be reverted. Each question is shown as it is done.",
        examples=["corrigenda conflicts auto --dry-run", "corrigenda conflicts auto --limit 20 --json"],
    )
    auto.add_argument("--dry-run", action="store_true", help="ask the judge and store nothing")
    auto.add_argument("--limit", type=int, metavar="N", help="most questions, 1..200 (50)")
    auto.add_argument("--minimum-age-seconds", type=int, metavar="N", help="how old both sides are (3600)")
    auto.add_argument("--quiet-period-seconds", type=int, metavar="N", help="until it is asked again (86400)")
    add_idempotency_option(auto)
    runs(auto, _auto)


def _add_resolve(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = add_command(
        actions,
        "resolve",
        summary="decide one of your questions between statements of your own",
        description="A conflict between owners is closed by the reviewer alone; what you decide is a question about "
        "your own statements. `corrigenda items show` tells what each answer would change.",
        examples=[
            f'corrigenda conflicts resolve {_ITEM} --keep-new {_SIDE} --reason "the log is what deploys"',
            f"corrigenda conflicts resolve {_ITEM} --keep-both --start {_SIDE}=2026-03-01T00:00:00Z",
            f'corrigenda conflicts resolve {_ITEM} --merge "since May 2026 production deploys from release" '
            "--object git_branch:release",
        ],
    )
    parser.add_argument("item", help="id of the question")
    answer = parser.add_mutually_exclusive_group(required=True)
    answer.add_argument("--keep-new", metavar="ID", help="this side holds, and the others end at its start")
    answer.add_argument("--keep-existing", metavar="ID", help="this opposing side stays; what came in is rejected")
    answer.add_argument("--keep-both", action="store_true", help="every side holds")
    answer.add_argument("--merge", metavar="TEXT", help="this sentence holds, and every side ends at its start")
    parser.add_argument(
        "--start", action="append", default=[], metavar="[ID=]TIME", help="when a side without a start began to hold"
    )
    merge = parser.add_argument_group("what a merge's sentence says of the subject")
    thing = merge.add_mutually_exclusive_group()
    thing.add_argument("--entity", metavar="ID", help="a known entity, such as that of a side")
    thing.add_argument("--object", metavar="KIND:NAME", help="an entity by name")
    thing.add_argument("--value", metavar="TYPE:TEXT", help="a value")
    merge.add_argument("--unit", default="", metavar="TEXT", help="unit of a number")
    merge.add_argument("--deny", action="store_true", help="the sentence denies it")
    add_source_options(merge)
    parser.add_argument("--expected-version", type=int, metavar="N", help="version of the question (the current one)")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why, for people")
    add_idempotency_option(parser)
    runs(parser, _resolve)


async def _resolve(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.decisions import draw_resolved

    answer = _answer(options)
    version = options.expected_version
    fields = said(
        idempotency_key=options.idempotency_key,
        item_id=options.item,
        expected_version=(await item_of(client, options.item)).version if version is None else version,
        reason=options.reason,
    )
    resolved, view = await ask_in_view(client, options, ask(client, "ResolveConflict", {**fields, **answer}))
    return shown(options, resolved, draw_resolved, view)


async def _revert(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.decisions import draw_reverted

    fields = said(idempotency_key=options.idempotency_key, decision_id=options.decision, reason=options.reason)
    answer, view = await ask_in_view(client, options, ask(client, "RevertResolution", fields))
    return shown(options, answer, draw_reverted, view)


async def _auto(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.decisions import draw_auto_resolved

    fields = said(
        idempotency_key=options.idempotency_key,
        dry_run=options.dry_run,
        limit=options.limit,
        minimum_age_seconds=options.minimum_age_seconds,
        quiet_period_seconds=options.quiet_period_seconds,
    )
    view, status = await view_of(client, options), 0
    async for answer in listen(client, "AutoResolve", fields):
        status = shown(options, answer, draw_auto_resolved, view)
    return status


def _answer(options: argparse.Namespace) -> dict[str, Any]:
    """The chosen answer, as JSON."""
    if options.merge is None and (options.entity or options.object or options.value):
        raise InputError("--entity, --object and --value go with --merge")
    starts = [start.rpartition("=")[::2] for start in options.start]
    if options.keep_new:
        return {"keep_new": said(relationship_id=options.keep_new, start=_one_start(starts, options.keep_new))}
    if options.keep_both:
        if not all(side for side, _ in starts):
            raise InputError("with --keep-both, --start is ID=TIME")
        return {"keep_both": said(starts=[{"relationship_id": side, "start": time} for side, time in starts])}
    if starts:
        raise InputError("--start goes with --keep-new or --keep-both")
    if options.keep_existing:
        return {"keep_existing": {"relationship_id": options.keep_existing}}
    return {"merge": _merge(options)}


def _one_start(starts: list[tuple[str, str]], side: str) -> str | None:
    if not starts:
        return None
    ((named, time),) = starts if len(starts) == 1 else [("?", "")]
    if named not in ("", side):
        raise InputError("with --keep-new, --start is the one time at which that side began")
    return time


def _merge(options: argparse.Namespace) -> dict[str, Any]:
    entity = None
    if options.object:
        kind, name = named_entity(options.object, "--object")
        entity = {"name": name, "entity_kind": kind}
    fields = said(
        content=options.merge,
        **source_of(options),
        entity_id=options.entity,
        entity=entity,
        value=typed_value(options.value, options.unit) if options.value else None,
        polarity="-" if options.deny else None,
    )
    if not {"entity_id", "entity", "value"} & fields.keys():
        raise InputError("--merge needs one of --entity, --object, --value")
    return fields
