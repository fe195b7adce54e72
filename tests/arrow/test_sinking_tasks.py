"""A task of a write against a real broker: all rows, in order, once, however often and wherever attempts die."""

from collections.abc import Iterator
from time import time_ns
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve

from goqueue.core.client.routing import Layout
from goqueue.core.records.batch import Codec
from goqueue.spark.sinking.errors import MismatchError, UnwritableError
from goqueue.spark.sinking.identity import Work
from goqueue.spark.sinking.options import WriteOptions
from goqueue.spark.sinking.outlet import Tally
from goqueue.spark.sinking.task import Task
from goqueue.testing import Broker
from goqueue.transports.client.connection import connect
from goqueue.transports.client.errors import ConnectionLost, TopicNotFound

BATCH_BYTES = 2_000


class Died(Exception):
    """What ends an attempt in the middle."""


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> str:
    """A topic of three partitions, for one test."""
    name: str = request.node.name.replace("[", ".").replace("]", "")[-100:]
    with connect(broker.address) as connection:
        connection.topics.create(name, 3)
    return name


def options(broker: Broker, topic: str, **more: Any) -> WriteOptions:  # noqa: ANN401 - the fields of WriteOptions
    """What a job says."""
    return evolve(WriteOptions([broker.address], topic, batch_bytes=BATCH_BYTES), **more)


def pieces(begin: int, end: int, *, step: int = 50, size: int = 100, **columns: pa.Array) -> Iterator[pa.RecordBatch]:
    """Rows with a number each, in pieces."""
    for first in range(begin, end, step):
        numbers = range(first, min(first + step, end))
        yield pa.RecordBatch.from_pydict({
            "key": pa.array([b"%d" % (number % 11) for number in numbers]),
            "value": pa.array([b"%06d" % number + b"." * size for number in numbers]),
            **{name: column[first - begin : first - begin + len(numbers)] for name, column in columns.items()},
        })  # fmt: skip


def dying(some: Iterator[pa.RecordBatch], after: int) -> Iterator[pa.RecordBatch]:
    """The first pieces, and then the end of the worker."""
    for number, piece in enumerate(some):
        if number == after:
            raise Died
        yield piece


def stored(broker: Broker, topic: str) -> dict[int, list[int]]:
    """The numbers of the rows in each partition."""
    found: dict[int, list[int]] = {}
    with connect(broker.address) as connection:
        for partition in connection.topics.partitions(topic):
            with connection.consumer(
                topic, start="earliest", stop="latest", partitions=partition.partition
            ) as consumer:
                found[partition.partition] = [int((message.value or b"")[:6]) for message in consumer]
    return found


def test_all_rows_arrive_in_order_within_their_partitions(broker: Broker, topic: str) -> None:
    tally = Task(options(broker, topic), Work("w"), 0).write(pieces(0, 1000))
    assert (tally.rows, tally.found) == (1000, 0)
    found = stored(broker, topic)
    assert sorted(number for numbers in found.values() for number in numbers) == [*range(1000)]
    assert all(numbers == sorted(numbers) for numbers in found.values())
    assert all(found.values())


@pytest.mark.parametrize("codec", ["NONE", "ZSTD"])
def test_what_a_dead_attempt_stored_is_found_and_not_stored_again(broker: Broker, topic: str, codec: str) -> None:
    given = options(broker, topic, codec=Codec[codec])
    work = Work("w")
    for after in (3, 17, 9):
        with pytest.raises(Died):
            Task(given, work, 0).write(dying(pieces(0, 1000), after))
    before = sum(map(len, stored(broker, topic).values()))
    tally = Task(given, work, 0).write(pieces(0, 1000))
    assert tally.rows == 1000
    assert tally.found >= before
    assert (tally.compared > 0) == (tally.found > 0)
    found = stored(broker, topic)
    assert sorted(number for numbers in found.values() for number in numbers) == [*range(1000)]
    assert all(numbers == sorted(numbers) for numbers in found.values())


def test_what_a_dead_attempt_stored_of_a_batch_is_found_and_the_rest_follows_it(broker: Broker, topic: str) -> None:
    """Spark closes the rows of a task whose source died as if that were their end, so the last batches fall short."""
    now = time_ns() // 1000
    work, moments = Work("w"), pa.array([*range(now, now + 1000)], pa.timestamp("us", "UTC"))

    def attempt(end: int) -> Tally:
        return Task(options(broker, topic), work, 0).write(pieces(0, end, step=7, timestamp=moments[:end]))

    for end in (433, 437, 441, 700, 703):
        assert attempt(end).rows == end
    tally = attempt(1000)
    assert (tally.rows, tally.found, tally.compared > 0) == (1000, 703, True)
    assert sorted(number for numbers in stored(broker, topic).values() for number in numbers) == [*range(1000)]
    assert attempt(1000).found == 1000


def test_a_whole_job_that_is_run_again_stores_nothing(broker: Broker, topic: str) -> None:
    for _ in range(2):
        tasks = [Task(options(broker, topic), Work("job"), number) for number in (0, 1)]
        tallies = [task.write(pieces(task.number * 300, task.number * 300 + 300)) for task in tasks]
    assert [tally.found for tally in tallies] == [300, 300]
    assert sum(map(len, stored(broker, topic).values())) == 600


