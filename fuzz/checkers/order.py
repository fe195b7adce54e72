"""Messages of one producer lie in a partition, lane by lane, in the order in which it sent them.

But for those that were to come later, also where that was so soon that they were taken at once.
"""

from goqueue.core.calls import Reply
from goqueue.fuzz.checkers.checker import Checker, Sight
from goqueue.fuzz.history import Asked, Violation


class Order(Checker):
    """Compares each acknowledgement with the one before it of the same producer."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._latest: dict[tuple[str, int, int, int], tuple[int, int, bytes]] = {}

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Offsets grow as serial numbers do."""
        for message in asked.messages:
            if message.place is None or message.may_repeat or message.due_ms is not None:
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

    def lost(self, topic_id: int | None) -> None:
        """Offsets of messages that were lost are given again."""
        for key in list(self._latest):
            if (topic_id is None or key[1] == topic_id) and not self.history.is_strong(key[1]):
                del self._latest[key]
