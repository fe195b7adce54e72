"""What work queues give up goes to a topic of its own, once, whatever breaks on the way."""

import errno

import pytest

from goqueue.core.records.batch import Lane, read_header, split
from goqueue.core.records.build import encode
from goqueue.core.requests.deadletters import BrowseDead, DeadLetters, Sieve
from goqueue.core.requests.groups import FetchOffsets, GroupOffset
from goqueue.core.requests.internal import TrimSide
from goqueue.core.requests.messages import (
    Acks,
    Fetch,
    Fetched,
    InitProducer,
    NewRecord,
    ProducerReply,
    Publish,
    PublishBatch,
    PublishReply,
    Side,
)
from goqueue.core.requests.queues import LeasedBatches, RejectWork, WorkDone
from goqueue.core.requests.refusals import Code
from goqueue.core.requests.topics import AlterTopic, CreateTopic, DeleteTopic, DescribeTopic, TopicReply
from goqueue.storage.jobs import StreamJob
from goqueue.storage.node_disk import Work
from goqueue.storage.simulated import SimulatedDisk
from tests.storage.dead_letters import (
    browse,
    counts,
    dead,
    kill_all,
    open_intents,
    refused,
    reject,
    sources,
    with_letters,
)
from tests.storage.driven_broker import WALL_MS, DrivenBroker
from tests.storage.logbook import Witness
from tests.storage.worked_broker import begun, join, nack, offsets, poll, publish, receipts, with_messages

DLQ_STREAM, LEDGER_STREAM = "logs/orders.dlq/0", "logs/orders/0/ledger"


def is_dlq_sync(work: Work) -> bool:
    return isinstance(work, StreamJob) and work.folder == DLQ_STREAM


def is_ledger_sync(work: Work) -> bool:
    return isinstance(work, StreamJob) and work.folder == LEDGER_STREAM


def dropped(broker: DrivenBroker) -> dict[str, int]:
    return broker.node._services.services[2]._yard.dropped_by  # type: ignore[attr-defined,no-any-return]


def test_what_is_rejected_becomes_a_dead_letter_with_its_past() -> None:
    broker = with_messages(SimulatedDisk(), 3)
    given = poll(broker, join(broker))
    done = reject(broker, receipts(given, 1), "no such customer")
    assert (done.done, done.dead, done.topic) == (1, 1, "orders.dlq")
    broker.settle()
    [letter] = browse(broker)
    assert (letter.partition, letter.offset, letter.key, letter.value) == (0, 0, b"k", b"1")
    assert (letter.reason, letter.group, letter.attempts, letter.died_ms) == ("rejected", "billing", 1, WALL_MS)
    assert (letter.source_topic, letter.source_partition, letter.source_offset) == ("orders", 0, 1)
    assert dict(letter.headers)["goqueue.dlq.detail"] == b"no such customer"
    assert counts(broker) == {"orders.dlq": 1}
    broker.later(100)
    assert sources(broker) == [1]
    assert open_intents(broker) == 0


def test_what_failed_too_often_becomes_one_with_its_attempts() -> None:
    broker = with_messages(SimulatedDisk(), 1, max_attempts=2, retry_backoff="1s")
    member = join(broker)
    for _ in range(2):
        nack(broker, receipts(poll(broker, member)))
        broker.later(2)
    [letter] = browse(broker)
    assert (letter.reason, letter.attempts) == ("max_attempts", 2)
    assert poll(broker, member) == []
    assert broker.answer(FetchOffsets("billing")) == [GroupOffset("orders", 0, 1, 0)]


def test_what_is_dead_in_one_group_is_alive_in_the_other() -> None:
    broker = with_messages(SimulatedDisk(), 2)
    kill_all(broker)
    assert offsets(poll(broker, join(broker, "audit"), group="audit")) == [0, 1]
    assert dead(broker) == [(0, "billing", "rejected"), (1, "billing", "rejected")]


