"""A connection as its driver sees it: requests in, responses out, windows, queues and endings."""

import pytest
from hyperframe.frame import DataFrame, GoAwayFrame, RstStreamFrame, SettingsFrame, WindowUpdateFrame

from goqueue.transports.http2.errors import ConnectionUnavailable, StreamGone
from goqueue.transports.http2.frames import PREFACE
from goqueue.transports.http2.limits import SECOND_NS, Limits
from goqueue.transports.http2.request import Request
from tests.transports.http2.wire import (
    GET,
    POST,
    START_NS,
    Pair,
    Peer,
    arrived,
    data,
    frames,
    goaway,
    kinds,
    ping,
    rst,
    serve_briefly,
    server,
    settings,
    window,
)

MIB = 1 << 20
OK = ((b":status", b"200"),)
LAST_ID = (1 << 31) - 1


def request(method: bytes = b"POST", path: bytes = b"/x") -> Request:
    return Request(method, path, b"http", b"here", [(b"one", b"1")])


def test_settings_go_out_before_anything_came() -> None:
    connection = server(opened=False)
    assert kinds(connection.take(START_NS)) == ["Settings", "WindowUpdate"]


def test_a_request_arrives_with_its_headers_and_body() -> None:
    pair = Pair()
    stream = pair.client.open(request())
    stream.send(b"ab")
    stream.send(b"cd")
    stream.end()
    pair.settle()
    (served,) = arrived(pair.server)
    assert served.request == Request(b"POST", b"/x", b"http", b"here", [(b"one", b"1")], "client")
    assert served.read() == b"abcd"
    assert served.ended


def test_a_response_carries_headers_body_and_trailers() -> None:
    pair = Pair()
    stream = pair.client.open(request(), end=True)
    pair.settle()
    (served,) = arrived(pair.server)
    served.send_headers(OK)
    served.send(b"body")
    served.end(((b"sum", b"4"),))
    pair.server.release(served)
    pair.settle()
    assert stream.headers == [(b":status", b"200")]
    assert stream.read() == b"body"
    assert stream.ended
    assert stream.trailers == [(b"sum", b"4")]
    assert pair.server.streams == pair.client.streams == {}


def test_small_parts_leave_as_one_frame() -> None:
    connection, peer = server(), Peer()
    connection.receive(START_NS, peer.headers(1))
    (stream,) = arrived(connection)
    stream.send_headers(OK)
    for _ in range(10):
        stream.send(b"x" * 100)
    stream.end()
    sent = [frame for frame in frames(connection.take(START_NS)) if isinstance(frame, DataFrame)]
    assert [(len(frame.data), set(frame.flags)) for frame in sent] == [(1000, {"END_STREAM"})]


def test_streams_take_turns() -> None:
    connection, peer = server(), Peer()
    connection.receive(START_NS, window(0, MIB) + peer.headers(1) + peer.headers(3))
    for stream in arrived(connection):
        stream.send_headers(OK)
        stream.send(bytes(40_000))
    sent = [frame.stream_id for frame in frames(connection.take(START_NS)) if isinstance(frame, DataFrame)]
    assert sent == [1, 3, 1, 3, 1, 3]


def test_a_stream_sends_no_more_than_its_window_and_goes_on_when_it_opens() -> None:
    connection, peer = server(), Peer()
    connection.receive(START_NS, settings({SettingsFrame.INITIAL_WINDOW_SIZE: 10}) + peer.headers(1))
    (stream,) = arrived(connection)
    stream.send_headers(OK)
    stream.send(b"0123456789abcdef")
    connection.take(START_NS)
    assert stream.queued_bytes == 6
    connection.receive(START_NS, window(1, 2))
    assert [frame.data for frame in frames(connection.take(START_NS))] == [b"ab"]
    connection.receive(START_NS, settings({SettingsFrame.INITIAL_WINDOW_SIZE: 100}))
    assert frames(connection.take(START_NS))[-1].data == b"cdef"


