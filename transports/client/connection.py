"""The way in: `connect` gives something to enter, and what it gives then makes producers and consumers.

With `async with` it runs in trio or asyncio, whichever is running; with `with` it needs neither. Entering makes a first
connection, so that a wrong address is noticed at once. From then on connections come and go unnoticed.
"""

import ssl
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Unpack

from goqueue.transports.client import lost
from goqueue.transports.client.brokers import Brokers
from goqueue.transports.client.channel import split_address
from goqueue.transports.client.consumer import Consumer, Start, Stop, consumer_terms
from goqueue.transports.client.dead_letters import DeadLetters
from goqueue.transports.client.delayed import Delayed
from goqueue.transports.client.errors import error_of, failure_of
from goqueue.transports.client.group_consumer import (
    COMMIT_INTERVAL,
    SESSION_TIMEOUT,
    GroupConsumer,
    group_terms,
)
from goqueue.transports.client.groups import Groups
from goqueue.transports.client.handover import Hooks, Told
from goqueue.transports.client.loops import Loop, running_loop
from goqueue.transports.client.policies import AckPolicy
from goqueue.transports.client.producer import Producer
from goqueue.transports.client.producer_terms import producer_terms
from goqueue.transports.client.settings import SettingGiven
from goqueue.transports.client.subscribers import GRACE, Service, Subscribers, W
from goqueue.transports.client.times import nanoseconds_of
from goqueue.transports.client.topics import Topics
from goqueue.transports.client.work_consumer import PREFETCH, PREFETCH_BYTES, WorkConsumer, WorkOptions, work_plan

if TYPE_CHECKING:
    from goqueue.transports.client.blocking import BlockingConnection

LINGER = timedelta(milliseconds=5)
DELIVERY_TIMEOUT = timedelta(minutes=2)
TIMEOUT = timedelta(seconds=30)


