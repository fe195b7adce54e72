"""A running broker as Spark reads it: ranges of offsets and times, columns, filters, and streams with checkpoints."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from goqueue.testing import Broker
from goqueue.transports.client.connection import connect

BEGAN = datetime(2026, 3, 1, 12, tzinfo=UTC)
COUNT = 40
SECONDS_MAX = 60
PUSHING = "spark.sql.python.filterPushdown.enabled"
NUMBERS = count()


@pytest.fixture
def topic(broker: Broker) -> str:
    """A topic of two partitions, with forty messages in each, a minute apart."""
    name = f"topic-{next(NUMBERS)}"
    with connect(broker.address) as connection:
        connection.topics.create(name, 2, config={"retention_hours": -1, "segment_bytes": 1 << 16})
    fill(broker, name, 0, COUNT)
    return name


def fill(broker: Broker, topic: str, first: int, end: int, size: int = 10) -> None:
    """Messages with a number each."""
    with connect(broker.address) as connection, connection.producer() as producer:
        for number in range(first, end):
            for partition in range(2):
                when = BEGAN + timedelta(minutes=number)
                producer.send(topic, b"%d" % number + b" " * size, partition=partition, timestamp=when)


def load(spark: SparkSession, broker: Broker, topic: str, schema: str = "", **options: str) -> DataFrame:
    """The topic, read."""
    reader = spark.read.format("goqueue").options(bootstrap=broker.address, topic=topic, **options)
    return (reader.schema(schema) if schema else reader).load()


def numbers(frame: DataFrame) -> Counter[tuple[int, int]]:
    """How often each offset of each partition is in a frame."""
    return Counter((row["partition"], row["offset"]) for row in frame.select("partition", "offset").collect())


def once(first: int, end: int) -> Counter[tuple[int, int]]:
    """Each of these offsets in both partitions."""
    return Counter((partition, offset) for partition in range(2) for offset in range(first, end))


def test_a_range_of_a_topic_is_read_with_the_columns_that_are_asked_for(
    spark: SparkSession, broker: Broker, topic: str
) -> None:
    asked = "value binary, timestamp timestamp, offset bigint, partition int"
    between = {"starting_offset": "7", "ending_time": "2026-03-01T12:30:00Z"}
    frame = load(spark, broker, topic, asked, **between)
    assert frame.columns == ["value", "timestamp", "offset", "partition"]
    assert frame.rdd.getNumPartitions() == 2
    assert numbers(frame) == once(7, 30)
    row = frame.where("offset = 9 and partition = 1").select(F.trim(F.col("value").cast("string")), "timestamp").first()
    assert row is not None
    assert (row[0], row[1].astimezone(UTC)) == ("9", BEGAN + timedelta(minutes=9))
    assert load(spark, broker, topic, starting_offset="40").count() == 0


@pytest.fixture
def pushing(spark: SparkSession) -> Iterator[None]:
    """The session hands filters to sources."""
    spark.conf.set(PUSHING, "true")
    yield
    spark.conf.unset(PUSHING)


@pytest.mark.usefixtures("pushing")
def test_filters_reach_the_source_where_that_is_asked_for(spark: SparkSession, broker: Broker, topic: str) -> None:
    condition = (
        "partition = 1 and offset >= 5 and timestamp < timestamp '2026-03-01 12:08:00'"
        " and cast(value as string) not like '6%'"
    )
    pushed = load(spark, broker, topic, push_filters="true").where(condition)
    assert pushed.rdd.getNumPartitions() == 1
    assert numbers(pushed) == Counter([(1, 5), (1, 7)])
    frame = load(spark, broker, topic)
    assert frame.where(condition).rdd.getNumPartitions() == 2
    assert numbers(frame.where(condition)) == Counter([(1, 5), (1, 7)])


@pytest.mark.usefixtures("pushing")
def test_a_frame_may_be_queried_with_this_filter_and_that_one_at_once(
    spark: SparkSession, broker: Broker, topic: str
) -> None:
    frame = load(spark, broker, topic)
    halves = frame.where("offset < 10").union(frame.where("offset >= 10"))
    assert numbers(halves) == once(0, COUNT)
    assert numbers(frame) == once(0, COUNT)


def test_what_cannot_be_read_is_refused_in_our_words(spark: SparkSession, broker: Broker, topic: str) -> None:
    with pytest.raises(PySparkException, match="ordres"):
        load(spark, broker, "ordres").collect()
    with pytest.raises(PySparkException, match=f"{topic} has no partition 2; it has 2, from 0 on"):
        load(spark, broker, topic, partitions="2").collect()
    with pytest.raises(PySparkException, match="the option 'path' says nothing for reading a running cluster"):
        spark.read.format("goqueue").options(bootstrap=broker.address, topic=topic).load("/data").collect()


def follow(frame: DataFrame, room: Path) -> list[int]:
    """Run a query to what is available, kept as Parquet; how many rows each of its batches had."""
    query = (
        frame.writeStream.format("parquet")
        .option("checkpointLocation", str(room / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(room / "kept"))
    )
    assert query.awaitTermination(SECONDS_MAX)
    return [progress["numInputRows"] for progress in query.recentProgress if progress["numInputRows"]]


def test_a_stream_reads_in_bounded_batches_and_goes_on_where_it_stopped(
    spark: SparkSession, broker: Broker, topic: str, tmp_path: Path
) -> None:
    given = {"bootstrap": broker.address, "topic": topic, "starting_offset": "earliest"}
    frame = spark.readStream.format("goqueue").options(**given, max_records_per_trigger="50").load()
    assert follow(frame, tmp_path) == [50, 30]
    assert numbers(spark.read.parquet(str(tmp_path / "kept"))) == once(0, COUNT)
    fill(broker, topic, COUNT, COUNT + 5)
    frame = spark.readStream.format("goqueue").options(**given).load()
    assert follow(frame, tmp_path) == [10]
    assert numbers(spark.read.parquet(str(tmp_path / "kept"))) == once(0, COUNT + 5)


def test_a_stream_whose_records_retention_took_fails_or_goes_on_behind_them(
    spark: SparkSession, broker: Broker, topic: str, tmp_path: Path
) -> None:
    given = {"bootstrap": broker.address, "topic": topic, "starting_offset": "earliest"}
    assert follow(spark.readStream.format("goqueue").options(**given).load(), tmp_path) == [2 * COUNT]
    for first in range(COUNT, COUNT + 20, 5):
        fill(broker, topic, first, first + 5, size=10_000)
    with connect(broker.address) as connection:
        connection.topics.alter(topic, {"retention_bytes": 0})
        begins = [0]
        while min(begins) <= COUNT:
            begins = [one.start_offset for one in connection.topics.partitions(topic)]
    with pytest.raises(PySparkException, match=rf"the records from offset {COUNT} up to \d+ are not there any more"):
        follow(spark.readStream.format("goqueue").options(**given).load(), tmp_path)
    follow(spark.readStream.format("goqueue").options(**given, missing="skip").load(), tmp_path)
    kept = numbers(spark.read.parquet(str(tmp_path / "kept")))
    left = [(partition, offset) for partition in range(2) for offset in range(begins[partition], COUNT + 20)]
    assert kept == once(0, COUNT) + Counter(left)


def test_a_stream_does_not_go_on_in_a_topic_that_was_made_again_unless_it_may(
    spark: SparkSession, broker: Broker, topic: str, tmp_path: Path
) -> None:
    given = {"bootstrap": broker.address, "topic": topic, "starting_offset": "earliest"}
    assert follow(spark.readStream.format("goqueue").options(**given).load(), tmp_path) == [2 * COUNT]
    with connect(broker.address) as connection:
        connection.topics.delete(topic)
        connection.topics.create(topic, 2, config={"retention_hours": -1})
    # More than the stream has read of the one before, so that by offsets alone nothing would be wrong.
    fill(broker, topic, 0, COUNT + 10)
    said = rf"{topic} was deleted and made again: .* Start the query with a new checkpoint, or say option"
    with pytest.raises(PySparkException, match=said):
        follow(spark.readStream.format("goqueue").options(**given).load(), tmp_path)
    assert numbers(spark.read.parquet(str(tmp_path / "kept"))) == once(0, COUNT)
    follow(spark.readStream.format("goqueue").options(**given, replaced="restart").load(), tmp_path)
    kept = numbers(spark.read.parquet(str(tmp_path / "kept")))
    assert kept == once(0, COUNT) + once(0, COUNT + 10)
    # From there on it is the one that is read, and needs no leave.
    fill(broker, topic, COUNT + 10, COUNT + 12)
    assert follow(spark.readStream.format("goqueue").options(**given).load(), tmp_path) == [4]
