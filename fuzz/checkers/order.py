"""Messages of one producer lie in a partition, lane by lane, in the order in which it sent them."""

from goqueue.core.verbs import Reply
from goqueue.fuzz.checkers.checker import Checker, Sight
from goqueue.fuzz.history import Asked, Message, Violation


class Order(Checker):
    """Compares each acknowledgement with the one before it of the same producer."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._latest: dict[tuple[str, int, int, int], Message] = {}

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Offsets grow as serial numbers do."""
        for message in asked.messages:
            if message.place is None:
                continue
            key = (message.client, *message.place, message.lane)
            latest = self._latest.get(key)
            if latest is not None and (latest.serial < message.serial) != (latest.offset < message.offset):
                raise Violation(f"{latest} and {message} lie in an order in which they were not sent")
            if latest is None or latest.serial < message.serial:
                self._latest[key] = message

    def lost(self, topic_id: int | None) -> None:
        """Offsets of messages that were lost are given again."""
        for key in list(self._latest):
            if (topic_id is None or key[1] == topic_id) and not self.history.is_strong(key[1]):
                del self._latest[key]
