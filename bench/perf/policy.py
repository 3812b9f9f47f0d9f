"""Speed of the team-conflict policy: evaluations a second on one core, and what the work around it costs.

The case has two positions and ten independent supports (seven against three, one of them in another member). Measured
in the same run, each as the median of its rounds:

- ``decide``: the snapshot decided, with every counted component and exclusion;
- ``decide_and_record``: the same, and the evaluation written as the JSON that is stored;
- ``line``: what `corrigenda policy evaluate` does with a line, reading the snapshot included;
- ``floor_count``: the least that any count does here: visit the ten supports and count the distinct groups of each
  position, with no copies, exclusions, times or record;
- ``floor_line``: the least that any answer to a line does here: read and write JSON, with nothing checked or decided.

    python3 dev.py bench perf policy [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from corrigenda_core.domain.evidence import Authority, Support
from corrigenda_core.domain.ids import FragmentId, PositionId, ProfileId, RelationshipId, SupportId
from corrigenda_core.domain.snapshots import CaseSnapshot, SnapshotMember, SnapshotPosition
from corrigenda_core.policy.decision_codec import encode_decision, encode_evaluation
from corrigenda_core.policy.snapshot_codec import decode_snapshot, encode_snapshot
from corrigenda_core.policy.team_conflict import decide_case
from machine import machine_facts

TARGET_EVALUATIONS_PER_SECOND = 8_000
TARGET_LINES_PER_SECOND = 3_000
NOW = datetime(2026, 6, 8, tzinfo=UTC)


def support_of(number: int) -> Support:
    return Support(
        support_id=SupportId(f"support-{number}"),
        fragment_id=FragmentId(f"fragment-{number}"),
        author=ProfileId(f"author-{number}"),
        source_group=f"group-{number}",
        content_hash=f"hash-{number}",
        recorded_at=NOW - timedelta(days=30, minutes=number),
        authority=Authority.PRIMARY,
    )


def member_of(name: str, numbers: range) -> SnapshotMember:
    return SnapshotMember(
        relationship_id=RelationshipId(name),
        version=1,
        owner_id=ProfileId(f"owner of {name}"),
        supports=tuple(support_of(number) for number in numbers),
    )


def case() -> CaseSnapshot:
    return CaseSnapshot(
        now=NOW,
        review_due_at=NOW,
        first_contradiction_at=NOW - timedelta(days=7),
        positions=(
            SnapshotPosition(
                position_id=PositionId("release"), members=(member_of("r1", range(4)), member_of("r2", range(4, 7)))
            ),
            SnapshotPosition(position_id=PositionId("main"), members=(member_of("r3", range(7, 10)),)),
        ),
    )


def bare_count(snapshot: CaseSnapshot) -> dict[str, int]:
    return {
        position.position_id: len(
            {support.source_group for member in position.members for support in member.supports if support.effective}
        )
        for position in snapshot.positions
    }


def per_second(work: Callable[[], object], *, rounds: int, calls: int) -> dict[str, float]:
    for _ in range(calls):  # the first round warms caches and is not counted
        work()
    figures = []
    for _ in range(rounds):
        started = time.perf_counter()
        for _ in range(calls):
            work()
        figures.append(calls / (time.perf_counter() - started))
    return {"median": round(statistics.median(figures)), "lowest": round(min(figures)), "highest": round(max(figures))}


def main() -> int:
    parser = argparse.ArgumentParser(description="Evaluations a second of the team-conflict policy, on one core.")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calls", type=int, default=1_000, help="calls in a round")
    options = parser.parse_args()

    snapshot = case()
    text = encode_snapshot(snapshot)
    works: dict[str, Callable[[], object]] = {
        "decide": lambda: decide_case(snapshot),
        "decide_and_record": lambda: encode_evaluation(decide_case(snapshot)),
        "line": lambda: encode_decision(decide_case(decode_snapshot(text))),
        "floor_count": lambda: bare_count(snapshot),
        "floor_line": lambda: json.dumps(json.loads(text)["positions"][0]["position_id"]),
    }
    measured = {name: per_second(work, rounds=options.rounds, calls=options.calls) for name, work in works.items()}
    result = {
        "case": {"positions": 2, "members": 3, "supports": 10, "snapshot_bytes": len(text)},
        "unit": "per second, one core",
        "rounds": options.rounds,
        "calls_per_round": options.calls,
        **measured,
        "targets": {"decide_and_record": TARGET_EVALUATIONS_PER_SECOND, "line": TARGET_LINES_PER_SECOND},
        "targets_met": measured["decide_and_record"]["median"] >= TARGET_EVALUATIONS_PER_SECOND
        and measured["line"]["median"] >= TARGET_LINES_PER_SECOND,
        "machine": machine_facts(),
    }
    if options.json:
        print(json.dumps(result))
    else:
        for name in works:
            print(f"{name:18} {measured[name]['median']:>10,.0f} a second (median of {options.rounds} rounds)")
        print(f"targets: decide_and_record {TARGET_EVALUATIONS_PER_SECOND:,}, line {TARGET_LINES_PER_SECOND:,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
