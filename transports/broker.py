"""What a protocol needs of the broker behind it."""

from collections.abc import Callable
from typing import Protocol

from goqueue.core.requests.call import Caller
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request


class Broker(Protocol):
    """Takes requests and answers them, each once.

    `ask` is for one request at a time, `post` for streams of them: it costs no task, and the reply is given to
    `receive` within the turn that made it. `receive` runs in the broker's loop: it must be brief and must not raise.
    """

    async def ask(self, caller: Caller, request: Request) -> Reply:
        """The answer to a request; cancelling the call takes it back as far as that is possible."""

    def post(self, caller: Caller, request: Request, receive: Callable[[Reply], None]) -> int:
        """Send a request whose answer goes to `receive`, maybe at once; the number is for `forget`.

        Whoever posts what weighs something, a publish, waits for `room` before the next.
        """

    def forget(self, to: int) -> None:
        """Take a posted request back as far as that is possible; its answer goes nowhere."""

    def is_roomy(self) -> bool:
        """Whether `room` would not wait."""

    async def room(self) -> None:
        """Wait until publishes that were not answered yet leave room for more."""

    def when_leaving(self, told: Callable[[], None]) -> None:
        """Call `told` once the broker begins to stop."""
