"""What a simulated disk's own failures have no words for: power that goes amid an operation, and what has struck.

The product may react to an error; to a cut it cannot, so `PowerCut` is no Exception and passes through everything.
"""

from random import Random
from typing import Protocol

from goqueue.storage.simulated_faults import Faults


class PowerCut(BaseException):
    """The process ends here, in whatever it was doing."""


class Running(Protocol):
    """Work that is told of its operations before they are done."""

    def operate(self) -> None:
        """An operation comes."""


class Interruptions(Faults):
    """A disk's failures, noted, and a countdown of operations to the next cut."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.operations_left: int | None = None
        self.struck: list[tuple[str, str]] = []
        self.running: Running | None = None

    def failure(self, operation: str, path: str) -> OSError | None:
        """The error that an operation has to meet, if any; PowerCut when its time has come."""
        if self.running is not None:
            self.running.operate()
        if self.operations_left is not None:
            self.operations_left -= 1
            if self.operations_left < 0:
                self.operations_left = None
                raise PowerCut
        error = super().failure(operation, path)
        if error is not None:
            self.struck.append((operation, path))
        return error

    def clear(self) -> None:
        """Take all orders back, the cut too."""
        super().clear()
        self.operations_left = None
