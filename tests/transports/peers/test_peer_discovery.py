"""Peers that nobody listed are found by a name, or by what they call out."""

import socket

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from goqueue.transports.peers.addresses import PeerAddress
from goqueue.transports.peers.discovery import call_out, called, calling, look_up
from tests.transports.peers.peering import until
from tests.transports.serving import run


def test_whoever_a_name_stands_for_is_found_again_and_again() -> None:
    async def test() -> None:
        found: list[PeerAddress] = []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(look_up, "127.0.0.1", 7000, found.append, 0.001)
            await until(lambda: len(found) > 2)
            nursery.cancel_scope.cancel()
        assert set(found) == {PeerAddress("", "127.0.0.1", 7000)}

    run(test)


@pytest.mark.parametrize("name", ["no such host", "a..b"])
def test_a_name_that_is_not_there_is_reported_once_and_looked_up_again(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        with trio.move_on_after(0.2):
            await look_up(name, 7000, lambda _: None, 0.001)

    run(test)
    assert len([record for record in caplog.records if "cannot be looked up" in record.getMessage()]) == 1


def test_a_call_is_heard_as_it_was_meant() -> None:
    own = PeerAddress("a", "10.0.0.1", 7000)
    assert called(calling(own)) == own


@given(st.one_of(st.binary(max_size=100), st.binary(max_size=50).map(lambda tail: b"GoQhere\n" + tail)))
def test_whatever_comes_to_the_group_is_a_call_or_nothing(content: bytes) -> None:
    assert called(content) is None


def test_two_that_call_out_find_each_other_and_not_themselves() -> None:
    one, other = PeerAddress("a", "127.0.0.1", 7001), PeerAddress("b", "127.0.0.1", 7002)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        group = ("239.71.81.9", free.getsockname()[1])

    async def test() -> None:
        found: dict[str, list[PeerAddress]] = {"a": [], "b": []}
        async with trio.open_nursery() as nursery:
            for place in (one, other):
                nursery.start_soon(call_out, place, group, found[place.node_id].append, "127.0.0.1", 0.01)
            await until(lambda: all(found.values()))
            nursery.cancel_scope.cancel()
        assert set(found["a"]) == {other}
        assert set(found["b"]) == {one}

    try:
        run(test)
    except* OSError as errors:
        pytest.skip(f"there is no multicast here: {errors.exceptions[0]}")
