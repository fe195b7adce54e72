"""Facts of several simulated worlds side by side, so that Spark looks at all of them in one pass.

Each world is a cluster of its own: its nodes, topics and groups get its number as a suffix, and ids and terms, which
would mean the same thing in two worlds, are moved apart.
"""

from tempfile import TemporaryDirectory
from typing import Any

from attrs import define

from goqueue.fuzz.case import Case, live_through
from goqueue.fuzz.plants.catalogue import planted
from goqueue.spark.captures.files import find_captures
from goqueue.spark.facts.extract import facts_of
from tests.arrow.unjudged_worlds import live_unjudged

Row = dict[str, Any]
_APART = 1_000_000


@define
class World:
    """A world with a bug in it, if one is planted, and what is found in its captures."""

    seed: int
    plant: str = ""
    found: str = ""
    # Whether it goes on when the simulator has seen the bug.
    goes_on: bool = False
    nodes: int = 0
    seconds: int | None = None

    @property
    def name(self) -> str:
        """What it is called."""
        return f"{self.plant or 'sound'} {self.seed}"

    def live(self, folder: str) -> None:
        """Live through it, and capture it."""
        if not self.plant:
            verdict = live_through(Case(self.seed, nodes=self.nodes, seconds=self.seconds), capture=folder)
            assert verdict.violation is None, verdict.violation
        elif self.goes_on:
            options = Case(self.seed, plant=self.plant).options()
            options.seconds = self.seconds or options.seconds
            with planted(self.plant):
                live_unjudged(self.seed, options, folder)
        else:
            verdict = live_through(Case(self.seed, plant=self.plant), capture=folder)
            assert verdict.violation is not None


def facts_of_worlds(worlds: list[World]) -> list[Row]:
    """The facts of all worlds, each replayed under its bug."""
    return [row for number, world in enumerate(worlds, 1) for row in _apart(_facts_of(world), number)]


def _facts_of(world: World) -> list[Row]:
    code = f"goqueue.fuzz.plants:planted:{world.plant}" if world.plant else ""
    with TemporaryDirectory() as folder:
        world.live(folder)
        return [
            row for file in find_captures([folder]) for batch in facts_of(file.path, code) for row in batch.to_pylist()
        ]


def _apart(rows: list[Row], number: int) -> list[Row]:
    def name(known: str) -> str:
        return known if known.startswith("__") else f"{known}~{number}"

    for row in rows:
        row["node"] = name(row["node"])
        for column in ("topic", "group"):
            row[column] = None if row[column] is None else name(row[column])
        if row["peer"] is not None and row["kind"] != "placed":
            row["peer"] = name(row["peer"])
        if row["topic_id"] is not None:
            row["topic_id"] += number * _APART
        if row["kind"] in ("elected", "deposed", "voted", "vote_kept", "recalled") and row["epoch"] is not None:
            row["epoch"] += number * _APART
        if row["kind"] == "buried" and row["detail"]:
            topic, _, place = row["detail"].partition("/")
            row["detail"] = f"{name(topic)}/{place}"
    return rows
