"""The exit statuses: every refusal ends with one, and the guide says what each means."""

from pathlib import Path

import grpc
import pytest
from corrigenda_cli.exit_statuses import MEANINGS, ExitStatus, status_of_code, status_of_reason
from corrigenda_cli.rendering.failures import failure_lines, refusal_json, refusal_lines
from corrigenda_core.domain.errors import Reason, Refusal

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "command-line.md"


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        (Reason.INVALID_FIELD, ExitStatus.REFUSED),
        (Reason.RESOURCE_NOT_FOUND, ExitStatus.REFUSED),
        (Reason.IDEMPOTENCY_CONFLICT, ExitStatus.REFUSED),
        (Reason.STALE_VERSION, ExitStatus.REFUSED),
        (Reason.ITEM_NOT_PENDING, ExitStatus.REFUSED),
        (Reason.CONTENTION, ExitStatus.UNAVAILABLE),
        (Reason.RATE_LIMITED, ExitStatus.UNAVAILABLE),
        (Reason.STORE_UNAVAILABLE, ExitStatus.UNAVAILABLE),
        (Reason.VERIFIER_UNAVAILABLE, ExitStatus.UNAVAILABLE),
        (Reason.CREDENTIAL_EXPIRED, ExitStatus.NOT_ALLOWED),
        (Reason.SCOPE_MISSING, ExitStatus.NOT_ALLOWED),
        (Reason.NOT_OWNER, ExitStatus.NOT_ALLOWED),
        (Reason.INTERNAL_ERROR, ExitStatus.FAILED),
    ],
)
def test_a_refusal_ends_with_the_status_of_its_kind(reason: Reason, status: ExitStatus) -> None:
    assert status_of_reason(reason) is status


def test_a_failure_without_a_reason_is_one_of_reaching_the_service_or_a_defect() -> None:
    assert status_of_code(grpc.StatusCode.UNAVAILABLE) is ExitStatus.UNAVAILABLE
    assert status_of_code(grpc.StatusCode.DEADLINE_EXCEEDED) is ExitStatus.UNAVAILABLE
    assert status_of_code(grpc.StatusCode.UNIMPLEMENTED) is ExitStatus.FAILED


@pytest.mark.parametrize("reason", Reason)
def test_every_refusal_is_told_in_two_lines_with_what_to_do(reason: Reason) -> None:
    refusal = Refusal(reason, "it\x1b is so\nand so", field="a.field", metadata={"version": "3"})
    said, advised = refusal_lines(refusal)
    assert said.endswith(f"{reason.value}: it␛ is so and so (field a.field; version 3)")
    assert advised.startswith("  next: ")
    assert advised.endswith(".")
    assert "Metadata" not in advised
    assert refusal_json(refusal)["error"]["next_action"]


def test_a_bound_is_told_with_both_figures() -> None:
    refusal = Refusal(
        Reason.TOO_LARGE, "too long", field="x", metadata={"bound": "content", "offered": "9", "allowed": "8"}
    )
    assert refusal_lines(refusal)[0].endswith("too long (field x; content: offered 9, allowed 8)")


def test_an_unreached_service_is_told_with_what_to_do() -> None:
    lines = failure_lines("UNAVAILABLE", "no\x1b one", unreached=True)
    assert lines[0] == "UNAVAILABLE: no␛ one"
    assert "corrigenda up" in lines[1]


def test_every_status_has_a_meaning_and_the_guide_has_the_same() -> None:
    assert set(MEANINGS) == set(ExitStatus)
    guide = GUIDE.read_text(encoding="utf-8")
    for status, meaning in MEANINGS.items():
        assert f"| {status.value} | {meaning} |" in guide
