"""Speed of the reviewer: cases a second evaluated and resolved, and what a review costs as the team grows.

A throw-away stack (PostgreSQL with fsync, the ingest and conflict services, one reviewer process) serves teams with
driven clocks. Measured from outside, in the same run:

- ``evaluated``: a requested run over live cases that stay live, until it is finished (median of its rounds);
- ``resolved``: the clock is driven past the deadlines of cases with a majority, until none of them is live;
- both for one team, whose commits wait for each other and for the disk, and with as many cases in teams side by side;
- ``growth``: the same requested run after the team's tables were filled up to so many relationships with closed cases,
  evidence and supports of their own, and its time as a multiple of the first.

    python3 dev.py bench perf review [--json] [--cases N] [--teams N] [--relationships N N ...]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import conflict_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, submission_pb2
from corrigenda.type.v1 import evidence_pb2, relationship_pb2
from corrigenda_cli.demonstration_team import make_team, prepare
from corrigenda_cli.stack import PROCESSES, Stack
from corrigenda_core.rpc.client import Client, Endpoints
from corrigenda_core.rpc.convert import timestamp_of
from machine import machine_facts
from processor_time import process_seconds
from psycopg import sql

TARGET_EVALUATED_PER_SECOND = 300
TARGET_RESOLVED_PER_SECOND = 150
TARGET_GROWTH = 1.2
BEGINNING = datetime(2026, 1, 10, tzinfo=UTC)
NEEDED = ("ingest", "conflict", "reviewer")
PROFILES = ("A", "B", "C")
# Three witnesses, not one that is copied.
TELLS = {"A": "As ever:", "B": "The log of the build server:", "C": "Our checklist of this week confirms it:"}

# What grows with a team. Every id in a copied row is a new one, made from the old: copies refer to copies.
GROWING = [
    "ingests",
    "evidence_fragments",
    "observations",
    "verification_events",
    "statements",
    "relationships",
    "relationships_history",
    "transitions",
    "carriages",
    "supports",
    "support_decisions",
    "cross_references",
    "conflict_cases",
    "conflict_cases_history",
    "case_positions",
    "case_positions_history",
    "case_members",
    "case_members_history",
    "case_events",
    "case_evaluations",
    "case_lease",
]
KEPT_IDS = ("team_id", "profile_id", "owner_id", "author_id", "actor_profile_id", "object_entity_id")


def says(subject: str, branch: str, text: str) -> ingest_service_pb2.RememberRequest:
    return ingest_service_pb2.RememberRequest(
        idempotency_key=uuid.uuid4().hex,
        evidence=[submission_pb2.EvidenceItem(content=text, source_type=evidence_pb2.SOURCE_TYPE_CONVERSATION)],
        proposal=submission_pb2.Proposal(
            entities=[
                submission_pb2.ProposedEntity(ref="env", name=subject, entity_kind="environment"),
                submission_pb2.ProposedEntity(ref="branch", name=branch, entity_kind="git_branch"),
            ],
            relationships=[
                submission_pb2.ProposedRelationship(
                    proposal_id="p1",
                    subject_ref="env",
                    predicate="deploys_from",
                    object_ref="branch",
                    polarity=relationship_pb2.POLARITY_POSITIVE,
                    modality=relationship_pb2.MODALITY_STATEMENT,
                    evidence=[submission_pb2.Citation(evidence_index=0, start=0, end=len(text))],
                )
            ],
        ),
    )


class Team:
    """The team that is reviewed."""

    def __init__(self, stack: Stack, admin: Client, writers: dict[str, Client], team_id: str) -> None:
        self.stack, self.admin, self.writers, self.team_id = stack, admin, writers, team_id

    async def vote(self, who: str, subjects: list[str], branch: str) -> None:
        """A statement of one profile about every subject; a few at a time, because a team has one writer."""
        room = asyncio.Semaphore(8)

        async def one(subject: str) -> None:
            async with room:
                text = f"{TELLS[who]} {subject} deploys from {branch}."
                await self.writers[who].ingest.Remember(says(subject, branch, text))

        await asyncio.gather(*(one(subject) for subject in subjects))

    async def drive(self, at: datetime) -> None:
        """Sets the team's clock."""
        await self.admin.admin.DriveClock(
            admin_service_pb2.DriveClockRequest(idempotency_key=uuid.uuid4().hex, time=timestamp_of(at))
        )

    async def review(self) -> float:
        """How long a requested run takes, from the request to its end, in seconds."""
        started = time.perf_counter()
        answer = await self.admin.conflict.ReviewNow(
            conflict_service_pb2.ReviewNowRequest(idempotency_key=uuid.uuid4().hex, wait_seconds=0)
        )
        await self.until("SELECT 1 FROM review_runs WHERE run_id = %s AND status = 'finished'", answer.run.run_id)
        return time.perf_counter() - started

    def reviewer_cpu_seconds(self) -> float:
        """Processor time of the reviewer process so far."""
        return process_seconds(self.stack.children["reviewer"].pid)

    async def until_looked_at(self) -> None:
        """Waits until every case of the team had its first look."""
        await self.until(
            "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM case_lease WHERE team_id = %s AND last_evaluated_at IS NULL)",
            self.team_id,
        )

    async def until_closed(self) -> None:
        """Waits until no case of the team is open."""
        await self.until(
            "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM conflict_cases WHERE team_id = %s AND status = 'open')",
            self.team_id,
        )

    async def until(self, query: str, *parameters: object) -> None:
        """Waits until a query finds a row."""

        def wait() -> None:
            with psycopg.connect(self.stack.admin_url, autocommit=True) as connection:
                while connection.execute(query.encode(), parameters).fetchone() is None:
                    time.sleep(0.01)

        await asyncio.to_thread(wait)

    def count(self, query: str) -> int:
        """The number that a query about the team answers."""
        with psycopg.connect(self.stack.admin_url, autocommit=True) as connection:
            row = connection.execute(query.encode(), [self.team_id]).fetchone()
        return int(row[0]) if row else 0


