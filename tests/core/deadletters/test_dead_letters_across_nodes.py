"""Dead letters among three nodes: moved, shown, sent back and purged by whoever leads their partitions, each once."""

from collections import Counter

import pytest

from goqueue.core.deadletters.letters import GROUP, OFFSET, PARTITION, REASON, TOPIC
from goqueue.core.deadletters.picking import Bounds, Named
from goqueue.core.deadletters.reading import Reading
from goqueue.core.queues.errands import Errands
from goqueue.core.requests.cluster import ElectLeaders
from goqueue.core.requests.deadletters import (
    BrowseDead,
    CancelRedrive,
    DeadLetter,
    DeadLetters,
    DeadTopic,
    DescribeRedrive,
    ListDeadTopics,
    ListRedrives,
    PurgeDead,
    RedriveReply,
    RedriveState,
    StartRedrive,
)
from goqueue.core.requests.groups import GroupMode, Joined, JoinGroup
from goqueue.core.requests.messages import NewRecord, Publish, Published, PublishReply
from goqueue.core.requests.queues import PolledWork, PollWork, ReceiptRun, RejectWork, WorkDone
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.row import ServiceName
from goqueue.core.requests.topics import CreateTopic, TopicReply
from goqueue.core.services.internal_requests import InternalRequests
from tests.core.driven_cluster import DrivenCluster
from tests.core.test_clustered_nodes import all_registered, partitions_of, publish, read, with_topic
from tests.storage.worked_broker import receipts

PARTITIONS = 3
LETTERS = 8


def with_letters(count: int = LETTERS) -> DrivenCluster:
    """Three nodes that lead a partition each of `orders` and of `orders.dlq`, with so many letters in each."""
    cluster = with_topic(partitions=PARTITIONS)
    assert isinstance(cluster.answer("n1", CreateTopic("orders.dlq", PARTITIONS, 3)), TopicReply)
    cluster.until(lambda: all(cluster.leader("orders.dlq", number) for number in range(PARTITIONS)))
    for number in range(PARTITIONS):
        letters = [letter(number, at) for at in range(count)]
        reply = cluster.answer("n1", Publish("orders.dlq", letters))
        assert isinstance(reply, PublishReply)
        assert all(isinstance(one, Published) for one in reply.results)
    return cluster


def letter(partition: int, at: int) -> NewRecord:
    past = {REASON: b"rejected", GROUP: b"billing", TOPIC: b"orders", PARTITION: b"%d" % partition, OFFSET: b"%d" % at}
    return NewRecord(b"key", b"%d-%d" % (partition, at), tuple(past.items()), partition)


def browse(cluster: DrivenCluster, name: str, limit: int = 100) -> list[DeadLetter]:
    """All letters, page by page."""
    found: list[DeadLetter] = []
    after: dict[int, int] = {}
    while True:
        reply = cluster.answer(name, BrowseDead("orders.dlq", limit=limit, after=after))
        assert isinstance(reply, DeadLetters), reply
        found += reply.letters
        assert len(reply.letters) <= limit
        if reply.after is None:
            return found
        after = reply.after


def counted(cluster: DrivenCluster, name: str) -> dict[str, int]:
    reply = cluster.answer(name, ListDeadTopics())
    assert isinstance(reply, list), reply
    return {one.topic: one.letters for one in reply if isinstance(one, DeadTopic)}


def begun(cluster: DrivenCluster, name: str, request: StartRedrive | PurgeDead) -> RedriveReply:
    reply = cluster.answer(name, request)
    assert isinstance(reply, RedriveReply), reply
    return reply


def ended(cluster: DrivenCluster, redrive_id: str, within_ms: int = 60_000) -> RedriveReply:
    """How a redrive has ended, by the word of some node."""
    until = cluster.now + within_ms * 1_000_000
    while True:
        reply = cluster.answer(cluster.living()[0], DescribeRedrive(redrive_id), within_ms)
        assert isinstance(reply, RedriveReply), reply
        if reply.state is not RedriveState.RUNNING:
            return reply
        assert cluster.now < until, reply
        cluster.advance(100)


