"""Refusals on the wire: to a gRPC status with details on the server, and back to a refusal on the client."""

from __future__ import annotations

import math

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.rpc.validation import InvalidRequest

DOMAIN = "corrigenda"
DETAILS_KEY = "grpc-status-details-bin"
PUSHBACK_KEY = "grpc-retry-pushback-ms"
"""What gRPC's own retries obey: so many milliseconds, or none if negative."""

RETRIED_CODES = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.ABORTED)
"""The codes that may be worth another try; the server says of each answer whether it is."""

_PUSHBACK_SECONDS_MAX = 2.0
_NO_RETRY = -1

_REASONS_BY_CODE: dict[grpc.StatusCode, tuple[Reason, ...]] = {
    grpc.StatusCode.INVALID_ARGUMENT: (
        Reason.INVALID_FIELD,
        Reason.QUOTE_NOT_FOUND,
        Reason.QUOTE_AMBIGUOUS,
        Reason.NOT_IN_CONFLICT,
        Reason.PAGE_TOKEN_MISMATCH,
        Reason.TOO_LARGE,
        Reason.TOO_MANY_ITEMS,
    ),
    grpc.StatusCode.UNAUTHENTICATED: (Reason.CREDENTIAL_INVALID, Reason.CREDENTIAL_EXPIRED),
    grpc.StatusCode.PERMISSION_DENIED: (Reason.SCOPE_MISSING, Reason.NOT_OWNER, Reason.SOURCE_NOT_ALLOWED),
    grpc.StatusCode.NOT_FOUND: (Reason.RESOURCE_NOT_FOUND,),
    grpc.StatusCode.ALREADY_EXISTS: (Reason.IDEMPOTENCY_CONFLICT,),
    grpc.StatusCode.ABORTED: (
        Reason.STALE_VERSION,
        Reason.CONFLICT_VERSION_STALE,
        Reason.SOURCE_REVISION_STALE,
        Reason.CONTENTION,
        Reason.LEASE_LOST,
    ),
    grpc.StatusCode.FAILED_PRECONDITION: (
        Reason.ITEM_NOT_PENDING,
        Reason.REVERT_BLOCKED,
        Reason.IMPACT_TOKEN_EXPIRED,
        Reason.IMPACT_CHANGED,
        Reason.PREDICATE_RETIRED,
        Reason.EVIDENCE_ERASED,
        Reason.SYSTEM_OF_RECORD,
        Reason.TEAM_OPEN,
        Reason.CLOCK_AHEAD,
        Reason.START_NEEDED,
    ),
    grpc.StatusCode.RESOURCE_EXHAUSTED: (Reason.RATE_LIMITED, Reason.OVERLOADED),
    grpc.StatusCode.UNAVAILABLE: (
        Reason.STORE_UNAVAILABLE,
        Reason.VERIFIER_UNAVAILABLE,
        Reason.REVISION_NOT_REPLICATED,
    ),
    grpc.StatusCode.INTERNAL: (Reason.INTERNAL_ERROR,),
}

CODES: dict[Reason, grpc.StatusCode] = {
    reason: code for code, reasons in _REASONS_BY_CODE.items() for reason in reasons
}
"""The one gRPC code of each reason."""

RETRY_AFTER_SECONDS: dict[Reason, float] = {
    Reason.CONTENTION: 0.05,
    Reason.RATE_LIMITED: 1.0,
    Reason.OVERLOADED: 1.0,
    Reason.STORE_UNAVAILABLE: 1.0,
    Reason.VERIFIER_UNAVAILABLE: 5.0,
    Reason.REVISION_NOT_REPLICATED: 0.1,
}
"""The reasons for which the same request may succeed later, and when, unless the refusal says it better."""


def status_of(refusal: Refusal) -> status_pb2.Status:
    """The status that a refusal is answered with: `ErrorInfo`, then the details that fit its reason."""
    metadata = dict(refusal.metadata)
    if refusal.field:
        metadata.setdefault("field", refusal.field)
    details: list[AnyMessage] = [
        _packed(error_details_pb2.ErrorInfo(reason=refusal.reason.value, domain=DOMAIN, metadata=metadata))
    ]
    code = CODES[refusal.reason]
    if code is grpc.StatusCode.INVALID_ARGUMENT and (refusal.field or isinstance(refusal, InvalidRequest)):
        details.append(_packed(_bad_request(refusal)))
    elif code is grpc.StatusCode.FAILED_PRECONDITION:
        details.append(_packed(_precondition_failure(refusal)))
    elif refusal.reason is Reason.RATE_LIMITED:
        details.append(_packed(_quota_failure(refusal)))
    seconds = retry_after_seconds(refusal)
    if seconds is not None:
        details.append(_packed(_retry_info(seconds)))
    return status_pb2.Status(code=code.value[0], message=refusal.message, details=details)


