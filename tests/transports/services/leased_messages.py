"""What a member of a shared group gets, message by message, as a client that knows nothing of our library takes it."""

import base64
from typing import Any

from attrs import define
from crc32c import crc32c

from goqueue.core.records.batch import split
from goqueue.core.records.record import iterate
from goqueue.proto import v1
from tests.transports.services.group_member import StreamMember
from tests.transports.services.served_broker import Client

SHARED = v1.GroupMode(v1.GroupMode.SHARED)


@define
class Leased:
    """A message under a lease."""

    topic: str
    partition: int
    offset: int
    value: bytes
    attempt: int
    receipt: str
    expires_ms: int


def leased(part: v1.LeasedBatches) -> list[Leased]:
    """The messages of a part that are leased, in the order of delivery."""
    records = {record.offset: record for batch in split(part.batches) for record in iterate(batch)}
    found = []
    for lease in part.leases:
        for offset in range(lease.first_offset, lease.first_offset + lease.count):
            value, receipt = bytes(records[offset].value or b""), receipt_of(lease.stem, offset)
            place = part.topic, part.partition, offset
            found.append(Leased(*place, value, lease.attempt, receipt, lease.expires_ms))
    return found


def receipt_of(stem: str, offset: int) -> str:
    """A receipt, spelled as docs/grpc.md has it."""
    spelled = offset.to_bytes(8, "little")
    check = crc32c(stem.encode() + spelled)
    return stem + base64.urlsafe_b64encode(spelled + check.to_bytes(4, "little")).decode()


def join_shared(client: Client, group: str = "mail", **more: Any) -> v1.JoinReply:  # noqa: ANN401 - fields
    """Become a member by a call."""
    reply: v1.JoinReply = client.join(v1.JoinRequest(group=group, topics=["orders"], mode=SHARED, **more))
    assert reply.mode is SHARED
    return reply


def poll(client: Client, member: v1.JoinReply, count: int = 100, **more: Any) -> list[Leased]:  # noqa: ANN401 - fields
    """What a call of Poll leases."""
    group = more.pop("group", "mail")
    reply = client.poll(v1.PollRequest(group, member.member_id, count, **more))
    return [message for part in reply.parts for message in leased(part)]


def receipts(messages: list[Leased]) -> list[str]:
    """The receipts of some messages."""
    return [message.receipt for message in messages]


class SharedMember(StreamMember):
    """A member of a shared group on one stream."""

    def join(self, group: str = "mail", *topics: str, **more: Any) -> v1.JoinReply:  # noqa: ANN401 - fields
        """Become a member."""
        return super().join(group, *topics, mode=SHARED, **more)

    def lease(self, count: int) -> list[Leased]:
        """So many messages, whatever else comes until then is passed over."""
        found: list[Leased] = []
        while len(found) < count:
            found += leased(self.await_("leased"))
        assert len(found) == count
        return found
