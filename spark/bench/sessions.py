"""The Spark that all figures of one run are measured with: two cores of this machine, started once."""

from functools import cache

from pyspark.sql import SparkSession

from goqueue.spark.session import open_session

MASTER = "local[2]"
_DRIVER = {"spark.driver.memory": "2g", "spark.sql.shuffle.partitions": "2"}


@cache
def session() -> SparkSession:
    """The session, which lives as long as the process. Raises NoSparkError."""
    return open_session(MASTER, "bench", _DRIVER)
