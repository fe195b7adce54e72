"""Paths of the driver, as tasks elsewhere find them, or do not."""

import socket
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from goqueue.fuzz.options import Options
from goqueue.spark.commands.opening import Wanted
from goqueue.spark.facts.frame import read_facts
from goqueue.spark.places import absolute
from goqueue.spark.reaching import UnreachedError, asked, reached, writable
from tests.arrow.delivery_worlds import live


class Conf:
    """The settings of a session on a cluster."""

    def get(self, name: str, _default: str = "") -> str:
        assert name == "spark.master"
        return "spark://head:7077"


class Elsewhere:
    """The session of the tests, as if it ran on a cluster: its tasks work in folders of their own."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.conf = Conf()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a session has
        return getattr(self._spark, name)


@pytest.fixture
def elsewhere(spark: SparkSession) -> SparkSession:
    """A session on a cluster."""
    return Elsewhere(spark)  # type: ignore[return-value]


def test_a_relative_path_is_read_from_the_drivers_folder(
    elsewhere: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "captures").mkdir()
    live(tmp_path / "captures", 2, Options(steps=20))
    monkeypatch.chdir(tmp_path)
    assert reached(elsewhere, ["captures", "s3://bucket/captures"]) == [
        str(tmp_path / "captures"),
        "s3://bucket/captures",
    ]
    found = read_facts(elsewhere, ["captures"]).where("kind = 'file'").select("cause", "count").collect()
    assert [row["cause"] for row in found] == [None] * len(found)
    assert sum(row["count"] for row in found) > 0
    assert writable(elsewhere, "lake/facts") == str(tmp_path / "lake" / "facts")
    assert [*tmp_path.iterdir()] == [tmp_path / "captures"]


@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="no process has a folder of its own there")
def test_what_tasks_do_not_find_is_told_with_the_machine_and_what_to_do(
    spark: SparkSession, elsewhere: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = str(tmp_path / "nowhere")
    assert asked(spark, [str(tmp_path), nowhere]) == [(nowhere, socket.gethostname())]
    # What is not even here is for whoever opens it to tell.
    assert reached(elsewhere, [nowhere]) == [nowhere]
    # A folder that each process has for itself, as each machine has.
    (tmp_path / "captures").mkdir()
    monkeypatch.chdir(tmp_path)
    own = "/proc/self/cwd"
    said = rf"{own}/captures is on this machine, and tasks on {socket.gethostname()} find nothing there: put it"
    with pytest.raises(UnreachedError, match=said):
        reached(elsewhere, [f"{own}/captures"])
    with pytest.raises(
        UnreachedError, match="would write into a folder of their own: name one that all machines share"
    ):
        writable(elsewhere, f"{own}/facts")
    assert reached(spark, ["captures"]) == ["captures"]
    assert writable(spark, "facts") == "facts"


def test_a_master_with_workers_is_not_this_machine() -> None:
    masters = ("local", "local[*]", "local[2,3]", "local-cluster[2,1,512]", "spark://head:7077", "yarn")
    assert [Wanted(master).is_local for master in masters] == [True, True, True, False, False, False]
    assert absolute("hdfs://names/logs") == "hdfs://names/logs"
