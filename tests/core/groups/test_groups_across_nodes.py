"""Exclusive groups of several nodes: any node takes a member's requests, and one of them coordinates at a time."""

import pytest

from goqueue.core.requests.groups import (
    CommitOffsets,
    CommittedOffsets,
    FetchOffsets,
    GroupBeat,
    GroupHeartbeat,
    GroupOffset,
    OffsetChange,
    PartitionOffset,
    Polled,
    PollGroup,
    ResetOffsets,
    ResetTo,
    WatchGroup,
)
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.routing.messages import Forwarded
from tests.core.driven_cluster import CALLER
from tests.core.grouped_cluster import GroupedCluster, S

NODES = ["n1", "n2", "n3"]


@pytest.mark.parametrize("name", NODES)
def test_a_member_reads_all_partitions_through_any_node(name: str) -> None:
    cluster = GroupedCluster()
    for partition in range(3):
        cluster.publish(*[b"x"] * (partition + 1), partition=partition)
    member = cluster.join(name)
    read: dict[int, int] = {}
    for _ in range(3):
        read |= cluster.read(name, member)
    assert read == {0: 1, 1: 2, 2: 3}
    assert cluster.read(name, member) == {}
    assert cluster.commit(name, member, read).refusals == []
    other = cluster.others(name)[0]
    assert cluster.answer(other, FetchOffsets("billing")) == [
        GroupOffset("orders", number, number + 1, 0) for number in range(3)
    ]


@pytest.mark.parametrize("wait_ns", [0, 5 * S])
def test_a_poll_sees_what_was_published_at_another_node_at_once(wait_ns: int) -> None:
    cluster = GroupedCluster()
    member = cluster.join("n1")
    assert cluster.read("n1", member) == {}
    for partition in range(3):
        cluster.publish(b"x", partition=partition)
        assert cluster.read("n2", member, wait_ns=wait_ns) == {partition: 1}


def test_a_poll_that_comes_to_the_coordinator_twice_skips_nothing() -> None:
    cluster = GroupedCluster()
    cluster.publish(*[b"%d" % at for at in range(6)], partition=0)
    member = cluster.join("n1")
    name = cluster.others(cluster.leader("__groups"))[0]
    spans = []
    for _ in range(6):
        cluster.node(name).ask(cluster.now, 1_000_000, CALLER, PollGroup("billing", member.member_id, 1))
        ready = cluster.node(name).take(cluster.now)
        [letter] = [one for one in ready.letters if isinstance(one.message, Forwarded)]
        cluster.letters.append((name, letter.to, letter.message))
        cluster.advance(100)
        cluster.letters.append((name, letter.to, letter.message))
        cluster.advance(100)
        polled = cluster.members[name].answers.pop(1_000_000)
        assert isinstance(polled, Polled), polled
        spans += [(part.first_offset, part.end_offset) for part in polled.parts]
    assert spans == [(at, at + 1) for at in range(6)]


@pytest.mark.parametrize("partition", range(3))
def test_who_waits_is_told_of_messages_at_another_node(partition: int) -> None:
    cluster = GroupedCluster()
    member = cluster.join("n1")
    to = cluster.ask("n2", PollGroup("billing", member.member_id, wait_ns=9 * S))
    cluster.advance(300)
    assert to not in cluster.members["n2"].answers
    cluster.publish(b"x", partition=partition)
    cluster.advance(1)
    polled = cluster.members["n2"].answers.pop(to)
    assert isinstance(polled, Polled)
    assert [(part.partition, part.end_offset) for part in polled.parts] == [(partition, 1)]


def test_a_commit_is_not_refused_for_what_was_just_published_elsewhere() -> None:
    cluster = GroupedCluster()
    member = cluster.join("n1")
    for partition in range(3):
        cluster.publish(b"x", b"y", partition=partition)
        assert cluster.commit("n3", member, {partition: 2}).refusals == []
        [refused] = cluster.commit("n3", member, {partition: 3}).refusals
        assert refused.refusal.code is Code.OFFSET_OUT_OF_RANGE


