"""How a poll of a shared group becomes messages, each with its receipt.

Batches come whole, and of what is in them the messages under a lease are meant, in the order of the leases. What was
leased is in the answer, or named there as left out; what an answer has no room for is handed back to the group.
"""

from bisect import bisect_right
from collections.abc import Iterator

from attrs import define, field

from goqueue.core.errors import BatchError
from goqueue.core.queues.receipts import spelled_receipt
from goqueue.core.records.batch import Header, Lane, read_header, split
from goqueue.core.records.record import Record, iterate
from goqueue.core.records.varint import Readable
from goqueue.core.requests.queues import LeasedBatches, LeaseRun, PolledWork, PollWork, ReceiptRun, ReleaseWork
from goqueue.core.requests.refusals import Code
from goqueue.transports.rest.call import Call, answer
from goqueue.transports.rest.contents import PRIORITIES, Timestamps, message_view
from goqueue.transports.rest.errors import RestError, respelled
from goqueue.transports.rest.exchange import Answer
from goqueue.transports.rest.group_bodies import LeftOutView, PolledView, PolledViews
from goqueue.transports.rest.reading import CONTENT_BYTES_MAX, content_bytes
from goqueue.transports.rest.times import written_time

FIELDS = {"visibility_ms": "visibility_timeout", "messages_max": "max_messages", "wait_ns": "timeout"}


class Opened:
    """The batches of a part by their offsets; one of them at a time is open, and parsed as far as was asked for."""

    def __init__(self, batches: Readable) -> None:
        found = [(read_header(batch), batch) for batch in split(batches)]
        self._batches = sorted(found, key=lambda one: one[0].base_offset)
        self._ends = [header.next_offset for header, _ in self._batches]
        self._header: Header | None = None
        self._parsed: dict[int, Record] = {}
        self._coming: Iterator[Record] = iter(())
        # What is wrong with the batch that is open.
        self.problem = ""

    def record(self, offset: int) -> tuple[Record, Lane] | None:
        """The record at an offset with its lane; none where it cannot be read, and `problem` says why."""
        header = self._header
        if header is None or not header.base_offset <= offset < header.next_offset:
            header = self._turn_to(offset)
        record = self._parsed.get(offset) or self._parse_to(offset)
        return None if record is None or header is None else (record, header.lane)

    def _turn_to(self, offset: int) -> Header | None:
        at = bisect_right(self._ends, offset)
        self._header, self._parsed, self._coming, self.problem = None, {}, iter(()), ""
        if at == len(self._ends) or offset < self._batches[at][0].base_offset:
            return None
        self._header, batch = self._batches[at]
        self._coming = _records(batch)
        return self._header

    def _parse_to(self, offset: int) -> Record | None:
        try:
            for record in self._coming:
                self._parsed[record.offset] = record
                if record.offset >= offset:
                    break
        except BatchError as error:
            # Compressed batches are stored as they came, so that the first reader may find what is wrong with one.
            self.problem = f"the batch is unreadable: {error}"
        return self._parsed.get(offset)


def _records(batch: Readable) -> Iterator[Record]:
    """The records of a batch; nothing of it is looked at, or unpacked, before the first is asked for."""
    yield from iterate(batch)


@define
class Leased:
    """What a poll has brought so far; `handed_back` is what its answer has no room for."""

    messages: list[PolledView] = field(factory=list)
    left_out: list[LeftOutView] = field(factory=list)
    handed_back: list[ReceiptRun] = field(factory=list)
    size_bytes: int = 0
    timestamps: Timestamps = field(factory=Timestamps)

    def take(self, part: LeasedBatches) -> None:
        """Take the messages of a part in their order."""
        opened = Opened(part.batches)
        for run in part.leases:
            until = written_time(run.until_ms) or ""
            for offset in _offsets(run):
                if self.handed_back or not self._take_one(part, opened, run, offset, until):
                    self.handed_back.append(ReceiptRun(run.stem, offset, run.first_offset + run.count - offset))
                    break

    def _take_one(self, part: LeasedBatches, opened: Opened, run: LeaseRun, offset: int, until: str) -> bool:
        """Take a message, or name it as left out; False if there is no room for it."""
        found = opened.record(offset)
        if found is None:
            self._leave_out(part, offset, opened.problem)
            return True
        record, lane = found
        size = content_bytes(record)
        if self.messages and self.size_bytes + size > CONTENT_BYTES_MAX:
            return False
        view = message_view(record, PRIORITIES[lane], self.timestamps.written(record.timestamp))
        self.messages.append(PolledView(
            part.topic, part.partition, offset, view.key, view.value, view.headers, view.timestamp, view.priority,
            view.encoding, view.headers_encoding, run.attempt, spelled_receipt(run.stem, offset), until,
        ))  # fmt: skip
        self.size_bytes += size
        return True

    def _leave_out(self, part: LeasedBatches, offset: int, problem: str) -> None:
        code = Code.CORRUPT_BATCH if problem else Code.OFFSET_OUT_OF_RANGE
        last = self.left_out[-1] if self.left_out else None
        if last and (last.topic, last.partition, last.next_offset, last.code) == (
            part.topic, part.partition, offset, code,
        ):  # fmt: skip
            last.next_offset += 1
            return
        said = problem or "nothing is stored there any more"
        self.left_out.append(LeftOutView(part.topic, part.partition, offset, offset + 1, said, code))


def _offsets(run: LeaseRun) -> Iterator[int]:
    return iter(range(run.first_offset, run.first_offset + run.count))


async def poll_leased(call: Call, request: PollWork) -> Answer:
    """GET /groups/{group}/poll, of a shared group."""
    try:
        polled = await call.ask(request, PolledWork)
    except RestError as error:
        raise respelled(error, FIELDS) from None
    leased = Leased()
    for part in polled.parts:
        count, size = len(leased.messages), leased.size_bytes
        leased.take(part)
        if count < len(leased.messages):
            call.metrics.broker.count_consumed(part.topic, len(leased.messages) - count, leased.size_bytes - size)
    if leased.handed_back:
        # Whether or not that is granted: what is not handed back is somebody else's when its lease ends.
        await call.ask_reply(ReleaseWork(leased.handed_back, request.group))
    view = PolledViews(leased.messages, rebalance_required=False)
    if leased.left_out:
        view.left_out = leased.left_out
    answered = answer(view)
    # It is a GET, and yet no two are alike.
    answered.headers = (("Cache-Control", "no-store"),)
    return answered
