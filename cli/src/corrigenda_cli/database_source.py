"""Which database an operator's command looks into: that of a stack on this machine, or one that a URL names."""

from __future__ import annotations

import argparse
import os
import uuid
from pathlib import Path

URL_VARIABLE = "CORRIGENDA_DATABASE_URL"
PEPPER_VARIABLE = "CORRIGENDA_KEY_PEPPER"


class NoDatabase(Exception):
    """No database is named, or not rightly; the message says what to do."""


def add_database_options(parser: argparse.ArgumentParser, role: str) -> None:
    """Adds ``--directory`` and ``--database-url``, for a command that connects as ``role``."""
    parser.add_argument(
        "--directory",
        type=Path,
        metavar="DIR",
        help="the directory of a stack that `corrigenda up` runs on this machine, instead of a URL",
    )
    parser.add_argument(
        "--database-url",
        default=os.environ.get(URL_VARIABLE, ""),
        help=f"URL of the role {role} (default: {URL_VARIABLE})",
    )


def database_url(options: argparse.Namespace, role: str) -> str:
    """The URL that the options of `add_database_options` say.

    Raises:
        NoDatabase: no stack has run in the directory, or one of before the role; or nothing is named.
    """
    # It loads what a stack needs, which most commands do without.
    from corrigenda_cli.stack import kept_role_url

    if options.directory is not None:
        try:
            return kept_role_url(options.directory, role)
        except (FileNotFoundError, KeyError):
            raise NoDatabase(f"no stack has run in {options.directory}") from None
    if not options.database_url:
        raise NoDatabase(f"set {URL_VARIABLE} or give --directory or --database-url, the URL of the role {role}")
    url: str = options.database_url
    return url


def key_pepper(options: argparse.Namespace) -> str:
    """The secret of the services that use the database which the options of `add_database_options` say.

    Raises:
        NoDatabase: no stack has run in the directory, or the variable is not set.
    """
    from corrigenda_cli.stack import kept_key_pepper

    if options.directory is not None:
        try:
            return kept_key_pepper(options.directory)
        except FileNotFoundError:
            raise NoDatabase(f"no stack has run in {options.directory}") from None
    pepper = os.environ.get(PEPPER_VARIABLE, "")
    if not pepper:
        raise NoDatabase(f"set {PEPPER_VARIABLE} to what the services have")
    return pepper


def id_argument(text: str) -> str:
    """The ``type`` of an option that takes an id."""
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no id") from None
