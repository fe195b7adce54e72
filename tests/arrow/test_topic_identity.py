"""Which topic of a name a data folder holds, as its metadata has it."""

from pathlib import Path

import pytest

from goqueue.core.cluster.apply import identity
from goqueue.core.cluster.records import METADATA_CODEC, MetadataSnapshot, TopicCreated, TopicDeleted
from goqueue.core.quorum.entries import SNAPSHOT, Voters, encode_snapshot
from goqueue.core.records.build import encode
from goqueue.spark.choices import choices_of
from goqueue.spark.readers import RecordsReader
from goqueue.spark.records.columns import ARROW_SCHEMA
from goqueue.spark.records.edges import TopicReplacedError, UnreadableError
from goqueue.spark.records.identity import identity_of
from goqueue.testing import Broker
from goqueue.transports.client.connection import connect

WALL_MS = 1_700_000_000_000


def made(broker: Broker, count: int) -> str:
    """Make the topic, with so many messages; its id."""
    with connect(broker.address) as connection:
        topic_id = connection.topics.create("orders", 1).id
        with connection.producer() as producer:
            for number in range(count):
                producer.send("orders", b"%d" % number)
    return topic_id


def values(folder: Path, positions: str, **options: str) -> list[bytes]:
    """What is read from some positions on."""
    given = {"path": str(folder), "topic": "orders", "starting_offset": positions} | options
    found = RecordsReader(choices_of(given), ARROW_SCHEMA)
    return [value for one in found.partitions() for rows in found.read(one) for value in rows["value"].to_pylist()]


def test_a_data_folder_says_which_topic_it_holds_and_positions_of_another_one_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with Broker(folder) as broker:
        first = made(broker, 5)
    assert identity_of(str(folder), "orders") == first
    assert identity_of(str(folder), "ordres") == ""
    positions = f'{{"orders": {{"id": "{first}", "0": 3}}}}'
    assert values(folder, positions) == [b"3", b"4"]
    with Broker(folder) as broker:
        with connect(broker.address) as connection:
            connection.topics.delete("orders")
        second = made(broker, 9)
    assert identity_of(str(folder), "orders") == second != first
    with pytest.raises(TopicReplacedError, match=f"of the topic with the id {first}, and the one there has the id"):
        values(folder, positions)
    assert values(folder, positions, replaced="restart") == [b"%d" % number for number in range(9)]


def test_a_copy_without_metadata_does_not_say_it(tmp_path: Path) -> None:
    with Broker(tmp_path) as broker:
        first = made(broker, 1)
    (tmp_path / "meta").rename(tmp_path / "elsewhere")
    assert identity_of(str(tmp_path), "orders") == ""
    with pytest.raises(UnreadableError, match="does not say which topic orders it holds, since it has no metadata"):
        values(tmp_path, f'{{"id": "{first}", "0": 0}}')


def test_what_stands_for_all_that_was_agreed_before_says_it_too(tmp_path: Path) -> None:
    created = [TopicCreated(name, number, 1, "{}", WALL_MS) for number, name in enumerate(("a", "b"), 4)]
    snapshot = MetadataSnapshot(6, [METADATA_CODEC.encode(one) for one in created])
    entries = [
        (None, METADATA_CODEC.encode(TopicCreated("a", 1, 1, "{}", WALL_MS))),
        (SNAPSHOT, encode_snapshot(Voters(), METADATA_CODEC.encode(snapshot))),
        (None, METADATA_CODEC.encode(TopicDeleted("b", 5))),
    ]
    (tmp_path / "meta" / "cluster").mkdir(parents=True)
    batch = encode([(WALL_MS, kind, content, ()) for kind, content in entries])
    (tmp_path / "meta" / "cluster" / f"{0:020}.log").write_bytes(batch)
    assert [identity_of(str(tmp_path), name) for name in ("a", "b", "c")] == [identity(4, WALL_MS), "", ""]
