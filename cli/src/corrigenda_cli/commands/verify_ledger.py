"""`corrigenda verify-ledger`: proves from the tables that a team's history is what was committed."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from corrigenda_cli.database_source import NoDatabase, add_database_options, database_url, id_argument
from corrigenda_cli.exit_statuses import ExitStatus
from corrigenda_cli.help_text import add_command

if TYPE_CHECKING:
    import psycopg
    from corrigenda_core.persistence.ledger_verification import LedgerReport

ROLE = "corrigenda_auditor"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    parser = add_command(
        subparsers,
        "verify-ledger",
        summary="prove that history was not edited",
        description="Recomputes the hash chain of one team or of all from the tables. Exit status 0: all verified; "
        "1: something does not fit, or there is no team; 2: it could not be looked at.",
        examples=[
            "corrigenda verify-ledger --directory .corrigenda",
            "corrigenda verify-ledger --team 0192f0c4-6f6e-7c52-8f06-f852339d0772 --json",
        ],
    )
    parser.add_argument("--team", type=id_argument, metavar="ID", help="one team (default: all)")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    add_database_options(parser, ROLE)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Verifies, prints the report, returns the exit status."""
    import psycopg
    from corrigenda_core.persistence.roles import sees_every_team

    try:
        url = database_url(options, ROLE)
    except NoDatabase as problem:
        return _cannot_tell(str(problem))
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            if not sees_every_team(connection):
                return _cannot_tell(f"this role does not see every team; connect as {ROLE}")
            reports = _verify(connection, options.team)
    except psycopg.Error as problem:
        return _cannot_tell(str(problem).strip())
    is_verified = bool(reports) and all(report.is_verified for report in reports)
    print(_as_json(reports, is_verified) if options.json else _as_text(reports))
    return ExitStatus.DONE if is_verified else ExitStatus.FAILED


def _verify(connection: psycopg.Connection[tuple[object, ...]], team: str | None) -> list[LedgerReport]:
    from corrigenda_core.domain.ids import TeamId
    from corrigenda_core.persistence.ledger_verification import teams_to_verify, verify_ledger

    teams = teams_to_verify(connection) if team is None else [TeamId(team)]
    return [verify_ledger(connection, team_id) for team_id in teams]


def _as_text(reports: list[LedgerReport]) -> str:
    if not reports:
        return "there is no team"
    lines: list[str] = []
    for report in reports:
        verdict = "verified" if report.is_verified else f"{report.problem_count} problems"
        lines.append(
            f"team {report.team_id}: {verdict}; revision {report.revisions}, {report.rows} rows, {report.head}"
        )
        for problem in report.problems:
            place = " ".join(
                part
                for part in (f"revision {problem.revision}" if problem.revision else "", problem.table or "")
                if part
            )
            lines.append(f"  {problem.kind}: {problem.detail}{f' ({place})' if place else ''}")
        if report.problem_count > len(report.problems):
            lines.append(f"  and {report.problem_count - len(report.problems)} more")
    return "\n".join(lines)


def _as_json(reports: list[LedgerReport], is_verified: bool) -> str:
    teams = [{**asdict(report), "verified": report.is_verified} for report in reports]
    return json.dumps({"verified": is_verified, "teams": teams}, ensure_ascii=False)


def _cannot_tell(reason: str) -> int:
    print(f"corrigenda verify-ledger: {reason}", file=sys.stderr)
    return ExitStatus.USAGE
