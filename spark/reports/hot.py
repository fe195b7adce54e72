"""Where load gathers: partitions with more than their share, and keys that are seen more than others.

Partitions are counted exactly, from batches as leaders took them. Keys are known in two ways. Facts have them summed up
by a sketch of bounded size, one a file, so a key may have been seen less often than is said, by at most its error, and
one that is rare may be missing; and a capture knows the keys of those messages alone whose bytes it has kept, of which
there is a row a topic. Records themselves, where segments are given, are counted exactly.
"""

from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from goqueue.spark.reports.plots import bars, heat
from goqueue.spark.reports.rows import Row, points, rows_of, slot_of
from goqueue.spark.reports.section import Section, shortened
from goqueue.spark.reports.slots import Slots, slots_of
from goqueue.spark.reports.units import BYTES, COUNT, SHARE

NAME: Final = "hot"
TITLE: Final = "Hot partitions and keys"
QUESTION: Final = "Which partitions and which keys have more than their share?"
METHOD: Final = (
    "Partitions are counted from the batches that leaders took, internal topics left out; topics that followed each "
    "other under one name are counted together. Skew is a partition's bytes against the mean of its topic's "
    "partitions, those without a message included as far as the facts know of them. Of each topic those keys are told "
    "of that came most often."
)
_EXACT: Final = "Keys are counted in the records themselves, each exactly."
_SKETCHED: Final = (
    "Keys are counted by a sketch in each file, of what clients asked to publish, whatever became of it: a figure may "
    "be too high by its error, never too low for a key that is listed, and a key that is not listed may have come as "
    "often as the sketch's error. A capture has the keys of single messages, and of batches where it keeps their "
    "records."
)

KEYS: Final = 100
# So many partitions are shown over time.
_DRAWN: Final = 24
_TOLD: Final = 10


def answer(facts: DataFrame, segments: DataFrame | None = None, keys: int = KEYS, slots: int = 60) -> DataFrame:
    """Partitions of topics, the largest of them over time, and in each topic the `keys` keys with the most messages.

    what string (partition, key: by the sketch, counted: exact, or looked: the messages whose keys the captures have);
    topic string; partition int (null but of a partition); time timestamp (null of a whole), seconds double (how long
    that is); key string (as text, or in hexadecimal); messages, bytes bigint; share double (of the topic's bytes; for
    a key of the messages that could be looked at, which for looked is their share of all); skew double (bytes against
    the mean of the topic's partitions); error bigint (by how many messages a key's figure may be too high). What does
    not apply is null. `segments` are rows of the source `goqueue`, with topic, key and value.
    """
    mine = facts.where(sf.col("topic").isNotNull() & ~sf.col("topic").startswith("__"))
    partitions = _partitions(mine)
    counted = _sketched(mine) if segments is None else _counted(segments)
    over = slots_of(facts, slots)
    rows = [partitions, _over_time(mine, partitions, over), _top(counted, keys)]
    if segments is None:
        rows.append(_looked(mine))
    found = rows[0]
    for more in rows[1:]:
        found = found.unionByName(more, allowMissingColumns=True)
    seconds = over.lasting(sf.col("time")).alias("seconds")
    return found.select(
        "what", "topic", "partition", "time", seconds, "key", "messages", "bytes", "share", "skew", "error",
    )  # fmt: skip


def _partitions(facts: DataFrame) -> DataFrame:
    known = facts.where(sf.col("partition").isNotNull() & (_came() | sf.col("kind").isin("known", "leads", "placed")))
    sums = known.groupBy("topic", "partition").agg(*_amounts())
    of_topic = sums.groupBy("topic").agg(sf.sum("bytes").alias("whole"), sf.avg("bytes").alias("mean"))
    return sums.join(of_topic, "topic").select(
        sf.lit("partition").alias("what"), "topic", "partition", sf.lit(None).cast("timestamp").alias("time"),
        sf.lit(None).cast("string").alias("key"), "messages", "bytes", sf.try_divide("bytes", "whole").alias("share"),
        sf.try_divide("bytes", "mean").alias("skew"), sf.lit(None).cast("bigint").alias("error"),
    )  # fmt: skip


