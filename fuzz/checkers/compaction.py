"""Compaction takes a message away for a later one of its key, and for nothing else; offsets never change.

A promised message that a fetch passes over must have a key, and somebody must have sent a later message of that key to
the topic. Which messages those are that came later, but were not acknowledged, is not known to the end; so once the
world is at rest everything is read again, and of each key the last promised message must be there, or one behind it.
A tombstone may go as well, after its time; so may a message that its client sent twice. A tombstone may take its key
with it that is promised no more, or never was.
"""

from goqueue.core.requests.messages import Fetch, Fetched
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import HEALER, Checker, Sight
from goqueue.fuzz.history import Asked, Message, Place, Violation


class Compaction(Checker):
    """Looks at what is missing from topics that are compacted."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._found: dict[Place, dict[int, bytes]] = {}

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Whatever an answer passes over had a reason to go."""
        if not (isinstance(asked.request, Fetch) and isinstance(reply, Fetched) and self.compacts(asked.topic_id)):
            return
        assert asked.topic_id is not None
        place = asked.topic_id, asked.request.partition
        found = asked.found
        if asked.client == HEALER:
            self._found.setdefault(place, {}).update(found)
        promised = self.history.promised.get(place, {})
        for offset in range(asked.request.offset, reply.next_offset):
            message = promised.get(offset)
            if message is not None and offset not in found and not self._may_go(message):
                raise Violation(f"compaction took {message.name!r} of key {message.key!r} at {offset} of {place}")

    def _may_go(self, message: Message) -> bool:
        if message.key is None:
            return False
        if message.value is None or message.may_repeat:
            return True
        return any(
            other.key == message.key
            and other is not message
            and set(other.topic_ids) & set(message.topic_ids)
            and (other.place is None or other.place != message.place or other.offset > message.offset)
            for other in self.history.messages.values()
        )

    def ended(self) -> None:
        """Of each key the last promised message is there, or a later one of that key."""
        starts = {(topic_id, part.number): part.log.start_offset for topic_id, part in self.sight.partitions()}
        for place, found in self._found.items():
            if place in starts and place not in self.history.rotten:
                self._check_last(place, found, starts[place])

    def _check_last(self, place: Place, found: dict[int, bytes], start: int) -> None:
        last_found = {self.history.messages[found[offset]].key: offset for offset in sorted(found)}
        promised = self.history.promised.get(place, {})
        last_promised = {promised[offset].key: offset for offset in sorted(promised)}
        for key, offset in last_promised.items():
            message = promised[offset]
            may_be_gone = key is None or message.value is None or offset < start
            is_there = may_be_gone or last_found.get(key, -1) >= offset
            if not is_there and not any(_removes(other, message) for other in self.history.messages.values()):
                raise Violation(f"{message.name!r}, the last of key {key!r} in {place}, is gone")


def _removes(other: Message, message: Message) -> bool:
    """Whether a message may be a tombstone that lies behind another."""
    if other.value is not None or other.key != message.key or not {*other.topic_ids} & {None, *message.topic_ids}:
        return False
    if other.stood_at is None or other.may_repeat:
        return other.undone < other.sends
    assert message.place is not None
    return other.stood_at[0] == message.place and other.stood_at[1] > message.offset
