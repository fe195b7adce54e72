"""Dead letters are sent back or purged: those that are meant, once, at a rate, and through whatever breaks."""

import errno
from itertools import pairwise

import pytest

from goqueue.core.requests.deadletters import (
    BrowseDead,
    CancelRedrive,
    DeadLetters,
    DescribeRedrive,
    ListRedrives,
    PurgeDead,
    RedriveReply,
    RedriveState,
    Sieve,
    StartRedrive,
)
from goqueue.core.requests.messages import NewRecord, Publish, PublishReply
from goqueue.core.requests.queues import RejectWork
from goqueue.core.requests.refusals import Code
from goqueue.core.requests.topics import AlterTopic, CreateTopic, DeleteTopic, TopicReply
from goqueue.storage.simulated import SimulatedDisk
from tests.storage.dead_letters import (
    browse,
    counts,
    described,
    kill_all,
    redrive,
    refused,
    reject,
    sources,
    values,
    with_letters,
)
from tests.storage.driven_broker import WALL_MS, DrivenBroker
from tests.storage.logbook import Witness
from tests.storage.worked_broker import begun, join, messages, poll, publish, receipts, with_messages


def numbers(count: int, start: int = 0) -> list[bytes]:
    return [b"%d" % number for number in range(start, count)]


def sent_back(broker: DrivenBroker, first: int, topic: str = "orders") -> list[bytes]:
    """What lies in a topic behind what was published."""
    return values(broker.records(topic))[first:]


def listed(broker: DrivenBroker, topic: str = "") -> list[RedriveReply]:
    reply = broker.answer(ListRedrives(topic))
    assert isinstance(reply, list), reply
    return [one for one in reply if isinstance(one, RedriveReply)]


def test_letters_go_back_to_where_they_came_from_and_are_letters_no_more() -> None:
    broker = with_letters(SimulatedDisk(), 5)
    began = broker.answer(StartRedrive("orders.dlq"))
    assert isinstance(began, RedriveReply)
    assert (began.state, began.total, began.started_ms) == (RedriveState.RUNNING, 5, WALL_MS)
    ended = described(broker, began.redrive_id)
    assert (ended.state, ended.looked, ended.matched, ended.moved) == (RedriveState.DONE, 5, 5, 5)
    assert (ended.ended_ms, ended.error) == (WALL_MS, "")
    assert sent_back(broker, 5) == numbers(5)
    assert broker.records("orders")[5].headers == (("goqueue.dlq.redriven", b"1"),)
    assert counts(broker) == {"orders.dlq": 0}
    assert browse(broker) == []
    assert messages(poll(broker, join(broker))) == [(5 + at, b"%d" % at, 1) for at in range(5)]


def test_what_dies_again_is_a_letter_again_and_can_be_sent_back_again() -> None:
    broker = with_letters(SimulatedDisk(), 2)
    redrive(broker)
    kill_all(broker)
    assert [dict(letter.headers)["goqueue.dlq.redriven"] for letter in browse(broker)] == [b"1", b"1"]
    assert redrive(broker).moved == 2
    assert [dict(record.headers).get("goqueue.dlq.redriven") for record in broker.records("orders")[4:]] == [b"2", b"2"]


