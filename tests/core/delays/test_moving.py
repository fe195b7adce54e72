"""Moves that are written one behind the other, and what is answered of them."""

from types import SimpleNamespace
from typing import Any

from goqueue.core.delays.errands import Budget, Errands
from goqueue.core.delays.moving import Delivered, Mover
from goqueue.core.delays.schedule import Schedule
from goqueue.core.records.batch import Lane
from goqueue.core.records.build import encode
from goqueue.core.requests.messages import Fetch, Fetched, PublishBatch, Published, PublishReply
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.row import ServiceName
from goqueue.core.services.internal_requests import InternalRequests

FULL = Refusal(Code.NOT_ENOUGH_REPLICAS, "nothing was stored")


def written(*dues: int) -> tuple[Mover, list[int]]:
    """Messages that are due at these times, each written by itself; the numbers of the writes."""
    wishes, schedule = InternalRequests(ServiceName.DELAYS), Schedule()
    for offset, due_ms in enumerate(dues):
        schedule.add(offset, due_ms, Lane.NORMAL)
    mover = Mover(Errands(("orders", 0), wishes), schedule, Delivered())
    plan = schedule.plan_moves(0, max(dues), len(dues))
    assert plan is not None
    schedule.apply(plan)
    mover.intend([*schedule.moves], 0)
    mover.durable(0)
    stream: Any = SimpleNamespace(log=SimpleNamespace(size_bytes=1_000, next_offset=len(dues), start_offset=0))
    mover.fetch(stream)
    [(read, fetch)] = wishes.take()
    assert isinstance(fetch, Fetch)
    batch = encode([(due_ms, None, b"%d" % due_ms, ()) for due_ms in dues])
    mover.found(read.number, Fetched(bytes(batch), len(dues), len(dues), 0), Budget())
    for due_ms in dues:
        mover.write(due_ms, Budget())
    mover.check()
    asked = wishes.take()
    assert all(isinstance(wish, PublishBatch) for _, wish in asked)
    assert len(asked) == len(dues)
    return mover, [call.number for call, _ in asked]


def stored(offset: int) -> PublishReply:
    """A write that was taken."""
    return PublishReply([Published(0, offset)])


def test_writes_are_answered_in_their_order() -> None:
    mover, numbers = written(10, 20)
    assert [mover.published(30, number, stored(at)) for at, number in enumerate(numbers)] == [None, None]
    mover.check()


def test_a_refusal_is_heard_while_an_earlier_write_waits_for_other_replicas() -> None:
    mover, [first, second] = written(10, 20)
    assert mover.published(30, second, PublishReply([FULL])) is FULL
    assert mover.published(30, first, FULL) is FULL


def test_what_is_said_of_writes_that_were_given_up_is_of_no_interest() -> None:
    mover, [first, second] = written(10, 20)
    assert mover.published(30, first - 100, FULL) is None
    assert mover.published(30, second - 100, stored(0)) is None
