"""No message is there twice, unless its client sent it twice without saying so.

A message sent once, and one that its client sends again under the same sequence, is found at one offset at most, and
that is where it was acknowledged. Weak promises that a crash takes back free offsets, and with them the places where
messages were seen.
"""

from goqueue.core.requests.messages import Fetch, Fetched
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import Checker, Sight
from goqueue.fuzz.history import Asked, Message, Place, Violation


class Once(Checker):
    """Remembers where each message was seen or acknowledged."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._seen: dict[bytes, tuple[Place, int]] = {}

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Compare what was acknowledged, and what was read, with what was so before."""
        for message in asked.messages:
            if message.place is not None:
                self._note(message, message.place, message.offset)
        if not (isinstance(asked.request, Fetch) and isinstance(reply, Fetched) and asked.topic_id is not None):
            return
        place = asked.topic_id, asked.request.partition
        for offset, name in asked.found.items():
            message = self.history.messages[name]
            self._note(message, place, offset)

    def _note(self, message: Message, place: Place, offset: int) -> None:
        if message.due_ms is not None and not self.history.is_strong(place[0]):
            # What a crash leaves of a weak schedule may be less than what came of it.
            return
        seen = self._seen.setdefault(message.name, (place, offset))
        if seen[0][0] in self.history.is_doomed:
            # Another topic may have come by that name before it was sent again.
            seen = self._seen[message.name] = place, offset
        if seen != (place, offset) and not message.may_repeat:
            raise Violation(f"{message.name!r} is at {seen[1]} of {seen[0]}, and at {offset} of {place} as well")

    def lost(self, topic_id: int | None) -> None:
        """What was read or acknowledged may be gone, and come again elsewhere."""
        for name, (place, _) in list(self._seen.items()):
            message = self.history.messages[name]
            is_weak = not self.history.is_strong(place[0]) and not (message.is_strong and message.place == place)
            if (topic_id is None or place[0] == topic_id) and is_weak:
                del self._seen[name]
