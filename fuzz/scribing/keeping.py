"""Keeps the history of a world for whoever wants it after the world has ended."""

from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.fuzz.histories.operation import History
from goqueue.fuzz.process import Process
from goqueue.fuzz.world import World


class HistoryKeeper:
    """Looks on, and changes nothing."""

    def __init__(self) -> None:
        self.history = History()

    def begin(self, world: World) -> None:
        """The world whose history is wanted."""
        self.history = world.scribe.recorder.history

    def noted(self, process: Process | None, what: tuple[object, ...]) -> None:
        """Nothing that clients saw."""

    def asked(self, process: Process, to: int, request: Request) -> None:
        """The same."""

    def answered(self, process: Process, to: int, reply: Reply) -> None:
        """The same."""

    def looked(self, process: Process) -> None:
        """The same."""
