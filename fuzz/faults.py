"""What a simulated disk's own failures have no words for: power that goes amid an operation, and what has struck.

The product may react to an error; to a cut it cannot, so `PowerCut` is no Exception and passes through everything.

One failure is left out: that of the file by which a process whose sync failed warns the next one. Where the sync and
this file fail together, and the process is killed before it has recovered, the next one believes a page cache that
the disk does not agree with. Storage knows no second place to leave word.
"""

from random import Random

from goqueue.storage.layout import DISTRUST_FILE
from goqueue.storage.simulated_faults import Faults


class PowerCut(BaseException):
    """The process ends here, in whatever it was doing."""


class Interruptions(Faults):
    """A disk's failures, noted, and a countdown of operations to the next cut."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.operations_left: int | None = None
        self.struck: list[tuple[str, str]] = []

    def failure(self, operation: str, path: str) -> OSError | None:
        """The error that an operation has to meet, if any; PowerCut when its time has come."""
        if self.operations_left is not None:
            self.operations_left -= 1
            if self.operations_left < 0:
                self.operations_left = None
                raise PowerCut
        error = None if path.endswith(DISTRUST_FILE) else super().failure(operation, path)
        if error is not None:
            self.struck.append((operation, path))
        return error

    def clear(self) -> None:
        """Take all orders back, the cut too."""
        super().clear()
        self.operations_left = None
