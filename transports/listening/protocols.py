"""What stands behind a listener: protocols, told apart by what TLS agreed on or by the first bytes of a client.

A protocol whose clients all begin with the same bytes names them as its `opening`; one that names none gets every
client whose bytes are no other's. So there is at most one of those. A protocol that is alone on its port gets every
client at once, which lets the server speak first.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import trio
from attrs import define
from trio.abc import Stream as ByteStream


@define(eq=False)
class Accepted:
    """A connection that a listener has accepted, secured where it does that, and handed to a protocol."""

    stream: ByteStream
    # Who is at the other end, as `host:port`, and the host alone; empty for what has no name, or has gone.
    remote: str
    host: str
    # The address of this machine that it arrived at; empty for one that has gone.
    local_host: str
    # When it was accepted, on the loop's clock.
    since_s: float
    # What was read of it to find out what is spoken.
    received: bytes = b""


class Conversation(Protocol):
    """What a protocol makes of one connection, from its beginning to its end."""

    async def run(self) -> None:
        """Speak until either side has had enough; the listener closes the connection then."""
        ...

    def drain(self) -> None:
        """Finish what is in flight, and end; may come before `run`."""
        ...

    def cut(self) -> None:
        """End at once."""
        ...


@define(frozen=True)
class WireProtocol:
    """A protocol as a listener mounts it.

    `begin` makes a conversation of a connection, and may greet the client first: as long as that takes the client is a
    newcomer. It answers None where nothing comes of it. What it answers is run, whatever happens.
    """

    begin: Callable[[Accepted], Awaitable[Conversation | None]]
    # As clients ask for it in a TLS handshake. A protocol that is alone on its port and has one is spoken with TLS only
    # by whoever asks for it.
    alpn: str = ""
    opening: bytes = b""


def candidates(protocols: Sequence[WireProtocol], received: bytes) -> list[WireProtocol]:
    """Those that a client may speak whose first bytes are these: at most one as soon as that can be told."""
    opened = [each for each in protocols if each.opening and received.startswith(each.opening)]
    return opened[:1] or [each for each in protocols if not each.opening or each.opening.startswith(received)]


def agreed(protocols: Sequence[WireProtocol], stream: ByteStream) -> list[WireProtocol]:
    """Those that a client may speak after what TLS has agreed on, before its first byte."""
    name = stream.selected_alpn_protocol() if isinstance(stream, trio.SSLStream) else None
    asked_for = [each for each in protocols if name and each.alpn == name]
    if len(protocols) == 1:
        return asked_for if protocols[0].alpn and isinstance(stream, trio.SSLStream) else [*protocols]
    # Whoever has asked for the protocol without an opening may still begin with the opening of another.
    return asked_for if asked_for and asked_for[0].opening else [*protocols]
