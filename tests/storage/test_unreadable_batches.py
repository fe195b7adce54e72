"""A batch that nobody can read, on a disk since before anybody looked: it harms nobody but its sender."""

from typing import Any

import pytest

from goqueue.core.deadletters.letters import UNREADABLE
from goqueue.core.errors import BatchError
from goqueue.core.log import log as log_module
from goqueue.core.log.config import Cleanup, LogConfig
from goqueue.core.records.batch import Codec, read_header, split
from goqueue.core.records.build import encode
from goqueue.core.records.record import iterate
from goqueue.core.records.varint import INT64_MAX
from goqueue.core.requests.groups import FetchOffsets, GroupOffset
from goqueue.core.requests.messages import Acks, Fetch, Fetched, FindOffset, FoundOffset, PublishBatch, PublishReply
from goqueue.core.requests.queues import LeasedBatches
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.topics import AlterTopic
from goqueue.fuzz.bytes.sealing import seal_batch
from goqueue.storage.disk import Disk
from goqueue.storage.open_log import OpenLog
from goqueue.storage.simulated import SimulatedDisk
from tests.storage.dead_letters import browse, counts, redrive
from tests.storage.driven_broker import WALL_MS, DrivenBroker
from tests.storage.logbook import NOW_MS, opened
from tests.storage.worked_broker import ack, begun, join, nack, poll, publish, receipts


def spoilt(count: int, codec: Codec = Codec.NONE) -> bytearray:
    """A batch with a right CRC whose last record cannot be read, and which is no larger than it claims."""
    batch = bytes(encode([(WALL_MS, b"k", b"value of a record", ())] * count, codec=codec))
    # At the end of gzip stands the size of its content, which is looked at everywhere.
    end = len(batch) - 4 * (codec is Codec.GZIP)
    return bytearray(seal_batch(batch[: end - 4] + b"\x7f\x7f\x7f\x7f" + batch[end:]))


def lying(count: int) -> bytearray:
    """A batch of one record that claims any number of them."""
    batch = bytearray(encode([(WALL_MS, b"k", b"v", ())]))
    batch[23:27] = (count - 1).to_bytes(4, "big")
    batch[57:61] = count.to_bytes(4, "big")
    return bytearray(seal_batch(bytes(batch)))


def send(broker: DrivenBroker, batch: bytearray, topic: str = "orders") -> Code | None:
    """Publish a batch; why it is refused."""
    reply = broker.answer(PublishBatch(topic, 0, batch, Acks.ALL))
    assert isinstance(reply, PublishReply), reply
    [result] = reply.results
    return result.code if isinstance(result, Refusal) else None


def leased(parts: list[LeasedBatches]) -> list[int]:
    """The offsets of what was given, whether or not it can be read."""
    return [
        offset
        for part in parts
        for lease in part.leases
        for offset in range(lease.first_offset, lease.first_offset + lease.count)
    ]


def with_spoilt(batch: bytearray, **config: object) -> DrivenBroker:
    """A broker with two messages, a batch, and two messages behind it."""
    broker = begun(SimulatedDisk())
    broker.create("orders", **config)
    publish(broker, 2)
    assert send(broker, batch) is None
    publish(broker, 2, 2)
    return broker


WAYS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"message_ttl": "1h"}, {}),
    ({}, {"key_ordered": True}),
]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.ZSTD])
@pytest.mark.parametrize(("config", "joined"), WAYS)
def test_messages_that_cannot_be_read_become_dead_letters_that_say_so(
    config: dict[str, Any], joined: dict[str, Any], codec: Codec
) -> None:
    broker = with_spoilt(spoilt(3, codec), max_attempts=2, retry_backoff="1s", **config)
    member = join(broker, **joined)
    done: list[int] = []
    for _ in range(12):
        given = poll(broker, member)
        for offset in leased(given):
            done.append(offset)
            runs = receipts(given, offset)
            assert (nack(broker, runs) if offset in (2, 3, 4) else ack(broker, runs)).done == 1
        broker.later(2)
    assert sorted(done) == [0, 1, 2, 2, 3, 3, 4, 4, 5, 6]
    letters = browse(broker)
    assert [(one.source_offset, one.key, one.value, one.reason) for one in letters] == [
        (offset, None, None, "max_attempts") for offset in (2, 3, 4)
    ]
    assert all(dict(one.headers)[UNREADABLE] for one in letters)
    assert broker.answer(FetchOffsets("billing")) == [GroupOffset("orders", 0, 7, 0)]


