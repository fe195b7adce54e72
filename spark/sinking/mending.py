"""What an earlier attempt stored in other batches than this one makes: found piece by piece, and the rest sent.

A task cannot tell the end of its rows from the death of whoever hands them over: Spark closes the stream either way,
and the last batches are sealed with too few rows. They are stored, and rightly so, as a beginning of what is to be
written. But the next attempt fills the same batches further, and the broker refuses those: some of their sequences were
taken, in other batches.

A batch that equals a stored one is answered as that one was, and one that begins where nothing is stored yet is taken;
all others are refused and change nothing. So of a refused batch the beginnings are tried, until one is known; then what
comes behind it. The refusal says which sequence is expected, and there the cut was, unless several attempts have died.

If no beginning is known, the rows are others than those that are stored.
"""

import re
from collections.abc import Iterator

from attrs import evolve

from goqueue.core.records.batch import read_header
from goqueue.core.records.build import Entry, encode
from goqueue.core.records.record import iterate
from goqueue.core.records.varint import INT32_MAX
from goqueue.spark.sinking.packing import Packed

_EXPECTED = re.compile(r"expected (?:sequence )?([0-9]+)")


def beginnings(packed: Packed, refusal: str) -> Iterator[int]:
    """How many rows of a refused batch may be one that is stored, the likeliest first; never all of them."""
    expected = _EXPECTED.search(refusal)
    likely = 0
    if expected is not None:
        likely = (int(expected[1]) - read_header(packed.content).base_sequence) & INT32_MAX
    if likely > INT32_MAX // 2:
        # What comes before it is missing, so nothing of it can be there.
        return
    if 0 < likely < packed.count:
        yield likely
    yield from (count for count in range(1, packed.count) if count != likely)


def divided(packed: Packed, count: int) -> tuple[Packed, Packed]:
    """The first rows of a batch, and the others, with the numbers that they have."""
    assert 0 < count < packed.count
    entries: list[Entry] = [(one.timestamp, one.key, one.value, one.headers) for one in iterate(packed.content)]
    return _part(packed, entries, 0, count), _part(packed, entries, count, packed.count)


def _part(packed: Packed, entries: list[Entry], begin: int, end: int) -> Packed:
    header = read_header(packed.content)
    content = encode(
        entries[begin:end],
        codec=header.codec,
        lane=header.lane,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=(header.base_sequence + begin) & INT32_MAX,
    )
    # Rows of other partitions may lie between, so of those behind the first nobody knows the number.
    return evolve(packed, content=content, count=end - begin)
