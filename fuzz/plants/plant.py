"""What a plant is: a bug that is in the product while a world is run, and the promise that it breaks."""

from collections.abc import Callable
from typing import Literal

from attrs import define

from goqueue.fuzz.options import Options

Replace = Callable[[object, str, object], None]
"""Put something else in a place."""

Need = Literal["snapshot", "truncation", "second_failover", "lost_answer"]
"""What has to happen before a bug can show: a start from a snapshot, a log that is cut, another leader after another
leader, or a client that does not know what became of its request."""


@define
class Plant:
    """A bug, the promise that it breaks, and the worlds that show it."""

    name: str
    promise: str
    sow: Callable[[Replace], None]
    # The number of nodes of the worlds among which it has to be found, drawn as `goqueue sim --nodes` draws them.
    nodes: int = 1
    # Narrow worlds that show it soon, and the number of seeds among which they do; where worlds take long the first of
    # these, `seed`, is one that shows the bug.
    worlds: Callable[[], Options] | None = None
    within: int = 60
    seed: int = 0
    # The checker or the invariant that finds it first in those, where that is no matter of luck, and what it says.
    finder: str = ""
    said: str = ""
    # What it cannot show without.
    tags: tuple[Need, ...] = ()
