"""Numbers with units in a normal form: exact decimals, in the base unit where a unit can be converted.

Base units: seconds (s), bytes (B), hertz (Hz), percent (%). A week is seven days and a day 86,400 seconds; months and
years have no fixed length and are units of their own, as is every unit that is not listed: equal only to itself.
Symbols are case-sensitive, words are not. KB is read as kB: 1,000 bytes. What people write for two units stays a unit
of its own ("Mb" and "mb" for megabits and megabytes, "m" for minutes and metres).
"""

from __future__ import annotations

import decimal
import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal

from corrigenda_core.domain.errors import Reason, Refusal

MAX_NUMBER_DIGITS = 64
MAX_UNIT_CODE_POINTS = 32

# Exact or not at all: an operation that would round raises instead.
_EXACT = decimal.Context(prec=4 * MAX_NUMBER_DIGITS, traps=[decimal.Inexact, decimal.InvalidOperation])

# A group separator is read only where it cannot be a decimal comma: "1,234,567" and "1,234.5", but not "1,234".
_NUMBER = re.compile(
    r"(?P<sign>[+-]?)"
    r"(?P<whole>[0-9]{1,3}(?:,[0-9]{3}){2,}|[0-9]{1,3}(?:,[0-9]{3})+(?=\.[0-9])|[0-9]{1,3}(?:[ _][0-9]{3})+|[0-9]+)?"
    r"(?:\.(?P<fraction>[0-9]+))?(?:e(?P<exponent>[+-]?[0-9]{1,3}))?(?![0-9.,])\s?(?P<unit>.*)",
    re.IGNORECASE,
)

