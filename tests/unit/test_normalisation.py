"""Normal forms of texts, names, predicate phrases, scopes, evidence content and values."""

import hashlib
import unicodedata

import pytest
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.objects import ValueObject, ValueType
from corrigenda_core.domain.submissions import ProposedValue
from corrigenda_core.policy.normalisation import (
    MAX_SCOPE_CODE_POINTS,
    decide_content_hash,
    decide_name_form,
    decide_predicate_key,
    decide_scope_form,
    decide_text_form,
    decide_value,
)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        pytest.param("  Release \t\n branch ", "release branch", id="case and white space"),
        pytest.param("a\u00a0b\u3000c\u2028d", "a b c d", id="white space of Unicode"),
        pytest.param("ＲＥＬＥＡＳＥ　１", "release 1", id="full width"),
        pytest.param("ｶﾞｲﾄﾞ", "ガイド", id="half-width kana"),
        pytest.param(unicodedata.normalize("NFD", "한국어"), "한국어", id="Hangul written letter by letter"),
        pytest.param(unicodedata.normalize("NFD", "Café"), "café", id="accents written apart"),
        pytest.param("Straße", "strasse", id="sharp s"),
        pytest.param("STRAẞE", "strasse", id="capital sharp s"),
        pytest.param("ﬁle", "file", id="ligature"),
        pytest.param("ΣΊΣΥΦΟΣ", "σίσυφοσ", id="final sigma"),
        pytest.param("DIYARBAKIR", "diyarbakir", id="I folds to i"),
        pytest.param("diyarbakır", "diyarbakır", id="dotless i stays"),
        pytest.param("İstanbul", "i\u0307stanbul", id="dotted capital keeps its dot"),
        pytest.param("re\u200blease\ufeff", "release", id="zero-width space and mark"),
        pytest.param("re\u00adlease", "release", id="soft hyphen"),
        pytest.param("می\u200cخواهم", "میخواهم", id="zero-width non-joiner"),
        pytest.param("❤\ufe0f", "❤", id="variation selector"),
        pytest.param("a\u0001b", "ab", id="control character"),
        pytest.param("a\u034f\u0301", "á", id="invisible between letter and accent"),
        pytest.param("①", "1", id="compatibility digit"),
        pytest.param("東京", "東京", id="no case"),
        pytest.param("हिन्दी", "हिन्दी", id="marks"),
        pytest.param(" \u200b\u3164\u00ad ", "", id="nothing visible"),
        pytest.param("", "", id="empty"),
    ],
)
@pytest.mark.rule("R3.10")
def test_text_form(text: str, form: str) -> None:
    assert decide_text_form(text) == form


def test_of_many_combining_marks_only_thirty_count() -> None:
    """Without the limit this takes many seconds: marks are put in order by insertion."""
    assert decide_text_form("a" + "\u0327\u0301" * 15 + "b") == decide_text_form("a" + "\u0301\u0327" * 15 + "b")
    many = decide_text_form("🚀" * 40 + "\u0301\u0327" * 32_000)
    assert len(many) == 40 + 30
    assert decide_text_form(many) == many
    hidden = decide_text_form("a" + "\u0301\u034f" * 32_000)
    assert len(hidden) == 30


@pytest.mark.parametrize("name", ["", " ", "\u200b", "\u3164", "\u0000", "\u00ad\ufe0f"])
@pytest.mark.rule("R3.10")
def test_a_name_with_nothing_visible_is_refused(name: str) -> None:
    with pytest.raises(Refusal) as refused:
        decide_name_form(name, field="entities[0].name")
    assert (refused.value.reason, refused.value.field) == (Reason.INVALID_FIELD, "entities[0].name")


@pytest.mark.parametrize(
    "name", ["Ζεύς", "北京", "Алексей", "ひらがな", "한국어", "تهران", "เชียงใหม่", "🚀", "-", "O'Neil", "42"]
)
@pytest.mark.rule("R3.10")
def test_a_name_of_any_script_has_a_form(name: str) -> None:
    assert decide_name_form(name, field="name") == unicodedata.normalize("NFKC", name).casefold()


@pytest.mark.parametrize(
    ("phrase", "key"),
    [
        ("deploys_from", "deploys_from"),
        ("deploys from", "deploys_from"),
        ("Deploys  From", "deploys_from"),
        ("deploys-from", "deploys_from"),
        ("_deploys from:", "deploys_from"),
        ("ｄｅｐｌｏｙｓ　ｆｒｏｍ", "deploys_from"),
        ("deploys\u200b from", "deploys_from"),
        ("is CEO of", "is_ceo_of"),
        ("owner's team", "owner_s_team"),
        ("v2 of", "v2_of"),
        ("配置 元", "配置_元"),
        ("से तैनात", "से_तैनात"),
    ],
)
@pytest.mark.rule("R3.5")
def test_predicate_key(phrase: str, key: str) -> None:
    assert decide_predicate_key(phrase, field="predicate") == key


@pytest.mark.parametrize("phrase", ["", "  ", "=", "->", "\u200b", "_", "🚀"])
@pytest.mark.rule("R3.5", "R3.10")
def test_a_phrase_without_a_letter_or_digit_is_no_key(phrase: str) -> None:
    with pytest.raises(Refusal) as refused:
        decide_predicate_key(phrase, field="relationships[0].predicate")
    assert (refused.value.reason, refused.value.field) == (Reason.INVALID_FIELD, "relationships[0].predicate")


