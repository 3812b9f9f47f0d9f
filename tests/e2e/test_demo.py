"""The demonstration as a user runs it, and how it turns false when a part that it shows is taken away."""

import json
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.database

TIMEOUT_SECONDS = 300


def demo(*flags: str) -> tuple[int, dict[str, Any]]:
    finished = subprocess.run(
        [sys.executable, "-m", "corrigenda_cli", "demo", "--json", *flags],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert finished.stdout.count("\n") == 1, finished.stderr[-2000:]
    return finished.returncode, json.loads(finished.stdout)


@pytest.mark.rule("R8.3", "R8.4", "R9.2")
def test_the_whole_path() -> None:
    status, result = demo()
    assert status == 0
    assert result | {"revision": 0} == {
        "case_opened": True,
        "owner_a_unchanged_by_placement": True,
        "both_positions_recalled_while_open": True,
        "resolved_by_review": True,
        "winner": "release",
        "recall_now": "release",
        "recall_valid_before_cutoff": "main",
        "recall_known_before_correction": "main",
        "known_before_correction_shows_no_case": True,
        "resolved_reference_recalled": True,
        "trace_keeps_loser": True,
        "ledger_verified": True,
        "question": "production deploys from: main or release?",
        "case_version_answered": 1,
        "revision": 0,
    }


def test_without_the_reviewer_nothing_is_resolved() -> None:
    status, result = demo("--without-reviewer")
    assert status == 0
    assert (result["resolved_by_review"], result["winner"]) == (False, None)
    assert result["case_opened"]
    assert result["both_positions_recalled_while_open"]
    assert sorted(result["recall_now"]) == ["main", "release"]


def test_without_entailment_there_is_no_case() -> None:
    status, result = demo("--without-entailment")
    assert status == 0
    assert not result["case_opened"]
    assert not result["both_positions_recalled_while_open"]
    assert (result["resolved_by_review"], result["winner"]) == (False, None)
    assert result["recall_now"] == "main"
