"""A batch that is to be moved out of a partition: what is in it, when it was picked, and on whose behalf."""

from attrs import define, field

from goqueue.core.deadletters.picking import Consignment
from goqueue.core.queues.move_records import Tally
from goqueue.core.queues.queue_ledger import QueueLedger


@define
class Freight:
    """Messages that a group gave up (`group`, `deaths`), or letters that a redrive sends back (`job`, `tally`)."""

    consignment: Consignment
    at_ms: int
    group: str = ""
    deaths: dict[int, tuple[str, int]] = field(factory=dict)
    is_bare: bool = False
    job: str = ""
    tally: Tally = field(factory=Tally)

    def is_still_there(self, book: QueueLedger) -> bool:
        """Whether nobody else has settled what is to be moved."""
        offsets = self.consignment.offsets
        if self.job:
            return not any(offset in book.moves.gone for offset in offsets)
        queue = book.queues.get(self.group)
        return queue is not None and all(offset in queue.ledger.reasons for offset in offsets)
