"""How a connection between nodes begins: hello, hello, and each side's judgement, before any letter.

Who calls speaks first, so that nobody learns anything by connecting alone. A refusal is a sentence that both sides get
to know, since either may be the one to be corrected.
"""

from collections.abc import Callable

from trio.abc import Stream

from goqueue.core.errors import GoQueueError, ProtocolError
from goqueue.core.records.varint import Readable
from goqueue.transports.peers.byte_stream import Source, source_of
from goqueue.transports.peers.frames import Frame, FrameReader, Kind, framed
from goqueue.transports.peers.hello import HELLO_BYTES_MAX, MAGIC, Hello, parse_hello, stranger
from goqueue.transports.trio_carrier import Carrier, carrier_of

_SAID_MAX = 500

Judge = Callable[[Hello], str]


class Refused(GoQueueError):
    """Two nodes do not become peers; the sentence says why, and what to do."""


class HungUp(GoQueueError):
    """The other side went away before it had said all that it was to say."""


class Greeting:
    """A stream on which two nodes get to know each other, and what both need of it afterwards."""

    def __init__(self, stream: Stream, frame_bytes_max: int) -> None:
        self.stream = stream
        self.carrier: Carrier = carrier_of(stream)
        self.source: Source = source_of(stream)
        self.reader = FrameReader(HELLO_BYTES_MAX)
        # Those that have come and were not looked at.
        self.frames: list[Frame] = []
        self._frame_bytes_max = frame_bytes_max

    async def call(self, own: Hello, judge: Judge) -> Hello:
        """Speak first; who answers. Raises Refused, HungUp, ProtocolError, OSError, and what streams raise."""
        await self._send([MAGIC, *framed(Kind.HELLO, [own.encode()])])
        other = await self._hear()
        await self._settle(other, judge(other))
        return other

    async def answer(self, own: Callable[[], Hello], judge: Judge) -> Hello:
        """Listen first; who calls. Raises as `call` does."""
        other = await self._hear()
        await self._send([MAGIC, *framed(Kind.HELLO, [own().encode()])])
        await self._settle(other, judge(other))
        return other

    async def _hear(self) -> Hello:
        beginning = b""
        while len(beginning) < len(MAGIC) and MAGIC.startswith(beginning):
            beginning = self.reader.opening(await self._read())
        if not beginning.startswith(MAGIC):
            raise ProtocolError(stranger(beginning))
        self.reader.skip(len(MAGIC))
        self.frames = self.reader.received(0)
        frame = await self._frame()
        if frame.kind is not Kind.HELLO:
            raise ProtocolError("it begins with something else than a hello")
        return parse_hello(bytes(frame.body))

    async def _settle(self, other: Hello, sentence: str) -> None:
        await self._send(framed(Kind.REFUSED, [sentence.encode()]) if sentence else framed(Kind.WELCOME))
        if sentence:
            raise Refused(sentence)
        frame = await self._frame()
        if frame.kind is Kind.REFUSED:
            said = bytes(frame.body[:_SAID_MAX]).decode(errors="replace")
            raise Refused(f"node {other.node_id} refuses: {said}")
        if frame.kind is not Kind.WELCOME:
            raise ProtocolError(f"node {other.node_id} neither welcomes nor refuses this one")
        self.reader.frame_bytes_max = self._frame_bytes_max

    async def _frame(self) -> Frame:
        while not self.frames:
            self.frames = self.reader.received(await self._read())
        return self.frames.pop(0)

    async def _read(self) -> int:
        size = await self.source.read_into(self.reader)
        if not size:
            raise HungUp("it hung up before it was greeted")
        return size

    async def _send(self, pieces: list[Readable]) -> None:
        if not await self.carrier.write(pieces):
            raise HungUp("it hung up before it was greeted")
