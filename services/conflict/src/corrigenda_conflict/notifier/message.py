"""The body of a message: ids, kinds, numbers and times of what happened, and no text that anybody wrote.

What leaves the store cannot be erased where it arrives, and a receiver may be one whom the team shows less than its
members. So a message says *that* something happened and where; what it says is read with a key, under the rights of
that key, by GetConflict or ListReviewItems.
"""

from __future__ import annotations

import json
from datetime import UTC
from typing import assert_never

from corrigenda_core.domain.notices import CaseNotice, ItemNotice, Notice
from corrigenda_core.domain.time import Instant

BODY_BYTES_MAX = 1024


def body_of(notice: Notice) -> bytes:
    """The message as JSON, the same bytes at every attempt."""
    message = {"type": notice.kind.value, "timestamp": _time(notice.moment.at), "data": _data(notice)}
    return json.dumps(message, sort_keys=True, separators=(",", ":")).encode("ascii")


def _data(notice: Notice) -> dict[str, object]:
    common = {"team_id": notice.team_id, "revision": notice.moment.revision}
    match notice:
        case CaseNotice():
            return {
                **common,
                "event_id": notice.event_id,
                "conflict_id": notice.conflict_id,
                "conflict_kind": notice.case_kind.value,
                "status": notice.status.value,
                "version": notice.version,
            }
        case ItemNotice():
            return {**common, "item_id": notice.item_id, "owner_profile_id": notice.owner_id}
        case never:
            assert_never(never)


def _time(instant: Instant) -> str:
    return instant.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
