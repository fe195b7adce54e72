"""How a connection between nodes begins: hello, hello, and each side's judgement, before any letter.

Who calls speaks first, so that nobody learns anything by connecting alone. A refusal is a sentence that both sides
get to know, since either may be the one to be corrected.

Where the nodes know the cluster's secret, each proves that between the hellos and the judgement (`secret.py`), who
calls first. Before that nothing that the other has said counts: it may only have made it up.

    caller                    called
    hello                 ->
                          <-  hello
    proof                 ->
                          <-  proof           or refused
    welcome, or refused   ->
                          <-  welcome         or refused
"""

from collections.abc import Callable

from attrs import evolve
from trio.abc import Stream

from goqueue.core.errors import GoQueueError, ProtocolError
from goqueue.core.records.varint import Readable
from goqueue.transports.peers.byte_stream import Source, source_of
from goqueue.transports.peers.frames import Frame, FrameReader, Kind, framed
from goqueue.transports.peers.hello import (
    HELLO_BYTES_MAX,
    MAGIC,
    Hello,
    another_secret,
    parse_hello,
    stranger,
    unproven,
)
from goqueue.transports.peers.secret import CALLED, CALLER, ClusterSecrets, nonce
from goqueue.transports.trio_carrier import Carrier, carrier_of

_SAID_MAX = 500

Judge = Callable[[Hello], str]


class Refused(GoQueueError):
    """Two nodes do not become peers; the sentence says why, and what to do."""


class HungUp(GoQueueError):
    """The other side went away before it had said all that it was to say."""


class Greeting:
    """A stream on which two nodes get to know each other, and what both need of it afterwards."""

    def __init__(
        self, stream: Stream, frame_bytes_max: int, secrets: ClusterSecrets | None = None, binding: bytes = b""
    ) -> None:
        self.stream = stream
        self.carrier: Carrier = carrier_of(stream)
        self.source: Source = source_of(stream)
        self.reader = FrameReader(HELLO_BYTES_MAX)
        # Those that have come and were not looked at.
        self.frames: list[Frame] = []
        self._frame_bytes_max = frame_bytes_max
        self._secrets = secrets
        # What TLS knows of both ends.
        self._binding = binding

    async def call(self, own: Hello, judge: Judge) -> Hello:
        """Speak first; who answers. Raises Refused, HungUp, ProtocolError, OSError, and what streams raise."""
        own, said = await self._introduce(own)
        other, heard = await self._hear()
        await self._agree_to_prove(own, other)
        if self._secrets is not None:
            hellos = said, heard
            await self._send(framed(Kind.PROOF, [self._secrets.proof(CALLER, hellos, self._binding)]))
            await self._demand_proof(self._secrets, own, other, CALLED, hellos)
        await self._settle(other, judge(other))
        return other

    async def answer(self, own: Callable[[], Hello], judge: Judge) -> Hello:
        """Listen first; who calls. Raises as `call` does."""
        other, heard = await self._hear()
        introduced, said = await self._introduce(own())
        await self._agree_to_prove(introduced, other)
        if self._secrets is not None:
            hellos = heard, said
            await self._demand_proof(self._secrets, introduced, other, CALLER, hellos)
            await self._send(framed(Kind.PROOF, [self._secrets.proof(CALLED, hellos, self._binding)]))
        await self._settle(other, judge(other))
        return other

    async def _introduce(self, own: Hello) -> tuple[Hello, bytes]:
        """Say hello; what was said, and its bytes."""
        own = evolve(own, nonce=nonce()) if self._secrets is not None else own
        said = own.encode()
        await self._send([MAGIC, *framed(Kind.HELLO, [said])])
        return own, said

    async def _hear(self) -> tuple[Hello, bytes]:
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
        heard = bytes(frame.body)
        return parse_hello(heard), heard

    async def _agree_to_prove(self, own: Hello, other: Hello) -> None:
        """Refuse one that cannot prove itself, and one that this node cannot prove itself to."""
        sentence = unproven(own, other)
        if sentence:
            await self._send(framed(Kind.REFUSED, [sentence.encode()]))
            raise Refused(sentence)

    async def _demand_proof(
        self, secrets: ClusterSecrets, own: Hello, other: Hello, role: bytes, hellos: tuple[bytes, bytes]
    ) -> None:
        """Hear the other's proof, and refuse whoever has none."""
        frame = await self._frame()
        _refuse_refused(frame, other)
        if frame.kind is not Kind.PROOF:
            raise ProtocolError("it goes on without having proven that it knows the cluster's secret")
        if not secrets.believe(bytes(frame.body), role, hellos, self._binding):
            sentence = another_secret(own, other)
            await self._send(framed(Kind.REFUSED, [sentence.encode()]))
            raise Refused(sentence)

    async def _settle(self, other: Hello, sentence: str) -> None:
        await self._send(framed(Kind.REFUSED, [sentence.encode()]) if sentence else framed(Kind.WELCOME))
        if sentence:
            raise Refused(sentence)
        frame = await self._frame()
        _refuse_refused(frame, other)
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


def _refuse_refused(frame: Frame, other: Hello) -> None:
    if frame.kind is Kind.REFUSED:
        said = bytes(frame.body[:_SAID_MAX]).decode(errors="replace")
        shown = "".join(letter if letter.isprintable() else "?" for letter in said)
        raise Refused(f"node {other.node_id} refuses: {shown}")
