"""A broker whose fetches and polls wait for news only as long as the server stays.

One that waits when the server begins to go is asked again without waiting, so that its client gets an answer,
mostly an empty one, and not a connection that is cut when the grace is over.
"""

import trio
from attrs import evolve

from goqueue.core.calls import Reply, Request
from goqueue.core.groups.verbs import PollGroup
from goqueue.core.verbs import Caller, Fetch
from goqueue.core.work.verbs import PollWork
from goqueue.transports.rest.call import Answering


class PatientBroker:
    """See Answering; `leave` ends the patience."""

    def __init__(self, broker: Answering) -> None:
        self._broker = broker
        self._leaving = False
        self._waits: dict[trio.CancelScope, None] = {}

    async def ask(self, caller: Caller, request: Request) -> Reply:
        """See Answering."""
        if not isinstance(request, Fetch | PollGroup | PollWork) or request.wait_ns <= 0:
            return await self._broker.ask(caller, request)
        if not self._leaving:
            with trio.CancelScope() as scope:
                self._waits[scope] = None
                try:
                    return await self._broker.ask(caller, request)
                finally:
                    del self._waits[scope]
        return await self._broker.ask(caller, evolve(request, wait_ns=0))

    def leave(self) -> None:
        """The server begins to go."""
        self._leaving = True
        for scope in self._waits:
            scope.cancel()
