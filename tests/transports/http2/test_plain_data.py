"""DATA that goes past h2: what a sink is given, and that the path changes nothing but its cost."""

from collections.abc import Callable

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from goqueue.storage.buffers import BufferPool
from goqueue.transports.http2.connection import Connection
from goqueue.transports.http2.frames import DATA, PREFACE, FrameReader
from goqueue.transports.http2.limits import KIB, Limits
from goqueue.transports.http2.stream import Stream
from tests.transports.http2.wire import POST, START_NS, Peer, arrived, data, frames, kinds, server

PATHS = pytest.mark.parametrize("limits", [Limits(), Limits(plain_data=False)], ids=["past h2", "through h2"])


def opened(limits: Limits, count: int = 1) -> tuple[Connection, list[Stream]]:
    """A connection with requests on it that are still being sent."""
    connection, peer = server(limits), Peer()
    for number in range(count):
        connection.receive(START_NS, peer.headers(1 + 2 * number, POST, end=False))
    streams = arrived(connection)
    connection.take(START_NS)
    return connection, streams


def keeper(kept: list[bytes | memoryview]) -> Callable[[bytes | memoryview], bool]:
    """A sink that keeps all that it is given."""

    def keep(part: bytes | memoryview) -> bool:
        kept.append(part)
        return True

    return keep


@PATHS
def test_a_sink_is_given_what_comes_until_it_wants_no_more(limits: Limits) -> None:
    connection, (stream,) = opened(limits)
    given_: list[bytes] = []

    def sink(part: bytes | memoryview) -> bool:
        given_.append(bytes(part))
        return len(given_) < 3

    stream.sink = sink
    connection.receive(START_NS, b"".join(data(1, b"%d" % number * 2000) for number in range(5)))
    assert given_ == [b"0" * 2000, b"1" * 2000, b"2" * 2000]
    assert not stream.drop_sink()
    assert stream.read() == b"3" * 2000 + b"4" * 2000
    news = connection.take_news()
    assert news is not None
    assert list(news.readable) == [1], "whoever serves it is told that the sink has had enough"


@PATHS
def test_what_a_sink_takes_opens_the_windows_again(limits: Limits) -> None:
    limits = evolve(limits, stream_window_bytes=64 * KIB, connection_window_bytes=128 * KIB)
    connection, (stream,) = opened(limits)
    stream.sink = lambda _: True
    credited = {0: 0, 1: 0}
    for _ in range(100):
        connection.receive(START_NS, data(1, bytes(16 * KIB)))
        for frame in frames(connection.take(START_NS)):
            credited[frame.stream_id] += frame.window_increment
    assert connection.failed is None
    assert min(credited.values()) >= 100 * 16 * KIB - 64 * KIB
    assert connection.held_bytes == 0


@PATHS
def test_who_sends_past_a_window_is_dismissed(limits: Limits) -> None:
    connection, _ = opened(evolve(limits, stream_window_bytes=64 * KIB))
    for _ in range(5):
        connection.receive(START_NS, data(1, bytes(16 * KIB)))
    assert connection.failed is not None
    assert kinds(connection.take(START_NS))[-1] == "GoAway"


@PATHS
def test_a_body_past_its_announced_length_costs_its_stream(limits: Limits) -> None:
    connection, peer = server(limits), Peer()
    announced = [*POST, (b"content-length", b"10"), (b"content-type", b"application/grpc")]
    connection.receive(START_NS, peer.headers(1, announced, end=False))
    connection.receive(START_NS, data(1, bytes(11)))
    assert connection.failed is None
    assert "RstStream" in kinds(connection.take(START_NS))


@PATHS
def test_data_on_a_stream_that_has_ended_is_no_ones(limits: Limits) -> None:
    connection, (stream,) = opened(limits)
    connection.receive(START_NS, data(1, b"abc", end=True))
    assert stream.read() == b"abc"
    connection.receive(START_NS, data(1, bytes(2000)))
    assert stream.gone is not None or connection.failed is not None


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 9000)), min_size=1, max_size=60),
    st.lists(st.integers(1, 70_000), min_size=1, max_size=20),
    st.booleans(),
)
def test_views_that_are_kept_are_never_written_over(
    parts: list[tuple[int, int]], cuts: list[int], plain_data: bool
) -> None:
    limits = Limits(plain_data=plain_data)
    pool = BufferPool(128 * KIB, 2)
    connection = Connection(START_NS, limits, peer="peer", pool=pool)
    peer = Peer()
    hello = PREFACE + b"\0\0\0\4\0\0\0\0\0" + b"".join(peer.headers(1 + 2 * each, POST, end=False) for each in range(3))
    connection.receive(START_NS, hello)
    kept: dict[int, list[bytes | memoryview]] = {1: [], 3: [], 5: []}
    for stream in arrived(connection):
        stream.sink = keeper(kept[stream.id])
    expected: dict[int, bytes] = {1: b"", 3: b"", 5: b""}
    sent = b""
    for number, (which, size) in enumerate(parts):
        content = bytes((number % 251,)) * size
        expected[1 + 2 * which] += content
        sent += data(1 + 2 * which, content)
    at = turn = 0
    while at < len(sent):
        room = connection.room()
        size = min(len(room), cuts[turn % len(cuts)], len(sent) - at)
        room[:size] = sent[at : at + size]
        del room
        connection.received(START_NS, size)
        while connection.backlog:
            connection.work(START_NS)
        if turn % 3 == 0:
            connection.rest()
        at, turn = at + size, turn + 1
    assert {each: b"".join(views) for each, views in kept.items()} == expected


def test_a_reader_that_rests_holds_no_buffer_but_what_a_large_frame_needs() -> None:
    pool = BufferPool(256 * KIB, 4)
    reader = FrameReader(Limits(), pool=pool)
    assert pool.lent() == 0
    whole = data(1, bytes(100_000))
    reader.feed(whole[:500])
    assert pool.lent() == 1
    reader.rest()
    assert pool.lent() == 0
    assert reader.held_bytes == 500
    reader.feed(whole[500:60_000])
    reader.rest()
    assert pool.lent() == 1
    reader.feed(whole[60_000:])
    plain = reader.next_plain()
    assert plain is not None
    assert (plain[:2], bytes(plain[2]), plain[3]) == ((DATA, 1), bytes(100_000), False)
