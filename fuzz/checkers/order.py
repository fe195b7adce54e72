"""Messages of one producer lie in a partition, lane by lane, in the order in which it sent them.

But for those that were to come later, also where that was so soon that they were taken at once.
"""

from bisect import bisect_left

from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import Checker, Sight
from goqueue.fuzz.history import Asked, Message, Violation


class Order(Checker):
    """Compares each acknowledgement with the one before it of the same producer."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        # Of producers that do not number their records: how many had asked at an answer, and the last offset by then.
        self._answered: dict[tuple[str, int, int, int], list[tuple[int, int]]] = {}
        self._latest: dict[tuple[str, int, int, int], tuple[int, int, bytes]] = {}

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Offsets grow as serial numbers do."""
        for message in asked.messages:
            if message.place is None or message.may_repeat or message.due_ms is not None:
                continue
            if message.place[0] in self.history.given_up:
                continue
            if self.sight.is_cluster and not message.has_sequence:
                self._follow(asked, message)
                continue
            key = (message.client, *message.place, message.lane)
            serial, offset, name = self._latest.get(key, (-1, -1, b""))
            if (serial < message.serial) != (offset < message.offset) and serial != message.serial:
                raise Violation(
                    f"{name!r}, number {serial} at {offset}, and {message.name!r}, number {message.serial} at"
                    f" {message.offset} of {message.place}, lie in an order in which they were not sent"
                )
            if serial < message.serial:
                self._latest[key] = message.serial, message.offset, message.name

    def _follow(self, asked: Asked, message: Message) -> None:
        """Among nodes requests may overtake each other; what is sent after an answer lies behind what that is about."""
        assert message.place is not None
        known = self._answered.setdefault((message.client, *message.place, message.lane), [])
        before = bisect_left(known, (asked.serial, -1))
        if before and known[before - 1][1] > message.offset:
            raise Violation(
                f"{message.name!r} is at {message.offset} of {message.place}, before what it was sent after"
            )
        known.append((self.history.count, max(message.offset, known[-1][1] if known else -1)))

    def lost(self, topic_id: int | None) -> None:
        """Offsets of messages that were lost are given again."""
        for known in (self._latest, self._answered):
            for key in [key for key in known if topic_id is None or key[1] == topic_id]:
                if not self.history.is_strong(key[1]):
                    del known[key]
