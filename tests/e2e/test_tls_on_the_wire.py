"""Services that speak TLS alone, with each other as well, and the command that calls them."""

import asyncio
import os
import ssl
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx2
import pytest
from corrigenda.conflict.v1 import resolution_pb2
from corrigenda.ingest.v1 import ingest_service_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda.type.v1 import decision_pb2, evidence_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.rpc.client import Client, Endpoints
from corrigenda_core.security.certificates import ClientTls
from corrigenda_core.testing.certificates import Authority
from corrigenda_core.testing.wire_decisions import deciding, items_of, placed_row

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]


@dataclass(frozen=True, slots=True, kw_only=True)
class Secured:
    """Ingest, conflict and gateway beside those of the stack, in a world where everybody shows a certificate."""

    addresses: dict[str, str]
    authority: Path
    certificate: Path
    private_key: Path

    def client(self, key: str) -> Client:
        tls = ClientTls(authorities=self.authority, certificate=self.certificate, private_key=self.private_key)
        return Client(
            Endpoints(
                ingest=self.addresses["ingest"], conflict=self.addresses["conflict"], recall=self.addresses["ingest"]
            ),
            key,
            credentials=tls.credentials(),
        )


@pytest.fixture(scope="module")
async def secured(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Secured]:
    directory = tmp_path_factory.mktemp("certificates")
    authority = Authority(directory)
    addresses: dict[str, str] = {}
    async with AsyncExitStack() as running:

        async def start(name: str) -> None:
            identity = authority.issue(name)
            settings = {
                "CORRIGENDA_TLS_CERT_FILE": str(identity.certificate),
                "CORRIGENDA_TLS_KEY_FILE": str(identity.private_key),
                "CORRIGENDA_TLS_CA_FILE": str(authority.file),
                "CORRIGENDA_TLS_CLIENT_CA_FILE": str(authority.file),
                "CORRIGENDA_HTTP_TLS_CERT_FILE": str(identity.certificate),
                "CORRIGENDA_HTTP_TLS_KEY_FILE": str(identity.private_key),
                **{f"CORRIGENDA_{other.upper()}_ADDRESS": at for other, at in addresses.items()},
            }
            kept = stack.children[name]
            child = await stack.start_process(name, settings)
            stack.children[name] = kept
            running.push_async_callback(child.stop)
            addresses[name] = child.facts["address"]

        await start("ingest")
        await asyncio.gather(start("conflict"), start("gateway"))
        caller = authority.issue("caller")
        yield Secured(
            addresses=addresses,
            authority=authority.file,
            certificate=caller.certificate,
            private_key=caller.private_key,
        )


async def test_a_merge_passes_from_one_service_to_the_other(
    secured: Secured, new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team(profiles=["A"])
    async with secured.client(team.keys["A"]) as a:
        await placed_row(a, deploys_from("production deploys from main", "main"))
        await placed_row(a, deploys_from("the log: production deploys from release", "release"))
        (item,) = await items_of(a)
        sentence = resolution_pb2.Merge(
            content="since 1 March 2026 production deploys from trunk",
            source_type=evidence_pb2.SOURCE_TYPE_MANUAL,
            entity=resolution_pb2.MergedEntity(name="trunk", entity_kind="git_branch"),
        )
        answer = await a.conflict.ResolveConflict(deciding(item, merge=sentence))
    assert answer.decision.kind == decision_pb2.DECISION_KIND_MERGE


async def test_who_shows_no_certificate_or_speaks_plain_text_is_not_answered(
    secured: Secured, new_team: NewTeam
) -> None:
    team = await new_team(profiles=["A"])
    address = secured.addresses["ingest"]
    anybody = ClientTls(authorities=secured.authority).credentials()
    for credentials in (anybody, None):
        async with Client(
            Endpoints(ingest=address, conflict=address, recall=address), team.keys["A"], credentials=credentials
        ) as client:
            with pytest.raises(grpc.aio.AioRpcError) as unanswered:
                await client.recall.ListPredicates(recall_service_pb2.ListPredicatesRequest())
            assert unanswered.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_the_gateway_asks_its_services_by_tls_and_is_asked_by_tls(secured: Secured) -> None:
    url = f"https://{secured.addresses['gateway']}/readyz"
    async with httpx2.AsyncClient(verify=ssl.create_default_context(cafile=secured.authority)) as http:
        ready = await http.get(url)
    # The other services of the stack speak plain text: asked by TLS they do not answer.
    assert ready.json() == {"ingest": True, "conflict": False, "recall": False}
    async with httpx2.AsyncClient() as distrusting:
        with pytest.raises(httpx2.ConnectError):
            await distrusting.get(url)


async def test_the_command_shows_the_certificate_that_it_is_given(secured: Secured, new_team: NewTeam) -> None:
    team = await new_team(profiles=["A"])
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "corrigenda_cli", "call", "GetTeam"),
        *("--tls-ca", secured.authority, "--tls-cert", secured.certificate, "--tls-key", secured.private_key),
        env={
            "PATH": os.environ["PATH"],
            "CORRIGENDA_KEY": team.keys["admin"],
            "CORRIGENDA_INGEST_ADDRESS": secured.addresses["ingest"],
        },
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0
    assert team.team_id in output.decode()
