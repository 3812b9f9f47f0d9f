"""Team zones come from the locked data, by their IANA names and no others."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path

import pytest
from corrigenda_core.time_zones import team_zone, zone_names


def test_every_zone_can_be_read() -> None:
    at = datetime(2026, 7, 1, tzinfo=UTC)
    assert all(at.astimezone(team_zone(name)).utcoffset() is not None for name in zone_names())


def test_a_zone_knows_its_summer() -> None:
    summer, winter = (datetime(2026, month, 1, 12, tzinfo=UTC) for month in (7, 1))
    berlin = team_zone("Europe/Berlin")
    assert summer.astimezone(berlin).utcoffset() == timedelta(hours=2)
    assert winter.astimezone(berlin).utcoffset() == timedelta(hours=1)


@pytest.mark.parametrize(
    "name",
    ["", "localtime", "posixrules", "right/UTC", "../zones", "Europe", "europe/berlin", "zones", "/etc/localtime"],
)
def test_what_only_a_host_knows_is_no_zone(name: str) -> None:
    with pytest.raises(ValueError, match="no such time zone"):
        team_zone(name)


def test_the_data_of_the_host_is_not_read(tmp_path: Path) -> None:
    """A host that takes Berlin for Honolulu changes no night of a team."""
    program = (
        "from datetime import datetime, UTC\n"
        "from corrigenda_core.time_zones import team_zone\n"
        "print(datetime(2026, 1, 1, tzinfo=UTC).astimezone(team_zone('Europe/Berlin')).utcoffset())"
    )
    folder = tmp_path / "Europe"
    folder.mkdir()
    (folder / "Berlin").write_bytes(files("tzdata").joinpath("zoneinfo", "Pacific", "Honolulu").read_bytes())
    environment = {**os.environ, "PYTHONTZPATH": str(tmp_path)}
    answer = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "1:00:00"
