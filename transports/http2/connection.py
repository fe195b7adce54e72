"""One HTTP/2 connection, server or client, without its socket and its clock.

In: `receive` bytes and `wake` by time, both with `now` in nanoseconds. Out: `take` what to send, `take_news` of streams
that arrived, became readable or became writable, `deadline` for the next `wake`, and `finished` when the socket may be
closed. `receive` never raises, whatever the bytes: a broken protocol ends up in `failed`, and the farewell in `take`.

The turn of a driver: read once; `receive` everything that it brought, or read into `room` and say `received`; while
`backlog`, let others run and `work` on; start or wake whom the news names; then one `take` and one send.

DATA is most of what a broker reads. A stream that has a `sink` is given a view of the bytes that were read, to be done
with at once. Plain frames go past h2 by `Shortcuts`; `Limits.plain_data` turns that off.

Invariants: what a peer makes us hold is bounded by `Limits`; every byte of the connection's window is credited once,
on arrival unless too much is unread, then as reading goes on; bytes leave in turns, one frame a stream.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    PingAckReceived,
    RemoteSettingsChanged,
    RequestReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
    WindowUpdated,
)
from h2.exceptions import InvalidBodyLengthError
from h2.exceptions import ProtocolError as H2ProtocolError

from goqueue.core.records.varint import Readable
from goqueue.storage.buffers import BufferPool
from goqueue.transports.buffer_budget import BufferBudget, BufferShare
from goqueue.transports.http2.closing import Closing
from goqueue.transports.http2.engine import Engine
from goqueue.transports.http2.errors import ConnectionFailed, ConnectionUnavailable, StreamGone
from goqueue.transports.http2.floods import FloodGuard
from goqueue.transports.http2.frames import PREFACE, FrameReader
from goqueue.transports.http2.limits import Limits
from goqueue.transports.http2.news import News
from goqueue.transports.http2.outbox import Outbox
from goqueue.transports.http2.quiet import hush
from goqueue.transports.http2.request import Headers, Request, header_list_bytes, parse_request
from goqueue.transports.http2.shortcuts import Shortcuts
from goqueue.transports.http2.stream import Stream

T = TypeVar("T")
UNBOUNDED = 1 << 62
TOO_LARGE: Headers = ((b":status", b"431"), (b"content-length", b"0"))

hush()


class Connection:
    """The state of one connection; see the module for how it is driven."""

    def __init__(
        self, now: int, limits: Limits, *, client: bool = False, peer: str = "", pool: BufferPool | None = None,
        share: BufferShare | None = None,
    ) -> None:  # fmt: skip
        self.limits = limits
        self.peer = peer
        self.client = client
        self.failed: ConnectionFailed | None = None
        self.streams: dict[int, Stream] = {}
        self.serving = 0  # streams that arrived and that the driver has not released
        self._engine = Engine(limits, client=client)
        self._reader = FrameReader(limits, preface=b"" if client else PREFACE, pool=pool)
        self._floods = FloodGuard(now, limits)
        self.closing = Closing(now, limits, client=client)
        self._news = News()
        self._backlog = False
        self._shortcuts = Shortcuts(self, limits, self._reader, self._engine, self._floods)
        share = share or BufferShare(BufferBudget(UNBOUNDED), UNBOUNDED)
        self.outbox = Outbox(limits, self._engine, self._floods, share, self._writable, self._sent_all)
        self._unread_bytes = 0
        self._uncredited_bytes = 0
        self._on: dict[type[Event], Callable[[int, Any], None]] = {
            RequestReceived: self._request_received,
            ResponseReceived: self._response_received,
            TrailersReceived: self._trailers_received,
            DataReceived: self._data_received,
            StreamEnded: self._stream_ended,
            StreamReset: self._stream_reset,
            WindowUpdated: self._window_updated,
            RemoteSettingsChanged: self._settings_changed,
            PingAckReceived: self._ping_answered,
            ConnectionTerminated: self._goaway_received,
        }

    # The driver's side.

    def receive(self, now: int, data: Readable) -> None:
        """Take in bytes, and work on them for a turn."""
        self._take_in(now, self._reader.feed, data)

    def room(self) -> memoryview:
        """Where to read the next bytes to; `received` says how many they were."""
        return self._reader.room()

    def received(self, now: int, size: int) -> None:
        """Take in what was read into `room`, and work on it for a turn."""
        self._take_in(now, self._reader.fed, size)

    def rest(self) -> None:
        """Nothing is there to be read: hold no more than must be."""
        self._reader.rest()

    def _take_in(self, now: int, feed: Callable[[T], None], what: T) -> None:
        if self.failed is not None:
            return
        self.closing.heard(now)
        try:
            feed(what)
        except H2ProtocolError as error:
            self._fail(str(error), error.error_code)
            return
        self.work(now)

    def work(self, now: int) -> None:
        """Handle up to a turn's worth of frames; `backlog` tells whether there may be more."""
        next_frame, admit, shortcut = self._reader.next_frame, self._floods.admit, self._shortcuts.take
        receive_frame, reactions, engine = self._engine.receive_frame, self._on, self._engine
        self._backlog = False
        try:
            left = self.limits.turn_weight_max
            while left > 0:
                if weight := shortcut():
                    left -= weight
                    continue
                frame = next_frame()
                if frame is None:
                    break
                left -= admit(now, frame)
                try:
                    events = receive_frame(frame)
                except InvalidBodyLengthError:
                    self._uncredited_bytes += getattr(frame, "flow_controlled_length", 0)
                    self._refuse(frame.stream_id, ErrorCodes.PROTOCOL_ERROR)
                    continue
                for event in events:
                    reaction = reactions.get(type(event))
                    if reaction is not None:
                        reaction(now, event)
            else:
                self._backlog = True
            if engine.resets_sent:
                self._floods.count_resets(now, engine.resets_sent)
                engine.resets_sent = 0
        except H2ProtocolError as error:
            self._fail(str(error), error.error_code)
        self._settle(now)

    @property
    def backlog(self) -> bool:
        """Whether bytes are at hand that `work` has not looked at."""
        return self._backlog and self.failed is None

    @property
    def clogged(self) -> bool:
        """Whether so much waits to be written that nothing should be read before."""
        return self._engine.output_bytes > self.limits.output_bytes_max

    @property
    def unread_bytes(self) -> int:
        """What has come and nobody has taken yet: frames that are not whole, and bodies that nobody reads."""
        return self._reader.held_bytes + self._unread_bytes

    @property
    def held_bytes(self) -> int:
        """All bytes that this connection keeps for its peer, in and out."""
        return self.unread_bytes + self.outbox.queued_bytes + self._engine.output_bytes

    def take_news(self) -> News | None:
        """What happened to streams since the last call."""
        news = self._news
        if not (news.arrived or news.readable or news.writable):
            return None
        self._news = News()
        return news

    def take(self, now: int) -> bytes:
        """The bytes to send next, at most about a turn's worth; empty if there is nothing to send."""
        return b"".join(self.take_pieces(now))

    def take_pieces(self, now: int) -> list[Readable]:
        """The same, for whoever can write them as they are; asked again once they were written."""
        engine = self._engine
        self.outbox.written()
        if self.failed is None:
            self.outbox.pump()
        pieces = engine.output
        if pieces:
            engine.output = []
            engine.output_bytes = 0
            self._settle(now)
        return pieces

    @property
    def idle(self) -> bool:
        """Whether `take` would have nothing to send."""
        return not self._engine.output and self.outbox.idle

    @property
    def finished(self) -> bool:
        """Whether nothing will be sent after what `take` has, so that the socket can be closed."""
        return self.failed is not None or self.closing.over

    def deadline(self) -> int:
        """When `wake` wants to be called."""
        return self.closing.deadline(busy=bool(self.streams))

    def wake(self, now: int) -> None:
        """Time has passed: ask whether the peer lives, let go of an idle one, give up on a silent one."""
        if self.failed is not None or now < self.deadline():
            return
        silent = self.closing.wake(now, self._engine, opened=self._reader.opened, busy=bool(self.streams))
        if silent:
            self._fail(silent, ErrorCodes.NO_ERROR)
        self._settle(now)

    def cut_stalled(self) -> int:
        """Break off the streams that nothing has left of since this was last called; how many they were."""
        stalled = self.outbox.stalled()
        for stream in stalled:
            self.reset(stream, ErrorCodes.ENHANCE_YOUR_CALM)
        return len(stalled)

    def drain(self, now: int) -> None:
        """Take no new streams, let those in flight finish; then `finished`."""
        if self.failed is None:
            self.closing.drain(now, self._engine)
            self._settle(now)

    def lose(self, why: str) -> None:
        """The socket is closed or broken: every stream is gone."""
        if self.failed is None:
            self.failed = ConnectionFailed(why, ErrorCodes.NO_ERROR)
            self._lose_streams(why, ErrorCodes.NO_ERROR)

    def release(self, stream: Stream) -> None:
        """Whoever served an arrived stream is done with it; what it left open is closed."""
        self.serving -= 1
        if stream.gone is not None or self.streams.get(stream.id) is not stream:
            return
        if not stream.finishing:
            self.reset(stream, ErrorCodes.INTERNAL_ERROR)
        elif not stream.ended:
            # A reset after the trailers is what the RFC suggests, but some clients take it for a failed call. So what
            # still comes is thrown away, within reason.
            stream.discarding = True
            stream.discarded_bytes = stream.unread_bytes
            stream.read()

    # A client's side.

    @property
    def available(self) -> bool:
        """Whether a client may open one more stream."""
        return len(self.streams) < self._engine.remote_settings.max_concurrent_streams and not self.dismissed

    @property
    def dismissed(self) -> bool:
        """Whether no further stream will be opened, however few there are."""
        return self.failed is not None or self.closing.closing

    def open(self, request: Request, *, end: bool = False) -> Stream:
        """Send a request's headers; raises ConnectionUnavailable if the connection takes no more."""
        if not self.available:
            raise ConnectionUnavailable("The connection is full, going away or lost.")
        stream = Stream(self, self._engine.get_next_available_stream_id(), request)
        head = [
            (b":method", request.method),
            (b":scheme", request.scheme),
            (b":path", request.path),
            (b":authority", request.authority),
        ]
        self._engine.send_block(stream.id, tuple(head + request.headers), end=end)
        stream.begun = True
        stream.finishing = end
        self.streams[stream.id] = stream
        return stream

    # The streams' side.

    def send_headers(self, stream: Stream, headers: Headers, *, end: bool) -> None:
        """Send a header block at once; see Stream."""
        self._engine.send_block(stream.id, headers, end=end)
        if end:
            stream.finishing = True
            self._drop_if_closed(stream)

    def finish(self, stream: Stream) -> None:
        """Send a stream's end, or leave it to follow what is queued."""
        if not stream.queued_bytes:
            self._send_end(stream)

    def reset(self, stream: Stream, code: int) -> None:
        """Break off a stream."""
        if self._engine.open_stream(stream.id) is not None and self.failed is None:
            self._engine.reset_stream(stream.id, code)
            self._engine.resets_sent -= 1  # our own decision, not forced by the peer
        self._vanish(stream, StreamGone("The stream was broken off here.", code))

    def credit(self, stream: Stream) -> None:
        """A stream was read: its window opens again."""
        self._unread_bytes -= stream.unread_bytes
        stream.uncredited_bytes += stream.unread_bytes
        stream.unread_bytes = 0
        if self.failed is None:
            self._credit_stream(stream)
            self._credit_connection()

    def _credit_stream(self, stream: Stream) -> None:
        if stream.uncredited_bytes * 2 >= self.limits.stream_window_bytes and not stream.ended:
            if self._engine.open_stream(stream.id) is not None:
                self._engine.increment_flow_control_window(stream.uncredited_bytes, stream.id)
            stream.uncredited_bytes = 0

    # Reactions to what the peer did.

    def _request_received(self, now: int, event: RequestReceived) -> None:
        stream_id: int = event.stream_id
        headers: list[tuple[bytes, bytes]] = event.headers
        if not self.admits(stream_id):
            self._refuse(stream_id, ErrorCodes.REFUSED_STREAM)
            return
        request = parse_request(headers, self.peer)
        if request is None or (event.stream_ended and request.announces_body):
            self._refuse(stream_id, ErrorCodes.PROTOCOL_ERROR)
            return
        if header_list_bytes(headers) > self.limits.header_list_bytes_max:
            self.streams[stream_id] = stream = Stream(self, stream_id, request)
            stream.discarding = True
            stream.send_headers(TOO_LARGE, end=True)
            return
        self.arrive(stream_id, request)

    def admits(self, stream_id: int) -> bool:
        """Whether there is room for one more request."""
        crowd = max(self.serving, len(self.streams))
        return crowd < self.limits.streams_max and self.closing.admits(stream_id)

    def arrive(self, stream_id: int, request: Request) -> None:
        """A request has come."""
        self.streams[stream_id] = stream = Stream(self, stream_id, request)
        self.serving += 1
        self._news.arrived.append(stream)

    def tell(self, stream: Stream) -> None:
        """There is something to be read of a stream."""
        self._news.readable[stream.id] = stream

    def _response_received(self, now: int, event: ResponseReceived) -> None:
        if (stream := self.streams.get(event.stream_id)) is not None:
            stream.headers = event.headers
            self.tell(stream)

    def _trailers_received(self, now: int, event: TrailersReceived) -> None:
        if (stream := self.streams.get(event.stream_id)) is not None:
            stream.trailers = event.headers

    def _data_received(self, now: int, event: DataReceived) -> None:
        size = event.flow_controlled_length
        self._uncredited_bytes += size
        if (stream := self.streams.get(event.stream_id)) is not None:
            if stream.discarding:
                self._discard(stream, size)
            else:
                stream.uncredited_bytes += size - len(event.data)
                self._deliver(stream, event.data)
        self._credit_connection()

    def _deliver(self, stream: Stream, content: bytes | memoryview) -> None:
        """Give a stream what came for it; a view of it lasts as long as this call."""
        size = len(content)
        if stream.sink is None:
            stream.accept(bytes(content))
            self._unread_bytes += size
            self._news.readable[stream.id] = stream
            return
        stream.uncredited_bytes += size
        if size and not stream.sink(content):
            stream.sink = None
            self._news.readable[stream.id] = stream
        self._credit_stream(stream)

    def part_came(self, stream: Stream, content: memoryview) -> None:
        """A plain frame of DATA was taken out of the windows."""
        self._uncredited_bytes += len(content)
        self._deliver(stream, content)
        self._credit_connection()

    def _credit_connection(self) -> None:
        due = self._uncredited_bytes
        if due * 2 >= self.limits.connection_window_bytes and self._unread_bytes <= self.limits.unread_bytes_max:
            self._engine.increment_flow_control_window(due)
            self._uncredited_bytes = 0

    def _discard(self, stream: Stream, size: int) -> None:
        stream.discarded_bytes += size
        if stream.discarded_bytes > self.limits.discarded_bytes_max:
            self.reset(stream, ErrorCodes.NO_ERROR)
        elif size and self._engine.open_stream(stream.id) is not None:
            self._engine.increment_flow_control_window(size, stream.id)

    def _stream_ended(self, now: int, event: StreamEnded) -> None:
        if (stream := self.streams.get(event.stream_id)) is not None:
            self.all_came(stream)

    def all_came(self, stream: Stream) -> None:
        """The peer has sent all that it will send on a stream."""
        stream.ended = True
        self.tell(stream)
        self._drop_if_closed(stream)

    def _stream_reset(self, now: int, event: StreamReset) -> None:
        self._engine.forget_if_closed(event.stream_id)
        if (stream := self.streams.get(event.stream_id)) is not None:
            code = int(event.error_code or 0)
            unseen = code == ErrorCodes.REFUSED_STREAM
            self._vanish(stream, StreamGone(f"The peer broke the stream off (code {code}).", code, unseen=unseen))

    def _window_updated(self, now: int, event: WindowUpdated) -> None:
        self.outbox.unblock(event.stream_id or 0)

    def _settings_changed(self, now: int, event: RemoteSettingsChanged) -> None:
        self.outbox.unblock_all()

    def _ping_answered(self, now: int, event: PingAckReceived) -> None:
        self.closing.answered(event.ping_data, self._engine)

    def _goaway_received(self, now: int, event: ConnectionTerminated) -> None:
        self.closing.dismissed()
        last = event.last_stream_id or 0
        if self.client:
            for stream in [each for each in self.streams.values() if each.id > last]:
                self._vanish(stream, StreamGone("The peer is going away.", ErrorCodes.REFUSED_STREAM, unseen=True))

    # Endings.

    def _writable(self, stream: Stream) -> None:
        self._news.writable[stream.id] = stream

    def _sent_all(self, stream: Stream, ended: bool) -> None:
        if ended:
            self._drop_if_closed(stream)
        else:
            self._send_end(stream)

    def _send_end(self, stream: Stream) -> None:
        if stream.trailers_due is not None:
            self._engine.send_block(stream.id, stream.trailers_due, end=True)
        elif (h2_stream := self._engine.open_stream(stream.id)) is not None:
            self._engine.send_part(h2_stream, b"", end=True)
        self._drop_if_closed(stream)

    def _drop_if_closed(self, stream: Stream) -> None:
        if self._engine.forget_if_closed(stream.id):
            self.streams.pop(stream.id, None)

    def _refuse(self, stream_id: int, code: ErrorCodes) -> None:
        """Reset a stream for what the peer did."""
        if self._engine.open_stream(stream_id) is not None:
            self._engine.reset_stream(stream_id, code)
        self._engine.forget_if_closed(stream_id)
        if (stream := self.streams.get(stream_id)) is not None:
            self._vanish(stream, StreamGone("The peer sent what makes no request.", code))

    def _vanish(self, stream: Stream, gone: StreamGone) -> None:
        self.streams.pop(stream.id, None)
        self._engine.forget_if_closed(stream.id)
        self._unread_bytes -= stream.unread_bytes
        stream.unread_bytes = 0
        self.outbox.lose(stream, gone)
        self._news.readable[stream.id] = stream
        self._news.writable[stream.id] = stream

    def _fail(self, why: str, code: int) -> None:
        assert self.failed is None
        self.failed = ConnectionFailed(why, code)
        self._engine.send_goaway(self._engine.highest_inbound_stream_id, code, why)
        self._lose_streams(why, code)

    def _lose_streams(self, why: str, code: int) -> None:
        self._reader.close()
        for stream in list(self.streams.values()):
            self._vanish(stream, StreamGone(f"The connection is lost: {why}", code))
        self.outbox.clear()

    def _settle(self, now: int) -> None:
        # What is left of a stream that was answered, and is thrown away, does not keep a connection that closes.
        busy = any(not (one.discarding and self.closing.closing) for one in self.streams.values())
        self.closing.settle(now, busy=busy, sending=bool(self.outbox.queued_bytes))
