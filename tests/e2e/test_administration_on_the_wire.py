"""Administration over the wire: a driven clock and its ends, names that are taken, pages of odd names."""

import uuid
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.type.v1 import predicate_pb2
from corrigenda_cli.__main__ import main
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.errors import Reason
from corrigenda_core.domain.time import EARLIEST, LATEST
from corrigenda_core.rpc.convert import instant_of, timestamp_of
from corrigenda_core.testing.wire_decisions import refused

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def drive(team: Any, time: datetime) -> Awaitable[Any]:
    request = admin_service_pb2.DriveClockRequest(idempotency_key=uuid.uuid4().hex, time=timestamp_of(time))
    return team.admin.admin.DriveClock(request)


def register(team: Any, key: str, *, aliases: Sequence[str] = (), **more: Any) -> Awaitable[Any]:
    definition = predicate_pb2.PredicateDefinition(
        key=key,
        aliases=aliases,
        relationship_kind=predicate_pb2.RELATIONSHIP_KIND_STATE,
        current_cardinality=predicate_pb2.CARDINALITY_ONE,
    )
    request = admin_service_pb2.RegisterPredicateRequest(
        idempotency_key=uuid.uuid4().hex, definition=definition, **more
    )
    return team.admin.admin.RegisterPredicate(request)


@pytest.mark.promise("time.driven")
@pytest.mark.error("CLOCK_AHEAD")
@pytest.mark.rule("R8.4")
async def test_a_driven_clock_goes_forward_alone_and_keeps_away_from_the_ends_of_the_calendar(
    new_team: NewTeam,
) -> None:
    team = await new_team(driven_from=BEGIN)
    for time in (BEGIN - timedelta(microseconds=1), EARLIEST, LATEST, datetime(9999, 1, 1, tzinfo=UTC)):
        refusal = await refused(drive(team, time))
        assert (refusal.reason, refusal.field) == (Reason.INVALID_FIELD, "time")
    latest = datetime(9998, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    driven = await drive(team, latest)
    assert instant_of(driven.clock.time) == latest
    # There is room for what comes after.
    await register(team, "still_writable")
    refusal = await refused(
        team.admin.admin.OpenTeam(admin_service_pb2.OpenTeamRequest(idempotency_key="open while ahead"))
    )
    assert refusal.reason is Reason.CLOCK_AHEAD


@pytest.mark.promise("time.driven")
@pytest.mark.error("TEAM_OPEN")
@pytest.mark.rule("R8.4")
async def test_an_open_team_has_no_clock_to_drive(new_team: NewTeam) -> None:
    team = await new_team(driven_from=BEGIN)
    opened = await team.admin.admin.OpenTeam(admin_service_pb2.OpenTeamRequest(idempotency_key="open"))
    assert not opened.clock.driven
    assert (await refused(drive(team, datetime(2030, 1, 1, tzinfo=UTC)))).reason is Reason.TEAM_OPEN
    again = team.admin.admin.OpenTeam(admin_service_pb2.OpenTeamRequest(idempotency_key="open again"))
    assert (await refused(again)).reason is Reason.TEAM_OPEN


@pytest.mark.parametrize(
    "time", ["0001-01-01T00:00:00+01:00", "0001-06-01T00:00:00Z", "9999-01-01T00:00:00Z", "2026-01-01", "20260101T00Z"]
)
def test_a_team_is_not_made_with_a_clock_at_the_ends_of_the_calendar(
    stack: Stack, time: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CORRIGENDA_DATABASE_URL", stack.url("corrigenda_migrator"))
    monkeypatch.setenv("CORRIGENDA_KEY_PEPPER", stack.secrets.key_pepper)
    with psycopg.connect(stack.url("corrigenda_auditor"), autocommit=True) as connection:
        before = connection.execute("SELECT count(*) FROM teams").fetchone()
        with pytest.raises(SystemExit) as ended:
            main(["teams", "create", "a team", "--drive-from", time])
        assert ended.value.code == 2
        assert "--drive-from" in capsys.readouterr().err
        assert connection.execute("SELECT count(*) FROM teams").fetchone() == before


@pytest.mark.rule("R3.5")
async def test_a_phrase_means_one_predicate(new_team: NewTeam) -> None:
    """No alias is a key or an alias of another predicate, and no new key is another one's alias."""
    team = await new_team()
    await register(team, "ships_to", aliases=["delivers to"])
    for key, aliases, field in (
        ("other", ["delivers to"], "definition.aliases"),
        ("other", ["Ships To"], "definition.aliases"),
        ("delivers_to", [], "definition.key"),
    ):
        refusal = await refused(register(team, key, aliases=aliases))
        assert (refusal.reason, refusal.field) == (Reason.INVALID_FIELD, field)
        assert refusal.metadata["predicate"] == "ships_to"
    # What a predicate has let go is free.
    await register(team, "ships_to", aliases=["sends to"])
    await register(team, "delivers_to")


async def test_profiles_of_any_name_are_listed_page_by_page(new_team: NewTeam) -> None:
    team = await new_team(profiles=())
    names = [character * 128 for character in ("\x01", "\u2028", "\U0001f600")]
    for name in names:
        await team.admin.admin.CreateProfile(
            admin_service_pb2.CreateProfileRequest(idempotency_key=uuid.uuid4().hex, name=name)
        )
    listed: list[str] = []
    token = ""
    while True:
        page = await team.admin.admin.ListProfiles(admin_service_pb2.ListProfilesRequest(page_size=1, page_token=token))
        listed += [profile.name for profile in page.profiles]
        token = page.next_page_token
        if not token:
            break
    assert listed == [names[0], "admin", *names[1:]]


async def test_the_ledger_of_a_running_stack_is_verified_by_its_directory(
    stack: Stack, new_team: NewTeam, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    team = await new_team(profiles=())
    assert main(["verify-ledger", "--team", team.team_id, "--directory", str(stack.directory)]) == 0
    assert main(["verify-ledger", "--directory", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err
    kept = (stack.directory / "server.json").read_text(encoding="utf-8")
    assert not any(password in kept for password in stack.secrets.role_passwords.values())
