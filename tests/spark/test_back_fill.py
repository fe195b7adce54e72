"""Topics into Parquet and back into topics, by Spark: all messages, each once, as they were."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from goqueue.spark.exporting.job import Origin, export
from goqueue.spark.sinking import job as jobs
from goqueue.spark.sinking.errors import UnwritableError
from goqueue.spark.sinking.filling import Filling, fill
from goqueue.spark.sinking.job import BY_KEY, Pace, back_fill
from goqueue.spark.sinking.sources import from_captures, from_parquet, from_topic
from goqueue.testing import Broker
from goqueue.transports.client.connection import connect
from goqueue.transports.client.errors import TopicNotFound
from tests.storage.test_capture_files import captured

PARTITIONS = 3
COUNT = 600
Rows = list[tuple[Any, ...]]

# Spark's workers cannot import tests, so what is of this module goes to them whole.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """A broker of one node with a topic `origin` that has all that a message can have."""
    with Broker() as running:
        with connect(running.address) as connection:
            connection.topics.create("origin", PARTITIONS)
            with connection.producer() as producer:
                for number in range(COUNT):
                    producer.send(
                        "origin",
                        None if number % 50 == 49 else b"value %d" % number,
                        key=None if number % 20 == 19 else b"key %d" % (number % 11),
                        headers={"number": b"%d" % number, "none": None} if number % 2 else None,
                        priority="high" if number % 13 == 0 else "normal",
                    )
        yield running


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> str:
    """A topic for one test."""
    name: str = request.node.name[:100]
    with connect(broker.address) as connection:
        # For ever, since some of what is published here was made in other years.
        connection.topics.create(name, PARTITIONS, config={"retention_hours": -1, "max_message_bytes": 1 << 20})
    return name


@pytest.fixture(scope="module")
def exported(spark: SparkSession, broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The topic `origin` as Parquet."""
    folder = str(tmp_path_factory.mktemp("lake") / "origin")
    export(spark, Origin("origin", bootstrap=broker.address), folder)
    return folder


def stored(address: str, topic: str) -> list[Rows]:
    """All that is in each partition, in its order."""
    found = []
    with connect(address) as connection:
        for partition in range(PARTITIONS):
            with connection.consumer(topic, start="earliest", stop="latest", partitions=partition) as consumer:
                found.append(
                    [(one.timestamp, one.key, one.value, tuple(one.headers.items()), one.priority) for one in consumer]
                )
    return found


def test_what_was_exported_comes_back_as_it_was(spark: SparkSession, broker: Broker, topic: str, exported: str) -> None:
    done = back_fill(spark, from_parquet(spark, [exported]), broker.address, topic)
    assert (done.rows, done.found, done.repeated, done.sources, done.left_out) == (COUNT, 0, 0, PARTITIONS, {})
    assert stored(broker.address, topic) == stored(broker.address, "origin")


