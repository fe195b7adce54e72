"""Reading, as a user sees it, on every loop."""

from datetime import UTC, datetime, timedelta

import pytest

from goqueue import errors
from goqueue.core.client.fetching import Origin
from goqueue.core.records.batch import Lane
from goqueue.core.records.build import encode
from goqueue.core.records.varint import INT64_MAX
from goqueue.fuzz.bytes.sealing import seal_batch
from goqueue.proto import v1
from goqueue.testing import Broker
from goqueue.transports.client.connection import Connection, connect
from goqueue.transports.client.consumer import Consumer, consumer_terms
from goqueue.transports.client.loops import SECOND_NS, Loop
from goqueue.transports.client.messages import Message
from goqueue.transports.client.times import wall_ms
from tests.transports.client.connected import connected, on_every_loop
from tests.transports.client_loops.on_loops import drive

# Within the topic's retention.
BEGIN = datetime.now(UTC).replace(microsecond=0) - timedelta(days=3)
COUNT = 20


async def fill(gq: Connection, partitions: int = 1) -> None:
    """Twenty messages in each partition, an hour apart, in batches of five."""
    await gq.topics.create("orders", partitions=partitions)
    async with gq.producer() as producer:
        for count in range(COUNT):
            for partition in range(partitions):
                when = BEGIN + timedelta(hours=count)
                await producer.send("orders", b"%d" % count, partition=partition, timestamp=when)
            if count % 5 == 4:
                await producer.flush()


async def offsets(consumer: Consumer) -> list[int]:
    """What it hands out to its end."""
    async with consumer:
        return [message.offset async for message in consumer]


@on_every_loop
def test_places_are_words_offsets_and_times(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq)
        every, hours = list(range(COUNT)), timedelta(hours=1)
        assert await offsets(gq.consumer("orders", start="earliest", stop="latest")) == every
        assert await offsets(gq.consumer("orders", start="latest", stop="latest")) == []
        assert await offsets(gq.consumer("orders", start=7, stop=13)) == every[7:13]
        consumer = gq.consumer("orders", start=BEGIN + 3.5 * hours, stop=BEGIN + 9 * hours)
        assert await offsets(consumer) == every[4:9]
        assert await offsets(gq.consumer("orders", start=datetime.now(UTC) - BEGIN + hours, stop="latest")) == every
        assert await offsets(gq.consumer("orders", start=3 * hours, stop="latest")) == []
        assert await offsets(gq.consumer("orders", start="earliest", stop=BEGIN - hours)) == []
        assert await offsets(gq.consumer("orders", start=0, stop=datetime.now(UTC))) == every

    connected(kind, test)


@on_every_loop
def test_batches_are_of_one_partition_each_and_leave_nothing_out(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq, partitions=3)
        found: dict[int, list[int]] = {0: [], 2: []}
        async with gq.consumer("orders", start="earliest", stop="latest", partitions=[2, 0, 2]) as consumer:
            first = await anext(consumer)
            found[first.partition].append(first.offset)
            async for batch in consumer.batches():
                (partition,) = {message.partition for message in batch}
                found[partition] += [message.offset for message in batch]
                assert consumer.position(partition) == batch[-1].offset + 1
        assert found == {0: list(range(COUNT)), 2: list(range(COUNT))}

    connected(kind, test)


@on_every_loop
def test_seek_goes_on_elsewhere_and_back(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq, partitions=2)
        async with gq.consumer("orders", start="earliest") as consumer:
            for _ in range(7):
                await anext(consumer)
            read = {partition: consumer.position(partition) for partition in (0, 1)}
            assert sum(read.values()) == 7
            await consumer.seek(offset=18, partition=1)
            assert (consumer.position(0), consumer.position(1)) == (read[0], 18)
            rest = [await anext(consumer) for _ in range(COUNT - read[0] + 2)]
            assert [each.offset for each in rest if each.partition == 0] == list(range(read[0], COUNT))
            assert [each.offset for each in rest if each.partition == 1] == [18, 19]
            await consumer.seek(time=BEGIN + timedelta(hours=15))
            assert sorted([(await anext(consumer)).offset for _ in range(10)]) == sorted([15, 16, 17, 18, 19] * 2)

    connected(kind, test)


