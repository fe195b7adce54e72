"""The way from a task to the brokers: batches in, acknowledgements awaited, and what an earlier attempt stored counted.

The network is the client library's, whose producer takes batches that are encoded and numbered already: it finds the
leaders, keeps five batches of a partition under way, sends again what got no answer, waits as long as the broker says.
What is handed in and not acknowledged is bounded, so a broker that cannot keep up slows the task down.

A batch whose offset lies before the end that the partition had when the task began, or that the broker calls a
duplicate, was stored by an earlier attempt; `mending` finds what that one stored in other batches. Where the broker
says at which offset it is read back and compared: rows that come in another order at the second attempt would be lost
or stored twice without a sign. That sees the last batches of the earlier attempt, which are those whose places the
broker remembers.
"""

import ssl
from collections import deque
from typing import NoReturn, Self

from attrs import define, field

from goqueue.core.client.failure import Failure
from goqueue.core.client.record_batch import RecordBatch
from goqueue.core.client.routing import Layout
from goqueue.core.client.terms import Terms
from goqueue.core.records.batch import locate, read_header
from goqueue.core.records.record import iterate
from goqueue.core.records.varint import Readable
from goqueue.core.requests.refusals import Code
from goqueue.proto import v1
from goqueue.spark.sinking.errors import MismatchError, UnwritableError
from goqueue.spark.sinking.mending import divided
from goqueue.spark.sinking.options import WriteOptions
from goqueue.spark.sinking.packing import Packed
from goqueue.transports.client import lost
from goqueue.transports.client.blocking_loop import BlockingLoop
from goqueue.transports.client.brokers import Brokers
from goqueue.transports.client.errors import ClientError, OffsetOutOfRange, error_of, failure_of
from goqueue.transports.client.producer import Producer
from goqueue.transports.client.producer_terms import ProducerTerms
from goqueue.transports.client.topics import Topics, layout_of

_ORDER = (
    "the rows must come in the same order, in the same tasks, whenever a task is run again: sort them before they are"
    " written, and do not use the name of a job for other rows"
)
_ADVICE = {
    str(Code.OUT_OF_ORDER): f"an earlier attempt has stored other batches here; {_ORDER}",
    str(Code.FENCED): "a later batch of this query was written already: this attempt came too late, or the query was"
    " begun again under a name, or from a checkpoint, that is older than what it wrote",
}


@define
class Tally:
    """What a task has published: rows and bytes, and of these the rows that an earlier attempt had stored."""

    rows: int = 0
    bytes: int = 0
    found: int = 0
    delayed: int = 0
    # How many batches of an earlier attempt were read back, and were the same.
    compared: int = 0


@define
class Target:
    """A topic as a task finds it: its layout, and where each partition ended; -1 if nobody could say."""

    layout: Layout
    ends: list[int]


