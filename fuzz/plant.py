"""What a plant is: a bug that is in the product while a world is run, and the worlds that show it."""

from collections.abc import Callable

from attrs import define

from goqueue.fuzz.options import Options

Replace = Callable[[object, str, object], None]
"""Put something else in a place."""


@define
class Plant:
    """A bug, and the worlds that show it."""

    sow: Callable[[Replace], None]
    worlds: Callable[[], Options]
    # The number of seeds among which it is found.
    within: int = 5
    # The checker or the invariant that finds it first, where that is no matter of luck.
    finder: str = ""


def short_worlds(*calamities: str, **others: object) -> Options:
    """Short worlds of three nodes in which not much but these befalls them."""
    options = Options(
        steps=0, nodes=3, seconds=20, replicas_max=3, min_insync=1, patience_ns=1_000_000_000, calamities=calamities,
        calamity_ns=2_000_000_000, producers=1, consumers=1, topics=1, partitions_max=1, p_topic_change=0.0,
        think_ns=60_000_000, wait_ns_max=100_000_000, value_bytes_max=20, in_flight_max=3, recent_bytes=1 << 20,
    )  # fmt: skip
    for name, value in others.items():
        setattr(options, name, value)
    return options
