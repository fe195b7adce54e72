"""Publishing, as a user sees it, on every loop."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from goqueue import errors
from goqueue.testing import Broker
from goqueue.transports.client.connection import Connection, connect
from goqueue.transports.client.loops import SECOND_NS, Loop
from goqueue.transports.client.messages import Message
from goqueue.transports.client.producer_terms import ProducerTerms, producer_terms
from tests.transports.client.connected import connected, on_every_loop
from tests.transports.client_loops.on_loops import drive

# Within the topic's retention.
WHEN = datetime.now(UTC).replace(microsecond=0) - timedelta(days=1)


async def all_of(gq: Connection, topic: str) -> list[Message]:
    """What a topic holds."""
    async with gq.consumer(topic, start="earliest", stop="latest") as consumer:
        return [message async for message in consumer]


@on_every_loop
def test_what_is_sent_can_be_read(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await gq.topics.create("orders", partitions=1)
        async with gq.producer() as producer:
            pending = await producer.send("orders", "grün", key="k", headers={"a": b"1", "b": "2"}, timestamp=WHEN)
            await producer.send("orders", None, key=bytearray(b"gone"), headers=[("a", None), ("a", b"2")])
            published = await pending
        assert (published.topic, published.partition, published.offset) == ("orders", 0, 0)
        assert published.timestamp == WHEN
        first, second = await all_of(gq, "orders")
        assert (first.value, first.key, first.headers) == ("grün".encode(), b"k", {"a": b"1", "b": b"2"})
        assert (first.topic, first.partition, first.offset, first.timestamp) == ("orders", 0, 0, WHEN)
        assert (second.value, second.key) == (None, b"gone")
        assert second.header_pairs == (("a", None), ("a", b"2"))

    connected(kind, test)


@on_every_loop
@pytest.mark.parametrize("idempotent", [True, False])
@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_leaving_the_block_waits_for_every_answer(kind: str, idempotent: bool, compression: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await gq.topics.create("orders", partitions=3)
        async with gq.producer(idempotent=idempotent, compression=compression) as producer:
            pendings = [await producer.send("orders", f"{count}", key=f"{count % 7}") for count in range(2000)]
        assert all(pending.done for pending in pendings)
        found = {(each.partition, each.offset): each.value for each in await all_of(gq, "orders")}
        assert len(found) == 2000
        for count, pending in enumerate(pendings):
            published = pending.result()
            assert found[published.partition, published.offset] == b"%d" % count

    connected(kind, test)


@on_every_loop
def test_publish_waits_for_the_answer_and_does_not_linger(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await gq.topics.create("orders", partitions=1)
        async with gq.producer(linger=timedelta(hours=1)) as producer:
            offsets = [(await producer.publish("orders", b"x", priority="high")).offset for _ in range(3)]
            assert offsets == [0, 1, 2]
            lingering = await producer.send("orders", b"y")
            assert not await loop.within(loop.now() + SECOND_NS // 50, lingering.wait)
            await producer.flush()
            assert (await lingering).offset == 3

    connected(kind, test)


@on_every_loop
def test_a_small_buffer_holds_the_sender_back(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await gq.topics.create("orders", partitions=2)
        async with gq.producer(batch_bytes=1000, buffer_bytes=4000) as producer:
            for count in range(500):
                await producer.send("orders", b"%d" % count + b"." * 100)
                assert producer.buffered_bytes < 4000 + 300
        assert len(await all_of(gq, "orders")) == 500

    connected(kind, test)


def test_acks_none_answers_without_an_offset() -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await gq.topics.create("orders", partitions=1)
        async with gq.producer(acks="none", idempotent=False) as producer:
            published = await producer.publish("orders", b"x")
        assert published.topic == "orders"

    connected("trio", test)


def test_an_unknown_topic_is_said_at_once_with_its_name() -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        async with gq.producer() as producer:
            with pytest.raises(errors.TopicNotFound, match="ordres") as caught:
                await producer.send("ordres", b"x")
            assert caught.value.code == "topic_not_found"

    connected("trio", test)


def test_a_partition_that_is_not_there_is_said_at_once() -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await gq.topics.create("orders", partitions=2)
        async with gq.producer() as producer:
            with pytest.raises(errors.PartitionNotFound, match="orders has partitions 0 to 1, not 2"):
                await producer.send("orders", b"x", partition=2)
            assert (await producer.publish("orders", b"x", partition=1)).partition == 1

    connected("trio", test)


def test_a_message_that_is_too_large_is_said_at_once_and_leaves_the_others_alone() -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await gq.topics.create("orders", partitions=1, config={"max_message_bytes": 2000})
        async with gq.producer() as producer:
            before = await producer.send("orders", b"x")
            with pytest.raises(errors.TooLarge, match="orders takes messages of up to 2000 bytes"):
                await producer.send("orders", b"x" * 3000)
            after = [await producer.send("orders", b"x" * 900) for _ in range(10)]
            assert (await before).offset == 0
            assert [(await each).offset for each in after] == list(range(1, 11))

    connected("trio", test)


@on_every_loop
def test_what_the_broker_refuses_for_good_fails_alone(kind: str) -> None:
    """The limit is lowered behind the producer's back; it learns of that, and what comes after goes through."""

    async def test(gq: Connection, loop: Loop) -> None:
        await gq.topics.create("orders", partitions=1)
        async with gq.producer(linger=timedelta(0)) as producer:
            await producer.publish("orders", b"first")
            await gq.topics.alter("orders", {"max_message_bytes": 1024})
            with pytest.raises(errors.TooLarge, match="orders: a batch of"):
                await producer.publish("orders", b"x" * 20_000)
            await loop.pause(SECOND_NS // 20)
            with pytest.raises(errors.TooLarge, match="orders takes messages of up to 1024 bytes"):
                await producer.send("orders", b"x" * 20_000)
            after = [await producer.send("orders", b"%d" % count) for count in range(20)]
            assert [(await each).offset for each in after] == list(range(1, 21))
        assert [each.value for each in await all_of(gq, "orders")][1:] == [b"%d" % count for count in range(20)]

    connected(kind, test)


@pytest.mark.parametrize("idempotent", [True, False])
def test_of_a_parcel_that_is_too_large_only_what_is_too_large_fails(idempotent: bool) -> None:
    """The limit is lowered while records of all sizes are gathered."""
    sizes = [10, 300, 5000, 1, 700, 100, 6000, 20]

    async def test(gq: Connection, _loop: Loop) -> None:
        await gq.topics.create("orders", partitions=1)
        async with gq.producer(linger=timedelta(hours=1), idempotent=idempotent) as producer:
            await producer.publish("orders", b"first")
            pending = [await producer.send("orders", b"x" * size) for size in sizes]
            await gq.topics.alter("orders", {"max_message_bytes": 1024})
            with pytest.raises(errors.Unpublished, match="2 messages were not published") as caught:
                await producer.flush()
            assert isinstance(caught.value.first, errors.TooLarge)
            offsets = []
            for each, size in zip(pending, sizes, strict=True):
                if size < 1000:
                    offsets.append((await each).offset)
                else:
                    with pytest.raises(errors.TooLarge, match="orders"):
                        await each
            assert offsets == [1, 2, 3, 4, 5, 6]
        assert [len(each.value or b"") for each in await all_of(gq, "orders")][1:] == [10, 300, 1, 700, 100, 20]

    connected("trio", test)


def test_errors_that_nobody_looked_at_are_raised_by_flush_and_by_leaving() -> None:
    async def leave_unlooked(gq: Connection) -> None:
        async with gq.producer() as producer:
            await producer.publish("orders", b"first")
            await gq.topics.alter("orders", {"max_message_bytes": 1024})
            large = await producer.send("orders", b"x" * 20_000)
            with pytest.raises(errors.Unpublished, match="orders") as caught:
                await producer.flush()
            assert (caught.value.count, type(caught.value.first)) == (1, errors.TooLarge)
            with pytest.raises(errors.TooLarge):
                large.result()
            await producer.publish("others", b"first")
            await gq.topics.delete("others")
            looked = await producer.send("others", b"x")
            with pytest.raises(errors.TopicNotFound):
                await looked
            await producer.flush()
            await gq.topics.create("others", partitions=1)
            await producer.publish("others", b"first")
            await gq.topics.delete("others")
            for _ in range(3):
                await producer.send("others", b"x")

    async def test(gq: Connection, _loop: Loop) -> None:
        await gq.topics.create("orders", partitions=1)
        await gq.topics.create("others", partitions=1)
        with pytest.raises(errors.Unpublished, match="3 messages were not published, and nobody looked") as caught:
            await leave_unlooked(gq)
        assert type(caught.value.first) is errors.TopicNotFound

    connected("trio", test)


@on_every_loop
def test_leaving_by_an_exception_drops_what_was_not_sent(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await gq.topics.create("orders", partitions=1)
        try:
            async with gq.producer(linger=timedelta(hours=1)) as producer:
                pending = await producer.send("orders", b"x")
                raise KeyError  # noqa: TRY301 - of the user's own
        except KeyError:
            pass
        with pytest.raises(errors.Dropped, match="KeyError"):
            await pending
        assert await all_of(gq, "orders") == []
        with pytest.raises(errors.Dropped):
            await producer.send("orders", b"x")

    connected(kind, test)


@on_every_loop
def test_a_broker_that_does_not_come_back_costs_no_more_than_the_delivery_timeout(kind: str) -> None:
    broker = Broker()

    async def test(loop: Loop) -> None:
        gq = connect(broker.address).connection(loop)
        await gq.open()
        await gq.topics.create("orders", partitions=1)
        async with gq.producer(delivery_timeout=timedelta(milliseconds=300)) as producer:
            await producer.publish("orders", b"x")
            broker.__exit__()
            with pytest.raises(errors.DeliveryTimeout, match=r"partition 0 of orders within 0\.3 s"):
                await producer.publish("orders", b"x")
        await gq.close()

    broker.__enter__()
    drive(kind, test)


def test_a_topic_that_is_deleted_fails_what_was_meant_for_it() -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await gq.topics.create("orders", partitions=1)
        async with gq.producer() as producer:
            await producer.publish("orders", b"x")
            await gq.topics.delete("orders")
            with pytest.raises(errors.TopicNotFound, match="orders"):
                await producer.publish("orders", b"x")

    connected("trio", test)


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"value": 17}, TypeError, "bytes or str, not int; encode it first"),
        ({"value": b"", "key": 1.5}, TypeError, "a key is bytes or str"),
        ({"value": b"", "headers": {1: b""}}, TypeError, "a header's name is str, not int"),
        ({"value": b"", "headers": {"a": 1}}, TypeError, "a header is bytes or str"),
        ({"value": b"", "timestamp": datetime(2020, 1, 1)}, ValueError, "without a time zone"),  # noqa: DTZ001
        ({"value": b"", "timestamp": datetime(1969, 1, 1, tzinfo=UTC)}, ValueError, "1970 or later"),
        ({"value": b"", "priority": "urgent"}, ValueError, "one of normal, critical, high, low, background"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_sentence(
    given: Mapping[str, object], error: type[Exception], said: str
) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await gq.topics.create("orders", partitions=1)
        async with gq.producer() as producer:
            with pytest.raises(error, match=said):
                await producer.send("orders", **given)  # type: ignore[arg-type]

    connected("trio", test)


def terms(**given: object) -> ProducerTerms:
    """Terms that differ from good ones."""
    good = {
        "acks": "all", "linger": timedelta(0), "batch_bytes": 100, "compression": "none", "idempotent": True,
        "delivery_timeout": timedelta(seconds=1), "buffer_bytes": 1000,
    }  # fmt: skip
    return producer_terms(**{**good, **given})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"acks": "some"}, ValueError, "acks is one of all, leader, none, not 'some'"),
        ({"compression": "brotli"}, ValueError, "compression is one of none, gzip, snappy, lz4, zstd"),
        ({"linger": 5}, TypeError, "linger is a timedelta"),
        ({"linger": timedelta(seconds=-1)}, ValueError, "linger is at least"),
        ({"delivery_timeout": timedelta(0)}, ValueError, "delivery_timeout is at least"),
        ({"batch_bytes": 0}, ValueError, "batch_bytes is from 1"),
        ({"buffer_bytes": 99}, ValueError, "buffer_bytes is at least batch_bytes"),
    ],
)
def test_options_that_make_no_sense_are_refused(given: dict[str, object], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        terms(**given)
