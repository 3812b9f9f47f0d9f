"""Where settings are read from: the environment, by one prefix, once, and never shown in an error."""

from __future__ import annotations

import sys
from typing import TypeVar

from pydantic import ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

EXIT_USAGE = 2

Settings = TypeVar("Settings", bound=BaseSettings)

SETTINGS_SOURCE = SettingsConfigDict(
    env_prefix="CORRIGENDA_",
    env_ignore_empty=True,
    extra="ignore",
    frozen=True,
    hide_input_in_errors=True,
    populate_by_name=True,
)


def told(problem: ValidationError) -> str:
    """What is wrong with settings, by their names, and nothing of what was set."""
    words = []
    for one in problem.errors(include_input=False, include_url=False):
        names = [f"CORRIGENDA_{part}".upper() for part in one["loc"]]
        words.append(" ".join([*names, one["msg"].removeprefix("Value error, ")]))
    return "; ".join(words)


def read_settings(kind: type[Settings]) -> Settings:
    """The settings of a process; one that cannot start with them says why in one line and ends with status 2."""
    try:
        return kind()
    except ValidationError as problem:
        print(f"not started: {told(problem)}", file=sys.stderr)
        sys.exit(EXIT_USAGE)
