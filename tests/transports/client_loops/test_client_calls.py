"""Calls over a channel: every kind, every end, on every loop."""

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from goqueue.transports.client.channel import CallStream, Channel, open_channel, split_address
from goqueue.transports.client.loops import SECOND_NS, Loop
from goqueue.transports.grpc.status import Detail
from tests.transports.client_loops.on_loops import (
    CHAT,
    GATHER,
    SPREAD,
    UNARY,
    drive,
    echo_server,
    on_every_loop,
    parcel,
    until,
)
from tests.transports.grpc.echo_messages import Parcel

MIB = 1 << 20


async def replies_of(channel: Channel, path: str, *requests: Parcel) -> list[Parcel]:
    """What a call comes to."""
    async with channel.stream(path) as call:
        for request in requests:
            await call.send(bytes(request))
        await call.finish()
        replies: list[Parcel] = []
        while messages := await call.receive():
            replies += map(parcel, messages)
    return replies


async def drained(call: CallStream) -> None:
    """Receive to the end."""
    while await call.receive():
        pass


@on_every_loop
def test_a_call_of_one_message_gets_its_reply(kind: str) -> None:
    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, server.address)
        for count in range(20):
            reply = parcel(await channel.call(UNARY, bytes(Parcel(body=b"x" * count, count=count))))
            assert (reply.body, reply.count) == (b"x" * count, count + 1)
        await channel.close()

    with echo_server() as server:
        drive(kind, test)


@on_every_loop
def test_replies_come_in_order_and_all_of_them(kind: str) -> None:
    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, server.address)
        replies = await replies_of(channel, SPREAD, Parcel(count=5000, size=1000))
        assert [reply.count for reply in replies] == list(range(5000))
        assert {len(reply.body) for reply in replies} == {1000}

    with echo_server() as server:
        drive(kind, test)


@on_every_loop
def test_a_call_may_have_no_replies(kind: str) -> None:
    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, server.address)
        assert await replies_of(channel, SPREAD, Parcel(count=0)) == []

    with echo_server() as server:
        drive(kind, test)


@on_every_loop
@pytest.mark.parametrize(("count", "size"), [(5000, 1000), (0, 0), (24, MIB)])
def test_requests_all_arrive(kind: str, count: int, size: int) -> None:
    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, server.address)
        replies = await replies_of(channel, GATHER, *[Parcel(body=bytes(size))] * count)
        assert [(reply.count, reply.size) for reply in replies] == [(count, count * size)]

    with echo_server() as server:
        drive(kind, test)


@on_every_loop
@pytest.mark.parametrize("size", [0, 1, 100_000, 5 * MIB])
def test_both_sides_take_turns(kind: str, size: int) -> None:
    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, server.address)
        async with channel.stream(CHAT) as call:
            for count in range(5):
                await call.send(bytes(Parcel(body=bytes(size), count=count)))
                (message,) = await call.receive()
                assert (parcel(message).count, len(parcel(message).body)) == (count, size)
            await call.finish()
            assert await call.receive() == []
            assert await call.receive() == []

    with echo_server() as server:
        drive(kind, test)


@on_every_loop
def test_one_task_sends_while_another_receives(kind: str) -> None:
    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, server.address)
        async with channel.stream(CHAT) as call:

            async def send() -> None:
                for count in range(64):
                    await call.send(bytes(Parcel(body=bytes(MIB // 2), count=count)))
                await call.finish()

            sending = loop.start(send)
            counts: list[int] = []
            while messages := await call.receive():
                counts += [parcel(message).count for message in messages]
            assert counts == list(range(64))
            await sending.wait()

    with echo_server() as server:
        drive(kind, test)


@on_every_loop
def test_many_calls_share_a_connection(kind: str) -> None:
    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, server.address)
        await channel.call(UNARY, bytes(Parcel()))
        counts: list[int] = []

        async def ask(count: int) -> None:
            counts.append(parcel(await channel.call(UNARY, bytes(Parcel(count=count)))).count)

        tasks = [loop.start(lambda count=count: ask(count)) for count in range(300)]  # type: ignore[misc]
        for task in tasks:
            await task.wait()
        assert sorted(counts) == list(range(1, 301))

    with echo_server() as server:
        drive(kind, test)


@on_every_loop
def test_a_refusal_arrives_with_its_message_and_details(kind: str) -> None:
    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, server.address)
        with pytest.raises(GRPCError) as caught:
            await channel.call(UNARY, bytes(Parcel(note="fail:because of 100% äöü")))
        error = caught.value
        assert (error.status, error.message) == (Status.FAILED_PRECONDITION, "because of 100% äöü")
        assert error.details == [Detail("test.Reason", "because of 100% äöü".encode())]
        assert channel.available

    with echo_server() as server:
        drive(kind, test)


@on_every_loop
def test_a_method_that_is_not_there_is_unimplemented(kind: str) -> None:
    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, server.address)
        with pytest.raises(GRPCError) as caught:
            await channel.call("/no.Such/Method", b"")
        assert caught.value.status is Status.UNIMPLEMENTED

    with echo_server() as server:
        drive(kind, test)


@on_every_loop
def test_messages_that_came_are_handed_out_before_the_error_is_raised(kind: str) -> None:
    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, server.address)
        async with channel.stream(CHAT) as call:
            await call.send(bytes(Parcel(count=1)))
            await call.send(b"\x0a" + b"\xff" * 11)  # what no Parcel can be read from
            await call.finish()
            (message,) = await call.receive()
            assert parcel(message).count == 1
            with pytest.raises(GRPCError) as caught:
                await call.receive()
        assert caught.value.status is Status.INVALID_ARGUMENT

    with echo_server() as server:
        drive(kind, test)


