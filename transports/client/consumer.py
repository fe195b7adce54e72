"""Reading a topic from somewhere on: messages one by one or batch by batch, with nothing lost and nothing twice.

A consumer stands somewhere in every partition that it reads and moves on with what it hands out. It keeps that place
itself, so a broker that comes back, or another one, is asked to go on from exactly there. Where to begin is found out
once, on entering the block: "latest" is what was the end then, however long the first connection takes. Who reads
all partitions and has no stop also reads those that are added later, from their beginning.

What came and was not asked for waits as bytes; what the broker has beyond that waits at the broker, since the stream's
window closes. Nothing runs beside the caller.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TypeAlias

from attrs import define

from goqueue.core.client.fetching import Cursor
from goqueue.core.requests.refusals import Code
from goqueue.proto import v1
from goqueue.transports.client.brokers import Brokers
from goqueue.transports.client.errors import ClientError, PartitionNotFound
from goqueue.transports.client.loops import SECOND_NS
from goqueue.transports.client.reading import Reader
from goqueue.transports.client.times import MILLISECOND, milliseconds_of, wall_ms
from goqueue.transports.client.topics import Partition, Topics

EARLIEST, LATEST = "earliest", "latest"
# How often partitions are looked for that were added to the topic.
LOOK_NS = 30 * SECOND_NS

Start: TypeAlias = str | int | datetime | timedelta
Stop: TypeAlias = str | int | datetime | None


@define
class _Moment:
    """A point in time, in milliseconds since 1970."""

    ms: int


@define
class ConsumerTerms:
    """What a consumer was asked to be, checked: a place is a word, an offset or a moment."""

    topic: str
    start: str | int | _Moment
    stop: str | int | _Moment | None
    partitions: list[int] | None


def consumer_terms(topic: str, start: Start, stop: Stop, partitions: int | Sequence[int] | None) -> ConsumerTerms:
    """The terms of a consumer out of what a user said; raises ValueError or TypeError."""
    if isinstance(partitions, int):
        partitions = [partitions]
    chosen = None if partitions is None else sorted(dict.fromkeys(partitions))
    if chosen is not None and (not chosen or chosen[0] < 0):
        raise ValueError(f"partitions are numbers from 0 on, at least one, not {partitions!r}")
    until = None if stop is None else _place(stop, "stop", (LATEST,))
    return ConsumerTerms(topic, _place(start, "start", (EARLIEST, LATEST)), until, chosen)


class Consumer(Reader):
    """Reads messages; made by `consumer()` of a connection, used as a block and in `async for`."""

    def __init__(self, brokers: Brokers, terms: ConsumerTerms) -> None:
        super().__init__(brokers, terms.topic)
        self._terms = terms
        # Whether partitions are read that are added later, when to look for them, and after how many broken streams.
        self._follows = terms.partitions is None and terms.stop is None
        self._look_at = 0
        self._breaks = 0

    async def __aenter__(self) -> "Consumer":
        self._fetching.begin(await self._cursors())
        self._look_at = self._loop.now() + LOOK_NS
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._subscriptions.leave()

    # --- reading

    def position(self, partition: int) -> int:
        """The offset of the next message of this partition; what was handed out lies before it."""
        return self._position_of(self._find(partition))

    async def seek(
        self, *, offset: int | None = None, time: datetime | None = None, partition: int | None = None
    ) -> None:
        """Go on from an offset, or from the first message at or after a time, in one partition or in all."""
        if (offset is None) == (time is None):
            raise TypeError("seek takes either an offset or a time")
        place = _place(offset if time is None else time, "offset" if time is None else "time", ())
        cursors = self._fetching.cursors if partition is None else [self._find(partition)]
        found = [await self._offset(place, cursor.partition) for cursor in cursors]
        # What is left of the current batch stays, if it is of a partition that does not move.
        if self._cursor in cursors:
            self._forget_batch()
        for cursor, at in zip(cursors, found, strict=True):
            self._fetching.seek(cursor, at)
        self._subscriptions.leave()

    @property
    def _is_over(self) -> bool:
        return self._fetching.is_done

    async def _attend(self) -> int | None:
        if not self._follows:
            return None
        if self._subscriptions.breaks != self._breaks or self._loop.now() >= self._look_at:
            await self._look_again()
        return self._look_at

    async def _look_again(self) -> None:
        """Read what partitions were added since, from their beginning."""
        self._breaks = self._subscriptions.breaks
        topics, cursors = Topics(self._brokers), self._fetching.cursors
        try:
            for found in await topics.partitions(self._terms.topic):
                # One that is not open yet is passed over, and with it those behind: they are read next time.
                if found.partition == len(cursors):
                    start = await self._offset(EARLIEST, found.partition, found)
                    cursors.append(Cursor(self._terms.topic, found.partition, start, start))
                    self._subscriptions.stir()
        except ClientError:
            # What is wrong with the topic the subscription says as well, and what is wrong in passing comes right.
            pass
        self._look_at = self._loop.now() + LOOK_NS

    # --- places

    async def _cursors(self) -> list[Cursor]:
        """Where to begin and where to stop, in every partition."""
        terms = self._terms
        topics = Topics(self._brokers)
        count = (await topics.describe(terms.topic)).partitions
        chosen = range(count) if terms.partitions is None else terms.partitions
        if chosen[-1] >= count:
            said = f"{terms.topic} has partitions 0 to {count - 1}, not {chosen[-1]}"
            raise PartitionNotFound(said, str(Code.PARTITION_NOT_FOUND), "partition")
        found = {partition.partition: partition for partition in await topics.partitions(terms.topic)}
        return [await self._cursor_of(number, found.get(number)) for number in chosen]

    async def _cursor_of(self, partition: int, found: Partition | None) -> Cursor:
        terms, stop, stop_ms = self._terms, None, None
        start = await self._offset(terms.start, partition, found)
        if terms.stop is not None:
            is_ahead = isinstance(terms.stop, _Moment) and terms.stop.ms > wall_ms()
            if is_ahead:
                assert isinstance(terms.stop, _Moment)
                stop_ms = terms.stop.ms
            else:
                stop = await self._offset(terms.stop, partition, found)
        return Cursor(terms.topic, partition, start, start, stop, stop_ms)

    async def _offset(self, place: str | int | _Moment, partition: int, found: Partition | None = None) -> int:
        """The offset of a place."""
        if isinstance(place, int):
            return place
        if found is not None and found.is_exact and place == EARLIEST:
            return found.start_offset
        if found is not None and found.is_exact and place == LATEST:
            return found.high_watermark
        timestamp = place.ms if isinstance(place, _Moment) else 0 if place == EARLIEST else (1 << 63) - 1
        request = v1.FindOffsetRequest(self._terms.topic, partition, timestamp)
        reply = await self._brokers.call("Messages/FindOffset", request, v1.FindOffsetReply, self._terms.topic)
        return int(reply.offset)

    def _find(self, partition: int) -> Cursor:
        for cursor in self._fetching.cursors:
            if cursor.partition == partition:
                return cursor
        raise ValueError(f"this consumer does not read partition {partition} of {self._terms.topic}")


def _place(given: Start | None, name: str, words: tuple[str, ...]) -> str | int | _Moment:
    """A place that a user named, checked."""
    if isinstance(given, datetime):
        return _Moment(milliseconds_of(given, name))
    if isinstance(given, timedelta):
        if given < timedelta(0):
            raise ValueError(f"{name} is that long ago, so not negative: {given}")
        return _Moment(wall_ms() - given // MILLISECOND)
    if isinstance(given, int) and not isinstance(given, bool):
        if given < 0:
            raise ValueError(f"{name} is an offset from 0 on, not {given}")
        return given
    if isinstance(given, str) and given in words:
        return given
    choices = [*(repr(word) for word in words), "an offset", "an aware datetime"]
    raise ValueError(f"{name} is {', '.join(choices)}, not {given!r}")
