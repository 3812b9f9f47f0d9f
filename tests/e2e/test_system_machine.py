"""Q6 on PostgreSQL: what the running services show after random commands is what the model in memory says."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda_core.rpc.predicate_messages import predicate_message
from corrigenda_core.testing.effort import examples
from corrigenda_core.testing.team_machine import TeamMachine
from corrigenda_core.testing.team_twin import BEGAN, PREDICATES, PROFILES
from corrigenda_core.testing.wire_twin import WireTwin
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]

# A machine waits most of its time, for a reviewer that polls and for commits: several at once are much faster.
MACHINES_AT_ONCE = examples(fast=1, full=4)

SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@pytest.mark.promise("Q2", "Q6", "time.past-view", "time.both-axes")
async def test_the_system_does_what_the_model_says_under_random_commands(new_team: NewTeam) -> None:
    loop = asyncio.get_running_loop()

    def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Hypothesis calls from a thread of its own; the clients belong to this loop."""
        return asyncio.run_coroutine_threadsafe(_awaited(coroutine), loop).result()

    async def prepared() -> Any:
        team = await new_team(driven_from=BEGAN, profiles=PROFILES)
        for predicate in PREDICATES[1:]:
            await team.admin.admin.RegisterPredicate(
                admin_service_pb2.RegisterPredicateRequest(
                    idempotency_key=predicate.key, definition=predicate_message(predicate).definition
                )
            )
        return team

    twins: list[WireTwin] = []

    def twin() -> WireTwin:
        team = run(prepared())
        twins.append(WireTwin(team.admin, team.profiles, run))
        return twins[-1]

    def one_machine() -> None:
        run_state_machine_as_test(
            lambda: TeamMachine(twin),
            settings=settings(
                max_examples=examples(fast=3, full=200) // MACHINES_AT_ONCE,
                stateful_step_count=examples(fast=15, full=50),
                deadline=None,
                suppress_health_check=SLOW_IS_FINE,
            ),
        )

    machines = (asyncio.to_thread(one_machine) for _ in range(MACHINES_AT_ONCE))
    for ended in await asyncio.gather(*machines, return_exceptions=True):
        if ended is not None:
            raise ended
    # Q2: what was answered about the past was answered again after everything that followed.
    assert sum(one.seen for one in twins) >= examples(fast=3, full=500)


async def _awaited(call: Awaitable[Any]) -> Any:
    return await call
