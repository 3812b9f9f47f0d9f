"""The gate that every call to a service of ours passes: one interceptor, its steps in one readable order.

A call gets a request id, a span, a deadline and a place to work, or is refused one; its key is authenticated, counted
and checked for the permission that the method needs; its bytes are parsed and validated; then the handler runs.
Whatever fails becomes a status with details; one log line and the metrics tell how it ended, and nothing of what was
sent.

A method that answers with a stream passes the same gate: its messages are written inside the call, and its deadline is
that of all of them. One that also takes a stream has no deadline but its caller's; each message of it is parsed when it
is read, and the key is looked at again with it, because such a call may last for hours.

Health and reflection pass untouched: they are no services of ours, and need no key.
"""

from __future__ import annotations

import asyncio
import math
import re
import time
import uuid
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeAlias

import grpc
import structlog
from google.protobuf.message import DecodeError, Message
from opentelemetry import propagate, trace

from corrigenda_core.domain.actors import Caller, KeyScope
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.policy.limits import decide_limit
from corrigenda_core.ports.authentication import Authenticator
from corrigenda_core.rpc.admission import Admission
from corrigenda_core.rpc.calls import CallContext, enter_call
from corrigenda_core.rpc.methods import MethodAccess
from corrigenda_core.rpc.metrics import CallMetrics
from corrigenda_core.rpc.rate_limit import RateLimiter
from corrigenda_core.rpc.status import CODES, DETAILS_KEY, PUSHBACK_KEY, pushback_milliseconds, status_of
from corrigenda_core.rpc.validation import refuse_invalid

DEADLINE_DEFAULT_SECONDS = float(decide_limit("deadline").default)
DEADLINE_MAX_SECONDS = float(decide_limit("deadline").greatest)
REQUEST_ID_KEY = "x-request-id"

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_BEARER = re.compile(r"(?i:bearer) (cor_[!-~]{1,200})")

_log = structlog.get_logger("corrigenda.rpc")
_tracer = trace.get_tracer("corrigenda.rpc")