def revived(cluster: DrivenCluster) -> Counter[bytes]:
    name = cluster.living()[0]
    return Counter(value for number in range(PARTITIONS) for value in read(cluster, name, partition=number))


def all_of(count: int = LETTERS) -> Counter[bytes]:
    return Counter(b"%d-%d" % (number, at) for number in range(PARTITIONS) for at in range(count))


@pytest.mark.parametrize("limit", [1, 5, 100])
def test_any_node_shows_the_letters_of_all(limit: int) -> None:
    cluster = with_letters()
    for name in cluster.living():
        found = browse(cluster, name, limit)
        assert [one.partition for one in found] == sorted(one.partition for one in found)
        assert Counter(one.value for one in found) == all_of()
        assert counted(cluster, name) == {"orders.dlq": PARTITIONS * LETTERS}


@pytest.mark.parametrize("name", ["n1", "n2", "n3"])
def test_any_node_sends_all_letters_back_once(name: str) -> None:
    cluster = with_letters()
    redrive = begun(cluster, name, StartRedrive("orders"))
    assert redrive.total == PARTITIONS * LETTERS
    done = ended(cluster, redrive.redrive_id)
    assert (done.state, done.error) == (RedriveState.DONE, "")
    assert (done.looked, done.matched, done.moved) == (PARTITIONS * LETTERS,) * 3
    assert revived(cluster) == all_of()
    for other in cluster.living():
        assert counted(cluster, other) == {"orders.dlq": 0}
        listed = cluster.answer(other, ListRedrives())
        assert isinstance(listed, list)
        assert listed == [done]


def test_a_limit_holds_over_all_nodes() -> None:
    cluster = with_letters()
    redrive = begun(cluster, "n1", StartRedrive("orders", limit=LETTERS + 3))
    done = ended(cluster, redrive.redrive_id)
    assert (done.state, done.moved) == (RedriveState.DONE, LETTERS + 3)
    assert revived(cluster).total() == LETTERS + 3
    assert counted(cluster, "n2") == {"orders.dlq": (PARTITIONS - 1) * LETTERS - 3}


def test_a_dry_run_counts_on_all_nodes_and_moves_nothing() -> None:
    cluster = with_letters()
    redrive = begun(cluster, "n3", StartRedrive("orders", dry_run=True))
    done = ended(cluster, redrive.redrive_id)
    assert (done.state, done.matched, done.moved) == (RedriveState.DONE, PARTITIONS * LETTERS, 0)
    assert revived(cluster).total() == 0


def test_a_purge_drops_the_letters_of_all_nodes() -> None:
    cluster = with_letters()
    redrive = begun(cluster, "n2", PurgeDead("orders.dlq"))
    done = ended(cluster, redrive.redrive_id)
    assert (done.state, done.moved) == (RedriveState.DONE, PARTITIONS * LETTERS)
    assert browse(cluster, "n1") == []
    assert revived(cluster).total() == 0


def test_any_node_cancels_a_redrive() -> None:
    cluster = with_letters(100)
    redrive = begun(cluster, "n1", StartRedrive("orders", rate=50))
    cluster.advance(1_000)
    away = next(name for name in cluster.living() if name != cluster.leader("orders.dlq"))
    cancelled = cluster.answer(away, CancelRedrive(redrive.redrive_id), 30_000)
    assert isinstance(cancelled, RedriveReply), cancelled
    assert cancelled.state is RedriveState.CANCELLED
    cluster.advance(3_000)
    assert revived(cluster).total() == cancelled.moved < 3 * 100


def test_an_unknown_redrive_is_found_nowhere() -> None:
    cluster = with_letters()
    reply = cluster.answer("n1", DescribeRedrive("0123456789abcdef"))
    assert isinstance(reply, Refusal)
    assert reply.code is Code.REDRIVE_NOT_FOUND