@on_every_loop
def test_what_comes_later_is_waited_for(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq)
        async with gq.producer() as producer, gq.consumer("orders") as consumer:

            async def publish() -> None:
                await loop.pause(SECOND_NS // 50)
                await producer.publish("orders", b"late")

            publishing = loop.start(publish)
            message = await anext(consumer)
            assert (message.offset, message.value) == (COUNT, b"late")
            await publishing.wait()

    connected(kind, test)


@on_every_loop
def test_a_stop_in_the_future_ends_with_the_first_message_after_it(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await gq.topics.create("orders", partitions=1, config={"message_timestamp_after_max": -1})
        soon = datetime.now(UTC) + timedelta(days=1)
        async with gq.consumer("orders", start="earliest", stop=soon) as consumer, gq.producer() as producer:
            for days in (0, 0.5, 1.5, 0.5):
                await producer.publish("orders", b"x", timestamp=soon + timedelta(days=days - 1))
            assert [message.offset async for message in consumer] == [0, 1]
            assert consumer.position(0) == 2

    connected(kind, test)


async def spoil(gq: Connection, count: int) -> None:
    """A batch with a right CRC whose last record cannot be read, as another client may publish it."""
    batch = bytes(encode([(wall_ms(), None, b"v", ())] * count))
    request = v1.PublishBatchRequest("orders", 0, seal_batch(batch[:-1] + b"\x7f"))
    reply = await gq._brokers.call("Messages/PublishBatch", request, v1.PublishBatchReply)
    assert reply.offset >= 0


@on_every_loop
def test_a_consumer_is_told_what_it_cannot_read_and_goes_on_behind_it(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await gq.topics.create("orders", partitions=1)
        async with gq.producer() as producer:
            await producer.publish("orders", b"before")
            await spoil(gq, 3)
            await producer.publish("orders", b"behind")
        async with gq.consumer("orders", start="earliest", stop="latest") as consumer:
            assert (await anext(consumer)).value == b"before"
            for _ in range(2):
                with pytest.raises(errors.CorruptBatch, match="from offset 1 to 4") as caught:
                    await anext(consumer)
                error = caught.value
                assert (error.topic, error.partition, error.offset, error.next_offset) == ("orders", 0, 1, 4)
                assert consumer.position(0) == 1
            consumer.skip(error)
            assert (await anext(consumer)).value == b"behind"
            consumer.skip(error)
            assert consumer.position(0) == 5, "what was skipped once is behind us"
            with pytest.raises(StopAsyncIteration):
                await anext(consumer)

    connected(kind, test)


@on_every_loop
def test_a_time_too_far_ahead_is_an_error_of_its_own(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await gq.topics.create("orders", partitions=1)
        async with gq.producer() as producer:
            with pytest.raises(errors.InvalidTimestamp, match="too far ahead"):
                await producer.publish("orders", b"x", timestamp=datetime.now(UTC) + timedelta(days=1))

    connected(kind, test)


def test_a_message_of_an_absurd_time_has_a_date() -> None:
    origin = Origin("orders", 0, Lane.NORMAL)
    assert Message(origin, 0, INT64_MAX, None, b"v", ()).timestamp == datetime(9999, 12, 31, 23, 59, 59, 999000, UTC)
    assert Message(origin, 0, -(1 << 62), None, b"v", ()).timestamp.year == 1


@on_every_loop
def test_a_broker_that_comes_back_is_read_on_from_the_same_place(kind: str) -> None:
    broker = Broker()

    async def test(loop: Loop) -> None:
        gq = connect(broker.address).connection(loop)
        await gq.open()
        await fill(gq)
        async with gq.consumer("orders", start="earliest") as consumer:
            found = [(await anext(consumer)).offset for _ in range(8)]
            broker.__exit__()
            broker.__enter__()
            found += [(await anext(consumer)).offset for _ in range(COUNT - 8)]
            async with gq.producer() as producer:
                await producer.publish("orders", b"more")
            found.append((await anext(consumer)).offset)
        assert found == list(range(COUNT + 1))
        await gq.close()

    broker.__enter__()
    try:
        drive(kind, test)
    finally:
        broker.__exit__()


def test_a_large_topic_passes_through_a_small_window() -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await gq.topics.create("orders", partitions=2)
        async with gq.producer(compression="lz4") as producer:
            for count in range(3000):
                await producer.send("orders", b"%d" % count + bytes(4096))
        async with gq.consumer("orders", start="earliest", stop="latest") as consumer:
            values = [int((message.value or b"").rstrip(b"\0")) async for message in consumer]
        assert sorted(values) == list(range(3000))

    connected("trio", test)


def test_an_offset_that_is_not_there_is_said_and_can_be_left() -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq)
        async with gq.consumer("orders", start=1000) as consumer:
            with pytest.raises(errors.OffsetOutOfRange, match="orders"):
                await anext(consumer)
            await consumer.seek(offset=3)
            assert (await anext(consumer)).offset == 3

    connected("trio", test)


def test_a_topic_or_a_partition_that_is_not_there_is_said_by_name() -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        with pytest.raises(errors.TopicNotFound, match="ordres"):
            await gq.consumer("ordres").__aenter__()
        await fill(gq)
        with pytest.raises(errors.PartitionNotFound, match="orders has partitions 0 to 0, not 4"):
            await gq.consumer("orders", partitions=4).__aenter__()
        async with gq.consumer("orders") as consumer:
            with pytest.raises(ValueError, match="does not read partition 1 of orders"):
                consumer.position(1)
            with pytest.raises(TypeError, match="either an offset or a time"):
                await consumer.seek()

    connected("trio", test)


def test_a_topic_that_is_deleted_ends_its_readers_with_its_name() -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq)
        async with gq.consumer("orders") as consumer:

            async def delete() -> None:
                await loop.pause(SECOND_NS // 50)
                await gq.topics.delete("orders")

            deleting = loop.start(delete)
            with pytest.raises(errors.TopicNotFound, match="orders"):
                await anext(consumer)
            await deleting.wait()

    connected("trio", test)


def test_partitions_that_are_added_are_read_from_their_beginning() -> None:
    """A topic that is made anew, with more partitions, stands in for one that was given some."""

    async def test(gq: Connection, _loop: Loop) -> None:
        await gq.topics.create("orders", partitions=1)
        async with gq.consumer("orders") as consumer, gq.consumer("orders", partitions=0) as other:
            await gq.topics.delete("orders")
            await gq.topics.create("orders", partitions=3)
            async with gq.producer() as producer:
                for partition in (1, 2, 0):
                    await producer.publish("orders", b"%d" % partition, partition=partition)
            for each in (consumer, other):
                each._look_at = 0
            found = [(await anext(consumer)) for _ in range(3)]
            assert sorted((message.partition, message.value) for message in found) == [(0, b"0"), (1, b"1"), (2, b"2")]
            assert (await anext(other)).value == b"0"
            with pytest.raises(ValueError, match="does not read partition 1"):
                other.position(1)

    connected("trio", test)


@on_every_loop
def test_looking_for_partitions_loses_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goqueue.transports.client.consumer.LOOK_NS", SECOND_NS // 2000)

    async def test(gq: Connection, loop: Loop) -> None:
        await gq.topics.create("orders", partitions=2)

        async def publish() -> None:
            async with gq.producer(linger=timedelta(0)) as producer:
                for count in range(200):
                    await producer.send("orders", b"%d" % count)
                    if not count % 20:
                        await loop.pause(SECOND_NS // 500)

        async with gq.consumer("orders") as consumer:
            publishing = loop.start(publish)
            found = [int((await anext(consumer)).value or b"") for _ in range(200)]
            await publishing.wait()
        assert sorted(found) == list(range(200))

    connected(kind, test)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"start": "first"}, "start is 'earliest', 'latest', an offset, an aware datetime, not 'first'"),
        ({"start": -1}, "start is an offset from 0 on, not -1"),
        ({"start": True}, "not True"),
        ({"start": datetime(2020, 1, 1)}, "start is 2020-01-01 00:00:00 without a time zone"),  # noqa: DTZ001
        ({"start": timedelta(-1)}, "not negative"),
        ({"stop": "earliest"}, "stop is 'latest', an offset, an aware datetime, not 'earliest'"),
        ({"partitions": []}, "at least one"),
        ({"partitions": [-1]}, "numbers from 0 on"),
    ],
)
def test_places_that_make_no_sense_are_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        consumer_terms("orders", **{"start": 0, "stop": None, "partitions": None, **given})  # type: ignore[arg-type]
