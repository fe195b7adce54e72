"""One address that a producer sends to: what is to be sent there, and what was sent and is not answered."""

from collections import deque

from attrs import define, field

from goqueue.core.client.parcel import Parcel
from goqueue.core.client.pipeline import Pipeline


@define
class Place:
    """The pipelines that have something for an address, and the parcels whose answers it owes."""

    ready: deque[Pipeline] = field(factory=deque)
    awaiting: dict[int, Parcel] = field(factory=dict)
    # When it was last asked who leads what is sent there, for an answer that was late.
    looked: int = 0
