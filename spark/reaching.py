"""Whether tasks find what lies on this machine: a path of the driver means nothing to an executor elsewhere.

Tasks run in folders of their own, so a path that begins nowhere is made one from the root on. On a Spark that runs
elsewhere each executor that can be had is asked whether it finds it, before anything long begins. That is a question
and no proof: an executor that comes later may be on another machine.
"""

import re
import socket
import uuid
from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import SparkSession

from goqueue.core.errors import GoQueueError
from goqueue.spark import places

_ASKED_MAX = 64
_LOCAL = re.compile(r"local(\[[^\]]*\])?")
_ADVICE = "put it at the same path on every machine, or on a file system that all of them reach (hdfs://, s3://, gs://)"


class UnreachedError(GoQueueError):
    """What lies on the driver's machine, and is not there where tasks run."""


def is_local(master: str) -> bool:
    """Whether a master is this process: local or local[2], and not local-cluster[2,1,1024], which has workers."""
    return _LOCAL.fullmatch(master) is not None


def is_elsewhere(spark: SparkSession) -> bool:
    """Whether tasks run outside of this process's machine, or may."""
    return not is_local(spark.conf.get("spark.master", "") or "local")


def reached(spark: SparkSession, paths: Sequence[str]) -> list[str]:
    """Return the paths that executors can open. Raises UnreachedError if an executor cannot open one of them."""
    if not is_elsewhere(spark):
        return [*paths]
    found = [places.absolute(path) for path in paths]
    # What is not even here is told by whoever opens it.
    here = [path for path in found if places.is_local(path) and places.local(path).exists()]
    missing = asked(spark, here) if here else []
    if missing:
        path, host = missing[0]
        raise UnreachedError(f"{path} is on this machine, and tasks on {host} find nothing there: {_ADVICE}")
    return found


def writable(spark: SparkSession, folder: str) -> str:
    """A folder that is to be written to by tasks, as they find it. Raises UnreachedError where it is not one for all.

    What tasks write on machines of their own would be taken for written, and nobody would find it.
    """
    if not is_elsewhere(spark) or not places.is_local(folder):
        return folder
    path = places.local(places.absolute(folder))
    above = next(one for one in (path, *path.parents) if one.is_dir())
    mark = above / f".goqueue-{uuid.uuid4().hex}"
    mark.touch()
    try:
        missing = asked(spark, [str(mark)])
    finally:
        mark.unlink()
    if missing:
        host = missing[0][1]
        raise UnreachedError(
            f"{path} is on this machine, and tasks on {host} would write into a folder of their own: name one that all"
            " machines share, or one on hdfs://, s3://, gs://"
        )
    return str(path)


def asked(spark: SparkSession, paths: Sequence[str]) -> list[tuple[str, str]]:
    """Which of some paths tasks do not find, and on which machine."""
    count = min(max(spark.sparkContext.defaultParallelism, 2), _ASKED_MAX)

    def body(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            missing = [path for path in paths if not places.local(path).exists()]
            host = [socket.gethostname()] * len(missing)
            columns = [pa.array(missing, pa.string()), pa.array(host, pa.string())]
            yield pa.RecordBatch.from_arrays(columns, ["path", "host"])

    rows = spark.range(0, count, 1, count).mapInArrow(body, "path string, host string").distinct().collect()
    return sorted((row["path"], row["host"]) for row in rows)
