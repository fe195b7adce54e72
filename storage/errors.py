"""What storage reports: damage it found, and disks that failed, each in a sentence that names file and position."""

from traceback import extract_tb

from attrs import define

from goqueue.core.errors import GoQueueError


class DamageError(GoQueueError):
    """A file does not hold what was once written there, and nothing may be concluded from what follows."""

    def __init__(self, path: str, position: int, message: str) -> None:
        super().__init__(f"{path}: damaged at byte {position}: {message}")
        self.path = path
        self.position = position

    @property
    def advice(self) -> str:
        """What an operator can do about it."""
        stream = self.path.rpartition("/")[0]
        return (
            f"`goqueue log verify DATA_DIR {stream}` shows all that is damaged, `goqueue log repair DATA_DIR {stream}`"
            " goes on with every batch that is sound and keeps the rest aside"
        )


class DefectError(GoQueueError):
    """Something failed that never should, so what is on the disk and in memory may differ: the process must end.

    Nothing that was not acknowledged before may be acknowledged after it; the next process finds out what is there.
    """

    def __init__(self, what: str, error: BaseException) -> None:
        place = ""
        if frames := extract_tb(error.__traceback__):
            place = f" at {frames[-1].filename}:{frames[-1].lineno}"
        said = f": {error}" if str(error) else ""
        super().__init__(f"{what} failed in a way that it never should ({type(error).__name__}{place}{said})")
        self.__cause__ = error


@define
class DiskFailed:
    """A disk refused an operation for a stream, which is closed for appends until it is recovered."""

    stream: str
    operation: str
    why: str