@pytest.mark.parametrize("victim", range(PARTITIONS))
@pytest.mark.parametrize("after_ms", [0, 400])
def test_a_redrive_survives_the_death_of_any_leader_and_sends_each_letter_once(victim: int, after_ms: int) -> None:
    cluster = with_letters(30)
    redrive = begun(cluster, "n1", StartRedrive("orders", rate=40))
    cluster.advance(after_ms)
    gone = cluster.leader("orders.dlq", victim)
    cluster.kill(gone)
    cluster.advance(6_000)
    cluster.start(gone)
    cluster.advance(1_000)
    done = ended(cluster, redrive.redrive_id)
    assert (done.state, done.error) == (RedriveState.DONE, "")
    assert revived(cluster) == all_of(30)
    assert counted(cluster, cluster.living()[0]) == {"orders.dlq": 0}


def test_a_limited_redrive_goes_on_when_a_partition_that_was_done_gets_another_leader() -> None:
    """Of 28 letters 20 are in the first two partitions, which one node leads until a third is under way."""
    cluster = with_letters(10)
    home, second = cluster.leader("orders.dlq", 0), cluster.leader("orders.dlq", 1)
    assert home != second
    cluster.kill(second)
    cluster.until(lambda: cluster.leader("orders.dlq", 1) == home)
    cluster.start(second)
    cluster.until(lambda: all(len(one.isr) == 3 for one in partitions_of(cluster, home, "orders.dlq")))
    redrive = begun(cluster, home, StartRedrive("orders", limit=28, rate=10))
    cluster.until(lambda: moved(cluster, home, redrive) > 20)
    cluster.answer(home, ElectLeaders("orders.dlq", 1))
    cluster.until(lambda: cluster.leader("orders.dlq", 1) == second)
    assert moved(cluster, home, redrive) < 28
    done = ended(cluster, redrive.redrive_id)
    assert (done.state, done.moved) == (RedriveState.DONE, 28)
    assert revived(cluster).total() == 28


def moved(cluster: DrivenCluster, name: str, redrive: RedriveReply) -> int:
    """How many letters a redrive has moved, by the word of a node."""
    reply = cluster.answer(name, DescribeRedrive(redrive.redrive_id))
    assert isinstance(reply, RedriveReply), reply
    return reply.moved


def test_the_tally_of_a_redrive_that_has_ended_is_closed_everywhere() -> None:
    cluster = with_letters()
    redrive = begun(cluster, "n1", StartRedrive("orders"))
    ended(cluster, redrive.redrive_id)
    cluster.advance(30_000)
    books = [
        book
        for name in cluster.living()
        for slot, book in cluster.node(name)._services.services[1].books.items()  # type: ignore[attr-defined]
        if slot[0] == "orders.dlq"
    ]
    assert len(books) == PARTITIONS
    assert all(book.moves.tallies == {} for book in books)


# --- what dies


def joined(cluster: DrivenCluster, name: str) -> str:
    """A member of a group that works through `orders`, who stays for long."""
    reply = cluster.answer(name, JoinGroup("billing", ["orders"], mode=GroupMode.SHARED, session_timeout_ms=600_000))
    assert isinstance(reply, Joined), reply
    return reply.member_id


def polled(cluster: DrivenCluster, name: str, member_id: str, count: int) -> list[ReceiptRun]:
    """What a member is given, of so many messages that it asks for."""
    reply = cluster.answer(name, PollWork("billing", member_id, count, wait_ns=100_000_000), 30_000)
    assert isinstance(reply, PolledWork), reply
    runs: list[ReceiptRun] = receipts(reply.parts)
    return runs


def rejected(cluster: DrivenCluster, partition: int, count: int) -> None:
    """Have a member reject messages of a partition, at the node that leads it."""
    name = cluster.leader("orders", partition)
    member_id = joined(cluster, name)
    left = count
    while left:
        runs = polled(cluster, name, member_id, left)
        if runs:
            done = cluster.answer(name, RejectWork(runs))
            assert isinstance(done, WorkDone), done
            left -= sum(run.count for run in runs)


