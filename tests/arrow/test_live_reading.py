"""Topics of a running broker read by ranges, and the steps of a stream over them, without Spark."""

import json
import logging
import pickle
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count

import pyarrow as pa
import pytest
from attrs import evolve
from pyspark.sql.datasource import EqualTo, GreaterThanOrEqual, InputPartition, LessThan
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from goqueue.core.records.batch import read_header
from goqueue.proto import v1
from goqueue.spark.choices import choices_of
from goqueue.spark.live import reading, stretches
from goqueue.spark.live.bootstrap import Bootstrap
from goqueue.spark.live.cluster import Cluster
from goqueue.spark.live.progress import Kept
from goqueue.spark.live.stream import TopicStreamReader
from goqueue.spark.readers import PushingReader, RecordsReader, StretchPartition
from goqueue.spark.records.columns import ARROW_SCHEMA
from goqueue.spark.records.edges import TopicReplacedError, UnreadableError
from goqueue.testing import Broker
from goqueue.transports.client.connection import connect
from goqueue.transports.client.errors import TopicNotFound
from goqueue.transports.client.topics import Partition
from tests.storage.logbook import NOW_MS

BEGAN = datetime.fromtimestamp(NOW_MS / 1000, UTC)
COUNT = 50
TRIES = 10_000
NUMBERS = count()
OFFSET = pa.schema([ARROW_SCHEMA.field("offset")])


@pytest.fixture
def topic(broker: Broker) -> str:
    """A topic of two partitions, with fifty messages in each, a minute apart."""
    name = f"topic-{next(NUMBERS)}"
    with connect(broker.address) as connection:
        connection.topics.create(name, 2, config={"retention_hours": -1, "segment_bytes": 1 << 16})
    fill(broker, name)
    return name


def fill(broker: Broker, topic: str, first: int = 0, new: int = COUNT, size: int = 10) -> None:
    """Messages with a number each, in batches of five."""
    with connect(broker.address) as connection, connection.producer(linger=timedelta(hours=1)) as producer:
        for number in range(first, first + new):
            for partition in range(2):
                when = BEGAN + timedelta(minutes=number)
                value = b"%d" % number + b" " * size
                producer.send(topic, value, key=b"k", partition=partition, timestamp=when)
            if number % 5 == 4:
                producer.flush()


def crowd(broker: Broker, topic: str) -> int:
    """Add so much that the beginning lies in segments of its own; where the topic's partitions end afterwards."""
    fill(broker, topic, COUNT, 20, size=10_000)
    return COUNT + 20


def forget(broker: Broker, topic: str) -> int:
    """Let retention take the beginning of a topic's partitions; where the first of them begins afterwards."""
    with connect(broker.address) as connection:
        connection.topics.alter(topic, {"retention_bytes": 0})
        for _ in range(TRIES):
            begin = connection.topics.partitions(topic)[0].start_offset
            if begin:
                break
    assert COUNT < begin < COUNT + 20
    return begin


def reader(broker: Broker, **options: str) -> RecordsReader:
    """What reads with these options."""
    return RecordsReader(choices_of({"bootstrap": broker.address} | options), OFFSET)


def offsets(found: RecordsReader | TopicStreamReader, partitions: Sequence[InputPartition]) -> list[list[int]]:
    """The offsets that each task reads."""
    sent, *tasks = pickle.loads(pickle.dumps([found, *partitions]))
    return [[row["offset"] for batch in sent.read(task) for row in batch.to_pylist()] for task in tasks]


def read(broker: Broker, **options: str) -> list[list[int]]:
    """The offsets that are read with these options, by task."""
    found = reader(broker, **options)
    return offsets(found, found.partitions())


def test_every_column_comes_back_as_it_was_published(broker: Broker, topic: str) -> None:
    choices = choices_of({"bootstrap": broker.address, "topic": topic})
    whole = RecordsReader(choices, ARROW_SCHEMA)
    rows = [row for one in whole.partitions() for batch in whole.read(one) for row in batch.to_pylist()]
    assert [(row["partition"], row["offset"]) for row in rows] == [(p, at) for p in range(2) for at in range(COUNT)]
    row = rows[COUNT + 7]
    assert row["topic"] == topic
    assert row["timestamp"] == BEGAN + timedelta(minutes=7)
    assert (row["key"], row["value"].strip(), row["headers"]) == (b"k", b"7", [])
    assert row["producer_id"] is not None
    assert (row["lane"], row["leader_epoch"] >= 0) == (0, True)


