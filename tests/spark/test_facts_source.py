"""Captures by way of the data source: facts with the columns that are asked for."""

from collections import Counter
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from goqueue.spark.facts.schema import COLUMNS
from goqueue.storage.capture import CaptureLimits
from goqueue.storage.capture_files import list_captures
from tests.arrow.told_worlds import rows_of
from tests.storage.test_capture_files import captured


def test_the_source_gives_the_facts_of_all_files_with_the_columns_that_are_asked_for(
    spark: SparkSession, tmp_path: Path
) -> None:
    captured(tmp_path / "captures", turns=60, limits=CaptureLimits(file_bytes=12_000, total_bytes=1 << 30))
    files = list_captures(str(tmp_path / "captures"))
    wanted = Counter((fact["kind"], fact["event"]) for file in files for fact in rows_of(file.path))
    reader = spark.read.format("goqueue").option("read", "facts")
    whole = reader.load(str(tmp_path / "captures"))
    assert whole.columns == [*COLUMNS]
    assert whole.rdd.getNumPartitions() == len(files) > 1
    rows = reader.schema("kind string, event bigint").load(str(tmp_path)).collect()
    assert Counter((row[0], row[1]) for row in rows) == wanted
    appended = whole.where("kind = 'appended'").selectExpr("sum(count)", "max(time)").collect()[0]
    facts = [fact for file in files for fact in rows_of(file.path) if fact["kind"] == "appended"]
    assert appended[0] == sum(fact["count"] for fact in facts) > 0
    assert appended[1] == max(fact["time"] for fact in facts).replace(tzinfo=None)


def test_what_holds_no_facts_is_refused_in_our_words(spark: SparkSession, tmp_path: Path) -> None:
    reader = spark.read.format("goqueue").option("read", "facts")
    with pytest.raises(PySparkException, match="holds no capture"):
        reader.load(str(tmp_path)).collect()
    with pytest.raises(PySparkException, match="there is no column 'offset'; the columns are node, run, event"):
        reader.schema("offset bigint").load(str(tmp_path)).collect()
