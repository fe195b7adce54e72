"""What must hold inside of a world at every step, whoever asks for what: promises checked when they are made.

Checkers look on from outside, and miss a promise by what is lost later. Who simulates all nodes can look into all of
them at once: an invariant holds every promise, in the step in which it is made, against the logs, disks and states of
all nodes. It keeps what it knows up to date with what has changed and reads nothing twice, so all of them are always
on. What several of them need is here too: which batches each node has (`copies.py`), and what the broker's own streams
say as far as it is agreed (`tapes.py`). Start at `copies.py`, then `insync.py`.
"""

from goqueue.fuzz.checkers.checker import Sight
from goqueue.fuzz.invariants.acknowledged import Acknowledged
from goqueue.fuzz.invariants.commits import Commits
from goqueue.fuzz.invariants.copies import Copies
from goqueue.fuzz.invariants.entries import Entries
from goqueue.fuzz.invariants.insync import InSyncReplicas
from goqueue.fuzz.invariants.intervals import Intervals
from goqueue.fuzz.invariants.invariant import Invariant
from goqueue.fuzz.invariants.ledgers import Ledgers
from goqueue.fuzz.invariants.lineage import Lineage
from goqueue.fuzz.invariants.moves import Moves
from goqueue.fuzz.invariants.published import PublishedBatches
from goqueue.fuzz.invariants.schedules import Schedules
from goqueue.fuzz.invariants.standstills import Standstills
from goqueue.fuzz.invariants.states import States
from goqueue.fuzz.invariants.waits import Waits


def invariants(sight: Sight) -> list[Invariant]:
    """All of them for one world, in the order in which they are to look: some rest on what others have noted."""
    copies = Copies(sight)
    acknowledged = Acknowledged(sight, copies)
    insync = InSyncReplicas(sight, copies, acknowledged)
    return [
        copies,
        Lineage(sight, copies),
        Entries(sight),
        States(sight),
        acknowledged,
        insync,
        PublishedBatches(sight, copies, acknowledged, insync),
        Standstills(sight, copies),
        Ledgers(sight),
        Commits(sight),
        Schedules(sight),
        Moves(sight),
        Intervals(sight),
        Waits(sight),
    ]
