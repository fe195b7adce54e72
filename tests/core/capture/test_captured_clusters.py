"""Every node of a cluster that is told again what it was told does again what it did."""

from goqueue.core.capture.recorder import Recorder
from goqueue.core.capture.replay import Replayer
from goqueue.core.node import Node
from goqueue.core.requests.cluster import Drain
from goqueue.core.requests.messages import Fetch, NewRecord, Publish
from goqueue.core.requests.topics import CreateTopic
from tests.core.capture.traffic import VOCABULARY
from tests.core.driven_cluster import DrivenCluster


class Notes:
    """What one process was told, from its beginning."""

    def __init__(self, node: Node) -> None:
        self.recorder = Recorder(node, VOCABULARY)
        self.files = [(0, self.recorder.begin_file(), b"")]

    def cut(self) -> None:
        """Begin another file."""
        first, content, _ = self.files.pop()
        self.files.append((first, content, self.recorder.take_block()))
        self.files.append((self.recorder.event_count, self.recorder.begin_file(), b""))

    def told_again(self) -> int:
        """How many events there were; all of them come to the same."""
        self.cut()
        replayer = Replayer(VOCABULARY)
        for first, content, block in self.files:
            found = replayer.begin(content, first) or (replayer.feed(block) if block else None)
            assert found is None, found
        return replayer.events


def recorded_cluster() -> tuple[DrivenCluster, list[Notes]]:
    notes: list[Notes] = []

    def recorded(node: Node) -> Node:
        notes.append(Notes(node))
        return notes[-1].recorder

    return DrivenCluster(3, recorded=recorded), notes


def test_all_that_three_nodes_did_is_done_again() -> None:
    cluster, notes = recorded_cluster()
    cluster.until(
        lambda: cluster.controller() != "" and all(len(cluster.node(one).peers()) == 2 for one in cluster.living())
    )
    cluster.answer("n1", CreateTopic("orders", 3, 3))
    for at in range(30):
        cluster.answer(f"n{at % 3 + 1}", Publish("orders", [NewRecord(b"%d" % at, b"v" * 200)]))
        if at == 10:
            for one in notes:
                one.cut()
    leader = cluster.leader("orders", 0)
    cluster.kill(leader)
    cluster.advance(5_000)
    [other, *_] = cluster.living()
    cluster.answer(other, Publish("orders", [NewRecord(None, b"after", partition=0)]))
    cluster.start(leader)
    cluster.advance(5_000)
    cluster.answer(leader, Fetch("orders", 0, 0))
    cluster.answer(other, Drain(leader))
    cluster.advance(1_000)
    assert len(notes) == 4
    assert all(one.told_again() > 100 for one in notes)
