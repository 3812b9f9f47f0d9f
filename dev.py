#!/usr/bin/env python3
"""The one set-up command: makes the project's environment from the lock files, then runs what is asked for.

Standard library only, so that it runs on a bare machine with Python >= 3.11 and its venv module. Everything it
installs stays inside the checkout (``.dev`` for uv, ``.venv`` for the project); everything it says about itself goes to
standard error, so that a command's own output can be piped.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import os
import ssl
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent
UV_VERSION = "0.13.8"
UV_HOME = ROOT / ".dev" / "uv"
ENVIRONMENT = ROOT / ".venv"
MEMBERS = ["libs/core", "services/ingest", "services/conflict", "services/recall", "services/gateway", "cli"]

# Which lock file an environment is made from. The dev lock contains the runtime lock, so one environment serves both.
RUNTIME, DEV = "requirements.lock", "requirements-dev.lock"


def say(text: str) -> None:
    """Prints a progress line to standard error."""
    print(f"dev.py: {text}", file=sys.stderr, flush=True)


def run(*command: str | Path, env: dict[str, str] | None = None, quiet: bool = False) -> int:
    """Runs a command in the checkout and returns its exit status; ``quiet`` sends its output to standard error."""
    return subprocess.call(
        [str(part) for part in command],
        cwd=ROOT,
        env=env,
        stdout=sys.stderr if quiet else None,
    )


def must(*command: str | Path) -> None:
    """Runs a set-up command and ends this program with its status if it fails."""
    status = run(*command, env=_certificates() | _clean_environment(), quiet=True)
    if status != 0:
        say(f"failed with status {status}: {' '.join(str(part) for part in command)}")
        sys.exit(status)


def _clean_environment() -> dict[str, str]:
    """The caller's environment without what would change which code runs, or how fast it starts."""
    # A stack is half a dozen processes: without byte code, each of them would compile the same sources again.
    foreign = {"VIRTUAL_ENV", "PYTHONHOME", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}
    return {k: v for k, v in os.environ.items() if k not in foreign}


def _certificates() -> dict[str, str]:
    """Lets uv trust what the system trusts, as pip does: a company's proxy may sign with a certificate of its own."""
    known = ssl.get_default_verify_paths()
    return {"UV_SYSTEM_CERTS": "true"} if known.cafile or known.capath else {}


