"""A courier carries a producer's parcels to one address and brings back the answers, over one stream at a time.

It sends what the session gives it, in that order, and reports every answer and every loss; what follows from them is
the session's business. When its stream ends, for whatever reason, it tells the session that nothing more will be
answered, waits a while, longer each time, and begins another one.
"""

from typing import Protocol

from attrs import define
from grpclib.exceptions import GRPCError

from goqueue.core.client.session import Session
from goqueue.core.requests.messages import Due
from goqueue.core.timers.backoff import Backoff
from goqueue.transports.client import lost
from goqueue.transports.client.brokers import Brokers
from goqueue.transports.client.channel import CallStream
from goqueue.transports.client.envelopes import publish_front, publish_head, read_publish_reply
from goqueue.transports.client.loops import SECOND_NS, Task

# It may be another broker that is asked then.
_PAUSE_LONGEST_NS = SECOND_NS
PUBLISH_STREAM = "/goqueue.v1.Messages/PublishStream"


class Publisher(Protocol):
    """Whom a courier works for."""

    def stirred(self) -> None:
        """The session's state has changed: see who has been waiting for it."""
        ...


@define
class _Round:
    """One stream, and whether it still answers."""

    stream: CallStream
    is_over: bool = False


class Sender:
    """See the module."""

    def __init__(self, brokers: Brokers, session: Session, publisher: Publisher, address: str, acks: int) -> None:
        self._brokers = brokers
        self._session = session
        self._publisher = publisher
        self._address = address
        self._acks = acks
        self._parking = brokers.loop.parking()
        self._heads: dict[tuple[str, int, Due], bytes] = {}
        self._backoff = Backoff(brokers.random, longest_ns=_PAUSE_LONGEST_NS)
        self._attempts = 0
        self._carrying: Task | None = None
        self._task = brokers.loop.start(self._run)

    def wake(self) -> None:
        """There is something to carry."""
        self._parking.wake()

    def reset(self) -> None:
        """Begin another stream; the one under way is of no use."""
        if self._carrying is not None:
            self._carrying.cancel()

    def stop(self) -> None:
        """Carry nothing more."""
        self.reset()
        self._task.cancel()

    async def _run(self) -> None:
        loop = self._brokers.loop
        while True:
            self._carrying = loop.start(self._carry)
            await self._carrying.wait()
            self._session.lost(loop.now(), self._address)
            self._publisher.stirred()
            self._attempts += 1
            await loop.pause(self._backoff.delay_ns(self._attempts))

    async def _carry(self) -> None:
        """Until the stream ends, or cannot be begun."""
        try:
            channel = await self._brokers.channel(self._address)
            # What is numbered may be sent twice.
            stays = not (self._session.terms.is_idempotent and self._brokers.has_others)
            async with channel.stream(PUBLISH_STREAM, stays=stays) as stream:
                current = _Round(stream)
                receiving = self._brokers.loop.start(lambda: self._receive(current))
                try:
                    await self._send(current)
                finally:
                    receiving.cancel()
            if channel.alive:
                self._brokers.turn_from(channel)
        except (GRPCError, lost.ConnectionLost):
            # What it comes down to is the same for all of them: whatever was not answered is sent again.
            return

    async def _send(self, current: _Round) -> None:
        session, loop, send = self._session, self._brokers.loop, current.stream.send_parts
        while not current.is_over:
            parcels = session.take(loop.now(), self._address)
            for parcel in parcels:
                # While the one before waited for room, this one may have been given up.
                content = parcel.content
                if parcel.request_id and content is not None:
                    pipeline = parcel.pipeline
                    head = self._head(pipeline.topic, pipeline.partition, parcel.due)
                    await send(publish_front(head, parcel.request_id, self._acks, len(content)), content)
            current.stream.flush()
            if session.wants_identity:
                self._publisher.stirred()
            if not parcels:
                await self._parking.wait()

    def _head(self, topic: str, partition: int, due: Due) -> bytes:
        head = self._heads.get((topic, partition, due))
        if head is None:
            head = self._heads[topic, partition, due] = publish_head(topic, partition, due)
        return head

    async def _receive(self, current: _Round) -> None:
        session, address, receive = self._session, self._address, current.stream.receive
        try:
            while bodies := await receive():
                now = self._brokers.loop.now()
                for body in bodies:
                    request_id, offset, latest_ms, failure = read_publish_reply(body)
                    if failure is None:
                        session.acknowledged(now, address, request_id, offset, latest_ms)
                        self._attempts = 0
                    else:
                        session.refused(now, address, request_id, failure)
                self._publisher.stirred()
        except (GRPCError, lost.ConnectionLost):
            return
        except ValueError:
            # Whoever sends such bytes cannot be told; the stream may be waiting for room, and is broken off.
            self.reset()
        finally:
            current.is_over = True
            self._parking.wake()