@pytest.mark.parametrize(("config", "joined"), WAYS)
def test_a_batch_that_claims_what_it_cannot_hold_is_passed_in_one_step(
    config: dict[str, Any], joined: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        # As it is on disks that were written before claims were looked at.
        patched.setattr(log_module, "check_claims", lambda *_: None)
        broker = with_spoilt(lying((1 << 31) - 1 - 1000), **config)
    given = []
    member = join(broker, **joined)
    for _ in range(5):
        parts = poll(broker, member)
        given += leased(parts)
        if parts:
            ack(broker, receipts(parts))
    end = 2 + (1 << 31) - 1 - 1000
    assert given == [0, 1, end, end + 1]


def test_once_a_shared_group_reads_a_topic_every_record_is_looked_at() -> None:
    broker = begun(SimulatedDisk())
    broker.create("orders")
    assert send(broker, spoilt(1)) is None
    assert leased(poll(broker, join(broker))) == [0]
    assert send(broker, spoilt(1)) is Code.CORRUPT_BATCH
    assert send(broker, encode([(WALL_MS, None, b"v", ())])) is None


@pytest.mark.parametrize("setting", [{"cleanup": "compact"}, {"validation": "full"}])
def test_where_a_topic_asks_for_it_every_record_is_looked_at(setting: dict[str, str]) -> None:
    broker = begun(SimulatedDisk())
    broker.create("orders", **setting)
    assert send(broker, spoilt(1)) is Code.CORRUPT_BATCH


def test_a_redrive_passes_over_letters_that_nobody_can_read() -> None:
    broker = begun(SimulatedDisk())
    broker.create("orders", max_attempts=1)
    publish(broker, 1)
    member = join(broker)
    nack(broker, receipts(poll(broker, member)))
    broker.settle()
    # Anybody may write into a topic of dead letters.
    assert send(broker, spoilt(2), "orders.dlq") is None
    publish(broker, 1)
    nack(broker, receipts(poll(broker, member)))
    broker.settle()
    assert len(browse(broker)) == 2
    assert redrive(broker).moved == 2
    assert counts(broker)["orders.dlq"] <= 2


# --- logs


def appended(disk: Disk, *batches: bytes, **settings: object) -> OpenLog:
    """A log with these batches, a segment each."""
    log = opened(disk, **settings)
    for batch in batches:
        log.append(bytearray(batch))
        log.log.roll(0)
        log.flush()
    return log


def keyed(value: bytes, key: bytes = b"k", timestamp: int = NOW_MS) -> bytes:
    """A batch of one record."""
    return bytes(encode([(timestamp, key, value, ())]))


def values(log: OpenLog) -> list[bytes | None]:
    """The values of all batches; None for one that cannot be read."""
    found: list[bytes | None] = []
    for run in log.batches(log.log.start_offset):
        for batch in split(run):
            try:
                found += [bytes(record.value or b"") for record in iterate(batch)]
            except BatchError:
                found.append(None)
    return found


def test_compaction_keeps_what_it_cannot_read_and_goes_on() -> None:
    log = appended(
        SimulatedDisk(), keyed(b"old"), bytes(spoilt(1)), keyed(b"new"), keyed(b"other", b"l"),
        cleanup=Cleanup.COMPACT, dirty_ratio=0.0, segment_bytes=1 << 20,
    )  # fmt: skip
    assert log.compact()
    assert values(log) == [None, b"new", b"other"]
    for value in (b"newer", b"newest"):
        log.append(bytearray(keyed(value)))
        log.log.roll(0)
        log.flush()
    assert log.compact()
    assert values(log) == [None, b"other", b"newest"]
    log.close()


def test_an_absurd_time_does_not_keep_a_segment_from_compaction() -> None:
    log = appended(
        SimulatedDisk(), keyed(b"old", timestamp=INT64_MAX), keyed(b"new"), cleanup=Cleanup.COMPACT, dirty_ratio=0.0
    )
    assert log.compact()
    assert values(log) == [b"new"]
    log.append(bytearray(keyed(b"newest", timestamp=INT64_MAX)))
    log.log.roll(0)
    log.flush()
    assert log.compact()
    assert values(log) == [b"newest"]
    log.close()


def test_a_time_is_found_behind_absurd_ones_and_what_cannot_be_read() -> None:
    log = appended(
        SimulatedDisk(), keyed(b"absurd", timestamp=INT64_MAX), bytes(spoilt(1)), keyed(b"late", timestamp=NOW_MS + 50)
    )
    found = log.find_time(NOW_MS + 10)
    assert found is not None
    assert (found.offset, found.timestamp) == (2, NOW_MS + 50)
    log.close()


def test_a_broker_finds_times_behind_absurd_ones() -> None:
    broker = begun(SimulatedDisk())
    broker.create("orders", message_timestamp_after_max=-1)
    assert send(broker, encode([(WALL_MS + 10 * 3_600_000, None, b"ahead", ())])) is None
    publish(broker, 1)
    found = broker.answer(FindOffset("orders", 0, WALL_MS))
    assert isinstance(found, FoundOffset)
    assert found.offset == 0
    assert not isinstance(broker.answer(AlterTopic("orders", {"message_timestamp_after_max": "1h"})), Refusal)
    found = broker.answer(FindOffset("orders", 0, WALL_MS))
    assert isinstance(found, FoundOffset)
    assert found.offset == 1


def test_whole_batches_are_served_as_they_are() -> None:
    batch = spoilt(2)
    broker = with_spoilt(batch)
    reply = broker.answer(Fetch("orders", 0, 0))
    assert isinstance(reply, Fetched)
    kept = [one for one in split(reply.batches) if read_header(one).base_offset == 2]
    assert [bytes(one[17:]) for one in kept] == [bytes(batch[17:])]
    assert LogConfig().validation == "headers"
