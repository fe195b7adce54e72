"""A protocol of its own behind a listener: lines come back, and who is there when the server goes hears good-bye."""

import trio
from attrs import define, field

from goqueue.transports.listening.protocols import Accepted, WireProtocol

OPENING, FAREWELL = b"ECHO\n", b"good-bye\n"


@define(eq=False)
class Echo:
    """See Conversation."""

    stream: trio.abc.Stream
    buffer: bytes
    is_leaving: bool = False
    life: trio.CancelScope = field(factory=trio.CancelScope)
    waiting: trio.CancelScope = field(factory=trio.CancelScope)

    async def run(self) -> None:
        """Give lines back; a line that has begun when the server goes is waited for."""
        with self.life:
            while self.buffer or not self.is_leaving:
                if self.buffer.endswith(b"\n"):
                    await self.stream.send_all(self.buffer)
                    self.buffer = b""
                    continue
                with trio.CancelScope() as self.waiting:
                    if not (received := await self.stream.receive_some()):
                        return
                    self.buffer += received
            await self.stream.send_all(FAREWELL)

    def drain(self) -> None:
        self.is_leaving = True
        if not self.buffer:
            self.waiting.cancel()

    def cut(self) -> None:
        self.life.cancel()


async def _begin(accepted: Accepted) -> Echo:
    return Echo(accepted.stream, accepted.received.removeprefix(OPENING))


ECHO = WireProtocol(_begin, "echo", OPENING)
