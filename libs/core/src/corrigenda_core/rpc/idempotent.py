"""What makes a repeated mutation harmless: the key, the hash of what was asked, and the response as bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from google.protobuf.message import Message

from corrigenda_core.domain.ids import IdempotencyKey, ProfileId
from corrigenda_core.persistence.idempotency import IdempotencyRequest, request_hash_of

Response = TypeVar("Response", bound=Message)


def idempotency_of(
    request: Message,
    profile_id: ProfileId,
    response_type: type[Response],
    *,
    kept: Callable[[Response], Response] = lambda response: response,
) -> IdempotencyRequest[Response]:
    """The idempotency of a mutation whose request has an ``idempotency_key``.

    Two requests ask the same if they are equal but for their keys.

    Args:
        request: a validated request.
        profile_id: the caller; keys of two profiles never meet.
        response_type: the message that answers.
        kept: what of a response is stored, where not all of it may be: a secret is shown once.
    """
    asked = type(request)()
    asked.CopyFrom(request)
    asked.ClearField("idempotency_key")
    name = request.DESCRIPTOR.full_name

    def encode(response: Response) -> bytes:
        return kept(response).SerializeToString(deterministic=True)

    def decode(stored: bytes) -> Response:
        response = response_type()
        response.ParseFromString(stored)
        return response

    return IdempotencyRequest(
        profile_id=profile_id,
        key=IdempotencyKey(getattr(request, "idempotency_key")),  # noqa: B009  every mutation has one, no base class says so
        rpc=name,
        request_hash=request_hash_of(name, asked.SerializeToString(deterministic=True)),
        encode=encode,
        decode=decode,
    )
