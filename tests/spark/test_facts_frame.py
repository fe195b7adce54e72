"""Facts as a DataFrame: the same as without Spark, and the same again when they were kept."""

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from goqueue.spark.facts.frame import FactsError, keep, kept, read_facts
from goqueue.spark.facts.schema import COLUMNS
from goqueue.storage.capture import CaptureLimits
from goqueue.storage.capture_files import list_captures
from tests.arrow.told_worlds import rows_of
from tests.storage.test_capture_files import captured


def test_facts_by_way_of_spark_are_those_of_the_files(spark: SparkSession, tmp_path: Path) -> None:
    captured(tmp_path / "captures", turns=60, limits=CaptureLimits(file_bytes=12_000, total_bytes=1 << 30))
    files = list_captures(str(tmp_path / "captures"))
    wanted = Counter(fact["kind"] for file in files for fact in rows_of(file.path))
    assert wanted["file"] == len(files) > 1
    facts = read_facts(spark, [str(tmp_path)])
    assert facts.columns == [*COLUMNS]
    keep(facts, str(tmp_path / "facts"))
    again = kept(spark, str(tmp_path / "facts"))
    assert again.schema == facts.schema
    assert Counter(row["kind"] for row in again.select("kind").collect()) == wanted
    [last] = again.orderBy("event", "part", ascending=False).limit(1).collect()
    [expected] = [fact for fact in rows_of(files[-1].path) if fact["kind"] == "file"]
    assert {name: value for name, value in last.asDict().items() if value is not None} == {
        **expected,
        "time": expected["time"].replace(tzinfo=None),
    }
    with pytest.raises(FactsError, match="is there already"):
        keep(again, str(tmp_path / "facts"))


def test_a_folder_without_facts_is_told_from_one_with(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(FactsError, match="holds no facts"):
        kept(spark, str(tmp_path / "nowhere"))
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "1-000000.capture").touch()
    with pytest.raises(FactsError, match="holds no facts: there is no folder of a kind in it"):
        kept(spark, str(tmp_path / "others"))
    spark.range(3).selectExpr("id AS event", "'file' AS kind").write.partitionBy("kind").parquet(
        str(tmp_path / "older")
    )
    with pytest.raises(FactsError, match="holds no facts of this release: column at is missing"):
        kept(spark, str(tmp_path / "older"))
