"""Bugs of `core/dead`: messages that are given up."""

from goqueue.core.partition import partition as partitions
from goqueue.core.work.queue import WorkQueue
from goqueue.fuzz.plants import lone
from goqueue.fuzz.plants.plant import Plant, Replace


def _rejected_and_forgotten(replace: Replace) -> None:
    replace(WorkQueue, "reject", lambda queue, now, receipts, reason: queue.ack(now, receipts))


def _letters_that_are_sent_again(replace: Replace) -> None:
    """The target of a move does not look whether it has it."""
    replace(partitions, "judge", lambda producers, header, wall_ms=None: None)


PLANTS = (
    Plant(
        "rejected-and-forgotten",
        "A message that is rejected becomes a dead letter.",
        _rejected_and_forgotten,
        worlds=lone.worked,
        said="neither acknowledged nor given up",
    ),
    Plant(
        "letters-that-are-sent-again",
        "A message becomes one dead letter, also where a crash interrupts its move.",
        _letters_that_are_sent_again,
        worlds=lone.worked_to_death,
        said="is a letter of",
    ),
)
"""All bugs of dead letters."""
