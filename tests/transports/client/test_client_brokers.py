"""Several addresses: whoever is there is asked, leaders are asked themselves, and nobody is waited for in vain."""

import socket
import threading
from contextlib import suppress

import pytest

from goqueue.proto import v1
from goqueue.testing import Broker
from goqueue.transports.client import lost
from goqueue.transports.client.brokers import ANY, Brokers
from goqueue.transports.client.loops import SECOND_NS, Loop
from goqueue.transports.client.topics import Topics
from tests.transports.client_loops.on_loops import SECONDS_MAX, drive, on_every_loop, raw_server

GREETING = b"\0\0\0\x04\0\0\0\0\0"  # empty SETTINGS


def nobody() -> str:
    """An address at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{taken.getsockname()[1]}"


@on_every_loop
def test_a_broker_that_is_not_there_is_passed_over(kind: str) -> None:
    with Broker() as broker:

        async def run(loop: Loop) -> None:
            brokers = Brokers(loop, [nobody(), broker.address])
            await brokers.open()
            assert await Topics(brokers).list() == []
            await brokers.close()

        drive(kind, run)


def test_another_broker_is_asked_when_the_one_that_was_asked_ends() -> None:
    with Broker() as first, Broker() as second:

        async def run(loop: Loop) -> None:
            brokers = Brokers(loop, [first.address, second.address])
            await Topics(brokers).create("first")
            channel = await brokers.channel()
            await channel.close()
            assert await Topics(brokers).list() == []
            await brokers.close()

        drive("trio", run)


def test_a_leader_is_asked_itself_unless_nobody_was_found_there_just_now() -> None:
    with Broker() as broker:

        async def run(loop: Loop) -> None:
            brokers, gone = Brokers(loop, [broker.address]), nobody()
            assert brokers.direct("") == ANY
            assert brokers.direct(broker.address) == broker.address
            assert brokers.direct(gone) == gone
            with suppress(lost.ConnectionLost):
                await brokers.channel(gone)
            assert brokers.direct(gone) == ANY
            assert brokers.direct(broker.address) == broker.address
            await brokers.close()

        drive("trio", run)


def test_leaders_that_were_learned_are_asked_when_those_that_were_given_are_gone() -> None:
    with Broker() as broker:

        async def run(loop: Loop) -> None:
            brokers = Brokers(loop, [nobody()])
            brokers.direct(broker.address)
            reply = await brokers.call("Topics/ListTopics", v1.ListTopicsRequest(), v1.ListTopicsReply)
            assert not reply.topics
            await brokers.close()

        drive("trio", run)


def test_a_broker_that_answers_nothing_is_left_for_another_one() -> None:
    with Broker() as broker, socket.create_server(("127.0.0.1", 0)) as mute:

        async def run(loop: Loop) -> None:
            brokers = Brokers(loop, [f"127.0.0.1:{mute.getsockname()[1]}", broker.address])
            assert await Topics(brokers).list() == []
            await brokers.close()

        drive("trio", run)


@on_every_loop
def test_of_several_addresses_the_first_that_answers_is_taken_and_the_others_are_spared(kind: str) -> None:
    # The system takes connections for a process that is stopped.
    with (
        Broker() as broker,
        socket.create_server(("127.0.0.1", 0)) as first,
        socket.create_server(("127.0.0.1", 0)) as second,
    ):
        mute = [f"127.0.0.1:{each.getsockname()[1]}" for each in (first, second)]

        async def run(loop: Loop) -> None:
            brokers = Brokers(loop, [*mute, broker.address])
            await brokers.open()
            assert (await brokers.channel()).address == broker.address
            assert [brokers.direct(each) for each in [*mute, broker.address]] == [ANY, ANY, broker.address]
            await brokers.close()

        drive(kind, run)


@on_every_loop
def test_a_broker_that_falls_mute_is_left_by_what_may_be_asked_twice(kind: str) -> None:
    def greet(peer: socket.socket) -> None:
        peer.sendall(GREETING)
        ended.wait(SECONDS_MAX)

    ended = threading.Event()
    with Broker() as broker, raw_server(greet) as mute:

        async def run(loop: Loop) -> None:
            brokers = Brokers(loop, [mute, broker.address], timeout_ns=4 * SECOND_NS)
            before = await brokers.channel()
            assert before.address == mute
            assert await Topics(brokers).list() == []
            assert (await brokers.channel()).address == broker.address
            assert before.alive, "what may not be asked twice waits on"
            assert brokers.direct(mute) == ANY
            await brokers.close()

        drive(kind, run)
        ended.set()


def test_a_leader_that_falls_mute_is_reached_by_way_of_another_broker() -> None:
    def greet(peer: socket.socket) -> None:
        peer.sendall(GREETING)
        ended.wait(SECONDS_MAX)

    ended = threading.Event()
    with Broker() as broker, raw_server(greet) as mute:

        async def run(loop: Loop) -> None:
            brokers = Brokers(loop, [broker.address])
            assert brokers.direct(mute) == mute
            channel = await brokers.channel(mute)
            with pytest.raises(lost.ConnectionLost, match="does not answer"):
                await channel.call("/goqueue.v1.Topics/ListTopics", b"", stays=False)
            with pytest.raises(lost.ConnectionLost, match="lately"):
                await brokers.channel(mute)
            assert brokers.direct(mute) == ANY
            await brokers.close()

        drive("trio", run)
        ended.set()


def test_a_broker_that_cannot_do_what_it_is_asked_is_left_after_a_while() -> None:
    with Broker() as first, Broker() as second:

        async def run(loop: Loop) -> None:
            brokers = Brokers(loop, [first.address, second.address])
            channel = await brokers.channel()
            for _ in range(2):
                brokers.troubled(channel)
            assert await brokers.channel() is channel
            brokers.troubled(channel)
            assert await brokers.channel() is not channel
            assert channel.alive, "what is under way there may end"
            assert brokers.turn()
            await brokers.close()
            assert not channel.alive

        drive("trio", run)


def test_the_only_broker_is_not_left() -> None:
    with Broker() as broker:

        async def run(loop: Loop) -> None:
            brokers = Brokers(loop, [broker.address])
            channel = await brokers.channel()
            for _ in range(10):
                brokers.troubled(channel)
            assert not brokers.turn()
            assert await brokers.channel() is channel
            await brokers.close()

        drive("trio", run)
