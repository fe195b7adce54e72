"""Groups that nobody uses are forgotten by whichever node coordinates, on all nodes, queues and all."""

import pytest

from goqueue.core.queues.leader import WorkLeader
from goqueue.core.queues.reader import QueueReader
from goqueue.core.requests.groups import (
    AlterGroup,
    CommitOffsets,
    CommittedOffsets,
    DescribeGroup,
    FetchOffsets,
    GroupReply,
    Joined,
    JoinGroup,
    LeaveGroup,
    ListGroups,
    PartitionOffset,
)
from goqueue.core.requests.refusals import Code, Refusal
from tests.core.grouped_cluster import GroupedCluster

SHORT: dict[str, object] = {"offsets_retention": "10s"}


def names(cluster: GroupedCluster) -> list[str]:
    reply = cluster.answer(cluster.living()[0], ListGroups())
    assert isinstance(reply, list)
    return [one.group for one in reply if isinstance(one, GroupReply)]


def queues(cluster: GroupedCluster, group: str) -> int:
    """On how many partitions a group has a queue, on all nodes."""
    count = 0
    for name in cluster.living():
        [work] = [room for room in cluster.node(name)._services.services if isinstance(room, WorkLeader)]
        count += sum(group in book.queues for book in work.books.values())
    return count


def shared(cluster: GroupedCluster) -> str:
    """A member of a shared group that is not kept for long."""
    member = cluster.share("n1", session_ms=600_000)
    for partition in range(3):
        cluster.publish(b"%d" % partition, partition=partition)
    while queues(cluster, "workers") < 3:
        cluster.poll("n2", member)
        cluster.advance(100)
    return member


def test_a_group_is_forgotten_in_time_whoever_coordinates_meanwhile() -> None:
    cluster = GroupedCluster()
    member = cluster.answer("n1", JoinGroup("billing", ["orders"], config={**SHORT}))
    assert isinstance(member, Joined), member
    for partition in range(3):
        cluster.publish(b"a", partition=partition)
    cluster.commit("n2", member, {0: 1, 1: 1})
    assert cluster.answer("n3", LeaveGroup("billing", member.member_id)) is None
    begun = cluster.now
    cluster.advance(3_000)
    cluster.kill(cluster.leader("__groups", 0))
    cluster.until(lambda: cluster.leader("__groups", 0) in cluster.living(), 30_000)
    described = cluster.answer(cluster.living()[0], DescribeGroup("billing"), 5_000)
    assert isinstance(described, GroupReply), described
    assert cluster.now - begun < 10_000_000_000, "what was to be shown is over"
    cluster.advance((10_500_000_000 - (cluster.now - begun)) // 1_000_000)
    assert names(cluster) == []
    gone = cluster.answer(cluster.living()[0], FetchOffsets("billing"))
    assert isinstance(gone, Refusal)
    assert gone.code is Code.GROUP_NOT_FOUND
    reports = [line for name in cluster.living() for line in cluster.members[name].reports]
    assert len([line for line in reports if "forgotten" in line and "billing" in line]) == 1


def test_a_shared_group_is_forgotten_with_its_queues_on_all_nodes() -> None:
    cluster = GroupedCluster()
    member = shared(cluster)
    cluster.answer("n1", AlterGroup("workers", {**SHORT}))
    assert cluster.answer("n3", LeaveGroup("workers", member)) is None
    cluster.advance(9_000)
    assert (names(cluster), queues(cluster, "workers")) == (["workers"], 3)
    cluster.advance(3_000)
    assert (names(cluster), queues(cluster, "workers")) == ([], 0)


@pytest.mark.parametrize("cut_off", [False, True])
def test_a_shared_group_is_kept_while_a_node_has_something_under_way_or_cannot_be_asked(
    monkeypatch: pytest.MonkeyPatch, cut_off: bool
) -> None:
    cluster = GroupedCluster(replicas=1)
    member = shared(cluster)
    cluster.answer("n1", AlterGroup("workers", {**SHORT}))
    assert cluster.answer("n3", LeaveGroup("workers", member)) is None
    coordinator = cluster.leader("__groups", 0)
    [far, *_] = [name for name in cluster.others(coordinator) if name != cluster.controller()]
    if cut_off:
        cluster.kill(far)
    else:
        monkeypatch.setattr(QueueReader, "open", property(lambda desk: desk.slot == ("orders", 1)))
    cluster.advance(30_000)
    assert names(cluster) == ["workers"]
    monkeypatch.undo()
    if cut_off:
        cluster.start(far)
    cluster.advance(25_000)
    assert names(cluster) == []


def test_a_standalone_reader_is_not_forgotten_while_it_commits() -> None:
    cluster = GroupedCluster()
    cluster.publish(b"a", b"b", partition=0)
    commit = CommitOffsets("alone", "", 0, [PartitionOffset("orders", 0, 1)])
    assert cluster.answer("n1", commit) == CommittedOffsets([])
    cluster.answer("n1", AlterGroup("alone", {**SHORT}))
    for _ in range(6):
        cluster.advance(5_000)
        assert cluster.answer("n2", commit) == CommittedOffsets([])
    assert names(cluster) == ["alone"]
    cluster.advance(11_000)
    assert names(cluster) == []
