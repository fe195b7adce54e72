"""What has happened in a world: messages sent, and which of them are promised to be there.

A message is known by its name, which no other message has: its value begins with it, or, where it has no value, it is
in a header. An acknowledgement is a promise until something happens that the topic's fsync mode made no promise about:
then `void` takes it back, and the message may or may not be there. Not here: whether promises are kept (`checkers/`).

In a cluster, a message of a topic that acknowledges what is not on the disk is promised for as long as one of those
who were in sync when it was acknowledged has not lost its power since, nor given its replica away: its `holders`.
"""

from collections.abc import Callable

from attrs import define, field

from goqueue.core.errors import BatchError
from goqueue.core.records.batch import read_header, split
from goqueue.core.records.record import Record, iterate
from goqueue.core.records.varint import Readable
from goqueue.core.requests.messages import Publish, PublishBatch
from goqueue.core.requests.row import Request
from goqueue.core.requests.topics import DeleteTopic
from goqueue.fuzz.deliveries import Deliveries, Given
from goqueue.fuzz.memberships import Memberships

Place = tuple[int, int]
"""A partition by topic id and number: a name may stand for another topic tomorrow."""

NAME_HEADER = "name"
# More than any client here sends in a batch, but for those that are hostile.
_SENT_BYTES_MAX = 4 << 20
LETTERS_ENDING = ".dlq"


class Violation(AssertionError):
    """The product broke a promise."""


@define(eq=False)
class Message:
    """One message that a client sent: where it is once acknowledged, and whether it was refused for good.

    Serial numbers count what a client sent, in order. Where it numbers its records itself, `client` is the producer as
    the broker knows it, and `serial` the sequence.
    """

    name: bytes
    client: str
    serial: int
    lane: int
    key: bytes | None = None
    value: bytes | None = field(default=None, repr=False)
    topic_ids: list[int | None] = field(factory=list)
    has_sequence: bool = False
    # How many requests carried it, and how many of these were refused as not carried out.
    sends: int = 0
    undone: int = 0
    place: Place | None = None
    offset: int = -1
    # Where it was when it was acknowledged, whether that is still promised or not.
    stood_at: tuple[Place, int] | None = None
    is_strong: bool = False
    # Nodes that have the message, if only in memory; where the promise is strong this says nothing.
    holders: frozenset[str] = frozenset()
    is_refused: bool = False
    # Of one that is kept back: not before this moment of the wall clock, whether that was promised, and for how sure.
    due_ms: int | None = None
    # When it is due by the clock of the node that took it, as that has answered.
    told_due_ms: int = 0
    is_kept: bool = False
    is_kept_strongly: bool = False
    kept_at: tuple[Place, int] | None = None
    # Whether somebody wanted it cancelled or put off.
    is_doubtful: bool = False
    # Whether it may be sent back from among the dead letters, and how long queues deliver it; 0 for ever.
    is_redriven: bool = False
    ttl_ms: int = 0
    # By no clock does it expire before that moment.
    expires_ms: int = 0

    @property
    def may_repeat(self) -> bool:
        """Whether somebody brought about that the message may be there twice."""
        return self.is_redriven or (self.sends > 1 and not self.has_sequence)


@define
class TopicTerms:
    """What a topic promised from its beginning on: settings that were changed since are among them."""

    was_weak: bool = False
    retains: bool = False
    compacts: bool = False


@define
class Asked:
    """A request that waits for its answer."""

    to: int
    client: str
    request: Request
    # The topic that a request is about; None where there is none, and in a cluster where it may be one of several.
    topic_id: int | None
    messages: list[Message] = field(factory=list)
    # In a cluster, the least id of a topic that the request may come to.
    least_id: int = 0
    # When it came to the node, and how many had come before.
    at: int = 0
    serial: int = 0
    # By which node it is to be answered, and what the clock showed that was furthest behind.
    node_id: str = ""
    least_ms: int = 0
    is_forgotten: bool = False
    # What a fetch brought: the records, and (offset, name) of each.
    records: list[Record] = field(factory=list)
    found: dict[int, bytes] = field(factory=dict)
    # What a poll of a work queue brought, and the topics there were when it was asked.
    given: list[Given] = field(factory=list)
    topics: dict[str, int] = field(factory=dict)


