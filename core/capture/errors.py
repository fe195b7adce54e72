"""What can be wrong with a capture, or with what is to be captured.

Every class has a `cause`, one word for tables: `foreign`, `version`, `no_snapshot`, `damaged` or `truncated`.
"""

from typing import ClassVar

from goqueue.core.errors import GoQueueError


class CaptureError(GoQueueError):
    """Bytes that cannot be read as a capture, or an object that cannot be written into one."""

    cause: ClassVar[str] = "foreign"


class OtherRelease(CaptureError):
    """A capture of a release whose formats, classes or verbs this one does not have."""

    cause = "version"


class MissingSnapshot(CaptureError):
    """A file that has no state to begin with."""

    cause = "no_snapshot"


class DamagedCapture(CaptureError):
    """Bytes of a capture that are not as they were written; `position` says where in the file."""

    cause = "damaged"

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


class TruncatedCapture(DamagedCapture):
    """A capture that ends in the middle of a block, as that of a process does that was killed."""

    cause = "truncated"
