"""The job that replays captures, on a Spark: a task a file, and what its workers may do to a replay."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from goqueue.core.capture.alterations import UnknownAlteration
from goqueue.core.capture.errors import CaptureError
from goqueue.spark.captures.code import UnknownCode
from goqueue.spark.captures.job import replay
from goqueue.storage.capture_files import list_captures
from tests.storage.test_capture_files import captured


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture of several files, of which nothing is wrong."""
    folder = tmp_path_factory.mktemp("whole")
    captured(folder, turns=120)
    return folder


def test_all_files_are_replayed_and_compared_whatever_the_hash_seed(spark: SparkSession, whole: Path) -> None:
    told: list[str] = []
    found = replay(spark, [str(whole)], told=told.append)
    assert found.is_identical, found.lines()
    assert [Path(one.path).name for one in found.files] == [one.name for one in list_captures(str(whole))]
    assert sum(one.borders for one in found.files) == len(found.files) - 1
    assert found.events > 500
    assert told[0].startswith(f"{len(found.files)} capture files, ")
    assert told[1].startswith(f"{found.events:,} events replayed in ")


def test_what_a_change_would_have_made_of_it_comes_back(spark: SparkSession, whole: Path) -> None:
    found = replay(spark, [str(whole)], settings={"topic.*.max_message_bytes": "1024"}, kept_max=1)
    assert found.is_identical
    assert found.differing > 0
    assert max(len(one.differences) for one in found.files) == 1
    assert sum(one.new for one in found.counts) > 0


def test_what_is_not_to_be_had_is_told_before_any_task_runs(spark: SparkSession, whole: Path, tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="holds no capture"):
        replay(spark, [str(whole), str(tmp_path)])
    with pytest.raises(UnknownCode):
        replay(spark, [str(whole)], code="no.such.module:f")
    with pytest.raises(UnknownAlteration):
        replay(spark, [str(whole)], settings={"topic.orders.colour": "red"})
