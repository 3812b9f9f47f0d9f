"""Preview: what the policy would decide on a case if a setting of its team, or the time of the look, were another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from corrigenda_core.domain.evidence import Support
from corrigenda_core.domain.snapshots import CaseDecision, CaseSnapshot
from corrigenda_core.domain.time import Instant, require_instant
from corrigenda_core.policy.independence import decide_author_label
from corrigenda_core.policy.team_conflict import decide_case

REVIEW_PERIOD_DAYS = range(1, 31)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewedChange:
    """What is different in a preview; what is ``None`` stays as it is.

    ``review_period_days`` counts the deadline anew from the opening of the case, which no change of a team's policy
    does to a case that is open: a preview shows what a shorter period would have brought. ``at`` is the time of the
    look. ``trusts_declared_groups`` previews a team that trusts them: a declared group or key is a witness of its own.
    """

    review_period_days: int | None = None
    at: Instant | None = None
    trusts_declared_groups: bool = False

    def __post_init__(self) -> None:
        require_instant("at", self.at)
        if self.review_period_days is not None and self.review_period_days not in REVIEW_PERIOD_DAYS:
            raise ValueError(f"review_period_days must be 1..30, not {self.review_period_days}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CasePreview:
    """What is decided on a case as things are, and what would be decided."""

    now: CaseDecision
    previewed: CaseDecision


def decide_preview(snapshot: CaseSnapshot, opened_at: Instant, change: PreviewedChange) -> CasePreview:
    """Decides a case twice: as it is, and with the change.

    Args:
        snapshot: the case as it is.
        opened_at: when it was opened.
        change: what is different.
    """
    changed = apply_previewed_change(snapshot, opened_at, change)
    return CasePreview(now=decide_case(snapshot).decision, previewed=decide_case(changed).decision)


def apply_previewed_change(snapshot: CaseSnapshot, opened_at: Instant, change: PreviewedChange) -> CaseSnapshot:
    """The snapshot as it would be with the change."""
    due_at = snapshot.review_due_at
    if change.review_period_days is not None:
        due_at = opened_at + timedelta(days=change.review_period_days)
    changed = replace(snapshot, now=snapshot.now if change.at is None else change.at, review_due_at=due_at)
    if not change.trusts_declared_groups:
        return changed
    positions = tuple(
        replace(
            position,
            members=tuple(
                replace(member, supports=tuple(map(_trusted, member.supports))) for member in position.members
            ),
        )
        for position in changed.positions
    )
    return replace(changed, positions=positions)


def _trusted(support: Support) -> Support:
    """A support without its author's own label; a text without group and key has no other one."""
    if support.source_group is None and support.source_key is None:
        return support
    own = decide_author_label(support.author)
    return replace(support, inherited_labels=tuple(one for one in support.inherited_labels if one != own))
