"""Fixtures of the tests that go through the running stack."""

import asyncio
import io
from collections.abc import Awaitable, Callable

import pytest
from corrigenda_cli.__main__ import main
from corrigenda_cli.stack import Stack


@pytest.fixture
def corrigenda(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Awaitable[tuple[int, str, str]]]:
    """Runs a command with a key and what it reads; gives its exit status and what it wrote."""
    for name in ("ingest", "conflict", "recall"):
        monkeypatch.setenv(f"CORRIGENDA_{name.upper()}_ADDRESS", stack.address(name))
    monkeypatch.setenv("COLUMNS", "120")

    async def run(key: str, *arguments: str, given: str = "") -> tuple[int, str, str]:
        monkeypatch.setenv("CORRIGENDA_KEY", key)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        capsys.readouterr()
        status = await asyncio.to_thread(main, arguments)
        written = capsys.readouterr()
        return status, written.out, written.err

    return run
