"""Peers that ask for more than they pay for: each is stopped, and what it cost until then is bounded."""

import tracemalloc
from collections.abc import Callable

import pytest
from h2.exceptions import DenialOfServiceError
from hpack import Encoder
from hyperframe.frame import HeadersFrame, PriorityFrame, SettingsFrame

from goqueue.transports.http2.connection import Connection
from goqueue.transports.http2.floods import Allowance
from goqueue.transports.http2.limits import SECOND_NS, Limits
from tests.transports.http2.wire import (
    GET,
    POST,
    START_NS,
    Peer,
    continuation,
    data,
    frames,
    ping,
    rst,
    serve_briefly,
    server,
    settings,
    window,
)

MIB = 1 << 20
CALM = 0xB  # ENHANCE_YOUR_CALM
FLOODS: dict[str, Callable[[int], bytes]] = {
    "ping": lambda _: ping(),
    "settings": lambda _: settings({SettingsFrame.INITIAL_WINDOW_SIZE: 100_000}),
    "ping answers": lambda _: ping(ack=True),
    "priorities": lambda number: PriorityFrame(2 * number + 1, depends_on=0, stream_weight=1).serialize(),
    "windows": lambda _: window(0, 1),
    "unknown frames": lambda _: b"\x00\x00\x00\xfa\x00\x00\x00\x00\x01",
}


def drive(connection: Connection, received: bytes) -> int:
    """Feed bytes as a driver does, answering what arrives; how many requests were served."""
    served = 0
    for start in range(0, len(received), 65_536):
        if connection.clogged:
            connection.take(START_NS)
        connection.receive(START_NS, received[start : start + 65_536])
        served += serve_briefly(connection)
        while connection.backlog:
            connection.work(START_NS)
            served += serve_briefly(connection)
        connection.take(START_NS)
    return served


@pytest.mark.parametrize("kind", FLOODS)
def test_a_flood_of_frames_that_carry_nothing_ends_the_connection(kind: str) -> None:
    connection = server()
    drive(connection, b"".join(FLOODS[kind](number) for number in range(30_000)))
    assert connection.failed is not None
    assert connection.failed.code == CALM


@pytest.mark.parametrize("kind", FLOODS)
def test_the_same_frames_at_an_honest_rate_are_fine(kind: str) -> None:
    connection = server()
    for second in range(300):
        now = START_NS + second * SECOND_NS
        connection.receive(now, b"".join(FLOODS[kind](number) for number in range(100)))
        connection.take(now)
    assert connection.failed is None


def test_a_connection_that_fails_gives_its_buffer_back_at_once() -> None:
    connection = server()
    connection.receive(START_NS, header_start(1, b"\x82") + ping() + bytes(5000))
    assert connection.failed is not None
    assert connection.unread_bytes == 0


def test_empty_data_frames_are_a_flood() -> None:
    connection, peer = server(), Peer()
    drive(connection, peer.headers(1, POST, end=False) + data(1, b"") * 30_000)
    assert connection.failed is not None
    assert connection.failed.code == CALM


def test_requests_that_are_reset_at_once_are_a_flood() -> None:
    connection, peer = server(), Peer()
    attack = b"".join(peer.headers(number) + rst(number) for number in range(1, 40_000, 2))
    served = drive(connection, attack)
    assert connection.failed is not None
    assert connection.failed.code == CALM
    assert served <= Limits().resets_burst + 1


def test_mistakes_that_force_us_to_reset_are_the_same_flood() -> None:
    connection, peer = server(), Peer()
    attack = b"".join(
        peer.headers(number, POST, end=False) + window(number, (1 << 31) - 1) for number in range(1, 40_000, 2)
    )
    drive(connection, attack)
    assert connection.failed is not None
    assert connection.failed.code == CALM


def test_all_calls_cancelled_at_once_are_no_flood() -> None:
    connection, peer = server(), Peer()
    numbers = range(1, 4000, 2)
    connection.receive(START_NS, b"".join(peer.headers(number) for number in numbers))
    while connection.backlog:
        connection.work(START_NS)
    drive(connection, b"".join(rst(number) for number in numbers))
    assert connection.failed is None