@pytest.mark.parametrize("kill_after_ms", [None, 3, 200])
def test_what_is_rejected_is_buried_once_whoever_leads_the_letters(kill_after_ms: int | None) -> None:
    cluster = with_topic(partitions=PARTITIONS)
    values = [b"%d" % at for at in range(10)]
    for number in range(PARTITIONS):
        publish(cluster, "n1", *values, partition=number)
    rejected(cluster, 0, PARTITIONS * len(values))
    if kill_after_ms is not None:
        cluster.advance(kill_after_ms)
        gone = cluster.leader("orders", 1)
        cluster.kill(gone)
        cluster.advance(6_000)
        cluster.start(gone)
    cluster.until(lambda: all(cluster.leader("orders.dlq", number) for number in range(PARTITIONS)), 60_000)
    cluster.advance(40_000)
    letters = browse(cluster, "n1")
    found = Counter((one.source_partition, one.source_offset, one.value) for one in letters)
    assert found == Counter((number, at, value) for number in range(PARTITIONS) for at, value in enumerate(values))


def test_a_leader_that_was_out_of_office_for_long_buries_what_is_dead_as_soon_as_it_leads_again() -> None:
    """All nodes are cut off from each other, so that nobody else leads meanwhile."""
    cluster = with_topic()
    assert isinstance(cluster.answer("n1", CreateTopic("orders.dlq", 1, 3)), TopicReply)
    leader = cluster.leader("orders")
    publish(cluster, leader, b"one", b"two")
    runs = polled(cluster, leader, joined(cluster, leader), 2)
    assert sum(run.count for run in runs) == 2
    for name in cluster.living():
        cluster.isolate(name)
    cluster.ask(leader, RejectWork(runs))
    cluster.advance(40_000)
    assert not cluster.node(leader).led.is_in_office
    cluster.heal()
    cluster.until(lambda: cluster.node(leader).led.is_in_office)
    cluster.advance(2_000)
    assert cluster.leader("orders") == leader
    assert [one.value for one in browse(cluster, leader)] == [b"one", b"two"]


def test_what_a_new_leader_does_not_show_yet_is_not_taken_for_missing() -> None:
    """1. a message is acknowledged; 2. its leader dies; 3. who leads next knows of it, and not that all replicas do."""
    cluster = DrivenCluster(5)
    cluster.until(lambda: cluster.controller() != "" and all_registered(cluster))
    assert isinstance(cluster.answer("n1", CreateTopic("orders", 5, 3)), TopicReply)
    cluster.until(lambda: all(cluster.leader("orders", number) for number in range(5)))
    # The controller hears of all replicas, so all stay in sync for a while.
    state = cluster.node("n1")._agreement.state
    places = [place.replicas for place in state.topics["orders"].placements.values()]
    number = next(at for at, replicas in enumerate(places) if cluster.controller() not in replicas)
    first = cluster.leader("orders", number)
    publish(cluster, first, b"0", b"1", partition=number)
    cluster.kill(first)
    cluster.cut(*(name for name in places[number] if name != first))
    cluster.until(lambda: bool(cluster.leader("orders", number)))
    node = cluster.node(cluster.leader("orders", number))
    assert not node.led.streams[f"logs/orders/{number}"].is_settled
    deaths = dict.fromkeys(range(2), ("rejected", 1))
    pick = Named("orders", number, "billing", ("orders.dlq", 0), 0, deaths, Bounds(10, 1000))
    reading = Reading(Errands(InternalRequests(ServiceName.DEAD_LETTERS)), node.led, Nobody(), "orders", number, pick)
    reading.go()
    assert reading.has_ended
    assert reading.refusal is not None
    assert reading.refusal.code is Code.UNAVAILABLE
    assert pick.missing == []


class Nobody:
    """Who asks in nobody's name, and hears of nothing."""

    def answered(self, now: int, number: int, reply: object) -> None:
        """Nothing is asked."""
        raise AssertionError(reply)
