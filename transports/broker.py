"""What a protocol needs of the broker behind it."""

from typing import Protocol

from goqueue.core.verbs import Caller, Reply, Request


class Broker(Protocol):
    """Takes requests and answers them, each once."""

    async def ask(self, caller: Caller, request: Request) -> Reply:
        """The answer to a request; cancelling the call takes it back as far as that is possible."""
