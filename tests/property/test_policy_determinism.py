"""Decisions are the same bytes in any process, hash seed, time zone, locale and order of the input (Q10)."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest
from corrigenda_core.policy.snapshot_codec import encode_snapshot
from corrigenda_core.testing.case_strategies import case_snapshots, contested_snapshots
from corrigenda_core.testing.effort import examples
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

SNAPSHOTS = examples(fast=40, full=300)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """A process's hash seed, zone and locale, and the seed that orders what it reads."""

    hash_seed: str
    zone: str
    locale: str
    order: int


FOUR = [
    Surroundings(hash_seed="0", zone="UTC", locale="C", order=0),
    Surroundings(hash_seed="1", zone="Asia/Taipei", locale="C.UTF-8", order=1),
    Surroundings(hash_seed="4294967295", zone="America/St_Johns", locale="tr_TR.UTF-8", order=2),
    Surroundings(hash_seed="random", zone="Pacific/Apia", locale="POSIX", order=3),
]


def in_another_order(value: Any, order: random.Random) -> Any:
    """The same JSON with every list and the fields of every object in another order."""
    if isinstance(value, list):
        return order.sample([in_another_order(one, order) for one in value], len(value))
    if isinstance(value, dict):
        return {name: in_another_order(value[name], order) for name in order.sample(sorted(value), len(value))}
    return value


# A policy that takes positions in the order in which a set gives them, as one that forgot to sort would.
UNSORTED = """
import sys
from corrigenda_cli.__main__ import main
from corrigenda_core.policy import team_conflict

def unsorted(snapshot):
    live = {position.position_id: position for position in snapshot.positions if position.live_members}
    return [live[position_id] for position_id in set(live)]

team_conflict.decide_live_positions = unsorted
sys.exit(main())
"""


def asked_of_a_process(
    subcommand: list[str], lines: list[str], where: Surroundings, program: tuple[str, ...] = ("-m", "corrigenda_cli")
) -> bytes:
    order = random.Random(where.order)
    text = "".join(json.dumps(in_another_order(json.loads(line), order)) + "\n" for line in lines)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("LC_", "PYTHON"))},
        "PYTHONHASHSEED": where.hash_seed,
        "TZ": where.zone,
        "LC_ALL": where.locale,
        "LANG": where.locale,
    }
    done = subprocess.run(
        [sys.executable, *program, *subcommand],
        input=text.encode(),
        env=environment,
        capture_output=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def some_snapshots(number: int) -> list[str]:
    found: list[str] = []

    @settings(
        max_examples=number,
        database=None,
        derandomize=True,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(snapshot=st.one_of(case_snapshots(), contested_snapshots()))
    def collect(snapshot: Any) -> None:
        found.append(encode_snapshot(snapshot))

    collect()
    return found


@pytest.mark.promise("case.same-decision", "Q10")
@pytest.mark.rule("R7.11", "R7.12", "R7.13", "R7.20")
@pytest.mark.parametrize("subcommand", [["policy", "evaluate"], ["policy", "explain", "--json"]], ids=" ".join)
def test_four_surroundings_give_the_same_bytes(subcommand: list[str]) -> None:
    lines = some_snapshots(SNAPSHOTS)
    first, *others = [asked_of_a_process(subcommand, lines, where) for where in FOUR]
    assert first.count(b"\n") == len(lines)
    for other in others:
        assert other == first


@pytest.mark.promise("Q10")
def test_an_order_that_a_process_draws_by_itself_would_be_noticed() -> None:
    """The anomaly switch: with the sorting taken out, surroundings do make a difference."""
    lines = some_snapshots(SNAPSHOTS)
    program = ("-c", UNSORTED)
    given = {asked_of_a_process(["policy", "evaluate"], lines, where, program) for where in FOUR[:2]}
    assert len(given) > 1