def grow(team: Team, relationships: int) -> None:
    """Copies what is closed in the team until it has so many relationships."""
    with psycopg.connect(team.stack.admin_url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(
            "CREATE TEMP TABLE seed AS SELECT relationship_id FROM relationships WHERE team_id = %s AND NOT EXISTS ("
            "SELECT 1 FROM case_members AS m JOIN conflict_cases AS k USING (team_id, conflict_id) "
            "WHERE m.relationship_id = relationships.relationship_id AND k.status IN ('open', 'overdue'))",
            [team.team_id],
        )
        (seeds,) = connection.execute("SELECT count(*) FROM seed").fetchone() or (0,)
        have = team.count("SELECT count(*) FROM relationships WHERE team_id = %s")
        copies = max(0, -(-(relationships - have) // seeds))
        for table in GROWING:
            copy_rows(connection, table, team.team_id, copies, salt=f"grown to {relationships}")
        connection.execute("DROP TABLE seed")
        connection.execute("SET session_replication_role = origin")
        connection.execute("VACUUM (ANALYZE)")


# Which rows of a table belong to what is closed; everything else is copied whole.
CLOSED = "conflict_id IN (SELECT conflict_id FROM conflict_cases WHERE status NOT IN ('open', 'overdue'))"
ONLY = {
    **dict.fromkeys(
        ("relationships", "relationships_history", "transitions", "carriages"), "relationship_id IN (TABLE seed)"
    ),
    **dict.fromkeys([name for name in GROWING if name.startswith(("case_", "conflict_"))], CLOSED),
}


def copy_rows(
    connection: psycopg.Connection[tuple[object, ...]], table: str, team_id: str, copies: int, *, salt: str
) -> None:
    columns = connection.execute(
        "SELECT column_name, data_type, udt_name FROM information_schema.columns WHERE table_name = %s "
        "ORDER BY ordinal_position",
        [table],
    ).fetchall()
    selected = []
    for name, kind, inner in columns:
        column = sql.Identifier(str(name))
        if kind == "uuid" and name not in KEPT_IDS:
            selected.append(sql.SQL("md5(s.{}::text || {} || n)::uuid").format(column, sql.Literal(salt)))
        elif inner == "_uuid":
            selected.append(
                sql.SQL(
                    "CASE WHEN s.{1} IS NOT NULL "
                    "THEN ARRAY(SELECT md5(x::text || {0} || n)::uuid FROM unnest(s.{1}) AS x) END"
                ).format(sql.Literal(salt), column)
            )
        else:
            selected.append(sql.SQL("s.{}").format(column))
    connection.execute(
        sql.SQL(
            "INSERT INTO {table} SELECT {columns} FROM (SELECT * FROM {table} WHERE team_id = %s AND {only}) AS s, "
            "generate_series(1, %s) AS n"
        ).format(
            table=sql.Identifier(table),
            columns=sql.SQL(", ").join(selected),
            only=sql.SQL(ONLY.get(table, "true")),
        ),
        [team_id, copies],
    )


async def measured(stack: Stack, options: argparse.Namespace, say: Callable[[str], None]) -> dict[str, object]:
    async with AsyncExitStack() as opened:
        beside = [await new_team(stack, opened) for _ in range(options.teams)]
        side_by_side = await _side_by_side(beside, options, say)
        return {**await _figures(await new_team(stack, opened), options, say), "side_by_side": side_by_side}


async def new_team(stack: Stack, opened: AsyncExitStack) -> Team:
    ingest = stack.address("ingest")
    endpoints = Endpoints(ingest=ingest, conflict=stack.address("conflict"), recall=ingest)
    admin_key = await asyncio.to_thread(make_team, stack, driven_from=BEGINNING)
    admin = await opened.enter_async_context(Client(endpoints, admin_key))
    keys = await prepare(admin, PROFILES)
    writers = {name: await opened.enter_async_context(Client(endpoints, keys[name])) for name in PROFILES}
    made = await admin.admin.GetTeam(admin_service_pb2.GetTeamRequest())
    return Team(stack, admin, writers, made.team.team_id)


async def _decided_cases(team: Team, count: int) -> None:
    """Cases that have a majority at their deadline, each looked at once."""
    subjects = [f"decided-{number}" for number in range(count)]
    for who, branch in (("A", "main"), ("B", "release"), ("C", "release")):
        await team.vote(who, subjects, branch)
    await team.until_looked_at()


async def _undecided_cases(team: Team, count: int) -> None:
    """Cases that nobody wins, each looked at once."""
    subjects = [f"undecided-{number}" for number in range(count)]
    for who, branch in (("A", "main"), ("B", "release")):
        await team.vote(who, subjects, branch)
    await team.until_looked_at()


async def _side_by_side(
    teams: Sequence[Team], options: argparse.Namespace, say: Callable[[str], None]
) -> dict[str, object]:
    """The same two figures with the cases parted among teams, whose commits do not wait for each other."""
    each = options.cases // len(teams)
    total = each * len(teams)
    await asyncio.gather(*(_decided_cases(team, each) for team in teams))
    started = time.perf_counter()
    await asyncio.gather(*(team.drive(BEGINNING + timedelta(days=8)) for team in teams))
    await asyncio.gather(*(team.until_closed() for team in teams))
    resolved = total / (time.perf_counter() - started)
    await asyncio.gather(*(_undecided_cases(team, each) for team in teams))
    await asyncio.gather(*(team.review() for team in teams))
    seconds = []
    for _ in range(options.rounds):
        started = time.perf_counter()
        await asyncio.gather(*(team.review() for team in teams))
        seconds.append(time.perf_counter() - started)
    evaluated = total / statistics.median(seconds)
    say(f"{len(teams)} teams: evaluated {evaluated:,.0f}, resolved {resolved:,.0f} a second")
    return {
        "teams": len(teams),
        "cases": total,
        "evaluated_per_second": round(evaluated),
        "resolved_per_second": round(resolved),
    }


async def _figures(team: Team, options: argparse.Namespace, say: Callable[[str], None]) -> dict[str, object]:
    say(f"making {2 * options.cases} cases")
    await _decided_cases(team, options.cases)
    started = time.perf_counter()
    await team.drive(BEGINNING + timedelta(days=8))
    await team.until_closed()
    resolved = options.cases / (time.perf_counter() - started)
    say(f"resolved {resolved:,.0f} a second")
    await _undecided_cases(team, options.cases)
    live = team.count("SELECT count(*) FROM conflict_cases WHERE team_id = %s AND status IN ('open', 'overdue')")
    if live != options.cases:
        raise RuntimeError(f"{live} cases are live, not {options.cases}: the review would measure something else")
    sizes, rows = [0, *options.relationships], []
    for size in sizes:
        if size:
            say(f"growing to {size:,} relationships")
            await asyncio.to_thread(grow, team, size)
        await team.review()
        cpu_seconds = team.reviewer_cpu_seconds()
        seconds = [await team.review() for _ in range(options.rounds)]
        cpu_seconds = team.reviewer_cpu_seconds() - cpu_seconds
        rows.append(
            {
                "relationships": team.count("SELECT count(*) FROM relationships WHERE team_id = %s"),
                "closed_cases": team.count(
                    "SELECT count(*) FROM conflict_cases WHERE team_id = %s AND status NOT IN ('open', 'overdue')"
                ),
                "due_cases": options.cases,
                "reviewer_cpu_milliseconds_per_look": round(1000 * cpu_seconds / options.rounds / options.cases, 3),
                "seconds_median": round(statistics.median(seconds), 4),
                "evaluated_per_second": round(options.cases / statistics.median(seconds)),
            }
        )
        say(json.dumps(rows[-1]))
    growth = round(rows[-1]["seconds_median"] / rows[0]["seconds_median"], 3)
    evaluated = rows[0]["evaluated_per_second"]
    return {
        "cases": options.cases,
        "rounds": options.rounds,
        "resolved_per_second": round(resolved),
        "evaluated_per_second": evaluated,
        "growth": rows,
        "growth_factor": growth,
        "targets": {
            "evaluated_per_second": TARGET_EVALUATED_PER_SECOND,
            "resolved_per_second": TARGET_RESOLVED_PER_SECOND,
            "growth_factor": TARGET_GROWTH,
        },
        "targets_met": evaluated >= TARGET_EVALUATED_PER_SECOND
        and resolved >= TARGET_RESOLVED_PER_SECOND
        and growth <= TARGET_GROWTH,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Cases a second that one reviewer evaluates and resolves.")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--cases", type=int, default=300, help="due cases")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--teams", type=int, default=4, help="teams side by side")
    parser.add_argument("--relationships", type=int, nargs="*", default=[10_000, 100_000], help="sizes to grow to")
    options = parser.parse_args()

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    async def run() -> dict[str, object]:
        with tempfile.TemporaryDirectory() as name:
            # The database keeps its promise to survive a crash here: that is part of what a commit costs.
            stack = Stack(
                directory=Path(name),
                free_ports=True,
                without=[spec.name for spec in PROCESSES if spec.name not in NEEDED],
            )
            async with stack:
                return await measured(stack, options, say)

    facts = machine_facts()
    result = {**asyncio.run(run()), "machine": facts}
    if options.json:
        print(json.dumps(result))
    else:
        print(f"evaluated {result['evaluated_per_second']:,} a second (target {TARGET_EVALUATED_PER_SECOND})")
        print(f"resolved  {result['resolved_per_second']:,} a second (target {TARGET_RESOLVED_PER_SECOND})")
        beside = result["side_by_side"]
        print(
            f"the same in {beside['teams']} teams: {beside['evaluated_per_second']:,} and "
            f"{beside['resolved_per_second']:,} a second"
        )
        print(f"growth    {result['growth_factor']} x (target {TARGET_GROWTH})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
