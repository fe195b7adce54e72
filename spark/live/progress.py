"""How far a stream has come, and how far its next batch goes: arithmetic on positions, without a cluster or Spark.

Positions are what Spark writes down between batches: `{topic: {partition: next offset}}`, with partitions as text since
JSON has no other keys, and everything sorted since Spark compares the text. A partition that is missing was not there,
and begins at its first record.

Invariant: positions never go back. A partition that ends before its position was deleted and made again, or has lost
records that were acknowledged; either way going on would read something twice or skip something, so it is an error.
"""

from collections.abc import Mapping
from typing import TypeAlias

from goqueue.spark.records.edges import UnreadableError

Positions: TypeAlias = dict[str, dict[str, int]]
Place: TypeAlias = tuple[str, int]


def positions(offsets: Mapping[Place, int]) -> Positions:
    """Offsets by partition in the form that Spark keeps."""
    found: Positions = {}
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = offset
    return found


def offsets(kept: Positions) -> dict[Place, int]:
    """What Spark has kept, by partition."""
    return {(topic, int(number)): offset for topic, each in kept.items() for number, offset in each.items()}


def check_forward(start: Mapping[Place, int], end: Mapping[Place, int]) -> None:
    """Raise UnreadableError where a partition went back or is gone."""
    for place, offset in start.items():
        topic, partition = place
        if place not in end:
            raise UnreadableError(
                f"{topic}/{partition} is gone, of which the stream has read up to offset {offset}; the option"
                " missing=skip goes on without it"
            )
        if end[place] < offset:
            raise UnreadableError(
                f"{topic}/{partition} ends at offset {end[place]}, and the stream has read up to {offset}: was the"
                " topic deleted and made again? A stream with a new checkpoint reads it from its beginning"
            )


def advanced(start: Mapping[Place, int], end: Mapping[Place, int], records_max: int | None) -> dict[Place, int]:
    """Where the next batch ends: at `end`, or records_max further on, shared out by what each partition has waiting."""
    waiting = {place: offset - start.get(place, 0) for place, offset in end.items()}
    total = sum(waiting.values())
    if records_max is None or total <= records_max:
        return dict(end)
    shares = {place: records_max * count // total for place, count in waiting.items()}
    left = records_max - sum(shares.values())
    # What rounding left goes to those that wait longest, so that nobody waits for ever.
    for place in sorted(waiting, key=lambda one: (-waiting[one], one))[:left]:
        shares[place] += 1
    return {place: end[place] - waiting[place] + share for place, share in shares.items()}


def no_further(end: Mapping[Place, int], target: Mapping[Place, int]) -> dict[Place, int]:
    """Ends that stay within a target that was set before."""
    return {place: min(offset, target[place]) for place, offset in end.items() if place in target}
