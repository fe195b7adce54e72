"""One Spark for all tests that need one: two threads, no pages to look at, and quiet."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from goqueue.spark.datasource import GoQueueSource

# With no appender at all, Spark would take its own, talkative configuration instead.
QUIET = """
appender.none.type = Null
appender.none.name = none
rootLogger.level = off
rootLogger.appenderRef.none.ref = none
"""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session that knows the source `goqueue`."""
    room = tmp_path_factory.mktemp("spark")
    logging = room / "log4j2.properties"
    logging.write_text(QUIET)
    # Else the workers run whichever Python comes first, and listen on whatever the host's name means.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    session = (
        SparkSession.builder.master("local[2]")
        .appName("tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.warehouse.dir", str(room / "warehouse"))
        .config("spark.driver.memory", "512m")
        .config(
            "spark.driver.extraJavaOptions",
            f"-Dlog4j2.configurationFile={logging} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dderby.system.home={room}",
        )
        .getOrCreate()
    )
    session.dataSource.register(GoQueueSource)
    yield session
    session.stop()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a data folder may come to lie."""
    return tmp_path / "goqueue-data"