# Base unit, how many of it, symbols as they are written, words in any case.
_UNITS = (
    ("s", "1e-9", "ns", "nanosecond, nanoseconds"),
    ("s", "1e-6", "us, μs", "microsecond, microseconds"),
    ("s", "1e-3", "ms", "millisecond, milliseconds, msec"),
    ("s", "1", "s", "second, seconds, sec, secs"),
    ("s", "60", "min", "minute, minutes, mins"),
    ("s", "3600", "h", "hour, hours, hr, hrs"),
    ("s", "86400", "d", "day, days"),
    ("s", "604800", "wk", "week, weeks"),
    ("B", "1", "B", "byte, bytes"),
    ("B", "1e3", "kB, KB", "kilobyte, kilobytes"),
    ("B", "1e6", "MB", "megabyte, megabytes"),
    ("B", "1e9", "GB", "gigabyte, gigabytes"),
    ("B", "1e12", "TB", "terabyte, terabytes"),
    ("B", "1e15", "PB", "petabyte, petabytes"),
    ("B", "1024", "KiB", "kib, kibibyte, kibibytes"),
    ("B", "1048576", "MiB", "mib, mebibyte, mebibytes"),
    ("B", "1073741824", "GiB", "gib, gibibyte, gibibytes"),
    ("B", "1099511627776", "TiB", "tib, tebibyte, tebibytes"),
    ("B", "1125899906842624", "PiB", "pib, pebibyte, pebibytes"),
    ("B", "0.125", "bit", "bits"),
    ("B", "125", "kbit", "kilobit, kilobits"),
    ("B", "125e3", "Mbit", "megabit, megabits"),
    ("B", "125e6", "Gbit", "gigabit, gigabits"),
    ("B", "125e9", "Tbit", "terabit, terabits"),
    ("Hz", "1", "Hz", "hertz"),
    ("Hz", "1e3", "kHz", "kilohertz"),
    ("Hz", "1e6", "MHz", "megahertz"),
    ("Hz", "1e9", "GHz", "gigahertz"),
    ("%", "1", "%", "percent, per cent, pct"),
    ("%", "0.1", "‰", "permille, per mille"),
)
_SYMBOLS = {name: (base, Decimal(factor)) for base, factor, names, _ in _UNITS for name in names.split(", ")}
_WORDS = {name: (base, Decimal(factor)) for base, factor, _, names in _UNITS for name in names.split(", ")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number in normal form: plain decimal digits without exponent or superfluous zeros, and its base unit."""

    number: str
    unit: str


def decide_quantity(text: str, *, stated_unit: str, predicate_unit: str, field: str) -> Quantity:
    """The normal form of the number that ``text`` writes, with a unit behind it or beside it.

    The unit is the one in the text, else ``stated_unit``, else ``predicate_unit``; empty means none.

    Raises:
        Refusal: INVALID_FIELD naming ``<field>.text`` or ``<field>.unit``: no number; one whose separators can be read
            twice ("1,234"); text and ``stated_unit`` say different units; a unit that cannot be converted to that of
            the predicate. TOO_LARGE: more digits than `MAX_NUMBER_DIGITS`, counted as plain decimal.
    """
    plain = _plain(text)
    found = _NUMBER.fullmatch(plain)
    if found is None or not (found["whole"] or found["fraction"]) or not _is_unit(found["unit"]):
        raise _refusal(f"{field}.text", "a decimal number that can be read in one way, such as 1234.5")
    written, stated = found["unit"], _unit_form(stated_unit)
    if not _is_unit(stated):
        raise _refusal(f"{field}.unit", "a unit, such as ms")
    if written and stated and _base(written) != _base(stated):
        raise _refusal(f"{field}.unit", f"the unit that the text has ({written})")
    unit = written or stated or _unit_form(predicate_unit)
    base, factor = _base(unit)
    if predicate_unit and base != _base(_unit_form(predicate_unit))[0]:
        raise _refusal(f"{field}.unit", f"a unit that can be converted to {predicate_unit}, which {unit} can not")
    amount = _EXACT.multiply(_decimal(found, field), factor)
    return Quantity(number=_digits(amount), unit=base)


def _plain(text: str) -> str:
    """``text`` in compatibility form with single spaces, decimal digits of any script as ASCII, a real minus as "-"."""
    for before, character in zip(" " + text, text, strict=False):
        if unicodedata.category(character) == "No" and not before.isalpha():
            return ""  # "10²" must not become 102; "m²" may become m2.
    folded = " ".join(unicodedata.normalize("NFKC", text).split())
    return "".join(_ascii_digit(character) for character in folded).replace("\u2212", "-")


def _ascii_digit(character: str) -> str:
    return str(unicodedata.decimal(character)) if unicodedata.category(character) == "Nd" else character


def _is_unit(unit: str) -> bool:
    """Whether a unit in normal form can be one: none, or words that each begin with a letter or a symbol (%, °, €)."""
    return len(unit) <= MAX_UNIT_CODE_POINTS and all(
        word[0].isalpha() or word[0] in "%‰" or unicodedata.category(word[0]) in ("Sc", "So") for word in unit.split()
    )


def _unit_form(unit: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", unit).split())


def _base(unit: str) -> tuple[str, Decimal]:
    """The base unit of a unit in normal form, and how many of it one of the unit is."""
    return _SYMBOLS.get(unit) or _WORDS.get(unit.casefold()) or (unit, Decimal(1))


def _decimal(found: re.Match[str], field: str) -> Decimal:
    whole = re.sub(r"[,_ ]", "", found["whole"] or "")
    fraction, exponent = found["fraction"] or "", int(found["exponent"] or 0)
    digits = max(len(whole), len(whole) + exponent) + max(len(fraction), len(fraction) - exponent)
    if digits > MAX_NUMBER_DIGITS:
        raise Refusal(
            Reason.TOO_LARGE,
            f"{field}.text has {digits} digits; at most {MAX_NUMBER_DIGITS} are allowed",
            field=f"{field}.text",
            metadata={"bound": "number_digits", "offered": str(digits), "allowed": str(MAX_NUMBER_DIGITS)},
        )
    return Decimal(f"{found['sign']}{whole or '0'}.{fraction or '0'}e{exponent}")


def _digits(amount: Decimal) -> str:
    plain = format(amount, "f")
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    return "0" if plain in ("-0", "0") else plain


def _refusal(field: str, wanted: str) -> Refusal:
    return Refusal(Reason.INVALID_FIELD, f"{field} must be {wanted}", field=field)