class Connection:
    """A tie to the brokers, on a loop that the caller has entered."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self.topics = Topics(brokers)
        self.groups = Groups(brokers)
        self.delayed = Delayed(brokers)
        self.dlq = DeadLetters(brokers)
        self._subscribers = Subscribers()
        self._service: Service | None = None

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
    ) -> Producer:
        """A producer to be entered; docs/client.md says what the options mean."""
        terms = producer_terms(acks, linger, batch_bytes, compression, idempotent, delivery_timeout, buffer_bytes)
        return Producer(self._brokers, terms)

    def consumer(
        self,
        topic: str,
        *,
        start: Start = "latest",
        stop: Stop = None,
        partitions: int | Sequence[int] | None = None,
    ) -> Consumer:
        """A consumer of one topic to be entered: from `start` on, up to before `stop` or for ever.

        Both are an offset, an aware datetime or "latest"; `start` also "earliest" or a timedelta, for that long ago.
        """
        return Consumer(self._brokers, consumer_terms(topic, start, stop, partitions))

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
    ) -> GroupConsumer:
        """A member of a group, to be entered; docs/client.md says what the options mean."""
        hooks = Hooks(on_assigned, on_revoked, on_lost)
        terms = group_terms(
            group, topics, instance_id, client_id, session_timeout, assignor, start, commit,
            commit_interval, hooks,
        )  # fmt: skip
        return GroupConsumer(self._brokers, terms)

    def work_consumer(
        self,
        group: str,
        *topics: str | Sequence[str],
        prefetch: int = PREFETCH,
        prefetch_bytes: int = PREFETCH_BYTES,
        ack: AckPolicy | str = AckPolicy.MANUAL,
        visibility_timeout: timedelta | None = None,
        key_ordered: bool | None = None,
        max_in_flight: int | None = None,
        max_attempts: int | None = None,
        start: str = "earliest",
        instance_id: str = "",
        client_id: str = "",
        session_timeout: timedelta = SESSION_TIMEOUT,
    ) -> WorkConsumer:
        """A member of a shared group, to be entered: each message goes to one member, who says what became of it."""
        settings: dict[str, SettingGiven] = {
            "start": start,
            "key_ordered": key_ordered,
            "max_in_flight": max_in_flight,
            "max_attempts": max_attempts,
        }
        plan = work_plan(
            group, topics, prefetch, prefetch_bytes, ack, visibility_timeout, settings, instance_id, client_id,
            session_timeout, self._brokers.timeout_ns,
        )  # fmt: skip
        return WorkConsumer(self._brokers, plan)

    def subscriber(
        self,
        *topics: str | Sequence[str],
        group: str,
        ack: AckPolicy | str = AckPolicy.NACK_ON_ERROR,
        workers: int = 1,
        **options: Unpack[WorkOptions],
    ) -> Callable[[W], W]:
        """Have an async function called with each message of these topics, once `run` runs; a decorator.

        `ack` is "ack_first", "ack", "nack_on_error", "reject_on_error" or "manual"; the options are those of
        `work_consumer`.
        """
        consumer = partial(self.work_consumer, group, *topics, **options)
        return self._subscribers.registrar(ack, workers, consumer, is_async=True)

    async def run(self, *, grace: timedelta = GRACE) -> None:
        """Call the functions that were registered, until SIGTERM, `stop`, or until this is cancelled.

        What was begun by then is finished, within `grace`; what was not is handed back.
        """
        assert self._service is None, "a connection runs its subscribers once at a time"
        self._service = Service(self._brokers.loop, self._subscribers.all())
        try:
            await self._service.run(grace)
        finally:
            self._service = None

    def stop(self) -> None:
        """Have `run` come to its end."""
        if self._service is not None:
            self._service.stop()

    async def open(self) -> None:
        """Make the first connection; raises ConnectionLost if there is nobody."""
        try:
            await self._brokers.open()
        except lost.ConnectionLost as error:
            raise error_of(failure_of(error)) from error

    async def close(self) -> None:
        """Close all connections."""
        await self._brokers.close()


class Connecting:
    """What `connect` gives: to be entered with `async with` on trio or asyncio, with `with` anywhere else."""

    def __init__(
        self, addresses: Sequence[str], tls: ssl.SSLContext | None, timeout_ns: int, random: Random | None
    ) -> None:
        self._addresses = addresses
        self._tls = tls
        self._timeout_ns = timeout_ns
        self._random = random
        self._loop: Loop | None = None
        self._connection: Connection | None = None
        self._blocking: BlockingConnection | None = None

    def connection(self, loop: Loop) -> Connection:
        """The connection on a loop, which is not opened yet."""
        return Connection(
            Brokers(loop, self._addresses, tls=self._tls, timeout_ns=self._timeout_ns, random=self._random)
        )

    def __enter__(self) -> "BlockingConnection":
        from goqueue.transports.client.blocking import BlockingConnection  # noqa: PLC0415 - it builds on this module

        blocking = BlockingConnection(self.connection)
        blocking.open()
        self._blocking = blocking
        return blocking

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        assert self._blocking is not None
        self._blocking.close(error)

    async def __aenter__(self) -> Connection:
        assert self._loop is None, "a connection is entered once"
        loop = self._loop = running_loop()
        connection = self._connection = self.connection(loop)
        await loop.__aenter__()
        try:
            await connection.open()
        except BaseException as error:
            await loop.__aexit__(type(error), error, error.__traceback__)
            raise
        return connection

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> bool | None:
        assert self._loop is not None
        assert self._connection is not None
        try:
            if error is None:
                await self._connection.close()
        finally:
            swallowed = await self._loop.__aexit__(kind, error, trace)
        return swallowed


def connect(
    address: str, *, tls: ssl.SSLContext | None = None, timeout: timedelta = TIMEOUT, random: Random | None = None
) -> Connecting:
    """A connection to the brokers at `host:port`, or at several with commas between, to be entered.

    `timeout` is how long one call may take, with all its attempts; `random` spreads those of many clients.
    """
    addresses = [each.strip() for each in address.split(",")]
    for each in addresses:
        split_address(each)
    return Connecting(addresses, tls, nanoseconds_of(timeout, "timeout", least=timedelta(milliseconds=1)), random)
