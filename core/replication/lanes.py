"""What comes out of replication, for the node to take."""

from attrs import define, field

from goqueue.core.partition.partition import Partition
from goqueue.core.ready import Fetching, Letter
from goqueue.core.replication.insync import IsrWish


@define(eq=False)
class Lanes:
    """Letters to peers, reads of the disk, wishes to the controller, and what has moved."""

    letters: list[Letter] = field(factory=list)
    reads: list[Fetching] = field(factory=list)
    wishes: list[IsrWish] = field(factory=list)
    # What is led and has answers for publishers, or shows more than before.
    moved: dict[str, Partition] = field(factory=dict)
