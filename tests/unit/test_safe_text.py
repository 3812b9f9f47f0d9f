"""Texts of others on a terminal: nothing in them acts, nothing in them hides, and offsets stay what they are."""

import json
import unicodedata

import pytest
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda_cli.rendering.safe_text import json_text, neutral, neutral_line, neutralised, one_line
from hypothesis import given
from hypothesis import strategies as st

REPLACED = "\ufffd"
JOINERS = "\u00ad\u200c\u200d"


def dangerous(text: str, *, but: str) -> list[str]:
    return [c for c in text if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and c not in but + JOINERS]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("lines\nand\ttabs", "lines\nand\ttabs"),
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("\x1b]8;;https://example.org\x07link", "␛]8;;https://example.org␇link"),
        ("over\rwritten", "over␍written"),
        ("back\b\bspace", "back␈␈space"),
        ("\x9b31m", f"{REPLACED}31m"),
        ("del\x7f", "del␡"),
        ("nul\0", "nul␀"),
        ("\u202egnp.exe", f"{REPLACED}gnp.exe"),
        ("a\u2066b\u2069", f"a{REPLACED}b{REPLACED}"),
        ("zero\u200bwidth\ufeff", f"zero{REPLACED}width{REPLACED}"),
        ("line\u2028separator", f"line{REPLACED}separator"),
        ("tag\U000e0041", f"tag{REPLACED}"),
        ("half \ud800", f"half {REPLACED}"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("東京 é ß [bold]", "東京 é ß [bold]"),
    ],
)
def test_what_a_terminal_would_act_on_is_shown_instead(text: str, shown: str) -> None:
    assert neutral(text) == shown


@given(st.text(alphabet=st.characters()))
def test_no_dangerous_character_is_left_and_every_offset_stays(text: str) -> None:
    shown = neutral(text)
    assert len(shown) == len(text)
    assert not dangerous(shown, but="\n\t")


@given(st.text(alphabet=st.characters()), st.sampled_from([None, 2]))
def test_json_says_the_same_and_has_no_dangerous_character(text: str, indent: int | None) -> None:
    document = {"name": text, "list": [text]}
    written = json_text(document, indent=indent)
    assert json.loads(written) == document
    assert not dangerous(written, but="\n")


def test_a_message_is_gone_over_in_every_text_and_is_itself_left_alone() -> None:
    answer = recall_service_pb2.TraceResponse()
    answer.relationship.subject.name = "a\x1b[2J"
    evidence = answer.evidence.add(content="x\x1by", labels=["\x07"])
    evidence.metadata["k\x1b"] = "v\x1b"
    shown = neutralised(answer)
    assert (shown.relationship.subject.name, shown.evidence[0].content) == ("a␛[2J", "x␛y")
    assert (list(shown.evidence[0].labels), dict(shown.evidence[0].metadata)) == (["␇"], {"k␛": "v␛"})
    assert answer.evidence[0].content == "x\x1by"
    # What was not set does not come to be set by being looked at.
    assert not shown.relationship.HasField("object")


def test_a_line_of_a_layout_stays_one_line() -> None:
    assert neutral_line("id  label\n00000000  live\tx\x1b") == "id  label␊00000000  live␉x␛"


def test_one_line_has_no_line_end() -> None:
    assert one_line("  a\n\n b\t\x1b ") == "a b ␛"