def test_a_window_that_shrinks_below_nothing_is_waited_for() -> None:
    connection, peer = server(), Peer()
    connection.receive(START_NS, settings({SettingsFrame.INITIAL_WINDOW_SIZE: 10}) + peer.headers(1))
    (stream,) = arrived(connection)
    stream.send_headers(OK)
    stream.send(bytes(20))
    connection.take(START_NS)
    connection.receive(START_NS, settings({SettingsFrame.INITIAL_WINDOW_SIZE: 0}) + window(1, 5))
    assert kinds(connection.take(START_NS)) == ["Settings"]
    connection.receive(START_NS, window(1, 15))
    assert len(frames(connection.take(START_NS))[0].data) == 10


def test_the_connection_is_credited_on_arrival_and_the_stream_on_reading() -> None:
    limits = Limits(stream_window_bytes=65_536, connection_window_bytes=131_072)
    connection, peer = server(limits), Peer()
    connection.receive(START_NS, peer.headers(1, POST, end=False) + data(1, bytes(16_384)) * 4)
    (stream,) = arrived(connection)
    unread = [frame for frame in frames(connection.take(START_NS)) if isinstance(frame, WindowUpdateFrame)]
    assert [(frame.stream_id, frame.window_increment) for frame in unread] == [(0, 65_536)]
    assert stream.unread_bytes == 65_536
    stream.read()
    read = [frame for frame in frames(connection.take(START_NS)) if isinstance(frame, WindowUpdateFrame)]
    assert [(frame.stream_id, frame.window_increment) for frame in read] == [(1, 65_536)]


def test_a_stalled_reader_does_not_hold_up_other_streams() -> None:
    limits = Limits(stream_window_bytes=65_535, connection_window_bytes=131_072, unread_bytes_max=MIB)
    pair = Pair(limits)
    stalled = pair.client.open(request())
    stalled.send(bytes(MIB))
    pair.settle()
    (unread,) = arrived(pair.server)
    for _ in range(5):
        other = pair.client.open(request())
        other.send(bytes(60_000))
        other.end()
        pair.settle()
        (served,) = arrived(pair.server)
        assert len(served.read()) == 60_000
        assert served.ended
    assert unread.unread_bytes == 65_535


def test_unread_bytes_of_all_streams_are_bounded_and_flow_again_when_read() -> None:
    limits = Limits(stream_window_bytes=65_535, connection_window_bytes=131_072, unread_bytes_max=200_000)
    pair = Pair(limits)
    for _ in range(20):
        pair.client.open(request()).send(bytes(65_535))
    pair.settle()
    assert pair.server.held_bytes <= limits.unread_bytes_max + limits.connection_window_bytes + 65_535
    streams = arrived(pair.server)
    total = 0
    for _ in range(20):
        total += sum(len(stream.read()) for stream in streams)
        pair.settle()
    assert total == 20 * 65_535


def test_a_sender_is_told_to_wait_and_when_to_go_on() -> None:
    connection, peer = server(Limits(stream_queue_bytes_max=100_000)), Peer()
    connection.receive(START_NS, peer.headers(1))
    (stream,) = arrived(connection)
    stream.send_headers(OK)
    assert stream.send(bytes(99_999))
    assert not stream.send(bytes(50_001))
    connection.take(START_NS)
    assert connection.take_news() is None, "the window lets 65,535 bytes go; more than half of the bound still waits"
    connection.receive(START_NS, window(0, MIB) + window(1, MIB))
    connection.take_news()
    connection.take(START_NS)
    news = connection.take_news()
    assert news is not None
    assert list(news.writable) == [1]
    assert not stream.crowded


