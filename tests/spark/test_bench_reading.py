"""The figures of reading measure what they say, in small, and leave nothing behind."""

from pathlib import Path

import pytest
from attrs import evolve
from pyspark.sql import SparkSession

from goqueue.cli.bench.sizes import FULL, QUICK
from goqueue.cli.bench.workbench import Workbench
from goqueue.spark.bench import reading


def test_every_figure_has_the_bar_that_the_page_names() -> None:
    assert {entry.key: [str(bar) for bar in entry.bars] for entry in reading.entries(FULL)} == {
        "spark_read": ["ratio >= 0.5"],
        "spark_read_all": [],
    }


def test_segments_and_parquet_are_summed_up_alike(spark: SparkSession, tmp_path: Path) -> None:
    sizes = evolve(QUICK, spark_records=400, long_rounds=1)
    workbench = Workbench(tmp_path, sizes, lambda _: None)
    for entry in reading.entries(sizes):
        figure = entry.measure(workbench)
        assert figure.limit
        assert figure.ratio == pytest.approx(figure.value / figure.limit)
    assert list(tmp_path.iterdir()) == []
