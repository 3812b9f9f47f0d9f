"""Reads the time bounds that the words of a text state: a governing word, and the words that name a time after it.

| words | bound |
|---|---|
| since, as of, as from, from, starting, beginning, effective (also "starting in", "effective from", ...) | start |
| until, up until, till, 'til | end, at the first instant that the words name |
| through, thru, up to and including, until and including, or "inclusive" after an end | end, after the words' last |
| from ... to, from ... – (or another start word) | start, and an end after the last instant of the second words |
| from ... until, from ... through | start, and an end as that word says |
| between ... and | the same as from ... to |

An exact instant has no last one: whatever the word, the end is at it.

The named time must follow directly: "since early 2026", "until the end of March 2026", "since before 2020" state
nothing that could be told exactly. Neither does a date after any other word ("on", "in", "by", "before", "after"), nor
a date that is the subject of a clause of its own ("since 1 March 2026 is a Sunday"), nor a negated word ("not until
1 March 2026"). Of two bounds that leave no time between (from 5 May to 1 March) neither is taken. Four digits are a
year only if they do not seem to count or measure something ("from 2000 to 2050 requests").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from corrigenda_core.domain.time import Instant, Side, TextSpan, TimeBound
from corrigenda_core.policy.calendar_days import MICROSECOND
from corrigenda_core.policy.date_words import GAP, NamedTime, decide_named_time

_INCLUSIVE = rf"through|thru|(?:until|up{GAP}to|to){GAP}and{GAP}including"
_EXCLUSIVE = rf"(?:up{GAP})?until|till|['’]?til"

_GOVERNING = re.compile(
    r"(?<![\w-])(?:(?P<between>between)"
    rf"|(?P<start>since|as{GAP}(?:of|from)|from|(?:starting|beginning)(?:{GAP}(?:from|on|in|as{GAP}of))?"
    rf"|effective(?:{GAP}(?:as{GAP}of|as{GAP}from|from|on|in|since))?)"
    rf"|(?P<inclusive>{_INCLUSIVE})|(?P<exclusive>{_EXCLUSIVE})):?{GAP}",
    re.IGNORECASE,
)
# What leads from a start to its end, and from the first time after "between" to the second.
_LEADING_ON = re.compile(
    rf",?{GAP}(?P<word>(?P<inclusive>{_INCLUSIVE}|(?:up{GAP})?to|[-–—])|{_EXCLUSIVE}):?{GAP}", re.IGNORECASE
)
_AND = re.compile(rf",?{GAP}(?P<word>(?P<inclusive>and)){GAP}", re.IGNORECASE)
_WHETHER_INCLUDED = re.compile(rf"(?:,?{GAP}|{GAP}\()(?:(?P<inclusive>inclusive)|exclusive)(?:ly)?\b\)?", re.IGNORECASE)

_NEGATION_BEFORE = re.compile(rf"(?:\b(?:not|never)|n['’]t){GAP}$", re.IGNORECASE)
_NEGATION_LENGTH = 16

# "Since 1 March 2026 is a Sunday": the date is a subject and "since" gives a reason.
_VERB_OF_DATE = re.compile(
    rf"{GAP}(?:is|isn['’]t|was|wasn['’]t|will|would|has|had|marks|marked|falls|fell|becomes|became|sees|saw)\b",
    re.IGNORECASE,
)

# Words that show that four digits count or measure something: a unit or a plural after them, a change before them.
_COUNTED = re.compile(
    rf"{GAP}(?:(?!(?:has|does|its|always|sometimes|perhaps)\b)[a-z]{{2,}}[^\W\disu]s\b"
    r"|(?i:[kmgt]?i?b|[kmg]?hz|percent|people|rpm|usd|eur|km|kg|px|ms)\b)"
)
_CHANGED = re.compile(
    r"\b(?:(?:increas|decreas|reduc|rais|ris|chang|upgrad|downgrad|migrat|mov|scal|convert|expand|shrink|bump|switch|lower"
    r"|grow|fall|dropp?)(?:e?[sdn]?|ing)|grew|rose|fell|shrank|shrunk|went|go(?:es|ne)?)"
    r"(?:[^\S\n]+[\w'’-]+){0,5}[^\S\n]+$",
    re.IGNORECASE,
)
_CHANGE_LENGTH = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class _Phrase:
    """A governing word at ``start`` with the time that it governs; ``end`` is the position after both."""

    side: Side
    start: int
    end: int
    named: NamedTime
    inclusive: bool = False

    @property
    def at(self) -> Instant:
        # Nothing lies inside an exact instant: "from 8:00 to 10:00" and "from 10:00" meet, and do not overlap.
        is_instant = self.named.whole.end - self.named.whole.start == MICROSECOND
        return self.named.whole.end if self.inclusive and not is_instant else self.named.whole.start


def decide_time_bounds(text: str, zone: tzinfo, *, mentions: Sequence[TextSpan] = ()) -> tuple[TimeBound, ...]:
    """The time bounds that ``text`` states, in the order of the text (R3.4); see the module for the words.

    Args:
        text: any text; offsets are its Unicode code points.
        zone: the team's zone, for words without an offset. Of times that its clocks skip or repeat, see
            `calendar_days.decide_wall_clock_instant`.
        mentions: spans in which a subject or an object is named: words in them are names ("deploys from 2026-03-01",
            a branch) and no times.

    Returns:
        Bounds whose span covers the governing word and the words that name the time; spans do not overlap.
    """
    source = _Source(text=text, zone=zone, mentions=tuple(mentions))
    return tuple(
        TimeBound(
            side=phrase.side,
            whole=phrase.named.whole,
            at=phrase.at,
            span=TextSpan(start=phrase.start, end=phrase.end),
        )
        for phrase in _stated(source)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A text with what is needed to read the times in it."""

    text: str
    zone: tzinfo
    mentions: tuple[TextSpan, ...]

    def named_time(self, position: int) -> NamedTime | None:
        named = decide_named_time(self.text, position, self.zone)
        if named is None or any(mention.start < named.end and position < mention.end for mention in self.mentions):
            return None
        return named


