"""One HTTP/2 connection to a broker as the three loops share it: its state, its streams, who waits for them.

A link is bytes in and bytes out. What moves them is the loop's `Carrier`: `receive` what came, `work` on while there is
`backlog`, read nothing while `clogged`, send what `take` gives, and close once `finished`. Every call of these tells
those who wait, and kicks the carrier if it left something to send.

A broker that answers no probe is mute long before the connection is given up. Whoever can do the same elsewhere without
harm leaves it then; all others wait on.

Invariant: whoever waits on a stream is woken when it has bytes, room, an end, is gone, or when the broker falls mute.
"""

from attrs import define

from goqueue.core.records.varint import Readable
from goqueue.transports.client.loops import SECOND_NS, Carrier, Loop, Parking
from goqueue.transports.client.lost import ConnectionLost
from goqueue.transports.http2.connection import Connection
from goqueue.transports.http2.errors import ConnectionUnavailable
from goqueue.transports.http2.limits import Limits
from goqueue.transports.http2.request import Request
from goqueue.transports.http2.stream import Stream

# A broker that owes the answer to a probe for so long is mute: it may be stopped or cut off, or only slow.
MUTE_NS = SECOND_NS * 3 // 4
# The shortest time after which the clock is looked at again.
TICK_NS = SECOND_NS // 100
H2_CANCEL = 8
# The type of a frame, and where in it that is.
SETTINGS, SETTINGS_AT = 4, 3


@define
class Exchange:
    """A stream, and where its reader and its writer wait."""

    stream: Stream
    reading: Parking
    writing: Parking


