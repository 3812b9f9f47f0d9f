"""The deterministic scan that incoming text goes through before anything else sees it.

Work is linear in the length of the text: every loop moves forward over it, looks ahead by a constant, and the regular
expressions repeat nothing that repeats without bound.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from corrigenda_core.domain.evidence import ScanVerdict
from corrigenda_core.domain.time import TextSpan
from corrigenda_core.policy.scanning_rules import (
    ADDRESSEES,
    DENIALS,
    HIDING_MARKUP,
    IMAGE_ADDRESS,
    IMAGE_ADDRESS_CHARACTERS,
    IMAGE_OPENING,
    IMAGE_PLACEHOLDERS,
    IMAGE_TEXT_CHARACTERS,
    MARKERS,
    ORDER_AUXILIARIES,
    ORDER_OPENINGS,
    PHRASES,
    Phrase,
    ScanFamily,
)
from corrigenda_core.policy.scanning_text import (
    ESCAPE,
    ORDINARY_CONTROLS,
    Plain,
    Word,
    encoded_runs,
    from_base64,
    from_hexadecimal,
    is_invisible,
    without_escapes,
    words_of,
)

MAX_FINDINGS_SHOWN = 32

# Invisible characters: scripts and emoji need a few in a row, nothing needs a flood.
INVISIBLE_RUN_GUARDED = 4
INVISIBLE_RUN_QUARANTINED = 16
INVISIBLE_TOTAL_GUARDED = 16
INVISIBLE_SHARE_PERCENT = 25

_TAGS = range(0xE0000, 0xE0080)
_TAG_END, _FLAG = 0xE007F, 0x1F3F4
_BIDI_OVERRIDES = frozenset("\u202d\u202e")
# What Persian, Indic scripts and emoji are written with.
_JOINERS = frozenset("\u200c\u200d\ufe0f")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanFinding:
    """One thing that the scan found: its family, the name of the rule, where, and what it calls for."""

    family: ScanFamily
    rule: str
    span: TextSpan
    verdict: ScanVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanResult:
    """The verdict on a text, the strongest of its findings.

    ``findings`` are in the order of the text, at most `MAX_FINDINGS_SHOWN`, the strongest if there are more;
    ``findings_total`` counts all of them.
    """

    verdict: ScanVerdict
    findings: tuple[ScanFinding, ...]
    findings_total: int


def decide_scan(text: str) -> ScanResult:
    """Scans a text for what would steer a model that reads it (R2.7).

    The rules see the text as a reader does: invisible characters, accents, width and letter case make no difference,
    letters that only look Latin count as Latin inside a Latin word, and what decodes to prose is read as well. Spans
    are code points of the text as given.

    Returns:
        `quarantined` for what orders the reader about or hides an order, `guarded` for what deserves care, `pass` else.
    """
    plain = Plain.of(text)
    found = [*_read(plain), *_encoded(plain), *_controls(text), *_hidden_unicode(text)]
    found.sort(key=lambda finding: (finding.verdict is not ScanVerdict.QUARANTINED, *_place(finding)))
    shown = tuple(sorted(found[:MAX_FINDINGS_SHOWN], key=_place))
    return ScanResult(
        verdict=max((finding.verdict for finding in found), key=_STRENGTH.index, default=ScanVerdict.PASS),
        findings=shown,
        findings_total=len(found),
    )


_STRENGTH = [ScanVerdict.PASS, ScanVerdict.GUARDED, ScanVerdict.QUARANTINED]


def _place(finding: ScanFinding) -> tuple[int, int, str, str]:
    return finding.span.start, finding.span.end, finding.family, finding.rule


def _read(plain: Plain) -> Iterator[ScanFinding]:
    """What the rule lists find in readable text."""
    yield from _phrases(plain)
    # `lower` keeps the length: the one letter that it would lengthen has been decomposed.
    lowered = plain.text.lower()
    for marker in MARKERS:
        for start in _occurrences(lowered, marker.text):
            yield ScanFinding(
                family=marker.family,
                rule=marker.text,
                span=plain.span(start, start + len(marker.text)),
                verdict=marker.verdict,
            )
    yield from _hiding_markup(plain, lowered)
    yield from _image_addresses(plain, lowered)


def _occurrences(text: str, part: str) -> Iterator[int]:
    start = text.find(part)
    while start >= 0:
        yield start
        start = text.find(part, start + len(part))


_PHRASES_BY_OPENING: dict[str, list[Phrase]] = {}
for _phrase in PHRASES:
    for _opening in _phrase.steps[0]:
        _PHRASES_BY_OPENING.setdefault(_opening, []).append(_phrase)


def _phrases(plain: Plain) -> Iterator[ScanFinding]:
    words = words_of(plain.text)
    for place, word in enumerate(words):
        for phrase in _PHRASES_BY_OPENING.get(word.text, ()):
            verdict = phrase.as_order if _is_order(words, place) else phrase.otherwise
            if verdict is ScanVerdict.PASS or _is_denied(words, place):
                continue
            last = _last_word(words, place, phrase)
            if last is not None:
                yield ScanFinding(
                    family=phrase.family, rule=phrase.name, span=plain.span(word.start, last.end), verdict=verdict
                )


def _last_word(words: Sequence[Word], place: int, phrase: Phrase) -> Word | None:
    """The word that completes the phrase that begins at ``place``, the earliest one; ``None`` if nothing does."""
    sentence = words[place].sentence
    reached = {place}
    for step in phrase.steps[1:]:
        ahead = range(min(reached) + 1, min(max(reached) + phrase.gap + 2, len(words)))
        reached = {
            n
            for n in ahead
            if words[n].text in step
            and words[n].sentence == sentence
            and any(n - phrase.gap - 1 <= before < n for before in reached)
        }
        if not reached:
            return None
    return words[min(reached)]


def _is_order(words: Sequence[Word], place: int) -> bool:
    """Whether the word orders or asks the reader: it opens a clause, or what stands before it says so."""
    if words[place].begins_clause or words[place - 1].text in ORDER_OPENINGS:
        return True
    before = [word.text for word in words[max(0, place - 4) : place]]
    if before[-1] == "to":
        return "you" in before
    return before[-1] in ORDER_AUXILIARIES and not ADDRESSEES.isdisjoint(before[-2:-1])


def _is_denied(words: Sequence[Word], place: int) -> bool:
    return not words[place].begins_clause and words[place - 1].text in DENIALS


def _hiding_markup(plain: Plain, lowered: str) -> Iterator[ScanFinding]:
    for opening, hidden, within in HIDING_MARKUP:
        for start in _occurrences(lowered, opening):
            window = lowered[start : start + within]
            compact = "".join(window.split())
            if hidden in compact:
                yield ScanFinding(
                    family=ScanFamily.ROLE_MARKUP,
                    rule=f"{opening}{hidden}",
                    span=plain.span(start, start + len(opening)),
                    verdict=ScanVerdict.GUARDED,
                )


def _image_addresses(plain: Plain, lowered: str) -> Iterator[ScanFinding]:
    for start in _occurrences(lowered, IMAGE_OPENING):
        address = lowered.find(IMAGE_ADDRESS, start, start + IMAGE_TEXT_CHARACTERS)
        end = lowered.find(")", address, address + IMAGE_ADDRESS_CHARACTERS) if address >= 0 else -1
        if end >= 0 and any(mark in lowered[address:end] for mark in IMAGE_PLACEHOLDERS):
            yield ScanFinding(
                family=ScanFamily.TOOL_EXFILTRATION,
                rule="image_address_with_placeholder",
                span=plain.span(start, end + 1),
                verdict=ScanVerdict.GUARDED,
            )


def _encoded(plain: Plain) -> Iterator[ScanFinding]:
    """Prose in base64 or hexadecimal, and orders that are written in escapes."""
    family = ScanFamily.ENCODED_PAYLOAD
    for start, end, run in encoded_runs(plain.text):
        for decoded in (from_base64(run), from_hexadecimal(run)):
            if decoded is not None:
                verdict = ScanVerdict.QUARANTINED if _count_orders(decoded) else ScanVerdict.GUARDED
                yield ScanFinding(family=family, rule="encoded_prose", span=plain.span(start, end), verdict=verdict)
    escapes = [match.span() for match in ESCAPE.finditer(plain.text)]
    # Escapes are ordinary in addresses and code; what counts is an order that only the decoded text has.
    if escapes and _count_orders(without_escapes(plain.text)) > _count_orders(plain.text):
        span = plain.span(escapes[0][0], escapes[-1][1])
        yield ScanFinding(family=family, rule="escaped_order", span=span, verdict=ScanVerdict.QUARANTINED)


def _count_orders(text: str) -> int:
    return sum(1 for finding in _read(Plain.of(text)) if finding.verdict is ScanVerdict.QUARANTINED)


def _controls(text: str) -> Iterator[ScanFinding]:
    """Terminal controls: what a person sees differs from what a model reads."""
    yield from _runs(
        text,
        lambda c: unicodedata.category(c) == "Cc" and c not in ORDINARY_CONTROLS,
        lambda _: ScanVerdict.GUARDED,
        ScanFamily.ROLE_MARKUP,
        "control_characters",
    )


def _hidden_unicode(text: str) -> Iterator[ScanFinding]:
    if text.isascii():
        return
    family = ScanFamily.HIDDEN_UNICODE
    tags = _stray_tags(text)
    if tags:
        span = TextSpan(start=tags[0], end=tags[-1] + 1)
        yield ScanFinding(family=family, rule="tags", span=span, verdict=ScanVerdict.QUARANTINED)
    yield from _runs(text, _BIDI_OVERRIDES.__contains__, lambda _: ScanVerdict.GUARDED, family, "bidi_overrides")
    yield from _runs(text, lambda c: is_invisible(c) and ord(c) not in _TAGS, _verdict_on_run, family, "invisible_run")
    invisible = [n for n, c in enumerate(text) if c not in _JOINERS and is_invisible(c)]
    if len(invisible) > INVISIBLE_TOTAL_GUARDED and 100 * len(invisible) > INVISIBLE_SHARE_PERCENT * len(text):
        span = TextSpan(start=invisible[0], end=invisible[-1] + 1)
        yield ScanFinding(family=family, rule="invisible_share", span=span, verdict=ScanVerdict.GUARDED)


def _verdict_on_run(length: int) -> ScanVerdict:
    if length >= INVISIBLE_RUN_QUARANTINED:
        return ScanVerdict.QUARANTINED
    return ScanVerdict.GUARDED if length >= INVISIBLE_RUN_GUARDED else ScanVerdict.PASS


def _runs(
    text: str,
    belongs: Callable[[str], bool],
    verdict_on: Callable[[int], ScanVerdict],
    family: ScanFamily,
    rule: str,
) -> Iterator[ScanFinding]:
    """A finding for each run of characters that belong, unless its length is nothing to find."""
    start: int | None = None
    for place, character in enumerate(_ended(text)):
        if character is not None and belongs(character):
            start = place if start is None else start
        elif start is not None:
            verdict = verdict_on(place - start)
            if verdict is not ScanVerdict.PASS:
                yield ScanFinding(family=family, rule=rule, span=TextSpan(start=start, end=place), verdict=verdict)
            start = None


def _ended(text: str) -> Iterable[str | None]:
    yield from text
    yield None


def _stray_tags(text: str) -> list[int]:
    """Where tag characters stand outside the flags that are written with them (a flag, tags, the closing tag)."""
    stray: list[int] = []
    in_flag = False
    for place, character in enumerate(text):
        code = ord(character)
        if code not in _TAGS:
            in_flag = code == _FLAG
        elif not in_flag:
            stray.append(place)
        elif code == _TAG_END:
            in_flag = False
    return stray