@define(eq=False)
class Outlet:
    """A connection of one task, to be used as a block; `finish` it before it is left. Raises ClientError throughout."""

    options: WriteOptions
    tally: Tally = field(factory=Tally)
    _loop: BlockingLoop = field(factory=BlockingLoop)
    _pending: deque[tuple[RecordBatch, Packed]] = field(factory=deque)
    _targets: dict[str, Target] = field(factory=dict)
    _is_open: bool = False
    _brokers: Brokers = field(init=False)
    _producer: Producer = field(init=False)

    def __attrs_post_init__(self) -> None:
        options = self.options
        self._brokers = Brokers(self._loop, options.addresses, tls=_tls(options))
        terms = Terms(is_numbered=True, delivery_timeout_ns=options.delivery_timeout_ns)
        self._producer = Producer(self._brokers, ProducerTerms(options.acks, options.buffer_bytes, terms))

    def __enter__(self) -> Self:
        """Make a first connection; raises ConnectionLost if there is nobody."""
        try:
            self._loop.run(self._open())
        except BaseException as error:
            self._close(error)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Close the connection; what is under way then may be stored or not."""
        self._close(error)

    def target(self, topic: str) -> Target:
        """A topic, asked for once."""
        target = self._targets.get(topic)
        if target is None:
            target = self._targets[topic] = self._loop.run(self._find(topic))
        return target

    def kept_hours(self, topic: str) -> int:
        """How long a topic keeps messages; -1 for ever."""
        config = self._loop.run(Topics(self._brokers).describe(topic)).config
        return int(config["retention_hours"])

    def send(self, packed: Packed) -> None:
        """Have a batch published; waits while too much is under way, and raises what went wrong with an earlier one."""
        self.target(packed.topic)
        try:
            parcel = self._loop.run(self._producer.hand_in(packed.topic, packed.partition, packed.content))
        except ClientError:
            # What went wrong with an earlier batch says more.
            self._reap()
            raise
        self._pending.append((parcel, packed))
        self._reap()

    def finish(self) -> Tally:
        """Wait until all is acknowledged. Raises UnwritableError, MismatchError."""
        while self._pending:
            self._loop.run(self._producer.until_settled(self._pending[0][0]))
            self._reap()
        if self.tally.delayed:
            self._loop.run(self._producer.flush())
        return self.tally

    def pause(self, duration_ns: int) -> None:
        """Wait, while what is under way goes on."""
        self._loop.run(self._loop.pause(duration_ns))

    @property
    def producer(self) -> Producer:
        """For rows that travel one by one; `finish` waits for them too."""
        return self._producer

    @property
    def loop(self) -> BlockingLoop:
        """What runs the connection."""
        return self._loop

    # --- outcomes

    def _reap(self) -> None:
        pending = self._pending
        while pending and pending[0][0].is_settled:
            parcel, packed = pending.popleft()
            if parcel.failure is None:
                self._stored(packed, parcel.offset)
            else:
                self._mend(packed, parcel.failure)

    def _stored(self, packed: Packed, offset: int) -> None:
        """A batch is in the log, at an offset if that is known."""
        self.tally.rows += packed.count
        self.tally.bytes += len(packed.content)
        if offset < self._targets[packed.topic].ends[packed.partition]:
            self.tally.found += packed.count
            if offset >= 0:
                self._compare(packed, offset)

    def _mend(self, packed: Packed, failure: Failure) -> None:
        """Find a refused batch in the pieces in which it is stored, and send what is not. See `mending`."""
        rest = packed
        while failure.code == Code.OUT_OF_ORDER:
            parcel = self._try(rest)
            if parcel.failure is None:
                self._stored(rest, parcel.offset)
                return
            failure = parcel.failure
            if not 0 < failure.divide_at < rest.count:
                break
            front, rest = divided(rest, failure.divide_at)
            parcel = self._try(front)
            if parcel.failure is not None:
                self._fail(front, parcel.failure)
            self._stored(front, parcel.offset)
        self._fail(rest, failure)

    def _try(self, packed: Packed) -> RecordBatch:
        """Send a batch, and wait for what becomes of it."""
        parcel = self._loop.run(self._producer.hand_in(packed.topic, packed.partition, packed.content))
        self._loop.run(self._producer.until_settled(parcel))
        return parcel

    def _fail(self, packed: Packed, failure: Failure) -> NoReturn:
        error = error_of(failure, packed.topic)
        advice = _ADVICE.get(error.code, "")
        kind = MismatchError if error.code == Code.OUT_OF_ORDER else UnwritableError
        said = f"{_rows(packed)}, refused: {error}"
        raise kind(f"{said}; {advice}" if advice else said) from error

    def _compare(self, packed: Packed, offset: int) -> None:
        """Whether an earlier attempt stored these rows there."""
        try:
            stored = self._loop.run(self._fetch(packed, offset))
        except OffsetOutOfRange:
            # Retention was here, and took what could have told.
            return
        if not stored:
            return
        self.tally.compared += 1
        # Where the rows bear times of their own, the earlier attempt must have stored the same ones.
        with_times = packed.has_times
        if contents_of(stored, with_times=with_times) != contents_of(packed.content, with_times=with_times):
            raise MismatchError(f"{_rows(packed)}, are not those that are stored at offset {offset}; {_ORDER}")

    async def _fetch(self, packed: Packed, offset: int) -> Readable:
        """The stored batch; nothing if compaction has been at it."""
        request = v1.FetchRequest(packed.topic, packed.partition, offset, 1, 0)
        reply = await self._brokers.call("Messages/Fetch", request, v1.FetchReply, packed.topic)
        if not reply.batches:
            return b""
        header, own = locate(reply.batches), read_header(packed.content)
        whole = header.base_offset == offset and header.record_count == own.record_count
        return memoryview(reply.batches)[: header.size] if whole else b""

    # --- the connection

    async def _open(self) -> None:
        try:
            await self._brokers.open()
        except lost.ConnectionLost as error:
            raise error_of(failure_of(error)) from error
        await self._producer.__aenter__()
        self._is_open = True

    def _close(self, error: BaseException | None) -> None:
        async def close() -> None:
            try:
                left = UnwritableError("the task was left") if error is None else error
                if self._is_open:
                    await self._producer.__aexit__(type(left), left, None)
                await self._brokers.close()
            finally:
                await self._loop.__aexit__(type(error) if error else None, error, None)

        self._loop.run(close())

    async def _find(self, topic: str) -> Target:
        layout = await layout_of(self._brokers, topic)
        ends = [-1] * len(layout.leaders)
        for partition in await Topics(self._brokers).partitions(topic):
            if partition.partition < len(ends):
                ends[partition.partition] = partition.end_offset
        return Target(layout, ends)


def contents_of(batch: Readable, *, with_times: bool) -> list[tuple[object, ...]]:
    """What the rows of a batch say, without their times where these were the broker's or the task's to choose."""
    return [(one.timestamp if with_times else 0, one.key, one.value, one.headers) for one in iterate(batch)]


def _rows(packed: Packed) -> str:
    rows = "a row" if packed.count == 1 else f"{packed.count} rows"
    return (
        f"partition {packed.partition} of {packed.topic}: {rows}, the first of them row {packed.first_row} of the task"
    )


def _tls(options: WriteOptions) -> ssl.SSLContext | None:
    if not options.tls and not options.tls_ca:
        return None
    return ssl.create_default_context(cafile=options.tls_ca or None)
