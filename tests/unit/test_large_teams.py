"""What a recall service remembers of large teams: true for later instants only, and not of ever more teams."""

from datetime import UTC, datetime, timedelta

from corrigenda_core.domain.ids import TeamId
from corrigenda_recall.large_teams import TEAMS_MAX, LargeTeams

TEAM = TeamId("a")
AT = datetime(2026, 3, 1, tzinfo=UTC)
TICK = timedelta(microseconds=1)


def test_a_team_that_was_large_is_large_from_then_on() -> None:
    known = LargeTeams()
    assert known.is_known_large(TEAM, AT) is None
    known.note(TEAM, AT)
    known.note(TEAM, AT + TICK)
    assert [known.is_known_large(TEAM, at) for at in (AT - TICK, AT, AT + TICK, None)] == [None, True, True, None]
    assert known.is_known_large(TeamId("b"), AT) is None
    known.note(TEAM, AT - TICK)
    assert known.is_known_large(TEAM, AT - TICK) is True


def test_the_team_that_was_seen_least_lately_is_forgotten_first() -> None:
    known = LargeTeams()
    known.note(TEAM, None)
    for number in range(TEAMS_MAX):
        known.note(TeamId(str(number)), AT)
    known.note(TeamId("0"), AT)
    known.note(TEAM, AT)
    found = [known.is_known_large(TeamId(team), AT) for team in ("0", "1", "2", TEAM)]
    assert found == [True, None, True, True]