def _over_time(facts: DataFrame, partitions: DataFrame, over: Slots) -> DataFrame:
    largest = partitions.orderBy(sf.desc("bytes"), "topic", "partition").limit(_DRAWN).select("topic", "partition")
    came = facts.where(_came()).join(sf.broadcast(largest), ["topic", "partition"])
    sums = came.groupBy("topic", "partition", over.number(sf.col("time")).alias("slot")).agg(*_amounts())
    return sums.select(
        sf.lit("partition").alias("what"), "topic", "partition", over.starts(sf.col("slot")).alias("time"), "messages",
        "bytes",
    )  # fmt: skip


def _came() -> Column:
    return (sf.col("kind") == "appended") & (sf.coalesce("side", sf.lit("data")) == "data")


def _amounts() -> list[Column]:
    messages = sf.coalesce("count", sf.col("end") - sf.col("first"))
    return [
        _sum(sf.when(_came(), messages)).alias("messages"),
        _sum(sf.when(_came(), sf.col("bytes"))).alias("bytes"),
    ]


def _sketched(facts: DataFrame) -> DataFrame:
    """What sketches say of keys, their errors added as their figures are."""
    keyed = facts.where(sf.col("kind") == "keyed")
    every = _looked(facts).select("topic", sf.col("messages").alias("whole"))
    key = sf.coalesce("detail", sf.concat(sf.lit("hash "), sf.col("key_hash").cast("string")))
    sums = keyed.groupBy("topic", "key_hash").agg(
        sf.min(key).alias("key"), _sum(sf.col("count")).alias("messages"), _sum(sf.col("bytes")).alias("bytes"),
        _sum(sf.col("value")).alias("error"),
    )  # fmt: skip
    return sums.join(every, "topic", "left").withColumn("what", sf.lit("key"))


def _looked(facts: DataFrame) -> DataFrame:
    """Of how many messages of each topic the keys could be looked at, and what share of all that is."""
    looked = facts.where(sf.col("kind") == "looked").groupBy("topic")
    return looked.agg(sf.sum("count").alias("messages"), sf.sum("value").alias("all")).select(
        sf.lit("looked").alias("what"), "topic", "messages", sf.try_divide("messages", "all").alias("share")
    )


def _counted(segments: DataFrame) -> DataFrame:
    """Keys of records; those that are no text in hexadecimal."""
    keyed = segments.where(sf.col("key").isNotNull() & ~sf.col("topic").startswith("__"))
    size = sf.length("key") + sf.coalesce(sf.length("value"), sf.lit(0))
    sums = keyed.groupBy("topic", "key").agg(sf.count("*").alias("messages"), sf.sum(size).alias("bytes"))
    every = segments.groupBy("topic").agg(sf.count("*").alias("whole"))
    spelled = sf.coalesce(sf.try_validate_utf8(sf.col("key").cast("string")), sf.concat(sf.lit("0x"), sf.hex("key")))
    return (
        sums.withColumn("key", spelled)
        .withColumn("error", sf.lit(0))
        .join(every, "topic")
        .withColumn("what", sf.lit("counted"))
    )


def _top(keys: DataFrame, count: int) -> DataFrame:
    by_messages = Window.partitionBy("topic").orderBy(sf.desc("messages"), sf.desc("bytes"), "key")
    best = keys.withColumn("rank", sf.row_number().over(by_messages)).where(sf.col("rank") <= count)
    return best.select(
        "what", "topic", "key", "messages", "bytes", sf.try_divide("messages", "whole").alias("share"),
        sf.col("error").cast("bigint").alias("error"),
    )  # fmt: skip


def _sum(amount: Column) -> Column:
    return sf.coalesce(sf.sum(amount), sf.lit(0))


