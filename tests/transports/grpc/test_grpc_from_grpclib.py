"""What grpclib's client sees of the server, with the stubs that betterproto generates for it."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from grpclib.client import Channel
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from goqueue.transports.grpc.service import GrpcService
from tests.transports.grpc.echo_messages import EchoStub, Parcel
from tests.transports.grpc.echo_service import Echo
from tests.transports.serving import in_thread, run, serving, until

MIB = 1 << 20


def against(work: Callable[[EchoStub], Awaitable[None]], service: Echo | None = None) -> Echo:
    """Run a client's work under asyncio in a thread; the service comes back."""
    service = service or Echo()

    async def test() -> None:
        async def talk() -> None:
            channel = Channel("127.0.0.1", served.port)
            try:
                await work(EchoStub(channel))
            finally:
                channel.close()

        async with serving(GrpcService([service])) as served:
            await in_thread(lambda: asyncio.run(talk()))
            await until(lambda: served.server.connection_count == 0)

    run(test)
    return service


def test_all_four_kinds_of_methods_work() -> None:
    async def work(echo: EchoStub) -> None:
        assert (await echo.unary(Parcel(count=1))).count == 2
        assert [each.count async for each in echo.spread(Parcel(count=30, size=5))] == list(range(30))
        assert (await echo.gather([Parcel(body=b"ab")] * 20)).size == 40
        sent = [Parcel(count=number) for number in range(10)]
        assert [each async for each in echo.chat(sent)] == sent

    against(work)


def test_large_messages_travel_both_ways() -> None:
    async def work(echo: EchoStub) -> None:
        body = bytes(8 * MIB)
        assert (await echo.unary(Parcel(body=body))).body == body

    against(work)


def test_a_call_that_ends_before_its_requests_do_is_no_error() -> None:
    async def work(echo: EchoStub) -> None:
        assert (await echo.gather([Parcel(note="enough"), *[Parcel(body=bytes(50_000))] * 20])).count == 0
        assert (await echo.unary(Parcel(count=1))).count == 2

    against(work)


def test_errors_and_deadlines_are_told() -> None:
    async def work(echo: EchoStub) -> None:
        with pytest.raises(GRPCError) as caught:
            await echo.unary(Parcel(note="fail:why"))
        assert (caught.value.status, caught.value.message) == (Status.FAILED_PRECONDITION, "why")
        # Both sides look at the clock; whoever is first ends it.
        with pytest.raises((asyncio.TimeoutError, GRPCError)) as late:
            await echo.unary(Parcel(note="sleep:30"), timeout=0.1)
        assert not isinstance(late.value, GRPCError) or late.value.status is Status.DEADLINE_EXCEEDED
        await asyncio.sleep(0.2)

    assert against(work).diary == ["sleeping", "cancelled"]
