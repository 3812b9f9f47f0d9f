"""What the database takes for eligible is what the policy says of generated histories, for every pair of instants."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from corrigenda_core.domain.cases import CaseKind, CaseMember, CasePosition, CaseStatus, ConflictCase, SetKey
from corrigenda_core.domain.evidence import SupportDecisionKind
from corrigenda_core.domain.ids import ConflictId, EntityId, PositionId, PredicateKey, ProfileId, RelationshipId
from corrigenda_core.domain.objects import EntityObject, Slot
from corrigenda_core.domain.relationships import Relationship, Status
from corrigenda_core.domain.results import EdgeOutline
from corrigenda_core.domain.time import ClosedToNothing, Interval, Moment, TimeBasis
from corrigenda_core.domain.views import Version, View
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.persistence.recall_store import outlines_of
from corrigenda_core.policy.visibility import decide_picture, decide_version_in_view
from corrigenda_core.testing.postgres import PostgresCluster
from corrigenda_core.testing.sample_team import SampleTeam, new_id, set_team
from corrigenda_core.testing.sample_transactions import rolled_back, sample_transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.database

EXAMPLES = 1_000 if os.environ.get("CORRIGENDA_TEST_TIER") == "full" else 40

DAYS = [datetime(2026, month, 1, tzinfo=UTC) for month in (1, 3, 5, 7)]
JUST_BEFORE = timedelta(microseconds=-1)
SIDES = ("a", "b")


@pytest.fixture(scope="module")
def written(cluster: PostgresCluster) -> Iterator[SampleTeam]:
    with cluster.database() as database, sample_transaction(database.superuser_url) as sample:
        yield sample


@dataclass(slots=True)
class History:
    """A team's history, written row by row into the database and kept as versions for the policy beside it."""

    sample: SampleTeam
    rows: dict[str, list[Version[Relationship]]] = field(default_factory=dict)
    cases: list[Version[ConflictCase]] = field(default_factory=list)
    carried: list[tuple[int, int, str]] = field(default_factory=list)
    switched: list[tuple[int, int, SupportDecisionKind]] = field(default_factory=list)
    statements: list[UUID] = field(default_factory=list)
    supports: list[UUID] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    member_versions: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SIDES, 1))
    in_case: set[str] = field(default_factory=lambda: set(SIDES))

    def begin(self) -> None:
        """Takes what the sample holds as the first revisions, and adds a second statement with its support."""
        sample = self.sample
        first = Moment(revision=1, at=sample.recorded_at - timedelta(minutes=1))
        self.moments = [first, self.moment]
        for side in SIDES:
            self.rows[side] = [Version(row=self.row(side, Status.ACTIVE, None, None, None, first), since=first)]
        self.cases = [Version(row=self.case(CaseStatus.OPEN), since=first)]
        second = new_id()
        sample.connection.execute(
            "INSERT INTO observations SELECT (jsonb_populate_record(o, jsonb_build_object('observation_id', %s::uuid,"
            " 'ordinal', 1, 'proposal_id', 'p2'))).* FROM observations AS o WHERE team_id = %s AND observation_id = %s",
            [second, sample.team_id, sample.observation_id],
        )
        self.statements = [sample.observation_id, second]
        self.supports = [sample.support_id, new_id()]
        sample.insert("carriages", statement_id=second, relationship_id=sample.relationship_b)
        sample.insert(
            "supports",
            support_id=self.supports[1],
            relationship_id=sample.relationship_b,
            statement_id=second,
            fragment_id=sample.fragment_id,
            span_starts=[0],
            span_ends=[1],
            near_duplicate_fragment_ids=[],
            evidence_verified=False,
        )
        self.carried = [(1, 0, "a"), (sample.revision, 1, "b")]
        self.switched = [(1, 0, SupportDecisionKind.GRANT)]
        self.switch(1, SupportDecisionKind.GRANT)

    @property
    def moment(self) -> Moment:
        return Moment(revision=self.sample.revision, at=self.sample.recorded_at)

    def row_id(self, side: str) -> UUID:
        return self.sample.relationship_a if side == "a" else self.sample.relationship_b

    def position_id(self, side: str) -> UUID:
        return self.sample.position_a if side == "a" else self.sample.position_b

    def row(
        self,
        side: str,
        status: Status,
        start: datetime | None,
        end: datetime | None,
        basis: TimeBasis | None,
        moment: Moment,
    ) -> Relationship:
        empty = start is not None and start == end
        return Relationship(
            relationship_id=RelationshipId(str(self.row_id(side))),
            version=len(self.rows.get(side, ())) + 1,
            owner_id=ProfileId(side),
            slot=Slot(subject_id=EntityId("subject"), predicate=PredicateKey("deploys_from")),
            object=EntityObject(entity_id=EntityId(side)),
            validity=ClosedToNothing(at=start) if empty else Interval(start=start, end=end),
            start_basis=basis,
            status=status,
            revision=moment.revision,
            recorded_at=moment.at,
            first_recorded_at=moment.at,
        )

    def case(self, status: CaseStatus, preferred: str | None = None, cutoff: datetime | None = None) -> ConflictCase:
        return ConflictCase(
            conflict_id=ConflictId(str(self.sample.conflict_id)),
            set_key=SetKey(
                kind=CaseKind.CURRENT_STATE, subject_id=EntityId("subject"), predicate=PredicateKey("deploys_from")
            ),
            status=status,
            version=len(self.cases) + 1,
            opened_at=DAYS[0],
            review_due_at=DAYS[1],
            first_contradiction_at=DAYS[0],
            positions=tuple(
                CasePosition(
                    position_id=PositionId(side),
                    key=side,
                    members=(
                        (
                            CaseMember(
                                relationship_id=RelationshipId(str(self.row_id(side))),
                                version=1,
                                owner_id=ProfileId(side),
                            ),
                        )
                        if side in self.in_case
                        else ()
                    ),
                    counted_groups=1,
                    authoritative_groups=0,
                    support_digest="",
                    first_seen_at=DAYS[0],
                    last_seen_at=DAYS[0],
                )
                for side in SIDES
            ),
            effective_at=cutoff,
            preferred_position_id=None if preferred is None else PositionId(preferred),
        )

    def change(
        self, side: str, status: Status, start: datetime | None, end: datetime | None, basis: TimeBasis | None
    ) -> None:
        """A further version of a row."""
        row = self.row(side, status, start, end, basis, self.moment)
        self.rows[side] = [*self._ended(self.rows[side]), Version(row=row, since=self.moment)]
        self.sample.update(
            "relationships",
            {"relationship_id": self.row_id(side)},
            version=row.version,
            status=status.value,
            valid_from=start or "-infinity",
            valid_to=end or "infinity",
            valid_from_basis=basis,
        )

    def carry(self, statement: int, side: str) -> None:
        self.carried.append((self.moment.revision, statement, side))
        self.sample.insert("carriages", statement_id=self.statements[statement], relationship_id=self.row_id(side))

    def switch(self, support: int, kind: SupportDecisionKind) -> None:
        self.switched.append((self.moment.revision, support, kind))
        self.sample.insert(
            "support_decisions",
            support_id=self.supports[support],
            kind=kind.value,
            authority="primary",
            granted_by_key=False,
            reason="test",
            actor_kind="profile",
            actor_profile_id=self.sample.owner_a,
        )

    def join_or_leave(self, side: str) -> None:
        """A member leaves the case while it is live, or is back."""
        if self.cases[-1].row.status is CaseStatus.RESOLVED:
            return
        self.in_case ^= {side}
        self.member_versions[side] += 1
        self._case(self.case(CaseStatus.OPEN))
        self.sample.update("conflict_cases", {"conflict_id": self.sample.conflict_id}, version=len(self.cases))
        self.sample.update(
            "case_members",
            {
                "conflict_id": self.sample.conflict_id,
                "position_id": self.position_id(side),
                "relationship_id": self.row_id(side),
            },
            version=self.member_versions[side],
            present=side in self.in_case,
        )

    def resolve(self, preferred: str, cutoff: datetime) -> None:
        if self.cases[-1].row.status is CaseStatus.RESOLVED:
            return
        self._case(self.case(CaseStatus.RESOLVED, preferred, cutoff))
        self.sample.update(
            "conflict_cases",
            {"conflict_id": self.sample.conflict_id},
            status="resolved",
            version=len(self.cases),
            resolved_at=self.moment.at,
            effective_at=cutoff,
            effective_time_basis="evidence_time",
            preferred_position_id=self.position_id(preferred),
            resolution_reason="due_majority",
            policy_version="independent-sources/1",
        )

    def _case(self, case: ConflictCase) -> None:
        self.cases = [*self._ended(self.cases), Version(row=case, since=self.moment)]

    def _ended(self, versions: list[Version[Any]]) -> list[Version[Any]]:
        *earlier, last = versions
        return [*earlier, Version(row=last.row, since=last.since, until=self.moment)]

    def expected(self, view: View) -> set[str]:
        """The rows that make the fragment eligible, by the policy."""
        rows = [version for side in SIDES for version in self.rows[side]]
        in_force = {edge.relationship.relationship_id for edge in decide_picture(view, rows, self.cases).edges}
        found = set()
        for number in range(len(self.supports)):
            kinds = [kind for revision, one, kind in self.switched if one == number and revision <= view.revision]
            carriers = [side for revision, one, side in self.carried if one == number and revision <= view.revision]
            if kinds and kinds[-1] is not SupportDecisionKind.REVOKE and carriers:
                found.add(str(self.row_id(carriers[-1])))
        return found & in_force

    def found(self, view: View, recorded_by: datetime) -> set[str]:
        """The rows that make the fragment eligible, by the database, as the recall role sees it."""
        rows = self.sample.connection.execute(
            "SELECT relationship_id FROM edges_of_fragment(%s, %s, %s, %s)",
            [self.sample.team_id, self.sample.fragment_id, view.valid_at, recorded_by],
        ).fetchall()
        return {str(relationship_id) for (relationship_id,) in rows}

    def outlined(self, view: View, recorded_by: datetime) -> dict[str, EdgeOutline]:
        """The rows that the search says make the fragment eligible, as it outlines them."""
        rows = self.sample.connection.execute(
            "SELECT outlines FROM search_text(%s, %s, %s, 10)", [["main"], view.valid_at, recorded_by]
        ).fetchall()
        return {edge.relationship_id: edge for (text,) in rows for edge in outlines_of(text)}

    def outlines(self, view: View) -> dict[str, tuple[Status, int]]:
        """The same by the policy: the status of each row and how many ends of it are entities."""
        rows = {str(self.row_id(side)): decide_version_in_view(self.rows[side], view) for side in SIDES}
        return {row_id: (row.status, 2) for row_id in self.expected(view) if (row := rows[row_id]) is not None}


