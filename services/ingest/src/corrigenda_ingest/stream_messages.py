"""The messages of RememberStream as submissions with their place, and the results as messages."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator

from corrigenda.errors.v1 import error_reason_pb2
from corrigenda.ingest.v1 import ingest_service_pb2 as ingest
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.rpc.calls import CallContext
from corrigenda_core.rpc.idempotent import idempotency_of
from corrigenda_core.rpc.interceptors import record_incident
from corrigenda_core.rpc.status import RETRY_AFTER_SECONDS
from corrigenda_core.rpc.validation import refuse_invalid

from corrigenda_ingest.outside import Asked
from corrigenda_ingest.requests import submission_of
from corrigenda_ingest.responses import PlacementMessages
from corrigenda_ingest.use_cases.remember_many import Submitted
from corrigenda_ingest.use_cases.remember_stream import Answered, Arrived

_FIELD = "submission"


async def arrivals(caller: Caller, requests: AsyncIterable[ingest.RememberStreamRequest]) -> AsyncIterator[Arrived]:
    """What arrives: each message as a submission, or as the refusal that its result will be."""
    async for request in requests:
        yield Arrived(
            key=request.submission.idempotency_key,
            submitted=_submitted(caller, request),
            size_bytes=request.ByteSize(),
        )


def _submitted(caller: Caller, request: ingest.RememberStreamRequest) -> Submitted | Refusal:
    asked = request.submission
    try:
        refuse_invalid(request)
        return Submitted(
            asked=Asked(submission=submission_of(asked, key=asked.idempotency_key), token=asked.verification_token),
            idempotency=idempotency_of(asked, caller.profile_id, ingest.RememberResponse),
            present=lambda planned, facts: PlacementMessages(caller, planned, facts).response(),
        )
    except Refusal as refusal:
        return refusal


class StreamResponses:
    """Makes the responses of one stream; knows the last commit that one of them told of."""

    def __init__(self, call: CallContext) -> None:
        self._call = call
        self._revision = 0

    def response(self, answered: Answered) -> ingest.RememberStreamResponse:
        """The response to one submission."""
        response = ingest.RememberStreamResponse(index=answered.index, idempotency_key=answered.key)
        if isinstance(answered.result, Refusal):
            response.refusal.CopyFrom(self._refusal(answered.result))
        else:
            response.response.CopyFrom(answered.result.value)
            self._revision = max(self._revision, answered.result.revision)
        response.revision = self._revision
        return response

    def _refusal(self, refusal: Refusal) -> ingest.SubmissionRefusal:
        if refusal.reason is Reason.INTERNAL_ERROR:
            refusal = record_incident(refusal, method=self._call.method, request_id=self._call.request_id)
        metadata = dict(refusal.metadata)
        if refusal.field:
            under = refusal.field == _FIELD or refusal.field.startswith(f"{_FIELD}.")
            metadata["field"] = refusal.field if under else f"{_FIELD}.{refusal.field}"
        seconds = refusal.retry_after_seconds or RETRY_AFTER_SECONDS.get(refusal.reason)
        return ingest.SubmissionRefusal(
            reason=error_reason_pb2.ErrorReason.Value(f"ERROR_REASON_{refusal.reason.value}"),
            message=refusal.message,
            metadata=metadata,
            retry_after_seconds=seconds,
        )
