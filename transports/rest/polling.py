"""The endpoint by which a member reads without naming offsets: its partitions, or in a shared group what is leased.

Which of the two a group is the node knows: a poll that is refused for the group's mode is asked again as the other
kind, see `leasing`. What follows is about partitions.

The node keeps where a member is, and moves on with what it gives out. So everything that was given out is in the
answer, or the answer names it as left out: a following poll would not bring it again. For the same reason nothing that
goes wrong after the node's answer becomes an error.

An eager member is given only what its last join told it of. One that polls and sends no heartbeats would not learn that
there is more to be had, so the node's answer also says what a heartbeat's would: whether to join again.
"""

from collections.abc import Iterator

from attrs import define, field

from goqueue.core.errors import BatchError
from goqueue.core.records.batch import Header, Lane, read_header, split
from goqueue.core.records.record import Record, iterate
from goqueue.core.records.varint import Readable
from goqueue.core.requests.groups import Polled, PolledBatches, PollGroup
from goqueue.core.requests.queues import PollWork
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.transports.rest.call import Call, answer
from goqueue.transports.rest.contents import PRIORITIES, Timestamps, message_view
from goqueue.transports.rest.errors import RestError, invalid, refused
from goqueue.transports.rest.exchange import Answer
from goqueue.transports.rest.group_bodies import LeftOutView, PolledView, PolledViews
from goqueue.transports.rest.leasing import poll_leased
from goqueue.transports.rest.reading import CONTENT_BYTES_MAX, content_bytes
from goqueue.transports.rest.web_access import FORBIDDEN, is_link_of_another_site

MESSAGES_DEFAULT = 500
# A lease ends, and what one process has not begun by then another begins.
LEASES_DEFAULT = 100
MESSAGES_MAX = 10_000
WAIT_MS_MAX = 60_000
MS_NS = 1_000_000
# Of batches as they are stored.
BATCH_BYTES_MAX = 1 << 20


@define
class Harvest:
    """What a poll has brought so far."""

    messages: list[PolledView] = field(factory=list)
    left_out: list[LeftOutView] = field(factory=list)
    size_bytes: int = 0
    timestamps: Timestamps = field(factory=Timestamps)

    def take(self, part: PolledBatches) -> None:
        """Take the messages that are meant; what cannot be taken is named."""
        for batch in split(part.batches):
            header = read_header(batch)
            if not header.is_control and header.next_offset > part.first_offset:
                self._take_batch(part, batch, header)

    def _take_batch(self, part: PolledBatches, batch: Readable, header: Header) -> None:
        offset = max(header.base_offset, part.first_offset)
        try:
            for record in _meant(part, batch):
                offset = record.offset
                size = content_bytes(record)
                if self.messages and self.size_bytes + size > CONTENT_BYTES_MAX:
                    said = f"the answer would be larger than {CONTENT_BYTES_MAX} bytes; read these by their offsets"
                    self._leave_out(part, header, offset, Code.TOO_LARGE, said)
                    return
                self._take_record(part, record, header.lane, size)
                offset += 1
        except BatchError as error:
            # Compressed batches are stored as they came, so that the first reader may find what is wrong with one.
            self._leave_out(part, header, offset, Code.CORRUPT_BATCH, f"the batch is unreadable: {error}")

    def _take_record(self, part: PolledBatches, record: Record, lane: Lane, size: int) -> None:
        view = message_view(record, PRIORITIES[lane], self.timestamps.written(record.timestamp))
        self.messages.append(PolledView(
            part.topic, part.partition, view.offset, view.key, view.value, view.headers, view.timestamp,
            view.priority, view.encoding, view.headers_encoding,
        ))  # fmt: skip
        self.size_bytes += size

    def _leave_out(self, part: PolledBatches, header: Header, offset: int, code: Code, said: str) -> None:
        end = min(header.next_offset, part.end_offset)
        self.left_out.append(LeftOutView(part.topic, part.partition, offset, end, said, code))


def _meant(part: PolledBatches, batch: Readable) -> Iterator[Record]:
    for record in iterate(batch):
        if record.offset >= part.end_offset:
            return
        if record.offset >= part.first_offset:
            yield record


@define
class Asked:
    """A poll as its query writes it; what was not said is None."""

    member_id: str
    messages_max: int | None = None
    wait_ns: int = 0
    visibility_ms: int | None = None


async def poll(call: Call) -> Answer:
    """GET /groups/{group}/poll."""
    asked = _asked(call)
    if asked.visibility_ms is not None:
        return await poll_leased(call, _work_request(call, asked))
    messages_max = asked.messages_max or MESSAGES_DEFAULT
    request = PollGroup(call.group, asked.member_id, messages_max, BATCH_BYTES_MAX, asked.wait_ns)
    reply = await call.ask_reply(request)
    if isinstance(reply, Refusal):
        if reply.code is Code.WRONG_MODE:
            return await poll_leased(call, _work_request(call, asked))
        raise refused(reply)
    assert isinstance(reply, Polled)
    return _answered(call, reply)


def _answered(call: Call, polled: Polled) -> Answer:
    harvest = Harvest()
    for part in polled.parts:
        count, size = len(harvest.messages), harvest.size_bytes
        harvest.take(part)
        if count < len(harvest.messages):
            call.metrics.broker.count_consumed(part.topic, len(harvest.messages) - count, harvest.size_bytes - size)
    view = PolledViews(harvest.messages, polled.rebalance_required)
    if harvest.left_out:
        view.left_out = harvest.left_out
    answered = answer(view)
    # It is a GET, and yet no two are alike.
    answered.headers = (("Cache-Control", "no-store"),)
    return answered


def _work_request(call: Call, asked: Asked) -> PollWork:
    messages_max = asked.messages_max or LEASES_DEFAULT
    return PollWork(call.group, asked.member_id, messages_max, BATCH_BYTES_MAX, asked.wait_ns, asked.visibility_ms or 0)


def _asked(call: Call) -> Asked:
    if call.question.method == "HEAD":
        raise invalid("a poll moves on, and HEAD would lose what it brings", "method")
    if is_link_of_another_site(call.question):
        raise RestError(
            FORBIDDEN, "origin_not_allowed", "a poll moves on, and a link may not do that", "sec-fetch-site"
        )
    query = call.query
    return Asked(
        query["member_id"], query.get("max_messages"), query.get("timeout", 0) * MS_NS, query.get("visibility_timeout")
    )