MayCall: TypeAlias = Callable[[str, Collection[KeyScope]], None]
"""Checks that a key with these scopes may call the method of this path; raises a `Refusal` (SCOPE_MISSING)."""

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
_Payload: TypeAlias = bytes | AsyncIterable[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """A method with what its handler does: parse the bytes, then answer the request, with a stream if it ``streams``.

    ``behaviour`` is an awaitable of the one answer, or an asynchronous generator of all of them. A method that
    ``reads`` takes a stream of requests.
    """

    method: MethodAccess
    parse: Callable[[bytes], Message]
    behaviour: Callable[[Any, Any], Any]
    streams: bool
    reads: bool


@dataclass(slots=True, kw_only=True)
class _Arrival:
    """A call as it arrived and, once it is over, how it ended."""

    method: MethodAccess
    metadata: Mapping[str, str]
    request_id: str
    began: float
    caller: Caller | None = None
    code: str = "OK"
    refusal: Refusal | None = None


class CallGate(grpc.aio.ServerInterceptor):
    """Admits calls to the methods it is given, and answers for all their failures.

    Args:
        methods: the methods of our services by path.
        authenticator: finds the caller of a key.
        may_call: the table of permissions.
        limiter: counts the calls of a key and of a team.
        metrics: where calls are counted.
        admission: who may begin to work.

    Attributes:
        stopping: set when the server drains: a stream that waits for more ends then.
    """

    def __init__(
        self,
        *,
        methods: Mapping[str, MethodAccess],
        authenticator: Authenticator,
        may_call: MayCall,
        limiter: RateLimiter,
        metrics: CallMetrics,
        admission: Admission,
    ) -> None:
        self._methods = methods
        self._authenticator = authenticator
        self._may_call = may_call
        self._limiter = limiter
        self._metrics = metrics
        self._admission = admission
        self.stopping = asyncio.Event()
        self._guarded: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Puts the gate before the handler of a method of ours; others pass."""
        path = handler_call_details.method
        if path in self._guarded:
            return self._guarded[path]
        handler = await continuation(handler_call_details)
        method = self._methods.get(path)
        if handler is None or method is None:
            return handler
        self._guarded[path] = self._guard(method, handler)
        return self._guarded[path]

    def _guard(self, method: MethodAccess, handler: grpc.RpcMethodHandler[Any, Any]) -> grpc.RpcMethodHandler[Any, Any]:
        behaviour = handler.unary_unary or handler.unary_stream or handler.stream_stream
        if handler.request_deserializer is None or behaviour is None:
            raise ValueError(f"{method.path} takes a stream and has one answer")
        target = _Target(
            method=method,
            parse=handler.request_deserializer,
            behaviour=behaviour,
            streams=handler.unary_unary is None,
            reads=handler.stream_stream is not None,
        )

        async def serve(payload: _Payload, context: _Context) -> Message | None:
            return await self._serve(target, payload, context)

        # The bytes come here as they are: a caller without a valid key is refused before anything is parsed, and bytes
        # that are no message get the documented error.
        make = grpc.unary_unary_rpc_method_handler
        if target.streams:
            make = grpc.stream_stream_rpc_method_handler if target.reads else grpc.unary_stream_rpc_method_handler
        return make(serve, request_deserializer=None, response_serializer=handler.response_serializer)

    async def _serve(self, target: _Target, payload: _Payload, context: _Context) -> Message | None:
        call = _arrival(target.method, context)
        self._metrics.began()
        answer = await self._attempted(target, call, payload, context)
        if call.refusal is None:
            return answer
        # Its span has ended by now: whoever is answered may look for the trace at once.
        status = status_of(call.refusal)
        details = [(DETAILS_KEY, status.SerializeToString()), (REQUEST_ID_KEY, call.request_id)]
        pushback = pushback_milliseconds(call.refusal, context.time_remaining())
        if pushback is not None:
            details.append((PUSHBACK_KEY, str(pushback)))
        return await context.abort(CODES[call.refusal.reason], status.message, tuple(details))

    async def _attempted(self, target: _Target, call: _Arrival, payload: _Payload, context: _Context) -> Message | None:
        """The answer of a call that goes well; how another one ended is noted in it."""
        with _tracer.start_as_current_span(
            target.method.path[1:],
            context=propagate.extract(call.metadata),
            kind=trace.SpanKind.SERVER,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                context.set_trailing_metadata(((REQUEST_ID_KEY, call.request_id),))
                return await self._within_deadline(target, call, payload, context)
            except Refusal as refusal:
                # What only an operator can act on is told to an operator: the caller gets the incident id alone.
                call.refusal = _incident(refusal, call) if refusal.reason is Reason.INTERNAL_ERROR else refusal
            except asyncio.CancelledError:
                call.code = grpc.StatusCode.CANCELLED.name
                raise
            except Exception as error:  # noqa: BLE001 - the one place that turns a defect into an answer
                call.refusal = _incident(error, call)
            finally:
                if call.refusal is not None:
                    call.code = CODES[call.refusal.reason].name
                self._tell(call, span)
        return None

    async def _within_deadline(
        self, target: _Target, call: _Arrival, payload: _Payload, context: _Context
    ) -> Message | None:
        """The answer, or ``None`` once every message of a stream is written."""
        limit_seconds = _limit_seconds(target, context.time_remaining())
        deadline = asyncio.get_running_loop().time() + limit_seconds
        place = (
            self._admission.stream() if target.streams else self._admission.call(limit_seconds, kind=call.method.path)
        )
        try:
            async with place, asyncio.timeout_at(None if math.isinf(deadline) else deadline) as timeout:
                call.caller = await self._admit(call)
                request = self._requested(target, call, payload)
                enter_call(
                    CallContext(
                        method=call.method.path,
                        request_id=call.request_id,
                        caller=call.caller,
                        deadline=deadline,
                        stopping=self.stopping,
                    )
                )
                if target.streams:
                    async with aclosing(target.behaviour(request, context)) as answers:
                        async for answer in answers:
                            await context.write(answer)
                    return None
                answered: Message = await target.behaviour(request, context)
                return answered
        except TimeoutError:
            if not timeout.expired():
                raise
            raise Refusal(
                Reason.STORE_UNAVAILABLE,
                "the deadline passed before the call was done",
                metadata={"cause": "deadline"},
            ) from None

    def _requested(self, target: _Target, call: _Arrival, payload: _Payload) -> Message | AsyncIterator[Message]:
        """The request of a call, or those that it goes on to send."""
        if not isinstance(payload, bytes):
            return self._read(target, call, payload)
        request = _parsed(target.parse, payload)
        refuse_invalid(request)
        return request

    async def _read(self, target: _Target, call: _Arrival, payloads: AsyncIterable[bytes]) -> AsyncIterator[Message]:
        """The messages of a stream, each from a key that is still good; what they say is the handler's to check."""
        async for payload in payloads:
            await self._admit(call, counts=False)
            yield _parsed(target.parse, payload)

    async def _admit(self, call: _Arrival, *, counts: bool = True) -> Caller:
        """The authenticated caller, who has not called too often if it ``counts``, and may call the method."""
        bearer = _BEARER.fullmatch(call.metadata.get("authorization", ""))
        if bearer is None:
            raise Refusal(Reason.CREDENTIAL_INVALID, "the call needs a valid key")
        caller = await self._authenticator.authenticate(bearer[1])
        if counts:
            self._limiter.count(caller)
        self._may_call(call.method.path, caller.scopes)
        return caller

    def _tell(self, call: _Arrival, span: trace.Span) -> None:
        """Counts the call, ends its span and writes its log line."""
        seconds = time.monotonic() - call.began
        reason = call.refusal.reason.value if call.refusal else ""
        self._metrics.finished(method=call.method.path, code=call.code, reason=reason, duration_seconds=seconds)
        span.set_attributes({"rpc.system": "grpc", "rpc.grpc.status": call.code, "corrigenda.reason": reason})
        if call.code == grpc.StatusCode.INTERNAL.name:
            span.set_status(trace.StatusCode.ERROR)
        facts = {"reason": reason, "trace_id": _trace_id(span)}
        if call.refusal is not None:
            facts |= {"field": call.refusal.field, "incident_id": call.refusal.metadata.get("incident_id", "")}
        if call.caller is not None:
            facts |= {"team_id": call.caller.team_id, "key_id": call.caller.key_id}
        _log.info(
            "rpc",
            method=call.method.path,
            request_id=call.request_id,
            code=call.code,
            duration_ms=round(seconds * 1000, 3),
            **{name: value for name, value in facts.items() if value},
        )


def _limit_seconds(target: _Target, asked_seconds: float | None) -> float:
    """How long a call may take; one that goes on to send is bounded by its caller alone."""
    if target.reads:
        return math.inf if asked_seconds is None else asked_seconds
    return min(DEADLINE_DEFAULT_SECONDS if asked_seconds is None else asked_seconds, DEADLINE_MAX_SECONDS)


def _arrival(method: MethodAccess, context: _Context) -> _Arrival:
    metadata = {key: value for key, value in context.invocation_metadata() or () if isinstance(value, str)}
    offered = metadata.get(REQUEST_ID_KEY, "")
    request_id = offered if _REQUEST_ID.fullmatch(offered) else uuid.uuid4().hex
    return _Arrival(method=method, metadata=metadata, request_id=request_id, began=time.monotonic())


def _parsed(parse: Callable[[bytes], Message], payload: bytes) -> Message:
    try:
        return parse(payload)
    except DecodeError:
        raise Refusal(Reason.INVALID_FIELD, "the bytes are not a message of this method") from None


def _incident(error: Exception, call: _Arrival) -> Refusal:
    return record_incident(error, method=call.method.path, request_id=call.request_id)


def record_incident(error: Exception, *, method: str, request_id: str) -> Refusal:
    """Writes a defect to the log and answers with its incident id alone.

    The log gets types and places, not the exceptions' texts: those of a database driver quote stored values. What a
    refusal knows of the database's is a code and a constraint's name.
    """
    incident_id = uuid.uuid4().hex
    of_database = error.metadata if isinstance(error, Refusal) else {}
    chain: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(chain) < 5:
        chain.append(f"{type(cause).__module__}.{type(cause).__qualname__}")
        cause = cause.__cause__ or cause.__context__
    _log.error(
        "incident",
        incident_id=incident_id,
        method=method,
        request_id=request_id,
        exceptions=chain,
        exc_info=error,
        **{name: of_database[name] for name in ("sqlstate", "constraint") if name in of_database},
    )
    return Refusal(
        Reason.INTERNAL_ERROR, "the server failed; report the incident id", metadata={"incident_id": incident_id}
    )


def _trace_id(span: trace.Span) -> str:
    context = span.get_span_context()
    return trace.format_trace_id(context.trace_id) if context.is_valid else ""
