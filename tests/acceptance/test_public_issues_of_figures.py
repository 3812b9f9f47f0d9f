"""P61 of the public-issues table, figures that nobody can reproduce: each one of the README comes from a script."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
(FIGURES,) = re.findall(r"^## Figures\n(.*?)^## ", README, re.M | re.S)
ELSEWHERE = README.replace(FIGURES, "")
# What a measurement looks like: a number with a unit of time, size, rate or share.
MEASURED = re.compile(r"\b\d[\d.,]*\s*(?:ms|µs|%|x\b|times\b|MB|GB|MiB|GiB|a second|/s\b|of \d+ (?:questions|cells))")


def scripts_of_figures() -> dict[str, list[str]]:
    """Each script that the section names, with the rows of figures that follow; rows before any are at no name."""
    rows: dict[str, list[str]] = {}
    script = ""
    for line in FIGURES.splitlines():
        if named := re.search(r"`((?:accuracy|perf|quality) \w+)`", line):
            script = named.group(1)
        if line.startswith("|") and re.search(r"\d", line):
            rows.setdefault(script, []).append(line)
    return rows


@pytest.mark.promise("answer.figures")
def test_p61_every_figure_of_the_readme_comes_from_a_script() -> None:
    scripts = scripts_of_figures()
    assert len(scripts) >= 5
    assert "" not in scripts, f"nothing says what measures these: {scripts['']}"
    for script in scripts:
        area, name = script.split()
        path = ROOT / "bench" / area / f"{name}.py"
        assert path.is_file(), script
        assert '"--json"' in path.read_text(encoding="utf-8"), f"{script} gives no figures that can be compared"
    assert "dev.py bench" in FIGURES


@pytest.mark.promise("answer.figures")
def test_p61_no_figure_stands_outside_of_the_section_that_names_the_scripts() -> None:
    assert not MEASURED.findall(ELSEWHERE)
