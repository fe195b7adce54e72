"""A driven broker with dead letters, for tests: what is asked of them, and what is found in their topics."""

from collections.abc import Iterable

from goqueue.core.deadletters.letters import GROUP, OFFSET, REASON
from goqueue.core.records.record import Record
from goqueue.core.requests.deadletters import (
    BrowseDead,
    DeadLetter,
    DeadLetters,
    DeadTopic,
    DescribeRedrive,
    ListDeadTopics,
    RedriveReply,
    StartRedrive,
)
from goqueue.core.requests.messages import Side
from goqueue.core.requests.queues import ReceiptRun, RejectWork, WorkDone
from goqueue.core.requests.refusals import Refusal
from goqueue.storage.disk import Disk
from tests.storage.driven_broker import DrivenBroker
from tests.storage.worked_broker import join, poll, receipts, with_messages


def reject(broker: DrivenBroker, runs: list[ReceiptRun], reason: str = "") -> WorkDone:
    """Say that it is never to be tried again."""
    reply = broker.answer(RejectWork(runs, reason))
    assert isinstance(reply, WorkDone), reply
    return reply


def with_letters(disk: Disk, count: int, **config: object) -> DrivenBroker:
    """A broker whose topic `orders` has messages that were all rejected."""
    broker = with_messages(disk, count, **config)
    if count:
        reject(broker, receipts(poll(broker, join(broker), count)))
        broker.settle()
    return broker


def kill_all(broker: DrivenBroker, group: str = "billing", count: int = 10_000, reason: str = "") -> None:
    """Have a group reject everything that it is given."""
    reject(broker, receipts(poll(broker, join(broker, group), count, group)), reason)
    broker.settle()


def dead(broker: DrivenBroker, topic: str = "orders.dlq") -> list[tuple[int, str, str]]:
    """Offset in the source, group and reason of every record in a topic of dead letters, settled or not."""
    if topic not in broker.node.led.topics:
        return []
    return [_past(record) for record in broker.records(topic)]


def _past(record: Record) -> tuple[int, str, str]:
    said = {name: (value or b"").decode() for name, value in record.headers}
    return int(said[OFFSET]), said[GROUP], said[REASON]


def sources(broker: DrivenBroker, topic: str = "orders.dlq") -> list[int]:
    """Offsets in the source of every record in a topic of dead letters."""
    return [offset for offset, _, _ in dead(broker, topic)]


def browse(broker: DrivenBroker, request: BrowseDead | None = None) -> list[DeadLetter]:
    """A page of letters."""
    reply = broker.answer(request or BrowseDead("orders.dlq"))
    assert isinstance(reply, DeadLetters), reply
    return reply.letters


def counts(broker: DrivenBroker) -> dict[str, int]:
    """How many letters there are, by topic."""
    reply = broker.answer(ListDeadTopics())
    assert isinstance(reply, list), reply
    return {each.topic: each.letters for each in reply if isinstance(each, DeadTopic)}


def redrive(broker: DrivenBroker, request: object = None) -> RedriveReply:
    """Begin a redrive or a purge, and how it is when everything has settled."""
    reply = broker.answer(request or StartRedrive("orders.dlq"))  # type: ignore[arg-type]
    assert isinstance(reply, RedriveReply), reply
    return described(broker, reply.redrive_id)


def described(broker: DrivenBroker, redrive_id: str) -> RedriveReply:
    """How a redrive is."""
    broker.settle()
    reply = broker.answer(DescribeRedrive(redrive_id))
    assert isinstance(reply, RedriveReply), reply
    return reply


def values(records: Iterable[Record]) -> list[bytes]:
    """The values of records, in order."""
    return [bytes(record.value or b"") for record in records]


def open_intents(broker: DrivenBroker, topic: str = "orders") -> int:
    """How many moves out of a topic are under way."""
    leader = broker.node.led.topics[topic]
    assert Side.LEDGER in leader.topic.sides
    work = broker.node._services.services[1]
    books = work.books  # type: ignore[attr-defined]
    return sum(book.moves.intent is not None for slot, book in books.items() if slot[0] == topic)


def refused(reply: object) -> Refusal:
    """The refusal that an answer is."""
    assert isinstance(reply, Refusal), reply
    return reply