def test_two_groups_that_give_up_the_same_make_a_letter_each() -> None:
    broker = with_messages(SimulatedDisk(), 2)
    kill_all(broker, "billing")
    kill_all(broker, "audit")
    assert sorted(dead(broker)) == [(at, group, "rejected") for at in (0, 1) for group in ("audit", "billing")]


def test_letters_keep_order_and_lane_and_go_to_the_partition_of_their_number() -> None:
    broker = begun(SimulatedDisk())
    assert isinstance(broker.answer(CreateTopic("orders", 3, 1, {"max_message_bytes": 2048})), TopicReply)
    for at in range(6):
        records = [
            NewRecord(b"k", b"%d" % (at * 200 + number), partition=at % 3, lane=[Lane.NORMAL, Lane.LOW][at // 3])
            for number in range(200)
        ]
        assert isinstance(broker.answer(Publish("orders", records)), PublishReply)
    member = join(broker, max_in_flight=10_000)
    while given := poll(broker, member, 10_000):
        reject(broker, receipts(given))
    for _ in range(5):
        broker.settle()
    described = broker.answer(DescribeTopic("orders.dlq"))
    assert isinstance(described, TopicReply)
    assert described.offsets == {0: (0, 400), 1: (0, 400), 2: (0, 400)}
    letters = browse(broker, BrowseDead("orders.dlq", limit=1000))
    for number in range(3):
        for lane in (0, 1):
            of_lane = [
                one.source_offset for one in letters if (one.partition, one.source_offset // 200) == (number, lane)
            ]
            assert of_lane == sorted(of_lane)
        reply = broker.answer(Fetch("orders.dlq", number, 0))
        assert isinstance(reply, Fetched)
        lanes = [(read_header(batch).lane, read_header(batch).record_count) for batch in split(reply.batches)]
        assert {lane for lane, _ in lanes} == {Lane.NORMAL, Lane.LOW}
        assert sum(count for lane, count in lanes if lane is Lane.LOW) == 200


def test_more_partitions_than_may_be_busy_have_their_letters_moved_in_turn() -> None:
    broker = begun(SimulatedDisk())
    assert isinstance(broker.answer(CreateTopic("orders", 70)), TopicReply)
    records = [NewRecord(b"k", b"v", partition=number) for number in range(70)]
    assert isinstance(broker.answer(Publish("orders", records)), PublishReply)
    member = join(broker)
    while given := poll(broker, member):
        broker.ask(_rejection(given))
    for _ in range(10):
        broker.settle()
    assert counts(broker) == {"orders.dlq": 70}


def test_the_topic_of_letters_is_like_its_source_but_keeps_all_that_is_in_it() -> None:
    broker = with_messages(
        SimulatedDisk(), 2, cleanup="compact", message_ttl="1h", fsync="interval", max_message_bytes=5000
    )
    kill_all(broker)
    described = broker.answer(DescribeTopic("orders.dlq"))
    assert isinstance(described, TopicReply)
    kept = {key: described.config[key] for key in ("cleanup", "message_ttl", "fsync", "dlq_topic")}
    assert kept == {"cleanup": "delete", "message_ttl": "0s", "fsync": "interval", "dlq_topic": ""}
    assert described.config["max_message_bytes"] == 5000 + 65_536
    assert sources(broker) == [0, 1]


def test_letters_go_to_the_topic_that_is_named_or_nowhere() -> None:
    broker = with_messages(SimulatedDisk(), 2, dlq_topic="graves")
    kill_all(broker)
    assert sources(broker, "graves") == [0, 1]
    broker.create("quiet", dlq=False)
    broker.publish("quiet", (b"k", b"v"))
    given = poll(broker, join(broker, "quiet", ["quiet"]), group="quiet")
    done = reject(broker, receipts(given))
    assert done.topic == ""
    broker.settle()
    assert counts(broker) == {"graves": 2}
    assert broker.answer(FetchOffsets("quiet")) == [GroupOffset("quiet", 0, 1, 0)]


def test_what_dies_in_a_topic_of_letters_is_still_a_letter_and_makes_no_other() -> None:
    broker = with_letters(SimulatedDisk(), 2)
    given = poll(broker, join(broker, "graves", ["orders.dlq"]), group="graves")
    reject(broker, receipts(given))
    broker.settle()
    assert counts(broker) == {"orders.dlq": 2}
    assert poll(broker, join(broker, "graves", ["orders.dlq"]), group="graves") == []


def test_what_died_while_letters_were_kept_is_dropped_when_they_are_no_more() -> None:
    name = "o" * 198
    broker = begun(SimulatedDisk())
    broker.create(name)
    broker.publish(name, (b"k", b"0"), (b"k", b"1"))
    reject(broker, receipts(poll(broker, join(broker, "billing", [name]))))
    broker.later(5)
    assert broker.answer(FetchOffsets("billing")) == [GroupOffset(name, 0, 0, 2)]
    broker.answer(AlterTopic(name, {"dlq": False}))
    broker.later(60)
    assert broker.answer(FetchOffsets("billing")) == [GroupOffset(name, 0, 2, 0)]
    assert dropped(broker) == {"billing": 2}


def test_a_topic_of_letters_that_cannot_be_made_leaves_them_dead_and_counted() -> None:
    name = "o" * 198
    broker = begun(SimulatedDisk())
    broker.create(name)
    broker.publish(name, (b"k", b"0"), (b"k", b"1"))
    reject(broker, receipts(poll(broker, join(broker, "billing", [name]))))
    broker.later(5)
    broker.later(5)
    assert counts(broker) == {}
    assert broker.answer(FetchOffsets("billing")) == [GroupOffset(name, 0, 0, 2)]
    broker.answer(AlterTopic(name, {"dlq_topic": "graves"}))
    broker.later(60)
    assert sources(broker, "graves") == [0, 1]
    assert broker.answer(FetchOffsets("billing")) == [GroupOffset(name, 0, 2, 0)]


def test_a_letter_that_its_topic_has_no_room_for_goes_without_its_value() -> None:
    broker = begun(SimulatedDisk())
    broker.create("orders.dlq", max_message_bytes=1500)
    broker.create("orders")
    values = [b"x" * size for size in (100, 5000, 200, 1000, 1000)]
    broker.publish("orders", *[(b"k", value) for value in values])
    kill_all(broker)
    for _ in range(5):
        broker.settle()
    letters = browse(broker)
    assert [len(letter.value or b"") for letter in letters] == [100, 0, 200, 1000, 1000]
    assert dict(letters[1].headers)["goqueue.dlq.value_bytes"] == b"5000"


# --- whatever breaks on the way


@pytest.mark.parametrize("seed", range(3))
def test_a_stop_at_any_moment_leaves_each_message_alive_or_one_letter(seed: int) -> None:
    """At every operation of the disk: what a crash there leaves is opened, and must come to the same."""
    disk = SimulatedDisk(seed)
    broker = with_messages(disk, 6)
    given = poll(broker, join(broker))
    answered = False
    looks = [0]

    def look(_: str) -> None:
        looks[0] += 1
        stopped = disk.copy(seed * 1000 + looks[0])
        stopped.crash()
        again = begun(stopped)
        again.later(31)
        again.later(5)
        letters = sources(again)
        alive = offsets(poll(again, join(again)))
        assert sorted([*letters, *alive]) == list(range(6)), (looks[0], letters, alive)
        assert not answered or letters == [1, 2, 4]
        assert open_intents(again) == 0

    faults, disk.faults = disk.faults, Witness(look)
    reject(broker, receipts(given, 1, 2, 4))
    answered = True
    broker.settle()
    disk.faults = faults
    assert sources(broker) == [1, 2, 4]
    assert looks[0] > 15


@pytest.mark.parametrize("stream", [DLQ_STREAM, LEDGER_STREAM, "logs/orders/0", "meta/cluster"])
@pytest.mark.parametrize("operation", ["sync", "write"])
@pytest.mark.parametrize("after", range(3))
def test_a_disk_that_fails_on_the_way_delays_letters_and_doubles_none(stream: str, operation: str, after: int) -> None:
    disk = SimulatedDisk(7)
    broker = with_messages(disk, 8)
    given = poll(broker, join(broker))
    disk.fail_next(operation, errno.EIO, stream, after)
    reply = broker.answer(_rejection(given, 0, 3, 5))
    for _ in range(4):
        broker.later(40)
    letters = sources(broker)
    alive = offsets(poll(broker, join(broker)))
    assert sorted([*letters, *alive]) == list(range(8)), (letters, alive)
    assert not isinstance(reply, WorkDone) or letters == [0, 3, 5]


def test_a_node_waits_while_neither_letters_nor_their_ledger_can_be_written() -> None:
    disk = SimulatedDisk(7)
    broker = with_letters(disk, 3)
    publish(broker, 3, 3)
    member = join(broker)
    given = poll(broker, member)
    disk.fail_rate("write", 1.0, errno.ENOSPC, DLQ_STREAM)
    broker.ask(_rejection(given, 3))
    broker.settle()
    assert open_intents(broker) == 1
    disk.fail_rate("write", 1.0, errno.ENOSPC, "logs/orders")
    broker.ask(_rejection(given, 4))
    broker.settle()
    for _ in range(40):
        broker.later(0.5)
        due = broker.node.deadline()
        assert due is None or due > broker.now
    disk.fail_rate("write", 0.0, errno.ENOSPC)
    for _ in range(8):
        broker.later(30)
    letters = sources(broker)
    alive = offsets(poll(broker, join(broker)))
    assert sorted([*letters, *alive]) == list(range(6)), (letters, alive)


def test_a_topic_of_letters_that_is_deleted_on_the_way_is_made_again() -> None:
    broker = with_letters(SimulatedDisk(), 3)
    publish(broker, 3, 3)
    given = poll(broker, join(broker))
    broker.ask(_rejection(given))
    broker.settle(is_dlq_sync)
    assert open_intents(broker) == 1
    to = broker.ask(DeleteTopic("orders.dlq"))
    broker.settle()
    broker.release()
    broker.settle()
    assert broker.taken(to) is None
    for _ in range(3):
        broker.later(10)
    assert sources(broker) == [3, 4, 5]
    assert counts(broker) == {"orders.dlq": 3}


def test_a_topic_that_is_deleted_takes_its_moves_with_it_and_a_new_one_of_its_name_begins_anew() -> None:
    broker = with_letters(SimulatedDisk(), 3)
    publish(broker, 3, 3)
    broker.ask(_rejection(poll(broker, join(broker))))
    broker.settle(is_ledger_sync)
    broker.ask(DeleteTopic("orders"))
    broker.settle()
    broker.release()
    broker.settle()
    before = sources(broker)
    broker.create("orders")
    publish(broker, 2)
    kill_all(broker)
    assert sources(broker) == [*before, 0, 1]


def test_a_target_that_has_forgotten_the_producer_gets_the_letters_of_another() -> None:
    broker = with_letters(SimulatedDisk(), 2)
    broker.later(25 * 3600)
    other = broker.answer(InitProducer())
    assert isinstance(other, ProducerReply)
    batch = encode([(0, b"k", b"by hand", ())], producer_id=other.producer_id, producer_epoch=0, base_sequence=0)
    assert isinstance(broker.answer(PublishBatch("orders.dlq", 0, batch, Acks.ALL)), PublishReply)
    publish(broker, 2, 2)
    kill_all(broker)
    broker.settle()
    assert [letter.source_offset for letter in browse(broker)] == [0, 1, -1, 2, 3]


@pytest.mark.parametrize("is_published", [False, True])
@pytest.mark.parametrize("gone", [1, 3])
def test_what_is_gone_from_the_source_before_the_move_went_on_doubles_nothing(is_published: bool, gone: int) -> None:
    disk = SimulatedDisk(3)
    broker = begun(disk)
    broker.create("orders.dlq")
    broker.create("orders")
    publish(broker, 3)
    broker.ask(_rejection(poll(broker, join(broker))))
    # The intent is durable; its batch is as well, or was never sent. The broker has heard of neither.
    while not open_intents(broker):
        broker.turn(is_dlq_sync)
    if is_published:
        broker.settle(is_dlq_sync)
    disk.crash(1.0)
    disk.fail_rate("open", 1.0, path_prefix=DLQ_STREAM)
    again = begun(disk)
    assert open_intents(again) == 1
    assert again.answer(TrimSide("orders", 0, Side.DATA, gone)) is None
    disk.fail_rate("open", 0.0)
    for _ in range(3):
        again.later(40)
    assert sources(again) == [*range(0 if is_published else gone, 3)]
    assert open_intents(again) == 0
    assert dropped(again) == ({} if is_published else {"billing": gone})
    publish(again, 2, 3)
    kill_all(again)
    assert sources(again) == [*range(0 if is_published else gone, 5)]
    assert again.answer(FetchOffsets("billing")) == [GroupOffset("orders", 0, 5, 0)]


def _rejection(given: list[LeasedBatches], *only: int) -> RejectWork:
    return RejectWork(receipts(given, *only))


def test_a_page_that_cannot_be_shown_is_refused_by_the_field() -> None:
    broker = with_letters(SimulatedDisk(), 1)
    for request, code, name in (
        (BrowseDead("nothing"), Code.TOPIC_NOT_FOUND, "topic"),
        (BrowseDead("__groups"), Code.NO_DEAD_LETTERS, "topic"),
        (BrowseDead("orders.dlq", limit=0), Code.INVALID, "limit"),
        (BrowseDead("orders.dlq", limit=1001), Code.INVALID, "limit"),
        (BrowseDead("orders.dlq", after={1: 0}), Code.INVALID, "after"),
        (BrowseDead("orders.dlq", after={0: -1}), Code.INVALID, "after"),
        (BrowseDead("orders.dlq", Sieve(reason="boredom")), Code.INVALID, "reason"),
        (BrowseDead("orders.dlq", Sieve(died_from_ms=5, died_until_ms=5)), Code.INVALID, "died_until_ms"),
        (BrowseDead("orders.dlq", Sieve(died_from_ms=-1)), Code.INVALID, "died_from_ms"),
    ):
        refusal = refused(broker.answer(request))
        assert (refusal.code, refusal.field) == (code, name), request
    broker.create("empty")
    assert refused(broker.answer(BrowseDead("empty"))).code is Code.NO_DEAD_LETTERS


def test_pages_follow_each_other_through_all_partitions() -> None:
    broker = begun(SimulatedDisk())
    assert isinstance(broker.answer(CreateTopic("orders", 2)), TopicReply)
    for number in range(2):
        records = [NewRecord(b"%d" % (at % 2), b"v", partition=number) for at in range(5)]
        assert isinstance(broker.answer(Publish("orders", records)), PublishReply)
    kill_all(broker)
    broker.settle()
    found: list[tuple[int, int]] = []
    after: dict[int, int] = {}
    for _ in range(20):
        reply = broker.answer(BrowseDead("orders", Sieve(key=b"0"), limit=2, after=after))
        assert isinstance(reply, DeadLetters)
        found += [(letter.partition, letter.offset) for letter in reply.letters]
        if reply.after is None:
            break
        after = reply.after
    assert found == [(number, at) for number in (0, 1) for at in (0, 2, 4)]
