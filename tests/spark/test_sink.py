"""Frames and streams written to a broker by Spark: exactly once, through tasks that die and queries that are killed."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from goqueue.testing import Broker
from goqueue.transports.client.connection import connect

PARTITIONS = 3
SECONDS_MAX = 60
# Of 20 pieces: by then more have gone than fit into what workers and Spark hold back on the way.
_DIES_AT = 15
Pieces = Iterator[pa.RecordBatch]

# Spark's workers cannot import tests, so what is of this module goes to them whole.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> str:
    """A topic for one test."""
    name: str = request.node.name[:100]
    with connect(broker.address) as connection:
        connection.topics.create(name, PARTITIONS)
    return name


@pytest.fixture(autouse=True)
def small_pieces(spark: SparkSession) -> Iterator[None]:
    """Rows travel a few at a time, so that some have gone when an attempt dies."""
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "100")
    yield
    spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


def numbered(spark: SparkSession, count: int, tasks: int = 2) -> DataFrame:
    """Rows with a number each, in order within a key."""
    frame = spark.range(0, count, numPartitions=tasks)
    return frame.select(F.expr("cast(id % 7 as string) key"), F.expr("rpad(cast(id as string), 100, ' ') value"))


def write(frame: DataFrame, broker: Broker, topic: str, **options: str) -> None:
    """Write a frame in small batches."""
    given = {"bootstrap": broker.address, "topic": topic, "batch_bytes": "2000", **options}
    frame.write.format("goqueue").mode("append").options(**given).save()


def stored(address: str, topic: str) -> list[list[int]]:
    """The numbers in each partition."""
    found = []
    with connect(address) as connection:
        for partition in range(PARTITIONS):
            with connection.consumer(topic, start="earliest", stop="latest", partitions=partition) as consumer:
                found.append([int(message.value or b"") for message in consumer])
    return found


def assert_once_in_order(address: str, topic: str, count: int, tasks: int = 1) -> None:
    """All numbers are there, each once; in a partition those of a task are in their order."""
    found = stored(address, topic)
    assert Counter(number for numbers in found for number in numbers) == Counter(range(count))
    for numbers in found:
        for task in range(tasks):
            of_task = [number for number in numbers if number * tasks // count == task]
            assert of_task == sorted(of_task)


def failing(address: str, topic: str, marker: Path, *, times: int) -> Callable[[Pieces], Pieces]:
    """A step that dies so often, each time when half of its rows have gone and some of them are stored."""

    def step(pieces: Pieces) -> Pieces:
        for number, piece in enumerate(pieces):
            yield piece
            deaths = len(list(marker.glob("*")))
            if number == _DIES_AT and deaths < times:
                due = monotonic() + SECONDS_MAX
                while not sum(map(len, stored(address, topic))) and monotonic() < due:
                    sleep(0.05)
                (marker / str(deaths)).touch()
                raise RuntimeError("the worker is gone")

    return step


def test_a_frame_comes_back_as_it_was_written(spark: SparkSession, broker: Broker, topic: str) -> None:
    frame = spark.sql(
        """select 'k' key, cast('v' as binary) value, array(struct('a' as key, cast('1' as binary) as value)) headers,
        2 partition, timestamp '2026-11-18 10:00:00.123456' timestamp, 'high' lane"""
    )
    write(frame, broker, topic)
    with (
        connect(broker.address) as connection,
        connection.consumer(topic, start="earliest", stop="latest", partitions=2) as consumer,
    ):
        [message] = consumer
    assert (message.key, message.value, [*message.headers.items()]) == (b"k", b"v", [("a", b"1")])
    assert message.timestamp.isoformat() == "2026-11-18T10:00:00.123000+00:00"


def test_a_task_that_dies_half_way_is_run_again_and_stores_each_row_once(
    spark: SparkSession, broker: Broker, topic: str, tmp_path: Path
) -> None:
    frame = numbered(spark, 4000)
    dying = frame.mapInArrow(failing(broker.address, topic, tmp_path, times=2), frame.schema)
    write(dying, broker, topic)
    assert len(list(tmp_path.glob("*"))) == 2
    assert_once_in_order(broker.address, topic, 4000, tasks=2)


def test_a_job_that_failed_is_finished_under_its_name(
    spark: SparkSession, broker: Broker, topic: str, tmp_path: Path
) -> None:
    frame = numbered(spark, 4000)
    dying = frame.mapInArrow(failing(broker.address, topic, tmp_path, times=100), frame.schema)
    with pytest.raises(PySparkException, match="the worker is gone"):
        write(dying, broker, topic, job="nightly")
    before = sum(map(len, stored(broker.address, topic)))
    assert 0 < before < 4000
    write(frame, broker, topic, job="nightly")
    assert_once_in_order(broker.address, topic, 4000, tasks=2)


def stream(spark: SparkSession, source: Path, checkpoint: Path, broker: Broker, topic: str) -> None:
    """Run a query over all files that are there, one a batch, to its end."""
    frame = spark.readStream.schema("key string, value string").option("maxFilesPerTrigger", 1).json(str(source))
    given = {"bootstrap": broker.address, "topic": topic, "batch_bytes": "2000"}
    query = (
        frame.writeStream.format("goqueue")
        .options(**given)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(SECONDS_MAX)


def lines(begin: int, end: int) -> str:
    """A file of rows."""
    return "".join(f'{{"key": "{number % 7}", "value": "{number}"}}\n' for number in range(begin, end))


def test_a_query_that_died_between_write_and_commit_stores_each_row_once(
    spark: SparkSession, broker: Broker, topic: str, tmp_path: Path
) -> None:
    source, checkpoint = tmp_path / "source", tmp_path / "checkpoint"
    source.mkdir()
    for number in range(2):
        (source / f"{number}.json").write_text(lines(number * 500, number * 500 + 500))
        stream(spark, source, checkpoint, broker, topic)
    # As if it had been killed when all was written and nothing said of it.
    for name in ("commits/1", "commits/.1.crc"):
        (checkpoint / name).unlink()
    (source / "2.json").write_text(lines(1000, 1500))
    stream(spark, source, checkpoint, broker, topic)
    assert_once_in_order(broker.address, topic, 1500)


def test_what_cannot_be_written_is_refused_in_our_words(spark: SparkSession, broker: Broker, topic: str) -> None:
    with pytest.raises(PySparkException, match="there is no use for a column 'id': drop it"):
        write(spark.range(1), broker, topic)
    rows = spark.sql("select 'v' value, id partition from range(0, 10, 1, 1)")
    with pytest.raises(PySparkException, match=rf"row 3 of task 0: {topic} has partitions 0 to 2, not 3"):
        write(rows, broker, topic)
