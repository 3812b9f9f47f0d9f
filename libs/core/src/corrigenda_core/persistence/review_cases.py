"""What a look reads: a case with its members' rows and supports, many cases in a handful of queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from corrigenda_core.domain.cases import CaseMember
from corrigenda_core.domain.ids import ConflictId, TeamId
from corrigenda_core.domain.slots import CaseView
from corrigenda_core.domain.time import Instant
from corrigenda_core.persistence.case_rows import case_of, member_of, position_of
from corrigenda_core.persistence.database import Row, Unbounded
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.persistence.row_values import relationship_of, support_of
from corrigenda_core.persistence.slot_store import CaseRowVersions

_SQL = "review.sql"
_STATEMENTS = (
    "review_case",
    "review_positions",
    "review_members",
    "review_beside",
    "review_carriages",
    "review_supports",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRows:
    """The rows of one case, by the statement that found them."""

    found: Mapping[str, Sequence[Row]]

    def view(self) -> CaseView:
        """The case as a review reads it."""
        members: dict[str, list[CaseMember]] = defaultdict(list)
        for row in self.found["review_members"]:
            members[row["position_id"]].append(member_of(row))
        (case,) = self.found["review_case"]
        positions = tuple(
            position_of(row, tuple(members[row["position_id"]])) for row in self.found["review_positions"]
        )
        return CaseView(
            case=case_of(case, positions),
            rows=tuple(relationship_of(row) for row in self.found["review_members"]),
            beside=tuple(relationship_of(row) for row in self.found["review_beside"]),
            supports=tuple(support_of(row) for row in self.found["review_supports"]),
            carried=tuple((row["relationship_id"], row["statement_id"]) for row in self.found["review_carriages"]),
        )

    def add_versions(self, versions: CaseRowVersions) -> None:
        """Adds the versions of the rows of its positions and members."""
        versions.load(self.found["review_positions"], self.found["review_members"])


def case_queries(team_id: TeamId, conflict_ids: Iterable[ConflictId]) -> list[Query]:
    """What looks at these cases read; `case_rows` reads the answers."""
    ids = sorted(conflict_ids)
    if len(ids) == 1:
        parameters = {"team_id": team_id, "conflict_id": ids[0]}
        return [Query(name=name, sql=_sql_of_one(name), parameters=parameters) for name in _STATEMENTS]
    sql = load_sql(_SQL)
    return [sql.query(name, team_id=team_id, conflict_ids=ids) for name in _STATEMENTS]


@cache
def _sql_of_one(name: str) -> str:
    """A statement for one case: the server keeps its plan, where it plans anew for every list, at ten times the cost.

    A plan for any list is made for a longer one than most, so the server never thinks it worth keeping.
    """
    return load_sql(_SQL)[name].sql.replace("= ANY(%(conflict_ids)s::uuid[])", "= %(conflict_id)s::uuid")


def case_rows(answers: Mapping[str, list[Row]], conflict_ids: Iterable[ConflictId]) -> dict[ConflictId, CaseRows]:
    """The rows of each case, by the answers to `case_queries`."""
    by_case: dict[str, dict[str, list[Row]]] = {one: {name: [] for name in _STATEMENTS} for one in conflict_ids}
    for name in _STATEMENTS:
        for row in answers[name]:
            by_case[row["conflict_id"]][name].append(row)
    return {ConflictId(one): CaseRows(found=found) for one, found in by_case.items()}


def others_query(team_id: TeamId, conflict_id: ConflictId) -> Query:
    """The other live cases that share a member; `other_cases` reads the answer."""
    return load_sql(_SQL).query("review_others", team_id=team_id, conflict_id=conflict_id)


def other_cases(rows: Iterable[Row]) -> list[ConflictId]:
    """The cases of `others_query`."""
    return [ConflictId(row["conflict_id"]) for row in rows]


class CaseLeases:
    """The statements on a claimed lease inside the commit of a look; replaced only by tests without the fence."""

    def hold(self, team_id: TeamId, conflict_id: ConflictId, claim_token: int) -> Query:
        """Locks the lease until the end of the commit, if the claim still stands; `held_version` reads the answer."""
        return load_sql(_SQL).query("hold_lease", team_id=team_id, conflict_id=conflict_id, claim_token=claim_token)

    def held_version(self, answers: Mapping[str, list[Row]]) -> int | None:
        """The case's version if the claim still stands, by the answer to `hold`; else ``None``."""
        rows = answers["hold_lease"]
        return rows[0]["version"] if rows else None

    def finish(
        self,
        team_id: TeamId,
        conflict_id: ConflictId,
        claim_token: int,
        *,
        next_review_at: Instant | Unbounded,
        team_now: Instant,
    ) -> Query:
        """Gives the lease back inside the commit; the commit fails if the claim is lost."""
        return load_sql(_SQL).query(
            "finish_look",
            team_id=team_id,
            conflict_id=conflict_id,
            claim_token=claim_token,
            next_review_at=next_review_at,
            team_now=team_now,
        )


def look_again(team_id: TeamId, conflict_id: ConflictId, *, next_review_at: Instant) -> Query:
    """Takes the lease of a case away from whoever holds it: its version rises without them."""
    return load_sql("case_lease.sql").query(
        "look_again", team_id=team_id, conflict_id=conflict_id, next_review_at=next_review_at
    )
