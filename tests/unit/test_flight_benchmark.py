"""The flight benchmark on four small cells: what it counts, and what it takes from the data."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "accuracy" / "flight.py"

GOLD = [("1", "X|gate", "A1"), ("1", "Y|gate", "B1"), ("1", "Z|gate", "C1"), ("2", "X|gate", "A2")]
CLAIMS = [
    # Five sites against one, early and right; one prints the cell twice and is taken at its first word.
    *(("1", "X|gate", f"site{n}", "A1") for n in range(5)),
    ("1", "X|gate", "site0", "A9"),
    ("1", "X|gate", "other", "A9"),
    # Two against one, but the two print one feed; without the grouping they win, wrongly.
    ("1", "Y|gate", "feed1", "B9"),
    ("1", "Y|gate", "feed2", "B9"),
    ("1", "Y|gate", "other", "B1"),
    ("1", "Z|gate", "other", "C1"),
    # Two against one.
    ("2", "X|gate", "feed1", "A2"),
    ("2", "X|gate", "site1", "A2"),
    ("2", "X|gate", "other", "A1"),
    ("2", "of no interest", "other", "A1"),
]


@pytest.fixture
def flight(tmp_path: Path) -> Path:
    folder = tmp_path / "flight"
    folder.mkdir()
    (folder / "gold.tsv").write_text("".join("\t".join(row) + "\n" for row in GOLD), encoding="utf-8")
    with gzip.open(folder / "claims.tsv.gz", "wt", encoding="utf-8") as text:
        text.writelines("\t".join(row) + "\n" for row in CLAIMS)
    (folder / "source_groups.json").write_text(json.dumps({"feed1": "feed", "feed2": "feed"}), encoding="utf-8")
    return folder


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("inside", [True, False], ids=["the folder that holds it", "the folder itself"])
def test_cells_are_counted_by_moment_and_grouping(flight: Path, inside: bool) -> None:
    done = run("--data", str(flight.parent if inside else flight), "--json")
    assert json.loads(done.stdout) == {
        "groups": {
            "conflicting": 3,
            "unanimous": 1,
            "early": {"resolved": 1, "right": 1.0},
            "due": {"resolved": 2, "right": 1.0},
        },
        "sites": {
            "conflicting": 3,
            "unanimous": 1,
            "early": {"resolved": 1, "right": 1.0},
            "due": {"resolved": 3, "right": 2 / 3},
        },
    }


def test_people_read_a_table(flight: Path) -> None:
    lines = run("--data", str(flight)).stdout.splitlines()
    assert lines[1].split() == ["groups", "3", "1", "1", "100.00%", "2", "100.00%"]


def test_a_folder_without_the_data_is_named(tmp_path: Path) -> None:
    done = run("--data", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert str(tmp_path) in done.stderr
