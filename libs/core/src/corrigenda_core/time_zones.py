"""The time zones that teams can have, from the data that is locked with the project and never from the host's.

Two machines with different data would disagree about the nights and days of one team: about what a text means, and
about when a case is looked at.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from zoneinfo import ZoneInfo


@cache
def zone_names() -> frozenset[str]:
    """The IANA names of all zones."""
    return frozenset(files("tzdata").joinpath("zones").read_text(encoding="utf-8").split())


@cache
def team_zone(name: str) -> ZoneInfo:
    """The zone of an IANA name.

    Raises:
        ValueError: there is no such zone.
    """
    if name not in zone_names():
        raise ValueError("there is no such time zone")
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as data:
        return ZoneInfo.from_file(data, key=name)
