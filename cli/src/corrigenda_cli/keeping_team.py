"""`corrigenda teams show`, `policy`, `clock` and `open`: a team's settings, as its administrator."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from corrigenda_cli.asking import ask, ask_in_view, said
from corrigenda_cli.calling import InputError, add_idempotency_option, runs
from corrigenda_cli.help_text import add_command
from corrigenda_cli.output import shown

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client

_MINUTES = 60


def add_team_parsers(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the four actions."""
    show = add_command(
        actions, "show", summary="show the team of the key: policy and clock", examples=["corrigenda teams show"]
    )
    runs(show, _show)

    policy = add_command(
        actions,
        "policy",
        summary="change the given settings of the team's policy",
        description="What is not given stays. No deadline of an open conflict moves.",
        examples=["corrigenda teams policy --review-period-days 3 --review-start 02:30 --team-zone Europe/Vienna"],
    )
    policy.add_argument("--review-period-days", type=int, metavar="N", help="until a conflict is decided, 1..30")
    policy.add_argument("--review-start", metavar="HH:MM", help="local time at which the nightly run starts")
    policy.add_argument("--team-zone", metavar="NAME", help="time zone of the team, such as Europe/Vienna")
    policy.add_argument(
        "--trust-declared-groups",
        action=argparse.BooleanOptionalAction,
        help="whether every declared source group counts as a witness",
    )
    policy.add_argument("--expected-version", type=int, metavar="N", help="the version that you saw (the current one)")
    add_idempotency_option(policy)
    runs(policy, _policy)

    clock = add_command(
        actions,
        "clock",
        summary="set the clock of a team that is not open yet",
        examples=["corrigenda teams clock 2026-03-01T00:00:00Z"],
    )
    clock.add_argument("time", metavar="TIME", help="RFC 3339; not before the team's present time")
    add_idempotency_option(clock)
    runs(clock, _clock)
    opening = add_command(
        actions,
        "open",
        summary="let the team's clock follow real time, for good",
        examples=["corrigenda teams open"],
    )
    add_idempotency_option(opening)
    runs(opening, _open)


async def _show(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.administration import draw_team

    answer, view = await ask_in_view(client, options, ask(client, "GetTeam", {}))
    return shown(options, answer, lambda message, how: draw_team(message.team, how), view)


async def _policy(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.administration import draw_policy

    fields = said(
        idempotency_key=options.idempotency_key,
        expected_version=options.expected_version,
        review_period_days=options.review_period_days,
        review_start_minute=_minute(options.review_start),
        time_zone=options.team_zone,
    )
    if options.trust_declared_groups is not None:
        fields["trusts_declared_groups"] = options.trust_declared_groups
    answer, view = await ask_in_view(client, options, ask(client, "UpdateTeamPolicy", fields))
    return shown(options, answer, lambda message, _: draw_policy(message.policy), view)


async def _clock(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.administration import draw_clock

    fields = said(idempotency_key=options.idempotency_key, time=options.time)
    answer, view = await ask_in_view(client, options, ask(client, "DriveClock", fields))
    return shown(options, answer, lambda message, how: draw_clock(message.clock, how), view)


async def _open(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.administration import draw_clock

    fields = said(idempotency_key=options.idempotency_key)
    answer, view = await ask_in_view(client, options, ask(client, "OpenTeam", fields))
    return shown(options, answer, lambda message, how: draw_clock(message.clock, how), view)


def _minute(given: str | None) -> int | None:
    """The minute of the day of ``HH:MM``."""
    if given is None:
        return None
    hours, colon, minutes = given.partition(":")
    if not (colon and hours.isdecimal() and minutes.isdecimal() and int(minutes) < _MINUTES):
        raise InputError(f"--review-start is HH:MM, not {given!r}")
    return int(hours) * _MINUTES + int(minutes)
