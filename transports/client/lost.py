"""The one error for trouble with a connection: it could not be made, it broke, or it takes no more calls."""

from goqueue.core.errors import GoQueueError


class ConnectionLost(GoQueueError):
    """There is no connection to this broker; `unseen` says that it certainly did nothing about the call."""

    def __init__(self, host: str, port: int, why: str, *, unseen: bool = False) -> None:
        super().__init__(f"{host}:{port}: {why}")
        self.host = host
        self.port = port
        self.why = why
        self.unseen = unseen