def test_scope_form() -> None:
    assert decide_scope_form("", field="scope") == ""
    assert decide_scope_form(" EU  West ", field="scope") == "eu west"
    assert decide_scope_form("é" * MAX_SCOPE_CODE_POINTS, field="scope") == "é" * 128
    with pytest.raises(Refusal) as refused:
        decide_scope_form("ﬁ" * 65, field="relationships[0].scope")
    assert (refused.value.reason, refused.value.field) == (Reason.TOO_LARGE, "relationships[0].scope")
    assert refused.value.metadata == {"bound": "scope_code_points", "offered": "130", "allowed": "128"}


def test_content_hash_is_that_of_the_normal_form() -> None:
    first = decide_content_hash("Production deploys from main.\n")
    assert first == decide_content_hash("production  DEPLOYS from ｍain.")
    assert first != decide_content_hash("Production deploys from release.")
    assert first == hashlib.sha256(b"production deploys from main.").hexdigest()
    assert len(decide_content_hash("\ud800")) == 64


def value(type_: ValueType, text: str, unit: str = "", predicate_unit: str = "") -> ValueObject:
    return decide_value(ProposedValue(type=type_, text=text, unit=unit), predicate_unit=predicate_unit, field="object")


@pytest.mark.parametrize(
    ("type_", "text", "unit", "canonical", "canonical_unit"),
    [
        (ValueType.TEXT, "Release ", "", "release", ""),
        (ValueType.TEXT, "10 ms", "", "10 ms", ""),
        (ValueType.NUMBER, "10", "ms", "0.01", "s"),
        (ValueType.NUMBER, "10\u200b ms", "", "0.01", "s"),
        (ValueType.BOOLEAN, "TRUE", "", "true", ""),
        (ValueType.BOOLEAN, " yes ", "", "true", ""),
        (ValueType.BOOLEAN, "on", "", "true", ""),
        (ValueType.BOOLEAN, "Ｎｏ", "", "false", ""),
        (ValueType.BOOLEAN, "off", "", "false", ""),
        (ValueType.BOOLEAN, "false", "", "false", ""),
        (ValueType.DATE, "2026-03-01", "", "2026-03-01", ""),
        (ValueType.DATE, "1 March 2026", "", "2026-03-01", ""),
        (ValueType.DATE, "March 1st, 2026", "", "2026-03-01", ""),
        (ValueType.DATE, "２０２６－０３－０１", "", "2026-03-01", ""),
        (ValueType.DATE, "Sunday, 1 March 2026", "", "2026-03-01", ""),
        (ValueType.INSTANT, "2026-03-01T09:30:00+01:00", "", "2026-03-01T08:30:00Z", ""),
        (ValueType.INSTANT, "2026-03-01T09:30:00.500Z", "", "2026-03-01T09:30:00.500000Z", ""),
    ],
)
@pytest.mark.rule("R3.10")
def test_canonical_values(type_: ValueType, text: str, unit: str, canonical: str, canonical_unit: str) -> None:
    found = value(type_, text, unit)
    assert (found.type, found.canonical, found.unit) == (type_, canonical, canonical_unit)


def test_display_is_what_the_author_wrote() -> None:
    assert value(ValueType.TEXT, " Release ").display == " Release "
    assert value(ValueType.NUMBER, "10", "ms").display == "10 ms"
    assert value(ValueType.NUMBER, "10 ms", "ms").display == "10 ms"
    assert value(ValueType.NUMBER, "10", predicate_unit="ms").display == "10"


@pytest.mark.parametrize(
    ("type_", "text", "unit", "field"),
    [
        (ValueType.TEXT, "", "", "text"),
        (ValueType.TEXT, "\u200b", "", "text"),
        (ValueType.TEXT, "release", "ms", "unit"),
        (ValueType.NUMBER, "ten", "", "text"),
        (ValueType.NUMBER, " ", "ms", "text"),
        (ValueType.BOOLEAN, "maybe", "", "text"),
        (ValueType.BOOLEAN, "1", "", "text"),
        (ValueType.DATE, "03/04/2026", "", "text"),
        (ValueType.DATE, "30 February 2026", "", "text"),
        (ValueType.DATE, "Monday, 1 March 2026", "", "text"),
        (ValueType.DATE, "March 2026", "", "text"),
        (ValueType.DATE, "2026", "", "text"),
        (ValueType.DATE, "yesterday", "", "text"),
        (ValueType.DATE, "2026-03-01 and more", "", "text"),
        (ValueType.INSTANT, "2026-03-01T09:30:00", "", "text"),
        (ValueType.INSTANT, "2026-03-01", "", "text"),
    ],
)
@pytest.mark.rule("R3.10")
def test_refused_values_name_the_field(type_: ValueType, text: str, unit: str, field: str) -> None:
    with pytest.raises(Refusal) as refused:
        value(type_, text, unit)
    assert (refused.value.reason, refused.value.field) == (Reason.INVALID_FIELD, f"object.{field}")


def test_a_predicate_unit_is_for_numbers_only() -> None:
    assert value(ValueType.TEXT, "release", predicate_unit="ms").unit == ""
