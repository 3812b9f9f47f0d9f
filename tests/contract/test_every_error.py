"""Every documented error is provoked: a test that carries ``@pytest.mark.error(reason)`` asks for it, and names it."""

from __future__ import annotations

import ast
import re
import runpy
from collections import defaultdict
from pathlib import Path

import pytest
from corrigenda_core.domain.errors import Reason

ROOT = Path(__file__).resolve().parents[2]
marked_tests = runpy.run_path(str(ROOT / "docs" / "rules_index.py"))["marked_tests"]
PAGE = (ROOT / "docs" / "ERRORS.md").read_text(encoding="utf-8")
DOCUMENTED = {
    reason: set(re.findall(r"`([a-z_]+)`", says))
    for reason, says in re.findall(r"^\| `([A-Z_]+)` \| (.*) \|", PAGE, re.M)
}
# May name what they speak of; whoever reads the message needs no list of it.
OPEN = {"INVALID_FIELD"}


def expected_in(test: ast.AST) -> set[str]:
    """What a test's body compares with: the attributes and the texts that stand in it, its parameters included."""
    assert isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef)
    tables = [one for one in test.decorator_list if not (isinstance(one, ast.Call) and is_mark(one.func))]
    nodes = [node for part in (*test.body, *tables) for node in ast.walk(part)]
    named = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return named | {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def is_mark(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and function.attr == "error"


PROVOKED: dict[str, list[tuple[str, ast.AST]]] = defaultdict(list)
for reason, file, name, written in marked_tests("error"):
    PROVOKED[reason].append((f"{file}::{name}", written))


def test_the_page_documents_the_closed_list() -> None:
    assert sorted(DOCUMENTED) == sorted(Reason.__members__)
    assert set(PROVOKED) <= set(DOCUMENTED)


@pytest.mark.promise("answer.reason")
@pytest.mark.parametrize("reason", DOCUMENTED)
def test_every_documented_error_is_provoked_by_a_test_that_names_it(reason: str) -> None:
    assert PROVOKED[reason], f"no test carries @pytest.mark.error({reason!r})"
    for place, test in PROVOKED[reason]:
        assert reason in expected_in(test), f"{place} is marked with {reason} and expects it nowhere"


def promised_by(reason: str) -> set[str]:
    """The keys that a page's sentence about metadata names."""
    (says,) = re.findall(rf"^\| `{reason}` \| (.*) \|", PAGE, re.M)
    told = re.search(r"Metadata: (.*?)\. ", says)
    return set(re.findall(r"`([a-z_]+)`", told.group(1))) if told else set()


def refusals_of_the_code() -> list[tuple[str, str, set[str]]]:
    """Every refusal that is written out: where, its reason, and the keys of its metadata, if those are written, too."""
    found = []
    for path in [*(ROOT / "libs/core/src/corrigenda_core").rglob("*.py"), *(ROOT / "services").rglob("*.py")]:
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match call:
                case ast.Call(
                    func=ast.Name(id="Refusal"), args=[ast.Attribute(attr=reason), ast.Constant(value=message), *_]
                ):
                    pass
                case ast.Call(func=ast.Name(id="Refusal"), args=[ast.Attribute(attr=reason), *_]):
                    message = ""
                case _:
                    continue
            given = {keyword.arg: keyword.value for keyword in call.keywords}
            metadata = given.get("metadata", ast.Dict(keys=[], values=[]))
            if reason in DOCUMENTED and isinstance(metadata, ast.Dict) and message != NAMELESS:
                keys = {key.value for key in metadata.keys if isinstance(key, ast.Constant)}
                found.append((f"{path.name}:{call.lineno}", reason, keys))
    return found


# What the page names with a condition: a refusal may leave it out.
CONDITIONAL = {
    "NOT_IN_CONFLICT": {"conflict_id", "relationship_id", "sides"},
    "ITEM_NOT_PENDING": {"item_id", "status", "reason", "ingest_id"},
    "REVERT_BLOCKED": DOCUMENTED["REVERT_BLOCKED"],
    "OVERLOADED": {"waiting", "bound"},
    "STORE_UNAVAILABLE": {"cause", "outcome"},
}
# That one is not named: whoever has no team has no key either.
NAMELESS = "there is no such team"


def test_every_error_carries_the_metadata_that_its_page_names_and_no_other() -> None:
    refusals = refusals_of_the_code()
    assert len(refusals) > 100
    named = {reason: promised_by(reason) - {"field"} - CONDITIONAL.get(reason, set()) for reason in DOCUMENTED}
    lacking = {(place, key) for place, reason, keys in refusals if reason not in OPEN for key in named[reason] - keys}
    assert not lacking
    undocumented = {
        (place, reason, key)
        for place, reason, keys in refusals
        for key in keys - DOCUMENTED[reason]
        if reason not in OPEN
    }
    assert not undocumented
