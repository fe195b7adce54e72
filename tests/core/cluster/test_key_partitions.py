"""Keys stay in their partitions when a topic gets more of them, until somebody says otherwise."""

from goqueue.core.requests.messages import NewRecord, Publish, Published, PublishReply
from goqueue.core.requests.topics import AddPartitions, AlterTopic
from tests.core.driven_node import DrivenNode


def places(driven: DrivenNode) -> list[int]:
    reply = driven.answer(Publish("orders", [NewRecord(b"%d" % key, b"value") for key in range(64)]))
    assert isinstance(reply, PublishReply)
    return [one.partition for one in reply.results if isinstance(one, Published)]


def test_added_partitions_get_no_keys_before_they_are_to() -> None:
    driven = DrivenNode().with_topic(partitions=3)
    before = places(driven)
    assert driven.answer(AddPartitions("orders", 7)) is None
    assert places(driven) == before
    driven.answer(AddPartitions("orders", 9))
    assert places(driven) == before
    driven.answer(AlterTopic("orders", {"key_partitions": 0}))
    assert {*places(driven)} == {*range(9)}


def test_messages_without_a_key_go_to_all_partitions() -> None:
    driven = DrivenNode().with_topic(partitions=1)
    driven.answer(AddPartitions("orders", 4))
    found = set[int]()
    for _ in range(8):
        reply = driven.answer(Publish("orders", [NewRecord(None, b"value")]))
        assert isinstance(reply, PublishReply)
        found |= {one.partition for one in reply.results if isinstance(one, Published)}
    assert found == {0, 1, 2, 3}
