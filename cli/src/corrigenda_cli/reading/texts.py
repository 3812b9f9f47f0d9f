"""Texts and JSON from an argument, a file or standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, BinaryIO

from corrigenda_cli.calling import InputError, json_object

STANDARD_INPUT = "-"
# What a call can hold; a longer file is refused before it is read whole.
BYTES_MAX = 4 * 1024 * 1024


def text_of(path: str) -> str:
    """The text of a file, or of standard input if the path is ``-``; byte for byte, line ends too.

    Raises:
        InputError: it cannot be read, is no UTF-8, or is longer than a call can be.
    """
    try:
        if path == STANDARD_INPUT:
            data = sys.stdin.buffer.read(BYTES_MAX + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(BYTES_MAX + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    if len(data) > BYTES_MAX:
        raise InputError(f"{path} is longer than {BYTES_MAX} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no UTF-8 text: {error.reason} at byte {error.start}") from error


def json_of(path: str) -> dict[str, Any]:
    """The JSON object in a file, or on standard input if the path is ``-``.

    Raises:
        InputError: as `text_of`, and for what is no JSON object.
    """
    return json_object(text_of(path))


def opened(path: str) -> BinaryIO:
    """A file to read line by line, or standard input if the path is ``-``.

    Raises:
        InputError: it cannot be opened.
    """
    if path == STANDARD_INPUT:
        return sys.stdin.buffer
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
