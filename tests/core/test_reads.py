"""Reads of one turn are bounded together; those that wait their turn are made in the order they were asked."""

from goqueue.core.log.effects import Read, ReadResult
from goqueue.core.ready import Ready
from goqueue.core.verbs import Fetch, Fetched, NewRecord, Publish
from tests.core.driven_node import DrivenNode

MIB = 1 << 20


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