def minute(number: int) -> str:
    """The time of a message, as an option has it."""
    return (BEGAN + timedelta(minutes=number)).isoformat()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [range(COUNT), range(COUNT)]),
        ({"partitions": "1"}, [range(COUNT)]),
        ({"starting_offset": "47"}, [range(47, COUNT)] * 2),
        ({"starting_offset": '{"0": 47, "1": "earliest"}', "ending_offset": '{"1": 3}'}, [range(47, 50), range(3)]),
        ({"starting_offset": "7", "ending_offset": "8"}, [range(7, 8)] * 2),
        ({"starting_time": minute(12), "ending_time": minute(14)}, [range(12, 14)] * 2),
        ({"starting_time": str(NOW_MS + 12 * 60_000 + 1), "ending_offset": "15"}, [range(13, 15)] * 2),
        ({"starting_time": minute(COUNT)}, []),
        ({"starting_offset": "9", "ending_offset": "9"}, []),
    ],
)
def test_what_lies_between_the_edges_is_read_and_nothing_else(
    broker: Broker, topic: str, options: dict[str, str], expected: list[range]
) -> None:
    assert read(broker, topic=topic, **options) == [[*one] for one in expected]


def test_filters_narrow_what_is_fetched(broker: Broker, topic: str) -> None:
    pushing = PushingReader(choices_of({"bootstrap": broker.address, "topic": topic, "push_filters": "true"}), OFFSET)
    filters = [
        EqualTo(("partition",), 1),
        GreaterThanOrEqual(("offset",), 10),
        LessThan(("timestamp",), BEGAN + timedelta(minutes=13)),
        EqualTo(("lane",), 0),
    ]
    assert list(pushing.pushFilters(filters)) == filters[3:]
    planned = pushing.partitions()
    assert [one.stretch.first for one in planned if isinstance(one, StretchPartition)] == [10]
    assert offsets(pushing, planned) == [[10, 11, 12]]
    elsewhere = PushingReader(choices_of({"bootstrap": broker.address, "topic": topic, "push_filters": "true"}), OFFSET)
    assert not list(elsewhere.pushFilters([EqualTo(("partition",), 7)]))
    assert not elsewhere.partitions()


def test_long_ranges_are_cut_and_pieces_that_meet_in_a_batch_share_no_record(
    broker: Broker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stretches, "PIECE_BYTES", 300)
    monkeypatch.setattr(stretches.pieces, "__defaults__", (300,))
    found = read(broker, topic=topic, partitions="0")
    assert len(found) > 3
    assert any(piece[0] % 5 for piece in found)
    assert [offset for piece in found for offset in piece] == [*range(COUNT)]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"partitions": "0,2"}, "has no partition 2; it has 2, from 0 on"),
        ({"starting_offset": '{"5": 1}'}, "has no partition 5; it has 2, from 0 on"),
        ({"starting_offset": '{"1": 51}'}, r"/1 ends at offset 50, before 51, where reading was to begin"),
    ],
)
def test_what_is_not_there_is_named(broker: Broker, topic: str, options: dict[str, str], said: str) -> None:
    with pytest.raises(UnreadableError, match=said):
        read(broker, topic=topic, **options)
    with pytest.raises(TopicNotFound, match="ordres"):
        read(broker, topic="ordres")


