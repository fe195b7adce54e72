"""What a log refuses to answer; why it takes no appends is said in `log.py`."""

from goqueue.core.errors import GoQueueError


class OffsetOutOfRange(GoQueueError):
    """An offset below the log's start or beyond its end; both are in the error."""

    def __init__(self, offset: int, start: int, end: int) -> None:
        super().__init__(f"offset {offset} is out of range: the log holds offsets from {start} up to {end}")
        self.offset = offset
        self.start = start
        self.end = end
