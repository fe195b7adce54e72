"""One connection as a state machine: bytes in, requests and answers out, and nothing raised whatever the bytes."""

from hypothesis import example, given
from hypothesis import strategies as st

from goqueue.transports.http1.connection import Connection, Incoming, Rejection
from goqueue.transports.http1.limits import SECOND_NS, Http1Limits, Room

LIMITS = Http1Limits(head_bytes_max=500, body_bytes_max=100)
GET = b"GET /topics?x=1 HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST /topics HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
CHUNKED = b"POST /topics HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"
DATE = b"Thu, 01 Jan 1970 00:00:00 GMT"


def fresh(room: Room | None = None) -> Connection:
    return Connection(0, LIMITS, room or Room())


def respond(connection: Connection, body: bytes = b"{}", status: int = 200) -> bytes:
    return connection.respond(0, status, "application/json", (), body, DATE)


def requests(connection: Connection) -> list[tuple[str, str, bytes] | int]:
    """Everything that the bytes so far amount to, each answered at once; a rejection is its status."""
    seen: list[tuple[str, str, bytes] | int] = []
    while (event := connection.next_event(0)) is not None:
        if isinstance(event, Rejection):
            seen.append(event.error.status_hint)
        else:
            seen.append((event.head.method, event.head.path, bytes(event.body)))
        respond(connection)
    return seen


def fed(received: bytes, room: Room | None = None) -> Connection:
    connection = fresh(room)
    connection.receive(received)
    return connection


def test_requests_sent_ahead_are_served_in_turn() -> None:
    connection = fed(GET + POST + CHUNKED + GET)
    assert requests(connection) == [
        ("GET", "/topics", b""), ("POST", "/topics", b"abc"), ("POST", "/topics", b"abc"), ("GET", "/topics", b"")
    ]  # fmt: skip


def test_the_next_request_waits_until_the_last_is_answered() -> None:
    connection = fed(GET + GET)
    assert isinstance(connection.next_event(0), Incoming)
    assert connection.next_event(0) is None
    respond(connection)
    assert isinstance(connection.next_event(0), Incoming)


def test_equal_heads_with_other_lengths_are_told_apart() -> None:
    other = POST.replace(b"Length: 3", b"Length: 11").replace(b"abc", b"hello world")
    assert requests(fed(POST + other + POST)) == [
        ("POST", "/topics", b"abc"), ("POST", "/topics", b"hello world"), ("POST", "/topics", b"abc")
    ]  # fmt: skip


def test_an_answer_says_its_length_and_keeps_the_connection() -> None:
    connection = fed(GET)
    connection.next_event(0)
    assert respond(connection) == (
        b"HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Type: application/json\r\n"
        b"X-Content-Type-Options: nosniff\r\n"
        b"Content-Length: 2\r\n\r\n{}"
    )
    assert not connection.is_closed


def test_an_answer_to_head_has_the_length_and_no_body() -> None:
    connection = fed(GET.replace(b"GET", b"HEAD"))
    connection.next_event(0)
    assert respond(connection).endswith(b"Content-Length: 2\r\n\r\n")


def test_an_answer_without_content_has_neither_length_nor_type() -> None:
    connection = fed(GET)
    connection.next_event(0)
    said = b"HTTP/1.1 204 No Content\r\nDate: " + DATE + b"\r\nX-Content-Type-Options: nosniff\r\n\r\n"
    assert respond(connection, b"", 204) == said


def test_connection_close_is_answered_in_kind() -> None:
    connection = fed(GET.replace(b"Host", b"Connection: close\r\nHost") + GET)
    connection.next_event(0)
    assert b"\r\nConnection: close\r\n" in respond(connection)
    assert connection.is_closed
    assert connection.next_event(0) is None