def section(answer: pa.Table) -> Section:
    """The most uneven topics in words, the largest partitions as bars and over time, and the keys that lead."""
    rows = rows_of(answer)
    partitions = [row for row in rows if row["what"] == "partition" and row["time"] is None]
    keys = [row for row in rows if row["what"] in ("key", "counted")]
    how = _EXACT if any(row["what"] == "counted" for row in keys) else _SKETCHED
    found = Section(NAME, TITLE, QUESTION, method=f"{METHOD} {how}")
    written = sorted((row for row in partitions if row["bytes"]), key=lambda row: (-row["bytes"], _name(row)))
    if not written:
        found.words.append("No message came to a partition in what was read.")
        return found
    found.words += _skews(partitions) + _leading(keys) + _unlooked(rows, keys)
    found.pictures.append(bars("Bytes by partition", [(_name(row), row["bytes"]) for row in written], BYTES))
    over: dict[str, list[Row]] = {}
    for row in rows:
        if row["time"] is not None:
            over.setdefault(_name(row), []).append(row)
    slot = slot_of(rows)
    heated = [(_name(row), points(over[_name(row)], "messages", slot)) for row in written if _name(row) in over]
    found.pictures.append(heat("Messages by partition, over time", heated, COUNT, slot))
    header = ["partition", "messages", "bytes", "share of its topic", "against the mean"]
    cells = [
        (_name(row), row["messages"], BYTES.worded(row["bytes"]), SHARE.worded(row["share"]), _times(row["skew"]))
        for row in sorted(partitions, key=lambda row: (-row["bytes"], _name(row)))
    ]
    found.tables.append(shortened("Partitions", header, cells))
    if keys:
        keys.sort(key=lambda row: (-row["messages"], row["topic"], row["key"]))
        header = ["topic", "key", "messages", "too high by at most", "bytes", "share of those looked at"]
        lines = [
            (
                row["topic"],
                row["key"],
                row["messages"],
                row["error"],
                BYTES.worded(row["bytes"]),
                SHARE.worded(row["share"]),
            )
            for row in keys
        ]
        found.tables.append(shortened("Keys", header, lines))
    return found


def _name(row: Row) -> str:
    return f"{row['topic']}/{row['partition']}"


def _times(skew: float | None) -> str:
    return "-" if skew is None else f"{skew:.2f} x"


def _skews(partitions: list[Row]) -> list[str]:
    """A sentence for each of the most uneven topics that have more than one partition."""
    topics: dict[str, list[Row]] = {}
    for row in partitions:
        topics.setdefault(row["topic"], []).append(row)
    said = []
    for topic, of in topics.items():
        worst = max(of, key=lambda row: row["skew"] or 0.0)
        if len(of) > 1 and worst["skew"]:
            words = (
                f"{topic}: partition {worst['partition']} has {_times(worst['skew'])} the mean of {len(of)} partitions"
            )
            said.append((worst["skew"], f"{words}, {SHARE.worded(worst['share'])} of the bytes."))
    said.sort(reverse=True)
    return [words for _, words in said[:10]] or ["No topic with more than one partition was written to."]


def _unlooked(rows: list[Row], keys: list[Row]) -> list[str]:
    """A sentence for each topic of whose messages some could not be looked at, or none has a key."""
    keyed, words = {row["topic"] for row in keys}, []
    looked = sorted((row for row in rows if row["what"] == "looked"), key=lambda row: str(row["topic"]))
    for row in looked:
        if row["share"] is not None and row["share"] < 1:
            words.append(
                f"{row['topic']}: the captures have the keys of {SHARE.worded(row['share'])} of the messages that"
                f" clients sent ({row['messages']:,}), and nothing is known of the keys of the others: records of"
                " batches are kept with --capture-records on."
            )
        elif row["topic"] not in keyed:
            words.append(f"{row['topic']}: no message that clients sent has a key.")
    more = [f"{len(words) - _TOLD:,} more topics are like that."] if len(words) > _TOLD else []
    return words[:_TOLD] + more


def _leading(keys: list[Row]) -> list[str]:
    """A sentence for the key that leads in each of the topics in which one leads most."""
    first: dict[str, Row] = {}
    for row in keys:
        if row["topic"] not in first or row["messages"] > first[row["topic"]]["messages"]:
            first[row["topic"]] = row
    leading = sorted(first.values(), key=lambda row: (-(row["share"] or 0.0), row["topic"]))[:10]
    return [
        f"{row['topic']}: key {row['key']} leads with {row['messages']:,} messages"
        + (f", at most {row['error']:,} of them not its own" if row["error"] else "")
        + f", {SHARE.worded(row['share'])} of those that could be looked at."
        for row in leading
    ]
