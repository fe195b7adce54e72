"""Reads of one turn are bounded together and made in order; what a failed disk keeps to itself is refused."""

from goqueue.core.log.effects import Read, ReadResult
from goqueue.core.ready import Ready
from goqueue.core.requests.messages import Fetch, Fetched, FindOffset, NewRecord, Publish, PublishReply, Side
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.topics import DescribeTopic, TopicReply
from tests.core.driven_node import DrivenNode, opened_empty

MIB = 1 << 20
STREAM = "logs/orders/0"


def with_messages(recent_bytes: int = 0) -> DrivenNode:
    driven = DrivenNode(recent_bytes=recent_bytes).with_topic()
    driven.answer(Publish("orders", [NewRecord(None, b"value %d" % number) for number in range(10)]))
    return driven


def test_many_large_reads_are_made_over_several_turns_in_order() -> None:
    driven = with_messages()
    for _ in range(40):
        driven.ask(Fetch("orders", 0, 0, 4 * MIB))
    tokens = []
    for turn in range(3):
        driven.node.wake(driven.now)
        taken = driven.take().reads
        assert driven.take() == Ready()
        assert sum(one.request.max_bytes for one in taken if isinstance(one.request, Read)) <= 64 * MIB
        tokens += [one.token for one in taken]
        assert (driven.node.deadline() == 0) == (turn < 2)
        driven.node.check()
    assert tokens == sorted(tokens)
    assert len(tokens) == 40


def test_a_read_that_is_larger_than_the_bound_is_made_alone() -> None:
    driven = with_messages()
    for _ in range(2):
        driven.ask(Fetch("orders", 0, 0, 64 * MIB))
    for _ in range(2):
        driven.node.wake(driven.now)
        assert len(driven.take().reads) == 1


def test_whoever_follows_the_end_is_answered_from_memory_with_the_same_bytes_that_were_written() -> None:
    driven = with_messages(recent_bytes=MIB)
    waiting = driven.ask(Fetch("orders", 0, 10, wait_ns=1_000_000))
    asked = driven.ask(Publish("orders", [NewRecord(None, b"news")]))
    ready = driven.write()
    [batch] = [buffer for effect in ready.writes for buffer in getattr(effect, "buffers", [])]
    driven.sync(ready.writes)
    answers = driven.settle()
    fetched = answers[waiting]
    assert isinstance(fetched, Fetched)
    assert (bytes(fetched.batches), fetched.next_offset, fetched.high_watermark) == (bytes(batch), 11, 11)
    assert asked in answers


def test_what_a_failed_disk_may_have_lost_is_not_answered_from_memory() -> None:
    driven = with_messages(recent_bytes=MIB)
    driven.node.disk_failed(driven.now, "logs/orders/0", "gone")
    driven.ask(Fetch("orders", 0, 0))
    [read] = driven.reads()
    driven.node.read_done(driven.now, read.token, ReadResult(memoryview(b"what the disk has"), 10, 100))
    [send] = driven.take().sends
    assert isinstance(send.reply, Fetched)
    assert bytes(send.reply.batches) == b"what the disk has"


def behind_a_failed_disk() -> DrivenNode:
    """Ten messages that were acknowledged before their interval's sync, and then the disk fails."""
    driven = DrivenNode().with_topic(fsync="interval")
    driven.answer(Publish("orders", [NewRecord(None, b"value %d" % number) for number in range(10)]))
    driven.node.disk_failed(driven.now, STREAM, "no space left on device")
    return driven


def refused(reply: Reply) -> str:
    """What a client is told whose turn will come."""
    assert isinstance(reply, Refusal)
    assert (reply.code, reply.retry_after_ms) == (Code.UNAVAILABLE, 1000)
    return reply.message


def test_what_was_acknowledged_and_cannot_be_read_is_refused_at_once() -> None:
    driven = behind_a_failed_disk()
    for fetch in (Fetch("orders", 0, 0), Fetch("orders", 0, 9, wait_ns=1_000_000)):
        said = refused(driven.answer(fetch))
        assert said == "partition 0 of orders cannot be read from offset 0 on: no space left on device"


def test_at_its_end_a_partition_with_a_failed_disk_has_nothing_yet() -> None:
    driven = behind_a_failed_disk()
    assert driven.answer(Fetch("orders", 0, 10)) == Fetched(b"", 10, 10, 0)


def test_a_search_that_did_not_see_all_that_was_acknowledged_is_refused() -> None:
    driven = behind_a_failed_disk()
    assert "from offset 0 on" in refused(driven.answer(FindOffset("orders", 0, 0)))


def test_a_recovery_that_is_refused_is_the_reason_from_then_on() -> None:
    driven = behind_a_failed_disk()
    driven.node.open_failed(driven.now, STREAM, "damaged at byte 5")
    for request in (Fetch("orders", 0, 0), FindOffset("orders", 0, 0)):
        assert refused(driven.answer(request)).endswith("cannot be read from offset 0 on: damaged at byte 5")
    published = driven.answer(Publish("orders", [NewRecord(None, b"more")]))
    assert isinstance(published, PublishReply)
    assert isinstance(published.results[0], Refusal)
    assert published.results[0].message.endswith("takes no appends: damaged at byte 5")


def test_a_recovery_that_succeeds_in_the_end_leaves_nothing_of_the_refused_ones() -> None:
    driven = behind_a_failed_disk()
    driven.node.open_failed(driven.now, STREAM, "damaged at byte 5")
    driven.node.opened(driven.now, STREAM, opened_empty())
    assert isinstance(driven.answer(Publish("orders", [NewRecord(None, b"more")])), PublishReply)
    driven.ask(Fetch("orders", 0, 0))
    assert [one.request.stream for one in driven.reads()] == [STREAM]
    assert not driven.node.led.topics["orders"].lacks(0, Side.DATA)


def test_a_fetch_of_a_topic_by_its_id_is_refused_where_another_one_has_its_name() -> None:
    driven = with_messages()
    found = driven.answer(DescribeTopic("orders"))
    assert isinstance(found, TopicReply)
    assert isinstance(driven.answer(Fetch("orders", 0, 10, identity=found.identity)), Fetched)
    assert driven.answer(Fetch("orders", 0, 0, identity="1a-7")) == Refusal(
        Code.TOPIC_REPLACED,
        "topic orders is another one since: what was asked for had the id 1a-7, this one has " + found.identity,
        "topic_id",
    )
    gone = driven.answer(Fetch("ordres", 0, 0, identity=found.identity))
    assert isinstance(gone, Refusal)
    assert gone.code is Code.TOPIC_NOT_FOUND
