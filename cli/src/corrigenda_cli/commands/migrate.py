"""`corrigenda migrate`: brings the schema of a database to this version."""

from __future__ import annotations

import argparse
import os
import sys

from corrigenda_cli.database_source import URL_VARIABLE
from corrigenda_cli.exit_statuses import ExitStatus
from corrigenda_cli.help_text import add_command


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    parser = add_command(
        subparsers,
        "migrate",
        summary="bring the schema of a database to this version",
        description="Makes extensions and roles where they are missing and permitted, then applies the migrations. "
        "A login role gets the password that CORRIGENDA_PASSWORD_<ROLE> holds (for example "
        "CORRIGENDA_PASSWORD_INGEST); the others keep theirs.",
        examples=["corrigenda migrate --database-url postgresql://owner@localhost/corrigenda"],
    )
    parser.add_argument(
        "--database-url",
        default=os.environ.get(URL_VARIABLE, ""),
        help=f"URL of a role that may make extensions and roles (default: {URL_VARIABLE})",
    )
    parser.add_argument(
        "--distribute",
        action="store_true",
        help="then spread the tables over the nodes of the Citus cluster whose coordinator the URL names",
    )
    parser.add_argument(
        "--prepare",
        action="store_true",
        help="make extensions, roles and rights and no table: what a dump is restored into",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Migrates; exit status 0 done, 1 refused, 2 no URL."""
    import psycopg
    from corrigenda_core.persistence.distribution import DistributionRefused, check_cluster, distribute
    from corrigenda_core.persistence.migrate import MigrationRefused, migrate, prepare
    from corrigenda_core.persistence.roles import RolesRefused

    if options.prepare and options.distribute:
        print("--prepare makes no table that --distribute could spread", file=sys.stderr)
        return ExitStatus.USAGE
    if not options.database_url:
        print(f"set {URL_VARIABLE} or give --database-url", file=sys.stderr)
        return ExitStatus.USAGE
    prefix = "CORRIGENDA_PASSWORD_"
    passwords = {
        f"corrigenda_{name.removeprefix(prefix).lower()}": value
        for name, value in os.environ.items()
        if name.startswith(prefix) and value
    }
    try:
        if options.distribute:
            # A server that is no cluster is refused before anything is changed.
            with psycopg.connect(options.database_url, autocommit=True) as connection:
                check_cluster(connection)
        later = None
        if options.prepare:
            prepare(options.database_url, role_passwords=passwords)
        else:
            later = migrate(options.database_url, role_passwords=passwords)
        done = distribute(options.database_url) if options.distribute else None
    except (MigrationRefused, RolesRefused, DistributionRefused, psycopg.OperationalError) as problem:
        print(f"not migrated: {str(problem).strip()}", file=sys.stderr)
        return ExitStatus.FAILED
    print(_said(options.prepare, later))
    if done is not None:
        print(f"{len(done.tables)} tables newly distributed; the teams live on {done.nodes} nodes")
    return ExitStatus.DONE


def _said(is_prepared_alone: bool, later: str | None) -> str:
    if is_prepared_alone:
        return "ready for a dump to be restored"
    return "the schema is up to date" if later is None else f"a later release has made the schema: left at {later}"
