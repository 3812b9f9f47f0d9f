"""`corrigenda teams create`: makes a team and the key of its first administrator."""

from __future__ import annotations

import argparse
import json
import os
import sys
from datetime import datetime

from corrigenda_cli.database_source import PEPPER_VARIABLE, URL_VARIABLE
from corrigenda_cli.exit_statuses import ExitStatus
from corrigenda_cli.help_text import add_command
from corrigenda_cli.keeping_team import add_team_parsers


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    teams = add_command(
        subparsers,
        "teams",
        summary="make teams, and keep the settings of one",
        examples=["corrigenda teams create platform", "corrigenda teams show"],
    ).add_subparsers(metavar="action", required=True)
    parser = add_command(
        teams,
        "create",
        summary="make a team and its first administrator",
        description="Makes a team, a profile in it, and a key of that profile that may do everything. The key is shown "
        f"once. Needs {PEPPER_VARIABLE}, as the services have it.",
        examples=[
            "corrigenda teams create platform --admin root",
            "corrigenda teams create archive --drive-from 2020-01-01T00:00:00Z --json",
        ],
    )
    parser.add_argument("name", help="the name of the team")
    parser.add_argument("--admin", default="admin", metavar="NAME", help="the name of the first profile")
    parser.add_argument(
        "--drive-from",
        type=_instant,
        metavar="TIME",
        help="begin with a driven clock at this RFC 3339 time, to import history; default: the clock follows real time",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.add_argument(
        "--database-url",
        default=os.environ.get(URL_VARIABLE, ""),
        help=f"URL of the role corrigenda_migrator (default: {URL_VARIABLE})",
    )
    parser.set_defaults(run=run)
    add_team_parsers(teams)


def _instant(text: str) -> datetime:
    from corrigenda_core.domain.errors import Refusal
    from corrigenda_core.policy.instants import decide_instant
    from corrigenda_core.policy.limits import may_offer

    try:
        instant = decide_instant(text, field="TIME")
        may_offer("driven_year", instant.year, field="TIME")
    except Refusal as refusal:
        raise argparse.ArgumentTypeError(refusal.message) from None
    return instant


def run(options: argparse.Namespace) -> int:
    """Makes the team; exit status 0 done, 1 refused by the database, 2 a setting is missing."""
    import psycopg
    from corrigenda_core.persistence.team_store import create_team
    from corrigenda_core.serving import new_ids, now

    pepper = os.environ.get(PEPPER_VARIABLE, "")
    if not options.database_url or not pepper:
        print(f"set {URL_VARIABLE} (or give --database-url) and {PEPPER_VARIABLE}", file=sys.stderr)
        return ExitStatus.USAGE
    try:
        with psycopg.connect(options.database_url, autocommit=True) as connection:
            team = create_team(
                connection,
                name=options.name,
                admin_name=options.admin,
                driven_from=options.drive_from,
                ids=new_ids(),
                now=now(),
                pepper=pepper.encode(),
            )
    except psycopg.Error as problem:
        print(f"no team was made: {str(problem).strip()}", file=sys.stderr)
        return ExitStatus.FAILED
    if options.json:
        print(json.dumps({"team_id": team.team_id, "profile_id": team.profile_id, "key": team.key}))
    else:
        print(f"team     {team.team_id}\nprofile  {team.profile_id}\nkey      {team.key}   (shown once)")
    return ExitStatus.DONE
