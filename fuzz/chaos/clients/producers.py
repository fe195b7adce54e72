"""Producers: many messages under way at once, numbered or not, now or later, and now and then one is cancelled."""

from datetime import timedelta
from random import Random
from typing import Any

import trio
from attrs import define, field

from goqueue.fuzz.chaos.clients.crew import JOBS, LOG, Crew
from goqueue.fuzz.histories.operation import Operation, Verb
from goqueue.transports.client.connection import Connection
from goqueue.transports.client.errors import ClientError
from goqueue.transports.client.messages import Published
from goqueue.transports.client.producer import Pending, Producer

_KEYS = 40
_FILLER = b"." * 80
_UNSETTLED_MAX = 2_000
_DELAYS_MS = (200, 1_000, 3_000)
_PATIENCE_S = (5, 20, 60)


@define(eq=False)
class Publisher:
    """Sends messages that no other is like to one topic; with `numbered` off, as one that is not idempotent."""

    crew: Crew
    process: str
    topic: str
    numbered: bool = True
    later: bool = False
    _random: Random = field(init=False)
    _count: int = field(default=0, init=False)
    _room: trio.Semaphore = field(factory=lambda: trio.Semaphore(_UNSETTLED_MAX), init=False)

    def __attrs_post_init__(self) -> None:
        self._random = self.crew.random(self.process)

    async def run(self) -> None:
        """Until told to stop, and until all is answered."""
        await self.crew.persist(self.process, self.crew.stopping, self._produce)

    async def _produce(self) -> None:
        crew, patience = self.crew, timedelta(seconds=self._random.choice(_PATIENCE_S))
        async with (
            crew.connection(self.process) as gq,
            gq.producer(idempotent=self.numbered, delivery_timeout=patience) as producer,
            trio.open_nursery() as nursery,
        ):
            while not crew.stopping.is_set():
                await self._room.acquire()
                await self._send(gq, producer, nursery)
                await crew.rest(crew.stopping, self._random.uniform(0.2, 1.8) / crew.rate)

    async def _send(self, gq: Connection, producer: Producer, nursery: trio.Nursery) -> None:
        self._count += 1
        value, random = f"{self.process}:{self._count}", self._random
        key = f"key-{random.randrange(_KEYS)}" if self.topic == JOBS or random.random() < 0.5 else None
        if self.later:
            delay_ms = random.choice(_DELAYS_MS)
            operation = self._begin(Verb.PUBLISH_LATER, value, key, delay_ms=delay_ms, due_ms=None)
            delay = timedelta(milliseconds=delay_ms)
        else:
            operation = self._begin(
                Verb.PUBLISH, value, key, lane="normal", acks="all", atomic=False, ordered=self.numbered
            )
            delay = None
        try:
            content = value.encode() + b"|" + _FILLER
            pending = await producer.send(self.topic, content, key=key, delay=delay)
        except ClientError as error:
            self._room.release()
            self.crew.conclude(operation, error)
        else:
            nursery.start_soon(self._await, gq, operation, value, pending)

    def _begin(self, verb: Verb, value: str, key: str | None, **others: Any) -> Operation:  # noqa: ANN401 - plain data
        return self.crew.recorder.begin(
            self.process, verb, topic=self.topic, values=[value], key=key, numbered=self.numbered, ttl=False, **others
        )

    async def _await(self, gq: Connection, operation: Operation, value: str, pending: Pending) -> None:
        try:
            published = await pending
        except ClientError as error:
            self.crew.conclude(operation, error)
            return
        finally:
            self._room.release()
        told: dict[str, Any] = {"partition": published.partition, "offsets": [published.offset]}
        if self.later:
            told["due_ms"] = published.deliver_at_ms
        self.crew.recorder.ok(operation, **told)
        if self.later and self._random.random() < 0.2:
            await self._cancel(gq, value, published)
        else:
            self.crew.acknowledged.setdefault(self.topic, set()).add(value)

    async def _cancel(self, gq: Connection, value: str, published: Published) -> None:
        at = {"topic": self.topic, "partition": published.partition, "offset": published.offset}
        operation = self.crew.recorder.begin(self.process, Verb.CANCEL, value=value, **at)
        try:
            await gq.delayed.cancel(self.topic, published.partition, published.offset)
        except ClientError as error:
            self.crew.conclude(operation, error)
        else:
            self.crew.recorder.ok(operation)


def publishers(crew: Crew) -> list[Publisher]:
    """All producers of a storm."""
    return [
        Publisher(crew, "p0", LOG), Publisher(crew, "p1", LOG), Publisher(crew, "p2", LOG, numbered=False),
        Publisher(crew, "j0", JOBS), Publisher(crew, "j1", JOBS), Publisher(crew, "d0", JOBS, later=True),
    ]  # fmt: skip
