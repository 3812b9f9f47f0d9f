"""Notices: what happened to conflicts that people and programs outside the team's own work are told of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from corrigenda_core.domain.cases import CaseAction, CaseKind, CaseStatus
from corrigenda_core.domain.ids import ConflictId, EventId, ItemId, ProfileId, TeamId
from corrigenda_core.domain.items import ItemKind
from corrigenda_core.domain.time import Moment


class NoticeKind(StrEnum):
    """What is told, by the names that messages and metrics use."""

    CONFLICT_OPENED = "conflict.opened"
    CONFLICT_OVERDUE = "conflict.overdue"
    CONFLICT_RESOLVED = "conflict.resolved"
    CONFLICT_DISMISSED = "conflict.dismissed"
    CONFLICT_ATTEMPTS_EXHAUSTED = "conflict.attempts_exhausted"
    WINNER_WITHDRAWN = "item.winner_withdrawn"


NOTICED_ACTIONS: Mapping[CaseAction, NoticeKind] = MappingProxyType(
    {
        CaseAction.OPENED: NoticeKind.CONFLICT_OPENED,
        CaseAction.MARKED_OVERDUE: NoticeKind.CONFLICT_OVERDUE,
        CaseAction.RESOLVED: NoticeKind.CONFLICT_RESOLVED,
        CaseAction.DISMISSED: NoticeKind.CONFLICT_DISMISSED,
        CaseAction.ALERTED: NoticeKind.CONFLICT_ATTEMPTS_EXHAUSTED,
    }
)
"""Events of cases that are told; a case that is joined or refreshed is as live as before."""

NOTICED_ITEMS: Mapping[ItemKind, NoticeKind] = MappingProxyType(
    {ItemKind.WINNER_WITHDRAWN: NoticeKind.WINNER_WITHDRAWN}
)
"""Questions that are told when they are asked; the others are answers to what their owner has just sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseNotice:
    """An event of a case. No text of anybody's: what is sent out of the store can never be erased there."""

    kind: NoticeKind
    team_id: TeamId
    event_id: EventId
    moment: Moment
    conflict_id: ConflictId
    case_kind: CaseKind
    status: CaseStatus
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemNotice:
    """A question that its owner was asked."""

    kind: NoticeKind
    team_id: TeamId
    item_id: ItemId
    moment: Moment
    owner_id: ProfileId


Notice = CaseNotice | ItemNotice
