"""A message that is kept back comes when it is due or later, by the clock that the broker was told, and comes at all.

It comes once (`once.py` sees to that), and not after its cancellation was answered. What somebody wanted cancelled or
put off without hearing what came of it may come or not.
"""

from goqueue.core.requests.delays import CancelDelayed, RescheduleDelayed
from goqueue.core.requests.messages import Fetch
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import HEALER, Checker, Sight
from goqueue.fuzz.history import Asked, Message, Violation, name_of


class Delays(Checker):
    """Remembers which messages have come."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._latest_ms = 0
        self._come: set[bytes] = set()
        self._cancelled: set[bytes] = set()
        # When what somebody put off before it was acknowledged may come: it may be any message of the topic.
        self._guessed_ms: dict[int, int] = {}
        # What every clock had come to when the world began to be read once more.
        self._read_ms: int | None = None

    def stepped(self) -> None:
        """The clock that the broker has may be put back, so what counts is how far it ever was."""
        self._latest_ms = max(self._latest_ms, self.sight.wall_ms)

    def asked(self, asked: Asked) -> None:
        """Somebody changes their mind, or reads what there is at the end."""
        self.stepped()
        if asked.client == HEALER and isinstance(asked.request, Fetch) and self._read_ms is None:
            self._read_ms = self.sight.least_ms
        if self.sight.is_petition(asked):
            return
        message, request, topic_id = self._meant(asked), asked.request, asked.topic_id
        if message is not None:
            message.is_doubtful = True
        elif topic_id is not None and isinstance(request, CancelDelayed | RescheduleDelayed):
            self.history.guessed.add(((topic_id, request.partition), request.offset))
        if isinstance(request, RescheduleDelayed) and topic_id is not None:
            due_ms = request.due_ms if request.due_ms is not None else self.sight.least_ms + request.delay_ms
            if message is None or not self.history.is_strong(topic_id):
                self._guessed_ms[topic_id] = min(due_ms, self._guessed_ms.get(topic_id, due_ms))
            elif message.due_ms is not None:
                message.due_ms = min(message.due_ms, due_ms)

    def _meant(self, asked: Asked) -> Message | None:
        request = asked.request
        if not isinstance(request, CancelDelayed | RescheduleDelayed) or asked.topic_id is None:
            return None
        return self.history.delayed.get(((asked.topic_id, request.partition), request.offset))

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Look at what has come, and what is not to come any more."""
        self.stepped()
        message = self._meant(asked)
        if message is not None and isinstance(asked.request, CancelDelayed) and not isinstance(reply, Refusal):
            is_sure = asked.topic_id is not None and self.history.is_strong(asked.topic_id)
            if is_sure and not message.may_repeat:
                if message.name in self._come:
                    raise Violation(f"{message.name!r} has come, and was cancelled after that")
                self._cancelled.add(message.name)
        for name in [*asked.found.values(), *(name_of(given.record) for given in asked.given)]:
            self._check_come(name)

    def _check_come(self, name: bytes) -> None:
        message = self.history.messages.get(name)
        if message is None or message.due_ms is None:
            return
        guessed = [self._guessed_ms[one] for one in message.topic_ids if one in self._guessed_ms]
        if min([message.due_ms, *guessed]) > self._latest_ms:
            raise Violation(f"{name!r} is due at {message.due_ms}, and has come by {self._latest_ms}")
        if name in self._cancelled and not message.may_repeat:
            raise Violation(f"{name!r} was cancelled, and has come")
        self._come.add(name)

    def overdue(self, by_ms: int | None = None) -> str:
        """What is promised to have come by a time, or by now, and has not, "" when there is no such thing."""
        by_ms = self.sight.least_ms if by_ms is None else by_ms
        for (place, offset), message in self.history.delayed.items():
            terms = self.history.terms.get(place[0])
            if message.due_ms is None or message.told_due_ms > by_ms or message.is_doubtful:
                continue
            if not message.is_kept_strongly or terms is None or terms.retains or message.may_repeat:
                continue
            if place[0] in self.history.is_doomed or place in self.history.rotten:
                continue
            if terms.compacts and message.key is not None:
                # It may have come and gone for a later one of its key before anybody read it.
                continue
            if message.name not in self._come:
                return (
                    f"{message.name!r}, kept at {offset} of {place}, was due at {message.told_due_ms} and has not come"
                )
        return ""

    def ended(self) -> None:
        """Everything was read; what came to be due after that is `invariants/moves.py`'s to see."""
        overdue = self.overdue(self._read_ms)
        if overdue:
            raise Violation(f"nothing fails, and {overdue}")
