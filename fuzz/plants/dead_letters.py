"""Bugs of `core/deadletters`: messages that are given up."""

from goqueue.core.partition import partition as partitions
from goqueue.core.queues.gone import Gone
from goqueue.core.queues.queue import WorkQueue
from goqueue.fuzz.plants import lone
from goqueue.fuzz.plants.plant import Plant, Replace


def _rejected_and_forgotten(replace: Replace) -> None:
    replace(WorkQueue, "reject", lambda queue, now, receipts, reason: queue.ack(now, receipts))


def _letters_that_are_sent_again(replace: Replace) -> None:
    """The target of a move does not look whether it has it."""
    replace(partitions, "judge", lambda producers, header, wall_ms=None: None)


def _purged_and_yet_there(replace: Replace) -> None:
    """Whoever browses does not look who is gone."""
    replace(Gone, "__contains__", lambda *_: False)


def _letters_that_a_restart_brings_back(replace: Replace) -> None:
    """A page of the ledger is read without who is gone beyond the first of them that is not."""
    replace(Gone, "restore", lambda *_: None)


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
    Plant(
        "purged-and-yet-there",
        "A dead letter that was sent back or purged is gone.",
        _purged_and_yet_there,
        worlds=lone.purged,
        within=20,
        finder="Burial",
    ),
    Plant(
        "letters-that-a-restart-brings-back",
        "A dead letter that was sent back or purged stays gone, also behind a snapshot of its ledger.",
        _letters_that_a_restart_brings_back,
        worlds=lone.purged,
        within=60,
        finder="Burial",
        tags=("snapshot",),
    ),
)
"""All bugs of dead letters."""
