"""Refusals on the wire: code and details by reason, and the way back."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.rpc.status import CODES, DETAILS_KEY, RETRY_AFTER_SECONDS, refusal_of, status_of
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2


def details_of(refusal: Refusal) -> dict[str, Any]:
    """The details of a refusal's status by the name of their message."""
    found: dict[str, Any] = {}
    for detail in status_of(refusal).details:
        message: Message = getattr(error_details_pb2, detail.TypeName().rpartition(".")[2])()
        assert detail.Unpack(message)
        found[message.DESCRIPTOR.name] = message
    return found


def failed_call(refusal: Refusal) -> grpc.aio.AioRpcError:
    """What a client gets for a refusal."""
    status = status_of(refusal)
    trailing = grpc.aio.Metadata(("x-request-id", "r"), (DETAILS_KEY, status.SerializeToString()))
    return grpc.aio.AioRpcError(CODES[refusal.reason], grpc.aio.Metadata(), trailing, status.message)


@pytest.mark.parametrize("reason", Reason)
def test_a_refusal_survives_the_wire(reason: Reason) -> None:
    sent = Refusal(reason, "why", field="a.b", metadata={"k": "v"}, retry_after_seconds=0.25)
    got = refusal_of(failed_call(sent))
    assert got is not None
    assert (got.reason, got.message, got.field, got.retry_after_seconds) == (reason, "why", "a.b", 0.25)
    assert got.metadata == {"k": "v", "field": "a.b"}


@pytest.mark.parametrize("reason", Reason)
def test_error_info_names_reason_and_domain(reason: Reason) -> None:
    info = details_of(Refusal(reason, "why", metadata={"k": "v"}))["ErrorInfo"]
    assert (info.reason, info.domain, dict(info.metadata)) == (reason.value, "corrigenda", {"k": "v"})
    assert status_of(Refusal(reason, "why")).code == CODES[reason].value[0]


@pytest.mark.parametrize("reason", Reason)
def test_further_details_fit_the_reason(reason: Reason) -> None:
    code = CODES[reason]
    expected = {"ErrorInfo"}
    expected |= {"BadRequest"} if code is grpc.StatusCode.INVALID_ARGUMENT else set()
    expected |= {"PreconditionFailure"} if code is grpc.StatusCode.FAILED_PRECONDITION else set()
    expected |= {"QuotaFailure"} if reason is Reason.RATE_LIMITED else set()
    expected |= {"RetryInfo"} if reason in RETRY_AFTER_SECONDS else set()
    assert details_of(Refusal(reason, "why", field="a")).keys() == expected


def test_bad_request_names_the_field() -> None:
    details = details_of(Refusal(Reason.QUOTE_NOT_FOUND, "why", field="proposal.relationships[0].evidence[1].quote"))
    [violation] = details["BadRequest"].field_violations
    assert (violation.field, violation.description) == ("proposal.relationships[0].evidence[1].quote", "why")


def test_precondition_failure_names_its_subject() -> None:
    refusal = Refusal(Reason.ITEM_NOT_PENDING, "decided", metadata={"status": "resolved", "item_id": "i1"})
    [violation] = details_of(refusal)["PreconditionFailure"].violations
    assert (violation.type, violation.subject, violation.description) == ("ITEM_NOT_PENDING", "i1", "decided")


def test_a_retry_is_never_told_too_early() -> None:
    delay = details_of(Refusal(Reason.RATE_LIMITED, "why", retry_after_seconds=1 / 3))["RetryInfo"].retry_delay
    assert delay.ToNanoseconds() == 333_333_334


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(grpc.RpcError(), id="no call"),
        pytest.param(grpc.aio.AioRpcError(grpc.StatusCode.UNAVAILABLE), id="no details"),
        pytest.param(
            grpc.aio.AioRpcError(grpc.StatusCode.INTERNAL, trailing_metadata=grpc.aio.Metadata((DETAILS_KEY, b"\xff"))),
            id="damaged details",
        ),
    ],
)
def test_a_failure_that_is_not_ours_carries_no_refusal(error: grpc.RpcError) -> None:
    assert refusal_of(error) is None


@pytest.mark.parametrize(("domain", "reason"), [("other", "INVALID_FIELD"), ("corrigenda", "FROM_A_LATER_VERSION")])
def test_reasons_of_others_and_of_later_versions_are_not_guessed(domain: str, reason: str) -> None:
    status = status_pb2.Status(code=3, message="why")
    status.details.add().Pack(error_details_pb2.ErrorInfo(reason=reason, domain=domain))
    trailing = grpc.aio.Metadata((DETAILS_KEY, status.SerializeToString()))
    assert refusal_of(grpc.aio.AioRpcError(grpc.StatusCode.INVALID_ARGUMENT, trailing_metadata=trailing)) is None
