"""Judging: what a judge is asked about a pair of one owner's statements, what it answers, and what that is worth."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from corrigenda_core.domain.ids import ItemId, RelationshipId
from corrigenda_core.domain.objects import Polarity
from corrigenda_core.domain.resolutions import DecisionRecord, Resolution
from corrigenda_core.domain.time import Instant, KnownBound, require_instant

MOST_OTHERS = 6
"""How many other living statements of the subject a question shows at most."""


class Verdict(StrEnum):
    """What a judge can say about a pair."""

    SAME = "same"
    KEEP_NEW = "keep_new"
    KEEP_EXISTING = "keep_existing"
    KEEP_BOTH = "keep_both"
    CONTRADICTS = "contradicts"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSide:
    """One side as the judge sees it, with all its times; ``excerpts`` are the cited texts with their surroundings.

    ``start`` is its earliest known start. There is no score.
    """

    relationship_id: RelationshipId
    value: str
    polarity: Polarity
    start: KnownBound | None
    end: KnownBound | None
    stated_start: Instant | None
    witness_at: Instant
    recorded_at: Instant
    sources: tuple[str, ...] = ()
    excerpts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("stated_start", "witness_at", "recorded_at"):
            require_instant(name, getattr(self, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeQuestion:
    """A pair that excludes each other; ``others`` are up to six other living statements of the subject, in words.

    ``subject``, ``predicate`` and ``scope`` are what both sides speak of, as they are shown.
    """

    item_id: ItemId
    item_version: int
    incoming: JudgedSide
    opposing: JudgedSide
    others: tuple[str, ...] = ()
    subject: str = ""
    predicate: str = ""
    scope: str = ""

    def __post_init__(self) -> None:
        if len(self.others) > MOST_OTHERS:
            raise ValueError(f"a question shows at most {MOST_OTHERS} other statements, not {len(self.others)}")

    @property
    def sides(self) -> tuple[JudgedSide, JudgedSide]:
        """Both sides."""
        return self.incoming, self.opposing


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAnswer:
    """What a judge answered, as it came: none of it is trusted.

    ``kept_id`` is the side that it would keep, ``excerpt`` the words of a cited text that decide.
    """

    verdict: str
    judge: str
    model: str = ""
    reason: str = ""
    kept_id: str | None = None
    excerpt: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What an answer is worth: the verdict, and what it says to do, if it says so.

    ``problem`` is why an answer counts as `unsure` although it says something else.
    """

    verdict: Verdict
    answer: JudgeAnswer
    resolution: Resolution | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A judge's earlier look at an item that changed nothing, and when it was."""

    record: DecisionRecord
    at: Instant