def test_the_queue_of_a_connection_is_bounded_but_an_empty_stream_may_always_send() -> None:
    limits = Limits(stream_queue_bytes_max=1000, connection_queue_bytes_max=2500)
    connection, peer = server(limits), Peer()
    connection.receive(START_NS, settings({SettingsFrame.INITIAL_WINDOW_SIZE: 0}))
    connection.receive(START_NS, b"".join(peer.headers(number) for number in (1, 3, 5, 7)))
    streams = arrived(connection)
    for stream in streams:
        stream.send_headers(OK)
    assert [stream.send(bytes(900)) for stream in streams] == [True, True, False, False]
    connection.take(START_NS)
    connection.take_news()
    # The last one's queue empties while the connection stays crowded: it must not wait for the others.
    connection.receive(START_NS, window(7, 5000))
    connection.take(START_NS)
    news = connection.take_news()
    assert news is not None
    assert list(news.writable) == [7]
    # Once the connection has room again, everyone who waited hears of it.
    connection.receive(START_NS, window(1, 5000) + window(3, 5000))
    connection.take(START_NS)
    news = connection.take_news()
    assert news is not None
    assert list(news.writable) == [5]


def test_a_reset_reaches_the_stream_and_frees_what_it_held() -> None:
    connection, peer = server(), Peer()
    connection.receive(START_NS, peer.headers(1, POST, end=False) + data(1, b"abc"))
    (stream,) = arrived(connection)
    stream.send_headers(OK)
    stream.send(bytes(100_000))
    connection.receive(START_NS, rst(1, 8))
    connection.take(START_NS)
    assert connection.held_bytes == 0
    assert stream.readable
    for call in (stream.read, lambda: stream.send(b"x"), stream.end):
        with pytest.raises(StreamGone) as caught:
            call()
        assert caught.value.code == 8
    connection.release(stream)
    assert connection.serving == 0


def test_a_body_without_headers_is_refused_where_it_is_sent() -> None:
    connection, peer = server(), Peer()
    connection.receive(START_NS, peer.headers(1))
    (stream,) = arrived(connection)
    with pytest.raises(AssertionError):
        stream.send(b"x")
    with pytest.raises(AssertionError):
        stream.end()
    stream.send_headers(((b":status", b"103"),))
    stream.send_headers(OK)
    with pytest.raises(AssertionError):
        stream.send_headers(OK)
    stream.end()
    assert kinds(connection.take(START_NS)) == ["Headers", "Headers", "Data"]


def test_what_is_left_open_by_its_server_is_reset() -> None:
    connection, peer = server(), Peer()
    connection.receive(START_NS, peer.headers(1))
    (stream,) = arrived(connection)
    connection.release(stream)
    assert [(frame.stream_id, frame.error_code) for frame in frames(connection.take(START_NS))] == [(1, 2)]


def test_a_body_that_nobody_wants_is_thrown_away_within_reason() -> None:
    limits = Limits(discarded_bytes_max=100_000)
    connection, peer = server(limits), Peer()
    connection.receive(START_NS, peer.headers(1, POST, end=False))
    (stream,) = arrived(connection)
    stream.send_headers(OK, end=True)
    connection.release(stream)
    connection.take(START_NS)
    connection.receive(START_NS, data(1, bytes(10_000)) * 9)
    assert "RstStream" not in kinds(connection.take(START_NS))
    assert connection.held_bytes == 0
    connection.receive(START_NS, data(1, bytes(10_000)) * 2)
    resets = [frame for frame in frames(connection.take(START_NS)) if isinstance(frame, RstStreamFrame)]
    assert [frame.error_code for frame in resets] == [0]


def test_a_stream_too_many_is_refused_and_the_connection_lives_on() -> None:
    connection, peer = server(Limits(streams_max=2)), Peer()
    connection.receive(START_NS, b"".join(peer.headers(number) for number in (1, 3, 5)))
    assert [stream.id for stream in arrived(connection)] == [1, 3]
    assert [(frame.stream_id, frame.error_code) for frame in frames(connection.take(START_NS))] == [(5, 7)]
    assert connection.failed is None


def test_a_stream_that_was_reset_counts_until_its_server_has_let_go() -> None:
    connection, peer = server(Limits(streams_max=1)), Peer()
    connection.receive(START_NS, peer.headers(1) + rst(1) + peer.headers(3))
    (stream,) = arrived(connection)
    assert (3, 7) in [(f.stream_id, f.error_code) for f in frames(connection.take(START_NS)) if f.stream_id]
    connection.release(stream)
    connection.receive(START_NS, peer.headers(5))
    assert [stream.id for stream in arrived(connection)] == [5]


