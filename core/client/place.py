"""One address that a producer sends to: what is to be sent there, and what was sent and is not answered.

An answer that is late may mean that the broker leads no more, and does not know, or that it is stopped. So it is looked
who leads: first after `LATE_NS`, and then every `LOOK_NS`, since nobody tells when there is another leader.
"""

from collections import deque

from attrs import define, field

from goqueue.core.client.pipeline import Pipeline
from goqueue.core.client.record_batch import RecordBatch
from goqueue.core.client.terms import SECOND_NS

LATE_NS = 1 * SECOND_NS
LOOK_NS = SECOND_NS // 4


@define
class Place:
    """The pipelines that have something for an address, and the parcels whose answers it owes."""

    ready: deque[Pipeline] = field(factory=deque)
    awaiting: dict[int, RecordBatch] = field(factory=dict)
    # When it was last asked who leads what is sent there, for an answer that was late.
    looked: int = 0

    def oldest(self) -> RecordBatch | None:
        """The parcel that waits for its answer for longest."""
        return next(iter(self.awaiting.values()), None)

    def look_at(self) -> int | None:
        """When to look who leads what is sent there; None while no answer is owed."""
        oldest = self.oldest()
        return None if oldest is None else max(oldest.sent + LATE_NS, self.looked + LOOK_NS)
