#!/usr/bin/env python3
"""Keeps docs/RULES.md true: for every rule, the one place that decides it and the tests that prove it.

The table's first two columns (id, what the rule says) are written by hand; the other two are derived: a rule is decided
where its id stands in a docstring, and proven by the tests that carry ``@pytest.mark.rule(id)``. ``--check`` changes
nothing and fails when the file is out of date, an id stands in two docstrings, or a test names an unknown rule.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RULES = ROOT / "docs" / "RULES.md"
SOURCES = ["libs/core/src/corrigenda_core", "services", "cli"]
RULE_ID = re.compile(r"\bR(?:1[01]|[2-9])\.\d+[a-z]?\b")
ROW = re.compile(r"^\| (R\d+\.\d+[a-z]?) \| ([^|]*) \|")
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


def _marked_rules(node: ast.AST) -> Iterator[str]:
    """The rule ids of ``pytest.mark.rule(...)`` calls in a decorator or a ``pytestmark`` value."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "rule":
            for argument in call.args:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield argument.value


def proving_tests() -> dict[str, list[str]]:
    """Rule id -> the test files that prove it, with how many tests of each carry the marker."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        file = str(path.relative_to(ROOT))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                marks = [rule for decorator in node.decorator_list for rule in _marked_rules(decorator)]
            elif isinstance(node, ast.Assign) and any(
                isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets
            ):
                marks = list(_marked_rules(node.value))
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "param":
                marks = [rule for keyword in node.keywords for rule in _marked_rules(keyword.value)]
            else:
                continue
            for rule in marks:
                counts[rule][file] += 1
    return {rule: [f"{file} ({n})" for file, n in sorted(files.items())] for rule, files in counts.items()}


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


def main() -> int:
    """Rewrites RULES.md, or with ``--check`` says what is out of date; 1 on any problem."""
    current = RULES.read_text(encoding="utf-8")
    text, problems = rendered(current)
    for problem in problems:
        print(problem, file=sys.stderr)
    if "--check" in sys.argv[1:]:
        if text != current:
            print("docs/RULES.md is out of date: run `python3 dev.py rules`", file=sys.stderr)
        return 1 if problems or text != current else 0
    RULES.write_text(text, encoding="utf-8")
    missing = [line.split("|")[1].strip() for line in text.splitlines() if ROW.match(line) and NO_TEST in line]
    print(f"rules without a test: {', '.join(missing) or 'none'}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
