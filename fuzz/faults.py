"""What a simulated disk's own failures have no words for: power that goes amid an operation, and what has struck.

The product may react to an error; to a cut it cannot, so `PowerCut` is no Exception and passes through everything.
"""

from collections.abc import Callable
from random import Random
from typing import Protocol

from goqueue.storage.simulated_faults import Faults

OTHER_OPERATIONS = (
    "open", "create", "truncate", "names", "rename", "remove", "remove_folder", "sync_folder", "make_folder",
)  # fmt: skip
"""What may fail besides reads, writes and syncs."""


class PowerCut(BaseException):
    """The process ends here, in whatever it was doing, and with `crash` its machine."""

    def __init__(self, *, crash: bool = True, down_ns: int | None = None) -> None:
        super().__init__()
        self.crash = crash
        # How long nobody starts another process; None for a short while.
        self.down_ns = down_ns


class Running(Protocol):
    """Work that is told of its operations before they are done."""

    def operate(self) -> None:
        """An operation comes."""


class Interruptions(Faults):
    """A disk's failures, noted, and a countdown of operations to the next cut."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.operations_left: int | None = None
        # How the process ends when the countdown does.
        self.death: PowerCut | None = None
        # Who is told of every operation that comes, and may end the process by a PowerCut.
        self.watch: Callable[[str, str], None] | None = None
        self.struck: list[tuple[str, str]] = []
        self.running: Running | None = None

    def failure(self, operation: str, path: str) -> OSError | None:
        """The error that an operation has to meet, if any; PowerCut when its time has come."""
        if self.running is not None:
            self.running.operate()
        if self.operations_left is not None:
            self.operations_left -= 1
            if self.operations_left < 0:
                death = self.death or PowerCut()
                self.spare()
                raise death
        if self.watch is not None:
            self.watch(operation, path)
        error = super().failure(operation, path)
        if error is not None:
            self.struck.append((operation, path))
        return error

    def clear(self) -> None:
        """Take all orders back, the cut too."""
        super().clear()
        self.spare()

    def spare(self) -> None:
        """Take the cut back."""
        self.operations_left = self.death = None
