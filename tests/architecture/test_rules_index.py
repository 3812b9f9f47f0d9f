"""docs/RULES.md is true: every id in one docstring, every test's rule listed, nothing out of date."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_index_of_rules_is_up_to_date() -> None:
    finished = subprocess.run(
        [sys.executable, "docs/rules_index.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
