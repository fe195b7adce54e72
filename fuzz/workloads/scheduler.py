"""Whoever looks after delayed messages: lists them, looks at one, cancels some and puts others off."""

from random import Random

from goqueue.core.requests.delays import CancelDelayed, DelayedMessages, GetDelayed, ListDelayed, RescheduleDelayed
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.fuzz.options import Options
from goqueue.fuzz.workloads.client import Client


class Scheduler(Client):
    """Changes its mind."""

    def __init__(self, name: str, random: Random, options: Options) -> None:
        super().__init__(name, random, options)
        self._known: list[tuple[str, int, int]] = []
        self._after: tuple[int, int, int] | None = None

    def next_request(self) -> Request:
        """A question, or a change of one that it has heard of, or of one that may not be there."""
        random = self.random
        if not self._known or random.random() < 0.4:
            after = self._after if random.random() < 0.5 else None
            return ListDelayed(self.draw_topic(), random.choice((1, 3, 100)), after)
        place = random.choice(self._known)
        if random.random() < 0.1:
            place = self.draw_topic(), self.draw_partition(), random.randint(0, 20)
        drawn = random.random()
        if drawn < 0.3:
            return GetDelayed(*place)
        if drawn < 0.65:
            return CancelDelayed(*place)
        return RescheduleDelayed(*place, random.choice((0, 10, 1_000)))

    def answered(self, request: Request, reply: Reply) -> None:
        """Remember what there is."""
        if isinstance(request, ListDelayed) and isinstance(reply, DelayedMessages):
            self._known = [(one.topic, one.partition, one.offset) for one in reply.messages]
            self._after = reply.after
