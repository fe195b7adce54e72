"""What storage reports: damage it found, and disks that failed, each in a sentence that names file and position."""

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


@define
class DiskFailed:
    """A disk refused an operation for a stream, which is closed for appends until it is recovered."""

    stream: str
    operation: str
    why: str
