"""Under which number a task publishes: one that every attempt at the same work comes to by itself.

Spark runs a task again that has died half-way, with the same rows. What the first attempt stored is recognised if the
second one bears the same producer id and numbers its records alike. So nobody hands the id out: it is made of the name
of the work, the number of the task, and the lane, since each lane of a partition has batches of its own. Ids made so
are from 2^62 on, where the broker's own counting never comes; among a million of them two are equal once in millions.

A streaming query does the same work again and again, batch after batch. The epoch is the number of the batch, so that
an attempt at an older one, which nobody waits for any more, is shut out once a newer one has begun to write. Epochs
have 15 bits; with every 32,768th batch the id changes as well. An attempt from before that change is not shut out, and
need not be: all that it may send was stored by the attempt that succeeded, and is recognised.
"""

from hashlib import blake2b

from attrs import define

from goqueue.core.log.producers import DERIVED_IDS
from goqueue.core.records.batch import Lane

_EPOCH_BITS = 15


@define
class Work:
    """A piece of work that may be done more than once: its name, and the number of its batch."""

    name: str
    batch: int = 0


def producer_of(work: Work, task: int | str, lane: Lane) -> tuple[int, int]:
    """The producer id and the epoch under which a task of a piece of work publishes in a lane."""
    assert work.batch >= 0
    generation = work.batch >> _EPOCH_BITS
    parts = (work.name, str(task), str(generation), lane.name)
    digest = blake2b(digest_size=8)
    for part in parts:
        spelled = part.encode()
        digest.update(len(spelled).to_bytes(4) + spelled)
    number = int.from_bytes(digest.digest())
    return DERIVED_IDS[number % len(DERIVED_IDS)], work.batch & ((1 << _EPOCH_BITS) - 1)
