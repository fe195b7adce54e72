"""The Spark that commands, notebooks and tests share: quiet, bound to loopback, and with our source in it.

A cluster's Spark is configured by whoever runs the cluster. Given a master other than `local`, nothing is set here but
what our own jobs need: the source, UTC, and Arrow.

What a Java of ours says on its way goes to a file beside its other temporary files, which is gone with the process;
only where it does not start is that shown.
"""

import atexit
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from goqueue.core.errors import GoQueueError
from goqueue.spark.datasource import register

# With no appender at all, Spark would take its own, talkative configuration instead.
_QUIET = """
appender.none.type = Null
appender.none.name = none
rootLogger.level = off
rootLogger.appenderRef.none.ref = none
"""
_OURS = {
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
# Not local-cluster[…], which has workers.
_HERE = re.compile(r"local(\[[^\]]*\])?")
_PYTHON = "spark.pyspark.python"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_SAID_MAX = 2000


class NoSparkError(GoQueueError):
    """Spark's Java did not start, and what it said."""


def open_session(
    master: str = "local[*]", name: str = "goqueue", settings: Mapping[str, str] | None = None
) -> SparkSession:
    """A session that knows the source `goqueue`; the one that runs already, if there is one.

    Without a master it is whatever spark-submit has been told. Raises NoSparkError.
    """
    chosen = _OURS | dict(settings or {})
    if _HERE.fullmatch(master) and SparkContext._active_spark_context is None:
        _start_here(SparkConf().setMaster(master).setAppName(name), chosen)
    elif SparkContext._active_spark_context is None and chosen.get(_PYTHON):
        # Only spark-submit makes the one of the other.
        os.environ.setdefault("PYSPARK_PYTHON", chosen[_PYTHON])
    builder = SparkSession.builder.appName(name)
    if master:
        builder = builder.master(master)
    for key, value in chosen.items():
        builder = builder.config(key, value)
    session: SparkSession = builder.getOrCreate()
    register(session)
    return session


def _start_here(conf: SparkConf, chosen: Mapping[str, str]) -> None:
    # Else the workers run whichever Python comes first, and listen on whatever the host's name means.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    room = Path(tempfile.mkdtemp(prefix="goqueue-spark-"))
    atexit.register(shutil.rmtree, room, ignore_errors=True)
    settings = _LOCAL | _in(room) | dict(chosen)
    settings[_JAVA_OPTIONS] = f"{_java_options(room)} {chosen.get(_JAVA_OPTIONS, '')}".rstrip()
    conf.setAll([*settings.items()])
    said = room / "java.txt"
    with said.open("wb") as sink:
        try:
            gateway = launch_gateway(conf, {"stdout": sink, "stderr": sink})  # type: ignore[no-untyped-call]
        except PySparkRuntimeError as error:
            words = said.read_text(errors="replace")[-_SAID_MAX:].strip()
            raise NoSparkError(f"Spark's Java did not start: {words or error}") from error
    SparkContext(conf=conf, gateway=gateway)


def _in(room: Path) -> dict[str, str]:
    return {"spark.sql.warehouse.dir": str(room / "warehouse"), "spark.local.dir": str(room / "local")}


def _java_options(room: Path) -> str:
    logging = room / "log4j2.properties"
    logging.write_text(_QUIET)
    return f"-Dlog4j2.configurationFile={logging} -XX:+UseSerialGC -Dderby.system.home={room}"
