"""A driven broker with delayed messages in it, and what tests ask of it."""

from goqueue.core.requests.delays import (
    CancelDelayed,
    DelayedMessage,
    DelayedMessages,
    DelaysMeasured,
    GetDelayed,
    ListDelayed,
    MeasureDelays,
    RescheduleDelayed,
)
from goqueue.core.requests.messages import NewRecord, Publish, Published, PublishReply
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.storage.simulated import SimulatedDisk
from tests.storage.driven_broker import WALL_MS, DrivenBroker

TOPIC = "orders"
# A message is due a millisecond after its time by a clock that is read in whole ones.
LATE_MS = 1


def begun(disk: SimulatedDisk | None = None, **config: object) -> DrivenBroker:
    """A broker with a topic of one partition."""
    broker = DrivenBroker(SimulatedDisk(1) if disk is None else disk)
    broker.create(TOPIC, **config)
    return broker


def started(disk: SimulatedDisk, now: int = 0) -> DrivenBroker:
    """A broker that finds on a disk what another left."""
    broker = DrivenBroker(disk)
    broker.now = now
    broker.settle()
    return broker


def delayed(value: bytes, delay_ms: int, **fields: object) -> NewRecord:
    """A message for partition 0 that is kept back."""
    return NewRecord(None, value, partition=0, delay_ms=delay_ms, **fields)  # type: ignore[arg-type]


def send(broker: DrivenBroker, *records: NewRecord, topic: str = TOPIC) -> list[Published | Refusal]:
    """Publish, and the answers."""
    reply = broker.answer(Publish(topic, list(records)))
    assert isinstance(reply, PublishReply), reply
    return reply.results


def schedule(broker: DrivenBroker, *delays_ms: int) -> list[int]:
    """Publish a message for each delay, with the delay for its value; their offsets in the schedule."""
    results = send(broker, *(delayed(b"%d" % delay_ms, delay_ms) for delay_ms in delays_ms))
    assert all(isinstance(result, Published) for result in results), results
    return [result.offset for result in results if isinstance(result, Published)]


def delivered(broker: DrivenBroker, topic: str = TOPIC) -> list[bytes]:
    """The values of all messages that readers see."""
    return [bytes(record.value or b"") for record in broker.records(topic)]


def page(broker: DrivenBroker, limit: int = 100, after: tuple[int, int, int] | None = None) -> DelayedMessages:
    """Pending messages of the topic."""
    reply = broker.answer(ListDelayed(TOPIC, limit, after))
    assert isinstance(reply, DelayedMessages), reply
    return reply


def pending(broker: DrivenBroker) -> list[tuple[int, int]]:
    """In how many milliseconds of the beginning which offsets are due."""
    return [(message.due_ms - WALL_MS, message.offset) for message in page(broker, 1000).messages]


def get(broker: DrivenBroker, offset: int) -> DelayedMessage:
    """A pending message with what is in it."""
    reply = broker.answer(GetDelayed(TOPIC, 0, offset))
    assert isinstance(reply, DelayedMessage), reply
    return reply


def cancel(broker: DrivenBroker, offset: int) -> Code | None:
    """Cancel a message: how that was refused, if it was."""
    reply = broker.answer(CancelDelayed(TOPIC, 0, offset))
    assert reply is None or isinstance(reply, Refusal), reply
    return reply.code if reply else None


def put_off(broker: DrivenBroker, offset: int, delay_ms: int) -> DelayedMessage:
    """Deliver a message so much from now."""
    reply = broker.answer(RescheduleDelayed(TOPIC, 0, offset, delay_ms))
    assert isinstance(reply, DelayedMessage), reply
    return reply


def measured(broker: DrivenBroker) -> DelaysMeasured:
    """What was counted."""
    reply = broker.answer(MeasureDelays())
    assert isinstance(reply, DelaysMeasured), reply
    return reply


def jump(broker: DrivenBroker, by_ms: int) -> None:
    """Have the wall clock moved."""
    broker.node.clock_moved(broker.now, broker.node.clock.wall_ms(broker.now) + by_ms)
    broker.settle()
