"""One connection between two nodes that have greeted each other: letters out at once, letters in as they come.

What fits into the socket's buffer is written within the turn that made it; the rest waits in an outbox for a task that
writes it as the peer takes it. A side that has nothing to say says so every second, and one that is silent for longer
than that bears is gone: TCP alone would notice it minutes later, or never where only one way is cut.
"""

import ssl
from collections.abc import Callable, Sequence

import trio
from attrs import define

from goqueue.core.errors import ProtocolError
from goqueue.core.records.batch import Codec
from goqueue.core.records.varint import Readable
from goqueue.transports.peers.frames import FRAME_BYTES_MAX, HEADER, Frame, Kind, framed, letters_framed, letters_of
from goqueue.transports.peers.greeting import Greeting
from goqueue.transports.peers.hello import Hello
from goqueue.transports.peers.inbox import Inbox
from goqueue.transports.peers.meters import PeerMeters
from goqueue.transports.peers.outbox import Outbox
from goqueue.transports.trio_carrier import JOINED_BYTES
from goqueue.transports.trio_parking import Parking

_WRITTEN_AT_ONCE_BYTES = 1 << 20

# Takes a letter, the peer's hello first, and answers what it takes in memory; raises ProtocolError for one that cannot
# be read.
Take = Callable[[Hello, memoryview], int]


@define(frozen=True)
class PeerLimits:
    """What peers may take of this node, and how long they may be silent."""

    frame_bytes_max: int = FRAME_BYTES_MAX
    # What all of them have sent that the node has not taken.
    inbox_bytes_max: int = 128 << 20
    # What waits to go out to one of them; the oldest gives way.
    queue_bytes_max: int = 64 << 20
    hello_s: float = 3.0
    # A call that is not answered, and another one after at most so long.
    dial_s: float = 2.0
    pause_first_s: float = 0.05
    pause_most_s: float = 1.0
    # Of calling somebody whom nobody but a rumour names.
    attempts_max: int = 60
    # After a refusal, which somebody has to do something about.
    pause_refused_s: float = 5.0
    sign_of_life_s: float = 1.0
    silence_s: float = 5.0
    # Connections that were not greeted yet, and greeted ones of one peer.
    strangers_max: int = 64
    connections_max: int = 4
    # Nodes that are connected, and those that are called.
    peers_max: int = 256
    callees_max: int = 1024


@define
class Terms:
    """What two nodes have agreed on: the version of letters, and the codec in which this one's go out."""

    version: int
    codec: Codec


