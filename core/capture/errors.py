"""What can be wrong with a capture, or with what is to be captured."""

from goqueue.core.errors import GoQueueError


class CaptureError(GoQueueError):
    """Bytes that this release cannot read as a capture, or an object that it cannot write into one."""


class DamagedCapture(CaptureError):
    """Bytes of a capture that are not as they were written; `position` says where in the file."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


class TruncatedCapture(DamagedCapture):
    """A capture that ends in the middle of a block, as that of a process does that was killed."""
