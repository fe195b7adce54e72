"""The data source as Spark sees it: schema, rows, partitions, options, and what a failing task says."""

import pickle
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, BinaryType, IntegerType, LongType, StringType, StructField, StructType

from goqueue.core.log.config import Fsync, LogConfig
from goqueue.core.records.batch import Codec, Lane
from goqueue.core.records.build import encode
from goqueue.core.records.control import ControlMarker, encode_marker
from goqueue.spark.datasource import GoQueueSource
from goqueue.spark.readers import SegmentPartition
from goqueue.spark.records.columns import ARROW_SCHEMA
from goqueue.spark.records.edges import UnreadableError
from goqueue.spark.records.planning import SegmentPlan
from goqueue.storage.files import FileDisk
from goqueue.storage.open_log import OpenLog
from tests.storage.logbook import NOW_MS, flip

SEGMENT_BYTES = 2000


def write(folder: Path, topic: str, partition: int, count: int, codec: Codec = Codec.NONE) -> None:
    """A partition with batches of two records, a control batch after every tenth, in segments of some batches each."""
    config = LogConfig(segment_bytes=SEGMENT_BYTES, fsync=Fsync.NONE)
    log = OpenLog(FileDisk(str(folder)), f"logs/{topic}/{partition}", config)
    for number in range(count):
        key, value = b"key-%d" % number, b"value-%d" % number * 10
        headers = [("origin", b"web"), ("empty", None)]
        records = [(NOW_MS + number, key, value, headers), (-1, None, None, [])]
        log.append(encode(records, codec=codec, lane=Lane(number % 5), producer_id=number % 3 - 1), leader_epoch=number)
        if number % 10 == 9:
            log.append(
                encode_marker(ControlMarker(commit=True, coordinator_epoch=1), NOW_MS, 1, 0), leader_epoch=number
            )
    log.flush()
    log.close()


def load(spark: SparkSession, folder: Path, schema: str = "", **options: str) -> DataFrame:
    """The folder, read."""
    reader = spark.read.format("goqueue").options(**options)
    return (reader.schema(schema) if schema else reader).load(str(folder))