@define
class History:
    """All messages and all promises of one world."""

    messages: dict[bytes, Message] = field(factory=dict)
    promised: dict[Place, dict[int, Message]] = field(factory=dict)
    terms: dict[int, TopicTerms] = field(factory=dict)
    rotten: set[Place] = field(factory=set)
    is_doomed: set[int] = field(factory=set)
    # Topics of which somebody let a replica lead that may lack messages: nothing is promised of these either.
    given_up: set[int] = field(factory=set)
    # Topics that somebody wanted deleted and was not told about: that may come to be at any time.
    is_wanted_gone: set[str] = field(factory=set)
    open: dict[int, Asked] = field(factory=dict)
    memberships: Memberships = field(factory=Memberships)
    deliveries: Deliveries = field(factory=Deliveries)
    # What is kept back, by partition and offset in the schedule.
    delayed: dict[tuple[Place, int], Message] = field(factory=dict)
    # Places in schedules of which somebody spoke before it was known what is there.
    guessed: set[tuple[Place, int]] = field(factory=set)
    # How many requests there were, and had been when weak promises were last taken back, by topic and of all.
    count: int = 0
    _voided: dict[int | None, int] = field(factory=dict)
    # The same of nodes that lost their power, or of a topic what their disks did not have, and of partitions of which
    # nobody was known to have everything.
    _powerless: dict[str, int] = field(factory=dict)
    _diskless: dict[tuple[str, int], int] = field(factory=dict)
    _stood_still: dict[Place, int] = field(factory=dict)

    def asked(self, asked: Asked) -> None:
        """A request was handed to the node."""
        self.count += 1
        asked.serial = self.count
        self.open[asked.to] = asked
        for message in sent_in(asked.request):
            known = self.messages.setdefault(message.name, message)
            if known is message:
                if not message.has_sequence:
                    message.client, message.serial = asked.client, len(self.messages)
            known.sends += 1
            # One that came in too large a batch may come again in a smaller one.
            known.is_refused = False
            known.topic_ids.append(asked.topic_id)
            asked.messages.append(known)

    def acknowledged(
        self, message: Message, place: Place, offset: int, *, is_strong: bool, holders: frozenset[str] = frozenset()
    ) -> None:
        """A message is promised to be at an offset."""
        taken = self.promised.setdefault(place, {})
        earlier = taken.get(offset)
        if earlier is not None and earlier is not message:
            raise Violation(
                f"{message.name!r} and {earlier.name!r} were both acknowledged at offset {offset} of {place}"
            )
        message.place, message.offset, message.is_strong, message.holders = place, offset, is_strong, holders
        message.stood_at = place, offset
        if place[0] not in self.is_doomed:
            taken[offset] = message

    def kept_back(self, message: Message, place: Place, offset: int) -> None:
        """A message is promised to be at an offset of a schedule."""
        is_sure = self.is_strong(place[0]) and place[0] not in self.is_doomed and not message.may_repeat
        before = message.kept_at
        if is_sure and before is not None and before[0] == place and before[1] != offset:
            raise Violation(f"{message.name!r} is kept back at {before[1]} of {place}, and at {offset} as well")
        message.kept_at = place, offset
        message.is_doubtful = message.is_doubtful or (place, offset) in self.guessed
        self.delayed[place, offset] = message

    def died(self, node_id: str, *, lingers: bool) -> None:
        """The process is gone, and nothing that was asked of it is answered any more; it may linger with others."""
        for to, asked in list(self.open.items()):
            if asked.node_id == node_id:
                if lingers and isinstance(asked.request, DeleteTopic):
                    self.is_wanted_gone.add(asked.request.name)
                self.deliveries.unanswered(asked.request)
                del self.open[to]

    def may_be_deleted(self, name: str) -> bool:
        """Whether somebody wants a topic of a name deleted."""
        requests = (asked.request for asked in self.open.values())
        return name in self.is_wanted_gone or any(
            isinstance(request, DeleteTopic) and request.name == name for request in requests
        )

    def is_strong(self, topic_id: int) -> bool:
        """Whether the topic has always promised to survive a crash."""
        terms = self.terms.get(topic_id)
        return terms is not None and not terms.was_weak

    def void(self, topic_id: int | None = None) -> None:
        """Take back the weak promises of one topic, or of all."""
        self._voided[topic_id] = self.count
        for place, promised in self.promised.items():
            if (topic_id is None or place[0] == topic_id) and not self.is_strong(place[0]):
                for offset, message in list(promised.items()):
                    if not message.is_strong:
                        message.place, message.offset = None, -1
                        del promised[offset]

    def power_lost(self, node_id: str) -> None:
        """What a node had in memory is gone: a weak promise holds as long as another node has what it is about."""
        self._powerless[node_id] = self.count
        for place, promised in self.promised.items():
            if not self.is_strong(place[0]):
                self._let_go(promised, lambda holders: holders - {node_id})

    def disk_failed(self, node_id: str, topic_id: int) -> None:
        """A node may have lost what it had of a topic that was not on its disk: others may have it yet."""
        self._diskless[node_id, topic_id] = self.count
        for place, promised in self.promised.items():
            if place[0] == topic_id and not self.is_strong(topic_id):
                self._let_go(promised, lambda holders: holders - {node_id})

    def disk_failed_at(self, node_id: str, topic_id: int) -> int:
        """How many requests there had been when that happened last; -1 where it never did."""
        return self._diskless.get((node_id, topic_id), -1)

    def placed(self, place: Place, replicas: list[str], *, stands_still: bool) -> None:
        """A partition is with these nodes and no others."""
        if stands_still:
            self._stood_still[place] = self.count
        if not self.is_strong(place[0]):
            self._let_go(self.promised.get(place, {}), lambda holders: holders & {*replicas})

    def _let_go(self, promised: dict[int, Message], left: Callable[[frozenset[str]], frozenset[str]]) -> None:
        for offset, message in list(promised.items()):
            if not message.is_strong:
                message.holders = left(message.holders)
                if not message.holders:
                    message.place, message.offset = None, -1
                    del promised[offset]

    def holders(self, place: Place, isr: list[str], asked: Asked) -> frozenset[str]:
        """Who certainly has a message that was acknowledged after it was asked for, by those in sync at this moment."""
        if self._stood_still.get(place, 0) >= asked.serial:
            return frozenset()
        lost = {one: max(self._powerless.get(one, 0), self._diskless.get((one, place[0]), 0)) for one in isr}
        return frozenset(one for one, at in lost.items() if at < asked.serial)

    def was_voided(self, topic_id: int, asked: Asked) -> bool:
        """Whether an answer may have been true before weak promises were taken back, and come only after that."""
        return max(self._voided.get(topic_id, 0), self._voided.get(None, 0)) >= asked.serial

    def doomed(self, topic_id: int) -> None:
        """Somebody wants a topic deleted: nothing is promised of it any more."""
        if topic_id in self.is_doomed:
            return
        self.is_doomed.add(topic_id)
        for place in [place for place in self.promised if place[0] == topic_id]:
            del self.promised[place]

    def give_up(self, place: Place) -> None:
        """Somebody let a replica of a partition lead that may lack what was acknowledged."""
        self.given_up.add(place[0])
        self.rotten.add(place)
        self.doomed(place[0])


