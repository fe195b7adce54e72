"""What real clients saw of a topic, and whether a broker or a cluster may have done that.

Producers number the messages of each key, and send each once; a message is its key and its number. `Seen` is one that a
reader was given. At the end, when nothing is sent any more, somebody reads the whole topic once: `WHOLE`. The checkers
compare that with what was acknowledged, and with what everybody else was given on the way.

    lost         acknowledged, and not in the whole
    invented     in the whole, and never sent
    duplicated   in the whole at two places
    reordered    in the whole, behind a later message of its key
    misplaced    in the whole elsewhere than the acknowledgement said
    backwards    given to a reader at an offset that is not above the one before
    changed      given to a reader at an offset where the whole has another message
    unseen       in the whole, and passed over by a reader that came further

They hold for producers that are idempotent and readers that do not seek. A message that was refused or never answered
may be there or not. Not here: how anything was sent or read (`cluster_load.py`).
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from attrs import define, field

Name = tuple[str, int]
"""A message: its key, and its number among those of the key."""

WHOLE = "whole"
_SHOWN_MAX = 10


@define
class Seen:
    """A message as a reader was given it."""

    partition: int
    offset: int
    name: Name


@define
class Acknowledged:
    """Where a message is, and when that was promised, by the monotonic clock."""

    partition: int
    offset: int
    sent_ns: int
    at_ns: int


@define
class History:
    """All that was sent, promised and read."""

    sent: dict[Name, int] = field(factory=dict)
    acknowledged: dict[Name, Acknowledged] = field(factory=dict)
    refused: dict[Name, str] = field(factory=dict)
    readings: dict[str, list[Seen]] = field(factory=dict)

    def first_after(self, moment_ns: int, partition: int | None = None) -> int | None:
        """When the first message was acknowledged that was sent after a moment, of one partition or of any."""
        times = [
            one.at_ns
            for one in self.acknowledged.values()
            if one.sent_ns > moment_ns and partition in (None, one.partition)
        ]
        return min(times, default=None)

    def longest_silence(self, begin_ns: int, end_ns: int, partition: int) -> int:
        """The longest time within a span in which a partition acknowledged nothing."""
        found = [one.at_ns for one in self.acknowledged.values() if one.partition == partition]
        times = sorted(at for at in found if begin_ns < at < end_ns)
        return max(later - earlier for earlier, later in pairwise([begin_ns, *times, end_ns]))


def violations(history: History) -> list[str]:
    """All that should not be, a line each; of each kind the first few."""
    kinds = (lost, invented, duplicated, reordered, misplaced, backwards, changed, unseen)
    assert WHOLE in history.readings, "the topic is to be read once more at the end"
    found: list[str] = []
    for kind in kinds:
        lines = [*kind(history)]
        found += lines[:_SHOWN_MAX]
        if len(lines) > _SHOWN_MAX:
            found.append(f"and {len(lines) - _SHOWN_MAX} more are {kind.__name__}")
    return found


def lost(history: History) -> Iterator[str]:
    """What was acknowledged and is not there."""
    there = {seen.name for seen in history.readings[WHOLE]}
    for name, one in history.acknowledged.items():
        if name not in there:
            yield f"lost: {_said(name)}, acknowledged at {one.offset} of partition {one.partition}"


def invented(history: History) -> Iterator[str]:
    """What nobody sent."""
    for seen in history.readings[WHOLE]:
        if seen.name not in history.sent:
            yield f"invented: {_placed(seen)}"


def duplicated(history: History) -> Iterator[str]:
    """What is there twice."""
    first: dict[Name, Seen] = {}
    for seen in history.readings[WHOLE]:
        earlier = first.setdefault(seen.name, seen)
        if earlier is not seen:
            yield f"duplicated: {_placed(earlier)}, and at {seen.offset} of partition {seen.partition}"


def reordered(history: History) -> Iterator[str]:
    """What lies behind a later message of its key."""
    for messages in _by_partition(history.readings[WHOLE]).values():
        highest: dict[str, int] = {}
        for seen in sorted(messages, key=_offset):
            key, number = seen.name
            if number < highest.get(key, -1):
                yield f"reordered: {_placed(seen)}, behind number {highest[key]}"
            highest[key] = max(number, highest.get(key, -1))


def misplaced(history: History) -> Iterator[str]:
    """What is elsewhere than was said."""
    for seen in history.readings[WHOLE]:
        one = history.acknowledged.get(seen.name)
        if one is not None and (one.partition, one.offset) != (seen.partition, seen.offset):
            yield f"misplaced: {_placed(seen)}, acknowledged at {one.offset} of partition {one.partition}"


def backwards(history: History) -> Iterator[str]:
    """What a reader was given again, or after what follows it."""
    for reader, messages in history.readings.items():
        for own in _by_partition(messages).values():
            for earlier, later in pairwise(own):
                if later.offset <= earlier.offset:
                    yield f"backwards: {reader} was given {_placed(later)}, after {earlier.offset}"


def changed(history: History) -> Iterator[str]:
    """What a reader was given where there is something else."""
    there = {(seen.partition, seen.offset): seen.name for seen in history.readings[WHOLE]}
    for reader, messages in history.readings.items():
        for seen in messages:
            name = there.get((seen.partition, seen.offset))
            if name != seen.name:
                instead = "nothing" if name is None else _said(name)
                yield f"changed: {reader} was given {_placed(seen)}, where there is {instead}"


def unseen(history: History) -> Iterator[str]:
    """What a reader passed over, which began at the beginning."""
    whole = _by_partition(history.readings[WHOLE])
    for reader, messages in history.readings.items():
        for partition, own in _by_partition(messages).items():
            given, end = {seen.offset for seen in own}, max(seen.offset for seen in own)
            for seen in whole.get(partition, []):
                if seen.offset < end and seen.offset not in given:
                    yield f"unseen: {reader} passed over {_placed(seen)}"


def _by_partition(messages: Sequence[Seen]) -> dict[int, list[Seen]]:
    found: dict[int, list[Seen]] = {}
    for seen in messages:
        found.setdefault(seen.partition, []).append(seen)
    return found


def _offset(seen: Seen) -> int:
    return seen.offset


def _said(name: Name) -> str:
    return f"number {name[1]} of key {name[0]}"


def _placed(seen: Seen) -> str:
    return f"{_said(seen.name)} at {seen.offset} of partition {seen.partition}"
