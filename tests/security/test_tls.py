"""TLS and mutual TLS between real peers: who is believed, who is not, and certificates that change under traffic."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
from corrigenda_core.rpc.channels import ServiceChannel
from corrigenda_core.security.certificates import ClientTls, ServerTls, server_credentials
from corrigenda_core.testing.certificates import Authority, Issued
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

WAIT_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Secured:
    """A server that asks for certificates, and what both sides believe."""

    directory: Path
    ours: Authority
    theirs: Authority
    server: Issued
    client: Issued
    address: str

    def tls(self, *, authorities: Path | None = None, identity: Issued | None = None) -> ClientTls:
        return ClientTls(
            authorities=authorities or self.ours.file,
            certificate=None if identity is None else identity.certificate,
            private_key=None if identity is None else identity.private_key,
        )


async def serve(tls: ServerTls) -> tuple[grpc.aio.Server, str]:
    server = grpc.aio.server()
    health_pb2_grpc.add_HealthServicer_to_server(health.aio.HealthServicer(), server)
    port = server.add_secure_port("127.0.0.1:0", server_credentials(tls))
    await server.start()
    return server, f"127.0.0.1:{port}"


@pytest.fixture
async def secured(tmp_path: Path) -> AsyncIterator[Secured]:
    ours, theirs = Authority(tmp_path, "ours"), Authority(tmp_path, "theirs")
    identity = ours.issue("server")
    server, address = await serve(
        ServerTls(certificate=identity.certificate, private_key=identity.private_key, client_authorities=ours.file)
    )
    yield Secured(
        directory=tmp_path, ours=ours, theirs=theirs, server=identity, client=ours.issue("client"), address=address
    )
    await server.stop(0)


async def asked(channel: grpc.aio.Channel, seconds: float = WAIT_SECONDS) -> bool:
    answer = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=seconds)
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


async def answers(address: str, tls: ClientTls | None) -> bool:
    """Whether the server answers somebody who connects so; a refused handshake is an unavailable server."""
    channel = ServiceChannel(address, tls)
    try:
        return await asked(channel.current())
    except grpc.aio.AioRpcError as error:
        if error.code() is not grpc.StatusCode.UNAVAILABLE:
            raise
        return False
    finally:
        await channel.close()


async def test_both_sides_that_show_what_the_other_believes_are_served(secured: Secured) -> None:
    assert await answers(secured.address, secured.tls(identity=secured.client))


@pytest.mark.parametrize(
    "connect",
    [
        pytest.param(lambda s: None, id="plain text"),
        pytest.param(lambda s: s.tls(), id="no certificate"),
        pytest.param(lambda s: s.tls(identity=s.theirs.issue("stranger")), id="a certificate of another authority"),
        pytest.param(lambda s: s.tls(identity=s.ours.issue("old", is_expired=True)), id="an expired certificate"),
        pytest.param(lambda s: s.tls(authorities=s.theirs.file, identity=s.client), id="who trusts another authority"),
    ],
)
async def test_a_caller_that_is_not_believed_or_does_not_believe_gets_no_answer(
    secured: Secured, connect: Callable[[Secured], ClientTls | None]
) -> None:
    assert not await answers(secured.address, connect(secured))


async def test_a_server_whose_certificate_is_over_is_not_believed(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    old = authority.issue("server", is_expired=True)
    server, address = await serve(ServerTls(certificate=old.certificate, private_key=old.private_key))
    assert not await answers(address, ClientTls(authorities=authority.file))
    await server.stop(0)


async def test_without_authorities_for_callers_any_caller_may_connect(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    identity = authority.issue("server")
    server, address = await serve(ServerTls(certificate=identity.certificate, private_key=identity.private_key))
    assert await answers(address, ClientTls(authorities=authority.file))
    await server.stop(0)


async def shown_certificate(secured: Secured) -> bytes:
    """The certificate that the server shows in a handshake of now."""
    context = ssl.create_default_context(cafile=str(secured.ours.file))
    context.load_cert_chain(secured.client.certificate, secured.client.private_key)
    host, _, port = secured.address.rpartition(":")
    _, writer = await asyncio.open_connection(host, int(port), ssl=context)
    shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.transport.abort()
    assert isinstance(shown, bytes)
    return shown


async def test_certificates_of_both_sides_change_under_traffic_without_one_failed_call(secured: Secured) -> None:
    channel = ServiceChannel(secured.address, secured.tls(identity=secured.client))
    rotations, failed, served = 4, [], 0
    ended = asyncio.Event()
    progressed = asyncio.Condition()

    async def traffic() -> None:
        nonlocal served
        while not ended.is_set():
            try:
                await asked(channel.current())
                served += 1
                async with progressed:
                    progressed.notify_all()
            except grpc.aio.AioRpcError as error:
                failed.append(error)

    calling = [asyncio.create_task(traffic()) for _ in range(4)]
    shown = {await shown_certificate(secured)}
    channels = {id(channel.current())}
    for _ in range(rotations):
        enough = served + 20
        # The key is written before the certificate: in between, the pair does not fit and the old one stays.
        secured.ours.issue("client")
        secured.ours.issue("server")
        shown.add(await shown_certificate(secured))
        async with asyncio.timeout(WAIT_SECONDS), progressed:
            await progressed.wait_for(lambda enough=enough: served >= enough)
        channels.add(id(channel.current()))
    ended.set()
    await asyncio.gather(*calling)
    await channel.close()
    assert (failed, len(shown)) == ([], rotations + 1)
    assert len(channels) > 1


async def test_a_replaced_channel_closes_with_the_one_that_took_its_place(secured: Secured) -> None:
    channel = ServiceChannel(secured.address, secured.tls(identity=secured.client))
    replaced = channel.current()
    assert await asked(replaced)
    secured.ours.issue("client")
    current = channel.current()
    assert current is not replaced
    await channel.close()
    shut = grpc.ChannelConnectivity.SHUTDOWN
    assert (replaced.get_state(), current.get_state()) == (shut, shut)


@pytest.mark.parametrize("what", ["half written", "a key of another certificate", "gone"])
async def test_a_rotation_that_went_wrong_leaves_the_old_certificate_in_force(secured: Secured, what: str) -> None:
    before = await shown_certificate(secured)
    match what:
        case "half written":
            text = secured.server.certificate.read_text()
            secured.server.certificate.write_text(text[: len(text) // 2])
        case "a key of another certificate":
            secured.server.private_key.write_bytes(secured.client.private_key.read_bytes())
        case "gone":
            secured.server.certificate.unlink()
    assert await shown_certificate(secured) == before
    secured.ours.issue("server")
    assert await shown_certificate(secured) != before


def test_a_server_does_not_start_with_files_that_are_no_certificates(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    identity = authority.issue("server")
    other = authority.issue("other")
    with pytest.raises(ssl.SSLError):
        server_credentials(ServerTls(certificate=identity.certificate, private_key=other.private_key))
