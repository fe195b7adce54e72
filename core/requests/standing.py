"""How a node of a cluster stands."""

from enum import StrEnum


class Standing(StrEnum):
    """What a node may do: everything, lead nothing new, do so until it stops as planned, or nothing."""

    LIVE = "live"
    DRAINING = "draining"
    STOPPING = "stopping"
    DEAD = "dead"
