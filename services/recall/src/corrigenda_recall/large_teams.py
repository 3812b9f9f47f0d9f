"""Which teams are known to be large, so that not every question has the database count their documents."""

from __future__ import annotations

from corrigenda_core.domain.ids import TeamId
from corrigenda_core.domain.time import Instant

TEAMS_MAX = 10_000


class LargeTeams:
    """Teams with the earliest instant of the record at which one was seen to be large.

    Search documents are never taken away and keep the instant of their fragment, so a team that was large at an instant
    is large at every later one, whatever is recorded or indexed meanwhile.
    """

    def __init__(self) -> None:
        self._since: dict[TeamId, Instant] = {}

    def is_known_large(self, team_id: TeamId, known_at: Instant | None) -> bool | None:
        """``True`` if the team is known to be large in a view of this instant; else ``None``: the database knows."""
        since = self._since.get(team_id)
        return True if since is not None and known_at is not None and since <= known_at else None

    def note(self, team_id: TeamId, known_at: Instant | None) -> None:
        """Remembers that the team was large in a view of this instant."""
        if known_at is None:
            return
        since = self._since.pop(team_id, known_at)
        self._since[team_id] = min(since, known_at)
        if len(self._since) > TEAMS_MAX:
            # Whoever was not seen for the longest time is asked about once more.
            del self._since[next(iter(self._since))]