def test_the_schema_is_the_documented_one(spark: SparkSession, folder: Path) -> None:
    frame = load(spark, folder)
    assert frame.schema.simpleString() == (
        "struct<topic:string,partition:int,offset:bigint,timestamp:timestamp,key:binary,value:binary,"
        "headers:array<struct<key:string,value:binary>>,lane:int,producer_id:bigint,leader_epoch:int>"
    )
    assert to_arrow_schema(frame.schema, timezone="UTC") == ARROW_SCHEMA
    page = (Path(__file__).parents[2] / "docs" / "spark.md").read_text()
    section = page.partition("## A row is a record")[2].partition("##")[0]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| `")]
    documented = {cells[1].strip(" `"): cells[2].strip(" `") for cells in rows}
    named = {field.name: field.dataType.simpleString() for field in frame.schema}
    assert {name: documented.get(name) for name in named} == named


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_every_record_is_a_row(spark: SparkSession, folder: Path, codec: Codec) -> None:
    write(folder, "orders", 0, 35, codec)
    rows = sorted(load(spark, folder).collect(), key=attrgetter("offset"))
    assert len(rows) == 70
    assert [row.offset for row in rows] == sorted(set(range(73)) - {20, 41, 62})
    assert {(row.topic, row.partition) for row in rows} == {("orders", 0)}
    for number in range(35):
        full, bare = rows[2 * number : 2 * number + 2]
        made = datetime.fromtimestamp(full.timestamp.timestamp(), UTC)
        assert made == datetime.fromtimestamp((NOW_MS + number) / 1000, UTC)
        assert (full.key, full.value) == (b"key-%d" % number, b"value-%d" % number * 10)
        assert [tuple(pair) for pair in full.headers] == [("origin", b"web"), ("empty", None)]
        assert (bare.timestamp, bare.key, bare.value, bare.headers) == (None, None, None, [])
        producer = number % 3 - 1
        assert (full.lane, full.leader_epoch) == (number % 5, number)
        assert full.producer_id == (None if producer < 0 else producer)


def test_topics_are_told_apart_and_one_can_be_chosen(spark: SparkSession, folder: Path) -> None:
    for topic, partition in (("orders", 0), ("orders", 1), ("audit", 0)):
        write(folder, topic, partition, 12)
    counted = {
        (row.topic, row.partition): row["count"]
        for row in load(spark, folder).groupBy("topic", "partition").count().collect()
    }
    assert counted == {("orders", 0): 24, ("orders", 1): 24, ("audit", 0): 24}
    assert load(spark, folder, topic="audit").count() == 24
    assert load(spark, folder, topic="audit", control="true").count() == 25


def test_a_segment_is_a_partition_and_columns_come_as_asked(spark: SparkSession, folder: Path) -> None:
    write(folder, "orders", 0, 60)
    frame = load(spark, folder, "value binary, offset bigint NOT NULL")
    segments = list((folder / "logs" / "orders" / "0").glob("*.log"))
    assert frame.rdd.getNumPartitions() == len(segments) > 2
    assert frame.columns == ["value", "offset"]
    assert frame.where("offset = 0").collect()[0].value == b"value-0" * 10
    assert frame.selectExpr("count(*)", "max(offset)").collect()[0][:] == (120, 124)


def test_an_empty_folder_has_no_rows(spark: SparkSession, folder: Path) -> None:
    folder.mkdir()
    (folder / "FORMAT").write_bytes(b"goqueue data, format 1\n")
    assert load(spark, folder).collect() == []


def test_damage_fails_the_task_with_file_and_byte_or_is_skipped(spark: SparkSession, folder: Path) -> None:
    write(folder, "orders", 0, 35)
    file = "logs/orders/0/00000000000000000000.log"
    flip(FileDisk(str(folder)), file, 100)
    with pytest.raises(PySparkException, match=rf"{folder}/{file}: damaged at byte 0: The CRC is"):
        load(spark, folder).collect()
    assert load(spark, folder, damaged="skip").count() == 68


def test_what_cannot_be_read_is_refused_by_spark_in_our_words(spark: SparkSession, folder: Path) -> None:
    with pytest.raises(PySparkException, match=f"{folder} is not a GoQueue data folder: it holds no file FORMAT"):
        load(spark, folder).collect()


def reading(options: dict[str, str], *fields: StructField) -> list[SegmentPlan]:
    """What a read with these options would have tasks do, as Spark's planner asks for it."""
    wanted = StructType(list(fields) or [StructField("offset", LongType())])
    return [
        one.plan
        for one in GoQueueSource(options).reader(schema=wanted).partitions()
        if isinstance(one, SegmentPartition)
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"topc": "orders"},
            "there is no option 'topc'; the options are read, path, topic, partitions, control, damaged, ",
        ),
        ({"damaged": "ignore"}, "the option 'damaged' is 'ignore'; it may be fail or skip"),
        ({"control": "yes"}, "the option 'control' is 'yes'; it may be false or true"),
        ({"topic": "ordres"}, "holds no topic 'ordres'; it holds orders"),
        ({"path": ""}, r"which folder\? Say load\(folder\)"),
    ],
)
def test_an_option_that_says_nothing_is_refused(folder: Path, options: dict[str, str], said: str) -> None:
    write(folder, "orders", 0, 1)
    with pytest.raises(UnreadableError, match=said):
        reading({"path": str(folder)} | options)


def test_the_case_of_an_option_does_not_matter(folder: Path) -> None:
    write(folder, "orders", 0, 1)
    given = {"PATH": str(folder), "Topic": "orders", "damaged": "SKIP", "Control": "TRUE"}
    assert [one.topic for one in reading(given)] == ["orders"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ([StructField("ofset", LongType())], "there is no column 'ofset'; the columns are topic, partition, offset"),
        ([StructField("offset", IntegerType())], "the column 'offset' is of type bigint"),
        ([StructField("headers", ArrayType(StringType()))], r"the column 'headers' is of type array<struct<"),
        ([StructField("key", BinaryType(), nullable=False)], "the column 'key' may be null, so it cannot be NOT NULL"),
        ([StructField("offset", LongType())] * 2, "the column 'offset' is asked for twice"),
    ],
)
def test_a_column_that_is_not_there_is_refused(folder: Path, fields: list[StructField], said: str) -> None:
    write(folder, "orders", 0, 1)
    with pytest.raises(UnreadableError, match=said):
        reading({"path": str(folder)}, *fields)


def test_what_goes_to_a_task_can_be_sent_there(folder: Path) -> None:
    write(folder, "orders", 0, 35)
    reader = GoQueueSource({"path": str(folder)}).reader(StructType([StructField("offset", LongType())]))
    sent, *others = pickle.loads(pickle.dumps([reader, *reader.partitions()]))
    offsets = [row["offset"] for one in others for batch in sent.read(one) for row in batch.to_pylist()]
    assert offsets == sorted(set(range(73)) - {20, 41, 62})