SIDE = st.sampled_from(SIDES)
DAY = st.sampled_from(DAYS)


@st.composite
def row_changes(draw: st.DrawFn) -> tuple[Any, ...]:
    start, end = draw(st.none() | DAY), draw(st.none() | DAY)
    if start is not None and end is not None and end < start:
        start, end = end, start
    basis = None if start is None else draw(st.sampled_from(TimeBasis))
    return ("change", draw(SIDE), draw(st.sampled_from(Status)), start, end, basis)


STEPS = st.one_of(
    row_changes(),
    st.tuples(st.just("carry"), st.integers(0, 1), SIDE),
    st.tuples(st.just("switch"), st.integers(0, 1), st.sampled_from(SupportDecisionKind)),
    st.tuples(st.just("join_or_leave"), SIDE),
    st.tuples(st.just("resolve"), SIDE, DAY),
)


@pytest.mark.promise("Q3")
@pytest.mark.rule("R8.2", "R8.3", "R9.1")
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, max_size=8))
def test_eligibility_is_what_the_policy_says(written: SampleTeam, steps: list[tuple[Any, ...]]) -> None:
    with rolled_back(written) as sample:
        history = History(sample)
        history.begin()
        for name, *arguments in steps:
            sample.next_revision()
            getattr(history, name)(*arguments)
            history.moments.append(history.moment)
        set_team(sample.connection, sample.team_id)
        sample.connection.execute("SET LOCAL ROLE corrigenda_recall")
        for moment in history.moments:
            for valid_at in (*DAYS, DAYS[0] + JUST_BEFORE, DAYS[1] + JUST_BEFORE):
                view = View(valid_at=valid_at, revision=moment.revision)
                expected = history.expected(view)
                for recorded_by in (moment.at, moment.at - JUST_BEFORE):
                    assert history.found(view, recorded_by) == expected, view
                outlined = history.outlined(view, moment.at)
                assert {row: (one.status, len(one.entity_ids)) for row, one in outlined.items()} == history.outlines(
                    view
                )


