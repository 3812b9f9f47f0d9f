"""What a client repeats: what reads, and what names itself; the server says of each refusal whether it is worth it."""

from __future__ import annotations

import json

import pytest
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.rpc.methods import SERVED_BY
from corrigenda_core.rpc.retrying import is_repeatable, service_config
from corrigenda_core.rpc.status import CODES, RETRIED_CODES, RETRY_AFTER_SECONDS, pushback_milliseconds, status_of
from google.rpc import error_details_pb2

SERVICES = [service for services in SERVED_BY.values() for service in services]
METHODS = [method for service in SERVICES for method in service.methods]


def test_everything_is_repeatable_but_a_stream_that_the_client_writes() -> None:
    assert [method.name for method in METHODS if not is_repeatable(method)] == ["RememberStream"]


def test_the_configuration_names_each_repeatable_method_once() -> None:
    (policy,) = json.loads(service_config(SERVICES))["methodConfig"]
    named = [(name["service"], name["method"]) for name in policy["name"]]
    assert sorted(named) == sorted(
        (method.containing_service.full_name, method.name) for method in METHODS if is_repeatable(method)
    )
    assert policy["retryPolicy"]["maxAttempts"] == 4


@pytest.mark.parametrize("reason", list(Reason))
def test_whoever_may_try_again_is_told_when_and_the_others_that_it_is_of_no_use(reason: Reason) -> None:
    refusal = Refusal(reason, "no")
    retry = error_details_pb2.RetryInfo()
    has_retry_info = any(detail.Unpack(retry) for detail in status_of(refusal).details)
    assert has_retry_info is (reason in RETRY_AFTER_SECONDS)
    pushback = pushback_milliseconds(refusal)
    if CODES[reason] not in RETRIED_CODES:
        assert pushback is None
        assert not has_retry_info
    elif has_retry_info and RETRY_AFTER_SECONDS[reason] <= 2.0:
        assert pushback == round(RETRY_AFTER_SECONDS[reason] * 1000)
    else:
        assert pushback == -1


@pytest.mark.parametrize(("seconds", "told"), [(0.0301, 31), (2.0, 2000), (2.1, -1), (1000.0, -1)])
def test_nobody_is_kept_waiting_for_longer_than_a_person_would(seconds: float, told: int) -> None:
    assert pushback_milliseconds(Refusal(Reason.RATE_LIMITED, "no", retry_after_seconds=seconds)) == told


@pytest.mark.parametrize(("remaining", "told"), [(None, 1000), (1.01, 1000), (1.0, -1), (0.2, -1), (0.0, -1)])
def test_nobody_is_kept_waiting_until_a_deadline_that_comes_before_the_next_try(
    remaining: float | None, told: int
) -> None:
    refusal = Refusal(Reason.OVERLOADED, "no", retry_after_seconds=1.0)
    assert pushback_milliseconds(refusal, remaining) == told