@pytest.mark.parametrize(
    "headers",
    [
        [(b":method", b"GET"), (b":method", b"GET"), *GET[1:]],
        GET[1:],
        [*GET, (b"Upper", b"x")],
        [*GET, (b"connection", b"close")],
        [*GET, (b"x", b"split\r\nin: two")],
        [(b"x", b"y"), *GET],
        [*GET, (b":status", b"200")],
        [*GET[:2], (b":path", b""), GET[3]],
        [*GET, (b"content-length", b"-1")],
        [*GET, (b"content-length", b"5")],
    ],
)
def test_a_malformed_request_costs_its_stream_only(headers: list[tuple[bytes, bytes]]) -> None:
    connection, peer = server(), Peer()
    connection.receive(START_NS, peer.headers(1, headers))
    assert arrived(connection) == []
    assert [(frame.stream_id, frame.error_code) for frame in frames(connection.take(START_NS))] == [(1, 1)]
    connection.receive(START_NS, peer.headers(3))
    assert len(arrived(connection)) == 1


def test_a_body_of_another_length_than_announced_costs_its_stream_only() -> None:
    connection, peer = server(), Peer()
    connection.receive(START_NS, peer.headers(1, [*POST, (b"content-length", b"3")], end=False))
    (stream,) = arrived(connection)
    connection.receive(START_NS, data(1, b"four"))
    assert stream.gone is not None
    assert connection.failed is None
    assert serve_briefly(connection) == 0


def test_headers_over_the_limit_are_answered_with_431() -> None:
    connection, peer = server(), Peer()
    connection.receive(START_NS, peer.headers(1, [*GET, (b"cookie", b"x" * 17_000)]))
    assert arrived(connection) == []
    assert peer.responses(connection.take(START_NS)) == {1: [[(b":status", b"431"), (b"content-length", b"0")]]}
    assert connection.failed is None


def test_unknown_frames_and_priority_updates_are_ignored() -> None:
    connection, peer = server(), Peer()
    priority_update = b"\x00\x00\x07\x10\x00\x00\x00\x00\x00" + b"\x00\x00\x00\x01u=1"
    unknown = b"\x00\x00\x03\xfa\xff\x00\x00\x00\x09abc"
    connection.receive(START_NS, priority_update + unknown + peer.headers(1) + priority_update)
    assert serve_briefly(connection) == 1
    assert connection.failed is None


def test_draining_warns_pings_names_the_last_stream_and_ends_with_it() -> None:
    connection, peer = server(), Peer()
    connection.receive(START_NS, peer.headers(1))
    (first,) = arrived(connection)
    connection.drain(START_NS)
    warning, question = frames(connection.take(START_NS))
    assert isinstance(warning, GoAwayFrame)
    assert (warning.last_stream_id, warning.error_code) == (LAST_ID, 0)
    # A request that was on its way is still served.
    connection.receive(START_NS, peer.headers(3) + ping(question.opaque_data, ack=True))
    (second,) = arrived(connection)
    (last,) = frames(connection.take(START_NS))
    assert isinstance(last, GoAwayFrame)
    assert last.last_stream_id == 3
    # A later one is refused, which says that trying elsewhere is safe.
    connection.receive(START_NS, peer.headers(5))
    assert [(frame.stream_id, frame.error_code) for frame in frames(connection.take(START_NS))] == [(5, 7)]
    for stream in (first, second):
        assert not connection.finished
        stream.send_headers(OK)
        stream.send(b"done")
        stream.end()
        connection.release(stream)
        assert kinds(connection.take(START_NS)) == ["Headers", "Data"]
    assert connection.finished


