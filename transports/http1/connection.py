"""One connection of HTTP/1.1 as a state machine: it is fed bytes, yields requests, and turns answers into bytes.

Requests are served one after another in the order they came; what a client sends ahead waits in the buffer, and while
a request is being served the driver reads no more of it. `now` is monotonic nanoseconds; `deadline` says when the
client has taken too long.

    IDLE -> HEAD -> BODY -> SERVING -> IDLE ...        anything wrong, or an answer that closes: CLOSED

Invariants: whatever bytes come, `next_event` raises nothing and returns requests, at most one `Rejection`, or None;
after a rejection there is nothing more; the room for a body is given back exactly once.
"""

from enum import Enum, auto

from attrs import define

from goqueue.transports.http1.gate import END, Chunks, HttpError, check_start, overloaded, too_large, too_slow
from goqueue.transports.http1.heads import CONTINUE, Head, Heads, opening, written_head
from goqueue.transports.http1.limits import SECOND_NS, Http1Limits, Room

LAST_CHUNK = b"0\r\n\r\n"
NO_BODY = (204, 304)


class Stage(Enum):
    """Where a connection is in the course of a request."""

    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    SERVING = auto()
    CLOSED = auto()


@define
class Incoming:
    """One whole request."""

    head: Head
    body: bytes | bytearray


@define
class Rejection:
    """A request that cannot be read; its answer is the last thing on the connection."""

    error: HttpError


