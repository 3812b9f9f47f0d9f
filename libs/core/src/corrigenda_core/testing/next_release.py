"""``python -m corrigenda_core.testing.next_release FOLDER``: migrates a database on to a next release that is a folder.

The database is that of ``CORRIGENDA_DATABASE_URL``. Tests name this command, or the real next release's own, in
``CORRIGENDA_TEST_NEXT_MIGRATION``: then all of them run this release's processes on the next one's schema.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from corrigenda_core.persistence.migrate import migrate

COMMAND_VARIABLE = "CORRIGENDA_TEST_NEXT_MIGRATION"


def migrate_on(url: str) -> None:
    """Runs the command that the environment names, if it names one, on the database of a superuser's URL."""
    if command := os.environ.get(COMMAND_VARIABLE):
        subprocess.run(shlex.split(command), env={**os.environ, "CORRIGENDA_DATABASE_URL": url}, check=True)


if __name__ == "__main__":
    migrate(os.environ["CORRIGENDA_DATABASE_URL"], next_versions=Path(sys.argv[1]).resolve())
