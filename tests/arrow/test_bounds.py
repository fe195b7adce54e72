"""How far a topic reaches, in a data folder and in a running cluster, and what is said where there is none."""

from pathlib import Path

import pytest

from goqueue.spark.live.bounds import live_bounds
from goqueue.spark.records.bounds import bounds
from goqueue.spark.records.edges import UnreadableError
from goqueue.storage.errors import DamageError
from goqueue.storage.files import FileDisk
from goqueue.storage.layout import FormatError
from goqueue.testing import Broker
from goqueue.transports.client.connection import connect
from goqueue.transports.client.errors import ConnectionLost, TopicNotFound
from tests.storage.logbook import abandon, flip, in_stream, log_file, numbered, opened, overwrite


@pytest.fixture
def disk(tmp_path: Path) -> FileDisk:
    return FileDisk(str(tmp_path))


@pytest.mark.parametrize("is_closed", [True, False])
def test_the_bounds_of_a_folder_are_the_first_offset_that_counts_and_the_end(disk: FileDisk, is_closed: bool) -> None:
    log = opened(disk, segment_bytes=2000)
    for number in range(20):
        log.append(numbered(number, 100, count=5))
    log.log.delete_before(0, 33)
    log.flush()
    (log.close if is_closed else lambda: abandon(log))()
    assert bounds(disk.root, "orders") == {0: (33, 100)}


def test_what_came_after_the_last_note_counts_as_far_as_it_is_sound(disk: FileDisk) -> None:
    log = opened(disk)
    for number in range(6):
        log.append(numbered(number, 100, count=5))
    log.flush()
    abandon(log)
    disk.remove(in_stream("synced"))
    disk.remove(in_stream("checkpoint"))
    assert bounds(disk.root, "orders") == {0: (0, 30)}
    overwrite(disk, log_file(0), Path(disk.root, log_file(0)).stat().st_size, bytes(numbered(6, 100))[:-1])
    assert bounds(disk.root, "orders") == {0: (0, 30)}


def test_a_log_of_which_all_was_deleted_ends_where_it_ended(disk: FileDisk) -> None:
    log = opened(disk, segment_bytes=2000)
    for number in range(20):
        log.append(numbered(number, 100, count=5))
    log.log.delete_before(0, 100)
    log.flush()
    log.close()
    assert bounds(disk.root, "orders") == {0: (100, 100)}


def test_each_partition_has_bounds_and_one_without_records_begins_at_zero(disk: FileDisk) -> None:
    log = opened(disk)
    log.append(numbered(0, 100, count=5))
    log.flush()
    log.close()
    disk.make_folder("logs/orders/1")
    disk.make_folder("logs/audit/0")
    assert bounds(disk.root, "orders") == {0: (0, 5), 1: (0, 0)}


def test_what_has_no_bounds_is_named(disk: FileDisk, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=f"{tmp_path} is not a GoQueue data folder: it holds no file FORMAT"):
        bounds(disk.root, "orders")
    log = opened(disk)
    log.append(numbered(0, 100, count=5))
    log.flush()
    log.close()
    with pytest.raises(UnreadableError, match="holds no topic 'ordres'; it holds orders"):
        bounds(disk.root, "ordres")
    disk.remove(in_stream("checkpoint"))
    flip(disk, log_file(0), 100)
    with pytest.raises(DamageError, match=f"{log_file(0)}: damaged at byte 0: The CRC is"):
        bounds(disk.root, "orders")


def test_the_bounds_of_a_cluster_are_what_its_readers_may_see() -> None:
    with Broker() as broker:
        with connect(broker.address) as connection:
            connection.topics.create("orders", 2)
            with connection.producer() as producer:
                for number in range(7):
                    producer.send("orders", b"%d" % number, partition=1)
        assert live_bounds(broker.address, "orders") == {0: (0, 0), 1: (0, 7)}
        with pytest.raises(TopicNotFound, match="ordres"):
            live_bounds(broker.address, "ordres")
        with pytest.raises(UnreadableError, match="the option 'bootstrap' is empty"):
            live_bounds(" , ", "orders")
        address = broker.address
    with pytest.raises(ConnectionLost, match=address):
        live_bounds(address, "orders")
