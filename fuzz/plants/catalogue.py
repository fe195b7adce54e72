"""All plants by their names, and how one is put into the product and taken out again.

The files of the plants import most of the product; they are imported when somebody asks for a plant, and not before.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module

from goqueue.fuzz.plants.plant import Plant

AREAS = (
    "log", "compaction", "storage", "records", "partition", "replication", "node", "quorum", "terms", "cluster",
    "snapshots", "groups", "offsets", "work", "dead_letters", "delays", "forwarding", "client", "timing", "liveness",
    "library", "wires",
)  # fmt: skip
"""The files that have plants, each a tuple `PLANTS`."""


class UnknownPlant(KeyError):
    """There is no bug of that name."""

    def __str__(self) -> str:
        return f"there is no bug {self.args[0]!r}; docs/simulation.md names them all"


@cache
def plants() -> dict[str, Plant]:
    """All plants by their names, area by area."""
    found: dict[str, Plant] = {}
    for area in AREAS:
        for plant in import_module(f"goqueue.fuzz.plants.{area}").PLANTS:
            assert plant.name not in found, f"two bugs are called {plant.name}"
            found[plant.name] = plant
    return found


def plant_of(name: str) -> Plant:
    """The plant of a name."""
    try:
        return plants()[name]
    except KeyError:
        raise UnknownPlant(name) from None


@contextmanager
def planted(name: str) -> Iterator[None]:
    """The product with a bug, until the block ends."""
    before: list[tuple[object, str, object]] = []

    def replace(owner: object, attribute: str, value: object) -> None:
        own = vars(owner)
        assert attribute in own, f"{owner} has no {attribute}"
        before.append((owner, attribute, own[attribute]))
        setattr(owner, attribute, value)

    plant_of(name).sow(replace)
    try:
        yield
    finally:
        for owner, attribute, value in reversed(before):
            setattr(owner, attribute, value)