def test_members_keep_their_partitions_when_the_coordinator_is_gone() -> None:
    cluster = GroupedCluster()
    for partition in range(3):
        cluster.publish(b"x", b"y", partition=partition)
    member = cluster.join("n1")
    assert cluster.commit("n1", member, {0: 1, 1: 1, 2: 1}).refusals == []
    coordinator = cluster.leader("__groups")
    cluster.kill(coordinator)
    name = cluster.others()[0]
    killed_at = cluster.now
    until = killed_at + 5 * S
    while cluster.now < until:
        beat = cluster.answer(name, GroupHeartbeat("billing", member.member_id, member.generation))
        if isinstance(beat, GroupBeat):
            break
    assert isinstance(beat, GroupBeat)
    assert beat.generation == member.generation
    assert beat.assigned == member.assigned == {"orders": [0, 1, 2]}
    cluster.until(lambda: all(cluster.leader("orders", number) for number in range(3)))
    assert cluster.commit(name, member, {0: 2, 1: 2, 2: 2}).refusals == []
    assert cluster.leader("__groups") not in ("", coordinator)
    cluster.advance(3_000)
    offsets = cluster.answer(name, FetchOffsets("billing"))
    assert isinstance(offsets, list)
    assert [each.offset for each in offsets if isinstance(each, GroupOffset)] == [2, 2, 2]


def test_a_consumer_sees_a_pause_and_no_error_when_the_leader_of_a_partition_is_gone() -> None:
    cluster = GroupedCluster()
    member = cluster.join("n1")
    coordinator = cluster.leader("__groups")
    gone = cluster.others(coordinator)[0]
    partition = next(number for number in range(3) if cluster.leader("orders", number) == gone)
    name = cluster.others(gone)[0]
    to = cluster.ask(name, PollGroup("billing", member.member_id, wait_ns=9 * S))
    cluster.kill(gone)
    cluster.advance(6_000)
    assert to not in cluster.members[name].answers
    cluster.publish(b"x", partition=partition, by=name)
    cluster.advance(1_000)
    polled = cluster.members[name].answers.pop(to)
    assert isinstance(polled, Polled)
    assert [(part.partition, part.end_offset) for part in polled.parts] == [(partition, 1)]


def test_who_waits_at_the_coordinator_that_is_cut_off_is_answered_by_the_next_one() -> None:
    cluster = GroupedCluster()
    member = cluster.join("n1")
    coordinator = cluster.leader("__groups")
    name = cluster.others(coordinator)[0]
    cluster.isolate(coordinator)
    cluster.advance(8_000)
    beat = cluster.answer(name, WatchGroup("billing", member.member_id, member.seen, S))
    assert isinstance(beat, GroupBeat)
    # The one that was cut off has no say any more, also while it does not know of the other.
    request = CommitOffsets("billing", member.member_id, member.generation, [PartitionOffset("orders", 0, 0)])
    to = cluster.ask(coordinator, request)
    cluster.advance(1_000)
    reply = cluster.members[coordinator].answers.get(to)
    assert not isinstance(reply, CommittedOffsets)
    cluster.heal()
    cluster.advance(5_000)
    assert cluster.commit(coordinator, member, {0: 0}).refusals == []


def test_a_reset_reaches_the_present_end_of_partitions_led_elsewhere() -> None:
    cluster = GroupedCluster()
    member = cluster.join("n1")
    assert cluster.commit("n1", member, {0: 0, 1: 0, 2: 0}).refusals == []
    cluster.advance(61_000)
    for partition in range(3):
        cluster.publish(b"x", partition=partition)
    reset = ResetOffsets("billing", "orders", ResetTo.LATEST)
    assert cluster.answer("n2", reset) == [OffsetChange(number, 0, 1) for number in range(3)]


def test_a_group_that_nobody_knows_is_refused_by_all() -> None:
    cluster = GroupedCluster()
    cluster.join("n1")
    for name in NODES:
        refusal = cluster.answer(name, PollGroup("nothing", "nobody"))
        assert isinstance(refusal, Refusal)
        assert refusal.code is Code.UNKNOWN_MEMBER


def test_a_coordinator_that_lost_touch_says_nothing_and_expires_nobody() -> None:
    cluster = GroupedCluster()
    member = cluster.join("n1", session_ms=4_000)
    coordinator = cluster.leader("__groups")
    others = cluster.others(coordinator)
    # Nobody is left who could elect another one.
    for one in (*others, coordinator):
        cluster.isolate(one)
    cluster.advance(3_500)
    for request in (
        GroupHeartbeat("billing", member.member_id, member.generation),
        WatchGroup("billing", member.member_id),
        PollGroup("billing", member.member_id),
    ):
        reply = cluster.members[coordinator].answers.get(cluster.ask(coordinator, request))
        assert reply is None or (isinstance(reply, Refusal) and reply.code is Code.UNAVAILABLE)
    cluster.advance(5_000)
    cluster.heal()
    beat = cluster.answer(coordinator, GroupHeartbeat("billing", member.member_id, member.generation))
    assert isinstance(beat, GroupBeat)
    assert beat.assigned == member.assigned