def test_http_1_0_closes_unless_it_asks_for_more() -> None:
    closing, keeping = fed(b"GET / HTTP/1.0\r\n\r\n"), fed(b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")
    closing.next_event(0)
    keeping.next_event(0)
    assert b"Connection: close" in respond(closing)
    assert closing.is_closed
    assert b"Connection: keep-alive" in respond(keeping)
    assert not keeping.is_closed


def test_a_body_past_the_bound_is_refused_by_its_length_alone() -> None:
    assert requests(fed(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n")) == [413]


def test_a_rejection_is_the_last_thing_on_a_connection() -> None:
    connection = fed(b"GET / HTTP/1.1\r\n\r\n" + GET)
    assert isinstance(connection.next_event(0), Rejection)
    assert b"\r\nConnection: close\r\n" in respond(connection, status=400)
    assert connection.next_event(0) is None
    assert connection.is_closed


def test_a_client_that_expects_it_is_told_to_go_on_once() -> None:
    head = b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
    connection = fed(head)
    assert connection.next_event(0) is None
    assert connection.take_interim() == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert connection.next_event(0) is None
    assert connection.take_interim() == b""
    connection.receive(b"abc")
    assert isinstance(connection.next_event(0), Incoming)


def test_a_client_that_sends_its_body_at_once_needs_no_word() -> None:
    connection = fed(b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\na")
    assert connection.next_event(0) is None
    assert connection.take_interim() == b""


def test_any_other_expectation_is_refused() -> None:
    assert requests(fed(b"POST / HTTP/1.1\r\nHost: a\r\nExpect: a-miracle\r\n\r\n")) == [417]


def test_a_body_that_no_room_is_left_for_is_refused_with_503_and_the_room_comes_back() -> None:
    room = Room(bytes_max=4)
    first, second = fed(POST[:-1], room), fed(POST, room)
    assert first.next_event(0) is None
    assert room.used == 2
    assert requests(second) == [503]
    first.receive(b"c")
    assert requests(first) == [("POST", "/topics", b"abc")]
    assert room.used == 0


def test_a_body_that_is_only_announced_takes_no_room() -> None:
    room = Room(bytes_max=4)
    announced = fed(POST[:-3], room)
    assert announced.next_event(0) is None
    assert room.used == 0
    assert requests(fed(POST, room)) == [("POST", "/topics", b"abc")]


def test_a_room_within_a_larger_one_is_bounded_by_both() -> None:
    larger = Room(bytes_max=10)
    first, second = Room(6, larger), Room(6, larger)
    assert first.take(6)
    assert first.is_full
    assert not first.take(1)
    assert not second.take(5)
    second.add(4)
    assert (larger.used, larger.is_full, second.is_full) == (10, True, True)
    first.give(6)
    assert (larger.used, first.is_full, second.is_full) == (4, False, False)


def test_what_passes_the_bound_of_a_room_takes_nothing_from_those_beside_it() -> None:
    larger = Room(bytes_max=10)
    greedy, modest = Room(6, larger), Room(6, larger)
    greedy.add(100)
    assert (greedy.used, greedy.is_full, larger.used) == (100, True, 6)
    assert modest.take(4)
    greedy.give(95)
    assert (greedy.used, larger.used) == (5, 9)
    greedy.give(5)
    modest.give(4)
    assert (greedy.used, modest.used, larger.used) == (0, 0, 0)


def test_a_client_that_leaves_in_the_middle_gives_its_room_back() -> None:
    room = Room()
    connection = fed(POST[:-1], room)
    assert connection.next_event(0) is None
    connection.receive(b"")
    assert connection.next_event(0) is None
    assert (connection.is_closed, room.used) == (True, 0)


def test_the_deadline_is_that_of_the_stage() -> None:
    connection = fresh()
    assert connection.deadline() == LIMITS.idle_ns
    connection.receive(POST[:10])
    connection.next_event(5)
    assert connection.deadline() == 5 + LIMITS.head_ns
    connection.receive(POST[10:-1])
    connection.next_event(7)
    assert connection.deadline() == 7 + LIMITS.body_ns


def test_a_body_may_take_as_long_as_it_needs_but_not_stop_for_long() -> None:
    connection = fed(POST[:-2])
    connection.next_event(0)
    least = SECOND_NS // LIMITS.rate_min
    connection.receive(b"b")
    connection.next_event(least)
    assert connection.deadline() == least + LIMITS.body_ns
    slow = fed(POST[:-2])
    slow.next_event(0)
    slow.receive(b"b")
    slow.next_event(100 * least)
    assert slow.deadline() == 2 * least + LIMITS.body_ns


def test_more_bytes_of_a_head_do_not_put_its_deadline_off() -> None:
    connection = fresh()
    for at, byte in enumerate(POST[:40]):
        connection.receive(bytes([byte]))
        connection.next_event(at)
    assert connection.deadline() == LIMITS.head_ns


def test_a_late_client_is_told_so_only_in_the_middle_of_a_request() -> None:
    idle, within = fresh(), fed(POST[:10])
    within.next_event(0)
    assert idle.late() is None
    late = within.late()
    assert late is not None
    assert late.error.status_hint == 408


def test_while_draining_the_answer_says_close() -> None:
    connection = fed(GET + GET)
    connection.next_event(0)
    connection.draining = True
    assert b"Connection: close" in respond(connection)
    assert connection.is_closed


def test_a_body_in_parts_is_chunked_and_ended() -> None:
    connection = fed(GET)
    connection.next_event(0)
    head = connection.respond_in_parts(200, "text/event-stream", (), DATE)
    assert b"\r\nTransfer-Encoding: chunked\r\n\r\n" in head
    assert connection.part(b"x" * 17) == b"11\r\n" + b"x" * 17 + b"\r\n"
    assert connection.last_part(0) == b"0\r\n\r\n"
    assert not connection.is_closed


def test_a_body_in_parts_for_http_1_0_ends_with_the_connection() -> None:
    connection = fed(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    connection.next_event(0)
    head = connection.respond_in_parts(200, "text/event-stream", (), DATE)
    assert b"Connection: close" in head
    assert b"chunked" not in head
    assert connection.part(b"abc") == b"abc"
    assert connection.last_part(0) == b""
    assert connection.is_closed


# Pieces that bring random bytes close to requests.
PIECES = st.sampled_from(
    [
        GET, POST, CHUNKED, b"GET / HTTP/1.1\r\n", b"Host: a\r\n", b"\r\n", b"\n", b"\r", b" ",
        b"Content-Length: 3\r\n",
        b"Content-Length: 3x\r\n", b"Transfer-Encoding: chunked\r\n", b"Expect: 100-continue\r\n", b"X:\r\n",
        b"X : y\r\n",
        b"0\r\n\r\n", b"3\r\nabc\r\n", b"POST /%zz?%ff HTTP/1.1\r\n", b"HTTP/1.0", b"Connection: close\r\n",
        b"PRI * HTTP/2.0\r\n",
    ]
)  # fmt: skip
STREAMS = st.lists(st.one_of(PIECES, st.binary(max_size=40)), max_size=12).map(b"".join)


@given(STREAMS, st.booleans())
@example(b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n", True)
@example(b"GET / HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n", False)
@example(b"GET / HTTP/1.1\r\nHost: a\r\nX: \x7f\r\n\r\n", False)
def test_any_bytes_are_requests_or_a_refusal_and_never_an_exception(received: bytes, ends: bool) -> None:
    room = Room()
    connection = fed(received, room)
    seen = requests(connection)
    if ends:
        connection.receive(b"")
        seen += requests(connection)
        assert connection.is_closed
    statuses = [event for event in seen if isinstance(event, int)]
    assert statuses == [status for status in statuses if 400 <= status < 500 or status == 505]
    assert len(statuses) <= 1
    assert not statuses or seen[-1] == statuses[0]
    connection.close()
    assert room.used == 0


@given(STREAMS, st.integers(1, 50))
@example(b"\r\n\r\n", 1)
def test_where_the_bytes_are_cut_makes_no_difference(received: bytes, step: int) -> None:
    connection = fresh()
    seen = []
    for at in range(0, len(received), step):
        connection.receive(received[at : at + step])
        seen += requests(connection)
    assert seen == requests(fed(received))
