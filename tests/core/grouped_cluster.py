"""Three nodes with a topic of which each leads a partition, and members that ask any of them."""

from collections.abc import Callable

from goqueue.core.node import Node
from goqueue.core.queues.receipts import read_stem
from goqueue.core.records.record import iterate
from goqueue.core.requests.groups import (
    CommitOffsets,
    CommittedOffsets,
    GroupMode,
    Joined,
    JoinGroup,
    PartitionOffset,
    Polled,
    PollGroup,
)
from goqueue.core.requests.messages import NewRecord, Publish, PublishReply
from goqueue.core.requests.queues import AckWork, LeasedBatches, NackWork, PolledWork, PollWork, ReceiptRun, WorkDone
from goqueue.core.requests.topics import CreateTopic, TopicReply
from tests.core.driven_cluster import DrivenCluster

MS = 1_000_000
S = 1_000 * MS


class GroupedCluster(DrivenCluster):
    """Nodes that know each other, and the topic `orders`."""

    def __init__(
        self,
        partitions: int = 3,
        replicas: int = 3,
        *,
        recorded: Callable[[Node], Node] = lambda node: node,
        **config: object,
    ) -> None:
        super().__init__(3, recorded=recorded)
        self.until(lambda: bool(self.controller()))
        self.until(lambda: all(len(self.node(name).peers()) >= 2 for name in self.living()))
        self.advance(1_000)
        made = self.answer("n1", CreateTopic("orders", partitions, replicas, config))
        assert isinstance(made, TopicReply), made
        self.until(lambda: all(self.leader("orders", number) for number in range(partitions)))

    def publish(self, *values: bytes, partition: int, by: str = "") -> None:
        """Messages for one partition."""
        records = [NewRecord(None, value, partition=partition) for value in values]
        reply = self.answer(by or self.living()[0], Publish("orders", records))
        assert isinstance(reply, PublishReply), reply

    def others(self, *names: str) -> list[str]:
        """The nodes that live and are none of these."""
        return [name for name in self.living() if name not in names]

    # --- exclusive groups

    def join(self, name: str, group: str = "billing", *, mode: GroupMode | None = None, session_ms: int = 0) -> Joined:
        """A member more, by way of a node."""
        request = JoinGroup(group, ["orders"], session_timeout_ms=session_ms, mode=mode)
        joined = self.answer(name, request)
        assert isinstance(joined, Joined), joined
        return joined

    def read(self, name: str, member: Joined, group: str = "billing", wait_ns: int = 0) -> dict[int, int]:
        """What a member of an exclusive group is given: by partition how far it goes."""
        polled = self.answer(name, PollGroup(group, member.member_id, wait_ns=wait_ns))
        assert isinstance(polled, Polled), polled
        return {part.partition: part.end_offset for part in polled.parts}

    def commit(self, name: str, member: Joined, offsets: dict[int, int], group: str = "billing") -> CommittedOffsets:
        """A member has come so far."""
        places = [PartitionOffset("orders", partition, offset) for partition, offset in offsets.items()]
        reply = self.answer(name, CommitOffsets(group, member.member_id, member.generation, places))
        assert isinstance(reply, CommittedOffsets), reply
        return reply

    # --- shared groups

    def share(self, name: str, group: str = "workers", session_ms: int = 0) -> str:
        """A member of a shared group."""
        return self.join(name, group, mode=GroupMode.SHARED, session_ms=session_ms).member_id

    def poll(
        self, name: str, member: str, count: int = 100, *, wait_ns: int = 0, group: str = "workers"
    ) -> dict[bytes, tuple[ReceiptRun, int]]:
        """What a member of a shared group is given: the receipt of each message, and which attempt it is."""
        polled = self.answer(name, PollWork(group, member, count, wait_ns=wait_ns))
        assert isinstance(polled, PolledWork), polled
        return found_in(polled)

    def ack(self, name: str, *receipts: ReceiptRun) -> WorkDone:
        """Messages are done."""
        done = self.answer(name, AckWork([*receipts]))
        assert isinstance(done, WorkDone), done
        return done

    def nack(self, name: str, *receipts: ReceiptRun, delay_ms: int | None = None) -> WorkDone:
        """Messages are to be tried again."""
        done = self.answer(name, NackWork([*receipts], delay_ms))
        assert isinstance(done, WorkDone), done
        return done


def found_in(polled: PolledWork) -> dict[bytes, tuple[ReceiptRun, int]]:
    """The receipts and attempts of messages by their values."""
    found: dict[bytes, tuple[ReceiptRun, int]] = {}
    for part in polled.parts:
        values = _values(part)
        for lease in part.leases:
            for offset in range(lease.first_offset, lease.first_offset + lease.count):
                assert values[offset] not in found, "given twice"
                found[values[offset]] = ReceiptRun(lease.stem, offset), lease.attempt
    return found


def _values(part: LeasedBatches) -> dict[int, bytes]:
    return {record.offset: bytes(record.value or b"") for record in iterate(part.batches)}


def place_of(receipt: ReceiptRun) -> int:
    """The partition that a receipt is of."""
    return read_stem(receipt.stem).place[1]
