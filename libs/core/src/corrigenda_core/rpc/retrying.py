"""What a client tries again by itself, how often, and with which budget: gRPC's own retries, told what is safe here.

A call that only reads, or that names itself by an idempotency key, has one effect however often it arrives. It is tried
again where the server says that this may help and after the time that the server asks for; a stream that the client
writes is not. A budget for each connection keeps retries from becoming the overload that they are meant to outlast.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor

from corrigenda_core.rpc.methods import access_of
from corrigenda_core.rpc.status import RETRIED_CODES

ATTEMPTS_MAX = 4
BUDGET_TOKENS = 20
BUDGET_TOKENS_PER_SUCCESS = 0.1
"""Each failure takes one token, each success gives so much of one back, and below half of them nothing is retried."""


def is_repeatable(method: MethodDescriptor) -> bool:
    """Whether the same request may be sent twice without a second effect."""
    if method.client_streaming:
        return False
    return not access_of(method).mutates or "idempotency_key" in method.input_type.fields_by_name


def service_config(services: Iterable[ServiceDescriptor]) -> str:
    """The configuration of a channel, as gRPC reads it."""
    repeatable = [method for service in services for method in service.methods if is_repeatable(method)]
    return json.dumps(
        {
            # The name of a service stands for all its replicas: a client talks to each of them in turn.
            "loadBalancingConfig": [{"round_robin": {}}],
            "methodConfig": [
                {
                    "name": [
                        {"service": method.containing_service.full_name, "method": method.name} for method in repeatable
                    ],
                    "retryPolicy": {
                        "maxAttempts": ATTEMPTS_MAX,
                        "initialBackoff": "0.1s",
                        "maxBackoff": "2s",
                        "backoffMultiplier": 2,
                        "retryableStatusCodes": [code.name for code in RETRIED_CODES],
                    },
                }
            ],
            "retryThrottling": {"maxTokens": BUDGET_TOKENS, "tokenRatio": BUDGET_TOKENS_PER_SUCCESS},
        }
    )
