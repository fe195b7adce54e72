"""Our own client against our own server, through generated stubs."""

import math
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
import trio
import trustme
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from goqueue.transports.exchange import not_found
from goqueue.transports.grpc.service import GrpcService
from goqueue.transports.trio_grpc_client import Channel, TrioStub, open_channel
from tests.transports.grpc.echo_messages import EchoStub, Parcel
from tests.transports.grpc.echo_service import Echo
from tests.transports.serving import Served, run, serving, until

MIB = 1 << 20


class EchoClient(TrioStub, EchoStub):
    """The generated stub, as users of trio have it."""


def client(channel: Channel) -> EchoClient:
    return EchoClient(channel)  # type: ignore[arg-type]


async def several(*parcels: Parcel) -> AsyncIterator[Parcel]:
    for parcel in parcels:
        yield parcel


def test_all_four_kinds_of_methods_work() -> None:
    async def test() -> None:
        async with serving(GrpcService([Echo()])) as served, open_channel("127.0.0.1", served.port) as channel:
            echo = client(channel)
            assert (await echo.unary(Parcel(count=1, body=b"x"))) == Parcel(count=2, body=b"x")
            assert [each.count async for each in echo.spread(Parcel(count=50, size=3))] == list(range(50))
            assert (await echo.gather(several(*[Parcel(body=b"ab")] * 20))).size == 40
            assert (await echo.gather([Parcel(body=b"ab")] * 20)).size == 40
            sent = [Parcel(count=number) for number in range(10)]
            assert [each async for each in echo.chat(several(*sent))] == sent

    run(test)


def test_large_messages_and_many_calls_at_once() -> None:
    async def test() -> None:
        async with serving(GrpcService([Echo()])) as served, open_channel("127.0.0.1", served.port) as channel:
            echo = client(channel)
            body = bytes(8 * MIB)
            answers: list[int] = []

            async def call(number: int) -> None:
                answers.append((await echo.unary(Parcel(count=number))).count)

            async with trio.open_nursery() as nursery:
                for number in range(1500):
                    nursery.start_soon(call, number)
                assert (await echo.unary(Parcel(body=body))).body == body
            assert sorted(answers) == list(range(1, 1501))

    run(test)


def test_an_error_is_raised_with_its_details() -> None:
    async def test() -> None:
        async with serving(GrpcService([Echo()])) as served, open_channel("127.0.0.1", served.port) as channel:
            with pytest.raises(GRPCError) as caught:
                await client(channel).unary(Parcel(note="fail:nö"))
            assert caught.value.status is Status.FAILED_PRECONDITION
            assert caught.value.message == "nö"
            assert caught.value.details[0].message == "nö".encode()

    run(test)


def test_a_deadline_is_kept_on_both_sides() -> None:
    service = Echo()

    async def test() -> None:
        async with serving(GrpcService([service])) as served, open_channel("127.0.0.1", served.port) as channel:
            echo = client(channel)
            with pytest.raises(GRPCError) as caught:
                await echo.unary(Parcel(note="sleep:30"), timeout=0.1)
            assert caught.value.status is Status.DEADLINE_EXCEEDED
            await until(lambda: service.diary == ["sleeping", "cancelled"])
            with pytest.raises(GRPCError) as caught:
                async for _ in echo.spread(Parcel(count=1000, note="pause:0.02"), timeout=0.2):
                    pass
            assert caught.value.status is Status.DEADLINE_EXCEEDED
            await until(lambda: service.diary[-1] == "spread ended")
            assert (await echo.unary(Parcel(count=1))).count == 2

    run(test)


def test_leaving_a_stream_of_replies_cancels_it_on_the_server() -> None:
    service = Echo()

    async def test() -> None:
        async with serving(GrpcService([service])) as served, open_channel("127.0.0.1", served.port) as channel:
            replies = client(channel).spread(Parcel(count=10_000, size=10_000))
            await anext(replies)
            await replies.aclose()  # type: ignore[attr-defined]
            await until(lambda: service.diary == ["spread started", "spread ended"])

    run(test)