def test_a_drain_waits_for_no_request_that_was_answered_and_never_ends() -> None:
    connection, peer = server(), Peer()
    connection.receive(START_NS, peer.headers(1, end=False))
    connection.drain(START_NS)
    _, question = frames(connection.take(START_NS))
    connection.receive(START_NS, ping(question.opaque_data, ack=True))
    assert not connection.finished
    assert serve_briefly(connection) == 1
    connection.take(START_NS)
    assert connection.finished


def test_a_drain_goes_on_without_an_answer_to_its_ping() -> None:
    connection = server()
    connection.drain(START_NS)
    connection.take(START_NS)
    assert connection.deadline() == START_NS + Limits().warning_ns
    connection.wake(connection.deadline())
    assert kinds(connection.take(START_NS)) == ["GoAway"]
    assert connection.finished


def test_an_idle_connection_is_drained() -> None:
    connection, peer = server(), Peer()
    connection.receive(START_NS, peer.headers(1))
    serve_briefly(connection)
    connection.take(START_NS + SECOND_NS)
    connection.wake(connection.deadline())  # the deadline for the preface, which has come
    assert connection.deadline() == START_NS + SECOND_NS + Limits().idle_ns
    connection.wake(connection.deadline())
    assert kinds(connection.take(START_NS)) == ["GoAway", "Ping"]


def test_a_peer_that_says_nothing_at_first_is_let_go() -> None:
    connection = server(opened=False)
    connection.wake(START_NS + Limits().opening_ns)
    assert connection.failed is not None
    assert "preface" in str(connection.failed)


def test_a_silent_peer_with_streams_is_asked_and_given_up() -> None:
    connection, peer = server(), Peer()
    connection.receive(START_NS, peer.headers(1))
    (stream,) = arrived(connection)
    connection.wake(START_NS + Limits().probe_ns)
    assert kinds(connection.take(START_NS)) == ["Ping"]
    due = connection.deadline()
    assert due == START_NS + Limits().probe_ns + Limits().answer_ns
    connection.receive(due - 1, ping(b"alive..?", ack=True))
    outcomes = []
    for now in (due, due - 1 + Limits().probe_ns, due - 1 + Limits().probe_ns + Limits().answer_ns):
        connection.wake(now)
        outcomes.append(str(connection.failed))
    assert outcomes == ["None", "None", "The peer answers no ping."]
    assert stream.gone is not None


def test_a_client_learns_which_of_its_streams_were_never_seen() -> None:
    pair = Pair()
    kept, dropped = pair.client.open(request(), end=True), pair.client.open(request(), end=True)
    pair.client.receive(START_NS, settings({}) + goaway(1))
    assert kept.gone is None
    assert dropped.gone is not None
    assert dropped.gone.unseen
    with pytest.raises(ConnectionUnavailable):
        pair.client.open(request())


def test_a_client_keeps_to_the_number_of_streams_that_its_server_allows() -> None:
    pair = Pair(Limits(streams_max=3))
    pair.settle()
    streams = [pair.client.open(request(), end=True) for _ in range(3)]
    available = [pair.client.available]
    pair.settle()
    serve_briefly(pair.server)
    pair.settle()
    available.append(pair.client.available)
    assert available == [False, True]
    assert all(stream.ended for stream in streams)


def test_ten_thousand_calls_leave_nothing_behind() -> None:
    pair = Pair()
    pair.settle()
    for _ in range(100):
        for _ in range(100):
            pair.client.open(request(), end=True)
        pair.settle()
        assert serve_briefly(pair.server) == 100
        pair.settle()
    for side in (pair.client, pair.server):
        assert side.streams == {}
        assert side.held_bytes == 0
        assert len(side._engine.streams) == 0
        assert len(side._engine._closed_streams) <= side._engine.MAX_CLOSED_STREAMS


@pytest.mark.parametrize("start", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00", PREFACE[:10] + b"?"])
def test_what_is_not_http2_fails_at_its_first_bytes(start: bytes) -> None:
    connection = server(opened=False)
    connection.receive(START_NS, start)
    assert connection.failed is not None
    assert kinds(connection.take(START_NS))[-1] == "GoAway"
    assert connection.finished