def test_a_job_that_was_killed_goes_on_under_its_name(
    spark: SparkSession, broker: Broker, topic: str, exported: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(pieces: Iterator[pa.RecordBatch], filling: Filling) -> Iterator[pa.RecordBatch]:
        for said in fill((piece.slice(0, len(piece) // 2) for piece in pieces), filling):
            yield said
            raise RuntimeError("the worker is gone")

    messages = from_parquet(spark, [exported])
    with monkeypatch.context() as patch:
        patch.setattr(jobs, "fill", cut_off)
        with pytest.raises(PySparkException, match="the worker is gone"):
            back_fill(spark, messages, broker.address, topic, job="nightly", options={"batch_bytes": "3000"})
    before = sum(map(len, stored(broker.address, topic)))
    assert 0 < before < COUNT
    done = back_fill(spark, messages, broker.address, topic, job="nightly", options={"batch_bytes": "3000"})
    assert (done.rows, done.found) == (COUNT, before)
    assert stored(broker.address, topic) == stored(broker.address, "origin")


def test_any_parquet_goes_by_key_and_with_its_gaps(
    spark: SparkSession, broker: Broker, topic: str, tmp_path: Path
) -> None:
    for number in range(2):
        table = pa.table({
            "id": [f"user {at % 5}" for at in range(40)],
            "document": [f"{number} {at}" for at in range(40)],
            "at": pa.array([1_700_000_000_000 + at * 1000 for at in range(40)], pa.timestamp("ms", "UTC")),
        })  # fmt: skip
        pq.write_table(table, tmp_path / f"{number}.parquet")
    columns = {"key": "id", "value": "document", "timestamp": "at"}
    messages = from_parquet(spark, [str(tmp_path)], columns)
    pace = Pace(original=True, speed=100)
    done = back_fill(spark, messages, broker.address, topic, pace=pace, partitions=BY_KEY, job="users")
    assert (done.rows, done.sources) == (80, 2)
    again = back_fill(spark, messages, broker.address, topic, pace=pace, partitions=BY_KEY, job="users")
    assert (again.rows, again.found) == (80, 80)
    rows = [row for partition in stored(broker.address, topic) for row in partition]
    for number in range(2):
        for user in range(5):
            values = [row[2] for row in rows if row[1] == b"user %d" % user and row[2].startswith(b"%d " % number)]
            assert values == [b"%d %d" % (number, at) for at in range(user, 40, 5)]


def test_messages_come_back_out_of_segments_and_captures(
    spark: SparkSession, broker: Broker, topic: str, tmp_path: Path
) -> None:
    captured(tmp_path / "captures", turns=120)
    messages = from_captures(spark, [str(tmp_path / "captures")], "orders")
    done = back_fill(spark, messages, broker.address, topic, options={"compression": "zstd"})
    assert done.rows > 0
    assert all(done.left_out.values())
    assert sum(map(len, stored(broker.address, topic))) == done.rows
    with Broker(tmp_path / "data") as other, connect(other.address) as connection:
        connection.topics.create("events", 1)
        with connection.producer() as producer:
            producer.publish("events", b"out of a segment", key=b"k")
    segments = from_topic(spark, {"path": str(tmp_path / "data"), "topic": "events"})
    assert back_fill(spark, segments, broker.address, topic).rows == 1
    assert b"out of a segment" in [row[2] for partition in stored(broker.address, topic) for row in partition]


def test_a_topic_that_was_made_again_is_another_source_of_a_job(
    spark: SparkSession, broker: Broker, topic: str, tmp_path: Path
) -> None:
    lakes = [str(tmp_path / name) for name in ("first", "second")]
    for number, lake in enumerate(lakes):
        with connect(broker.address) as connection:
            connection.topics.create("again", 1)
            with connection.producer() as producer:
                for count in range(5):
                    producer.send("again", b"%d-%d" % (number, count))
        export(spark, Origin("again", bootstrap=broker.address), lake)
        if number:
            messages = from_topic(spark, {"bootstrap": broker.address, "topic": "again"})
            # Under the name under which the one before was taken: that one's messages are there, and not these.
            assert back_fill(spark, messages, broker.address, topic, job="refill").found == 0
        else:
            messages = from_topic(spark, {"bootstrap": broker.address, "topic": "again"})
            assert back_fill(spark, messages, broker.address, topic, job="refill").rows == 5
        with connect(broker.address) as connection:
            connection.topics.delete("again")
    found = stored(broker.address, topic)
    assert [row[2] for row in found[0]] == [b"%d-%d" % (number, count) for number in range(2) for count in range(5)]
    both = back_fill(spark, from_parquet(spark, lakes), broker.address, topic)
    assert (both.rows, both.repeated, both.sources) == (10, 0, 2)


def test_what_cannot_be_written_is_refused_before_anything_is(spark: SparkSession, broker: Broker, topic: str) -> None:
    row = spark.range(1).select(F.lit("v").alias("value"), F.lit(0).alias("partition"), F.col("id").alias("offset"))
    wrong: list[tuple[DataFrame, str]] = [
        (row.drop("value"), "there is no column 'value' among partition, offset"),
        (row.drop("offset"), "there is no column 'offset' among value, partition"),
        (row.withColumn("value", F.lit(1)), "the column 'value' is of type int32; it must be binary or string"),
        (row.withColumn("partition", F.lit("0")), "the column 'partition' is of type string"),
        (row.withColumn("partition", F.lit(None).cast("int")), "1 messages have no partition or no offset"),
        (
            row.withColumn("partition", F.lit(3)),
            f"there are messages of partition 3, and {topic} has partitions 0 to 2",
        ),
        (row.withColumn("value", F.expr("repeat('x', 2000000)")), r"0, offset 0: .* takes messages of up to .* bytes"),
    ]
    for frame, said in wrong:
        with pytest.raises(UnwritableError, match=said):
            back_fill(spark, frame, broker.address, topic)
    with pytest.raises(TopicNotFound, match="nowhere"):
        back_fill(spark, row, broker.address, "nowhere")
    with pytest.raises(UnwritableError, match="original timing needs to know when messages were made"):
        back_fill(spark, row, broker.address, topic, pace=Pace(original=True))
    assert not any(stored(broker.address, topic))
