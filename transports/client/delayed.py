"""Messages that are published and not yet delivered: looked at, called off, put off; `gq.delayed`.

Each is known by its topic, its partition, and the offset that the answer to its publish told, which has nothing to do
with the one it will have once it is delivered.
"""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import TypeAlias

from attrs import define

from goqueue.core.requests.delays import CancelDelayed, GetDelayed, ListDelayed, RescheduleDelayed
from goqueue.core.requests.delays import DelayedMessage as Found
from goqueue.core.requests.messages import Due
from goqueue.proto import delays, v1
from goqueue.transports.client.brokers import Brokers
from goqueue.transports.client.times import due_of, moment_of

LIMIT_MAX = 10_000
Place: TypeAlias = tuple[int, int, int]


@define
class DelayedMessage:
    """A message that is kept back until `deliver_at`; what is in it is known of a single one that was asked for."""

    topic: str
    partition: int
    offset: int
    deliver_at: datetime
    priority: str
    key: bytes | None = None
    value: bytes | None = None
    header_pairs: tuple[tuple[str, bytes | None], ...] = ()

    @property
    def headers(self) -> dict[str, bytes | None]:
        """Its headers by name; of those with the same name the last."""
        return dict(self.header_pairs)


@define
class DelayedPage:
    """Some of them, the first due first; how many there are in all; what to go on from, None when that is the end."""

    messages: list[DelayedMessage]
    count: int
    after: Place | None


class Delayed:
    """The delayed messages of a broker."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers

    async def list(self, topic: str, *, limit: int = 100, after: Place | None = None) -> DelayedPage:
        """A page of what waits in a topic; `after` is that of the page before."""
        if not 1 <= limit <= LIMIT_MAX:
            raise ValueError(f"limit is from 1 to {LIMIT_MAX}, not {limit}")
        request = delays.list_delayed_message(ListDelayed(topic, limit, after))
        reply = delays.read_delayed_list(await self._brokers.call("Delays/List", request, v1.ListDelayedReply, topic))
        return DelayedPage([_message(each) for each in reply.messages], reply.count, reply.after)

    async def all(self, topic: str) -> AsyncIterator[DelayedMessage]:
        """All that waits in a topic, page by page."""
        after: Place | None = None
        while True:
            page = await self.list(topic, limit=1000, after=after)
            for message in page.messages:
                yield message
            after = page.after
            if after is None:
                return

    async def get(self, topic: str, partition: int, offset: int) -> DelayedMessage:
        """One of them, with what is in it; raises DelayedNotFound."""
        request = delays.get_delayed_message(GetDelayed(topic, partition, _place(partition, offset)))
        return _message(delays.read_delayed(await self._brokers.call("Delays/Get", request, v1.DelayedMessage, topic)))

    async def cancel(self, topic: str, partition: int, offset: int) -> None:
        """Never deliver it; raises DelayedNotFound once it was delivered or cancelled."""
        request = delays.cancel_delayed_message(CancelDelayed(topic, partition, _place(partition, offset)))
        await self._brokers.call("Delays/Cancel", request, v1.CancelDelayedReply, topic, once=True)

    async def reschedule(
        self,
        topic: str,
        partition: int,
        offset: int,
        *,
        delay: timedelta | None = None,
        deliver_at: datetime | None = None,
    ) -> DelayedMessage:
        """Deliver it so long from now, or at that time, sooner or later than it was."""
        if delay is None and deliver_at is None:
            raise ValueError("say when it is to be delivered: after a delay, or deliver_at a time")
        due, time_ms = due_of(delay, deliver_at)
        delay_ms, due_ms = (0, time_ms) if due is Due.AT else (time_ms, None)
        verb = RescheduleDelayed(topic, partition, _place(partition, offset), delay_ms, due_ms)
        request = delays.reschedule_delayed_message(verb)
        reply = await self._brokers.call("Delays/Reschedule", request, v1.DelayedMessage, topic, once=True)
        return _message(delays.read_delayed(reply))


def _place(partition: int, offset: int) -> int:
    if partition < 0 or offset < 0:
        raise ValueError(f"a delayed message is known by a partition and an offset from 0 on, not {partition}/{offset}")
    return offset


def _message(found: Found) -> DelayedMessage:
    return DelayedMessage(
        found.topic,
        found.partition,
        found.offset,
        moment_of(found.due_ms),
        found.lane.name.lower(),
        None if found.key is None else bytes(found.key),
        None if found.value is None else bytes(found.value),
        found.headers,
    )
