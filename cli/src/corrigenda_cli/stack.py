"""A whole local stack: PostgreSQL, the migrated schema, three services, their workers, and the gateway for agents.

Started in the order of their dependence, stopped in the reverse order, each by its own pid. Used by ``corrigenda up``
(a kept directory and fixed ports) and ``corrigenda demo`` (a throw-away directory and free ports).
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlsplit, urlunsplit

from corrigenda_core.config import LogFormat, LogLevel
from corrigenda_core.observability import configure_logging
from corrigenda_core.persistence.embedded import EmbeddedPostgres
from corrigenda_core.persistence.migrate import migrate

from corrigenda_cli.child import Child, start_child
from corrigenda_cli.local_secrets import LocalSecrets, load, load_or_make, write_private

Say = Callable[[str], None]

_NOT_INHERITED = (
    "CORRIGENDA_DATABASE",
    "CORRIGENDA_KEY_PEPPER",
    "CORRIGENDA_PAGE_TOKEN_KEY",
    "CORRIGENDA_PASSWORD",
    "CORRIGENDA_KEY",
    # A stack speaks plain text with itself, on loopback; what its owner calls other stacks with is not its own.
    "CORRIGENDA_TLS",
    "CORRIGENDA_HTTP_TLS",
    "CORRIGENDA_ALLOW_PLAINTEXT",
)
_MODEL_KEY = "CORRIGENDA_MODEL_SERVICE_KEY"
SECRETS_FILE, SERVER_FILE = "secrets.json", "server.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSpec:
    """One process of the stack: its module, its database role if it has one, and its default port if it serves.

    ``asks_models`` says that it may ask a model service, and so is given the key of that.
    """

    name: str
    module: str
    role: str | None = None
    port: int | None = None
    asks_models: bool = False


GATEWAY = ProcessSpec(name="gateway", module="corrigenda_gateway", port=7104)
INGEST, CONFLICT = "ingest", "conflict"
PROCESSES = (
    GATEWAY,
    ProcessSpec(name=INGEST, module="corrigenda_ingest", role="corrigenda_ingest", port=7101, asks_models=True),
    ProcessSpec(name=CONFLICT, module="corrigenda_conflict", role="corrigenda_conflict", port=7102, asks_models=True),
    ProcessSpec(name="recall", module="corrigenda_recall", role="corrigenda_recall", port=7103, asks_models=True),
    ProcessSpec(name="reviewer", module="corrigenda_conflict.reviewer", role="corrigenda_reviewer"),
    ProcessSpec(name="indexer", module="corrigenda_recall.indexer", role="corrigenda_indexer", asks_models=True),
)
NOTIFIER = ProcessSpec(name="notifier", module="corrigenda_conflict.notifier", role="corrigenda_notifier")
"""Started only where a file of webhook endpoints is configured."""
WEBHOOKS_VARIABLE = "CORRIGENDA_WEBHOOKS_FILE"


def configured_processes() -> Sequence[ProcessSpec]:
    """The processes that the environment asks for: all, and a notifier if it names a file of webhook endpoints."""
    return (*PROCESSES, NOTIFIER) if os.environ.get(WEBHOOKS_VARIABLE) else PROCESSES


def log_to_standard_error() -> None:
    """What this process itself has to log goes to standard error: standard output is the command's answer."""
    configure_logging(level=LogLevel.WARNING, format=LogFormat.CONSOLE, process="corrigenda")