def test_only_the_letters_that_are_meant_go_back_and_a_second_redrive_finds_the_others() -> None:
    broker = begun(SimulatedDisk())
    broker.create("orders")
    records = [
        NewRecord(b"%d" % (at % 2), b"%d" % at, (("colour", [b"red", b"blue"][at // 4]),), partition=0)
        for at in range(8)
    ]
    assert isinstance(broker.answer(Publish("orders", records)), PublishReply)
    given = poll(broker, join(broker))
    reject(broker, receipts(given, 0, 1, 2, 3))
    broker.later(10)
    reject(broker, receipts(given, 4, 5, 6, 7))
    for sieve, expected in (
        (Sieve(key=b"0", headers={"colour": b"red"}), [b"0", b"2"]),
        (Sieve(group="audit"), []),
        (Sieve(reason="expired"), []),
        (Sieve(died_from_ms=WALL_MS + 10_000, key=b"1"), [b"5", b"7"]),
        (Sieve(died_until_ms=WALL_MS + 10_000), [b"1", b"3"]),
        (Sieve(reason="rejected", group="billing"), [b"4", b"6"]),
    ):
        before = len(broker.records("orders"))
        left = counts(broker)["orders.dlq"]
        ended = redrive(broker, StartRedrive("orders.dlq", sieve=sieve))
        assert sent_back(broker, before) == expected, sieve
        assert (ended.total, ended.looked, ended.matched, ended.moved) == (left, left, len(expected), len(expected))
    assert counts(broker) == {"orders.dlq": 0}


def test_letters_go_to_another_topic_when_that_is_asked_for() -> None:
    broker = with_letters(SimulatedDisk(), 3)
    broker.create("repaired")
    ended = redrive(broker, StartRedrive("orders", "repaired"))
    assert (ended.topic, ended.to, ended.moved) == ("orders.dlq", "repaired", 3)
    assert values(broker.records("repaired")) == numbers(3)
    assert len(broker.records("orders")) == 3


def test_letters_of_several_topics_and_partitions_find_home() -> None:
    broker = begun(SimulatedDisk())
    for name in ("orders", "trips"):
        assert isinstance(broker.answer(CreateTopic(name, 2, 1, {"dlq_topic": "graves"})), TopicReply)
    for at in range(12):
        record = NewRecord(b"k", b"%d" % at, partition=at % 2)
        assert isinstance(broker.answer(Publish(["orders", "trips"][at // 2 % 2], [record])), PublishReply)
    member = join(broker, "billing", ["orders", "trips"])
    while given := poll(broker, member):
        reject(broker, receipts(given))
    broker.settle()
    assert counts(broker) == {"graves": 12}
    assert redrive(broker, StartRedrive("graves")).moved == 12
    assert counts(broker) == {"graves": 0}
    for topic, expected in (("orders", [b"0", b"4", b"8"]), ("trips", [b"2", b"6", b"10"])):
        assert sent_back(broker, 3, topic) == expected


def test_a_dry_run_counts_and_moves_nothing() -> None:
    broker = with_letters(SimulatedDisk(), 5)
    ended = redrive(broker, StartRedrive("orders.dlq", sieve=Sieve(key=b"k"), dry_run=True))
    assert (ended.state, ended.is_dry_run, ended.looked, ended.matched) == (RedriveState.DONE, True, 5, 5)
    assert ended.moved == 0
    ended = redrive(broker, PurgeDead("orders.dlq", dry_run=True))
    assert (ended.is_purge, ended.matched, ended.moved) == (True, 5, 0)
    assert counts(broker) == {"orders.dlq": 5}
    assert len(broker.records("orders")) == 5


def test_no_more_letters_go_back_than_the_limit() -> None:
    broker = begun(SimulatedDisk())
    assert isinstance(broker.answer(CreateTopic("orders", 3)), TopicReply)
    for number in range(3):
        records = [NewRecord(b"k", b"%d" % at, partition=number) for at in range(4)]
        assert isinstance(broker.answer(Publish("orders", records)), PublishReply)
    member = join(broker)
    while given := poll(broker, member):
        reject(broker, receipts(given))
    broker.settle()
    ended = redrive(broker, StartRedrive("orders.dlq", limit=6))
    assert (ended.state, ended.total, ended.matched, ended.moved) == (RedriveState.DONE, 12, 6, 6)
    assert counts(broker) == {"orders.dlq": 6}


def test_purged_letters_are_gone_and_stay_so() -> None:
    disk = SimulatedDisk()
    broker = with_letters(disk, 5)
    ended = redrive(broker, PurgeDead("orders.dlq"))
    assert (ended.state, ended.is_purge, ended.moved) == (RedriveState.DONE, True, 5)
    assert counts(broker) == {"orders.dlq": 0}
    assert len(broker.records("orders")) == 5
    disk.crash(0.5)
    again = begun(disk)
    assert counts(again) == {"orders.dlq": 0}
    assert [one.moved for one in listed(again)] == [5]


def test_whoever_browses_before_the_ledger_is_read_is_answered_in_the_turn_in_which_it_is() -> None:
    disk = SimulatedDisk()
    broker = with_letters(disk, 5)
    redrive(broker, PurgeDead("orders.dlq"))
    disk.crash(0.5)
    again = DrivenBroker(disk)
    while not again.node.has_metadata:
        again.turn()
    again.settle(lambda _: True)
    to = again.ask(BrowseDead("orders.dlq"))
    again.settle(lambda _: True)
    while again.held:
        assert not again.answered()
        again.release()
        again.turn(lambda _: True)
    assert again.taken(to) == DeadLetters([])


def test_no_job_begins_while_a_partition_of_letters_cannot_be_read() -> None:
    disk = SimulatedDisk()
    broker = with_letters(disk, 5)
    assert redrive(broker, PurgeDead("orders.dlq", Sieve(reason="expired"))).moved == 0
    disk.crash(0.5)
    disk.fail_rate("read", 1.0, path_prefix="logs/orders.dlq/0/0")
    again = DrivenBroker(disk)
    while not again.node.is_started(again.now):
        again.turn()
    for request in (PurgeDead("orders.dlq"), StartRedrive("orders.dlq")):
        refusal = refused(again.answer(request))
        assert (refusal.code, "partition 0 of orders.dlq" in refusal.message) == (Code.UNAVAILABLE, True)
    disk.fail_rate("read", 0.0)
    again.later(60)
    assert redrive(again, PurgeDead("orders.dlq")).moved == 5
    assert browse(again) == []


def test_a_rate_is_kept_by_the_clock() -> None:
    broker = with_letters(SimulatedDisk(), 30)
    began = broker.answer(StartRedrive("orders.dlq", rate=10))
    assert isinstance(began, RedriveReply)
    moved: list[int] = []
    for _ in range(40):
        broker.later(0.1)
        moved.append(described(broker, began.redrive_id).moved)
    assert all(after - before <= 1 for before, after in pairwise(moved))
    assert moved[9] <= 12
    assert moved[-1] == 30
    assert sent_back(broker, 30) == numbers(30)


def test_a_redrive_goes_on_after_a_restart_where_it_was() -> None:
    disk = SimulatedDisk()
    broker = with_letters(disk, 20)
    began = broker.answer(StartRedrive("orders.dlq", rate=10))
    assert isinstance(began, RedriveReply)
    for _ in range(5):
        broker.later(0.1)
    before = described(broker, began.redrive_id)
    assert 0 < before.moved < 20
    disk.crash(0.5)
    again = begun(disk)
    assert described(again, began.redrive_id).moved >= before.moved
    for _ in range(40):
        again.later(0.1)
    ended = described(again, began.redrive_id)
    assert (ended.state, ended.looked, ended.matched, ended.moved) == (RedriveState.DONE, 20, 20, 20)
    assert sent_back(again, 20) == numbers(20)


def test_a_redrive_that_is_cancelled_stops_and_what_went_back_stays() -> None:
    disk = SimulatedDisk()
    broker = with_letters(disk, 20)
    began = broker.answer(StartRedrive("orders.dlq", rate=10))
    assert isinstance(began, RedriveReply)
    broker.later(0.5)
    cancelled = broker.answer(CancelRedrive(began.redrive_id))
    assert isinstance(cancelled, RedriveReply)
    assert cancelled.state is RedriveState.CANCELLED
    assert cancelled.moved == len(sent_back(broker, 20)) < 20
    broker.later(60)
    assert counts(broker) == {"orders.dlq": 20 - cancelled.moved}
    assert broker.answer(CancelRedrive(began.redrive_id)) == cancelled
    disk.crash(0.5)
    again = begun(disk)
    again.later(60)
    assert described(again, began.redrive_id) == cancelled


def test_a_target_that_is_gone_ends_a_redrive_with_the_reason() -> None:
    broker = with_letters(SimulatedDisk(), 20)
    broker.create("repaired")
    began = broker.answer(StartRedrive("orders.dlq", "repaired", rate=10))
    assert isinstance(began, RedriveReply)
    broker.later(0.3)
    assert broker.answer(DeleteTopic("repaired")) is None
    broker.later(1)
    broker.later(1)
    ended = described(broker, began.redrive_id)
    assert ended.state is RedriveState.FAILED
    assert "repaired" in ended.error
    assert counts(broker) == {"orders.dlq": 20 - ended.moved}
    broker.answer(DeleteTopic("orders"))
    ended = redrive(broker)
    assert ended.state is RedriveState.FAILED
    assert "belongs to topic orders, which is not there" in ended.error


def test_a_letter_that_its_target_refuses_ends_a_redrive_with_the_reason() -> None:
    broker = begun(SimulatedDisk())
    broker.create("orders")
    broker.publish("orders", (b"k", b"small"), (b"k", b"x" * 5000), (b"k", b"after"))
    kill_all(broker)
    broker.answer(AlterTopic("orders", {"max_message_bytes": 1024}))
    for _ in range(3):
        broker.settle()
    ended = redrive(broker)
    assert ended.state is RedriveState.FAILED
    assert "offset 1 of partition 0 is refused by topic orders" in ended.error
    assert sent_back(broker, 3) == [b"small"]
    assert counts(broker) == {"orders.dlq": 2}


def test_a_topic_of_letters_that_is_deleted_takes_its_redrives_with_it() -> None:
    broker = with_letters(SimulatedDisk(), 20)
    began = broker.answer(StartRedrive("orders.dlq", rate=10))
    assert isinstance(began, RedriveReply)
    broker.later(0.5)
    assert broker.answer(DeleteTopic("orders.dlq")) is None
    broker.later(1)
    assert refused(broker.answer(DescribeRedrive(began.redrive_id))).code is Code.REDRIVE_NOT_FOUND
    kill_all(broker)
    assert redrive(broker).state is RedriveState.DONE


def test_redrives_are_listed_the_newest_first() -> None:
    broker = with_letters(SimulatedDisk(), 2)
    assert listed(broker) == []
    first = redrive(broker, StartRedrive("orders.dlq", limit=1))
    broker.later(1)
    second = redrive(broker, PurgeDead("orders.dlq"))
    assert listed(broker) == [second, first]
    assert listed(broker, "orders") == [second, first]


def test_two_redrives_at_once_send_nothing_twice() -> None:
    broker = with_letters(SimulatedDisk(), 60)
    began = [broker.ask(StartRedrive("orders.dlq", rate=200)) for _ in range(3)]
    for _ in range(20):
        broker.later(0.1)
    replies = [broker.taken(to) for to in began]
    ended = [described(broker, reply.redrive_id) for reply in replies if isinstance(reply, RedriveReply)]
    assert [one.state for one in ended] == [RedriveState.DONE] * 3
    assert sum(one.moved for one in ended) == 60
    assert sorted(sent_back(broker, 60)) == sorted(numbers(60))


@pytest.mark.parametrize(
    ("request_", "code", "name"),
    [
        (StartRedrive("nothing"), Code.TOPIC_NOT_FOUND, "topic"),
        (StartRedrive("__groups"), Code.NO_DEAD_LETTERS, "topic"),
        (StartRedrive("orders.dlq", "orders.dlq"), Code.INVALID, "to"),
        (StartRedrive("orders", "orders.dlq"), Code.INVALID, "to"),
        (StartRedrive("orders.dlq", "__groups"), Code.INVALID, "to"),
        (StartRedrive("orders.dlq", "nowhere"), Code.TOPIC_NOT_FOUND, "to"),
        (StartRedrive("orders.dlq", rate=-1), Code.INVALID, "rate"),
        (StartRedrive("orders.dlq", rate=1_000_001), Code.INVALID, "rate"),
        (StartRedrive("orders.dlq", limit=-1), Code.INVALID, "limit"),
        (PurgeDead("orders.dlq", Sieve(reason="age")), Code.INVALID, "reason"),
        (PurgeDead("orders.dlq", Sieve(headers={str(at): b"" for at in range(33)})), Code.INVALID, "headers"),
        (DescribeRedrive("0123456789abcdef"), Code.REDRIVE_NOT_FOUND, "redrive_id"),
        (CancelRedrive(""), Code.REDRIVE_NOT_FOUND, "redrive_id"),
        (ListRedrives("nothing"), Code.TOPIC_NOT_FOUND, "topic"),
    ],
)
def test_what_cannot_be_is_refused_by_the_field(request_: object, code: Code, name: str) -> None:
    broker = with_letters(SimulatedDisk(), 1)
    refusal = refused(broker.answer(request_))  # type: ignore[arg-type]
    assert (refusal.code, refusal.field) == (code, name)


# --- whatever breaks on the way


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("request_", [StartRedrive("orders.dlq", sieve=Sieve(key=b"k")), PurgeDead("orders.dlq")])
def test_a_stop_at_any_moment_sends_each_letter_back_once_and_counts_it_once(
    seed: int, request_: StartRedrive | PurgeDead
) -> None:
    """At every operation of the disk: what a crash there leaves is opened, and must come to the same."""
    disk = SimulatedDisk(seed)
    broker = with_letters(disk, 5)
    publish(broker, 1, 5, b"other")
    kill_all(broker)
    is_purge = isinstance(request_, PurgeDead)
    expected = [] if is_purge else numbers(5)
    began: list[str] = []
    looks = [0]

    def look(_: str) -> None:
        looks[0] += 1
        stopped = disk.copy(seed * 1000 + looks[0])
        stopped.crash()
        again = begun(stopped)
        again.later(1)
        again.later(5)
        jobs = listed(again)
        assert len(jobs) == 1 or not began
        assert sent_back(again, 6) == (expected if jobs else []), looks[0]
        assert len(again.records("orders.dlq")) == 6
        letters = 6 if not jobs else 0 if is_purge else 1
        assert counts(again) == {"orders.dlq": letters}
        for job in jobs:
            assert (job.state, job.looked, job.moved) == (RedriveState.DONE, 6, 6 - letters), looks[0]

    faults, disk.faults = disk.faults, Witness(look)
    reply = broker.await_answer(request_)
    assert isinstance(reply, RedriveReply)
    began.append(reply.redrive_id)
    broker.settle()
    disk.faults = faults
    assert sent_back(broker, 6) == expected
    assert looks[0] > 15


@pytest.mark.parametrize("stream", ["logs/orders.dlq/0", "logs/orders.dlq/0/ledger", "logs/orders/0"])
@pytest.mark.parametrize("operation", ["sync", "write", "read"])
@pytest.mark.parametrize("after", range(4))
def test_a_disk_that_fails_on_the_way_delays_a_redrive_and_doubles_nothing(
    stream: str, operation: str, after: int
) -> None:
    disk = SimulatedDisk(7)
    broker = with_letters(disk, 20)
    # The ledger is there from here on.
    redrive(broker, StartRedrive("orders.dlq", limit=1))
    disk.fail_next(operation, errno.EIO, stream, after)
    reply = broker.answer(StartRedrive("orders.dlq", rate=50))
    for _ in range(20):
        broker.later(0.1)
    for _ in range(4):
        broker.later(40)
    states = [job.state for job in listed(broker)]
    assert states in ([RedriveState.DONE] * len(states), [RedriveState.FAILED, RedriveState.DONE])
    back = sent_back(broker, 20)
    assert back == numbers(len(back))
    assert counts(broker) == {"orders.dlq": 20 - len(back)}
    if isinstance(reply, RedriveReply):
        assert len(states) == 2
    if states == [RedriveState.DONE] * 2:
        assert len(back) == 20


def test_letters_that_come_where_others_were_lost_are_not_taken_for_gone() -> None:
    disk = SimulatedDisk(5)
    broker = begun(disk)
    broker.create("orders.dlq", fsync="none")
    broker.create("orders")
    publish(broker, 4)
    kill_all(broker)
    assert redrive(broker).moved == 4
    # The ledger survives, and the letters do not.
    for path in disk.paths():
        if path.startswith("logs/orders.dlq/0/ledger"):
            disk.open(path).sync()
    disk.sync_folder("logs/orders.dlq/0/ledger")
    disk.crash(0.0)
    again = begun(disk)
    assert again.records("orders.dlq") == []
    assert [job.moved for job in listed(again)] == [4]
    kill_all(again)
    assert counts(again) == {"orders.dlq": 4}
    assert len(browse(again)) == 4
    assert redrive(again).moved == 4
    assert sent_back(again, 8) == numbers(4)


def test_letters_that_are_damaged_end_a_redrive_with_the_reason_and_are_shown_to_nobody() -> None:
    disk = SimulatedDisk(5)
    broker = with_letters(disk, 3)
    disk.rot("logs/orders.dlq/0/00000000000000000000.log", 200, 3)
    for path in disk.paths():
        if path.startswith("logs/orders.dlq/0/"):
            disk.evict(path)
    ended = redrive(broker)
    assert ended.state is RedriveState.FAILED
    assert "orders.dlq" in ended.error
    assert refused(broker.answer(BrowseDead("orders.dlq"))).code is Code.DAMAGED
    assert len(broker.records("orders")) == 3
    assert counts(broker) == {"orders.dlq": 3}


def test_letters_in_memory_can_be_let_go_of_at_any_moment() -> None:
    broker = with_messages(SimulatedDisk(), 8)
    given = poll(broker, join(broker))
    broker.ask(RejectWork(receipts(given)))
    for _ in range(30):
        broker.turn()
        broker.node.forget_recent(broker.now)
    assert sources(broker) == [*range(8)]
    to = broker.ask(StartRedrive("orders.dlq"))
    for _ in range(60):
        broker.turn()
        broker.node.forget_recent(broker.now)
    reply = broker.taken(to)
    assert isinstance(reply, RedriveReply)
    assert described(broker, reply.redrive_id).moved == 8
    assert sent_back(broker, 8) == numbers(8)
