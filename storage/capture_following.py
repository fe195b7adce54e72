"""The way of one message through the captures of several nodes, a folder each.

A node's files are replayed from the last one on whose snapshot has the partition and not yet the message, and from the
one before that, because a publish may have come long before it was taken. Where no snapshot says so, all are replayed:
a node that has no replica of the partition may still be the one that a client asked.
"""

from collections.abc import Callable, Iterable

from attrs import define

from goqueue.core.capture.errors import CaptureError
from goqueue.core.capture.following import Witness, precedes
from goqueue.core.capture.timeline import Place, Step, merged
from goqueue.core.capture.vocabulary import Vocabulary
from goqueue.storage.capture_files import CaptureFile, Replay, read_snapshot, replay


@define
class Followed:
    """What the files of one node have to do with a message, and what came of replaying them."""

    node_id: str
    steps: list[Step]
    # Whether there were more steps than are kept.
    is_cut_short: bool
    replay: Replay


def follow(
    files: list[CaptureFile], place: Place, vocabulary: Vocabulary, progress: Callable[[int], None] = lambda _: None
) -> Followed:
    """Replay as many of a node's files as may speak of a message, and note what they say of it."""
    witness = Witness(place)
    outcome = replay(needed(files, place, vocabulary), vocabulary, progress, witness.heard)
    return Followed(witness.node_id, witness.steps, witness.is_full, outcome)


def needed(files: list[CaptureFile], place: Place, vocabulary: Vocabulary) -> list[CaptureFile]:
    """The files that may speak of a message."""
    for number in range(len(files) - 1, 1, -1):
        try:
            if precedes(read_snapshot(files[number], vocabulary), place):
                return files[number - 1 :]
        except (CaptureError, OSError):
            # The replay says what is wrong with it.
            continue
    return files


def timeline(nodes: Iterable[Followed]) -> list[Step]:
    """The steps on all nodes, by the time that the wall said."""
    return merged([one.steps for one in nodes])
