"""What a log keeps of a machine: all that was answered, whatever is refused, lost or confirmed late."""

from random import Random

import pytest

from goqueue.core.records.batch import read_header
from goqueue.core.requests.messages import Fetch, InitProducer, PublishBatch
from goqueue.core.state.state_log import Standing
from tests.core.state.counter import NO, Counter, counter

SECOND = 1_000_000_000


def run(one: Counter, now: int = 0, *, confirms: bool = True) -> None:
    """Answer all that is asked, and confirm what is written."""
    stream = one.stream
    while True:
        stream.asked += one.requests.take()
        if stream.asked:
            call, request = stream.asked.pop(0)
            if isinstance(request, PublishBatch):
                stream.take(call.number, request)
            else:
                one.log.answered(now, call.number, stream.answer(request))
        elif stream.taken and confirms:
            one.log.answered(now, *stream.confirm())
        else:
            return
        one.log.check()


def opened() -> Counter:
    """A counter that has read its empty stream."""
    one = counter()
    one.log.opened(0)
    run(one)
    assert one.log.is_ready
    return one


def test_an_answer_is_given_when_what_it_rests_on_will_last() -> None:
    one = opened()
    one.add(5)
    run(one, confirms=False)
    assert (one.value, one.told) == (5, [])
    run(one)
    assert one.told == [5]


def test_a_load_has_a_number_that_no_other_has() -> None:
    one = opened()
    first = one.log.epoch
    one.log.opened(0)
    run(one)
    assert one.log.epoch == first + 1
    assert one.log.load == 2


def test_what_was_not_confirmed_in_time_is_waited_for_once_it_is_read_again() -> None:
    one = opened()
    one.add(5)
    run(one, confirms=False)
    number, end = one.stream.taken.pop()
    one.log.answered(0, number, NO)
    due = one.log.deadline()
    assert due is not None
    one.log.wake(due)
    [(numbering, _), *_] = one.requests.take()
    one.log.answered(due, numbering.number, one.stream.answer(InitProducer()))
    # The batch is written and nobody may read it: what the stream holds is not known.
    [(read, request)] = one.requests.take()
    one.log.answered(due, read.number, one.stream.answer(request))
    assert one.log.standing is Standing.LOADING
    [(read, request)] = one.requests.take()
    assert isinstance(request, Fetch)
    assert request.wait_ns > 0
    one.stream.confirmed = end
    one.log.answered(due, read.number, one.stream.answer(request))
    run(one)
    assert one.log.is_ready
    assert one.value == 5


def test_nothing_is_read_before_the_batches_of_an_earlier_load_were_answered() -> None:
    one = opened()
    one.add(5)
    one.add(6)
    run(one, confirms=False)
    number, _ = one.stream.taken.pop(0)
    one.log.answered(0, number, NO)
    one.log.wake(SECOND)
    [(numbering, request)] = one.requests.take()
    one.log.answered(SECOND, numbering.number, one.stream.answer(request))
    assert one.requests.take() == []
    one.stream.confirmed = one.stream.end()
    one.log.answered(SECOND, one.stream.taken.pop(0)[0], NO)
    run(one)
    assert one.log.is_ready
    assert one.value == 11


def test_pauses_grow_while_a_stream_cannot_be_read_and_are_short_again_after_that() -> None:
    one, now, pauses = opened(), 0, list[int]()
    one.log.failed("its disk")
    for _ in range(4):
        one.log.unreadable(now, "damaged")
        due = one.log.deadline()
        assert due is not None
        pauses.append(due - now)
        now = due
    assert pauses == [SECOND // 2, SECOND, 2 * SECOND, 4 * SECOND]
    one.log.wake(now)
    run(one, now)
    one.log.unreadable(now, "damaged")
    assert one.log.deadline() == now + SECOND // 2


def test_an_entry_that_cannot_be_is_named_and_tried_again() -> None:
    one = opened()
    one.log.append(0, [(b"other", b"1")])
    run(one)
    one.log.opened(0)
    run(one)
    assert one.log.standing is Standing.FAILED
    assert one.log.why == "this is no entry of a counter"
    assert one.log.deadline() is not None


def test_a_page_stands_for_all_before_it() -> None:
    one = opened()
    for amount in range(40):
        one.add(amount)
        run(one)
    assert one.stream.start > 0
    one.log.opened(one.stream.start)
    run(one)
    assert one.value == sum(range(40))


@pytest.mark.parametrize("seed", range(60))
def test_what_was_answered_lasts_whatever_happens(seed: int) -> None:
    random = Random(seed)
    one, now, most = counter(), 0, 0
    stream = one.stream
    one.log.opened(0)
    for _ in range(400):
        now += random.randrange(SECOND // 4)
        stream.asked += one.requests.take()
        chance = random.random()
        if chance < 0.02:
            # The leader changes: what was not confirmed may be lost, and everybody who waits hears of it.
            kept = random.choice([stream.confirmed, stream.end()])
            stream.batches = [batch for batch in stream.batches if stream_end(batch) <= kept]
            stream.confirmed = max(stream.confirmed, stream.end())
            stream.asked, stream.taken = [], []
            one.requests.take()
            one.log.failed("lost")
            one.log.opened(stream.start)
        elif chance < 0.06 and stream.taken:
            one.log.answered(now, stream.taken.pop(random.randrange(len(stream.taken)))[0], NO)
        elif chance < 0.3 and stream.taken:
            one.log.answered(now, *stream.confirm())
        elif chance < 0.6 and one.log.is_ready:
            one.add(random.randrange(1, 9))
        elif stream.asked:
            call, request = stream.asked.pop(0)
            if isinstance(request, PublishBatch):
                stream.take(call.number, request)
            else:
                one.log.answered(now, call.number, NO if random.random() < 0.05 else stream.answer(request))
        one.log.wake(now)
        one.log.check()
        most = max([most, *one.told])
    stream.confirmed, stream.asked, stream.taken = stream.end(), [], []
    one.requests.take()
    one.log.failed("lost")
    one.log.opened(stream.start)
    run(one, now)
    assert one.log.is_ready
    assert one.value >= most


def stream_end(batch: bytearray) -> int:
    """Where a batch ends."""
    return read_header(batch).next_offset
