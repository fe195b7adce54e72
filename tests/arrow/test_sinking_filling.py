"""Tasks of a back-fill against a real broker: each message once and in order, wherever they die and however many."""

from collections.abc import Iterator
from time import time_ns

import pyarrow as pa
import pytest

from goqueue.spark.sinking.filling import Filling, fill, runs_of
from goqueue.spark.sinking.options import WriteOptions
from goqueue.spark.sinking.outlet import Outlet
from goqueue.spark.sinking.pace import Rate, Timing
from goqueue.testing import Broker
from goqueue.transports.client.connection import connect

PARTITIONS = 3
SPAN = 400
# So many ticks that the last one is days after the first.
DAYS = 10_000_000
Told = dict[str, int]


class Died(Exception):
    """What ends a task in the middle."""


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> str:
    """A topic for one test."""
    name: str = request.node.name[:100]
    with connect(broker.address) as connection:
        connection.topics.create(name, PARTITIONS)
    return name


def messages(task: int, partitions: list[int], ticks: int = 0, step: int = 60) -> Iterator[pa.RecordBatch]:
    """The messages of some partitions, as Spark hands them to a task: by tick if there are any, partition, offset."""
    rows = [
        ((offset - 1) * ticks // SPAN, partition, offset)
        for partition in partitions
        for offset in range(SPAN)
        if offset % 10  # compaction was here
    ]
    rows.sort()
    for begin in range(0, len(rows), step):
        piece = rows[begin : begin + step]
        columns = {
            "source": pa.array([f"orders/{partition}" for _, partition, _ in piece]),
            "partition": pa.array([partition for _, partition, _ in piece], pa.int32()),
            "offset": pa.array([offset for _, _, offset in piece]),
            "key": pa.array([b"%d" % (offset % 7) for _, _, offset in piece]),
            "value": pa.array([b"%06d" % offset + b"." * 100 for _, _, offset in piece]),
            "task": pa.array([task] * len(piece), pa.int32()),
        }
        if ticks:
            columns["tick"] = pa.array([tick for tick, _, _ in piece])
        yield pa.RecordBatch.from_pydict(columns)


EACH = SPAN - SPAN // 10


def filling(
    broker: Broker, topic: str, tasks: int = 1, rate: Rate | None = None, timing: Timing | None = None
) -> Filling:
    """What the tasks of one job are told."""
    options = WriteOptions([broker.address], topic, batch_bytes=2000)
    with Outlet(options) as outlet:
        layout = outlet.target(topic).layout
    return Filling(options, "nightly", layout, PARTITIONS, [1 / tasks] * tasks, rate or Rate(), timing)


def run(pieces: Iterator[pa.RecordBatch], told: Filling) -> Told:
    """Run one task to its end, and what it says."""
    [said] = fill(pieces, told)
    [row] = said.to_pylist()
    return {name: count for name, count in row.items() if name != "bytes"}


def dying(pieces: Iterator[pa.RecordBatch], after: int) -> Iterator[pa.RecordBatch]:
    """The first pieces, and then the end of the worker."""
    for number, piece in enumerate(pieces):
        if number == after:
            raise Died
        yield piece


def stored(broker: Broker, topic: str) -> list[list[int]]:
    """The offsets that the messages of each partition once had."""
    found = []
    with connect(broker.address) as connection:
        for partition in range(PARTITIONS):
            with connection.consumer(topic, start="earliest", stop="latest", partitions=partition) as consumer:
                found.append([int((message.value or b"")[:6]) for message in consumer])
    return found


WHOLE = [[offset for offset in range(SPAN) if offset % 10]] * PARTITIONS


def test_messages_stay_in_their_partitions_and_order(broker: Broker, topic: str) -> None:
    assert run(messages(0, [0, 1, 2]), filling(broker, topic)) == {"rows": 3 * EACH, "found": 0, "repeated": 0}
    assert stored(broker, topic) == WHOLE


def test_a_job_that_died_goes_on_with_another_number_of_tasks(broker: Broker, topic: str) -> None:
    with pytest.raises(Died):
        run(dying(messages(0, [0, 1, 2]), 9), filling(broker, topic))
    before = sum(map(len, stored(broker, topic)))
    assert 0 < before < 3 * EACH
    two = filling(broker, topic, tasks=2)
    said = [run(messages(0, [1], step=17), two), run(messages(1, [0, 2], step=200), two)]
    assert stored(broker, topic) == WHOLE
    assert sum(one["rows"] for one in said) == 3 * EACH
    assert sum(one["found"] for one in said) >= before
    again = run(messages(0, [0, 1, 2]), filling(broker, topic))
    assert again == {"rows": 3 * EACH, "found": 3 * EACH, "repeated": 0}


def test_with_original_timing_sources_go_side_by_side(broker: Broker, topic: str) -> None:
    timed = filling(broker, topic, timing=Timing(0))
    with pytest.raises(Died):
        run(dying(messages(0, [0, 1, 2], ticks=8), 9), timed)
    counts = [len(numbers) for numbers in stored(broker, topic)]
    assert min(counts) > 0
    assert max(counts) - min(counts) <= SPAN // 8
    assert run(messages(0, [0, 1, 2], ticks=8), timed)["rows"] == 3 * EACH
    assert stored(broker, topic) == WHOLE


def test_what_is_there_already_takes_no_time(broker: Broker, topic: str) -> None:
    run(messages(0, [0, 1]), filling(broker, topic))
    # At this rate, and by these times, it would take hours.
    slow = filling(broker, topic, rate=Rate(rows_per_second=0.01))
    assert run(messages(0, [0, 1]), slow)["found"] == 2 * EACH
    in_1970, begun_now = (filling(broker, topic, timing=Timing(begun)) for begun in (0, time_ns()))
    assert run(messages(0, [2], ticks=DAYS), in_1970)["found"] == 0
    assert run(messages(0, [2], ticks=DAYS), begun_now)["found"] == EACH


def test_a_message_that_was_recorded_twice_is_one(broker: Broker, topic: str) -> None:
    twice = (piece.take(sorted([*range(len(piece))] * 2)) for piece in messages(0, [0]))
    assert run(twice, filling(broker, topic)) == {"rows": EACH, "found": 0, "repeated": EACH}
    assert stored(broker, topic)[0] == WHOLE[0]


def test_a_task_without_messages_says_nothing(broker: Broker, topic: str) -> None:
    assert [*fill(iter([]), filling(broker, topic))] == []


def test_runs_are_of_one_source_and_one_tick() -> None:
    piece = pa.RecordBatch.from_pydict({"source": ["a", "a", "b", "b", "a"], "tick": [0, 1, 1, 1, 2]})
    assert [(source, tick, len(rows)) for source, tick, rows in runs_of([piece])] == [
        ("a", 0, 1), ("a", 1, 1), ("b", 1, 2), ("a", 2, 1),
    ]  # fmt: skip
    bare = piece.select(["source"])
    assert [(source, len(rows)) for source, _, rows in runs_of([bare, bare.slice(0, 0)])] == [
        ("a", 2),
        ("b", 2),
        ("a", 1),
    ]
