"""What goes wrong on an HTTP/2 connection: the connection itself, or one stream of it."""

from goqueue.core.errors import GoQueueError, ProtocolError


class ConnectionFailed(ProtocolError):
    """The peer broke the protocol or a bound, or is gone; `code` is what GOAWAY says (RFC 9113, section 7)."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class StreamGone(GoQueueError):
    """The stream was reset, by either side, or its connection is lost: nothing can be sent or read any more.

    `unseen` says that the peer certainly did nothing about it, so that trying again elsewhere is safe.
    """

    def __init__(self, message: str, code: int, *, unseen: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.unseen = unseen


class ConnectionUnavailable(GoQueueError):
    """A client's connection takes no further stream: it is full, going away or lost."""
