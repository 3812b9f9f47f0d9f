"""Q6 in memory: whatever two teams are told and decide, what must hold of a team holds, by plain search."""

import pytest
from corrigenda_core.testing.effort import examples
from corrigenda_core.testing.identity_machine import IdentityMachine
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@pytest.mark.promise("Q6", "time.one-value")
def test_random_commands_keep_a_team_sound() -> None:
    run_state_machine_as_test(
        IdentityMachine,
        settings=settings(
            max_examples=examples(fast=8, full=200),
            stateful_step_count=examples(fast=25, full=50),
            deadline=None,
            suppress_health_check=SLOW_IS_FINE,
        ),
    )
