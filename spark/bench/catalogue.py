"""All figures of Spark, in the order in which they are taken; another group is another name here."""

from importlib import import_module

from goqueue.cli.bench.figures import Entry
from goqueue.cli.bench.sizes import Sizes
from goqueue.spark.commands.opening import expect_java, expect_spark

_GROUPS = ("reading", "extracting", "reporting", "checking", "writing", "replaying")


def entries(sizes: Sizes) -> list[Entry]:
    """The figures. Raises Ending where Spark or its Java is missing."""
    expect_spark()
    expect_java()
    modules = [import_module(f"goqueue.spark.bench.{name}") for name in _GROUPS]
    return [entry for module in modules for entry in module.entries(sizes)]
