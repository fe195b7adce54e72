"""One Spark for all tests that need one: two threads, little memory, and nothing is compiled or planned twice."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from goqueue.spark.session import open_session
from goqueue.testing import Broker


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session that knows the source `goqueue`."""
    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    }
    # A task may fail twice.
    session = open_session("local[2,3]", "tests", settings)
    yield session
    session.stop()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a data folder may come to lie."""
    return tmp_path / "goqueue-data"


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """A broker of one node, for all tests here: each makes topics of its own."""
    with Broker() as running:
        yield running
