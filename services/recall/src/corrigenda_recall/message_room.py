"""How many texts fit into one message: the longest list of the longest texts would be larger than a message may be."""

from __future__ import annotations

from collections.abc import Iterable

from corrigenda_core.rpc.server import MESSAGE_BYTES_MAX

# The last quarter of a message is for what stands around the texts.
CONTENT_BYTES_MAX = MESSAGE_BYTES_MAX * 3 // 4


def fitting_count(contents: Iterable[str]) -> int:
    """How many of the texts, from the first on, fit; the first always does."""
    count = content_bytes = 0
    for content in contents:
        content_bytes += len(content.encode())
        if count > 0 and content_bytes > CONTENT_BYTES_MAX:
            break
        count += 1
    return count
