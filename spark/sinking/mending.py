"""What an earlier attempt stored in other batches than this one makes: a refused batch is divided where theirs end.

A task cannot tell the end of its rows from the death of whoever hands them over: Spark closes the stream either way,
and the last batches are sealed with too few rows. They are stored, and rightly so, as a beginning of what is to be
written. But the next attempt fills the same batches further, and the broker refuses those: some of their sequences were
taken, in other batches.

A batch that equals a stored one is answered as that one was, and one that begins where nothing is stored yet is taken;
all others are refused and change nothing. The refusal says where the first of the stored batches ends within the
refused one. Divided there, its beginning is recognised, and what comes behind it is sent, or divided again.

If there is no such place, or the beginning is not recognised, the rows are others than those that are stored.
"""

from attrs import evolve

from goqueue.core.records.batch import read_header
from goqueue.core.records.build import Entry, encode
from goqueue.core.records.record import iterate
from goqueue.core.records.varint import INT32_MAX
from goqueue.spark.sinking.packing import Packed


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
