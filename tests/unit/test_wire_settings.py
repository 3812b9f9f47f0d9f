"""Plain text is for one machine: what would speak it with another one does not start, and says what to set."""

from pathlib import Path

import pytest
from corrigenda_cli.__main__ import main
from corrigenda_core.security.certificates import ClientTls, ServerTls
from corrigenda_core.settings_source import read_settings
from corrigenda_core.testing.certificates import Authority
from corrigenda_core.wire_config import CallingSettings, ListeningSettings, is_loopback
from corrigenda_gateway.config import GatewaySettings
from corrigenda_ingest.config import IngestSettings

LOOPBACK = ["127.0.0.1:7101", "127.8.0.1:0", "[::1]:7101", "localhost:7101", "LOCALHOST:1"]
BEYOND = ["0.0.0.0:7101", "[::]:7101", "10.0.0.7:7101", "ingest:7101", "localhost.example.org:7101"]


@pytest.mark.parametrize(
    ("address", "loopback"), [*((one, True) for one in LOOPBACK), *((one, False) for one in BEYOND)]
)
def test_loopback_is_what_only_this_machine_reaches(address: str, loopback: bool) -> None:
    assert is_loopback(address) is loopback


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """A service's secrets, and nothing about the wire."""
    monkeypatch.setenv("CORRIGENDA_DATABASE_URL", "postgresql://x:hunter2@127.0.0.1/x")
    monkeypatch.setenv("CORRIGENDA_KEY_PEPPER", "p" * 32)
    monkeypatch.setenv("CORRIGENDA_PAGE_TOKEN_KEY", "t" * 32)
    authority = Authority(tmp_path)
    authority.issue("server")
    return monkeypatch


def set_files(environment: pytest.MonkeyPatch, directory: Path, *names: str) -> None:
    files = {"CA": "authority.pem", "CLIENT_CA": "authority.pem", "CERT": "server.crt.pem", "KEY": "server.key.pem"}
    for name in names:
        environment.setenv(f"CORRIGENDA_TLS_{name}_FILE", str(directory / files[name]))


@pytest.mark.parametrize("address", BEYOND)
def test_a_service_in_plain_text_on_a_network_does_not_start_and_names_the_settings(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], address: str
) -> None:
    environment.setenv("CORRIGENDA_LISTEN", address)
    with pytest.raises(SystemExit) as ended:
        read_settings(IngestSettings)
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert told.startswith(f"not started: CORRIGENDA_LISTEN {address} is reached from other machines")
    assert "CORRIGENDA_TLS_CERT_FILE" in told
    assert "CORRIGENDA_ALLOW_PLAINTEXT" in told
    assert "hunter2" not in told


@pytest.mark.parametrize("names", [(), ("CERT", "KEY"), ("CERT", "KEY", "CLIENT_CA")])
def test_it_starts_on_loopback_with_a_certificate_or_when_it_is_allowed(
    environment: pytest.MonkeyPatch, tmp_path: Path, names: tuple[str, ...]
) -> None:
    set_files(environment, tmp_path, *names)
    environment.setenv("CORRIGENDA_LISTEN", "0.0.0.0:7101" if names else "127.0.0.1:7101")
    settings = read_settings(IngestSettings)
    tls = settings.server_tls(settings.listen)
    assert (tls is not None) is bool(names)
    if tls is not None:
        assert tls == ServerTls(
            certificate=tmp_path / "server.crt.pem",
            private_key=tmp_path / "server.key.pem",
            client_authorities=tmp_path / "authority.pem" if "CLIENT_CA" in names else None,
        )
    environment.setenv("CORRIGENDA_LISTEN", "0.0.0.0:7101")
    environment.setenv("CORRIGENDA_ALLOW_PLAINTEXT", "true")
    read_settings(IngestSettings)


@pytest.mark.parametrize("names", [("CERT",), ("KEY",), ("CLIENT_CA",)])
def test_half_of_a_setting_is_refused(
    environment: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], names: tuple[str, ...]
) -> None:
    set_files(environment, tmp_path, *names)
    with pytest.raises(SystemExit):
        read_settings(IngestSettings)
    assert "CORRIGENDA_TLS_CERT_FILE" in capsys.readouterr().err


def test_a_file_that_is_not_there_is_named_by_its_setting(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environment.setenv("CORRIGENDA_TLS_CA_FILE", "/nowhere/authority.pem")
    with pytest.raises(SystemExit):
        read_settings(IngestSettings)
    assert "CORRIGENDA_TLS_CA_FILE" in capsys.readouterr().err


@pytest.mark.parametrize("address", BEYOND)
def test_a_key_does_not_leave_the_machine_in_plain_text(environment: pytest.MonkeyPatch, address: str) -> None:
    for settings in (CallingSettings(), ListeningSettings()):
        with pytest.raises(ValueError, match="CORRIGENDA_TLS_CA_FILE"):
            settings.client_tls(address)
    assert CallingSettings(tls=True).client_tls(address) == ClientTls(authorities=None)
    assert CallingSettings(allow_plaintext=True).client_tls(address) is None
    environment.setenv("CORRIGENDA_RECALL_ADDRESS", address)
    with pytest.raises(ValueError, match="plain text"):
        GatewaySettings()


def test_naming_an_authority_is_enough_for_tls(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    set_files(environment, tmp_path, "CA", "CERT", "KEY")
    assert CallingSettings().client_tls("127.0.0.1:1") == ClientTls(
        authorities=tmp_path / "authority.pem",
        certificate=tmp_path / "server.crt.pem",
        private_key=tmp_path / "server.key.pem",
    )


def test_agents_reach_a_gateway_on_a_network_by_tls_or_where_it_is_allowed(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environment.setenv("CORRIGENDA_LISTEN", "0.0.0.0:7104")
    with pytest.raises(ValueError, match="CORRIGENDA_HTTP_TLS_CERT_FILE"):
        GatewaySettings().http_tls()
    environment.setenv("CORRIGENDA_HTTP_TLS_CERT_FILE", str(tmp_path / "server.crt.pem"))
    with pytest.raises(ValueError, match="go together"):
        GatewaySettings().http_tls()
    environment.setenv("CORRIGENDA_HTTP_TLS_KEY_FILE", str(tmp_path / "server.key.pem"))
    tls = GatewaySettings().http_tls()
    assert tls is not None
    assert tls.certificate == tmp_path / "server.crt.pem"


def test_the_gateway_of_one_agent_tells_of_settings_it_cannot_use_in_one_line(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environment.setenv("CORRIGENDA_INGEST_ADDRESS", "memory.example:7101")
    with pytest.raises(SystemExit) as ended:
        main(["mcp"])
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert told.startswith("not started: memory.example:7101 is another machine")
    assert "Traceback" not in told
