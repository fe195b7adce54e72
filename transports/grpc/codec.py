"""Messages to bytes and back: the seam where one way of doing it replaces another.

betterproto's own is the default. It is slow and forgives much; whoever has a stricter and faster codec for the same
classes passes it to `GrpcService`. A codec refuses bytes with a ValueError, whatever is wrong with them.
"""

from typing import Any, Protocol

import betterproto


class Codec(Protocol):
    """How messages travel."""

    def encode(self, message: Any) -> bytes:  # noqa: ANN401 - of whatever class the routes name
        """The bytes of a message."""
        ...

    def decode(self, kind: Any, data: bytes) -> Any:  # noqa: ANN401
        """The message of this class in these bytes; raises ValueError."""
        ...


class BetterprotoCodec:
    """betterproto's own way."""

    def encode(self, message: betterproto.Message) -> bytes:
        """See Codec."""
        return bytes(message)

    def decode(self, kind: type[betterproto.Message], data: bytes) -> betterproto.Message:
        """See Codec."""
        try:
            return kind().parse(data)
        except Exception as error:
            # It raises whatever its innards happen to: EOFError, struct.error, KeyError, UnicodeDecodeError.
            raise ValueError(f"not a {kind.__name__}: {error}") from error
