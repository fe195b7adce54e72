"""A driven broker with members of shared groups, and what they were given, for tests."""

from collections.abc import Sequence

from goqueue.core.records.batch import split
from goqueue.core.records.record import iterate
from goqueue.core.requests.groups import GroupMode, Joined, JoinGroup, LeaveGroup
from goqueue.core.requests.queues import (
    AckWork,
    LeasedBatches,
    LeaseRun,
    NackWork,
    PolledWork,
    PollWork,
    ReceiptRun,
    WorkDone,
)
from goqueue.core.requests.refusals import Refusal
from goqueue.storage.disk import Disk
from tests.storage.driven_broker import SECOND_NS, DrivenBroker


def begun(disk: Disk, **config: object) -> DrivenBroker:
    """A broker with a topic, which may have been there."""
    broker = DrivenBroker(disk)
    broker.settle()
    return broker


def with_messages(disk: Disk, count: int, **config: object) -> DrivenBroker:
    """A broker whose topic `orders` has some messages, whose values are their numbers."""
    broker = begun(disk)
    broker.create("orders", **config)
    publish(broker, count)
    return broker


def publish(broker: DrivenBroker, count: int, first: int = 0, key: bytes | None = None) -> None:
    """Messages more."""
    if count:
        broker.publish("orders", *[(key or b"k", b"%d" % (first + number)) for number in range(count)])


def join(broker: DrivenBroker, group: str = "billing", topics: Sequence[str] = ("orders",), **config: object) -> str:
    """A member more of a shared group."""
    reply = broker.answer(
        JoinGroup(
            group,
            [*topics],
            client_id="one",
            mode=GroupMode.SHARED,
            session_timeout_ms=1_800_000,
            config=config,
        )
    )
    assert isinstance(reply, Joined), reply
    assert reply.mode is GroupMode.SHARED
    return reply.member_id


def leave(broker: DrivenBroker, member_id: str, group: str = "billing") -> None:
    """A member less."""
    assert broker.answer(LeaveGroup(group, member_id)) is None


def poll(
    broker: DrivenBroker, member_id: str, count: int = 100, group: str = "billing", visibility_ms: int = 0
) -> list[LeasedBatches]:
    """What a member is given."""
    reply = broker.answer(PollWork(group, member_id, count, visibility_ms=visibility_ms))
    assert isinstance(reply, PolledWork), reply
    return reply.parts


def waiting_poll(member_id: str, count: int = 100, seconds: int = 5, group: str = "billing") -> PollWork:
    """A poll that waits."""
    return PollWork(group, member_id, count, wait_ns=seconds * SECOND_NS)


def messages(parts: Sequence[LeasedBatches]) -> list[tuple[int, bytes, int]]:
    """Offset, value and attempt of what was given, in order of delivery."""
    found: list[tuple[int, bytes, int]] = []
    for part in parts:
        values: dict[int, bytes] = {}
        for batch in split(part.batches):
            values.update((record.offset, bytes(record.value or b"")) for record in iterate(batch))
        for lease in part.leases:
            offsets = range(lease.first_offset, lease.first_offset + lease.count)
            found += [(offset, values[offset], lease.attempt) for offset in offsets]
    return found


def offsets(parts: Sequence[LeasedBatches]) -> list[int]:
    """The offsets of what was given."""
    return [offset for offset, _, _ in messages(parts)]


def leases(parts: Sequence[LeasedBatches]) -> list[LeaseRun]:
    """The leases of what was given."""
    return [lease for part in parts for lease in part.leases]


def receipts(parts: Sequence[LeasedBatches], *only: int) -> list[ReceiptRun]:
    """The receipts of what was given, or of some of it."""
    if not only:
        return [ReceiptRun(lease.stem, lease.first_offset, lease.count) for lease in leases(parts)]
    return [
        ReceiptRun(lease.stem, offset)
        for lease in leases(parts)
        for offset in range(lease.first_offset, lease.first_offset + lease.count)
        if offset in only
    ]


def ack(broker: DrivenBroker, runs: list[ReceiptRun], group: str = "") -> WorkDone:
    """Acknowledge."""
    reply = broker.answer(AckWork(runs, group))
    assert isinstance(reply, WorkDone), reply
    return reply


def nack(broker: DrivenBroker, runs: list[ReceiptRun], delay_ms: int | None = None) -> WorkDone:
    """Say that it failed."""
    reply = broker.answer(NackWork(runs, delay_ms))
    assert isinstance(reply, WorkDone), reply
    return reply


def refused(reply: object) -> Refusal:
    """The refusal that an answer is."""
    assert isinstance(reply, Refusal), reply
    return reply
