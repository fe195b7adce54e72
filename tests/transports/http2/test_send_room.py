"""What a connection counts against its share of the send budget, and which of its streams it gives up."""

from h2.settings import SettingCodes

from goqueue.transports.buffer_budget import BufferBudget, BufferShare
from goqueue.transports.http2.connection import Connection
from goqueue.transports.http2.frames import PREFACE
from goqueue.transports.http2.limits import Limits
from goqueue.transports.http2.stream import Stream
from tests.transports.http2.wire import START_NS, Peer, arrived, frames, kinds, rst, settings, window

OK = ((b":status", b"200"),)
MIB = 1 << 20


class Served:
    """A connection with a share of its own, and a peer that grants each stream a window."""

    def __init__(self, stream_window: int) -> None:
        self.share = BufferShare(BufferBudget(64 * MIB), 64 * MIB)
        self.connection = Connection(START_NS, Limits(), share=self.share)
        self.peer = Peer()
        greeting = PREFACE + settings({SettingCodes.INITIAL_WINDOW_SIZE: stream_window})
        self.connection.receive(START_NS, greeting)
        self.connection.take(START_NS)

    def stream(self, stream_id: int) -> Stream:
        """A request that has arrived."""
        self.connection.receive(START_NS, self.peer.headers(stream_id))
        (found,) = arrived(self.connection)
        return found

    def answer(self, stream_id: int, content: bytes) -> Stream:
        """A request that has been answered as far as we are concerned."""
        stream = self.stream(stream_id)
        stream.send_headers(OK)
        stream.send(content)
        stream.end()
        return stream

    def write(self) -> bytes:
        """Have everything written that can be."""
        written = b"".join(iter(lambda: self.connection.take(START_NS), b""))
        self.connection.take(START_NS)
        return written


def writable(connection: Connection) -> list[int]:
    news = connection.take_news()
    return sorted(news.writable) if news is not None else []


def test_a_stream_may_begin_once_its_own_window_is_open() -> None:
    served = Served(0)
    stream = served.stream(1)
    assert not stream.may_begin
    served.connection.receive(START_NS, window(1, 1000))
    assert writable(served.connection) == [1]
    assert stream.may_begin


def test_a_stream_may_begin_once_the_window_of_the_connection_is_open() -> None:
    served = Served(10 * MIB)
    served.answer(1, bytes(100_000))
    served.write()
    stream = served.stream(3)
    assert not stream.may_begin
    served.connection.receive(START_NS, window(0, 1000))
    assert writable(served.connection) == [3]
    served.write()
    assert not stream.may_begin, "what was queued before went first"
    served.connection.receive(START_NS, window(0, 1_000_000))
    served.write()
    assert stream.may_begin


def test_settings_that_open_all_windows_let_streams_begin() -> None:
    served = Served(0)
    streams = [served.stream(number) for number in (1, 3)]
    assert [stream.may_begin for stream in streams] == [False, False]
    served.connection.receive(START_NS, settings({SettingCodes.INITIAL_WINDOW_SIZE: 10}))
    assert writable(served.connection) == [1, 3]


def test_what_is_queued_counts_until_it_was_written() -> None:
    served = Served(MIB)
    served.answer(1, bytes(50_000))
    assert served.share.held_bytes == 50_000
    served.connection.take(START_NS)
    assert served.share.held_bytes == 50_000, "it was given out, and may not be written"
    served.connection.take(START_NS)
    assert served.share.held_bytes == 0


def test_a_piece_counts_as_a_whole_until_the_last_of_it_has_left() -> None:
    served = Served(50_000)
    served.answer(1, bytes(51_000))
    served.write()
    assert served.share.held_bytes == 51_000
    served.connection.receive(START_NS, window(1, 1000))
    served.write()
    assert served.share.held_bytes == 0


def test_what_a_stream_had_queued_counts_no_longer_when_it_is_broken_off() -> None:
    served = Served(0)
    served.answer(1, bytes(50_000))
    served.connection.receive(START_NS, rst(1))
    assert served.share.held_bytes == 0


def test_streams_of_which_nothing_leaves_between_two_sweeps_are_given_up_and_no_others() -> None:
    served = Served(1000)
    served.answer(1, bytes(50_000))
    served.answer(3, bytes(50_000))
    idle = served.stream(5)
    served.write()
    assert served.connection.cut_stalled() == 0
    served.connection.receive(START_NS, window(3, 10))
    served.write()
    assert served.connection.cut_stalled() == 1
    written = served.write()
    assert [(frame.stream_id, int(frame.error_code)) for frame in frames(written)] == [(1, 11)]
    assert served.share.held_bytes == 50_000
    assert idle.gone is None
    assert served.connection.cut_stalled() == 1
    assert kinds(served.write()) == ["RstStream"]


def test_an_answer_that_was_queued_after_a_sweep_is_not_given_up_by_the_next() -> None:
    served = Served(0)
    assert served.connection.cut_stalled() == 0
    served.answer(1, bytes(50_000))
    assert [served.connection.cut_stalled() for _ in range(2)] == [0, 1]
