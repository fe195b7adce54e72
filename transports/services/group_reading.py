"""What a member's partitions hold, as they come and go: the reading half of a `Consume` stream.

A partition that is assigned is read from the committed offset on, or from where its group begins if there is none. One
that is no longer assigned is read no further at once; what was queued of it goes ahead of whatever says so.

An offset that the partition does not reach back to is its start: what lay before is gone. One beyond its end is the end
if it was committed, since the end may have been lost with a disk, and a mistake if the client asked for it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from attrs import define

from goqueue.core.groups.beginnings import LATEST, moment_ms
from goqueue.core.requests.call import Caller
from goqueue.core.requests.groups import (
    DescribeGroup,
    FetchOffsets,
    GroupOffset,
    GroupReply,
    PartitionOffset,
    Partitions,
)
from goqueue.core.requests.messages import Fetched, FindOffset, FoundOffset
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.proto import v1
from goqueue.proto.fields import made
from goqueue.proto.refusals import invalid, refusal
from goqueue.transports.broker import Broker
from goqueue.transports.grpc.call import ServerCall
from goqueue.transports.services.envelopes import bytes_field, number_field
from goqueue.transports.services.feed import Feed, Source, reply_share
from goqueue.transports.services.subscription import EARLIEST_MS, LATEST_MS

_REPLY_BYTES = 1 << 20
_BATCHES = 4


@define(eq=False)
class Share(Source):
    """One partition of the member; `head` is how a reply names it."""

    head: bytes = b""
    has_begun: bool = False
    is_sought: bool = False


class GroupReading:
    """The partitions of one member on one stream; `fail` is told why they cannot be read at all."""

    def __init__(self, call: ServerCall, broker: Broker, caller: Caller, fail: Callable[[Refusal], None]) -> None:
        self._call = call
        self._broker = broker
        self._caller = caller
        self._fail = fail
        self._group = ""
        self._shares: dict[tuple[str, int], Share] = {}
        self.feed = Feed(call, broker, caller, _REPLY_BYTES, self._send, self._end)

    def follow(self, group: str, assigned: Partitions) -> None:
        """Read these partitions, and no others."""
        self._group = group
        slots = {(topic, partition): None for topic, numbers in assigned.items() for partition in numbers}
        for slot in [slot for slot in self._shares if slot not in slots]:
            self.feed.stop(self._shares.pop(slot))
        fresh = [_share(*slot) for slot in slots if slot not in self._shares]
        self._shares.update(((share.topic, share.partition), share) for share in fresh)
        self.feed.reply_bytes = reply_share(_REPLY_BYTES, len(self._shares))
        if fresh:
            topics = [*dict.fromkeys(share.topic for share in fresh)]
            self._ask(FetchOffsets(group, topics), partial(self._place, fresh))

    def seek(self, positions: list[PartitionOffset]) -> Refusal | None:
        """Go on from elsewhere, or why that is not possible: then nothing has changed."""
        for at, one in enumerate(positions):
            if (one.topic, one.partition) not in self._shares:
                return invalid(f"{one.topic}-{one.partition} is not assigned to this stream", f"positions[{at}]")
        for one in positions:
            share = self._shares[one.topic, one.partition]
            share.has_begun = share.is_sought = True
            self.feed.begin_at(share, one.offset)
        return None

    def close(self) -> None:
        """The call is over."""
        self.feed.close(self._shares.values())

    # --- where to begin

    def _ask(self, request: Request, receive: Callable[[Any], None]) -> None:
        self._broker.post(self._caller, request, partial(self._answered, receive))

    def _answered(self, receive: Callable[[Any], None], reply: Reply) -> None:
        if self.feed.is_over:
            return
        if isinstance(reply, Refusal):
            self._fail(reply)
        else:
            receive(reply)

    def _place(self, shares: list[Share], reply: list[GroupOffset]) -> None:
        committed = {(each.topic, each.partition): each.offset for each in reply}
        unplaced = []
        for share in _waiting(shares):
            offset = committed.get((share.topic, share.partition), -1)
            if offset < 0:
                unplaced.append(share)
            else:
                share.has_begun = True
                self.feed.begin_at(share, offset)
        if unplaced:
            self._ask(DescribeGroup(self._group), partial(self._start, unplaced))

    def _start(self, shares: list[Share], reply: GroupReply) -> None:
        moment = moment_ms(reply.config["start"])
        timestamp = moment if moment is not None else LATEST_MS if reply.config["start"] == LATEST else EARLIEST_MS
        for share in _waiting(shares):
            share.has_begun = True
            self.feed.begin(share, timestamp)

    # --- what comes

    def _send(self, source: Source, fetched: Fetched) -> None:
        assert isinstance(source, Share)
        source.is_sought = False
        size = len(fetched.batches)
        head = (
            source.head
            + number_field(4, source.next_offset)
            + number_field(5, fetched.next_offset)
            + number_field(6, fetched.high_watermark)
            + number_field(7, fetched.start_offset)
            + bytes_field(3, size)
        )
        self.feed.put(bytes_field(_BATCHES, len(head) + size) + head, fetched.batches)

    def _end(self, source: Source, refused: Refusal) -> None:
        if refused.code is Code.OFFSET_OUT_OF_RANGE:
            self.feed.post(
                source, FindOffset(source.topic, source.partition, EARLIEST_MS), partial(self._turn, refused)
            )
        elif refused.code is Code.SHUTTING_DOWN:
            self._fail(refused)
        else:
            self._tell(source, refused)

    def _turn(self, refused: Refusal, source: Source, reply: Reply) -> None:
        """A partition does not reach from its start to where it was to be read from."""
        assert isinstance(source, Share)
        if not isinstance(reply, FoundOffset):
            assert isinstance(reply, Refusal)
            self._end(source, reply)
        elif reply.offset > source.next_offset:
            self.feed.begin_at(source, reply.offset)
        elif source.is_sought:
            self._tell(source, refused)
        else:
            self.feed.begin(source, LATEST_MS)

    def _tell(self, source: Source, refused: Refusal) -> None:
        place = {"topic": source.topic, "partition": source.partition, "next_offset": source.next_offset}
        batches = made(v1.GroupBatches, **place, refusal=refusal(refused))
        self.feed.put(self._call.codec.encode(v1.ConsumeReply(batches=batches)))


def _share(topic: str, partition: int) -> Share:
    name = topic.encode()
    return Share(topic, partition, head=bytes_field(1, len(name)) + name + number_field(2, partition))


def _waiting(shares: list[Share]) -> list[Share]:
    """Those that are still assigned, and were not told otherwise meanwhile."""
    return [share for share in shares if not share.is_over and not share.has_begun]
