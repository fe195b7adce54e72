"""Batches in memory: what is answered is what was appended, and never more is kept than is allowed."""

from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.partition.recent import RecentBatches


def batch(number: int, size: int) -> bytes:
    return bytes([number % 256]) * size


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(1, 4), st.sampled_from([10, 100, 1_000, 40_000])), max_size=60
    ),
    st.integers(0, 40),
    st.integers(1, 3_000),
    st.integers(0, 60),
)
def test_what_is_found_is_the_logs_own_bytes_without_a_gap(
    appends: list[tuple[str, int, int]], offset: int, bytes_max: int, limit: int
) -> None:
    recent = RecentBatches(2_500)
    logs: dict[str, list[tuple[int, int, bytes]]] = {"a": [], "b": []}
    for number, (stream, count, size) in enumerate(appends):
        begin = logs[stream][-1][1] if logs[stream] else 0
        logs[stream].append((begin, begin + count, batch(number, size)))
        recent.add(stream, *logs[stream][-1])
        recent.check()
    for stream, log in logs.items():
        found = recent.read(stream, offset, bytes_max, limit)
        if found is None:
            continue
        content, next_offset = found
        wanted = [kept for begin, end, kept in log if end > offset and end <= next_offset]
        assert content == b"".join(wanted)
        assert offset < next_offset <= limit
        assert len(wanted) == 1 or len(content) <= bytes_max


def test_the_newest_batch_is_there_as_it_was_given() -> None:
    recent = RecentBatches(1 << 20)
    first, second = batch(1, 100), batch(2, 200)
    recent.add("s", 5, 7, first)
    recent.add("s", 7, 8, second)
    assert recent.read("s", 7, 1 << 20, 8) == (second, 8)
    assert recent.read("s", 6, 1 << 20, 8) == (first + second, 8)
    assert recent.read("s", 6, 1 << 20, 7) == (first, 7)
    assert recent.read("s", 4, 1 << 20, 8) is None
    assert recent.read("s", 8, 1 << 20, 8) is None


def test_a_stream_that_goes_on_elsewhere_is_forgotten_first() -> None:
    recent = RecentBatches(1 << 20)
    recent.add("s", 0, 2, b"old")
    recent.add("s", 1, 2, b"new")
    assert recent.read("s", 0, 100, 2) is None
    assert recent.read("s", 1, 100, 2) == (b"new", 2)
    recent.forget("s")
    assert recent.read("s", 1, 100, 2) is None
    recent.check()


def test_a_large_batch_is_not_kept_and_leaves_no_gap_behind_it() -> None:
    recent = RecentBatches(1 << 20)
    recent.add("s", 0, 1, b"small")
    recent.add("s", 1, 2, bytes(100_000))
    recent.add("s", 2, 3, b"small again")
    assert recent.read("s", 0, 1 << 20, 3) is None
    assert recent.read("s", 1, 1 << 20, 3) is None
    assert recent.read("s", 2, 1 << 20, 3) == (b"small again", 3)
