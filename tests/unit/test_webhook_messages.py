"""What a webhook message says, how it is signed, where it may go, and when it is tried again."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from corrigenda_conflict.notifier.__main__ import main
from corrigenda_conflict.notifier.endpoints import ENDPOINTS_MAX, FILE_BYTES_MAX, EndpointsRefused, read_endpoints
from corrigenda_conflict.notifier.message import BODY_BYTES_MAX, body_of
from corrigenda_conflict.notifier.retrying import Retrying
from corrigenda_conflict.notifier.sender import Failed
from corrigenda_conflict.notifier.signing import UnusableSecret, new_secret, parse_secret, signature_headers
from corrigenda_core.domain.cases import CaseKind, CaseStatus
from corrigenda_core.domain.ids import ConflictId, EventId, ItemId, ProfileId, TeamId
from corrigenda_core.domain.notices import CaseNotice, ItemNotice, Notice, NoticeKind
from corrigenda_core.domain.time import Moment
from hypothesis import given
from hypothesis import strategies as st

TEAM, EVENT, CONFLICT, OWNER = (str(uuid.UUID(int=number)) for number in range(1, 5))
MOMENT = Moment(revision=7, at=datetime(2026, 3, 1, 9, 30, 0, 5, tzinfo=UTC))
CASE_NOTICE = CaseNotice(
    kind=NoticeKind.CONFLICT_RESOLVED,
    team_id=TeamId(TEAM),
    event_id=EventId(EVENT),
    moment=MOMENT,
    conflict_id=ConflictId(CONFLICT),
    case_kind=CaseKind.CURRENT_STATE,
    status=CaseStatus.RESOLVED,
    version=3,
)
ITEM_NOTICE = ItemNotice(
    kind=NoticeKind.WINNER_WITHDRAWN,
    team_id=TeamId(TEAM),
    item_id=ItemId(EVENT),
    moment=MOMENT,
    owner_id=ProfileId(OWNER),
)


@pytest.mark.parametrize(
    ("notice", "message"),
    [
        (
            CASE_NOTICE,
            {
                "type": "conflict.resolved",
                "timestamp": "2026-03-01T09:30:00.000005Z",
                "data": {
                    "team_id": TEAM,
                    "revision": 7,
                    "event_id": EVENT,
                    "conflict_id": CONFLICT,
                    "conflict_kind": "current_state",
                    "status": "resolved",
                    "version": 3,
                },
            },
        ),
        (
            ITEM_NOTICE,
            {
                "type": "item.winner_withdrawn",
                "timestamp": "2026-03-01T09:30:00.000005Z",
                "data": {"team_id": TEAM, "revision": 7, "item_id": EVENT, "owner_profile_id": OWNER},
            },
        ),
    ],
    ids=["case", "item"],
)
def test_a_message_says_what_happened_and_where(notice: Notice, message: dict[str, object]) -> None:
    body = body_of(notice)
    assert json.loads(body) == message
    assert len(body) <= BODY_BYTES_MAX
    assert body == body_of(notice)


def test_the_signature_is_that_of_standard_webhooks() -> None:
    """The example with which the convention's libraries are tested."""
    secret = parse_secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    headers = signature_headers("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}', [secret])
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_each_secret_signs_while_receivers_change_to_a_new_one() -> None:
    old, new = parse_secret(new_secret()), parse_secret(new_secret())
    both = signature_headers("id", 1, b"{}", [old, new])["webhook-signature"].split(" ")
    assert both == [signature_headers("id", 1, b"{}", [one])["webhook-signature"] for one in (old, new)]
    assert len(set(both)) == 2


def test_a_secret_is_not_shown() -> None:
    secret = parse_secret(new_secret())
    assert repr(secret.key) not in repr(secret)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsec_",
        "whsec_not base64",
        f"whsec_{'A' * 28}",  # 21 bytes
        f"whsec_{'A' * 88}",  # 66 bytes
    ],
)
def test_what_is_no_secret_is_refused(text: str) -> None:
    with pytest.raises(UnusableSecret):
        parse_secret(text)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a file with one endpoint, correct but for what a test changes."""

    def written(*others: dict[str, Any], **changed: Any) -> Path:
        (tmp_path / "secret").write_text(new_secret() + "\n")
        (tmp_path / "broken").write_text("hunter2")
        entry = {"name": "chat", "team_id": TEAM, "url": "https://hooks.example/corrigenda", "secret_files": ["secret"]}
        changed_entry = {name: value for name, value in {**entry, **changed}.items() if value is not None}
        path = tmp_path / "webhooks.json"
        path.write_text(json.dumps({"endpoints": [changed_entry, *({**entry, **other} for other in others)]}))
        return path

    return written


def test_an_endpoint_is_told_every_kind_that_comes_unless_it_says_so(write: Callable[..., Path]) -> None:
    plain, chosen = read_endpoints(
        write({"name": "pager", "events": ["conflict.overdue"], "from_start": True, "secret_files": ["secret"] * 2})
    )
    assert (plain.key.team_id, plain.key.name, plain.url) == (TEAM, "chat", "https://hooks.example/corrigenda")
    assert (plain.kinds, plain.from_start, len(plain.secrets)) == (frozenset(NoticeKind), False, 1)
    assert (chosen.kinds, chosen.from_start, len(chosen.secrets)) == ({NoticeKind.CONFLICT_OVERDUE}, True, 2)


@pytest.mark.parametrize(
    "changed",
    [
        {"url": "http://127.0.0.1:8080/hook"},
        {"url": "http://[::1]:8080/hook"},
        {"url": "http://localhost/hook"},
        {"url": "http://hooks.internal/hook", "allow_plain_http": True},
        {"url": "https://hooks.example:8443/a?b=c"},
    ],
)
def test_an_endpoint_may_be_here_or_encrypted_or_expressly_allowed(
    write: Callable[..., Path], changed: dict[str, Any]
) -> None:
    (endpoint,) = read_endpoints(write(**changed))
    assert endpoint.url == changed["url"]


@pytest.mark.parametrize(
    ("changed", "because"),
    [
        ({"url": "http://hooks.example/a"}, "https"),
        ({"url": "http://127.0.0.1.hooks.example/a"}, "https"),
        ({"url": "ftp://127.0.0.1/a"}, "https"),
        ({"url": "file:///etc/passwd"}, "host"),
        ({"url": "https://user:hunter2@hooks.example/a"}, "password"),
        ({"url": "https://hooks.example/a#b"}, "fragment"),
        ({"url": "https://hooks.example:port/a"}, "no URL"),
        ({"url": "https://hooks.example/a b"}, "pattern"),
        ({"url": "https://hooks.example/" + "a" * 2048}, "2048"),
        ({"name": "Chat"}, "pattern"),
        ({"name": "c" * 64}, "pattern"),
        ({"team_id": "none"}, "UUID"),
        ({"events": ["conflict.joined"]}, "events"),
        ({"events": []}, "events"),
        ({"secret_files": []}, "secret_files"),
        ({"secret_files": ["secret"] * 3}, "secret_files"),
        ({"secret_files": ["broken"]}, "whsec_"),
        ({"secret_files": ["missing"]}, "cannot be read"),
        ({"secret": "whsec_x"}, "secret"),
        ({"url": None}, "url"),
    ],
)
def test_an_endpoint_that_is_not_allowed_is_refused_without_showing_it(
    write: Callable[..., Path], changed: dict[str, Any], because: str
) -> None:
    with pytest.raises(EndpointsRefused, match=because) as refused:
        read_endpoints(write(**changed))
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "because"),
    [
        ('{"endpoints": []}', "endpoints"),
        ("{", "JSON"),
        (" " * (FILE_BYTES_MAX + 1), "larger"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, content: str, because: str) -> None:
    path = tmp_path / "webhooks.json"
    path.write_text(content)
    with pytest.raises(EndpointsRefused, match=because):
        read_endpoints(path)


def test_as_many_endpoints_as_are_allowed_and_each_name_once(write: Callable[..., Path]) -> None:
    others = [{"name": f"e{number}"} for number in range(ENDPOINTS_MAX)]
    assert len(read_endpoints(write(*others[1:]))) == ENDPOINTS_MAX
    with pytest.raises(EndpointsRefused, match=str(ENDPOINTS_MAX)):
        read_endpoints(write(*others))
    with pytest.raises(EndpointsRefused, match="one name"):
        read_endpoints(write({"url": "https://elsewhere.example/"}))
    assert len(read_endpoints(write({"team_id": OWNER}))) == 2


RETRYING = Retrying(attempts_max=20, rest_seconds=5.0, rest_seconds_max=3600.0)


@pytest.mark.parametrize(
    ("failures", "draw", "rest"),
    [
        (1, 0.0, 2.5),
        (1, 0.5, 3.75),
        (2, 0.0, 5.0),
        (10, 0.0, 1280.0),
        (11, 0.0, 1800.0),
        (19, 0.0, 1800.0),
        (20, 0.0, None),
        (21, 0.0, None),
    ],
)
def test_rests_double_up_to_a_bound_and_attempts_end(failures: int, draw: float, rest: float | None) -> None:
    assert RETRYING.rest_after(Failed(problem="timeout"), failures=failures, draw=draw) == rest


def test_an_endpoint_that_is_gone_is_given_up_at_once() -> None:
    assert RETRYING.rest_after(Failed(problem="status_410", is_final=True), failures=1, draw=0.0) is None


def test_an_endpoint_that_asks_for_a_longer_rest_gets_it() -> None:
    asking = Failed(problem="status_429", asked_rest_seconds=60.0)
    assert RETRYING.rest_after(asking, failures=1, draw=0.0) == 60.0
    assert RETRYING.rest_after(asking, failures=10, draw=0.0) == 1280.0


@given(
    failures=st.integers(1, 10_000),
    draw=st.floats(0, 1, exclude_max=True),
    first=st.floats(0.001, 3600),
    longest=st.floats(0.001, 86_400),
)
def test_a_rest_lies_between_a_half_and_the_whole(failures: int, draw: float, first: float, longest: float) -> None:
    retrying = Retrying(attempts_max=100_000, rest_seconds=first, rest_seconds_max=longest)
    rest = retrying.rest_after(Failed(problem="timeout"), failures=failures, draw=draw)
    assert rest is not None
    assert min(first, longest) / 2 <= rest <= longest


@pytest.mark.parametrize(
    ("seconds", "named"),
    [("nine", "CORRIGENDA_WEBHOOK_TIMEOUT_SECONDS"), ("59", "CORRIGENDA_WEBHOOK_LEASE_SECONDS must be longer")],
)
def test_a_notifier_that_cannot_start_says_why_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, seconds: str, named: str
) -> None:
    webhooks = tmp_path / "webhooks.json"
    webhooks.write_text("{}", encoding="utf-8")
    monkeypatch.setenv("CORRIGENDA_WEBHOOKS_FILE", str(webhooks))
    monkeypatch.setenv("CORRIGENDA_DATABASE_URL", "postgresql://notifier:hunter2@127.0.0.1:1/unused")
    monkeypatch.setenv("CORRIGENDA_WEBHOOK_TIMEOUT_SECONDS", seconds)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert told.startswith("not started: ")
    assert named in told
    assert told.count("\n") == 1
    assert "hunter2" not in told