def _stated(source: _Source) -> Iterator[_Phrase]:
    position = 0
    while (word := _GOVERNING.search(source.text, position)) is not None:
        phrases = _phrases(source, word)
        position = phrases[-1].end if phrases else word.end()
        if phrases and _is_stated(source.text, word, phrases):
            yield from phrases


def _phrases(source: _Source, word: re.Match[str]) -> tuple[_Phrase, ...]:
    """The time after a governing word, and for a start also the end that follows it; nothing if none can be read."""
    named = source.named_time(word.end())
    if named is None:
        return ()
    if word["start"] is None and word["between"] is None:
        return (_end_phrase(source.text, word.start(), named, inclusive=word["inclusive"] is not None),)
    start = _Phrase(side=Side.START, start=word.start(), end=named.end, named=named)
    lead = (_LEADING_ON if word["between"] is None else _AND).match(source.text, named.end)
    last = source.named_time(lead.end()) if lead is not None else None
    if lead is None or last is None:
        return (start,) if word["between"] is None else ()
    return start, _end_phrase(source.text, lead.start("word"), last, inclusive=lead["inclusive"] is not None)


def _end_phrase(text: str, start: int, named: NamedTime, *, inclusive: bool) -> _Phrase:
    end, said = named.end, _WHETHER_INCLUDED.match(text, named.end)
    if said is not None:
        end, inclusive = said.end(), said["inclusive"] is not None
    return _Phrase(side=Side.END, start=start, end=end, named=named, inclusive=inclusive)


def _is_stated(text: str, word: re.Match[str], phrases: tuple[_Phrase, ...]) -> bool:
    """Whether the words can only be read as bounds."""
    first, last = phrases[0], phrases[-1]
    if first is not last and last.at <= first.at:
        return False
    if _NEGATION_BEFORE.search(text, max(0, word.start() - _NEGATION_LENGTH), word.start()):
        return False
    start_word = (word["start"] or "").lower()
    if start_word == "since" and _VERB_OF_DATE.match(text, last.end):
        return False
    if last.named.bare_year and _COUNTED.match(text, last.end):
        return False
    is_change = word["between"] is not None or start_word == "from"
    return not (
        is_change
        and first.named.bare_year
        and _CHANGED.search(text, max(0, word.start() - _CHANGE_LENGTH), word.start())
    )
