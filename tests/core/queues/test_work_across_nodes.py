"""Work queues whose partitions several nodes lead: any node serves all of them, and none is lost with a node."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from goqueue.core.groups.leader import GroupLeader
from goqueue.core.queues import rounds
from goqueue.core.queues.leader import WorkLeader
from goqueue.core.queues.receipts import spelled_receipt
from goqueue.core.requests.groups import (
    DeleteGroup,
    FetchOffsets,
    GroupMode,
    GroupOffset,
    Joined,
    JoinGroup,
    LeaveGroup,
    OffsetChange,
    ResetOffsets,
    ResetTo,
)
from goqueue.core.requests.queues import (
    AckWork,
    ExtendWork,
    LanesMeasured,
    MeasureLanes,
    MeasureWork,
    NackWork,
    PolledWork,
    PollWork,
    QueueMeasure,
    ReceiptRun,
    RejectWork,
    ReleaseWork,
    WorkDone,
    WorkMeasured,
)
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.topics import CreateTopic, DeleteTopic
from tests.core.grouped_cluster import GroupedCluster, S, found_in, place_of

NODES = ["n1", "n2", "n3"]


@pytest.mark.parametrize("name", NODES)
def test_a_member_gets_everything_through_any_node(name: str) -> None:
    cluster = GroupedCluster()
    for partition in range(3):
        cluster.publish(b"%d a" % partition, b"%d b" % partition, partition=partition)
    member = cluster.share(name)
    given: dict[bytes, tuple[ReceiptRun, int]] = {}
    for _ in range(3):
        given |= cluster.poll(name, member)
    assert sorted(given) == sorted(b"%d %c" % (partition, letter) for partition in range(3) for letter in b"ab")
    assert {attempt for _, attempt in given.values()} == {1}
    assert cluster.poll(name, member) == {}


def test_receipts_of_all_partitions_are_taken_together_by_any_node() -> None:
    cluster = GroupedCluster()
    for partition in range(3):
        cluster.publish(b"%d" % partition, partition=partition)
    member = cluster.share("n1")
    receipts = [receipt for _ in range(3) for receipt, _ in cluster.poll("n2", member).values()]
    assert sorted(map(place_of, receipts)) == [0, 1, 2]
    assert cluster.ack("n3", *receipts).done == 3
    again = cluster.ack("n1", *receipts)
    assert (again.done, again.refusals) == (3, [])
    made_up = ReceiptRun(receipts[0].stem[:-4] + "AAAA", receipts[0].first_offset)
    refused = cluster.ack("n2", made_up)
    assert [each.refusal.code for each in refused.refusals] == [Code.RECEIPT_INVALID]
    assert len(spelled_receipt(receipts[0].stem, 0)) == 72


@pytest.mark.parametrize("name", NODES)
@pytest.mark.parametrize(
    "request_of", [AckWork, NackWork, RejectWork, partial(ExtendWork, timeout_ms=1_000), ReleaseWork]
)
def test_receipts_that_were_given_to_another_member_than_is_named_are_refused(
    name: str, request_of: Callable[..., Any]
) -> None:
    cluster = GroupedCluster()
    cluster.publish(b"a", partition=0)
    cluster.publish(b"b", partition=1)
    member, other = cluster.share("n1"), cluster.share("n1")
    receipts = [receipt for _ in range(3) for receipt, _ in cluster.poll("n2", member).values()]
    refused = cluster.answer(name, request_of(receipts, member_id=other))
    assert isinstance(refused, WorkDone)
    assert refused.done == 0
    assert [each.refusal for each in refused.refusals] == [
        Refusal(Code.RECEIPT_INVALID, f"the receipt was not given to member {other}", "receipts")
    ] * 2
    too_long = cluster.answer(name, request_of(receipts, member_id="x" * 300))
    assert isinstance(too_long, Refusal)
    assert (too_long.code, too_long.field) == (Code.INVALID, "member_id")
    done = cluster.answer(name, request_of(receipts, member_id=member))
    assert isinstance(done, WorkDone)
    assert (done.done, done.refusals) == (2, [])


def test_a_receipt_alone_is_enough_for_whoever_has_it_and_worth_nothing_once_its_lease_is_anothers() -> None:
    cluster = GroupedCluster()
    cluster.publish(b"a", b"b", partition=0)
    first, second = cluster.share("n1", session_ms=600_000), cluster.share("n1", session_ms=600_000)
    [(receipt, _), (late, _)] = cluster.poll("n1", first).values()
    assert cluster.ack("n3", receipt).done == 1
    cluster.advance(40_000)
    [(again, attempt)] = cluster.poll("n2", second, wait_ns=20 * S).values()
    assert attempt == 2
    assert [each.refusal.code for each in cluster.ack("n3", late).refusals] == [Code.RECEIPT_EXPIRED]
    assert cluster.ack("n3", again).done == 1


def test_a_receipt_of_a_topic_is_none_of_the_next_one_of_that_name() -> None:
    cluster = GroupedCluster()
    cluster.publish(b"a", partition=0)
    member = cluster.share("n1", session_ms=600_000)
    [(before, _)] = cluster.poll("n1", member, wait_ns=2 * S).values()
    cluster.answer("n1", DeleteTopic("orders"))
    cluster.advance(2_000)
    cluster.answer("n1", CreateTopic("orders", 3, 3))
    cluster.until(lambda: all(cluster.leader("orders", number) for number in range(3)))
    cluster.publish(b"b", partition=0)
    after: list[ReceiptRun] = []
    for _ in range(5):
        after += [receipt for receipt, _ in cluster.poll("n1", member, wait_ns=2 * S).values()]
    assert before.first_offset == after[0].first_offset == 0
    for name in NODES:
        assert [each.refusal.code for each in cluster.ack(name, before).refusals] == [Code.RECEIPT_EXPIRED]
    assert cluster.ack("n2", *after).done == 1


def test_what_is_remembered_of_polls_does_not_grow_with_the_groups_there_ever_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rounds, "_GROUPS_MAX", 3)
    cluster = GroupedCluster()
    cluster.publish(b"a", partition=0)
    [work] = [room for room in cluster.node("n1")._services.services if isinstance(room, WorkLeader)]
    for number in range(8):
        member = cluster.share("n1", f"w{number}")
        assert [*cluster.poll("n1", member, group=f"w{number}", wait_ns=2 * S)] == [b"a"]
        assert cluster.answer("n1", LeaveGroup(f"w{number}", member)) is None
        assert cluster.answer("n1", DeleteGroup(f"w{number}")) is None
    assert 0 < len(work._rounds._next) <= 3


def test_who_waits_at_one_node_hears_of_messages_at_another() -> None:
    cluster = GroupedCluster()
    member = cluster.share("n1")
    assert cluster.poll("n1", member) == {}
    for partition in range(3):
        to = cluster.ask("n1", PollWork("workers", member, wait_ns=8 * S))
        cluster.advance(300)
        assert to not in cluster.members["n1"].answers
        cluster.publish(b"%d" % partition, partition=partition)
        cluster.advance(1)
        polled = cluster.members["n1"].answers.pop(to)
        assert isinstance(polled, PolledWork)
        assert [*found_in(polled)] == [b"%d" % partition]


def test_what_a_poll_did_not_take_is_free_and_counts_as_untried() -> None:
    cluster = GroupedCluster()
    member, other = cluster.share("n1"), cluster.share("n2")
    assert cluster.poll("n1", member) == {}
    to = cluster.ask("n1", PollWork("workers", member, wait_ns=8 * S))
    cluster.advance(100)
    # Both come within one turn: each node gives what it has, and the poll takes of one of them.
    for partition in range(3):
        cluster.publish(b"%d" % partition, partition=partition)
    cluster.advance(1)
    polled = cluster.members["n1"].answers.pop(to)
    assert isinstance(polled, PolledWork)
    taken = found_in(polled)
    rest: dict[bytes, tuple[ReceiptRun, int]] = {}
    for _ in range(3):
        rest |= cluster.poll("n2", other)
    assert sorted([*taken, *rest]) == [b"0", b"1", b"2"]
    assert {attempt for _, attempt in rest.values()} == {1}


def test_a_forgotten_poll_leaves_nothing_leased() -> None:
    cluster = GroupedCluster()
    member, other = cluster.share("n1"), cluster.share("n2")
    assert cluster.poll("n1", member) == {}
    to = cluster.ask("n1", PollWork("workers", member, wait_ns=8 * S))
    cluster.node("n1").forget(to)
    cluster.advance(10)
    for partition in range(3):
        cluster.publish(b"%d" % partition, partition=partition)
    given = [value for _ in range(3) for value in cluster.poll("n2", other)]
    assert sorted(given) == [b"0", b"1", b"2"]


def test_what_is_held_back_longer_than_its_poll_lasts_is_free_and_counts_as_untried() -> None:
    cluster = GroupedCluster()
    member = cluster.share("n1", session_ms=60_000)
    assert cluster.poll("n1", member) == {}
    partition = next(number for number in range(3) if cluster.leader("orders", number) == "n1")
    cluster.publish(b"a", partition=partition)
    cluster.advance(100)
    # No replica confirms the lease, so nobody hears of it before the round is over.
    cluster.isolate("n1")
    to = cluster.ask("n1", PollWork("workers", member, visibility_ms=1_000))
    cluster.advance(1_500)
    assert cluster.members["n1"].answers.pop(to) == PolledWork([])
    cluster.heal()
    cluster.advance(3_000)
    given = cluster.poll("n1", member, wait_ns=5 * S)
    assert {value: attempt for value, (_, attempt) in given.items()} == {b"a": 1}


def test_leases_and_attempts_outlive_the_leader_of_their_partition() -> None:
    cluster = GroupedCluster(1)
    cluster.publish(b"a", b"b", b"c", partition=0)
    leader = cluster.leader("orders", 0)
    other = cluster.others(leader)[0]
    member = cluster.share(other)
    given = cluster.poll(other, member)
    assert cluster.nack(other, given[b"a"][0], delay_ms=0).done == 1
    cluster.kill(leader)
    cluster.until(lambda: cluster.leader("orders", 0) not in ("", leader))
    # One receipt is from before, one message has failed once, and one is leased still.
    assert cluster.ack(other, given[b"b"][0]).done == 1
    assert {value: attempt for value, (_, attempt) in cluster.poll(other, member).items()} == {b"a": 2}
    again = cluster.poll(other, member, wait_ns=8 * S)
    for _ in range(5):
        again = again or cluster.poll(other, member, wait_ns=8 * S)
    assert {value: attempt for value, (_, attempt) in again.items()} in ({b"c": 2}, {b"a": 3, b"c": 2}, {b"a": 3})


def test_a_group_goes_on_when_its_coordinator_is_gone() -> None:
    cluster = GroupedCluster()
    member = cluster.share("n1")
    cluster.publish(b"before", partition=0)
    given = {value for _ in range(3) for value in cluster.poll("n1", member)}
    assert given == {b"before"}
    coordinator = cluster.leader("__groups")
    cluster.kill(coordinator)
    name = cluster.others()[0]
    cluster.until(lambda: cluster.leader("__groups") not in ("", coordinator))
    cluster.until(lambda: all(cluster.leader("orders", number) for number in range(3)))
    cluster.publish(b"after", partition=1, by=name)
    assert [*cluster.poll(name, member, wait_ns=5 * S)] == [b"after"]


@pytest.mark.parametrize(("is_lost", "attempt"), [(False, 1), (True, 2)])
def test_what_a_gone_member_had_is_free_on_all_nodes(*, is_lost: bool, attempt: int) -> None:
    cluster = GroupedCluster()
    for partition in range(3):
        cluster.publish(b"%d" % partition, partition=partition)
    gone, other = cluster.share("n1", session_ms=2_000), cluster.share("n2", session_ms=60_000)
    assert len([value for _ in range(3) for value in cluster.poll("n1", gone)]) == 3
    assert cluster.poll("n2", other) == {}
    if is_lost:
        cluster.advance(6_000)
    else:
        cluster.answer("n3", LeaveGroup("workers", gone))
        cluster.advance(100)
    given = {value: at for _ in range(3) for value, (_, at) in cluster.poll("n2", other).items()}
    assert given == {b"0": attempt, b"1": attempt, b"2": attempt}


def test_a_member_that_only_polls_lives_whichever_node_it_asks() -> None:
    cluster = GroupedCluster()
    name = cluster.others(cluster.leader("__groups") or "n1")[0]
    member = cluster.share(name, session_ms=1_500)
    away = cluster.others(cluster.leader("__groups"))[0]
    for _ in range(30):
        cluster.advance(200)
        assert cluster.poll(away, member) == {}


def test_somebody_who_is_no_member_hears_so_from_any_node() -> None:
    cluster = GroupedCluster()
    cluster.share("n1")
    for name in NODES:
        refusal = cluster.answer(name, PollWork("workers", "nobody"))
        assert isinstance(refusal, Refusal)
        assert refusal.code is Code.UNKNOWN_MEMBER
        refusal = cluster.answer(name, PollWork("nothing", "nobody"))
        assert isinstance(refusal, Refusal)
        assert refusal.code is Code.UNKNOWN_MEMBER


def test_how_far_a_group_has_come_is_told_of_all_partitions() -> None:
    cluster = GroupedCluster()
    for partition in range(3):
        cluster.publish(*[b"%d" % at for at in range(partition + 1)], partition=partition)
    member = cluster.share("n1")
    receipts = [receipt for _ in range(3) for receipt, _ in cluster.poll("n1", member).values()]
    assert cluster.ack("n1", *(each for each in receipts if place_of(each) != 1)).done == 4
    for name in NODES:
        offsets = cluster.answer(name, FetchOffsets("workers"))
        assert offsets == [
            GroupOffset("orders", 0, 1, 0),
            GroupOffset("orders", 1, 0, 2),
            GroupOffset("orders", 2, 3, 0),
        ]


def test_a_reset_is_made_on_all_nodes_or_on_none() -> None:
    cluster = GroupedCluster()
    for partition in range(3):
        cluster.publish(b"a", b"b", partition=partition)
    member = cluster.share("n1")
    receipts = [receipt for _ in range(3) for receipt, _ in cluster.poll("n1", member).values()]
    assert cluster.ack("n1", *(each for each in receipts if place_of(each) != 2)).done == 4
    reset = ResetOffsets("workers", "orders", ResetTo.EARLIEST)
    refusal = cluster.answer("n2", reset)
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.GROUP_NOT_EMPTY
    assert cluster.poll("n1", member) == {}
    assert cluster.ack("n1", *(each for each in receipts if place_of(each) == 2)).done == 2
    assert cluster.answer("n3", reset) == [OffsetChange(number, 2, 0) for number in range(3)]
    again = [value for _ in range(3) for value in cluster.poll("n2", member)]
    assert again == [b"a", b"b"] * 3


def test_a_group_that_was_deleted_has_no_queues_on_any_node() -> None:
    cluster = GroupedCluster()
    for partition in range(3):
        cluster.publish(b"%d" % partition, partition=partition)
    member = cluster.share("n1")
    receipts = [receipt for _ in range(3) for receipt, _ in cluster.poll("n1", member).values()]
    assert cluster.ack("n2", *receipts).done == 3
    assert cluster.answer("n2", LeaveGroup("workers", member)) is None
    assert cluster.answer("n3", DeleteGroup("workers")) is None
    again = cluster.share("n1")
    given = [value for _ in range(3) for value in cluster.poll("n3", again)]
    assert sorted(given) == [b"0", b"1", b"2"]


def test_what_is_counted_everywhere_is_the_sum_of_all_nodes() -> None:
    cluster = GroupedCluster()
    for partition in range(3):
        cluster.publish(*[b"x"] * (partition + 1), partition=partition)
    member = cluster.share("n1")
    given: list[ReceiptRun] = []
    for _ in range(3):
        polled = cluster.answer("n1", PollWork("workers", member))
        assert isinstance(polled, PolledWork)
        given += [ReceiptRun(each.stem, each.first_offset) for part in polled.parts for each in part.leases]
    assert cluster.ack("n2", given[0]).done == 1
    for name in NODES:
        measured = cluster.answer(name, MeasureWork(everywhere=True))
        assert isinstance(measured, WorkMeasured)
        assert (measured.delivered, measured.acked, sum(measured.ack_latency.counts)) == (6, 1, 1)
        assert measured.queues == [QueueMeasure("workers", "orders", 5, 0, 0, 0, 0)]
        lanes = cluster.answer(name, MeasureLanes("orders", everywhere=True))
        assert isinstance(lanes, LanesMeasured)
        in_flight = {number: sum(lane.in_flight for lane in each) for number, each in lanes.topics["orders"].items()}
        assert sum(in_flight.values()) == 5
        assert [*in_flight] == [0, 1, 2]
    own = cluster.answer("n1", MeasureWork())
    assert isinstance(own, WorkMeasured)
    assert own.delivered < 6


def test_a_leader_that_lost_touch_hands_out_nothing() -> None:
    cluster = GroupedCluster(1)
    cluster.publish(b"a", b"b", partition=0)
    leader = cluster.leader("orders", 0)
    member = cluster.share(leader)
    first = cluster.poll(leader, member, 1)
    assert [*first] == [b"a"]
    cluster.isolate(leader)
    early = cluster.ask(leader, PollWork("workers", member, 1))
    cluster.advance(6_000)
    late = cluster.ask(leader, PollWork("workers", member, 1))
    name = cluster.others(leader)[0]
    cluster.until(lambda: any(cluster.node(each).led.streams.get("logs/orders/0") for each in cluster.others(leader)))
    second: dict[bytes, tuple[ReceiptRun, int]] = {}
    for _ in range(20):
        cluster.advance(200)
        second |= cluster.poll(name, member)
    assert {value: attempt for value, (_, attempt) in second.items()} == {b"b": 1}
    answers = cluster.members[leader].answers
    for to in (early, late):
        polled = answers.get(to)
        assert not isinstance(polled, PolledWork) or not polled.parts
    assert cluster.ack(name, first[b"a"][0], second[b"b"][0]).done == 2
    cluster.heal()
    cluster.advance(40_000)
    assert cluster.poll(leader, cluster.share(leader)) == {}


def test_a_queue_keeps_its_ways_while_its_group_is_not_known() -> None:
    cluster = GroupedCluster()
    config: dict[str, object] = {"key_ordered": True, "max_attempts": 2}
    joined = cluster.answer("n1", JoinGroup("workers", ["orders"], mode=GroupMode.SHARED, config=config))
    assert isinstance(joined, Joined)
    for partition in range(3):
        cluster.publish(b"%d" % partition, partition=partition)
    assert len([value for _ in range(3) for value in cluster.poll("n1", joined.member_id)]) == 3
    name = cluster.others(cluster.leader("__groups"))[0]
    partition = next(number for number in range(3) if cluster.leader("orders", number) == name)
    groups, work = cluster.node(name)._services.services[:2]
    assert isinstance(groups, GroupLeader)
    assert isinstance(work, WorkLeader)
    queue = work.books["orders", partition].queues["workers"]
    assert (queue.settings.key_ordered, queue.settings.max_attempts) == (True, 2)
    groups._mirror.stop()
    assert not groups.knows("workers")
    work.topics_changed(cluster.now)
    assert (queue.settings.key_ordered, queue.settings.max_attempts) == (True, 2)


def test_a_queue_goes_on_when_its_ledger_had_too_few_replicas_for_a_while() -> None:
    cluster = GroupedCluster(1, min_insync_replicas=3)
    leader = cluster.leader("orders")
    member = cluster.share(leader, session_ms=60_000)
    assert cluster.poll(leader, member) == {}
    cluster.publish(b"a", partition=0)
    [gone, *_] = cluster.others(leader, cluster.controller())
    cluster.kill(gone)
    placed = cluster.node(leader).led.topics["orders"].placement
    cluster.until(lambda: gone not in getattr(placed(0), "isr", []))
    refused = cluster.members[leader].answers
    to = cluster.ask(leader, PollWork("workers", member))
    cluster.until(lambda: to in refused)
    assert isinstance(refused.pop(to), Refusal)
    cluster.advance(2_000)
    cluster.start(gone)
    cluster.until(lambda: gone in getattr(placed(0), "isr", []))
    cluster.advance(2_000)
    assert [*cluster.poll(leader, member)] == [b"a"]


def test_a_ledger_that_lacked_replicas_goes_on_when_they_are_back() -> None:
    cluster = GroupedCluster(1, 2, min_insync_replicas=2)
    cluster.publish(b"a", partition=0)
    leader = cluster.leader("orders", 0)
    placement = cluster.node(leader).led.topics["orders"].placement(0)
    assert placement is not None
    [follower] = [name for name in placement.replicas if name != leader]
    member = cluster.share(leader, session_ms=600_000)
    assert cluster.poll(leader, member).keys() == {b"a"}
    cluster.kill(follower)
    cluster.advance(12_000)
    cluster.advance(30_000)
    to = cluster.ask(leader, PollWork("workers", member))
    cluster.advance(2_000)
    polled = cluster.members[leader].answers.get(to)
    assert not isinstance(polled, PolledWork) or not polled.parts
    cluster.start(follower)
    cluster.advance(10_000)
    given: dict[bytes, tuple[ReceiptRun, int]] = {}
    for _ in range(30):
        given |= cluster.poll(leader, member)
        cluster.advance(500)
    assert given.keys() == {b"a"}
    assert cluster.ack(leader, given[b"a"][0]).done == 1