class Connection:
    """See the module; `run` lives as long as the connection does."""

    def __init__(
        self,
        greeting: Greeting,
        peer: Hello,
        terms: Terms,
        take: Take,
        limits: PeerLimits,
        meters: PeerMeters,
        inbox: Inbox,
        host: str = "",
    ) -> None:
        self.peer = peer
        # The host at the other end.
        self.host = host
        # Why it ended, where it is the peer's fault.
        self.complaint = ""
        # Whether the peer's side has ended it; None while it lasts.
        self._is_ended_there: bool | None = None
        self._greeting = greeting
        self._carrier = greeting.carrier
        self.version = terms.version
        self._codec = terms.codec
        self._take = take
        self._limits = limits
        self._meters = meters
        self._inbox = inbox
        self._outbox = Outbox(limits.queue_bytes_max)
        self._wanted = Parking()
        self._is_writing = False
        self._was_written = False
        self._heard_s = trio.current_time()
        self._scope = trio.CancelScope()

    @property
    def is_ended_there(self) -> bool:
        """Whether it has ended, and by the peer's side: by FIN or RST, which its system sends when a process ends."""
        return self._is_ended_there is True

    def _end(self, *, there: bool) -> None:
        """Note who has ended it; what is noticed later follows from that."""
        if self._is_ended_there is None:
            self._is_ended_there = there

    @property
    def held_bytes(self) -> int:
        """What waits to go out."""
        return self._outbox.held_bytes

    def send(self, letters: Sequence[Sequence[Readable]]) -> None:
        """Send letters, each in pieces that nobody changes from now on."""
        pieces = letters_framed(letters, self._codec, self._limits.frame_bytes_max)
        size = sum(map(len, pieces))
        if size - HEADER.size > self._limits.frame_bytes_max:
            self._send_apart(letters)
            return
        self._meters.letters_sent += len(letters)
        self._meters.bytes_sent += size
        self._write(pieces, size, len(letters))

    def _send_apart(self, letters: Sequence[Sequence[Readable]]) -> None:
        """Send letters that are too much for one frame, each by itself; one that is alone too much is lost."""
        if len(letters) == 1:
            self._meters.letters_dropped += 1
        else:
            for letter in letters:
                self.send([letter])

    def _write(self, pieces: list[Readable], size: int, letters: int) -> None:
        self._was_written = True
        if size <= JOINED_BYTES:
            pieces = [b"".join(pieces)]
        if not self._is_writing and not self._outbox:
            pieces = self._carrier.write_now(pieces)
            if not pieces:
                return
            is_begun = sum(map(len, pieces)) < size
        else:
            is_begun = False
        self._meters.letters_dropped += self._outbox.put(pieces, letters, is_begun=is_begun)
        self._wanted.wake()

    def close(self) -> None:
        """End it now."""
        self._end(there=False)
        self._scope.cancel()

    async def run(self) -> None:
        """Carry letters both ways until either side ends it."""
        with self._scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._write_on)
                nursery.start_soon(self._watch)
                await self._read_on()
                self._scope.cancel()

    async def _read_on(self) -> None:
        source, reader = self._greeting.source, self._greeting.reader
        try:
            await self._heard(self._greeting.frames)
            while size := await source.read_into(reader):
                self._heard_s = trio.current_time()
                self._meters.bytes_received += size
                await self._heard(reader.received(size))
            self._end(there=True)
        except ProtocolError as error:
            self._end(there=False)
            self.complaint = str(error)
        except (OSError, trio.BrokenResourceError, trio.ClosedResourceError) as error:
            self._end(there=_is_of_peer(error))

    async def _heard(self, frames: list[Frame]) -> None:
        for frame in frames:
            if frame.kind is Kind.LETTERS:
                if self._inbox.is_full:
                    await self._room()
                letters = letters_of(frame, self._limits.frame_bytes_max)
                self._meters.letters_received += len(letters)
                for letter in letters:
                    if self._inbox.is_full:
                        await self._room()
                    self._inbox.put(self._take(self.peer, letter))
            elif frame.kind is not Kind.PING:
                raise ProtocolError(f"a {frame.kind.name.lower()} came where letters were expected")

    async def _room(self) -> None:
        """Wait until the node has taken enough of what came."""
        await self._inbox.room()
        # That nothing was read meanwhile is no silence of the peer's.
        self._heard_s = trio.current_time()

    async def _write_on(self) -> None:
        while True:
            await self._wanted.wait()
            self._is_writing = True
            while pieces := self._outbox.take(_WRITTEN_AT_ONCE_BYTES):
                if not await self._carrier.write(pieces):
                    self._end(there=_is_of_peer(self._carrier.failure))
                    self._scope.cancel()
                    return
            self._is_writing = False

    async def _watch(self) -> None:
        """Say something when nothing else is said; end it when nothing is heard."""
        while True:
            await trio.sleep(self._limits.sign_of_life_s)
            if trio.current_time() - self._heard_s > self._limits.silence_s:
                self._end(there=False)
                self.complaint = f"it was silent for {self._limits.silence_s:g} s"
                self._scope.cancel()
                return
            if not self._was_written:
                ping = framed(Kind.PING)
                self._write(ping, sum(map(len, ping)), 0)
            self._was_written = False


def _is_of_peer(error: BaseException | None) -> bool:
    """Whether a stream broke because the peer's side had ended it; a time-out, for one, is this side's."""
    while error is not None:
        if isinstance(error, ConnectionResetError | BrokenPipeError | ssl.SSLEOFError):
            return True
        error = error.__cause__
    return False
