"""Whether a batch of an idempotent producer is the one that comes next, one that was taken before, or neither.

A producer numbers its records from 0 on, per partition. It may have several batches under way and sends again what it
hears nothing of, so the same batch may come twice, and after one that was refused the next may come first. Taking each
sequence once and in order makes every record of it stand in the log once and in order.

A batch that equals one of the last five is answered as that one was; a producer has at most five under way. One that
lies before these was taken, but where is not remembered: the refusal has a code of its own, since whoever repeats a
long work from its beginning wants to know no more than that. It says that the batch is there, as an acknowledgement
does, so it waits for as much: until all before the oldest of the five is acknowledged. One that lies among the last
five, or reaches past them, and equals none is out of order: its sequences were used for something else. Where one of
these ends within it the refusal says so, for whoever repeats a work with longer batches: divided there, what is stored
of it is found. A higher epoch begins at 0 and shuts the lower ones out.

A producer of which nothing is known begins at 0, or is refused. Kafka accepts any first sequence, since it may have
forgotten an idle producer. But the same is seen of a new one whose first batch was refused or lost in a crash: taking
its second batch would let the first one be refused for ever. Whoever was forgotten has been idle for a day, so all it
sent is settled, and a new id costs it nothing. What is left is a batch with sequence 0 that is sent again a day after
it was taken, or after `PRODUCERS_MAX` others were used: it is taken for a new producer's. Who was used within some
minutes is not forgotten for others; while that goes for all, a new producer is refused.

The broker's own producers are not judged: what they write next follows from what the log knows of them.
"""

from attrs import define

from goqueue.core.errors import BatchError
from goqueue.core.log.producers import HELD_MS, PRODUCERS_MAX, Produced, Producers, advance
from goqueue.core.records.batch import Header, locate
from goqueue.core.records.varint import INT32_MAX
from goqueue.core.requests.refusals import Code, Refusal

_CROWDED = Refusal(
    Code.UNAVAILABLE,
    f"the partition knows {PRODUCERS_MAX} producers, and all of them have published within the last"
    f" {HELD_MS // 60_000} minutes",
    "batch",
    retry_after_ms=10_000,
)
# Of two sequences on a ring the nearer way round tells which came first.
_HALF = (INT32_MAX + 1) // 2


@define
class Repeated:
    """A batch that was taken before, somewhere below `end`: what is answered once all there is acknowledged."""

    refusal: Refusal
    end: int


Verdict = Produced | Repeated | Refusal | None
"""Where a batch went, what is answered of one that was there, why one is refused, or that it is to be appended."""


def judge(producers: Producers, header: Header, wall_ms: int | None = None) -> Verdict:
    """None when the batch is to be appended, where it went when that was done before, a refusal otherwise.

    Without a time it is not looked at whether there is room for another producer.
    """
    producer_id, epoch, first = header.producer_id, header.producer_epoch, header.base_sequence
    if epoch < 0 or first < 0:
        message = f"a batch of producer {producer_id} needs an epoch and a sequence, found {epoch} and {first}"
        return Refusal(Code.INVALID, message, "batch")
    known = producers.last(producer_id)
    if known is None or epoch > known[0]:
        if first:
            return _no_beginning(header, known)
        is_one_more = known is None and wall_ms is not None
        return _CROWDED if is_one_more and producers.is_crowded(wall_ms or 0) else None
    if epoch < known[0]:
        message = f"producer {producer_id} goes on under epoch {known[0]}, epoch {epoch} is shut out"
        return Refusal(Code.FENCED, message, "batch")
    expected = advance(known[1], 1)
    return None if first == expected else _out_of_turn(producers, header, expected)


def is_repetition(producers: Producers, batch: bytearray | memoryview) -> bool:
    """Whether the log has this numbered batch already, so that the answer to it takes no room."""
    try:
        header = locate(batch)
    except BatchError:
        return False
    return header.has_producer and isinstance(judge(producers, header), Produced | Repeated)


def _no_beginning(header: Header, known: tuple[int, int] | None) -> Refusal:
    begun = f"producer {header.producer_id} is not known here, or not any more"
    if known is not None:
        begun = f"producer {header.producer_id} begins epoch {header.producer_epoch}"
    message = f"{begun}: expected sequence 0, found {header.base_sequence}"
    return Refusal(Code.OUT_OF_ORDER, message, "batch")


def _out_of_turn(producers: Producers, header: Header, expected: int) -> Produced | Repeated | Refusal:
    producer_id, first = header.producer_id, header.base_sequence
    last = advance(first, header.last_offset_delta)
    remembered = producers.batches(producer_id)
    for one in remembered:
        if one.first_sequence == first and one.last_sequence == last:
            return one
    if _distance(first, expected) >= _HALF:
        message = f"producer {producer_id} left a gap: expected sequence {expected}, found {first}"
        return Refusal(Code.OUT_OF_ORDER, message, "batch")
    oldest = remembered[0].first_sequence
    if _distance(first, oldest) < _HALF and header.last_offset_delta < _distance(first, oldest):
        message = (
            f"sequences {first} to {last} of producer {producer_id} are a duplicate: {oldest} and on are remembered"
        )
        return Repeated(Refusal(Code.DUPLICATE, message, "batch"), remembered[0].first_offset)
    message = (
        f"sequences {first} to {last} of producer {producer_id} were taken in other batches, at least in part: expected"
        f" {expected}, and they are none of the last batches"
    )
    return Refusal(Code.OUT_OF_ORDER, message, "batch", divide_at=_divide_at(remembered, header))


def _divide_at(remembered: list[Produced], header: Header) -> int:
    """After how many records of a batch one that is stored begins or ends; 0 where none does."""
    borders = [remembered[0].first_sequence, *(advance(one.last_sequence, 1) for one in remembered)]
    counts = [_distance(header.base_sequence, border) for border in borders]
    return min((count for count in counts if 0 < count <= header.last_offset_delta), default=0)


def _distance(sequence: int, later: int) -> int:
    """How many records on the second sequence is."""
    return (later - sequence) & INT32_MAX
