"""How the scan sees a text: without disguise, as words, and with what it encodes made readable."""

from __future__ import annotations

import base64
import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from corrigenda_core.domain.time import TextSpan
from corrigenda_core.policy.scanning_rules import LOOKALIKES

# Prose hidden in an encoding: shorter runs hold no sentence; identifiers, hashes and keys decode to no prose.
MIN_PROSE_SPACES = 3

WORD = re.compile(r"\w+|@")
BASE64_RUN = re.compile(r"[A-Za-z0-9+/_-]{24,}")
HEX_RUN = re.compile(r"[0-9A-Fa-f]+")
ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|&#[0-9]{1,7};|&#x[0-9A-Fa-f]{1,6};")

ORDINARY_CONTROLS = frozenset("\t\n\r\f")
_WITHOUT_LINES = str.maketrans("", "", "\t\n\r\f")
_STANDARD_BASE64 = str.maketrans("-_", "+/")
_ASCII_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_SENTENCE_ENDS = frozenset(".!?\n")
_CLAUSE_MARKS = frozenset(".!?\n:;,\"'“”‘’`([{<>*#|–—")
# Letters and symbols that render as nothing, besides the format characters of Unicode.
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
_VARIATION_SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0), range(0x180B, 0x1810))


@dataclass(frozen=True, slots=True)
class Plain:
    """A text without what hides its letters; ``origin`` says for each character which one it comes from."""

    text: str
    origin: Sequence[int]

    @classmethod
    def of(cls, text: str) -> Plain:
        """The plain form of a text."""
        if text.isascii() and text.translate(_WITHOUT_LINES).isprintable():
            return cls(text, range(len(text)))
        characters: list[str] = []
        origin: list[int] = []
        for place, character in enumerate(text):
            for part in unicodedata.normalize("NFKD", character):
                if not is_invisible(part) and unicodedata.category(part) != "Mn":
                    characters.append(part)
                    origin.append(place)
        return cls("".join(characters), origin)

    def span(self, start: int, end: int) -> TextSpan:
        """The span of the original text that these characters come from; ``start < end``."""
        return TextSpan(start=self.origin[start], end=self.origin[end - 1] + 1)


@dataclass(frozen=True, slots=True)
class Word:
    """A word with its place in the text, the sentence it stands in, and whether a clause begins with it."""

    text: str
    start: int
    end: int
    sentence: int
    begins_clause: bool


def is_invisible(character: str) -> bool:
    """Whether a character renders as nothing, or steers rendering; tabs and line ends do not count."""
    if character in _BLANKS or any(ord(character) in selectors for selectors in _VARIATION_SELECTORS):
        return True
    return unicodedata.category(character) in {"Cf", "Cc"} and character not in ORDINARY_CONTROLS


def words_of(text: str) -> list[Word]:
    """The words of a text, case-folded, with Latin letters for those that only look like them."""
    words: list[Word] = []
    sentence = 0
    end = 0
    for match in WORD.finditer(text):
        between = text[end : match.start()]
        if _ends_sentence(between):
            sentence += 1
        word = match.group().casefold()
        if not _ASCII_LETTERS.isdisjoint(word):
            word = word.translate(LOOKALIKES)
        begins_clause = not words or not _CLAUSE_MARKS.isdisjoint(between)
        words.append(Word(word, match.start(), match.end(), sentence, begins_clause))
        end = match.end()
    return words


def _ends_sentence(between: str) -> bool:
    """Whether what stands between two words ends a sentence: a mark and then space, or an empty line."""
    return between.count("\n") > 1 or (not _SENTENCE_ENDS.isdisjoint(between.strip()) and between[-1:].isspace())


def encoded_runs(text: str) -> Iterator[tuple[int, int, str]]:
    """Runs of the base64 alphabet; those that only a line end parts are one."""
    pieces: list[re.Match[str]] = []
    for match in BASE64_RUN.finditer(text):
        if pieces and text[pieces[-1].end() : match.start()] not in {"\n", "\r\n"}:
            yield _joined(pieces)
            pieces = []
        pieces.append(match)
    if pieces:
        yield _joined(pieces)


def _joined(pieces: Sequence[re.Match[str]]) -> tuple[int, int, str]:
    return pieces[0].start(), pieces[-1].end(), "".join(piece.group() for piece in pieces)


def from_base64(run: str) -> str | None:
    """What a run of the base64 alphabet (either one) decodes to, if that is prose; a cut-off end is left out."""
    standard = run.translate(_STANDARD_BASE64)
    whole = standard[:-1] if len(standard) % 4 == 1 else standard
    return _prose(base64.b64decode(whole + "=" * (-len(whole) % 4)))


def from_hexadecimal(run: str) -> str | None:
    """What a run of hexadecimal digits decodes to, if that is prose."""
    digits = run.removeprefix("0x")
    if not HEX_RUN.fullmatch(digits):
        return None
    return _prose(bytes.fromhex(digits[: len(digits) // 2 * 2]))


def _prose(data: bytes) -> str | None:
    """The bytes as text if they are prose: UTF-8 that can be printed, with several words; the end may be cut off."""
    text = data.decode("utf-8", errors="replace").rstrip("\ufffd")
    printable = "".join(text.split()).isprintable() and "\ufffd" not in text
    return text if printable and text.count(" ") >= MIN_PROSE_SPACES else None


def without_escapes(text: str) -> str:
    """The text with percent, backslash and HTML escapes of single characters replaced by what they stand for."""
    return ESCAPE.sub(_unescaped, text)


def _unescaped(match: re.Match[str]) -> str:
    escape = match.group()
    if escape.startswith("&"):
        return html.unescape(escape)
    return chr(int(escape.lstrip("%\\xu"), 16))
