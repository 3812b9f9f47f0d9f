"""`corrigenda health` says of every process of a running stack how it is, and fails when one does not serve."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from corrigenda_cli.__main__ import main
from corrigenda_cli.stack import Stack
from corrigenda_core.observability import make_registry, serve_metrics
from corrigenda_core.process_health import ProcessHealth

Health = Callable[..., Awaitable[tuple[int, str]]]


@pytest.fixture
def health(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Health:
    """Runs the command with settings; gives its status and what it wrote."""

    async def run(*arguments: str, **settings: str) -> tuple[int, str]:
        capsys.readouterr()
        with monkeypatch.context() as environment:
            for name, value in settings.items():
                environment.setenv(name, value)
            status = await asyncio.to_thread(main, ["health", *arguments])
        written = capsys.readouterr()
        return status, written.out + written.err

    return run


@pytest.mark.database
@pytest.mark.parametrize("name", ["ingest", "conflict", "recall"])
async def test_a_service_serves_and_its_database_answers(stack: Stack, health: Health, name: str) -> None:
    address = stack.address(name)
    status, said = await health(address)
    assert (status, said.splitlines()) == (0, [f"{address}: SERVING", "dependency/database: SERVING"])
    # As the health check of a container that listens on all of its addresses asks.
    port = address.rpartition(":")[2]
    assert (await health(CORRIGENDA_LISTEN=f"0.0.0.0:{port}"))[0] == 0


@pytest.mark.database
async def test_the_gateway_says_which_services_it_reaches(stack: Stack, health: Health) -> None:
    status, said = await health(CORRIGENDA_HEALTH_TARGET=f"http://{stack.address('gateway')}/readyz")
    assert (status, '"recall":true' in said) == (0, True)


@pytest.mark.database
@pytest.mark.parametrize("name", ["ingest", "reviewer", "indexer", "gateway"])
async def test_every_process_is_asked_where_its_metrics_are(stack: Stack, health: Health, name: str) -> None:
    status, said = await health(CORRIGENDA_METRICS_LISTEN=stack.children[name].facts["metrics"])
    assert (status, len(said.splitlines())) == (0, 2)


async def test_a_process_that_takes_no_calls_is_told_from_one_that_is_not_there(health: Health) -> None:
    process = ProcessHealth()
    endpoint = serve_metrics("127.0.0.1:0", make_registry(), process)
    try:
        assert (await health(CORRIGENDA_METRICS_LISTEN=endpoint.address))[0] == 0
        process.is_ready = False
        status, said = await health(CORRIGENDA_METRICS_LISTEN=endpoint.address)
        assert (status, "503 takes no calls" in said) == (1, True)
    finally:
        endpoint.close()
    with socket.socket() as taken:
        # Bound, and nobody listens.
        taken.bind(("127.0.0.1", 0))
        nobody = f"127.0.0.1:{taken.getsockname()[1]}"
        assert (await health(f"http://{nobody}/readyz"))[0] == 4
        assert (await health(nobody, "--timeout", "1"))[0] == 4


async def test_a_container_that_serves_nothing_has_nothing_to_ask(health: Health) -> None:
    assert await health() == (0, "nothing to ask\n")


async def test_a_setting_that_is_half_there_is_told(health: Health, tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_text("not a certificate")
    status, _ = await health("localhost:1", CORRIGENDA_TLS_CA_FILE=str(file), CORRIGENDA_TLS_CERT_FILE=str(file))
    assert status == 2
