"""A broker whose fetches, polls and watches wait for news only as long as the server stays.

One that waits when the server begins to go is answered at once, so that nobody holds up the end and no client has its
connection cut when the grace is over. A fetch or a poll is asked again without waiting, and mostly gets an empty
answer. A watch is refused as what it is: its member asks another broker.
"""

from collections.abc import Callable

import trio
from attrs import evolve

from goqueue.core.calls import Reply, Request
from goqueue.core.groups.verbs import PollGroup, WatchGroup
from goqueue.core.verbs import Caller, Code, Fetch, Refusal
from goqueue.core.work.verbs import PollWork
from goqueue.transports.broker import Broker


class PatientBroker:
    """See Broker; `leave` ends the patience."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._leaving = False
        self._waits: dict[trio.CancelScope, None] = {}

    async def ask(self, caller: Caller, request: Request) -> Reply:
        """See Broker."""
        if not isinstance(request, Fetch | PollGroup | PollWork | WatchGroup) or request.wait_ns <= 0:
            return await self._broker.ask(caller, request)
        if not self._leaving:
            with trio.CancelScope() as scope:
                self._waits[scope] = None
                try:
                    return await self._broker.ask(caller, request)
                finally:
                    del self._waits[scope]
        if isinstance(request, WatchGroup):
            return Refusal(Code.SHUTTING_DOWN, "the broker is about to stop")
        return await self._broker.ask(caller, evolve(request, wait_ns=0))

    def post(self, caller: Caller, request: Request, receive: Callable[[Reply], None]) -> int:
        """See Broker."""
        return self._broker.post(caller, request, receive)

    def forget(self, to: int) -> None:
        """See Broker."""
        self._broker.forget(to)

    @property
    def is_roomy(self) -> bool:
        """See Broker."""
        return self._broker.is_roomy

    async def room(self) -> None:
        """See Broker."""
        await self._broker.room()

    def when_leaving(self, told: Callable[[], None]) -> None:
        """See Broker."""
        self._broker.when_leaving(told)

    def leave(self) -> None:
        """The server begins to go."""
        self._leaving = True
        for scope in self._waits:
            scope.cancel()
