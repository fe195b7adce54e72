"""Topics into Parquet by Spark: from segments and from a running broker, again and again, each record once."""

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from goqueue.spark.exporting import job
from goqueue.spark.exporting.export import Export
from goqueue.spark.exporting.folder import LocalFolder
from goqueue.spark.exporting.job import Origin, export
from goqueue.spark.exporting.manifest import ExportError, Span, TopicExportedError
from goqueue.spark.records.edges import UnreadableError
from goqueue.spark.sinking.errors import UnwritableError
from goqueue.spark.sinking.sources import from_parquet
from goqueue.testing import Broker
from goqueue.transports.client.connection import connect
from goqueue.transports.client.errors import TopicNotFound
from tests.spark.test_segments_source import write


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> str:
    """A topic of two partitions, for one test."""
    name: str = request.node.name[:100]
    with connect(broker.address) as connection:
        connection.topics.create(name, 2)
    return name


def publish(broker: Broker, topic: str, begin: int, end: int) -> None:
    """Messages with a number each, odd ones in partition 1."""
    with connect(broker.address) as connection, connection.producer() as producer:
        for number in range(begin, end):
            producer.send(topic, b"%d" % number, partition=number % 2)


def numbers(folder: Path) -> list[int]:
    """What any reader of Parquet finds: names that begin with `_` are passed over."""
    return sorted(int(value) for value in pq.read_table(folder, columns=["value"]).column("value").to_pylist())


class Dying(LocalFolder):
    """A folder whose user dies before something is done in it."""

    at = ""

    def commit(self, name: str, content: bytes) -> bool:
        assert self.at != "commit", "the exporter is gone"
        return super().commit(name, content)

    def move(self, source: str, target: str) -> None:
        assert self.at != "move", "the exporter is gone"
        super().move(source, target)


def test_segments_are_exported_by_hour_and_in_order(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    for partition in range(2):
        write(folder, "orders", partition, 35)
    origin, lake = Origin("orders", path=str(folder)), tmp_path / "lake"
    done = export(spark, origin, str(lake)).manifest
    assert done is not None
    # The last of the 73 offsets is of a record; what marks ends of transactions is none, and no gap.
    assert done.spans == {partition: Span(0, 73, 70) for partition in range(2)}
    assert sorted(one.name for one in lake.iterdir() if not one.name.startswith("_")) == [
        "date=2023-11-14",
        "date=__HIVE_DEFAULT_PARTITION__",
    ]
    assert {one.parent.name for one in lake.glob("date=2023-11-14/*/*.parquet")} == {"hour=22"}
    for file in lake.glob("date=*/hour=*/*.parquet"):
        table = pq.ParquetFile(file).read(columns=["partition", "offset"])
        places = [*zip(*(column.to_pylist() for column in table.columns), strict=True)]
        assert places == sorted(places)
    assert spark.read.parquet(str(lake)).where("date is null").count() == 70
    assert export(spark, origin, str(lake)).manifest is None


def test_a_running_broker_is_exported_bit_by_bit_whatever_dies(
    spark: SparkSession, broker: Broker, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin = Origin(topic, bootstrap=broker.address)
    publish(broker, topic, 0, 100)
    assert export(spark, origin, str(tmp_path)).missed == {}
    assert numbers(tmp_path) == [*range(100)]
    monkeypatch.setattr(job, "open_folder", lambda _, path: Dying(path))
    for at, begin in (("commit", 100), ("move", 150)):
        publish(broker, topic, begin, begin + 50)
        monkeypatch.setattr(Dying, "at", at)
        with pytest.raises(AssertionError, match="the exporter is gone"):
            export(spark, origin, str(tmp_path))
        assert numbers(tmp_path) == [*range(100)]
    with pytest.raises(UnwritableError, match="files of an export that broke off are not in their places"):
        from_parquet(spark, [str(tmp_path)])
    publish(broker, topic, 200, 250)
    monkeypatch.setattr(Dying, "at", "")
    done = export(spark, origin, str(tmp_path))
    assert done.mended > 0
    assert done.manifest is not None
    assert done.manifest.spans == {0: Span(100, 125, 25), 1: Span(100, 125, 25)}
    assert numbers(tmp_path) == [*range(250)]


def test_what_is_not_there_is_named(
    spark: SparkSession, broker: Broker, topic: str, folder: Path, tmp_path: Path
) -> None:
    write(folder, "orders", 0, 1)
    lake = str(tmp_path / "lake")
    with pytest.raises(UnreadableError, match="holds no topic 'order'; it holds orders"):
        export(spark, Origin("order", path=str(folder)), lake)
    with pytest.raises(TopicNotFound, match="nowhere"):
        export(spark, Origin("nowhere", bootstrap=broker.address), lake)
    origins = Origin(topic, bootstrap=broker.address), Origin("orders", path=str(folder))
    publish(broker, topic, 0, 10)
    export(spark, origins[0], lake)
    with connect(broker.address) as connection:
        connection.topics.delete(topic)
        connection.topics.create(topic, 2)
    publish(broker, topic, 0, 20)
    # It ends beyond what was exported of the one before.
    with pytest.raises(TopicExportedError, match=r"holds the topic .* with the id .*; it was deleted and made again"):
        export(spark, origins[0], lake)
    with pytest.raises(ExportError, match="does not say which topic it is"):
        Export(LocalFolder(lake), topic).ends()
    lake = str(tmp_path / "segments")
    export(spark, origins[1], lake)
    shutil.rmtree(folder)
    write(folder, "orders", 0, 0)
    with pytest.raises(
        ExportError,
        match=r"orders/0 ends at offset 0, and .* holds it up to 2: it has lost records, or this is another",
    ):
        export(spark, origins[1], lake)
