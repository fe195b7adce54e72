"""What a partition asks of clients' batches: right times, readable records, and that they come in their order."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.log.config import TIME_MS_MAX, UNLIMITED, LogConfig, TimestampAction, Validation
from goqueue.core.log.effects import Append
from goqueue.core.partition.admission import INFLATED_BYTES_MAX, TURN_RECORDS
from goqueue.core.partition.partition import Partition
from goqueue.core.partition.publishing import Publishing
from goqueue.core.partition.recent import RecentBatches
from goqueue.core.records.batch import HEADER_BYTES, Codec, Header, read_header, validate_exact
from goqueue.core.records.build import encode
from goqueue.core.records.record import iterate
from goqueue.core.records.varint import INT64_MAX
from goqueue.core.requests.call import Call, Origin
from goqueue.core.requests.messages import NewRecord, Published
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.fuzz.bytes.readers import before, behind, check_readers
from goqueue.fuzz.bytes.sealing import seal_batch
from goqueue.fuzz.bytes.targets import admission
from tests.core.calls import call, own_call
from tests.core.log.batches import WALL_MS, empty_log
from tests.core.records.samples import entries

HOUR_MS = 3_600_000
FIRST = call(1)


def partition_of(**settings: object) -> Partition:
    """An empty partition under these settings."""
    return Partition("orders", 0, empty_log(LogConfig(**settings)), RecentBatches(0))  # type: ignore[arg-type]


def send(partition: Partition, batch: bytes | bytearray, asked: Call = FIRST) -> Publishing:
    """Publish a batch, with no wait for the disk."""
    publishing = Publishing(asked, [None], 1, awaits=False)
    partition.publish_batch(0, bytearray(batch), publishing)
    return publishing


def gather(partition: Partition, *records: NewRecord, asked: Call = FIRST) -> list[Published | Refusal | None]:
    """Publish single messages; the answers."""
    publishing = Publishing(asked, [None] * len(records), len(records), awaits=False)
    partition.gather(0, WALL_MS, publishing, records, list(range(len(records))))
    return publishing.results


def taken(partition: Partition) -> list[bytes]:
    """The batches that were appended since the last call."""
    return [bytes(run) for effect in partition.take(0) if isinstance(effect, Append) for run in effect.buffers]


def at(timestamp: int, count: int = 1) -> bytes:
    """A batch whose records are of one time."""
    return bytes(encode([(timestamp, b"k", b"v", ())] * count))


def spoilt(count: int = 1) -> bytes:
    """A batch with a right CRC whose last record cannot be read."""
    batch = at(WALL_MS, count)
    return seal_batch(batch[:-1] + b"\x7f")


def code(publishing: Publishing) -> Code | None:
    """Why a batch was refused; None when it was taken."""
    [answer] = publishing.results
    return answer.code if isinstance(answer, Refusal) else None


# --- times


@pytest.mark.parametrize(
    ("timestamp", "is_taken"),
    [
        (WALL_MS, True), (-1, True), (0, True), (WALL_MS + HOUR_MS, True), (WALL_MS + HOUR_MS + 1, False),
        (TIME_MS_MAX, False), (INT64_MAX, False),
    ],
)  # fmt: skip
def test_a_time_too_far_ahead_is_refused(timestamp: int, is_taken: bool) -> None:
    partition = partition_of()
    assert code(send(partition, at(timestamp))) is (None if is_taken else Code.INVALID_TIMESTAMP)
    [single, other] = gather(partition, NewRecord(None, b"v", timestamp=timestamp), NewRecord(None, b"w"))
    assert isinstance(single, Published) == is_taken
    assert isinstance(other, Published), "the others of a publish have done nothing wrong"
    batches = taken(partition)
    assert sum(read_header(batch).record_count for batch in batches) == (3 if is_taken else 1)


def test_the_sentence_says_what_is_wrong() -> None:
    [answer] = send(partition_of(), at(INT64_MAX)).results
    assert isinstance(answer, Refusal)
    assert str(INT64_MAX) in answer.message
    assert answer.field == "timestamp"


def test_a_time_too_far_in_the_past_is_refused_where_that_is_set() -> None:
    partition = partition_of(timestamp_before_ms=1000)
    assert code(send(partition, at(WALL_MS - 1000))) is None
    assert code(send(partition, at(WALL_MS - 1001))) is Code.INVALID_TIMESTAMP
    assert code(send(partition, at(-1))) is None
    assert code(send(partition_of(), at(5))) is None


def test_without_a_bound_any_time_is_taken_that_has_a_date() -> None:
    partition = partition_of(timestamp_after_ms=UNLIMITED)
    assert code(send(partition, at(TIME_MS_MAX))) is None
    assert code(send(partition, at(TIME_MS_MAX + 1))) is Code.INVALID_TIMESTAMP


def test_a_wrong_time_is_replaced_where_that_is_set() -> None:
    partition = partition_of(timestamp_action=TimestampAction.REPLACE, validation=Validation.FULL)
    publishing = send(partition, at(INT64_MAX, 3))
    [answer] = publishing.results
    assert isinstance(answer, Published)
    assert answer.timestamp == WALL_MS
    [batch] = taken(partition)
    header = validate_exact(batch)
    assert header.is_append_time
    assert [record.timestamp for record in iterate(batch)] == [WALL_MS] * 3
    gather(partition, NewRecord(None, b"v", timestamp=INT64_MAX), NewRecord(None, b"w", timestamp=5))
    [batch] = taken(partition)
    assert [record.timestamp for record in iterate(batch)] == [WALL_MS, 5]
    assert partition.admission.replaced == 4


def test_a_wrong_time_in_bytes_that_changed_on_their_way_is_not_judged() -> None:
    broken = bytearray(at(INT64_MAX))
    broken[-1] ^= 1
    for action in TimestampAction:
        partition = partition_of(timestamp_action=action)
        assert code(send(partition, broken)) is Code.CORRUPT_BATCH
        assert partition.admission.replaced == 0


def test_the_broker_itself_may_write_any_time() -> None:
    partition = partition_of()
    assert code(send(partition, at(INT64_MAX), asked=own_call(5))) is None
    assert code(send(partition, at(INT64_MAX), asked=Call(1, origin=Origin.NODE, is_own=True))) is None


# --- records


@pytest.mark.parametrize(("validation", "is_taken"), [(Validation.HEADERS, True), (Validation.FULL, False)])
def test_every_record_is_looked_at_where_that_is_set(validation: Validation, is_taken: bool) -> None:
    partition = partition_of(validation=validation)
    assert code(send(partition, spoilt())) is (None if is_taken else Code.CORRUPT_BATCH)
    assert code(send(partition, at(WALL_MS))) is None


@pytest.mark.parametrize("validation", Validation)
def test_claims_are_looked_at_everywhere(validation: Validation) -> None:
    partition = partition_of(validation=validation)
    header = read_header(at(WALL_MS))._replace(last_offset_delta=(1 << 31) - 2, record_count=(1 << 31) - 1)
    forged = seal_batch(bytes(encode([(WALL_MS, None, None, ())])[:23]) + _packed(header))
    assert code(send(partition, forged)) is Code.CORRUPT_BATCH
    assert partition.log.next_offset == 0


def _packed(header: Header) -> bytes:
    _, _, _, _, _, _, delta, base, latest, producer, epoch, sequence, count = header
    sizes = ((delta, 4), (base, 8), (latest, 8), (producer, 8), (epoch, 2), (sequence, 4), (count, 4))
    return b"".join(value.to_bytes(size, "big", signed=True) for value, size in sizes)


def test_what_is_checked_may_not_decompress_to_more_than_a_turn_can_bear() -> None:
    large = bytes(encode([(WALL_MS, None, bytes(INFLATED_BYTES_MAX), ())], codec=Codec.ZSTD))
    assert code(send(partition_of(validation=Validation.FULL), large)) is Code.TOO_LARGE
    assert code(send(partition_of(validation=Validation.FULL, batch_bytes_max=32 << 20), large)) is None
    assert code(send(partition_of(), large)) is None


def test_a_large_batch_is_checked_over_several_turns_and_others_wait_behind_it() -> None:
    partition = partition_of(validation=Validation.FULL)
    large = bytes(encode([(WALL_MS, None, b"v", ())] * (2 * TURN_RECORDS + 1), producer_id=7, producer_epoch=0,
                         base_sequence=0))  # fmt: skip
    small = bytes(encode([(WALL_MS, None, b"w", ())], producer_id=7, producer_epoch=0,
                         base_sequence=2 * TURN_RECORDS + 1))  # fmt: skip
    publishings = [send(partition, large), send(partition, small), send(partition, spoilt())]
    for turn in range(2):
        assert [one.results for one in publishings] == [[None]] * 3, turn
        assert taken(partition) == []
        partition.go_on(0)
    assert [code(one) for one in publishings] == [None, None, None]
    assert [one.missing for one in publishings] == [0, 1, 1]
    partition.go_on(0)
    assert [code(one) for one in publishings] == [None, None, Code.CORRUPT_BATCH]
    assert [read_header(batch).record_count for batch in taken(partition)] == [2 * TURN_RECORDS + 1, 1]


def test_whoever_waits_for_a_check_is_told_when_the_partition_is_led_elsewhere() -> None:
    partition = partition_of(validation=Validation.FULL)
    publishings = [send(partition, at(WALL_MS, TURN_RECORDS + 1)), send(partition, at(WALL_MS))]
    done = partition.abandon(Refusal(Code.NOT_LEADER, "it is led elsewhere"))
    assert [one.call for one in done] == [FIRST, FIRST]
    assert [code(one) for one in publishings] == [Code.NOT_LEADER] * 2
    partition.go_on(0)
    assert partition.log.next_offset == 0


def test_a_check_that_begins_again_comes_to_the_same() -> None:
    partition = partition_of(validation=Validation.FULL)
    publishing = Publishing(call(1), [None], 1, awaits=False)
    partition.publish_batch(0, memoryview(bytearray(at(WALL_MS, 2 * TURN_RECORDS))), publishing)
    partition.admission.check_anew()
    for _ in range(2):
        assert publishing.results == [None]
        partition.go_on(0)
    assert code(publishing) is None
    assert [read_header(batch).record_count for batch in taken(partition)] == [2 * TURN_RECORDS]


def test_a_batch_is_checked_as_the_topic_was_when_it_came() -> None:
    partition = partition_of(validation=Validation.FULL)
    publishing = send(partition, spoilt(TURN_RECORDS + 1))
    partition.log.configure(LogConfig())
    partition.go_on(0)
    assert code(publishing) is Code.CORRUPT_BATCH


# --- one change in a batch that is right


@given(st.lists(entries, min_size=1, max_size=4), st.sampled_from(Codec), st.data())
def test_a_batch_with_one_change_is_refused_or_harms_nobody(
    listed: list[Any], codec: Codec, data: st.DataObject
) -> None:
    listed = [(min(timestamp, WALL_MS), key, value, headers) for timestamp, key, value, headers in listed]
    batch = bytes(encode(listed, codec=codec))
    changed = bytearray(batch)
    place = data.draw(st.integers(HEADER_BYTES - 40, len(batch) - 1), "place")
    changed[place] ^= data.draw(st.integers(1, 255), "change")
    admission.check(seal_batch(bytes(changed)))


@given(st.lists(entries, min_size=1, max_size=4), st.sampled_from(Codec), st.sampled_from(Validation))
def test_a_batch_that_is_right_is_taken_and_read_by_everybody(
    listed: list[Any], codec: Codec, validation: Validation
) -> None:
    partition = partition_of(validation=validation)
    listed = [(min(timestamp, WALL_MS), key, value, headers) for timestamp, key, value, headers in listed]
    for batch in (before(), encode(listed, codec=codec), behind()):
        assert code(send(partition, batch)) is None
    check_readers(b"".join(taken(partition)), must_be_readable=True)