def records_in(batches: Readable) -> list[Record]:
    """All records of a run of batches."""
    return [record for batch in split(batches) for record in iterate(batch)]


def name_of(record: Record) -> bytes:
    """The name of a message: its value begins with it."""
    if record.value is None:
        return dict(record.headers).get(NAME_HEADER) or b""
    return bytes(record.value).partition(b"|")[0]


def sent_in(request: Request) -> list[Message]:
    """The messages of a request, each as if it was not known before."""
    if isinstance(request, Publish):
        return [
            Message(_name(one.headers, one.value), "", 0, int(one.lane), _bytes(one.key), _bytes(one.value))
            for one in request.records
        ]
    return _sent_batch(request) if isinstance(request, PublishBatch) else []


def _sent_batch(request: PublishBatch) -> list[Message]:
    try:
        header, records = read_header(request.batch), [*iterate(request.batch, max_bytes=_SENT_BYTES_MAX)]
    except BatchError:
        # Somebody who is hostile: nobody reads it.
        return []
    messages = [Message(name_of(one), "", 0, -1, _bytes(one.key), _bytes(one.value)) for one in records]
    if header.has_producer:
        for place, message in enumerate(messages):
            message.has_sequence = True
            message.client = f"producer {header.producer_id}/{header.producer_epoch}"
            message.serial = header.base_sequence + place
    return messages


def _name(headers: tuple[tuple[str, bytes | None], ...], value: Readable | None) -> bytes:
    return (dict(headers).get(NAME_HEADER) or b"") if value is None else bytes(value).partition(b"|")[0]


def _bytes(content: Readable | None) -> bytes | None:
    return None if content is None else bytes(content)