@on_every_loop
def test_sending_after_the_broker_ended_the_call_is_quiet_and_never_waits(kind: str) -> None:
    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, server.address)
        async with channel.stream(GATHER) as call:
            await call.send(bytes(Parcel(note="enough")))
            (message,) = await call.receive()
            for _ in range(64):
                await call.send(bytes(MIB))
            await call.finish()
            assert await call.receive() == []
        assert parcel(message).count == 0
        assert parcel(await channel.call(UNARY, bytes(Parcel(count=7)))).count == 8

    with echo_server() as server:
        drive(kind, test)


@on_every_loop
def test_a_deadline_ends_a_call_on_both_sides(kind: str) -> None:
    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, server.address)
        with pytest.raises(GRPCError) as caught:
            await channel.call(UNARY, bytes(Parcel(note="sleep:60")), loop.now() + SECOND_NS // 10)
        assert caught.value.status is Status.DEADLINE_EXCEEDED
        await until(loop, lambda: "cancelled" in server.echo.diary)
        assert channel.available

    with echo_server() as server:
        drive(kind, test)


@on_every_loop
def test_a_deadline_ends_a_stream_of_replies(kind: str) -> None:
    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, server.address)
        async with channel.stream(SPREAD, loop.now() + SECOND_NS // 5) as call:
            await call.send(bytes(Parcel(count=10_000, note="pause:0.01")))
            await call.finish()
            with pytest.raises(GRPCError) as caught:
                await drained(call)
        assert caught.value.status is Status.DEADLINE_EXCEEDED
        await until(loop, lambda: "spread ended" in server.echo.diary)

    with echo_server() as server:
        drive(kind, test)


@on_every_loop
def test_a_deadline_that_has_passed_makes_no_call(kind: str) -> None:
    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, server.address)
        with pytest.raises(GRPCError) as caught:
            await channel.call(UNARY, bytes(Parcel(note="sleep:60")), loop.now())
        assert caught.value.status is Status.DEADLINE_EXCEEDED
        assert server.echo.diary == []

    with echo_server() as server:
        drive(kind, test)


@on_every_loop
def test_cancelling_a_task_breaks_its_call_off(kind: str) -> None:
    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, server.address)
        task = loop.start(lambda: channel.call(UNARY, bytes(Parcel(note="sleep:60"))))
        await until(loop, lambda: "sleeping" in server.echo.diary)
        task.cancel()
        await task.wait()
        await until(loop, lambda: "cancelled" in server.echo.diary)
        assert parcel(await channel.call(UNARY, bytes(Parcel(count=1)))).count == 2

    with echo_server() as server:
        drive(kind, test)


@on_every_loop
def test_leaving_a_stream_breaks_it_off(kind: str) -> None:
    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, server.address)
        async with channel.stream(SPREAD) as call:
            await call.send(bytes(Parcel(count=1_000_000, size=1000)))
            await call.finish()
            assert await call.receive()
        await until(loop, lambda: "spread ended" in server.echo.diary)
        assert server.echo.sent < 1_000_000
        assert parcel(await channel.call(UNARY, bytes(Parcel(count=1)))).count == 2

    with echo_server() as server:
        drive(kind, test)


@on_every_loop
def test_a_slow_reader_holds_little_and_holds_up_nobody(kind: str) -> None:
    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, server.address)
        async with channel.stream(SPREAD) as call:
            await call.send(bytes(Parcel(count=64, size=MIB)))
            await call.finish()
            counts = [parcel(message).count for message in await call.receive()]
            # Others get through, however much is on its way here.
            for count in range(50):
                assert parcel(await channel.call(UNARY, bytes(Parcel(count=count)))).count == count + 1
                await loop.pause(SECOND_NS // 500)
            assert server.echo.sent < 64
            assert channel.held_bytes < 8 * MIB
            while messages := await call.receive():
                counts += [parcel(message).count for message in messages]
            assert counts == list(range(64))

    with echo_server() as server:
        drive(kind, test)


@on_every_loop
def test_a_sender_waits_for_a_broker_that_takes_nothing(kind: str) -> None:
    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, server.address)
        async with channel.stream(GATHER) as call:
            # It reads one request, and is busy with that.
            await call.send(bytes(Parcel(note="sleep:60")))
            sent = 0

            async def send() -> None:
                nonlocal sent
                for _ in range(64):
                    await call.send(bytes(MIB))
                    sent += 1

            assert not await loop.within(loop.now() + SECOND_NS // 2, send)
            assert sent < 8
            assert channel.held_bytes < 4 * MIB

    with echo_server() as server:
        drive(kind, test)


@pytest.mark.parametrize(
    ("address", "parts"),
    [("localhost:9000", ("localhost", 9000)), ("[::1]:80", ("::1", 80)), ("10.0.0.1:0", ("10.0.0.1", 0))],
)
def test_an_address_is_a_host_and_a_port(address: str, parts: tuple[str, int]) -> None:
    assert split_address(address) == parts


@pytest.mark.parametrize("address", ["localhost", ":9000", "localhost:", "localhost:x", "::1:80", "a:70000", ""])
def test_an_address_that_is_none_is_named(address: str) -> None:
    with pytest.raises(ValueError, match="host"):
        split_address(address)
