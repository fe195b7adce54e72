"""What a client publishes as a batch: it is refused, or nobody who opens it is harmed.

Invariants, for any bytes that come as a batch:
- a partition answers each publish once, with a place or with a sentence, and takes the sound batch that comes next;
- what is refused leaves the log as it was; what is taken claims no more offsets than its bytes could hold;
- where every record is checked, whatever is taken can be read by everybody (`readers.py`);
- where only headers are, everybody who reads goes on behind it;
- a check that pauses and a check in one go refuse the same.
"""

from goqueue.core.clock import Clock
from goqueue.core.errors import BatchError
from goqueue.core.log.config import LogConfig, TimestampAction, Validation
from goqueue.core.log.effects import Append
from goqueue.core.log.log import Log, LogState
from goqueue.core.log.segment import NO_TIMESTAMP, Segment
from goqueue.core.log.tail import SegmentTail
from goqueue.core.partition.partition import Partition
from goqueue.core.partition.publishing import Publishing
from goqueue.core.partition.recent import RecentBatches
from goqueue.core.records.batch import Header, validate_exact
from goqueue.core.records.claims import RECORD_BYTES_MIN, RECORDS_MAX, check_claims
from goqueue.core.records.compression import DECOMPRESSED_BYTES_MAX
from goqueue.core.records.record import RecordCheck, validate_records
from goqueue.core.requests.call import Call
from goqueue.core.requests.messages import Published
from goqueue.core.requests.refusals import Refusal
from goqueue.fuzz.bytes.batch_edits import change_batch, smaller_batch
from goqueue.fuzz.bytes.readers import STREAM, before, behind, check_readers
from goqueue.fuzz.bytes.seeds import NOW_MS, batches
from goqueue.fuzz.bytes.target import Target, attempt


def check(content: bytes) -> None:
    """All invariants, for `content` as a batch."""
    _check_claims(content)
    for validation in Validation:
        for action in TimestampAction:
            _publish(content, validation, action)


def _check_claims(content: bytes) -> None:
    """The claims are refused only of what could not be read, or is too much; and a check may pause anywhere."""
    header = attempt(BatchError, lambda: validate_exact(content))
    if isinstance(header, BatchError):
        return
    refused = attempt(BatchError, lambda: check_claims(content, header))
    whole = attempt(BatchError, lambda: validate_records(content, decompress=True))
    if isinstance(refused, BatchError):
        is_strange = refused.reason == "producer" or header.record_count > RECORDS_MAX
        assert isinstance(whole, BatchError) or is_strange, f"refused, and can be read: {refused}"
        return
    assert header.record_count * RECORD_BYTES_MIN <= DECOMPRESSED_BYTES_MAX
    paused = attempt(BatchError, lambda: _check_by_threes(content, header))
    assert isinstance(paused, BatchError) == isinstance(whole, BatchError)


def _check_by_threes(content: bytes, header: Header) -> None:
    check_of = RecordCheck(content, header)
    while not check_of.advance(3):
        pass


def _publish(content: bytes, validation: Validation, action: TimestampAction) -> None:
    config = LogConfig(validation=validation, timestamp_action=action)
    state = LogState([], SegmentTail(Segment(0, 0, 0, 0, NO_TIMESTAMP, NOW_MS), 4096))
    partition = Partition("orders", 0, Log(STREAM, config, Clock(0, NOW_MS), state), RecentBatches(0))
    answers = [_publish_one(partition, bytearray(each)) for each in (before(), content, behind())]
    runs = [bytes(buffer) for effect in partition.take(0) if isinstance(effect, Append) for buffer in effect.buffers]
    assert answers[0] is None
    assert answers[2] is None
    if answers[1] is not None:
        assert len(runs) == 2
        assert str(answers[1].message)
        return
    assert len(runs) == 3
    check_readers(b"".join(runs), must_be_readable=validation is Validation.FULL)


def _publish_one(partition: Partition, batch: bytearray) -> Refusal | None:
    """Why a batch is refused; None when it was appended."""
    end = partition.log.next_offset
    publishing = Publishing(Call(1), [None], 1, awaits=False)
    partition.publish_batch(0, batch, publishing)
    while partition.admission.waiting:
        partition.go_on(0)
    [answer] = publishing.results
    if isinstance(answer, Refusal):
        assert partition.log.next_offset == end
        return answer
    assert isinstance(answer, Published)
    assert partition.log.next_offset > end
    return None


TARGET = Target("admission", check, batches, change_batch, smaller_batch)
