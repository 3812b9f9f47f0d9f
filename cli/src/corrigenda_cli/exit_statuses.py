"""The exit statuses of `corrigenda`: what each means, and which one a refusal ends with. The only list of them."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import grpc
    from corrigenda_core.domain.errors import Reason


class ExitStatus(IntEnum):
    """How a command ends."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    REFUSED = 3
    UNAVAILABLE = 4
    NOT_ALLOWED = 5
    INTERRUPTED = 130


MEANINGS: dict[ExitStatus, str] = {
    ExitStatus.DONE: "done; what was asked for is on standard output",
    ExitStatus.FAILED: "failed: a check found what it looks for, some lines of a bulk load were refused, or a defect",
    ExitStatus.USAGE: "wrong usage: an argument, a missing key, an input that cannot be read; nothing was sent",
    ExitStatus.REFUSED: "refused by a service; the same call would be refused again",
    ExitStatus.UNAVAILABLE: "not now: a service cannot be reached or is too busy; repeat the same call later",
    ExitStatus.NOT_ALLOWED: "not allowed: the key is unknown or has expired, or may not do this",
    ExitStatus.INTERRUPTED: "interrupted by Ctrl-C",
}


def status_of_reason(reason: Reason) -> ExitStatus:
    """The status that a refusal ends with."""
    import grpc
    from corrigenda_core.rpc.status import CODES, RETRY_AFTER_SECONDS

    if reason in RETRY_AFTER_SECONDS:
        return ExitStatus.UNAVAILABLE
    code = CODES[reason]
    if code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
        return ExitStatus.NOT_ALLOWED
    return ExitStatus.FAILED if code is grpc.StatusCode.INTERNAL else ExitStatus.REFUSED


def status_of_code(code: grpc.StatusCode) -> ExitStatus:
    """The status of a failure that carries no reason: it does not come from a service of ours, or not from its code."""
    import grpc

    unreached = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED)
    return ExitStatus.UNAVAILABLE if code in unreached else ExitStatus.FAILED
