"""Examples of the documentation as things to run: what a page asks, what it says that comes back, and whether it does.

Conventions of a page: a ``console`` block holds commands after ``$ `` and their answers; a ``json`` block holds a
request, a part of one, or an answer. ``...`` and ``…`` stand for what is left out or is another each time (ids, times,
secrets), ``<name>`` and ``$NAME`` for what an earlier answer gave.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.M | re.S)
_LEFT_OUT = re.compile(r"\.\.\.|…")
_SPLICED = re.compile(r"'\"?\$(\w+)\"?'")
_PLACEHOLDER = re.compile(r"^(?:<(\w+)>|\$(\w+)|.*(?:\.\.\.|…).*)$", re.S)
_METHOD = re.compile(r"/([A-Z]\w+)(?=\s|$)")
_KEY = re.compile(r'"(\w+)":')
_TEXT = re.compile(r'(?<!\w)"([^"\n]+)"(?!:)')
_CONSTANT = re.compile(r"(?<![\w/.-])[A-Z]{3,}(?:_[A-Z]+)*(?![\w.-])")
_IS_ANY = re.compile(r"\.\.\.|…|\d")
_CHANGING = re.compile(r"^[\da-f-]{6,}$|\d{4}-\d\d-\d\dT|^\d+$|^[\w+/=-]{30,}$|^cor_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One command with its answer, or one block of JSON; ``line`` is where it stands."""

    kind: str
    line: int
    asked: str
    answered: str

    @property
    def method(self) -> str:
        """The method that a command calls; empty if it calls none."""
        head = self.asked.partition("{")[0] + self.asked.rpartition("}")[2]
        names = _METHOD.findall(head.replace("'", " "))
        return names[-1] if names else ""

    def request(self, **known: Any) -> dict[str, Any]:
        """The JSON that is asked with, and what stands for something else put in.

        Raises:
            ValueError: it is no JSON.
            KeyError: nothing is known for a placeholder; known by its name, else by the field that it stands in.
        """
        text = _SPLICED.sub(r"$\1", self.asked)
        begins, ends = text.find("{"), text.rfind("}")
        if begins < 0:
            # A part of a request: its fields between two ellipses.
            text = "{" + text.split("...")[-2].strip().rstrip(",") + "}"
        elif text[:begins].rstrip().endswith(":"):
            text = "{" + text.strip() + "}"
        else:
            text = text[begins : ends + 1]
        text = re.sub(r",\s*(?:\.\.\.|…)\s*(?=[}\]])", "", text)
        text = re.sub(r"(?<=:)\s*(?:\.\.\.|…)(?=\s*[,}])", '"..."', text)
        said: dict[str, Any] = _put_in(json.loads(text), known, "")
        return said

    def arguments(self, *known: str) -> list[str]:
        """What a command is called with, each placeholder in its order put in, without its name."""
        rest = iter(known)
        words = shlex.split(self.asked)
        return [next(rest) if _LEFT_OUT.search(word) else word for word in words[1:]]

    def lines_missing_from(self, written: str) -> list[str]:
        """The lines that a page says a command writes and it does not: words count, ids, times and figures do not."""
        return [line for line in self.answered.splitlines() if not re.search(_pattern(line), written, re.M)]

    def missing_from(self, answer: Any, *, times: bool = False) -> list[str]:
        """What the page says that comes back and the answer lacks: keys, texts, constants, and ``times`` if asked."""
        told = self.answered
        missing = list(_missing(told, json.dumps(answer, ensure_ascii=False)))
        if times:
            said = json.dumps(answer)
            missing += [time for time in re.findall(r'"(\d{4}-\d\d-\d\dT[^".]*)"', told) if f'"{time}"' not in said]
        return missing


def examples_of(page: Path) -> list[Example]:
    """All commands and blocks of JSON of a page, and its blocks of neither, in their order."""
    text = page.read_text(encoding="utf-8")
    found: list[Example] = []
    for block in _FENCE.finditer(text):
        indent, kind, inside = block.groups()
        line = text[: block.start()].count("\n") + 2
        inside = "".join(one.removeprefix(indent) for one in inside.splitlines(keepends=True))
        if kind == "console":
            found += _commands(inside, line)
        elif kind in {"json", ""}:
            found.append(Example(kind=kind, line=line, asked=inside, answered=inside))
    return found


def _pattern(line: str) -> str:
    """What a line of an answer looks like whichever ids, times, secrets and figures stand in it."""
    words = [r".*" if word == "..." else r"\S+" if _IS_ANY.search(word) else re.escape(word) for word in line.split()]
    return r"^\s*" + r"\s+".join(words)


def _commands(block: str, line: int) -> Iterator[Example]:
    """The commands of a block; what stands before the first is more of an answer that was given before."""
    for part in re.split(r"^(?=\$ )", block, flags=re.M):
        if part:
            asked, answered = _divided(part) if part.startswith("$ ") else ("", part)
            yield Example(kind="console", line=line, asked=asked, answered=answered)
        line += part.count("\n")


def _divided(part: str) -> tuple[str, str]:
    """A command with the lines that it goes on in, and its answer."""
    lines = part.removeprefix("$ ").splitlines()
    taken = 1
    while taken < len(lines) and _goes_on(lines[:taken], lines[taken]):
        taken += 1
    return "\n".join(lines[:taken]).replace("\\\n", ""), "\n".join(lines[taken:])


def _goes_on(command: list[str], following: str) -> bool:
    so_far = "\n".join(command)
    is_open = so_far.count("{") > so_far.count("}") or so_far.count("'") % 2 == 1
    asks_below = "{" not in so_far and following.startswith(" ") and following.lstrip().startswith("{")
    return is_open or so_far.endswith("\\") or asks_below


def _put_in(said: Any, known: Mapping[str, Any], field: str) -> Any:
    if isinstance(said, dict):
        if said.keys() == {"..."}:
            return known[_plain(field)]
        return {key: _put_in(one, known, key) for key, one in said.items()}
    if isinstance(said, list):
        return [_put_in(one, known, field) for one in said]
    if isinstance(said, str) and (placeholder := _PLACEHOLDER.match(said)):
        name = placeholder[1] or placeholder[2] or field
        return known[_plain(name)]
    return said


def _plain(name: str) -> str:
    """A name as Python has it: that of JSON fields, of shell variables and of our own are alike."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _missing(told: str, answer: str) -> Iterator[str]:
    plain = answer.replace("_", "").lower()
    for key in _KEY.findall(told):
        if f'"{key.replace("_", "").lower()}":' not in plain:
            yield f'"{key}":'
    # A line of a comment says in words what the answer shows: its constants are the answer's, its quotations are not.
    for text in _TEXT.findall(re.sub(r"^\s*#.*$", "", told, flags=re.M)):
        if (
            not _LEFT_OUT.search(text)
            and not _CHANGING.search(text)
            and json.dumps(text, ensure_ascii=False) not in answer
        ):
            yield text
    for constant in _CONSTANT.findall(re.sub(r'"[^"\n]*"', "", told)):
        if constant not in answer:
            yield constant
