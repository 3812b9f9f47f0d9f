"""docs/ERRORS.md and docs/LIMITS.md say what the code does."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_pages_of_errors_and_limits_are_up_to_date() -> None:
    finished = subprocess.run(
        [sys.executable, "docs/reference_pages.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
