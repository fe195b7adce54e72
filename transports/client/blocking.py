"""The client's face without a loop: the same names, and no `await`.

Every call runs what there is to run until it has what it wants; see `blocking_loop.py`. So messages that were sent are
on their way by the next call at the latest, and `flush`, `result` or leaving the producer's block is that call. All of
a connection belongs to one thread at a time: who calls while another call is under way gets a RuntimeError.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Self, TypeAlias, Unpack

from goqueue.transports.client.blocking_group_consumer import BlockingGroupConsumer, BlockingHooks, Told
from goqueue.transports.client.blocking_groups import BlockingGroups
from goqueue.transports.client.blocking_loop import BlockingLoop
from goqueue.transports.client.blocking_queues import BlockingDeadLetters, BlockingDelayed
from goqueue.transports.client.blocking_service import BlockingService
from goqueue.transports.client.blocking_work_consumer import BlockingWorkConsumer
from goqueue.transports.client.connection import DELIVERY_TIMEOUT, LINGER, Connection
from goqueue.transports.client.consumer import Consumer, Start, Stop
from goqueue.transports.client.contents import Content, HeadersGiven
from goqueue.transports.client.errors import CorruptBatch
from goqueue.transports.client.group_consumer import COMMIT_INTERVAL, SESSION_TIMEOUT
from goqueue.transports.client.loops import Loop
from goqueue.transports.client.messages import Message, Published
from goqueue.transports.client.policies import AckPolicy
from goqueue.transports.client.producer import Pending, Producer
from goqueue.transports.client.settings import SettingGiven
from goqueue.transports.client.subscribers import Subscribers, W
from goqueue.transports.client.times import nanoseconds_of
from goqueue.transports.client.topics import Partition, Topic, Topics
from goqueue.transports.client.work_consumer import WorkOptions

# Within a class `list` is a method.
_TopicList: TypeAlias = list[Topic]
_PartitionList: TypeAlias = list[Partition]


class BlockingTopics:
    """See Topics."""

    def __init__(self, loop: BlockingLoop, topics: Topics) -> None:
        self._loop = loop
        self._topics = topics

    def create(
        self,
        name: str,
        partitions: int = 0,
        *,
        replication_factor: int = 0,
        config: Mapping[str, SettingGiven] | None = None,
    ) -> Topic:
        """See Topics."""
        return self._loop.run(
            self._topics.create(name, partitions, replication_factor=replication_factor, config=config)
        )

    def list(self) -> _TopicList:
        """See Topics."""
        return self._loop.run(self._topics.list())

    def describe(self, name: str) -> Topic:
        """See Topics."""
        return self._loop.run(self._topics.describe(name))

    def alter(self, name: str, config: Mapping[str, SettingGiven]) -> Topic:
        """See Topics."""
        return self._loop.run(self._topics.alter(name, config))

    def delete(self, name: str) -> None:
        """See Topics."""
        self._loop.run(self._topics.delete(name))

    def partitions(self, name: str) -> _PartitionList:
        """See Topics."""
        return self._loop.run(self._topics.partitions(name))


class BlockingPending:
    """What will become of a message: ask for its `result`, now or later or never."""

    __slots__ = ("_loop", "_pending")

    def __init__(self, loop: BlockingLoop, pending: Pending) -> None:
        self._loop = loop
        self._pending = pending

    @property
    def done(self) -> bool:
        """Whether it is known; it becomes so during calls only."""
        return self._pending.done

    def result(self, timeout: timedelta | None = None) -> Published:
        """Where the message went, as soon as that is known; raises TimeoutError, or ClientError if it went nowhere."""
        pending = self._pending
        if pending.done:
            return pending.result()
        if timeout is None:
            return self._loop.run(pending.wait())
        due = self._loop.now() + nanoseconds_of(timeout, "timeout")
        if not self._loop.run(self._loop.within(due, pending.wait)) and not pending.done:
            raise TimeoutError(f"no answer within {timeout}; the message is still on its way")
        return pending.result()


class BlockingProducer:
    """See Producer."""

    def __init__(self, loop: BlockingLoop, producer: Producer) -> None:
        self._loop = loop
        self._producer = producer

    def __enter__(self) -> Self:
        """Begin."""
        self._loop.run(self._producer.__aenter__())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Send everything and wait for the answers; after an error, drop what was not sent."""
        self._loop.run(self._producer.__aexit__(kind, error, trace))

    def send(
        self,
        topic: str,
        value: Content | None,
        *,
        key: Content | None = None,
        headers: HeadersGiven | None = None,
        partition: int | None = None,
        timestamp: datetime | None = None,
        priority: str = "normal",
        delay: timedelta | None = None,
        deliver_at: datetime | None = None,
        ttl: timedelta | None = None,
    ) -> BlockingPending:
        """See Producer."""
        pending = self._loop.run(
            self._producer.send(
                topic, value, key=key, headers=headers, partition=partition, timestamp=timestamp, priority=priority,
                delay=delay, deliver_at=deliver_at, ttl=ttl,
            )
        )  # fmt: skip
        return BlockingPending(self._loop, pending)

    def publish(
        self,
        topic: str,
        value: Content | None,
        *,
        key: Content | None = None,
        headers: HeadersGiven | None = None,
        partition: int | None = None,
        timestamp: datetime | None = None,
        priority: str = "normal",
        delay: timedelta | None = None,
        deliver_at: datetime | None = None,
        ttl: timedelta | None = None,
    ) -> Published:
        """See Producer."""
        return self._loop.run(
            self._producer.publish(
                topic, value, key=key, headers=headers, partition=partition, timestamp=timestamp, priority=priority,
                delay=delay, deliver_at=deliver_at, ttl=ttl,
            )
        )  # fmt: skip

    def flush(self) -> None:
        """See Producer."""
        self._loop.run(self._producer.flush())

    @property
    def buffered_bytes(self) -> int:
        """See Producer."""
        return self._producer.buffered_bytes


