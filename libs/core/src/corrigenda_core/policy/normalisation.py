"""Normal forms: what decides that two texts, names, keys or values are the same.

The text form is Unicode's form for compatibility caseless matching (definition D146), composed, with white space
collapsed: compatibility forms (full width, ligatures, half-width kana), composition (Hangul written letter by letter)
and case are folded by the default rules of Unicode, of no language: "Straße" is "STRASSE", "I" is "i" and never the
dotless "ı". Invisible characters (zero-width spaces and joiners, variation selectors, soft hyphens, controls) take no
part. Evidence itself is never normalised.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable

from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import PredicateKey
from corrigenda_core.domain.objects import ValueObject, ValueType
from corrigenda_core.domain.submissions import ProposedValue
from corrigenda_core.policy.date_words import decide_calendar_date
from corrigenda_core.policy.instants import decide_instant
from corrigenda_core.policy.quantities import decide_quantity

MAX_SCOPE_CODE_POINTS = 128
MAX_COMBINING_MARKS = 30

# Default_Ignorable_Code_Point of the Unicode Character Database, and the control characters that are no white space.
_INVISIBLE = re.compile(
    "[\u0000-\u0008\u000e-\u001b\u007f-\u0084\u0086-\u009f"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)

# Where a long run of combining marks can be: neither letters nor digits, nor white space, nor ASCII.
_MANY_MARKS = re.compile(rf"[^\w\s\x00-\x7f]{{{MAX_COMBINING_MARKS + 1},}}")

_TRUTHS = {"true": "true", "yes": "true", "on": "true", "false": "false", "no": "false", "off": "false"}


def decide_text_form(text: str) -> str:
    """The normal form of any text; empty if nothing of it is visible."""
    folded = unicodedata.normalize("NFD", _stream_safe(text)).casefold()
    folded = unicodedata.normalize("NFKD", folded).casefold()
    folded = _stream_safe(unicodedata.normalize("NFKD", folded))
    return " ".join(unicodedata.normalize("NFKC", folded).split())


def _stream_safe(text: str) -> str:
    """The visible characters of ``text``, of each run of combining marks at most `MAX_COMBINING_MARKS`.

    No script needs more (UAX 15, stream-safe text), and putting marks in order takes quadratic time in their number: 64
    KiB of them would take many seconds.
    """
    return _MANY_MARKS.sub(lambda found: _without_surplus_marks(found[0]), _INVISIBLE.sub("", text))


def _without_surplus_marks(text: str) -> str:
    kept, marks = [], 0
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= MAX_COMBINING_MARKS:
            kept.append(character)
    return "".join(kept)


def decide_name_form(name: str, *, field: str) -> str:
    """The normal form of an entity's name or alias, by which candidates are found; a name of any script has one.

    Raises:
        Refusal: INVALID_FIELD naming ``field`` if the normal form is empty.
    """
    return _required(decide_text_form(name), field)


def decide_predicate_key(phrase: str, *, field: str) -> PredicateKey:
    """The form in which keys, aliases and phrases of predicates are compared: "Deploys  from" is ``deploys_from``.

    Letters, marks and digits of any script stand; every run of other characters is one underscore, none at the ends.

    Raises:
        Refusal: INVALID_FIELD naming ``field`` if nothing is left.
    """
    # R3.5 looks up the exact key first, then aliases; both are compared in this form.
    form = decide_text_form(phrase)
    words = "".join(character if unicodedata.category(character)[0] in "LMN" else " " for character in form).split()
    return PredicateKey(_required("_".join(words), field))


def decide_scope_form(scope: str, *, field: str) -> str:
    """The normal form of a statement's scope; empty is the default scope.

    Raises:
        Refusal: TOO_LARGE naming ``field`` if it has more than `MAX_SCOPE_CODE_POINTS`.
    """
    form = decide_text_form(scope)
    if len(form) > MAX_SCOPE_CODE_POINTS:
        raise Refusal(
            Reason.TOO_LARGE,
            f"{field} has {len(form)} code points in normal form; at most {MAX_SCOPE_CODE_POINTS} are allowed",
            field=field,
            metadata={
                "bound": "scope_code_points",
                "offered": str(len(form)),
                "allowed": str(MAX_SCOPE_CODE_POINTS),
            },
        )
    return form


def decide_content_hash(content: str) -> str:
    """SHA-256, in hexadecimal, of the text form of evidence: equal for copies that differ in case, width or spacing."""
    # Shingles for near-duplicates are taken from the same text form (R6.2).
    return hashlib.sha256(decide_text_form(content).encode("utf-8", "surrogatepass")).hexdigest()


def decide_value(value: ProposedValue, *, predicate_unit: str = "", field: str) -> ValueObject:
    """The canonical value (R3.10): equal values have equal type, canonical text and unit.

    Canonical text: of a text its text form; of a number exact decimal digits in the base unit; ``true`` or ``false``;
    of a date ``2026-03-01``; of an instant RFC 3339 in UTC with ``Z``, fractions only where they are not zero.
    ``display`` is what the author wrote, with the unit that stood beside it.

    Args:
        value: the value as its author wrote it.
        predicate_unit: the predicate's unit, for numbers without one; empty for none.
        field: the path of ``value``.

    Raises:
        Refusal: INVALID_FIELD naming ``<field>.text`` or ``<field>.unit``: an empty normal form, or text that is no
            value of its type or could be read as two; TOO_LARGE for a number with too many digits.
    """
    form = _required(decide_text_form(value.text), f"{field}.text")
    if value.type is ValueType.NUMBER:
        # The text form would fold the case of units.
        visible = _INVISIBLE.sub("", value.text)
        quantity = decide_quantity(visible, stated_unit=value.unit, predicate_unit=predicate_unit, field=field)
        return ValueObject(type=value.type, canonical=quantity.number, unit=quantity.unit, display=_display(value))
    if value.unit:
        raise Refusal(Reason.INVALID_FIELD, f"{field}.unit stands for numbers only", field=f"{field}.unit")
    canonical = _CANONICAL_FORMS[value.type](form, f"{field}.text")
    return ValueObject(type=value.type, canonical=canonical, display=value.text)


def _display(value: ProposedValue) -> str:
    """The value as its author wrote it, with the unit that stood beside it and not in it."""
    beside = value.unit and not value.text.rstrip().endswith(value.unit)
    return f"{value.text} {value.unit}" if beside else value.text


def _text(text: str, _field: str) -> str:
    return text


def _truth(text: str, field: str) -> str:
    truth = _TRUTHS.get(text)
    if truth is None:
        raise Refusal(Reason.INVALID_FIELD, f"{field} must be true or false", field=field)
    return truth


def _day(text: str, field: str) -> str:
    day = decide_calendar_date(text)
    if day is None:
        raise Refusal(Reason.INVALID_FIELD, f"{field} must be one calendar day, such as 2026-03-01", field=field)
    return day.isoformat()


def _moment(text: str, field: str) -> str:
    return decide_instant(text, field=field).isoformat().replace("+00:00", "Z")


# From the text form of a value, and the path of its text, to its canonical form.
_CANONICAL_FORMS: dict[ValueType, Callable[[str, str], str]] = {
    ValueType.TEXT: _text,
    ValueType.BOOLEAN: _truth,
    ValueType.DATE: _day,
    ValueType.INSTANT: _moment,
}


def _required(form: str, field: str) -> str:
    if not form:
        raise Refusal(Reason.INVALID_FIELD, f"{field} has nothing visible in it", field=field)
    return form