def test_eligibility_is_part_of_the_query_that_asks(written: SampleTeam) -> None:
    """A function that is called for each hit would cost more than everything else; every step has its index."""
    with rolled_back(written) as sample:
        set_team(sample.connection, sample.team_id)
        sample.connection.execute("SET LOCAL ROLE corrigenda_recall")
        sample.connection.execute("SET LOCAL enable_seqscan = off")
        lines = sample.connection.execute(
            "EXPLAIN SELECT d.fragment_id, (SELECT string_agg(e.outline, ',')"
            " FROM edges_of_fragment(%(team)s, d.fragment_id, now(), now()) AS e)"
            " FROM search_documents AS d WHERE d.team_id = %(team)s",
            {"team": sample.team_id},
        ).fetchall()
    plan = "\n".join(str(line) for (line,) in lines)
    assert "Function Scan" not in plan
    for index in (
        "supports_fragment_id_idx",
        "carriages_pkey",
        "support_decisions_pkey",
        "relationships_history_pkey",
        "case_members_relationship_id_idx",
        "case_members_history_pkey",
        "conflict_cases_history_pkey",
    ):
        assert index in plan, plan


@pytest.mark.rule("R9.2", "R8.2")
def test_a_question_marks_a_row_while_it_is_pending(written: SampleTeam) -> None:
    """As the view knows it: not before it names the row, and not once it is closed."""
    with rolled_back(written) as sample:
        moments = [sample.recorded_at + JUST_BEFORE]
        item = {"item_id": sample.item_id}
        sample.update("review_items", item, version=2, opposing=[sample.relationship_a])
        moments.append(sample.recorded_at)
        sample.next_revision()
        sample.update("review_items", item, version=3, status="closed", reason="settled")
        moments.append(sample.recorded_at)
        set_team(sample.connection, sample.team_id)
        sample.connection.execute("SET LOCAL ROLE corrigenda_recall")
        statement = load_sql("recall.sql")["held_against"]
        found = [
            sample.connection.execute(
                statement.sql.encode(),
                {"team_id": sample.team_id, "fragment_ids": [sample.fragment_id], "known_at": known_at},
            ).fetchall()
            for known_at in moments
        ]
    opposing = [[row_id for _, row_ids in rows if isinstance(row_ids, list) for row_id in row_ids] for rows in found]
    assert opposing == [[], [sample.relationship_a], []]
