"""A broker whose fetches wait for news only as long as the server stays.

A fetch that waits when the server begins to go is asked again without waiting, so that its client gets an answer,
mostly an empty one, and not a connection that is cut when the grace is over.
"""

import trio

from goqueue.core.verbs import Caller, Fetch, Reply, Request
from goqueue.transports.rest.call import Answering


class PatientBroker:
    """See Answering; `leave` ends the patience."""

    def __init__(self, broker: Answering) -> None:
        self._broker = broker
        self._leaving = False
        self._waits: dict[trio.CancelScope, None] = {}

    async def ask(self, caller: Caller, request: Request) -> Reply:
        """See Answering."""
        if not isinstance(request, Fetch) or request.wait_ns <= 0:
            return await self._broker.ask(caller, request)
        if not self._leaving:
            with trio.CancelScope() as scope:
                self._waits[scope] = None
                try:
                    return await self._broker.ask(caller, request)
                finally:
                    del self._waits[scope]
        at_once = Fetch(request.topic, request.partition, request.offset, request.max_bytes, 0)
        return await self._broker.ask(caller, at_once)

    def leave(self) -> None:
        """The server begins to go."""
        self._leaving = True
        for scope in self._waits:
            scope.cancel()