def retry_after_seconds(refusal: Refusal) -> float | None:
    """When the same request may succeed, or ``None`` if only another one could."""
    return refusal.retry_after_seconds or RETRY_AFTER_SECONDS.get(refusal.reason)


def pushback_milliseconds(refusal: Refusal, remaining_seconds: float | None = None) -> int | None:
    """What a client's library is told about a retry; ``None`` where it would not try one anyway.

    It is told to wait no longer than a person would: beyond that the refusal itself is the better answer. So it is to a
    caller whose own deadline comes first: the library would keep the refusal and wait, and tell of the deadline alone.

    Args:
        refusal: what the call is answered with.
        remaining_seconds: how long the caller will wait for an answer; ``None``: forever.
    """
    if CODES[refusal.reason] not in RETRIED_CODES:
        return None
    seconds = retry_after_seconds(refusal)
    if seconds is None or seconds > _PUSHBACK_SECONDS_MAX:
        return _NO_RETRY
    if remaining_seconds is not None and seconds >= remaining_seconds:
        return _NO_RETRY
    return math.ceil(seconds * 1000)


def refusal_of(error: grpc.RpcError) -> Refusal | None:
    """The refusal that a failed call carries, or ``None`` if the failure did not come from a server of ours."""
    if not isinstance(error, grpc.aio.AioRpcError):
        return None
    for key, value in error.trailing_metadata() or ():
        if key == DETAILS_KEY and isinstance(value, bytes):
            return _parsed(value)
    return None


def _parsed(details: bytes) -> Refusal | None:
    try:
        status = status_pb2.Status.FromString(details)
    except DecodeError:
        return None
    info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    for detail in status.details:
        if detail.Is(info.DESCRIPTOR):
            detail.Unpack(info)
        elif detail.Is(retry.DESCRIPTOR):
            detail.Unpack(retry)
    if info.domain != DOMAIN or info.reason not in Reason.__members__:
        return None
    has_retry = any(detail.Is(retry.DESCRIPTOR) for detail in status.details)
    metadata = dict(info.metadata)
    return Refusal(
        Reason[info.reason],
        status.message,
        field=metadata.get("field", ""),
        metadata=metadata,
        retry_after_seconds=retry.retry_delay.ToTimedelta().total_seconds() if has_retry else None,
    )


def _bad_request(refusal: Refusal) -> error_details_pb2.BadRequest:
    if isinstance(refusal, InvalidRequest):
        violations = [(breach.field, breach.problem.message) for breach in refusal.breaches]
    else:
        violations = [(refusal.field, refusal.message)]
    details = error_details_pb2.BadRequest()
    for field, description in violations:
        details.field_violations.add(field=field, description=description)
    return details


def _precondition_failure(refusal: Refusal) -> error_details_pb2.PreconditionFailure:
    details = error_details_pb2.PreconditionFailure()
    subject = next((value for name, value in sorted(refusal.metadata.items()) if name.endswith("_id")), "")
    details.violations.add(type=refusal.reason.value, subject=subject, description=refusal.message)
    return details


def _quota_failure(refusal: Refusal) -> error_details_pb2.QuotaFailure:
    details = error_details_pb2.QuotaFailure()
    details.violations.add(subject=refusal.metadata.get("quota", ""), description=refusal.message)
    return details


def _retry_info(seconds: float) -> error_details_pb2.RetryInfo:
    nanoseconds = math.ceil(seconds * 1e9)
    details = error_details_pb2.RetryInfo()
    details.retry_delay.FromNanoseconds(nanoseconds)
    return details


def _packed(
    details: error_details_pb2.ErrorInfo
    | error_details_pb2.BadRequest
    | error_details_pb2.PreconditionFailure
    | error_details_pb2.QuotaFailure
    | error_details_pb2.RetryInfo,
) -> AnyMessage:
    packed = AnyMessage()
    packed.Pack(details)
    return packed