def test_records_that_retention_took_are_missed_or_stepped_over(
    broker: Broker, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    end = crowd(broker, topic)
    planned = reader(broker, topic=topic, partitions="0").partitions()
    begin = forget(broker, topic)
    said = f"{topic}/0: the records from offset 0 up to {begin} are not there any more"
    with pytest.raises(UnreadableError, match=f"{said}; the option missing=skip goes on behind them"):
        offsets(reader(broker, topic=topic), planned)
    caplog.set_level(logging.WARNING, "goqueue.spark")
    assert offsets(reader(broker, topic=topic, missing="skip"), planned) == [[*range(begin, end)]]
    assert said in caplog.text
    with pytest.raises(UnreadableError, match=f"from offset 7 up to {begin} are not there any more"):
        read(broker, topic=topic, starting_offset="7")
    assert read(broker, topic=topic, starting_offset="7", missing="skip")[0][0] == begin
    assert read(broker, topic=topic)[0][0] == begin


def test_a_partition_of_which_a_broker_has_only_heard_is_asked_of_its_leader(broker: Broker, topic: str) -> None:
    crowd(broker, topic)
    forget(broker, topic)
    with Cluster(Bootstrap((broker.address,))) as cluster:
        exact = cluster.reaches(topic)[0]
        heard = Partition(topic, 0, "another", broker.address, [], [], -1, -1, -1, exact.size_bytes)
        assert not heard.is_exact
        assert cluster.reach(heard, exact.topic_id) == evolve(exact, leader=broker.address)


def test_a_batch_that_came_damaged_fails_the_task_or_is_stepped_over(
    broker: Broker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Rotten(Cluster):
        """A connection on which the third batch of every answer has a wrong byte."""

        def fetch(self, topic: str, partition: int, offset: int, wait_ms: int = 0, topic_id: str = "") -> v1.FetchReply:
            reply = super().fetch(topic, partition, offset, wait_ms, topic_id)
            content, at = bytearray(reply.batches), 0
            for _ in range(2):
                at += read_header(memoryview(content)[at:]).size
            content[at + 70] ^= 1
            reply.batches = bytes(content)
            return reply

    monkeypatch.setattr(reading, "Cluster", Rotten)
    with pytest.raises(UnreadableError, match=rf"{topic}/0: damaged at byte \d+ of what came for offset 0: The CRC is"):
        read(broker, topic=topic, partitions="0")
    assert read(broker, topic=topic, partitions="0", damaged="skip") == [[*range(10), *range(15, COUNT)]]


# --- streams


def stream(broker: Broker, topic: str, **options: str) -> TopicStreamReader:
    """What a query without a checkpoint begins with."""
    given = {"bootstrap": broker.address, "topic": topic, "starting_offset": "earliest"} | options
    return TopicStreamReader(choices_of(given, is_stream=True), OFFSET)


def identity(broker: Broker, topic: str) -> str:
    """The id of a topic."""
    with connect(broker.address) as connection:
        return connection.topics.describe(topic).id


def kept(broker: Broker, topic: str, *offsets: int) -> Kept:
    """Positions of the topic as it is now, by partition."""
    by_partition: dict[str, int | str] = {str(number): offset for number, offset in enumerate(offsets)}
    return {topic: {"id": identity(broker, topic)} | by_partition}


def make_again(broker: Broker, topic: str, count: int, size: int = 10) -> None:
    """Delete a topic and make it again, with so many messages in each partition."""
    with connect(broker.address) as connection:
        connection.topics.delete(topic)
        connection.topics.create(topic, 2, config={"retention_hours": -1, "segment_bytes": 1 << 16})
    fill(broker, topic, 0, count, size)


def test_a_stream_goes_from_position_to_position_and_reads_each_record_once(broker: Broker, topic: str) -> None:
    follower = stream(broker, topic, max_records_per_trigger="30")
    assert follower.getDefaultReadLimit() == ReadMaxRows(30)
    at = follower.initialOffset()
    assert at == kept(broker, topic, 0, 0)
    found: list[list[int]] = [[], []]
    batches = 0
    while (end := follower.latestOffset(at, ReadMaxRows(30))) != at:
        planned = follower.partitions(at, end)
        for one, numbers in zip(planned, offsets_of_stream(follower, planned), strict=True):
            assert isinstance(one, StretchPartition)
            found[one.stretch.partition] += numbers
        at, batches = end, batches + 1
    assert found == [[*range(COUNT)]] * 2
    assert batches == 4
    assert follower.reportLatestOffset() == at == kept(broker, topic, COUNT, COUNT)
    assert follower.partitions(at, at) == []
    fill(broker, topic, COUNT, 5)
    assert follower.latestOffset(at, ReadAllAvailable()) == kept(broker, topic, COUNT + 5, COUNT + 5)
    follower.stop()


def offsets_of_stream(follower: TopicStreamReader, planned: Sequence[InputPartition]) -> list[list[int]]:
    """The offsets that each task of a batch reads."""
    return [[row["offset"] for batch in follower.read(one) for row in batch.to_pylist()] for one in planned]


def test_what_is_available_at_the_start_bounds_a_stream_that_is_to_end(broker: Broker, topic: str) -> None:
    follower = stream(broker, topic, starting_offset="latest")
    assert follower.initialOffset() == kept(broker, topic, COUNT, COUNT)
    follower.prepareForTriggerAvailableNow()
    fill(broker, topic, COUNT, 5)
    start = kept(broker, topic, 10, 20)
    assert follower.latestOffset(start, ReadAllAvailable()) == kept(broker, topic, COUNT, COUNT)
    follower.stop()


def test_partitions_that_are_added_are_read_from_their_beginning(broker: Broker, topic: str) -> None:
    follower = stream(broker, topic)
    start = kept(broker, topic, COUNT)
    end = follower.latestOffset(start, ReadAllAvailable())
    planned = follower.partitions(start, end)
    assert offsets_of_stream(follower, planned) == [[*range(COUNT)]]
    follower.stop()


def test_a_stream_never_goes_back_and_says_what_is_gone(
    broker: Broker, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    follower = stream(broker, topic)
    ahead = kept(broker, topic, COUNT + 1, 0)
    with pytest.raises(UnreadableError, match=f"/0 ends at offset {COUNT}, and the stream has read up to {COUNT + 1}"):
        follower.latestOffset(ahead, ReadAllAvailable())
    gone = kept(broker, topic, 0, 0, 5)
    with pytest.raises(UnreadableError, match="/2 is gone, of which the stream has read up to offset 5"):
        follower.latestOffset(gone, ReadAllAvailable())
    lenient = stream(broker, topic, missing="skip")
    assert lenient.latestOffset(gone, ReadAllAvailable()) == kept(broker, topic, COUNT, COUNT, 5)
    all_of_it = crowd(broker, topic)
    start, end = kept(broker, topic, 3, COUNT), kept(broker, topic, all_of_it, COUNT)
    begin = forget(broker, topic)
    with pytest.raises(UnreadableError, match=f"/0: the records from offset 3 up to {begin} are not there any more"):
        follower.partitions(start, end)
    caplog.set_level(logging.WARNING, "goqueue.spark")
    assert offsets_of_stream(lenient, lenient.partitions(start, end)) == [[*range(begin, all_of_it)]]
    assert f"from offset 3 up to {begin}" in caplog.text
    lenient.stop()
    follower.stop()


def test_a_topic_that_is_deleted_between_two_batches_is_missed(broker: Broker, topic: str) -> None:
    follower, everything = stream(broker, topic), stream(broker, "", missing="fail")
    start, end = kept(broker, topic, 3, COUNT), kept(broker, topic, COUNT, COUNT)
    with connect(broker.address) as connection:
        connection.topics.delete(topic)
    with pytest.raises(TopicNotFound, match=topic):
        follower.partitions(start, end)
    with pytest.raises(UnreadableError, match=f"/0: the records from offset 3 up to {COUNT} are not there any more"):
        everything.partitions(start, end)
    follower.stop()
    everything.stop()


# --- topics that are made again


@pytest.mark.parametrize("count", [3, COUNT, COUNT + 30])
def test_a_topic_that_was_made_again_is_another_one_wherever_it_ends(broker: Broker, topic: str, count: int) -> None:
    start = kept(broker, topic, 20, COUNT)
    was = identity(broker, topic)
    make_again(broker, topic, count)
    follower = stream(broker, topic)
    said = (
        rf"{topic} was deleted and made again: .* the id {was}, .* the id {identity(broker, topic)}\. Start the query"
    )
    said += r" with a new checkpoint, or say option\('replaced', 'restart'\)"
    with pytest.raises(TopicReplacedError, match=said) as replaced:
        follower.latestOffset(start, ReadAllAvailable())
    assert (replaced.value.topic, replaced.value.was) == (topic, was)
    follower.prepareForTriggerAvailableNow()
    with pytest.raises(TopicReplacedError, match=said):
        follower.latestOffset(start, ReadMaxRows(5))
    end: Kept = {topic: {"id": was, "0": COUNT, "1": COUNT}}
    with pytest.raises(TopicReplacedError, match=said):
        follower.partitions(start, end)
    follower.stop()


@pytest.mark.parametrize("count", [3, COUNT + 30])
def test_a_stream_that_may_goes_on_at_the_beginning_of_a_topic_that_was_made_again(
    broker: Broker, topic: str, count: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "goqueue.spark")
    start, was = kept(broker, topic, 20, COUNT), identity(broker, topic)
    follower = stream(broker, topic, replaced="restart")
    follower.prepareForTriggerAvailableNow()
    make_again(broker, topic, count)
    # What was there when the query began is not there any more, and what is there now was not.
    assert follower.latestOffset(start, ReadAllAvailable()) == start
    again = stream(broker, topic, replaced="restart")
    again.prepareForTriggerAvailableNow()
    at = start
    found: list[list[int]] = [[], []]
    while (end := again.latestOffset(at, ReadMaxRows(7))) != at:
        planned = again.partitions(at, end)
        for one, numbers in zip(planned, offsets_of_stream(again, planned), strict=True):
            assert isinstance(one, StretchPartition)
            found[one.stretch.partition] += numbers
        at = end
    assert at == kept(broker, topic, count, count)
    assert found == [[*range(count)]] * 2
    assert f"of the one with the id {was} nothing is read any more" in caplog.text
    # A batch that was planned before the topic was made again, and is tried again after that.
    assert again.partitions(start, {topic: {"id": was, "0": COUNT, "1": COUNT}}) == []
    again.stop()
    follower.stop()


def test_a_task_reads_nothing_of_a_topic_that_was_made_again_after_it_was_planned(broker: Broker, topic: str) -> None:
    found = reader(broker, topic=topic, partitions="0")
    planned = found.partitions()
    make_again(broker, topic, COUNT)
    with pytest.raises(TopicReplacedError, match="was deleted and made again"):
        offsets(found, planned)


def test_positions_of_a_batch_read_say_which_topic_they_are_of(broker: Broker, topic: str) -> None:
    was = identity(broker, topic)
    positions = json.dumps({topic: {"id": was, "0": 40, "1": "earliest"}})
    assert read(broker, topic=topic, starting_offset=positions) == [[*range(40, COUNT)], [*range(COUNT)]]
    make_again(broker, topic, COUNT + 30)
    with pytest.raises(TopicReplacedError, match="Read it without the old positions, or say option"):
        read(broker, topic=topic, starting_offset=positions)
    with pytest.raises(TopicReplacedError, match="was deleted and made again"):
        read(broker, topic=topic, ending_offset=positions.replace("earliest", "latest"))
    whole = [[*range(COUNT + 30)]] * 2
    assert read(broker, topic=topic, starting_offset=positions, replaced="restart") == whole
    # Of another topic, partitions that it does not have say nothing.
    more = json.dumps({topic: {"id": was, "7": 40}})
    assert read(broker, topic=topic, starting_offset=more, replaced="restart") == whole


def test_positions_without_an_id_are_refused(broker: Broker, topic: str) -> None:
    follower = stream(broker, topic)
    with pytest.raises(UnreadableError, match="do not say of which topic of that name they are"):
        follower.latestOffset({topic: {"0": 3}}, ReadAllAvailable())
    follower.stop()
    with pytest.raises(UnreadableError, match="the option 'starting_offset' has 7 for the id of a topic"):
        reader(broker, topic=topic, starting_offset='{"id": 7, "0": 1}')
    with pytest.raises(UnreadableError, match="'replaced' says nothing where 'starting_offset' names no topic by its"):
        reader(broker, topic=topic, replaced="restart")
