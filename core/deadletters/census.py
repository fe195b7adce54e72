"""What is known here of topics of dead letters: their ledgers, and the letters left in the partitions led here."""

from attrs import define

from goqueue.core.deadletters.context import MoverContext
from goqueue.core.queues.errands import Slot
from goqueue.core.queues.queue_ledger import QueueLedger
from goqueue.core.queues.targets import dead_topics
from goqueue.core.replicas.elsewhere import elsewhere
from goqueue.core.replicas.topic import HostedTopic
from goqueue.core.requests.deadletters import DeadCounts
from goqueue.core.requests.messages import Side
from goqueue.core.requests.refusals import Code, Refusal


@define(eq=False)
class Census:
    """Counts letters."""

    _yard: MoverContext

    def partitions(self) -> list[Slot]:
        """All partitions of topics of dead letters."""
        led = self._yard.led
        return [slot for name in dead_topics(led) for slot in self.slots(led.topics[name])]

    def homes(self) -> list[Slot]:
        """Where the jobs are kept of topics of which something was moved or purged, or is about to be."""
        led = self._yard.led
        return [(name, 0) for name in dead_topics(led) if Side.LEDGER in led.topics[name].topic.sides]

    def slots(self, leader: HostedTopic) -> list[Slot]:
        """The partitions of a topic."""
        return [(leader.topic.name, number) for number in range(leader.topic.partitions)]

    def books(self, leader: HostedTopic) -> dict[int, QueueLedger] | Refusal | None:
        """The ledgers of a topic's partitions here, why they cannot be used, or None while that is yet to be seen.

        None at all for a topic that has none, of which nothing was moved or purged.
        """
        topic = leader.topic
        if Side.LEDGER not in topic.sides:
            return {}
        books: dict[int, QueueLedger] = {}
        for number in self._here(leader):
            book = self._yard.ledgers.books.get((topic.name, number))
            if book is not None and book.has_failed:
                message = f"the ledger of partition {number} of {topic.name} cannot be used: {book.why}"
                return Refusal(Code.UNAVAILABLE, message, retry_after_ms=1000)
            if book is None or not book.is_ready:
                return None
            books[number] = book
        return books

    def closed(self, leader: HostedTopic) -> Refusal | None:
        """Why the letters of a partition here cannot be counted, and with them all that a job is about."""
        for number in self._here(leader):
            if self._yard.led.ends(leader.topic.name, number) is None:
                found = leader.partition(number)
                message = f"partition {number} of {leader.topic.name} is being opened"
                return found if isinstance(found, Refusal) else Refusal(Code.UNAVAILABLE, message, retry_after_ms=200)
        return None

    def counts(self, leader: HostedTopic, books: dict[int, QueueLedger]) -> DeadCounts:
        """The letters in the partitions here."""
        counts = DeadCounts({}, {}, {})
        for number in self._here(leader):
            book = books.get(number)
            start, end = self._span(leader.topic.name, number, book)
            counts.starts[number], counts.ends[number] = start, end
            counts.left[number] = end - start if book is None else book.moves.left(start, end)
        return counts

    def _here(self, leader: HostedTopic) -> list[int]:
        """The partitions of a topic that no other node leads."""
        return [number for name, number in self.slots(leader) if elsewhere(self._yard.led, name, number) is None]

    def _span(self, topic: str, number: int, book: QueueLedger | None) -> tuple[int, int]:
        """A partition's first letter that is left, and its end."""
        start, end = self._yard.led.ends(topic, number) or (0, 0)
        return (start if book is None else min(max(start, book.moves.gone.floor), end)), end
