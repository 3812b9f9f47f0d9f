"""The threat model: every mitigation names tests that exist, and nothing for tests is reached in production."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = [
    line for line in (ROOT / "docs" / "threat-model.md").read_text().splitlines() if re.match(r"\| [STRIDE] \|", line)
]


@pytest.mark.parametrize("row", ROWS)
def test_every_mitigation_is_proven_by_a_test_that_exists(row: str) -> None:
    named = re.findall(r"`([a-z0-9]+/test_[a-z0-9_]+\.py)::(test_[a-z0-9_]+)`", row)
    assert named, row
    for file, test in named:
        assert re.search(rf"def {test}\(", (ROOT / "tests" / file).read_text()), f"{file}::{test}"


def test_every_letter_of_stride_is_there() -> None:
    assert {row[2] for row in ROWS} == set("STRIDE")


def test_no_process_reads_failpoints_by_itself() -> None:
    # Import contracts hold that no code of production imports `testing`; here, that nothing names the variable either.
    sources = [
        *ROOT.glob("libs/core/src/corrigenda_core/**/*.py"),
        *ROOT.glob("services/*/src/**/*.py"),
        *ROOT.glob("cli/src/**/*.py"),
    ]
    naming = [one for one in sources if "CORRIGENDA_FAILPOINTS" in one.read_text() and "testing" not in one.parts]
    assert len(sources) > 300
    assert naming == []


def test_settings_that_the_guide_names_exist() -> None:
    from corrigenda_conflict.config import ConflictSettings
    from corrigenda_gateway.config import GatewaySettings

    known = {f"CORRIGENDA_{name}".upper() for kind in (ConflictSettings, GatewaySettings) for name in kind.model_fields}
    guide = (ROOT / "docs" / "guides" / "security.md").read_text()
    assert set(re.findall(r"\bCORRIGENDA_[A-Z_]*[A-Z]\b", guide)) <= known
