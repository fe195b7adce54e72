"""Credit: whole batches, as many as there is some of it for, and what is owed for the last one."""

from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.records.batch import read_header, split
from goqueue.core.records.build import BatchBuilder
from goqueue.transports.services.feed import Credit, reply_share

counts = st.lists(st.integers(1, 5), min_size=1, max_size=6)
grants = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 700)), max_size=5)


def run_of(counts: list[int]) -> bytes:
    """Batches of so many records each, one after another."""
    run, offset = b"", 0
    for count in counts:
        builder = BatchBuilder()
        for _ in range(count):
            builder.add(1, None, b"value", ())
        batch = bytearray(builder.build())
        batch[:8] = offset.to_bytes(8, "big")
        run, offset = run + bytes(batch), offset + count
    return run


def test_who_never_grants_is_not_limited() -> None:
    credit = Credit()
    credit.grant(0, 0)
    assert not credit.is_limited
    assert not credit.is_used_up
    assert credit.take(run_of([2, 3]))[1] == 5


@given(counts, grants, st.sampled_from([(1, 1), (1, 0), (0, 1)]))
def test_batches_go_whole_while_there_is_credit_and_no_further(
    counts: list[int], grants: list[tuple[int, int]], limits: tuple[int, int]
) -> None:
    run = memoryview(run_of(counts))
    batches = [(read_header(each).record_count, len(each)) for each in split(run)]
    credit, at, gone = Credit(), 0, 0
    granted = [0, 0]
    # What went before a limit was first set is not owed, so that both begin with something.
    for grant in [(1, 1), *grants]:
        more = [grant[kind] * limits[kind] for kind in range(2)]
        credit.grant(*more)
        granted = [granted[kind] + more[kind] for kind in range(2)]
        size, next_offset = credit.take(run[at:])
        before, at = gone, at + size
        while gone < len(batches) and sum(length for _, length in batches[:gone]) < at:
            gone += 1
        # It ends with a batch, and says which offset comes next.
        assert sum(length for _, length in batches[:gone]) == at
        assert next_offset == (sum(count for count, _ in batches[:gone]) if gone > before else 0)
        spent = [sum(each[kind] for each in batches[: gone - 1]) for kind in range(2)]
        if gone > before:
            assert all(spent[kind] < granted[kind] for kind in range(2) if limits[kind])
        if gone < len(batches):
            assert credit.is_used_up


def test_many_sources_share_what_may_be_held() -> None:
    assert reply_share(1 << 20, 1) == 1 << 20
    assert reply_share(1 << 30, 1) == 16 << 20
    assert reply_share(1 << 20, 64) == 1 << 18
    assert reply_share(1 << 20, 100_000) == 16 << 10
    assert reply_share(5, 0) == 5
