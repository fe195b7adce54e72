"""What a simulated disk's own failures have no words for: power that goes amid an operation, and what has struck.

The product may react to an error; to a cut it cannot, so `PowerCut` is no Exception and passes through everything.

One combination is left out. A sync fails; then the file is not made by which the process that saw it warns the next one
(`leave_distrust`), because that fails too or because there is no time; then the process is killed before it has
recovered the stream, while the machine goes on. The next process believes a page cache that the disk does not agree
with: storage knows no second place to leave word. So a process that owes such a warning (`unwarned`) is not killed
alone: its machine goes with it, and the page cache. Each of the three may happen, and any two of them together.
"""

from random import Random
from typing import Protocol

from goqueue.storage.layout import DISTRUST_FILE
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
        # Folders whose stream had a sync fail, and of which no word could be left; in the order in which it happened.
        self.unwarned: dict[str, None] = {}

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
        folder, _, name = path.rpartition("/")
        is_warning = name == DISTRUST_FILE and operation in ("open", "create")
        if error is not None:
            self.struck.append((operation, path))
            if is_warning or (operation == "sync" and folder.startswith("logs/")):
                self.unwarned[folder] = None
        elif is_warning:
            self.unwarned.pop(folder, None)
        return error

    def clear(self) -> None:
        """Take all orders back, the cut too."""
        super().clear()
        self.operations_left = None