@contextlib.contextmanager
def set_up_lock() -> Iterator[None]:
    """One set-up at a time per checkout: two terminals may call this program at once."""
    (ROOT / ".dev").mkdir(exist_ok=True)
    with (ROOT / ".dev" / "lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def uv() -> Path:
    """The path of the pinned uv, installed into its own environment on first use."""
    stamp = UV_HOME / f".uv-{UV_VERSION}"
    if not stamp.exists():
        say(f"installing uv {UV_VERSION}")
        venv.create(UV_HOME, with_pip=True, clear=True)
        must(UV_HOME / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", f"uv=={UV_VERSION}")
        stamp.touch()
    return UV_HOME / "bin" / "uv"


def _fingerprint(lock: str) -> str:
    digest = hashlib.sha256(f"{sys.version_info[:2]}{ROOT}".encode())
    for name in [lock, *(f"{member}/pyproject.toml" for member in MEMBERS)]:
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def environment(lock: str) -> Path:
    """The project's environment, holding at least what ``lock`` lists; returns its Python interpreter."""
    python = ENVIRONMENT / "bin" / "python"
    with set_up_lock():
        # The dev environment serves runtime commands too: never shrink it.
        for candidate in {DEV, lock}:
            stamp = ENVIRONMENT / f".{candidate}.stamp"
            if python.exists() and stamp.exists() and stamp.read_text() == _fingerprint(candidate):
                return python
        say(f"making the environment from {lock}")
        if not python.exists():
            must(uv(), "venv", "--quiet", "--no-project", "--python", sys.executable, ENVIRONMENT)
        must(uv(), "pip", "sync", "--quiet", "--compile-bytecode", "--python", python, "--require-hashes", lock)
        editable = [part for member in MEMBERS for part in ("--editable", f"./{member}")]
        must(uv(), "pip", "install", "--quiet", "--python", python, "--no-deps", *editable)
        for stale in ENVIRONMENT.glob(".*.stamp"):
            stale.unlink()
        (ENVIRONMENT / f".{lock}.stamp").write_text(_fingerprint(lock))
    return python


def in_environment(lock: str, *command: str) -> int:
    """Runs ``python -m command...`` in the project's environment."""
    python = environment(lock)
    env = _clean_environment()
    env["PATH"] = f"{ENVIRONMENT / 'bin'}{os.pathsep}{env.get('PATH', '')}"
    arguments = [str(python), *command]
    if command[:2] == ("-m", "corrigenda_cli"):
        # The product's own command replaces this process: signals reach it directly, in the caller's own directory.
        os.execve(python, arguments, env)
    return run(*arguments, env=env)


def command_cli(*arguments: str) -> int:
    """Runs the corrigenda command and nothing else."""
    return in_environment(RUNTIME, "-m", "corrigenda_cli", *arguments)


def command_test(*arguments: str) -> int:
    """Runs the tests: ``--fast`` for the tier without a database, ``--full`` for the full counts, rest to pytest.

    A run of all tests measures the branch coverage of the pure core, too, and fails below the figure of pyproject.toml;
    it is shared by two processes, each with a server and a stack of its own, and a file's tests stay together.
    """
    rest = list(arguments)
    if all(argument == "--full" for argument in rest):
        rest += ["--cov", "--numprocesses=2", "--dist=loadfile"]
    if "--fast" in rest:
        rest.remove("--fast")
        rest += ["-m", "not database", "tests/unit", "tests/property", "tests/architecture", "tests/acceptance"]
    if "--full" in rest:
        rest.remove("--full")
        os.environ["CORRIGENDA_TEST_TIER"] = "full"
    return in_environment(DEV, "-m", "pytest", *rest)


def command_lint() -> int:
    """Formatting, lint, types and import contracts; the exit status is that of the first failure."""
    checks = [
        ("-m", "ruff", "format", "--check", "."),
        ("-m", "ruff", "check", "."),
        ("-m", "mypy"),
    ]
    status = 0
    for check in checks:
        say(" ".join(check[1:]))
        status = in_environment(DEV, *check) or status
    say("import contracts")
    return run(ENVIRONMENT / "bin" / "lint-imports", "--no-cache", quiet=True) or status


def command_format() -> int:
    """Formats the code and applies safe fixes."""
    status = in_environment(DEV, "-m", "ruff", "check", "--fix", ".")
    return in_environment(DEV, "-m", "ruff", "format", ".") or status


def command_generate(*arguments: str) -> int:
    """Generates the protobuf code from protos/; ``--check`` fails if the committed code differs."""
    return in_environment(DEV, "libs/core/generate.py", *arguments)


def command_contract() -> int:
    """Checks the protos: lint, format, and breaking changes against the last release tag if there is one."""
    environment(DEV)
    buf = ENVIRONMENT / "bin" / "buf"
    status = run(buf, "lint") or run(buf, "format", "--diff", "--exit-code")
    tag = subprocess.run(
        ["git", "describe", "--tags", "--abbrev=0", "--match", "v*"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    if tag:
        status = status or run(buf, "breaking", "--against", f".git#tag={tag}")
    return status


def command_rules(*arguments: str) -> int:
    """Derives docs/RULES.md from docstrings and test markers; ``--check`` fails if it is out of date."""
    return run(sys.executable, "docs/rules_index.py", *arguments)


def command_pages(*arguments: str) -> int:
    """Makes docs/ERRORS.md and docs/LIMITS.md from the code; ``--check`` fails if they are out of date."""
    return in_environment(DEV, "docs/reference_pages.py", *arguments)


def command_lock() -> int:
    """Resolves the dependencies anew and writes both lock files (hashes, no host names: docs/adr/0001)."""
    must(uv(), "lock", "--quiet", "--upgrade")
    common = ["export", "--quiet", "--frozen", "--no-emit-workspace", "--no-header", "--format", "requirements-txt"]
    must(uv(), *common, "--no-dev", "--output-file", RUNTIME)
    must(uv(), *common, "--output-file", DEV)
    return 0


def _peers_environment(lock: Path) -> Path:
    """An environment with what a benchmark compares with, apart from the project's; returns its Python interpreter."""
    home = ROOT / ".dev" / lock.stem
    python, stamp = home / "bin" / "python", home / ".stamp"
    wanted = hashlib.sha256(lock.read_bytes()).hexdigest()
    with set_up_lock():
        if not (stamp.exists() and stamp.read_text() == wanted):
            say(f"making the environment of {lock.name}")
            must(uv(), "venv", "--quiet", "--clear", "--no-project", "--python", sys.executable, home)
            must(uv(), "pip", "sync", "--quiet", "--python", python, "--require-hashes", lock)
            stamp.write_text(wanted)
    return python


def command_bench(*arguments: str) -> int:
    """Runs a benchmark: ``accuracy flight --data DIR``, ``perf remember``, ``quality mutation``; with ``--json``."""
    if len(arguments) < 2:
        say("bench AREA NAME [options]; the scripts are bench/AREA/NAME.py")
        return 2
    area, name, *rest = arguments
    script = ROOT / "bench" / area / f"{name}.py"
    if not script.is_file():
        say(f"there is no benchmark {area}/{name}")
        return 2
    if (lock := script.with_suffix(".lock")).is_file():
        os.environ["CORRIGENDA_BENCH_PYTHON"] = str(_peers_environment(lock))
    # The mutation run needs the tests' tools; measurements need what runs.
    return in_environment(DEV if area == "quality" else RUNTIME, str(script), *rest)


COMMANDS = {
    "up": (lambda *a: command_cli("up", *a), "start the whole embedded stack, until Ctrl-C"),
    "demo": (lambda *a: command_cli("demo", *a), "play the demonstration on a throw-away stack [--json]"),
    "test": (command_test, "run the tests [--fast | --full] [pytest arguments]"),
    "lint": (command_lint, "formatting, lint, types, import contracts"),
    "format": (command_format, "format the code"),
    "contract": (command_contract, "lint and check the protos"),
    "generate": (command_generate, "generate code from the protos [--check]"),
    "bench": (command_bench, "run a benchmark: bench AREA NAME [options]"),
    "corrigenda": (command_cli, "run the corrigenda command with the arguments given"),
    "rules": (command_rules, "derive docs/RULES.md [--check]"),
    "pages": (command_pages, "make docs/ERRORS.md and docs/LIMITS.md from the code [--check]"),
    "lock": (command_lock, "resolve the dependencies anew and write the lock files"),
}


def main() -> int:
    """Parses the command name and hands over the rest untouched."""
    parser = argparse.ArgumentParser(
        prog="dev.py",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Corrigenda: set-up and daily commands.",
        epilog="commands:\n" + "\n".join(f"  {name:<11} {text}" for name, (_, text) in COMMANDS.items()),
    )
    parser.add_argument("command", choices=[*COMMANDS, "help"], metavar="command")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    # Only the command name is ours: `dev.py test -k x` must reach pytest as it stands.
    options = parser.parse_args(sys.argv[1:2] or ["help"])
    if options.command == "help":
        parser.print_help()
        return 0
    function, _ = COMMANDS[options.command]
    return function(*sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
