"""Where requests belong: what only a leader may do is never passed on."""

import pytest

from goqueue.core.cluster.apply import ClusterState
from goqueue.core.cluster.records import PartitionPlaced, TopicCreated
from goqueue.core.requests.call import Call
from goqueue.core.requests.groups import GroupHeartbeat, MeasureGroups
from goqueue.core.requests.internal import RollSide, TrimSide
from goqueue.core.requests.messages import Fetch, InitProducer, PublishBatch, Side
from goqueue.core.requests.queues import AckWork
from goqueue.core.requests.row import ServiceName
from goqueue.core.requests.topics import CreateTopic
from goqueue.core.routing.routes import Routes
from tests.core.calls import call, own_call

DELAYS = own_call(1, ServiceName.DELAYS)
OTHER_SERVICE = own_call(1, ServiceName.GROUPS)


class Agreed:
    """What a node knows."""

    def __init__(self) -> None:
        self.state = ClusterState()
        self.state.apply(TopicCreated("orders", 1, 2, "{}", 0))
        self.state.apply(TopicCreated("alone", 2, 1, "{}", 0))
        for partition, leader in enumerate("ab"):
            self.state.apply(PartitionPlaced("orders", partition, ["a", "b"], ["a", "b"], leader, 1, 1))

    def get(self) -> ClusterState:
        return self.state

    def controller(self) -> str:
        return "c"


def routes() -> Routes:
    agreed = Agreed()
    return Routes("a", agreed.get, agreed.controller)


def test_what_concerns_a_partition_belongs_to_its_leader() -> None:
    assert routes().node(call(1), PublishBatch("orders", 1, bytearray())) == "b"
    assert routes().node(call(1), Fetch("orders", 0, 0)) == "a"


def test_a_topic_or_a_partition_that_is_not_known_is_refused_here() -> None:
    assert routes().node(call(1), Fetch("nothing", 0, 0)) is None
    assert routes().node(call(1), Fetch("orders", 2, 0)) is None


def test_a_topic_of_a_node_that_was_alone_is_used_here() -> None:
    assert routes().node(call(1), Fetch("alone", 0, 0)) is None
    assert routes().is_all_here("alone")


def test_what_is_decided_for_all_belongs_to_the_controller() -> None:
    assert routes().node(call(1), CreateTopic("new")) == "c"
    assert routes().node(own_call(9), InitProducer()) == "c"


def test_groups_belong_to_the_leader_of_their_journal_and_without_one_to_the_node_that_is_asked() -> None:
    agreed = Agreed()
    found = Routes("a", agreed.get, agreed.controller)
    beat = GroupHeartbeat("g", "m", 1)
    assert found.node(call(1), beat) is None
    agreed.state.apply(TopicCreated("__groups", 3, 1, "{}", 0))
    agreed.state.apply(PartitionPlaced("__groups", 0, ["a", "b"], ["b"], "b", 1, 1))
    assert found.node(call(1), beat) == "b"
    assert found.node(call(1), MeasureGroups()) is None
    agreed.state.apply(PartitionPlaced("__groups", 0, ["a", "b"], ["b"], "", 1, 2))
    assert found.node(call(1), beat) is None


def test_work_is_shared_out_by_its_room() -> None:
    assert routes().node(call(1), AckWork([])) is None


@pytest.mark.parametrize(
    ("wish", "request_"),
    [
        (OTHER_SERVICE, PublishBatch("orders", 1, bytearray(), side=Side.LEDGER)),
        (OTHER_SERVICE, PublishBatch("__groups", 0, bytearray())),
        (DELAYS, PublishBatch("orders", 1, bytearray())),
        (OTHER_SERVICE, Fetch("orders", 1, 0, side=Side.SCHEDULE)),
        (OTHER_SERVICE, RollSide("orders", 1, Side.LEDGER)),
        (OTHER_SERVICE, TrimSide("orders", 1, Side.LEDGER, 5)),
    ],
)
def test_what_only_a_leader_may_write_is_never_passed_on(wish: Call, request_: object) -> None:
    assert routes().node(wish, request_) is None


def test_other_wishes_of_rooms_are_passed_on() -> None:
    assert routes().node(OTHER_SERVICE, PublishBatch("orders", 1, bytearray())) == "b"
    assert routes().node(DELAYS, Fetch("orders", 1, 0)) == "b"


def test_whether_all_of_a_topic_is_here_is_looked_up_again_after_a_change() -> None:
    agreed = Agreed()
    found = Routes("a", agreed.get, agreed.controller)
    assert not found.is_all_here("orders")
    agreed.state.apply(PartitionPlaced("orders", 1, ["a", "b"], ["a", "b"], "a", 2, 2))
    found.changed()
    assert found.is_all_here("orders")