class Link:
    """See the module."""

    def __init__(self, loop: Loop, host: str, port: int, limits: Limits) -> None:
        self.loop = loop
        self.host = host
        self.port = port
        self.carrier: Carrier | None = None
        self._limits = limits
        self._connection = Connection(loop.now(), limits, client=True, peer=f"{host}:{port}")
        self._exchanges: dict[int, Exchange] = {}
        self._greeted = False
        self._greeting = loop.parking()
        self._was_mute = False
        self._why = ""

    # The carrier's side.

    def receive(self, data: bytes) -> None:
        """Bytes came."""
        if not self._greeted:
            self._greeted = True
            self._greeting.wake()
            if stranger := _stranger(data):
                self.lose(stranger)
                return
        self._connection.receive(self.loop.now(), data)
        self._spread()

    def work(self) -> None:
        """Go on with what came."""
        self._connection.work(self.loop.now())
        self._spread()

    def take(self) -> bytes:
        """What to send next; empty if there is nothing."""
        return b"".join(self.take_pieces())

    def take_pieces(self) -> list[Readable]:
        """The same, for whoever can write pieces as they are."""
        pieces = self._connection.take_pieces(self.loop.now())
        self._spread()
        return pieces

    def room(self) -> memoryview:
        """Where to read the next bytes to, for `received`; the first ones of all go to `receive`."""
        assert self._greeted
        return self._connection.room()

    def received(self, size: int) -> None:
        """So many bytes came into the room."""
        self._connection.received(self.loop.now(), size)
        self._spread()

    def rest(self) -> None:
        """Nothing is there to be read: hold no more memory than must be."""
        self._connection.rest()

    def lose(self, why: str) -> None:
        """The connection is of no more use."""
        if not self._why and self._connection.failed is None:
            self._why = why
        self._connection.lose(why)
        self._greeting.wake()
        self._spread()

    @property
    def backlog(self) -> bool:
        """Whether there is something to `work` on."""
        return self._connection.backlog

    @property
    def clogged(self) -> bool:
        """Whether nothing should be read until something was sent."""
        return self._connection.clogged and self._connection.failed is None

    @property
    def finished(self) -> bool:
        """Whether the socket can be closed once `take` has nothing more."""
        return self._connection.finished

    @property
    def held_bytes(self) -> int:
        """What this connection keeps in memory, in and out."""
        return self._connection.held_bytes

    async def keep_time(self) -> None:
        """Ask a silent broker whether it lives; ends with the connection."""
        connection, loop = self._connection, self.loop
        while not connection.finished:
            now = loop.now()
            connection.wake(now)
            self._spread()
            due, mute_at = connection.deadline(), self._mute_at()
            if mute_at is not None and mute_at > now:
                due = min(due, mute_at)
            self._listen()
            await loop.pause(min(max(due - now, TICK_NS), self._limits.probe_ns))

    def _mute_at(self) -> int | None:
        since = self._connection.closing.owed_since()
        return None if since is None else since + MUTE_NS

    def _listen(self) -> None:
        """When the broker has fallen mute, have all who wait for it look whether to go elsewhere."""
        was_mute, self._was_mute = self._was_mute, self.is_mute
        if self._was_mute and not was_mute:
            for exchange in self._exchanges.values():
                exchange.reading.wake()
                exchange.writing.wake()

    # The calls' side.

    @property
    def available(self) -> bool:
        """Whether a call can begin here and now."""
        return self._connection.available

    @property
    def alive(self) -> bool:
        """Whether calls can begin, now or once others have ended."""
        return not self._connection.dismissed

    @property
    def is_mute(self) -> bool:
        """Whether the broker answers no probe; it may be heard again."""
        mute_at = self._mute_at()
        return mute_at is not None and self.loop.now() >= mute_at

    async def until_greeted(self) -> None:
        """Wait for the broker's first bytes; raises ConnectionLost if none come or they are no HTTP/2."""
        while not self._greeted and not self._connection.finished:
            await self._greeting.wait()
        if self._connection.failed is not None:
            raise self.lost(unseen=True)

    def open(self, request: Request, reading: Parking | None = None, writing: Parking | None = None) -> Exchange:
        """Begin a stream; raises ConnectionUnavailable if there is no room, ConnectionLost if there never will be."""
        try:
            stream = self._connection.open(request)
        except ConnectionUnavailable:
            if self.alive:
                raise
            raise self.lost(unseen=True) from None
        exchange = Exchange(stream, reading or self.loop.parking(), writing or self.loop.parking())
        self._exchanges[stream.id] = exchange
        return exchange

    def lost(self, *, unseen: bool = False) -> ConnectionLost:
        """The error for whoever needs this connection."""
        failed = self._connection.failed
        why = self._why or (str(failed) if failed is not None else "the broker is going away")
        return ConnectionLost(self.host, self.port, why, unseen=unseen)

    def mute(self) -> ConnectionLost:
        """Return the error for a caller that leaves this broker because it does not answer."""
        return ConnectionLost(self.host, self.port, "the broker does not answer")

    def leave(self, stream: Stream) -> None:
        """Nobody waits for this stream any more: break it off unless it is over."""
        self._exchanges.pop(stream.id, None)
        if stream.gone is None and not (stream.ended and stream.finishing):
            stream.reset(H2_CANCEL)
            self.kick()

    def flush(self) -> None:
        """Have it sent now, as far as that needs no waiting."""
        if not self._connection.idle and self.carrier is not None:
            self.carrier.flush()

    def kick(self) -> None:
        """Have sent what there is to send."""
        if not self._connection.idle and self.carrier is not None:
            self.carrier.kick()

    async def close(self) -> None:
        """End the connection, and whatever is under way on it."""
        self.lose("it was closed here")
        if self.carrier is not None:
            await self.carrier.close()

    def _spread(self) -> None:
        connection = self._connection
        news = connection.take_news()
        if news is not None:
            exchanges = self._exchanges
            for stream_id, stream in news.readable.items():
                exchange = exchanges.get(stream_id)
                if exchange is not None:
                    exchange.reading.wake()
                    if stream.ended:
                        exchange.writing.wake()
            for stream_id in news.writable:
                exchange = exchanges.get(stream_id)
                if exchange is not None:
                    exchange.writing.wake()
        if self.carrier is not None and (not connection.idle or connection.finished):
            self.carrier.kick()


def _stranger(greeting: bytes) -> str:
    """What a peer is that does not begin with SETTINGS; empty for one that does."""
    if greeting.startswith(b"HTTP/1"):
        return "it answers in HTTP/1, which is no gRPC"
    if len(greeting) > SETTINGS_AT and greeting[SETTINGS_AT] != SETTINGS:
        return "what it says is no HTTP/2"
    return ""
