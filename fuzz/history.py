"""What has happened in a world, as its clients know it: messages sent, and which of them are promised to be there.

A message is known by its value, which begins with a name that no other message has. An acknowledgement is a promise
until something happens that the topic's fsync mode makes no promise about: then `void` takes it back, and the message
may or may not be there. Not here: whether promises are kept (`checkers/`).
"""

from attrs import define, field

from goqueue.core.log.config import Fsync
from goqueue.core.records.batch import split
from goqueue.core.records.record import iterate
from goqueue.core.records.varint import Readable
from goqueue.core.verbs import Publish, PublishBatch, Request

Place = tuple[int, int]
"""A partition by topic id and number: a name may stand for another topic tomorrow."""


class Violation(AssertionError):
    """The product broke a promise."""


@define
class Message:
    """One message that a client sent: where it is once acknowledged, and whether it was refused for good."""

    name: bytes
    client: str
    serial: int
    topic_id: int | None
    lane: int
    place: Place | None = None
    offset: int = -1
    is_refused: bool = False


@define
class Asked:
    """A request that waits for its answer."""

    to: int
    client: str
    request: Request
    topic_id: int | None
    messages: list[Message] = field(factory=list)
    is_forgotten: bool = False


@define
class History:
    """All messages and all promises of one world."""

    messages: dict[bytes, Message] = field(factory=dict)
    promised: dict[Place, dict[int, Message]] = field(factory=dict)
    fsyncs: dict[int, Fsync] = field(factory=dict)
    retained: dict[int, bool] = field(factory=dict)
    is_doomed: set[int] = field(factory=set)
    open: dict[int, Asked] = field(factory=dict)

    def asked(self, asked: Asked) -> None:
        """A request was handed to the node."""
        self.open[asked.to] = asked
        asked.messages = [
            Message(name, asked.client, len(self.messages) + count, asked.topic_id, lane)
            for count, (name, lane) in enumerate(_sent(asked.request))
        ]
        for message in asked.messages:
            assert message.name not in self.messages
            self.messages[message.name] = message

    def acknowledged(self, message: Message, place: Place, offset: int) -> None:
        """A message is promised to be at an offset."""
        taken = self.promised.setdefault(place, {})
        earlier = taken.get(offset)
        if earlier is not None:
            raise Violation(
                f"{message.name!r} and {earlier.name!r} were both acknowledged at offset {offset} of {place}"
            )
        message.place, message.offset = place, offset
        if place[0] not in self.is_doomed:
            taken[offset] = message

    def is_strong(self, topic_id: int) -> bool:
        """Whether the topic promises to survive a crash."""
        return self.fsyncs.get(topic_id) is Fsync.EVERY

    def void(self, topic_id: int | None = None) -> None:
        """Take back the weak promises of one topic, or of all."""
        for place in self.promised:
            if (topic_id is None or place[0] == topic_id) and not self.is_strong(place[0]):
                self.promised[place] = {}

    def doomed(self, topic_id: int) -> None:
        """Somebody wants a topic deleted: nothing is promised of it any more."""
        self.is_doomed.add(topic_id)
        for place in [place for place in self.promised if place[0] == topic_id]:
            del self.promised[place]


def names_in(batches: Readable) -> list[tuple[int, bytes]]:
    """(offset, name) of every message in a run of batches."""
    return [(record.offset, name_of(record.value)) for batch in split(batches) for record in iterate(batch)]


def name_of(value: Readable | None) -> bytes:
    """The name that a message's value begins with."""
    return bytes(value or b"").partition(b"|")[0]


def _sent(request: Request) -> list[tuple[bytes, int]]:
    if isinstance(request, Publish):
        return [(name_of(record.value), int(record.lane)) for record in request.records]
    if isinstance(request, PublishBatch):
        return [(name, -1) for _, name in names_in(request.batch)]
    return []
