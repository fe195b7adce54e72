"""A buffer of the pool is lent again only when nobody can see its bytes."""

import gc
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.storage.buffers import BufferPool


def only_buffer(pool: BufferPool) -> bytearray:
    """Takes a buffer, as a test that keeps the result in no variable must not see another one."""
    buffer = pool.take(1)
    assert len(buffer) == pool.buffer_bytes
    return buffer


def test_a_buffer_that_nobody_holds_is_lent_again() -> None:
    pool = BufferPool(64, 1)
    only_buffer(pool)[:3] = b"abc"
    assert pool.lent() == 0
    assert only_buffer(pool)[:3] == b"abc"


@pytest.mark.parametrize(
    "hold",
    [
        lambda buffer: buffer,
        lambda buffer: [buffer],
        lambda buffer: {"key": buffer},
        lambda buffer: lambda: buffer,
        memoryview,
        lambda buffer: memoryview(buffer)[10:20],
        lambda buffer: memoryview(buffer)[10:20][2:5],
        lambda buffer: memoryview(memoryview(buffer)[::2]),
        lambda buffer: memoryview(buffer).cast("I"),
        lambda buffer: memoryview(buffer)[8:24].cast("Q")[1:].cast("B"),
        lambda buffer: memoryview(buffer).toreadonly()[1:2],
        iter,
        lambda buffer: buffer.extend,
    ],
)
def test_whatever_still_sees_a_buffer_keeps_it_out(hold: Callable[[bytearray], object]) -> None:
    pool = BufferPool(64, 1)
    held = hold(pool.take(10))
    assert pool.lent() == 1
    other = pool.take(10)
    assert len(other) == 10
    del other, held
    assert pool.lent() == 0
    assert len(pool.take(10)) == 64


def test_the_last_of_several_slices_decides() -> None:
    pool = BufferPool(64, 1)
    view = memoryview(pool.take(64))
    head, tail = view[:10], view[10:][5:]
    view.release()
    del view
    assert pool.lent() == 1
    del head
    assert pool.lent() == 1
    tail[0] = 7
    tail.release()
    assert pool.lent() == 0


def test_copies_hold_nothing() -> None:
    pool = BufferPool(64, 1)
    view = memoryview(pool.take(64))
    copies = [bytes(view), view.tobytes(), bytearray(view)]
    del view
    assert pool.lent() == 0
    assert len(copies) == 3


def test_a_cycle_holds_its_buffer_until_it_is_collected() -> None:
    pool = BufferPool(64, 1)
    cycle: list[object] = [memoryview(pool.take(64))]
    cycle.append(cycle)
    del cycle
    gc.collect()
    assert pool.lent() == 0


def test_more_than_the_pool_holds_is_fresh_and_forgotten() -> None:
    pool = BufferPool(64, 2)
    held = [pool.take(5) for _ in range(4)]
    assert [len(buffer) for buffer in held] == [64, 64, 5, 5]
    assert pool.lent() == 2
    assert len({id(buffer) for buffer in held}) == 4


def test_what_is_larger_than_the_pool_keeps_is_fresh_and_takes_no_place() -> None:
    pool = BufferPool(64, 1)
    assert len(pool.take(65)) == 65
    assert pool.lent() == 0
    assert len(pool.take(64)) == 64
    assert len(pool.take(0)) == 64


def test_the_same_few_buffers_are_preferred() -> None:
    pool = BufferPool(64, 4)
    first = pool.take(1)
    burst = [pool.take(1) for _ in range(3)]
    number = id(first)
    del first, burst
    assert id(pool.take(1)) == number


def test_a_pool_may_keep_nothing() -> None:
    pool = BufferPool(64, 0)
    assert len(pool.take(10)) == 10
    assert pool.lent() == 0


@given(
    st.lists(
        st.tuples(st.sampled_from(["take", "slice", "drop"]), st.integers(0, 100), st.integers(0, 40)), max_size=60
    )
)
def test_no_two_holders_ever_share_bytes(steps: list[tuple[str, int, int]]) -> None:
    pool = BufferPool(32, 3)
    # Each taken buffer is stamped with its number; views made later have to see the same stamp as long as they live.
    views: list[tuple[int, memoryview]] = []
    for number, (step, which, size) in enumerate(steps):
        if step == "take":
            view = memoryview(pool.take(size))
            view[:] = bytes([number]) * len(view)
            views.append((number, view[: max(1, size)]))
            del view
        elif views and step == "slice":
            stamp, view = views[which % len(views)]
            views[which % len(views)] = (stamp, view[len(view) // 2 :])
            del view
        elif views:
            del views[which % len(views)]
        for stamp, seen in views:
            assert set(seen) <= {stamp}
        assert pool.lent() <= 3