def test_tasks_and_jobs_do_not_take_each_others_rows_for_their_own(broker: Broker, topic: str) -> None:
    for name, task in (("a", 0), ("a", 1), ("b", 0)):
        assert Task(options(broker, topic), Work(name), task).write(pieces(0, 100)).found == 0
    assert sum(map(len, stored(broker, topic).values())) == 300


def test_batches_of_a_query_follow_each_other_and_an_old_one_is_shut_out(broker: Broker, topic: str) -> None:
    given = options(broker, topic)
    for batch in (0, 1):
        assert Task(given, Work("query", batch), 0).write(pieces(batch * 100, batch * 100 + 100)).found == 0
    assert Task(given, Work("query", 1), 0).write(pieces(100, 200)).found == 100
    with pytest.raises(UnwritableError, match="a later batch of this query was written already"):
        Task(given, Work("query", 0), 0).write(pieces(0, 100))
    assert sum(map(len, stored(broker, topic).values())) == 200


def test_an_attempt_with_the_rows_in_another_order_fails(broker: Broker, topic: str) -> None:
    given = options(broker, topic)
    Task(given, Work("w"), 0).write(pieces(0, 100))
    shuffled = [*pieces(50, 100), *pieces(0, 50)]
    with pytest.raises(MismatchError, match=r"are not those that are stored at offset .*the same order"):
        Task(given, Work("w"), 0).write(shuffled)


def test_an_attempt_with_rows_of_other_sizes_fails(broker: Broker, topic: str) -> None:
    given = options(broker, topic)
    Task(given, Work("w"), 0).write(pieces(0, 100))
    with pytest.raises(MismatchError, match="an earlier attempt has stored other batches here"):
        Task(given, Work("w"), 0).write(pieces(0, 100, size=300))


def test_times_that_rows_bear_are_compared_as_well(broker: Broker, topic: str) -> None:
    now = time_ns() // 1000
    moments, later = [pa.array([*range(first, first + 100)], pa.timestamp("us", "UTC")) for first in (now, now + 5000)]
    given = options(broker, topic)
    for _ in range(2):
        tally = Task(given, Work("w"), 0).write(pieces(0, 100, timestamp=moments))
    assert (tally.found, tally.compared > 0) == (100, True)
    with pytest.raises(MismatchError):
        Task(given, Work("w"), 0).write(pieces(0, 100, timestamp=later))


def test_more_rows_than_may_be_buffered_get_through(broker: Broker, topic: str) -> None:
    given = options(broker, topic, buffer_bytes=1 << 20, batch_bytes=1 << 18)
    tally = Task(given, Work("w"), 0).write(pieces(0, 3000, step=1000, size=3000))
    assert tally.rows == 3000
    assert sum(map(len, stored(broker, topic).values())) == 3000


def test_a_layout_that_was_settled_on_the_driver_is_kept_to(broker: Broker, topic: str) -> None:
    pinned = Layout(topic, [""], "murmur2", 1 << 20)
    Task(options(broker, topic), Work("w"), 0, {topic: pinned}).write(pieces(0, 100))
    assert {partition: len(numbers) for partition, numbers in stored(broker, topic).items()} == {0: 100, 1: 0, 2: 0}


def test_rows_that_are_due_later_wait_and_the_others_do_not(broker: Broker, topic: str) -> None:
    later = 4_000_000_000
    due = pa.array([None, later, later], pa.timestamp("s", "UTC"))
    given = options(broker, topic, repeats_delayed=True)
    tally = Task(given, Work("w"), 0).write(pieces(0, 3, due=due))
    assert (tally.rows, tally.delayed) == (3, 3)
    assert [*stored(broker, topic).values()].count([0]) == 1
    assert sum(map(len, stored(broker, topic).values())) == 1


def test_a_task_without_rows_needs_no_broker() -> None:
    assert Task(WriteOptions(["127.0.0.1:1"], "orders"), Work("w"), 0).write(iter([])) == Tally()


def test_a_broker_that_is_not_there_is_one_sentence() -> None:
    with pytest.raises(ConnectionLost, match=r"127\.0\.0\.1:1"):
        Task(WriteOptions(["127.0.0.1:1"], "orders"), Work("w"), 0).write(pieces(0, 10))


def test_a_topic_that_is_not_there_is_named(broker: Broker) -> None:
    with pytest.raises(TopicNotFound, match="nowhere"):
        Task(options(broker, "nowhere"), Work("w"), 0).write(pieces(0, 10))


def test_what_the_broker_refuses_names_the_rows(broker: Broker, topic: str) -> None:
    pinned = Layout(topic, [""] * 3, "murmur2", 1 << 30)
    given = options(broker, topic, batch_bytes=1 << 24)
    with connect(broker.address) as connection:
        connection.topics.alter(topic, {"max_message_bytes": 1024})
    with pytest.raises(UnwritableError, match=r"partition \d of .*: \d+ rows, the first of them row \d+ of the task"):
        Task(given, Work("w"), 0, {topic: pinned}).write(pieces(0, 100))
