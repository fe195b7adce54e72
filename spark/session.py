"""The Spark that commands, notebooks and tests share: quiet, bound to loopback, and with our source in it.

A cluster's Spark is configured by whoever runs the cluster. Given a master other than `local`, nothing is set here but
what our own jobs need: the source, and the push-down of filters to it.
"""

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from goqueue.spark.datasource import GoQueueSource

# With no appender at all, Spark would take its own, talkative configuration instead.
_QUIET = """
appender.none.type = Null
appender.none.name = none
rootLogger.level = off
rootLogger.appenderRef.none.ref = none
"""
_OURS = {
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
_LOCAL = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.memory": "2g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def open_session(
    master: str = "local[*]", name: str = "goqueue", settings: Mapping[str, str] | None = None
) -> SparkSession:
    """A session that knows the source `goqueue`; the one that runs already, if there is one.

    Without a master it is whatever spark-submit has been told.
    """
    chosen = dict(_OURS)
    if master.startswith("local"):
        # Else the workers run whichever Python comes first, and listen on whatever the host's name means.
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        chosen |= _LOCAL | _quiet_java()
    builder = SparkSession.builder.appName(name)
    if master:
        builder = builder.master(master)
    for key, value in (chosen | dict(settings or {})).items():
        builder = builder.config(key, value)
    session: SparkSession = builder.getOrCreate()
    session.dataSource.register(GoQueueSource)
    return session


def _quiet_java() -> dict[str, str]:
    room = Path(tempfile.mkdtemp(prefix="goqueue-spark-"))
    logging = room / "log4j2.properties"
    logging.write_text(_QUIET)
    options = f"-Dlog4j2.configurationFile={logging} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    return {
        "spark.driver.extraJavaOptions": f"{options} -Dderby.system.home={room}",
        "spark.sql.warehouse.dir": str(room / "warehouse"),
    }
