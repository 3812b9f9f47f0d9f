"""Which characters a text may have to be kept: what UTF-8 can hold, and the database."""

from __future__ import annotations

import re

_SURROGATE = re.compile("[\ud800-\udfff]")
_NEVER_KEPT = re.compile("[\x00\ud800-\udfff]")


def is_unicode(text: str) -> bool:
    """Whether a text has no unpaired surrogate: JSON can write one, and UTF-8 cannot."""
    return _SURROGATE.search(text) is None


def is_kept_as_it_is(text: str) -> bool:
    """Whether a text has neither an unpaired surrogate nor NUL, which no column of text takes."""
    return _NEVER_KEPT.search(text) is None


def apply_kept_characters(text: str) -> str:
    """The text as it can be kept: what cannot be is the replacement character, so that every offset stays."""
    return _NEVER_KEPT.sub("\ufffd", text)