class BlockingConsumer:
    """See Consumer; it is used in `for`."""

    def __init__(self, loop: BlockingLoop, consumer: Consumer) -> None:
        self._loop = loop
        self._consumer = consumer

    def __enter__(self) -> Self:
        """Find out where to begin."""
        self._loop.run(self._consumer.__aenter__())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Break the subscription off."""
        self._loop.run(self._consumer.__aexit__(kind, error, trace))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Message:
        # What is at hand needs no loop: this is the step of `__anext__` that waits for nothing.
        for message in self._consumer._messages:
            return message
        try:
            return self._loop.run(self._consumer.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None

    def batches(self) -> "BlockingBatches":
        """See Consumer: `for batch in ...`."""
        return BlockingBatches(self._loop, self._consumer)

    def position(self, partition: int) -> int:
        """See Consumer."""
        return self._consumer.position(partition)

    def seek(self, *, offset: int | None = None, time: datetime | None = None, partition: int | None = None) -> None:
        """See Consumer."""
        self._loop.run(self._consumer.seek(offset=offset, time=time, partition=partition))

    def skip(self, error: CorruptBatch) -> None:
        """See Consumer."""
        self._consumer.skip(error)


class BlockingBatches:
    """See Batches."""

    def __init__(self, loop: BlockingLoop, consumer: Consumer) -> None:
        self._loop = loop
        self._consumer = consumer

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> list[Message]:
        try:
            return self._loop.run(self._consumer.next_batch())
        except StopAsyncIteration:
            raise StopIteration from None


class BlockingConnection:
    """See Connection."""

    def __init__(self, make: Callable[[Loop], Connection]) -> None:
        self._loop = BlockingLoop()
        self._connection = make(self._loop)
        self.topics = BlockingTopics(self._loop, self._connection.topics)
        self.groups = BlockingGroups(self._loop, self._connection.groups)
        self.delayed = BlockingDelayed(self._loop, self._connection.delayed)
        self.dlq = BlockingDeadLetters(self._loop, self._connection.dlq)
        self._subscribers = Subscribers()
        self._service: BlockingService | None = None

    def open(self) -> None:
        """Make the first connection; raises ConnectionLost if there is nobody."""
        try:
            self._loop.run(self._connection.open())
        except BaseException as error:
            self.close(error)
            raise

    def close(self, error: BaseException | None = None) -> None:
        """Close all connections; after an error, whatever is under way on them."""

        async def close() -> None:
            try:
                if error is None:
                    await self._connection.close()
            finally:
                await self._loop.__aexit__(type(error) if error else None, error, None)

        self._loop.run(close())

    def producer(
        self,
        *,
        acks: str = "all",
        linger: timedelta = LINGER,
        batch_bytes: int = 16384,
        compression: str = "none",
        idempotent: bool = True,
        delivery_timeout: timedelta = DELIVERY_TIMEOUT,
        buffer_bytes: int = 32 << 20,
    ) -> BlockingProducer:
        """See Connection."""
        producer = self._connection.producer(
            acks=acks,
            linger=linger,
            batch_bytes=batch_bytes,
            compression=compression,
            idempotent=idempotent,
            delivery_timeout=delivery_timeout,
            buffer_bytes=buffer_bytes,
        )
        return BlockingProducer(self._loop, producer)

    def consumer(
        self,
        topic: str,
        *,
        start: Start = "latest",
        stop: Stop = None,
        partitions: int | Sequence[int] | None = None,
    ) -> BlockingConsumer:
        """See Connection."""
        consumer = self._connection.consumer(topic, start=start, stop=stop, partitions=partitions)
        return BlockingConsumer(self._loop, consumer)

    def group_consumer(
        self,
        group: str,
        *topics: str | Sequence[str],
        instance_id: str = "",
        client_id: str = "",
        session_timeout: timedelta = SESSION_TIMEOUT,
        assignor: str = "",
        start: str = "earliest",
        commit: str = "auto",
        commit_interval: timedelta = COMMIT_INTERVAL,
        on_assigned: Told | None = None,
        on_revoked: Told | None = None,
        on_lost: Told | None = None,
    ) -> BlockingGroupConsumer:
        """See Connection; hooks are plain functions, which may be called in another thread, one at a time."""
        hooks = BlockingHooks()
        consumer = self._connection.group_consumer(
            group,
            *topics,
            instance_id=instance_id,
            client_id=client_id,
            session_timeout=session_timeout,
            assignor=assignor,
            start=start,
            commit=commit,
            commit_interval=commit_interval,
            on_assigned=hooks.wrap(on_assigned),
            on_revoked=hooks.wrap(on_revoked),
            on_lost=hooks.wrap(on_lost),
        )
        return BlockingGroupConsumer(self._loop, consumer, hooks)

    def work_consumer(
        self,
        group: str,
        *topics: str | Sequence[str],
        ack: AckPolicy | str = AckPolicy.MANUAL,
        **options: Unpack[WorkOptions],
    ) -> BlockingWorkConsumer:
        """See Connection."""
        return BlockingWorkConsumer(self._loop, self._connection.work_consumer(group, *topics, ack=ack, **options))

    def subscriber(
        self,
        *topics: str | Sequence[str],
        group: str,
        ack: AckPolicy | str = AckPolicy.NACK_ON_ERROR,
        **options: Unpack[WorkOptions],
    ) -> Callable[[W], W]:
        """See Connection; the function is a plain one, and is called in the thread that runs `run`."""
        consumer = partial(self._connection.work_consumer, group, *topics, **options)
        return self._subscribers.registrar(ack, 1, consumer, is_async=False)

    def run(self) -> None:
        """Call the functions that were registered, one message at a time, until SIGTERM or `stop`."""
        self._service = BlockingService(self._loop, self._subscribers.all())
        self._service.run()

    def stop(self) -> None:
        """Have `run` come to its end once the message in hand is done; from a subscriber, a signal, or a thread."""
        if self._service is not None:
            self._service.stop()
