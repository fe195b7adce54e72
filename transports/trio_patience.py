"""A broker that makes room for answers of REST, and whose waits for news last only as long as the server stays.

Where a transport has named the room for an answer (`answer_room.py`), messages are asked for once there is room for
them. A request that may wait for messages holds no room meanwhile: it is asked without waiting first, and if there is
nothing, again with waiting and without room. A fetch is then only told that there is something, and reads it once there
is room.

One that waits when the server begins to go is answered at once, so that nobody holds up the end and no client has its
connection cut when the grace is over. A fetch or a poll is asked again without waiting, and mostly gets an empty
answer. A watch is refused as what it is: its member asks another broker.
"""

from typing import TypeAlias

import trio
from attrs import evolve

from goqueue.core.requests.call import Caller
from goqueue.core.requests.deadletters import BrowseDead
from goqueue.core.requests.delays import ListDelayed
from goqueue.core.requests.groups import Polled, PollGroup, WatchGroup
from goqueue.core.requests.messages import Fetch, Fetched
from goqueue.core.requests.queues import PolledWork, PollWork
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.transports.answer_room import AnswerRoom, current_room
from goqueue.transports.broker import Broker
from goqueue.transports.buffer_budget import PAGE_BYTES

_Waiting: TypeAlias = Fetch | PollGroup | PollWork
_OVERLOADED = Refusal(
    Code.UNAVAILABLE, "the broker holds as many answers as it can; try again in a moment", retry_after_ms=1000
)


class PatientBroker:
    """See Broker; `leave` ends the patience."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.post = broker.post
        self.forget = broker.forget
        self.is_roomy = broker.is_roomy
        self.room = broker.room
        self.when_leaving = broker.when_leaving
        self._leaving = False
        self._waits: dict[trio.CancelScope, None] = {}

    async def ask(self, caller: Caller, request: Request) -> Reply:
        """See Broker."""
        room = current_room.get()
        if isinstance(request, Fetch | PollGroup | PollWork):
            if room is not None:
                return await self._ask_with_room(caller, request, room)
            return await self._ask_patiently(caller, request)
        if isinstance(request, WatchGroup):
            return await self._ask_patiently(caller, request)
        if isinstance(request, BrowseDead | ListDelayed) and room is not None and not await room.enter(PAGE_BYTES):
            return _OVERLOADED
        return await self._broker.ask(caller, request)

    def leave(self) -> None:
        """The server begins to go."""
        self._leaving = True
        for scope in self._waits:
            scope.cancel()

    async def _ask_with_room(self, caller: Caller, request: _Waiting, room: AnswerRoom) -> Reply:
        if not await room.enter(PAGE_BYTES):
            return _OVERLOADED
        at_once = evolve(request, wait_ns=0) if request.wait_ns > 0 else request
        reply = await self._broker.ask(caller, at_once)
        if request.wait_ns <= 0 or not _is_empty(reply):
            return reply
        room.leave()
        if not isinstance(request, Fetch):
            return await self._ask_patiently(caller, request)
        # One batch says as well as a megabyte that there is something.
        news = await self._ask_patiently(caller, evolve(request, max_bytes=1))
        if _is_empty(news) or isinstance(news, Refusal):
            return news
        del news
        return await self._broker.ask(caller, at_once) if await room.enter(PAGE_BYTES) else _OVERLOADED

    async def _ask_patiently(self, caller: Caller, request: _Waiting | WatchGroup) -> Reply:
        if request.wait_ns <= 0:
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


def _is_empty(reply: Reply) -> bool:
    """Whether an answer with messages has none."""
    if isinstance(reply, Fetched):
        return not len(reply.batches)
    return isinstance(reply, Polled | PolledWork) and not reply.parts
