"""A node that is told the same does the same, and none dies of itself.

A replay that comes out otherwise says that the code which replays is not the code that ran, or that something decides
without having been told. A node that died says in its own words which of its invariants did not hold.
"""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from goqueue.spark.checks.finding import candidates, fact
from goqueue.spark.checks.past import Past

NAME: Final = "diverged"
PROMISE: Final = "A node that is told the same does the same, and dies of nothing but its machine."


def found(past: Past) -> DataFrame:
    """Files that did not come out the same, and nodes that died of an invariant."""
    other = past.of("file").where(sql.col("cause") == "diverged").withColumn("one", fact())
    words = sql.concat(sql.lit("the replay does not come out the same: "), sql.coalesce("detail", sql.lit("")))
    found = candidates(other.drop("first", "end"), words, [sql.col("one")])
    died = past.of("died").withColumn("one", fact())
    said = sql.concat(sql.lit("the node died: "), sql.coalesce("detail", sql.lit("")))
    return found.unionByName(candidates(died, said, [sql.col("one")]))
