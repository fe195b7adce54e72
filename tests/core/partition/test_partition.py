"""A partition: what becomes one batch, when it is acknowledged, what readers see, and what a failed disk leaves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.log.config import Fsync, LogConfig
from goqueue.core.log.effects import Append, Effect, Read, Sync, SyncToken
from goqueue.core.log.log import Log
from goqueue.core.partition.partition import Partition
from goqueue.core.partition.publishing import Publishing
from goqueue.core.partition.recent import RecentBatches
from goqueue.core.records.batch import HEADER_BYTES, Lane, read_header
from goqueue.core.records.build import encode
from goqueue.core.records.headers import EXPIRES
from goqueue.core.records.record import iterate
from goqueue.core.requests.messages import Fetch, NewRecord, Published
from goqueue.core.requests.refusals import Code, Refusal
from tests.core.calls import call
from tests.core.driven_node import stored, token_of, values
from tests.core.log.batches import FIRST, STREAM, WALL_MS, beginning, empty_log, settings_of


def partition_of(fsync: Fsync = Fsync.EVERY, batch_bytes_max: int = 1 << 20) -> Partition:
    """An empty partition 0 of a topic called orders."""
    log = empty_log(settings_of(fsync=fsync, batch_bytes_max=batch_bytes_max))
    return Partition("orders", 0, log, RecentBatches(0))


def publish(partition: Partition, *records: NewRecord, to: int = 1) -> Publishing:
    """Let some messages be gathered."""
    publishing = Publishing(call(to), [None] * len(records), len(records))
    if records:
        partition.gather(0, WALL_MS, publishing, records, list(range(len(records))))
    return publishing


def message(value: bytes = b"v", lane: Lane = Lane.NORMAL) -> NewRecord:
    """A message that differs in little."""
    return NewRecord(None, value, lane=lane)


def confirm(partition: Partition, effects: list[Effect]) -> None:
    """Let what was taken be written and synced."""
    partition.written()
    if effects:
        partition.synced(0, token_of(effects))


def finished(partition: Partition) -> list[Publishing]:
    """The publishes that are complete since this was last asked."""
    done, partition.done = partition.done, []
    return done


def code_of(result: object) -> Code:
    """Why something was refused."""
    assert isinstance(result, Refusal)
    return result.code


def test_single_messages_of_a_turn_become_one_batch_one_write_and_one_sync() -> None:
    partition = partition_of()
    publishings = [publish(partition, message(b"%d" % to), to=to) for to in range(100)]
    batch = stored(0, *[(WALL_MS, None, b"%d" % to, ()) for to in range(100)])
    token = SyncToken(0, 100, FIRST, len(batch))
    assert partition.take(0) == [Append(STREAM, FIRST, 0, [batch]), Sync(STREAM, token)]
    partition.written()
    assert finished(partition) == []
    partition.synced(0, token)
    assert finished(partition) == publishings
    assert [one.results for one in publishings] == [[Published(0, offset, WALL_MS)] for offset in range(100)]


def test_messages_of_different_lanes_become_different_batches() -> None:
    partition = partition_of()
    publishing = publish(partition, message(b"a"), message(b"b", Lane.CRITICAL), message(b"c"))
    effects = partition.take(0)
    assert values(effects) == [[b"a", b"c"], [b"b"]]
    confirm(partition, effects)
    assert publishing.results == [Published(0, 0, WALL_MS), Published(0, 2, WALL_MS), Published(0, 1, WALL_MS)]


def test_a_message_with_a_time_to_live_says_until_when_and_so_does_its_batch() -> None:
    partition = partition_of()
    aged = NewRecord(None, b"v", (("a", b"b"),), timestamp=WALL_MS + 5, ttl_ms=100)
    publish(partition, NewRecord(None, b"v", ttl_ms=7), aged, message())
    [append, *_] = partition.take(0)
    assert isinstance(append, Append)
    [batch] = append.buffers
    assert read_header(batch).is_expiring
    headers = [record.headers for record in iterate(batch)]
    assert headers == [((EXPIRES, b"%d" % (WALL_MS + 7)),), (("a", b"b"), (EXPIRES, b"%d" % (WALL_MS + 105))), ()]


def test_a_batch_follows_the_messages_that_came_before_it() -> None:
    partition = partition_of()
    publish(partition, message(b"a"))
    batched = Publishing(call(2), [None], 1)
    partition.publish_batch(0, encode([(5, None, b"b", ()), (6, None, b"c", ())]), batched)
    publish(partition, message(b"d"))
    effects = partition.take(0)
    assert values(effects) == [[b"a"], [b"b", b"c"], [b"d"]]
    confirm(partition, effects)
    assert batched.results == [Published(0, 1, 6)]


@pytest.mark.parametrize("fsync", [Fsync.INTERVAL, Fsync.NONE])
def test_without_a_sync_to_wait_for_what_is_written_is_acknowledged(fsync: Fsync) -> None:
    partition = partition_of(fsync)
    publishing = publish(partition, message())
    partition.written()
    assert partition.high_watermark == 0, "nothing was taken yet"
    partition.take(0)
    assert (finished(partition), partition.high_watermark) == ([], 0)
    partition.written()
    assert (finished(partition), partition.high_watermark) == ([publishing], 1)


def test_a_sync_of_earlier_batches_does_not_acknowledge_what_is_still_in_memory() -> None:
    partition = partition_of(Fsync.INTERVAL)
    publish(partition, message())
    effects = partition.take(0)
    partition.written()
    assert effects == [Append(STREAM, FIRST, 0, [stored(0, (WALL_MS, None, b"v", ()))])]
    later = Publishing(call(2), [None], 1)
    partition.publish_batch(0, encode([(5, None, b"w", ())]), later)
    partition.synced(0, SyncToken(0, 1, FIRST, 0))
    assert (partition.high_watermark, later.missing) == (1, 1)


def test_one_sync_acknowledges_what_it_covers_and_no_more() -> None:
    partition = partition_of()
    first, second = publish(partition, message(), to=1), None
    token = token_of(partition.take(0))
    second = publish(partition, message(), to=2)
    partition.take(0)
    partition.written()
    partition.synced(0, token)
    assert (finished(partition), partition.high_watermark) == ([first], 1)
    assert second.missing == 1


def test_messages_beyond_the_largest_batch_go_to_the_next_one() -> None:
    partition = partition_of(batch_bytes_max=1_000)
    publishing = publish(partition, *[message(bytes(200)) for _ in range(7)])
    effects = partition.take(0)
    assert [len(batch) for batch in values(effects)] == [4, 3]
    confirm(partition, effects)
    assert publishing.missing == 0


@given(
    st.lists(
        st.builds(
            NewRecord,
            key=st.none() | st.binary(max_size=300),
            value=st.none() | st.binary(max_size=1_200),
            headers=st.lists(st.tuples(st.text(max_size=20), st.none() | st.binary(max_size=300)), max_size=3).map(
                tuple
            ),
        ),
        max_size=12,
    )
)
def test_only_a_message_that_is_too_large_itself_is_refused(records: list[NewRecord]) -> None:
    """What is gathered with others is never refused for their sake."""
    limit = 2_000
    partition = partition_of(batch_bytes_max=limit)
    publishing = publish(partition, *records)
    effects = partition.take(0)
    confirm(partition, effects)
    for record, result in zip(records, publishing.results, strict=True):
        alone = len(encode([(WALL_MS, record.key, record.value, record.headers)]))
        assert isinstance(result, Published) if alone <= limit else code_of(result) is Code.TOO_LARGE


def test_a_message_that_cannot_be_encoded_is_refused_and_the_others_are_not() -> None:
    partition = partition_of()
    publishing = publish(partition, message(b"a"), NewRecord(None, b"b", timestamp=-5), message(b"c"))
    effects = partition.take(0)
    assert values(effects) == [[b"a", b"c"]]
    confirm(partition, effects)
    assert code_of(publishing.results[1]) is Code.CORRUPT_BATCH
    assert (publishing.results[0], publishing.results[2]) == (Published(0, 0, WALL_MS), Published(0, 1, WALL_MS))


def spoiled(position: int) -> bytearray:
    """A batch with one byte changed."""
    batch = encode([(5, None, b"value", ())])
    batch[position] ^= 0x55
    return batch


@pytest.mark.parametrize(
    ("batch", "code"),
    [
        (bytearray(), Code.CORRUPT_BATCH),
        (bytearray(HEADER_BYTES - 1), Code.CORRUPT_BATCH),
        (bytearray(HEADER_BYTES), Code.CORRUPT_BATCH),
        (spoiled(16), Code.CORRUPT_BATCH),
        (spoiled(HEADER_BYTES + 3), Code.CORRUPT_BATCH),
        (encode([(5, None, b"v", ())]) + b"x", Code.CORRUPT_BATCH),
        (encode([(5, None, bytes(2_000), ())]), Code.TOO_LARGE),
        (encode([(5, None, b"v", ())], producer_id=5, producer_epoch=0, base_sequence=1), Code.OUT_OF_ORDER),
        (encode([(5, None, b"v", ())], producer_id=5, producer_epoch=0), Code.INVALID),
        (encode([(5, None, b"v", ())], producer_id=5, base_sequence=0), Code.INVALID),
        (encode([(5, None, b"v", ())], control=True), Code.INVALID),
        (encode([(5, None, b"v", ())], append_ms=6), Code.INVALID),
        (encode([(5, None, b"v", ())], transactional=True), Code.INVALID),
    ],
)
def test_a_batch_that_is_none_is_refused_and_leaves_nothing(batch: bytearray, code: Code) -> None:
    partition = partition_of(batch_bytes_max=1_000)
    publishing = Publishing(call(1), [None], 1)
    partition.publish_batch(0, batch, publishing)
    assert finished(partition) == [publishing]
    assert code_of(publishing.results[0]) is code
    assert partition.take(0) == []


def test_a_failed_disk_refuses_all_that_wait_once_and_all_that_come() -> None:
    partition = partition_of()
    early, late = publish(partition, message(), to=1), None
    token = token_of(partition.take(0))
    late = publish(partition, message(), to=2)
    partition.disk_failed(0, "EIO")
    assert finished(partition) == [early]
    assert partition.take(0) == []
    assert finished(partition) == [late]
    partition.synced(0, token)
    partition.written()
    assert (finished(partition), partition.high_watermark) == ([], 0)
    assert [code_of(one.results[0]) for one in (early, late)] == [Code.OUTCOME_UNKNOWN, Code.UNAVAILABLE]
    partition.check()


def test_what_recovery_found_is_where_it_goes_on() -> None:
    partition = partition_of()
    publish(partition, message(), message())
    partition.take(0)
    partition.disk_failed(0, "EIO")
    partition.reopened(0, beginning(partition.log.config, 1))
    assert partition.high_watermark == 1
    publishing = publish(partition, message())
    effects = partition.take(0)
    confirm(partition, effects)
    assert publishing.results == [Published(0, 1, WALL_MS)]


def test_publishes_that_wait_for_a_partition_that_goes_are_answered_once() -> None:
    partition = partition_of()
    taken = publish(partition, message(), to=1)
    partition.take(0)
    gathered = publish(partition, message(), to=2)
    refusal = Refusal(Code.TOPIC_NOT_FOUND, "gone")
    assert partition.abandon(refusal) == [gathered, taken]
    assert partition.abandon(refusal) == []
    assert taken.results == gathered.results == [refusal]


def test_readers_see_what_is_acknowledged_and_nothing_else() -> None:
    partition = partition_of()
    publish(partition, message(b"a"))
    effects = partition.take(0)
    partition.written()
    assert partition.read(Fetch("orders", 0, 0, 100)) is None
    confirm(partition, effects)
    first_bytes = token_of(effects).position
    publish(partition, message(b"b"))
    end = token_of(partition.take(0)).position
    assert partition.read(Fetch("orders", 0, 0, 100)) == Read(STREAM, FIRST, 0, 0, end, 2, 1, 100)
    assert first_bytes < end
    assert partition.read(Fetch("orders", 0, 1, 100)) is None
    assert partition.read(Fetch("orders", 0, 2, 100)) is None


@pytest.mark.parametrize("offset", [-1, 1])
def test_an_offset_that_is_not_there_is_refused(offset: int) -> None:
    refusal = partition_of().read(Fetch("orders", 0, offset, 100))
    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.field) == (Code.OFFSET_OUT_OF_RANGE, "offset")


def test_closing_writes_what_was_gathered_before_it_gives_room_back() -> None:
    partition = partition_of()
    publishing = publish(partition, message(b"a"))
    partition.close(0)
    effects: list[Effect] = partition.take(0)
    assert [type(effect).__name__ for effect in effects] == ["Append", "Trim", "Commit", "Sync"]
    partition.written()
    confirm(partition, effects)
    assert publishing.results == [Published(0, 0, WALL_MS)]
    late = publish(partition, message(b"b"))
    assert partition.take(0) == []
    assert code_of(late.results[0]) is Code.UNAVAILABLE


def test_the_batch_is_stamped_in_place() -> None:
    log = Log(STREAM, LogConfig(), empty_log().clock, beginning(LogConfig(), 7))
    partition = Partition("orders", 0, log, RecentBatches(0))
    batch = encode([(5, None, b"v", ())])
    partition.publish_batch(0, batch, Publishing(call(1), [None], 1))
    [append, _] = partition.take(0)
    assert isinstance(append, Append)
    assert append.buffers[0] is batch
    assert read_header(batch).base_offset == 7
