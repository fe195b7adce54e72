"""What a partition asks of a client's batch before it appends it, and the batches that wait for the answer.

The log checks frame, CRC, header and claims of every batch (`Log.append`). Here is what depends on the topic: how far
timestamps may lie from the broker's clock, and whether every record is checked (`validation`).

A record takes most of a microsecond to check, and a batch may have a million of them. So a partition checks
`TURN_RECORDS` of them a turn, and goes on in the next turn; meanwhile the node serves everybody else. A batch that
comes while another is being checked waits behind it, whoever sent it: batches of one partition are appended in the
order in which they came, so that the sequences of a producer stay in order.

Invariant: of the batches that wait only the first has begun to be checked.
"""

from collections import deque
from collections.abc import Sequence

from attrs import define, evolve, field

from goqueue.core.errors import BatchError
from goqueue.core.log.config import UNLIMITED, LogConfig, TimestampAction, Validation
from goqueue.core.partition.publishing import UNTIMELY, Publishing, Times, refusal_of
from goqueue.core.records.batch import Header, Writable, read_header, stamp_time, validate_exact
from goqueue.core.records.claims import check_claims
from goqueue.core.records.compression import DECOMPRESSED_BYTES_MAX
from goqueue.core.records.record import RecordCheck
from goqueue.core.requests.messages import NewRecord
from goqueue.core.requests.refusals import Refusal

TURN_RECORDS = 2_000
# What the records of a batch that is checked here may decompress to, where the topic takes no larger batches: they are
# decompressed in one go, while everybody waits.
INFLATED_BYTES_MAX = 16 << 20


class Unfinished(Exception):
    """The records of a batch are being checked; nothing is wrong with it as far as is known."""


@define(eq=False)
class Incoming:
    """A batch that was published, and how far it is checked."""

    batch: bytearray | memoryview
    publishing: Publishing
    # As it was when the batch came, whatever is set meanwhile.
    validation: Validation
    check: RecordCheck | None = None


@define(eq=False)
class Admission:
    """The batches of one partition that are not appended yet, and how many timestamps were replaced."""

    waiting: deque[Incoming] = field(factory=deque)
    replaced: int = 0
    _records_left: int = TURN_RECORDS

    def renew(self) -> None:
        """A turn begins."""
        self._records_left = TURN_RECORDS

    def abandon(self) -> list[Publishing]:
        """Take out what waits."""
        abandoned = [incoming.publishing for incoming in self.waiting]
        self.waiting.clear()
        return abandoned

    def check_anew(self) -> None:
        """Check the first batch from its first record on, and have all that wait be bytes of their own."""
        for incoming in self.waiting:
            incoming.check = None
            if isinstance(incoming.batch, memoryview):
                incoming.batch = bytearray(incoming.batch)

    def admit(
        self,
        config: LogConfig,
        wall_ms: int,
        batch: Writable,
        incoming: Incoming | None,
        header: Header,
    ) -> Header:
        """The header that a batch may be appended with. Raises BatchError, and Unfinished while records are checked.

        `header` is what the batch says of itself, and may be anything. A batch with a wrong time may get another. No
        record is looked at without an `incoming`.
        """
        is_checked = incoming is not None and incoming.validation is Validation.FULL
        if not is_checked and header.max_timestamp <= wall_ms and config.timestamp_before_ms == UNLIMITED:
            # Nearly every batch is of a time that has been.
            return header
        if incoming is None or incoming.check is None:
            header = validate_exact(batch)
        wrong = Times.of(config, wall_ms).wrong(header.base_timestamp, header.max_timestamp)
        if wrong and config.timestamp_action is TimestampAction.REFUSE:
            raise BatchError(UNTIMELY, wrong)
        if incoming is not None and is_checked and not self._check(config, incoming, header):
            raise Unfinished
        if not wrong:
            return header
        stamp_time(batch, wall_ms)
        self.replaced += header.record_count
        return read_header(batch)

    def sift(
        self, config: LogConfig, wall_ms: int, records: Sequence[NewRecord], places: list[int], untimely: list[int]
    ) -> tuple[Sequence[NewRecord], list[int], dict[int, Refusal]]:
        """Single messages of which some have a wrong time: those to go on with, their places, and who is refused."""
        if config.timestamp_action is TimestampAction.REPLACE:
            self.replaced += len(untimely)
            retimed = [*records]
            for at in untimely:
                retimed[at] = evolve(records[at], timestamp=wall_ms)
            return retimed, places, {}
        times, refused = Times.of(config, wall_ms), dict[int, Refusal]()
        for at in untimely:
            timestamp = records[at].timestamp or 0
            refused[at] = refusal_of(BatchError(UNTIMELY, times.wrong(timestamp, timestamp)))
        return records, [at for at in places if at not in refused], refused

    def _check(self, config: LogConfig, incoming: Incoming, header: Header) -> bool:
        """Go on with the check of a batch; whether that was all of it."""
        if incoming.check is None:
            check_claims(incoming.batch, header)
            bytes_max = min(max(config.batch_bytes_max, INFLATED_BYTES_MAX), DECOMPRESSED_BYTES_MAX)
            incoming.check = RecordCheck(incoming.batch, header, bytes_max)
        count = self._records_left
        if count <= 0:
            return False
        self._records_left -= header.record_count
        return incoming.check.advance(count)
