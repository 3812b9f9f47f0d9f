#!/usr/bin/env python3
"""Keeps docs/RULES.md and docs/PROMISES.md true: what decides each rule, which tests prove each rule and promise.

The first two columns of a table (id, what it says) are written by hand, the others are derived: a rule is decided where
its id stands in a docstring, and proven by the tests that carry ``@pytest.mark.rule(id)``; a promise is proven by the
tests that carry ``@pytest.mark.promise(id)``, and an invariant (``I01``) by those named after it, too. ``--check``
changes nothing and fails when a file is out of date, an id stands in two docstrings, a test names an unknown id, or a
promise has no test.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RULES = ROOT / "docs" / "RULES.md"
PROMISES = ROOT / "docs" / "PROMISES.md"
SOURCES = ["libs/core/src/corrigenda_core", "services", "cli"]
RULE_ID = re.compile(r"\bR(?:1[01]|[2-9])\.\d+[a-z]?\b")
ROW = re.compile(r"^\| (R\d+\.\d+[a-z]?) \| ([^|]*) \|")
PROMISE_ROW = re.compile(r"^\| (Q\d+|I\d\d|[a-z]+\.[a-z-]+) \| ([^|]*) \|")
INVARIANT = re.compile(r"^test_invariant_(\d\d)_")
NOT_YET = "not built yet"
NO_TEST = "no test yet"

Definition = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _definitions(tree: ast.Module) -> Iterator[tuple[str, Definition]]:
    """Every module, class and function of a tree with its dotted name inside the module."""
    yield "", tree
    stack: list[tuple[str, ast.AST]] = [("", tree)]
    while stack:
        prefix, node = stack.pop()
        for child in ast.iter_child_nodes(node):
            name = prefix
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                name = f"{prefix}.{child.name}" if prefix else child.name
                yield name, child
            stack.append((name, child))


def deciding_places() -> dict[str, list[str]]:
    """Rule id -> the definitions whose docstring names it, as ``path:name``."""
    places: dict[str, list[str]] = defaultdict(list)
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for name, node in _definitions(ast.parse(path.read_text(encoding="utf-8"))):
                for rule in sorted(set(RULE_ID.findall(ast.get_docstring(node) or ""))):
                    places[rule].append(f"{path.relative_to(ROOT)}:{name}".rstrip(":"))
    return places


def marked(node: ast.AST, mark: str) -> Iterator[str]:
    """The ids of ``pytest.mark.<mark>(...)`` calls in a decorator or a ``pytestmark`` value."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == mark:
            for argument in call.args:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield argument.value


Written = tuple[str, str, ast.AST, tuple[ast.AST, ...]]
"""A test file, the test in it (empty for the whole file), where that is written, and what carries its marks."""


@cache
def written_tests() -> tuple[Written, ...]:
    """Everything in the test files that can carry a mark."""
    found: list[Written] = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        file = str(path.relative_to(ROOT))
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.append((file, node.name, node, tuple(node.decorator_list)))
            elif isinstance(node, ast.Assign) and any(
                isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets
            ):
                found.append((file, "", tree, (node.value,)))
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "param":
                found.append((file, "", node, tuple(keyword.value for keyword in node.keywords)))
    return tuple(found)


def marked_tests(mark: str) -> Iterator[tuple[str, str, str, ast.AST]]:
    """Every id that a mark names: the id, the test file, the test and where that is written."""
    for file, name, written, carriers in written_tests():
        for carrier in carriers:
            for one in marked(carrier, mark):
                yield one, file, name, written


def proving_tests() -> dict[str, list[str]]:
    """Rule id -> the test files that prove it, with how many tests of each carry the marker."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for rule, file, _, _ in marked_tests("rule"):
        counts[rule][file] += 1
    return {rule: [f"{file} ({n})" for file, n in sorted(files.items())] for rule, files in counts.items()}


def keeping_tests() -> dict[str, list[str]]:
    """Promise id -> the tests that prove it, each by its file below tests/ and its name."""
    found: dict[str, set[str]] = defaultdict(set)
    for promise, file, name, _ in marked_tests("promise"):
        found[promise].add("::".join(filter(None, (file.removeprefix("tests/"), name))))
    for file, name, _, _ in written_tests():
        if numbered := INVARIANT.match(name):
            found[f"I{numbered.group(1)}"].add(f"{file.removeprefix('tests/')}::{name}")
    return {promise: sorted(tests) for promise, tests in found.items()}


def rendered(text: str) -> tuple[str, list[str]]:
    """RULES.md with its derived columns filled in, and what is wrong with the rules."""
    places, tests = deciding_places(), proving_tests()
    lines, known = [], set()
    for line in text.splitlines():
        row = ROW.match(line)
        if row is None:
            lines.append(line)
            continue
        rule, says = row.group(1), row.group(2)
        known.add(rule)
        decided = f"`{places[rule][0]}`" if places.get(rule) else NOT_YET
        proven = ", ".join(f"`{test}`" for test in tests.get(rule, [])) or NO_TEST
        lines.append(f"| {rule} | {says} | {decided} | {proven} |")
    problems = [f"{rule} stands in several docstrings: {', '.join(p)}" for rule, p in places.items() if len(p) > 1]
    problems += [f"{rule} is decided in {places[rule][0]} but not listed" for rule in sorted(set(places) - known)]
    problems += [f"{rule} is proven by {tests[rule][0]} but not listed" for rule in sorted(set(tests) - known)]
    return "\n".join(lines) + "\n", sorted(problems)


def rendered_promises(text: str) -> tuple[str, list[str]]:
    """PROMISES.md with its derived column filled in, and what is wrong with the promises."""
    tests = keeping_tests()
    lines, known, problems = [], set(), []
    for line in text.splitlines():
        row = PROMISE_ROW.match(line)
        if row is None:
            lines.append(line)
            continue
        promise, says = row.group(1), row.group(2)
        if promise in known:
            problems.append(f"{promise} is promised twice")
        known.add(promise)
        if promise not in tests and "." in promise:
            problems.append(f"{promise} is promised and no test proves it")
        proven = "<br>".join(f"`{test}`" for test in tests.get(promise, [])) or NO_TEST
        lines.append(f"| {promise} | {says} | {proven} |")
    problems += [f"{promise} is proven by {tests[promise][0]} but not listed" for promise in set(tests) - known]
    return "\n".join(lines) + "\n", sorted(problems)


def main() -> int:
    """Rewrites both pages, or with ``--check`` says what is out of date; 1 on any problem."""
    checking, status = "--check" in sys.argv[1:], 0
    for page, row, rendering in ((RULES, ROW, rendered), (PROMISES, PROMISE_ROW, rendered_promises)):
        current = page.read_text(encoding="utf-8")
        text, problems = rendering(current)
        if checking and text != current:
            problems.append(f"docs/{page.name} is out of date: run `python3 dev.py rules`")
        for problem in problems:
            print(problem, file=sys.stderr)
            status = 1
        if not checking:
            page.write_text(text, encoding="utf-8")
            missing = [line.split("|")[1].strip() for line in text.splitlines() if row.match(line) and NO_TEST in line]
            print(f"{page.name}: without a test: {', '.join(missing) or 'none'}")
    return status


if __name__ == "__main__":
    sys.exit(main())