def test_a_turn_handles_no_more_than_its_share() -> None:
    connection, peer = server(Limits(turn_weight_max=80)), Peer()
    connection.receive(START_NS, b"".join(peer.headers(number) for number in range(1, 51, 2)))
    turns = []
    while True:
        turns.append(serve_briefly(connection))
        if not connection.backlog:
            break
        connection.work(START_NS)
    assert turns == [10, 10, 5]


def test_answers_that_nobody_reads_stop_the_reading() -> None:
    connection = server(Limits(output_bytes_max=1000))
    connection.receive(START_NS, ping() * 100)
    assert connection.clogged
    connection.take(START_NS)
    assert not connection.clogged


def header_start(stream_id: int, block: bytes) -> bytes:
    """A HEADERS frame whose block goes on."""
    frame = HeadersFrame(stream_id)
    frame.data = block
    return frame.serialize()


@pytest.mark.parametrize("size", [0, 1, 1000, 16_384])
def test_continuations_without_end_are_cut_short(size: int) -> None:
    connection = server()
    start = header_start(1, Encoder().encode(GET))
    drive(connection, start + continuation(1, b"\x00" * size) * 10_000)
    assert connection.failed is not None
    assert connection.held_bytes <= 2 * 65_536


def test_a_header_block_that_says_one_large_field_again_and_again_is_cut_short() -> None:
    connection, encoder = server(), Encoder()
    block = encoder.encode([*GET, (b"x-large", b"y" * 3900)])
    repeated = encoder.encode([(b"x-large", b"y" * 3900)])
    assert len(repeated) == 1
    tracemalloc.start()
    drive(connection, header_start(1, block) + continuation(1, repeated * 16_000, end=True))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert connection.failed is not None
    assert peak < 2 * MIB


def test_table_size_updates_without_end_are_cut_short() -> None:
    connection = server()
    drive(connection, header_start(1, b"\x20" * 10_000) + continuation(1, b"\x20" * 10, end=True))
    assert connection.failed is not None


def test_settings_nobody_knows_are_not_kept() -> None:
    connection = server()
    for start in range(0, 6000, 60):
        connection.receive(START_NS, settings({1000 + number: 1 for number in range(start, start + 60)}))
        connection.take(START_NS)
    assert connection.failed is None
    assert len(connection._engine.remote_settings) < 10


def test_a_settings_frame_larger_than_any_needs_to_be_is_refused() -> None:
    connection = server()
    connection.receive(START_NS, settings(dict.fromkeys(range(1000, 1200), 1)))
    assert connection.failed is not None


def test_the_table_a_peer_asks_us_to_keep_stays_small() -> None:
    connection = server()
    connection.receive(START_NS, settings({SettingsFrame.HEADER_TABLE_SIZE: 1 << 30}))
    assert connection._engine.encoder.header_table_size == 4096
    connection.receive(START_NS, settings({SettingsFrame.HEADER_TABLE_SIZE: 100}))
    assert connection._engine.encoder.header_table_size == 100


def test_a_frame_over_the_limit_is_refused_from_its_header_alone() -> None:
    connection = server()
    connection.receive(START_NS, b"\xff\xff\xff\x00\x00\x00\x00\x00\x01")
    assert connection.failed is not None
    assert [frame.error_code for frame in frames(connection.take(START_NS))] == [6]


def test_a_window_of_single_bytes_takes_little_more_than_its_size() -> None:
    connection, peer = server(), Peer()
    connection.receive(START_NS, peer.headers(1, POST, end=False))
    tracemalloc.start()
    drive(connection, data(1, b"x") * 20_000)
    current, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert connection.failed is None
    assert current < 300_000


def test_an_allowance_comes_back_with_time_and_with_work() -> None:
    allowance = Allowance(0, "things", 3, 2)
    allowance.spend(0, 3)
    with pytest.raises(DenialOfServiceError):
        allowance.spend(0)
    allowance.spend(SECOND_NS)
    with pytest.raises(DenialOfServiceError):
        allowance.spend(SECOND_NS)
    allowance.earn(100)
    allowance.spend(SECOND_NS, 3)
    with pytest.raises(DenialOfServiceError):
        allowance.spend(SECOND_NS)
