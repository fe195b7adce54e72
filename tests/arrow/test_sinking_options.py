"""What may be said of a write and what a frame may have, and how everything else is refused."""

import pickle
from datetime import timedelta

import pyarrow as pa
import pytest
from pyspark.sql.types import BinaryType, IntegerType, LongType, StringType, StructField, StructType

from goqueue.core.records.batch import Codec
from goqueue.spark.records.columns import ARROW_SCHEMA
from goqueue.spark.sinking.errors import UnwritableError
from goqueue.spark.sinking.options import NAMES, WriteOptions, write_options
from goqueue.spark.sinking.shape import check_shape
from goqueue.spark.sinking.writing import stream_writer_of, writer_of
from goqueue.testing import Broker
from goqueue.transports.client.connection import connect

HOST = {"bootstrap": "one:9000"}
VALUE = StructType([StructField("value", BinaryType())])


def test_every_option_is_understood_whatever_its_case() -> None:
    found = write_options({
        "Bootstrap": "one:9000, two:9001", "topic": "orders", "job": "nightly", "batch": "7", "batch_bytes": "1000",
        "BUFFER_BYTES": "2000000", "compression": "ZSTD", "acks": "leader", "delivery_timeout": "1.5", "tls": "true",
        "tls_ca": "ca.pem", "delayed": "at_least_once", "checkpointLocation": "/x", "path": "/y",
    })  # fmt: skip
    assert found == WriteOptions(
        ["one:9000", "two:9001"], "orders", "nightly", 7, 1000, 2_000_000, Codec.ZSTD, 1, 1_500_000_000, True,
        "ca.pem", True,
    )  # fmt: skip
    assert write_options(HOST) == WriteOptions(["one:9000"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"topik": "x"}, f"there is no option 'topik' for writing; the options are {', '.join(NAMES)}"),
        ({"bootstrap": "one"}, "the option 'bootstrap' is 'one'; an address is host:port, not 'one'"),
        ({"batch": "-1"}, "the option 'batch' is '-1'; it may be a whole number from 0 to"),
        ({"batch": "1"}, "the option 'batch' numbers the batches of a job; say its name"),
        ({"batch_bytes": "1MB"}, "the option 'batch_bytes' is '1MB'; it may be a whole number from 1 to 16777216"),
        ({"compression": "brotli"}, "the option 'compression' is 'brotli'; it may be none, gzip, snappy, lz4, zstd"),
        ({"acks": "none"}, "the option 'acks' is 'none'; it may be all, leader"),
        ({"delivery_timeout": "soon"}, "the option 'delivery_timeout' is 'soon'; it may be a number of seconds"),
        ({"delayed": "yes"}, "the option 'delayed' is 'yes'; it may be refuse, at_least_once"),
    ],
)
def test_an_option_that_cannot_be_meant_is_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(UnwritableError) as refused:
        write_options(HOST | options)
    assert str(refused.value).startswith(said)


def test_a_write_says_where_to() -> None:
    with pytest.raises(UnwritableError, match=r"which broker\? Say option\('bootstrap'"):
        write_options({"topic": "orders"})


def test_what_was_read_from_a_topic_can_be_written() -> None:
    check_shape(ARROW_SCHEMA, WriteOptions(["one:9000"]))


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (
            {"value": pa.string(), "price": pa.int64()},
            "there is no use for a column 'price': drop it; a message",
        ),
        ({"key": pa.string()}, "a message needs a column 'value'"),
        ({"value": pa.int64()}, "the column 'value' is of type int64; it must be binary or string; to_json"),
        (
            {"value": pa.string(), "headers": pa.list_(pa.string())},
            "the column 'headers' is of type list<",
        ),
        (
            {"value": pa.string(), "timestamp": pa.timestamp("us")},
            r"the column 'timestamp' is of type timestamp\[us\]",
        ),
        ({"value": pa.string(), "due": pa.timestamp("us", "UTC")}, "rows with a column 'due' are stored at least once"),
        (
            {"value": pa.string(), "due": pa.timestamp("us", "UTC"), "delay": pa.duration("us")},
            "a row says when it is due, or how long it is kept back, and not both",
        ),
    ],
)
def test_a_frame_that_is_no_messages_is_refused(columns: dict[str, pa.DataType], said: str) -> None:
    with pytest.raises(UnwritableError, match=said):
        check_shape(pa.schema([*columns.items()]), WriteOptions(["one:9000"], "orders"))


def test_a_frame_without_a_topic_needs_an_option() -> None:
    with pytest.raises(UnwritableError, match=r"which topic\? Say option\('topic'"):
        check_shape(pa.schema([("value", pa.string())]), WriteOptions(["one:9000"]))


def test_nothing_is_overwritten_and_streams_count_for_themselves() -> None:
    with pytest.raises(UnwritableError, match="a topic is appended to and never overwritten"):
        writer_of(HOST | {"topic": "orders"}, VALUE, overwrite=True)
    with pytest.raises(UnwritableError, match="a stream numbers its batches itself"):
        stream_writer_of(HOST | {"topic": "orders", "job": "j", "batch": "1"}, VALUE, overwrite=False)
    with pytest.raises(UnwritableError, match="no use for a column 'id'"):
        stream_writer_of(
            HOST | {"topic": "orders"}, StructType([*VALUE.fields, StructField("id", LongType())]), overwrite=False
        )


def test_a_writer_settles_name_and_layout_before_it_travels() -> None:
    schema = StructType([*VALUE.fields, StructField("key", StringType()), StructField("partition", IntegerType())])
    with Broker() as broker:
        with connect(broker.address) as connection:
            connection.topics.create("orders", 5)
        given = {"bootstrap": broker.address, "topic": "orders"}
        one, other = (pickle.loads(pickle.dumps(writer_of(given, schema, overwrite=False))) for _ in range(2))
        named = writer_of(given | {"job": "nightly", "batch": "3"}, schema, overwrite=False)
    assert one.work.name != other.work.name
    assert (named.work.name, named.work.batch) == ("nightly", 3)
    assert len(one.layouts["orders"].leaders) == 5
    assert timedelta(microseconds=one.options.delivery_timeout_ns // 1000) == timedelta(minutes=2)
