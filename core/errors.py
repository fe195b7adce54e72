"""The errors the core raises, and what a caller may conclude from each.

A client's fault and damaged bytes are told apart from a broken invariant: the former are the classes below, the latter
is an `assert`, and the node dies. Every message is one sentence for a person, and names what was expected.
"""


class GoQueueError(Exception):
    """Root of everything GoQueue raises on purpose."""


class ProtocolError(GoQueueError):
    """Bytes or a request that break a contract; `status_hint` is the HTTP status that says so best."""

    def __init__(self, message: str, *, status_hint: int = 400) -> None:
        super().__init__(message)
        self.status_hint = status_hint


class BatchError(ProtocolError):
    """Bytes that are not a valid record batch: the only error that parsing a batch raises.

    `reason` is one stable word (`truncated`, `magic`, `crc`, …), `position` the byte in the buffer where it was seen.
    """

    def __init__(self, reason: str, message: str, *, position: int = 0, status_hint: int = 400) -> None:
        super().__init__(message, status_hint=status_hint)
        self.reason = reason
        self.position = position