def test_an_error_in_making_requests_reaches_the_caller() -> None:
    async def broken() -> AsyncIterator[Parcel]:
        yield Parcel(count=1)
        raise LookupError("no more")

    async def test() -> None:
        async with serving(GrpcService([Echo()])) as served, open_channel("127.0.0.1", served.port) as channel:
            with pytest.raises(LookupError, match="no more"):
                async for _ in client(channel).chat(broken()):
                    pass
            assert channel.available

    run(test)


def test_a_method_that_answers_before_it_has_read_everything_is_no_error() -> None:
    async def test() -> None:
        async with serving(GrpcService([Echo()])) as served, open_channel("127.0.0.1", served.port) as channel:
            parcels = [Parcel(note="enough"), *[Parcel(body=bytes(100_000))] * 50]
            assert (await client(channel).gather(parcels)).count == 0
            assert (await client(channel).unary(Parcel(count=1))).count == 2

    run(test)


def test_a_draining_server_takes_no_new_calls_and_finishes_the_old() -> None:
    async def test() -> None:
        async with serving(GrpcService([Echo()])) as served, open_channel("127.0.0.1", served.port) as channel:
            replies = client(channel).spread(Parcel(count=10, note="pause:0.02"))
            assert (await anext(replies)).count == 0
            async with trio.open_nursery() as nursery:
                nursery.start_soon(served.server.drain, 10**10)
                await until(lambda: not channel.available)
                with pytest.raises(GRPCError) as caught:
                    await client(channel).unary(Parcel())
                assert caught.value.status is Status.UNAVAILABLE
                assert [each.count async for each in replies] == list(range(1, 10))

    run(test)


def test_a_server_that_vanishes_fails_its_calls() -> None:
    service = Echo()

    async def test() -> None:
        async with serving(GrpcService([service])) as served, open_channel("127.0.0.1", served.port) as channel:

            async def call() -> None:
                with pytest.raises(GRPCError) as caught:
                    await client(channel).unary(Parcel(note="sleep:30"))
                assert caught.value.status is Status.UNAVAILABLE

            async with trio.open_nursery() as nursery:
                nursery.start_soon(call)
                await until(lambda: service.diary == ["sleeping"])
                await served.server.drain(0)
            assert not channel.available

    run(test)


def test_a_server_without_grpc_is_told_by_its_http_status() -> None:
    async def test() -> None:
        async with serving(not_found) as served, open_channel("127.0.0.1", served.port) as channel:
            with pytest.raises(GRPCError) as caught:
                await client(channel).unary(Parcel())
            assert caught.value.status is Status.UNIMPLEMENTED

    run(test)


def test_tls_with_alpn() -> None:
    authority = trustme.CA()
    mine = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(mine)
    theirs = ssl.create_default_context()
    authority.configure_trust(theirs)

    async def test() -> None:
        async with (
            serving(GrpcService([Echo()]), tls=mine) as served,
            open_channel("127.0.0.1", served.port, tls=theirs) as channel,
        ):
            body = bytes(3 * MIB)
            assert (await client(channel).unary(Parcel(body=body))).body == body
            await _refused(served, theirs)
            assert (await client(channel).unary(Parcel(count=1))).count == 2

    run(test)


async def _refused(served: Served, trust: ssl.SSLContext) -> None:
    """Connections that speak no TLS, or no HTTP/2 within it, are closed."""
    plain = await trio.open_tcp_stream("127.0.0.1", served.port)
    await plain.send_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    while await plain.receive_some():
        pass
    await plain.aclose()
    trust.set_alpn_protocols(["http/1.1"])
    secured = await trio.open_ssl_over_tcp_stream("127.0.0.1", served.port, ssl_context=trust)
    await secured.do_handshake()
    # Whether an end without a word of TLS is an error or just an end differs between versions of OpenSSL.
    with suppress(trio.BrokenResourceError):
        assert await secured.receive_some() == b""
    await trio.aclose_forcefully(secured)
    assert math.isfinite(served.port)
