"""Failpoints are armed by the environment and by nothing else."""

import signal

import pytest
from corrigenda_core.ports.failpoints import UNARMED, Failpoint
from corrigenda_core.testing.failpoints import VARIABLE, failpoints_from_environment


@pytest.mark.parametrize("environment", [{}, {VARIABLE: ""}])
def test_nothing_is_armed_by_default(environment: dict[str, str]) -> None:
    assert failpoints_from_environment(environment) is UNARMED


def test_the_armed_pass_sends_the_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    monkeypatch.setattr("os.kill", lambda _, number: sent.append(number))
    failpoints = failpoints_from_environment({VARIABLE: "before_commit=kill@2,after_begin=stop"})
    failpoints.reached(Failpoint.BEFORE_COMMIT)
    failpoints.reached(Failpoint.BETWEEN_ROUND_TRIPS)
    assert sent == []
    for point in (Failpoint.BEFORE_COMMIT, Failpoint.AFTER_BEGIN, Failpoint.BEFORE_COMMIT, Failpoint.AFTER_BEGIN):
        failpoints.reached(point)
    assert sent == [signal.SIGKILL, signal.SIGSTOP]


@pytest.mark.parametrize("text", ["nowhere=kill", "after_begin=explode", "after_begin", "after_begin=kill@x"])
def test_what_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        failpoints_from_environment({VARIABLE: text})
