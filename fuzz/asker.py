"""Who asks a node in a world."""

from typing import Protocol

from goqueue.core.requests.replies import Reply


class Asker(Protocol):
    """Who has asked a node, by name, and is told what it answers."""

    @property
    def name(self) -> str:
        """Who it is."""
        ...

    def reply(self, to: int, reply: Reply) -> None:
        """The node has answered."""
        ...