class Connection:
    """The server's side of one connection."""

    def __init__(self, now: int, limits: Http1Limits, room: Room) -> None:
        self.stage = Stage.IDLE
        self.draining = False
        self._limits = limits
        self._room = room
        self._heads = Heads(limits)
        self._buffer = bytearray()
        self._searched = 0
        self._since = now
        self._heard = now
        self._head: Head | None = None
        self._chunks: Chunks | None = None
        self._reserved = 0
        self._ended = False
        self._closing = False
        self._interim = b""
        self._invites = False

    def receive(self, received: bytes | bytearray) -> None:
        """Take bytes from the client; none at all mean that no more will come."""
        if not received:
            self._ended = True
            return
        self._buffer += received

    def next_event(self, now: int) -> Incoming | Rejection | None:
        """What the bytes so far amount to; None when more are needed, or the last request is still being served."""
        if self.stage in (Stage.SERVING, Stage.CLOSED):
            return None
        try:
            request = self._advance(now)
        except HttpError as error:
            self.close()
            return Rejection(error)
        if request is None and self._ended:
            # Whoever goes in the middle of a request waits for no answer.
            self.close()
        return request

    def deadline(self) -> int:
        """When the client must have sent more, at the latest."""
        limits = self._limits
        if self.stage is Stage.BODY:
            least = self._since + self._reserved * SECOND_NS // limits.rate_min
            return min(least, self._heard) + limits.body_ns
        return self._since + (limits.head_ns if self.stage is Stage.HEAD else limits.idle_ns)

    def late(self) -> Rejection | None:
        """The deadline has passed: what to say to a client in the middle of a request; an idle one is just left."""
        within = self.stage in (Stage.HEAD, Stage.BODY)
        self.close()
        return Rejection(too_slow()) if within else None

    def take_interim(self) -> bytes:
        """What is to be sent before more is read: the word to a client that waits for it with its body."""
        interim, self._interim = self._interim, b""
        return interim

    @property
    def is_idle(self) -> bool:
        """Whether no request has begun."""
        return self.stage is Stage.IDLE

    @property
    def is_closed(self) -> bool:
        """Whether nothing more will be read or answered."""
        return self.stage is Stage.CLOSED

    @property
    def has_ended(self) -> bool:
        """Whether the client has said that it sends no more."""
        return self._ended

    @property
    def wants_body(self) -> bool:
        """Whether the answer to the request being served has a body on the wire."""
        return self._head is not None and self._head.method != "HEAD"

    @property
    def unread_bytes(self) -> int:
        """How much the client has sent ahead of what is being served."""
        return len(self._buffer)

    def respond(
        self, now: int, status: int, content_type: str, headers: tuple[tuple[str, str], ...], body: bytes, date: bytes
    ) -> bytes:
        """A whole answer as bytes; the next request may follow."""
        head = self._head
        start = self._opening(status, content_type, date)
        self._served(now)
        if status in NO_BODY:
            return written_head(start, headers, b"")
        written = written_head(start, headers, b"Content-Length: %d\r\n" % len(body))
        return written if head is not None and head.method == "HEAD" else written + body

    def respond_in_parts(
        self, status: int, content_type: str, headers: tuple[tuple[str, str], ...], date: bytes
    ) -> bytes:
        """The head of an answer whose body follows with `part` and ends with `last_part`."""
        assert self._head is not None
        # To a client of HTTP/1.0 the end of such a body can only be told by closing.
        self._closing = self._head.is_old
        start = self._opening(status, content_type, date)
        return written_head(start, headers, b"" if self._head.is_old else b"Transfer-Encoding: chunked\r\n")

    def part(self, content: bytes) -> bytes:
        """A part of the body, which must not be empty."""
        assert content
        assert self._head is not None
        return content if self._head.is_old else b"%x\r\n%b\r\n" % (len(content), content)

    def last_part(self, now: int) -> bytes:
        """The end of a body in parts; the next request may follow."""
        assert self._head is not None
        end = b"" if self._head.is_old or not self.wants_body else LAST_CHUNK
        self._served(now)
        return end

    def close(self) -> None:
        """Be done: nothing is read any more, and the room for a body is given back."""
        self.stage = Stage.CLOSED
        self._closing = True
        self._room.give(self._reserved)
        self._reserved = 0
        self._buffer.clear()
        self._chunks = None

    def _opening(self, status: int, content_type: str, date: bytes) -> bytes:
        head = self._head
        if self._closing or self.draining or head is None or not head.keeps_alive:
            closes = "close"
        else:
            closes = "keep-alive" if head.is_old else ""
        return opening(status, "" if status in NO_BODY else content_type, date, closes)

    def _served(self, now: int) -> None:
        head, self._head = self._head, None
        if self.stage is Stage.CLOSED:
            return
        assert head is not None
        self._room.give(self._reserved)
        self._reserved = 0
        if self._closing or self.draining or not head.keeps_alive:
            self.close()
            return
        self.stage = Stage.IDLE
        self._since = now

    def _advance(self, now: int) -> Incoming | None:
        if self.stage is not Stage.BODY and not self._read_head(now):
            return None
        assert self._head is not None
        body = self._read_body(now, self._head)
        if body is None:
            self._invite(self._head)
            return None
        self._chunks = None
        self._searched = 0
        self.stage = Stage.SERVING
        return Incoming(self._head, body)

    def _read_head(self, now: int) -> bool:
        buffer = self._buffer
        while buffer[:2] == b"\r\n":
            # Some clients end a body with a line too many.
            del buffer[:2]
        if not buffer or buffer == b"\r":
            return False
        if self.stage is Stage.IDLE:
            self.stage, self._since = Stage.HEAD, now
        end = buffer.find(END, max(0, self._searched - len(END)), self._limits.head_bytes_max + len(END))
        if end < 0:
            self._searched = len(buffer)
            check_start(buffer, self._limits)
            return False
        head = bytes(buffer[: end + len(END)])
        check_start(head[:1], self._limits)
        self._head = self._heads.read(head)
        del buffer[: len(head)]
        self._begin_body(now, self._head)
        return True

    def _begin_body(self, now: int, head: Head) -> None:
        self.stage, self._since, self._heard, self._searched = Stage.BODY, now, now, 0
        self._invites = True
        if head.length > self._limits.body_bytes_max:
            raise too_large(self._limits.body_bytes_max)
        if head.expects and head.expects != b"100-continue":
            raise HttpError(417, "expectation_failed", "only 100-continue may be expected", "expect")
        if head.is_chunked:
            self._chunks = Chunks(self._limits.body_bytes_max)

    def _read_body(self, now: int, head: Head) -> bytes | bytearray | None:
        buffer, chunks = self._buffer, self._chunks
        if chunks is not None:
            chunks.feed(buffer)
            self._reserve(now, len(chunks.body))
            return chunks.body if chunks.complete else None
        length = head.length
        if not length:
            return b""
        self._reserve(now, min(len(buffer), length))
        if len(buffer) < length:
            return None
        if len(buffer) == length:
            self._buffer = bytearray()
            return buffer
        body = bytes(memoryview(buffer)[:length])
        del buffer[:length]
        return body

    def _reserve(self, now: int, received: int) -> None:
        """Room is taken by what has come and not by what was announced: announcing costs nothing."""
        more = received - self._reserved
        if not more:
            return
        if not self._room.take(more):
            raise overloaded()
        self._reserved = received
        self._heard = now

    def _invite(self, head: Head) -> None:
        """Ask for the body, once, if the client waits to be asked and has sent none of it."""
        started = self._buffer or (self._chunks is not None and self._chunks.body)
        if self._invites and head.expects and not started:
            self._interim = CONTINUE
        self._invites = False
