"""Numbers with units in a normal form."""

import pytest
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.policy.quantities import MAX_NUMBER_DIGITS, Quantity, decide_quantity


def quantity(text: str, stated: str = "", predicate: str = "") -> tuple[str, str]:
    found = decide_quantity(text, stated_unit=stated, predicate_unit=predicate, field="value")
    assert isinstance(found, Quantity)
    return found.number, found.unit


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", "0"),
        ("-0", "0"),
        ("-0.000", "0"),
        ("+7", "7"),
        ("007", "7"),
        ("-5", "-5"),
        ("\u22125", "-5"),
        ("1.50", "1.5"),
        ("100", "100"),
        ("100.0", "100"),
        (".5", "0.5"),
        ("1e3", "1000"),
        ("1.5E-3", "0.0015"),
        ("-2.5e+2", "-250"),
        ("0.1", "0.1"),
        ("1_000_000", "1000000"),
        ("1 000 000", "1000000"),
        ("1\u202f000", "1000"),
        ("1,234,567", "1234567"),
        ("1,234.5", "1234.5"),
        ("1,234,567.25", "1234567.25"),
        ("１２．５", "12.5"),
        ("١٢", "12"),
        (" 12 ", "12"),
        ("9" * MAX_NUMBER_DIGITS, "9" * MAX_NUMBER_DIGITS),
        ("123456789012345678901234567890.123456789", "123456789012345678901234567890.123456789"),
    ],
)
@pytest.mark.rule("R3.10")
def test_numbers(text: str, number: str) -> None:
    assert quantity(text) == (number, "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10 ms", ("0.01", "s")),
        ("10ms", ("0.01", "s")),
        ("0.01 s", ("0.01", "s")),
        ("250 us", ("0.00025", "s")),
        ("250 µs", ("0.00025", "s")),
        ("1 ns", ("0.000000001", "s")),
        ("5 min", ("300", "s")),
        ("5 minutes", ("300", "s")),
        ("1 Hour", ("3600", "s")),
        ("2 h", ("7200", "s")),
        ("1 d", ("86400", "s")),
        ("1 week", ("604800", "s")),
        ("1 kB", ("1000", "B")),
        ("1 KB", ("1000", "B")),
        ("1 MB", ("1000000", "B")),
        ("1 KiB", ("1024", "B")),
        ("1 mib", ("1048576", "B")),
        ("8 bit", ("1", "B")),
        ("8 Mbit", ("1000000", "B")),
        ("1.5 GHz", ("1500000000", "Hz")),
        ("50 %", ("50", "%")),
        ("50%", ("50", "%")),
        ("50 percent", ("50", "%")),
        ("50 per cent", ("50", "%")),
        ("500 ‰", ("50", "%")),
        ("12 EUR", ("12", "EUR")),
        ("12 €", ("12", "€")),
        ("21 °C", ("21", "°C")),
        ("5 m²", ("5", "m2")),
        ("3 req/s", ("3", "req/s")),
        ("3 months", ("3", "months")),
        ("512 mb", ("512", "mb")),
        ("5 m", ("5", "m")),
        ("1 " + "x" * 32, ("1", "x" * 32)),
        ("9" * 64 + " PiB", (str((10**64 - 1) * 2**50), "B")),
    ],
)
@pytest.mark.rule("R3.10")
def test_units(text: str, expected: tuple[str, str]) -> None:
    assert quantity(text) == expected


@pytest.mark.parametrize(
    ("text", "stated", "predicate", "expected"),
    [
        ("10", "ms", "", ("0.01", "s")),
        ("10", "", "ms", ("0.01", "s")),
        ("10", "s", "ms", ("10", "s")),
        ("10 ms", "ms", "s", ("0.01", "s")),
        ("10 ms", "milliseconds", "s", ("0.01", "s")),
        ("10", " requests ", "requests", ("10", "requests")),
        ("10", "Ｍ\uff22", "B", ("10000000", "B")),
    ],
)
@pytest.mark.rule("R3.10")
def test_which_unit_counts(text: str, stated: str, predicate: str, expected: tuple[str, str]) -> None:
    assert quantity(text, stated, predicate) == expected


@pytest.mark.parametrize(
    ("text", "stated", "predicate", "field"),
    [
        ("", "", "", "text"),
        ("ms", "", "", "text"),
        ("-", "", "", "text"),
        (".", "", "", "text"),
        ("5.", "", "", "text"),
        ("1.2.3", "", "", "text"),
        ("1,234", "", "", "text"),
        ("1,5", "", "", "text"),
        ("12,34,567", "", "", "text"),
        ("03/04/2026", "", "", "text"),
        ("10-20", "", "", "text"),
        ("10+20", "", "", "text"),
        ("3 of 5", "", "", "text"),
        ("$5", "", "", "text"),
        ("NaN", "", "", "text"),
        ("Infinity", "", "", "text"),
        ("10²", "", "", "text"),
        ("½", "", "", "text"),
        ("1 " + "x" * 33, "", "", "text"),
        ("10 ms", "s", "", "unit"),
        ("10", "5", "", "unit"),
        ("10 ms", "", "B", "unit"),
        ("10", "ms", "requests", "unit"),
        ("10", "Requests", "requests", "unit"),
    ],
)
@pytest.mark.rule("R3.10")
def test_refused(text: str, stated: str, predicate: str, field: str) -> None:
    with pytest.raises(Refusal) as refused:
        quantity(text, stated, predicate)
    assert refused.value.reason is Reason.INVALID_FIELD
    assert refused.value.field == f"value.{field}"


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("9" * 65, "65"),
        ("0." + "9" * 64, "65"),
        ("1e64", "65"),
        ("1e-64", "65"),
        ("1e999", "1000"),
        ("1e-999", "1000"),
    ],
)
def test_too_many_digits_name_the_bound(text: str, offered: str) -> None:
    with pytest.raises(Refusal) as refused:
        quantity(text)
    assert refused.value.reason is Reason.TOO_LARGE
    assert refused.value.metadata == {"bound": "number_digits", "offered": offered, "allowed": "64"}