def role_url(url: str, role: str, password: str) -> str:
    """``url`` with another user and password."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{quote(role)}:{quote(password)}@{host}"))


def kept_role_url(directory: Path, role: str) -> str:
    """The URL of a role on the server of a stack that runs in ``directory`` on this machine.

    Raises:
        FileNotFoundError: there is no such stack.
    """
    server: dict[str, str] = json.loads((directory / SERVER_FILE).read_text(encoding="utf-8"))
    secrets = load(directory / SECRETS_FILE)
    return role_url(server["url"], role, secrets.role_passwords[role])


def kept_key_pepper(directory: Path) -> str:
    """The key pepper of the stack of ``directory``.

    Raises:
        FileNotFoundError: there is no such stack.
    """
    return load(directory / SECRETS_FILE).key_pepper


@dataclass(kw_only=True)
class Stack:
    """A local stack under ``directory``; an async context manager that starts and stops it.

    ``database_url`` selects a real server (its user must be able to make roles and extensions); ``None`` starts the
    embedded one. ``pooler_url`` is where the processes reach that server through a pooler in transaction mode.
    ``free_ports`` lets the system choose. ``without`` names processes that are not started.
    """

    directory: Path
    database_url: str | None = None
    pooler_url: str | None = None
    free_ports: bool = False
    without: Sequence[str] = ()
    throw_away: bool = False
    say: Say = lambda _: None
    secrets: LocalSecrets = field(init=False)
    children: dict[str, Child] = field(init=False, default_factory=dict)
    admin_url: str = field(init=False, default="")
    server: EmbeddedPostgres | None = field(init=False, default=None)
    _exit: AsyncExitStack = field(init=False, default_factory=AsyncExitStack)

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self._exit.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._exit.aclose()

    def address(self, name: str) -> str:
        """``host:port`` of a service."""
        return self.children[name].facts["address"]

    def url(self, role: str) -> str:
        """The database URL of a role."""
        return role_url(self.admin_url, role, self.secrets.role_passwords[role])

    @property
    def logs(self) -> Path:
        """The folder of the processes' logs."""
        return self.directory / "logs"

    async def start_process(
        self, name: str, settings: Mapping[str, str] | None = None, *, through: str | None = None
    ) -> Child:
        """Starts one process of the stack (again) and waits until it is ready; ``settings`` join its environment.

        ``through`` names a module that runs it in its own place. The gateway is told where the services are, and the
        conflict service where ingest is, so they run before.
        """
        (spec,) = [spec for spec in (*PROCESSES, NOTIFIER) if spec.name == name]
        child = await start_child(
            name=spec.name,
            module=spec.module,
            environment={**self.environment_of(spec), **(settings or {})},
            log_file=self.logs / f"{spec.name}.log",
            through=through,
        )
        self.children[name] = child
        return child

    def environment_of(self, spec: ProcessSpec) -> dict[str, str]:
        """What a process sees: of the secrets, its own role's password, and those that its work needs."""
        withheld = _NOT_INHERITED if spec.asks_models else (*_NOT_INHERITED, _MODEL_KEY)
        environment = {k: v for k, v in os.environ.items() if not k.startswith(withheld)}
        if spec.port is not None:
            environment["CORRIGENDA_LISTEN"] = f"127.0.0.1:{0 if self.free_ports else spec.port}"
        if spec.role is None:
            return environment | {
                f"CORRIGENDA_{name.upper()}_ADDRESS": self.address(name) for name in ("ingest", "conflict", "recall")
            }
        if self.pooler_url is None:
            environment["CORRIGENDA_DATABASE_URL"] = self.url(spec.role)
        else:
            password = self.secrets.role_passwords[spec.role]
            environment["CORRIGENDA_DATABASE_URL"] = role_url(self.pooler_url, spec.role, password)
            environment["CORRIGENDA_DATABASE_PREPARES"] = "false"
        if spec.name == CONFLICT and INGEST in self.children:
            environment["CORRIGENDA_INGEST_ADDRESS"] = self.address(INGEST)
        if spec.port is not None:
            environment |= {
                "CORRIGENDA_KEY_PEPPER": self.secrets.key_pepper,
                "CORRIGENDA_PAGE_TOKEN_KEY": self.secrets.page_token_key,
            }
        return environment

    async def any_part_ended(self) -> str:
        """Waits until a process of the stack ends, or its embedded server does for good; says which, and its log's end.

        The services alone would go on without their server, and answer every call that it cannot be reached.
        """
        waiting: dict[asyncio.Task[Any], Child | EmbeddedPostgres] = {
            asyncio.create_task(child.wait()): child for child in self.children.values()
        }
        if self.server is not None:
            # The thread ends with the server, which ends with the stack.
            waiting[asyncio.create_task(asyncio.to_thread(self.server.wait))] = self.server
        try:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
        part = waiting[done.pop()]
        if isinstance(part, EmbeddedPostgres):
            return f"PostgreSQL ended and is not started again; its log: {part.log_file}"
        return f"{part.name} ended with status {part.return_code}; its log ends:\n{part.log_tail()}"

    async def _start(self) -> None:
        self.logs.mkdir(parents=True, exist_ok=True)
        self.secrets = load_or_make(self.directory / SECRETS_FILE)
        if self.database_url is None:
            self.say("starting PostgreSQL")
            self.server = EmbeddedPostgres(
                self.directory / "postgres", fsync=not self.throw_away, throw_away=self.throw_away
            )
            self.admin_url = (await self._exit.enter_async_context(self.server)).url
        else:
            self.admin_url = self.database_url
        parts = urlsplit(self.admin_url)
        where = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
        write_private(self.directory / SERVER_FILE, json.dumps({"url": where}) + "\n")
        self.say("bringing the schema up to date")
        await asyncio.to_thread(migrate, self.admin_url, role_passwords=self.secrets.role_passwords)
        self._exit.push_async_callback(self._stop_children)
        names = [spec.name for spec in configured_processes() if spec.name not in self.without]
        self.say(f"starting {', '.join(names)}")
        async with asyncio.TaskGroup() as group:
            ingest = group.create_task(self.start_process(INGEST)) if INGEST in names else None
            for name in names:
                if name == CONFLICT:
                    group.create_task(self._start_after(ingest, name))
                elif name not in {INGEST, GATEWAY.name}:
                    group.create_task(self.start_process(name))
        if GATEWAY.name in names:
            await self.start_process(GATEWAY.name)

    async def _start_after(self, other: asyncio.Task[Child] | None, name: str) -> None:
        """Starts a process that is told where another one is."""
        if other is not None:
            await other
        await self.start_process(name)

    async def _stop_children(self) -> None:
        """The gateway and the services first, so that nothing new is taken, then the workers."""
        for spec in (*PROCESSES, NOTIFIER):
            child = self.children.pop(spec.name, None)
            if child is not None:
                self.say(f"stopping {spec.name}")
                await child.stop()
