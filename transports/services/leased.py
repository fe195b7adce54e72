"""What a member of a shared group was given, coded by hand: a head, and behind it the batches as they were read.

A lease is a run of messages, and a part has few of them, so this costs next to nothing a message. The batches go last,
as a view; in what order the fields of a message come is the sender's to choose.
"""

from goqueue.core.requests.queues import LeasedBatches, LeaseRun
from goqueue.transports.services.envelopes import bytes_field, number_field


def leased_head(part: LeasedBatches, now_ms: int) -> bytes:
    """All of a LeasedBatches up to the bytes of its batches; `now_ms` is the clock by which its leases end."""
    topic = part.topic.encode()
    pieces = [bytes_field(1, len(topic)), topic, number_field(2, part.partition)]
    stem, tail = "", b""
    for run in part.leases:
        if run.stem != stem:
            stem, tail = run.stem, _tail(run)
        lease = number_field(1, run.first_offset) + number_field(2, run.count) + tail
        pieces += (bytes_field(4, len(lease)), lease)
    pieces += (number_field(5, now_ms), bytes_field(3, len(part.batches)))
    return b"".join(pieces)


def _tail(run: LeaseRun) -> bytes:
    """What all runs with the same stem have in common: they were leased together, in the same attempt."""
    stem = run.stem.encode()
    return number_field(3, run.attempt) + bytes_field(4, len(stem)) + stem + number_field(5, run.until_ms)
