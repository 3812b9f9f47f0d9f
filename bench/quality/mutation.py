#!/usr/bin/env python3
"""Mutation score of `policy/`: how many small changes of a decision some test notices, on a seeded sample.

A mutant is one change of one expression in a copy of the core library: a comparison turned, `and` made `or`, a
condition negated, a number moved by one, `min` made `max`. The tests that import the changed module run first, then the
other pure tests; a mutant that survives all of them is listed. Nothing of the checkout is changed.

    python3 dev.py bench quality mutation --sample 60 --seed 1 --json
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "libs" / "core" / "src"
POLICY = SOURCE / "corrigenda_core" / "policy"
TEST_FOLDERS = ("tests/unit", "tests/property", "tests/acceptance")
TIMEOUT_LEAST_SECONDS = 300
TIMEOUT_PER_WHOLE_RUN = 6
"""After so many times what all tests take without a mutant, a run is one that never ends: a machine may be busy."""
_NOTHING_RUN = (4, 5)  # pytest was called wrongly, or found no test: no mutant is killed by that

_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_SWAPPED = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: where, and what it is."""

    module: str
    line: int
    change: str
    place: int


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a mutant: which tests noticed it, or none."""

    mutant: Mutant
    killed_by: str


class _Mutator(ast.NodeTransformer):
    """Numbers every possible change of a tree; makes the one with the number ``target``."""

    def __init__(self, target: int = -1) -> None:
        self.target = target
        self.found: list[tuple[int, str]] = []

    def _is_target(self, node: ast.AST, change: str) -> bool:
        self.found.append((getattr(node, "lineno", 0), change))
        return len(self.found) - 1 == self.target

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Turns each comparison of a chain."""
        self.generic_visit(node)
        for number, operator in enumerate(node.ops):
            turned = _TURNED.get(type(operator))
            if turned and self._is_target(node, f"{type(operator).__name__} -> {turned.__name__}"):
                node.ops[number] = turned()
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """Makes `and` of `or`, and the other way."""
        self.generic_visit(node)
        other = ast.Or if isinstance(node.op, ast.And) else ast.And
        if self._is_target(node, f"{type(node.op).__name__} -> {other.__name__}"):
            node.op = other()
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """Drops a `not`."""
        self.generic_visit(node)
        if isinstance(node.op, ast.Not) and self._is_target(node, "not dropped"):
            return node.operand
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Moves a whole number by one."""
        if type(node.value) is int and self._is_target(node, f"{node.value} -> {node.value + 1}"):
            return ast.copy_location(ast.Constant(value=node.value + 1), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Swaps `min` and `max`, `any` and `all`."""
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in _SWAPPED and self._is_target(node, f"{name} -> {_SWAPPED[name]}"):
            node.func = ast.copy_location(ast.Name(id=_SWAPPED[name], ctx=ast.Load()), node.func)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        """Negates the condition of an `if`."""
        self.generic_visit(node)
        if self._is_target(node, "if negated"):
            node.test = ast.copy_location(ast.UnaryOp(op=ast.Not(), operand=node.test), node.test)
        return node


def mutants() -> Iterator[Mutant]:
    """Every mutant of every module of the policy."""
    for path in sorted(POLICY.glob("*.py")):
        mutator = _Mutator()
        mutator.visit(ast.parse(path.read_text(encoding="utf-8")))
        for place, (line, change) in enumerate(mutator.found):
            yield Mutant(path.stem, line, change, place)


def tests_of(module: str) -> list[str]:
    """The pure tests that import a module themselves."""
    imported = re.compile(rf"corrigenda_core\.policy\.{module}\b")
    found = []
    for folder in TEST_FOLDERS:
        for path in sorted((ROOT / folder).rglob("test_*.py")):
            if imported.search(path.read_text(encoding="utf-8")):
                found.append(str(path.relative_to(ROOT)))
    return found


def fate_of(mutant: Mutant, copied: Path, timeout_seconds: float) -> Fate:
    """Runs the tests on a copy that has the change, and puts the copy back."""
    path = copied / "corrigenda_core" / "policy" / f"{mutant.module}.py"
    original = path.read_text(encoding="utf-8")
    tree = _Mutator(mutant.place).visit(copy.deepcopy(ast.parse(original)))
    try:
        path.write_text(ast.unparse(ast.fix_missing_locations(tree)), encoding="utf-8")
        for name, tests in (("its own tests", tests_of(mutant.module)), ("other tests", list(TEST_FOLDERS))):
            if tests and not _pass(tests, copied, timeout_seconds):
                return Fate(mutant, name)
        return Fate(mutant, "")
    finally:
        path.write_text(original, encoding="utf-8")


def _pass(tests: list[str], copied: Path, timeout_seconds: float | None = None) -> bool:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not database", *tests]
    environment = {**os.environ, "PYTHONPATH": str(copied), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        finished = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, timeout=timeout_seconds, check=False
        )
    except subprocess.TimeoutExpired:
        # A change that never ends is noticed by whoever waits.
        return False
    if finished.returncode in _NOTHING_RUN:
        raise RuntimeError(f"no tests ran: {finished.stdout.decode()}")
    return finished.returncode == 0


def main() -> int:
    """Prints the score; 1 if it is below ``--at-least``, or if the tests fail without a mutant too."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sample", type=int, default=60, help="how many mutants (default: 60)")
    parser.add_argument("--seed", type=int, default=1, help="which sample (default: 1)")
    parser.add_argument("--at-least", type=float, default=0.9, help="the score to reach (default: 0.9)")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    options = parser.parse_args()
    every = list(mutants())
    sample = random.Random(options.seed).sample(every, min(options.sample, len(every)))
    fates = []
    with tempfile.TemporaryDirectory(prefix="corrigenda-mutants-") as folder:
        copied = Path(folder) / "src"
        shutil.copytree(SOURCE, copied, ignore=shutil.ignore_patterns("__pycache__"))
        began = time.monotonic()
        if not _pass(list(TEST_FOLDERS), copied):
            print("the tests fail without any mutant", file=sys.stderr)
            return 1
        timeout_seconds = max(TIMEOUT_LEAST_SECONDS, TIMEOUT_PER_WHOLE_RUN * (time.monotonic() - began))
        for number, mutant in enumerate(sample, start=1):
            fate = fate_of(mutant, copied, timeout_seconds)
            fates.append(fate)
            where = f"{mutant.module}.py:{mutant.line} {mutant.change}"
            print(f"{number}/{len(sample)} {where}: {fate.killed_by or 'SURVIVED'}", file=sys.stderr, flush=True)
    score = sum(bool(fate.killed_by) for fate in fates) / len(fates)
    survivors = [fate.mutant for fate in fates if not fate.killed_by]
    if options.json:
        result = {"mutants": len(every), "sample": len(fates), "seed": options.seed, "score": score}
        print(json.dumps({**result, "survivors": [asdict(one) for one in survivors]}))
    else:
        print(f"{score:.1%} of {len(fates)} of {len(every)} mutants were noticed (seed {options.seed})")
        for one in survivors:
            print(f"  survived: {one.module}.py:{one.line} {one.change}")
    return 0 if score >= options.at_least else 1


if __name__ == "__main__":
    sys.exit(main())
