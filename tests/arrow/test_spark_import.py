"""The command that imports, as far as it needs no Spark: what it refuses, and how what Spark says is told."""

import re

import pytest
from click.testing import CliRunner

from goqueue.cli.endings import Ending
from goqueue.spark.commands.command import spark
from goqueue.spark.commands.plainly import plainly, sentence_of

TO = ("import", "orders", "--bootstrap", "localhost:9000")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "import from where? Name one of --parquet, --from and --captures"),
        (("--parquet", "a", "--captures", "b"), "import from where?"),
        (("--from", "a", "--column", "key=id"), "--column says where something is in Parquet"),
        (("--parquet", "a", "--from-topic", "t"), "--from-topic is for --from and --captures"),
        (("--parquet", "a", "--speed", "2"), "--speed is of --original-timing"),
        (("--parquet", "a", "--column", "id"), "'id' is no column; write it like value=document"),
    ],
)
def test_what_makes_no_sense_is_refused_before_spark_starts(arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(Ending, match=re.escape(said)) as refused:
        CliRunner().invoke(spark, [*TO, *arguments], catch_exceptions=False)
    assert refused.value.status == 2


def test_a_broker_must_be_named() -> None:
    ran = CliRunner().invoke(spark, ["import", "orders", "--parquet", "a"])
    assert ran.exit_code == 2
    assert "Missing option '--bootstrap'" in ran.output


TASK = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "worker.py", line 98, in worker_run
goqueue.transports.client.errors.TooLarge: what came first

The above exception was the direct cause of the following exception:

goqueue.spark.sinking.errors.UnwritableError: row 3 of task 0: orders has partitions 0 to 2, not 3
  at some place of Java
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TASK, "row 3 of task 0: orders has partitions 0 to 2, not 3"),
        ("Traceback (most recent call last):\n  File\nValueError: no such thing\n", "no such thing"),
        ("[PATH_NOT_FOUND] Path does not exist: file:/nowhere. SQLSTATE: 42K03\nat java", None),
        ("", "Spark failed and does not say why"),
    ],
)
def test_a_failure_of_spark_is_one_sentence(text: str, said: str | None) -> None:
    assert sentence_of(text) == (said or text.splitlines()[0])


def test_what_is_not_sparks_is_left_alone() -> None:
    with pytest.raises(ZeroDivisionError), plainly():
        raise ZeroDivisionError


def test_what_spark_raises_ends_the_command() -> None:
    from pyspark.errors import PySparkValueError

    with pytest.raises(Ending, match="there is no such thing"), plainly():
        raise PySparkValueError("there is no such thing")


@pytest.mark.parametrize("arguments", [(), ("--from", "a", "--bootstrap", "b:1")])
def test_an_export_says_from_where(arguments: tuple[str, ...]) -> None:
    with pytest.raises(Ending, match=re.escape("export from where? Name one of --from and --bootstrap")):
        CliRunner().invoke(spark, ["export", "orders", "--to", "lake", *arguments], catch_exceptions=False)
