"""Fixtures of the tests that go through the running stack."""

import asyncio
import io
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest
from corrigenda.conflict.v1 import conflict_service_pb2
from corrigenda_cli.__main__ import main
from corrigenda_cli.stack import Stack
from corrigenda_conflict.judging import Judging
from corrigenda_conflict.use_cases.auto_resolve import AutoResolve
from corrigenda_core.deciding import OwnerDecisions
from corrigenda_core.domain.actors import Caller
from corrigenda_core.persistence.database import Database
from corrigenda_core.persistence.read_transaction import ReadRunner
from corrigenda_core.persistence.transaction import TransactionRunner
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.ports.providers import Judge
from corrigenda_core.providers.judge_validation import ValidatedJudge
from corrigenda_core.serving import new_ids


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


@dataclass(frozen=True, slots=True)
class JudgingBench:
    """A conflict service without its wire, with a pool and a queue of its own, for any judge."""

    database: Database

    def run(
        self, caller: Caller, judge: Judge, request: conflict_service_pb2.AutoResolveRequest, *, seconds: float = 20.0
    ) -> AsyncGenerator[conflict_service_pb2.AutoResolveResponse, None]:
        """What a run answers, question by question."""
        reader, runner = ReadRunner(self.database), TransactionRunner(self.database)
        judging = Judging(
            reader=reader,
            decisions=OwnerDecisions(reader=reader, runner=runner, new_ids=new_ids),
            judge=ValidatedJudge(judge, call_timeout_seconds=seconds, retries=0),
            new_ids=new_ids,
        )
        use_case = AutoResolve(reader=reader, runner=runner, judging=judging)
        return use_case(caller, request, Deadline.after(seconds), asyncio.Event())


@pytest.fixture(scope="session")
async def benches(stack: Stack) -> AsyncIterator[tuple[JudgingBench, JudgingBench]]:
    """Two conflict services beside the running one."""
    async with AsyncExitStack() as opened:
        databases = [await opened.enter_async_context(Database(stack.url("corrigenda_conflict"))) for _ in range(2)]
        yield JudgingBench(databases[0]), JudgingBench(databases[1])
