"""Idempotent producers at a partition: each record once and in order, whatever is sent again, and the exact answers."""

import pytest
from attrs import define, field
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.log.config import Fsync
from goqueue.core.log.producers import DERIVED_IDS, Produced, Producers, advance
from goqueue.core.partition.partition import Partition
from goqueue.core.partition.producers import Repeated, judge
from goqueue.core.partition.publishing import Publishing
from goqueue.core.records.batch import Header, read_header
from goqueue.core.records.build import encode
from goqueue.core.records.varint import INT32_MAX
from goqueue.core.requests.messages import NO_OFFSET, NewRecord, Published
from goqueue.core.requests.refusals import Code, Refusal
from tests.core.calls import call
from tests.core.driven_node import token_of, values
from tests.core.log.batches import WALL_MS, beginning
from tests.core.partition.test_partition import code_of, confirm, finished, message, partition_of, publish

ID = 1000


def sequenced(first: int, count: int = 1, *, epoch: int = 0, producer_id: int = ID, value: bytes = b"v") -> bytearray:
    """A producer's batch."""
    entries = [(WALL_MS, None, value, ())] * count
    return encode(entries, producer_id=producer_id, producer_epoch=epoch, base_sequence=first)


def send(partition: Partition, batch: bytearray, *, awaits: bool = True) -> Publishing:
    """Publish one batch."""
    publishing = Publishing(call(1), [None], 1, awaits)
    partition.publish_batch(0, batch, publishing)
    return publishing


def settle(partition: Partition) -> None:
    """Let everything be written and synced."""
    confirm(partition, partition.take(0))
    partition.check()


def refused(publishing: Publishing) -> tuple[Code, str]:
    """Why a batch was refused."""
    [result] = publishing.results
    assert isinstance(result, Refusal)
    return result.code, result.message


def test_batches_in_sequence_are_appended_several_in_a_turn() -> None:
    partition = partition_of()
    sent = [send(partition, sequenced(first, 2)) for first in (0, 2, 4)]
    settle(partition)
    assert [one.results for one in sent] == [[Published(0, offset, WALL_MS)] for offset in (0, 2, 4)]


def test_each_of_the_last_five_is_answered_with_its_first_offset_and_not_appended() -> None:
    partition = partition_of()
    for first in range(7):
        send(partition, sequenced(first))
    settle(partition)
    finished(partition)
    again = [send(partition, sequenced(first)) for first in range(7)]
    assert finished(partition) == again
    assert refused(again[0]) == (
        Code.DUPLICATE,
        "sequences 0 to 0 of producer 1000 are a duplicate: 2 and on are remembered",
    )
    assert refused(again[1])[0] is Code.DUPLICATE
    assert [one.results for one in again[2:]] == [[Published(0, offset, WALL_MS)] for offset in range(2, 7)]
    assert partition.take(0) == []


def test_a_duplicate_waits_for_what_its_original_waits_for() -> None:
    partition = partition_of()
    first = send(partition, sequenced(0))
    token = token_of(partition.take(0))
    second = send(partition, sequenced(1))
    partition.take(0)
    partition.written()
    again = [send(partition, sequenced(sequence)) for sequence in (1, 0)]
    partition.check()
    assert finished(partition) == []
    partition.synced(0, token)
    assert finished(partition) == [again[1], first]
    assert again[1].results == first.results == [Published(0, 0, WALL_MS)]
    assert second.missing == again[0].missing == 1


def test_a_duplicate_of_a_batch_that_nobody_waits_for_waits_for_the_disk() -> None:
    partition = partition_of()
    quiet = send(partition, sequenced(0), awaits=False)
    later = send(partition, sequenced(1))
    again = send(partition, sequenced(0))
    assert finished(partition) == [quiet]
    assert quiet.results == [Published(0, NO_OFFSET, WALL_MS)]
    settle(partition)
    assert finished(partition) == [again, later]
    assert again.results == [Published(0, 0, WALL_MS)]


def test_a_gap_is_refused_with_what_was_expected_and_what_came() -> None:
    partition = partition_of()
    send(partition, sequenced(0, 3))
    gap = send(partition, sequenced(5))
    assert refused(gap) == (Code.OUT_OF_ORDER, "producer 1000 left a gap: expected sequence 3, found 5")
    missing = send(partition, sequenced(3, 2))
    filled = send(partition, sequenced(5))
    settle(partition)
    assert (missing.results, filled.results) == ([Published(0, 3, WALL_MS)], [Published(0, 5, WALL_MS)])


def test_a_batch_that_reaches_past_what_was_taken_is_out_of_order() -> None:
    partition = partition_of()
    send(partition, sequenced(0, 3))
    code, said = refused(send(partition, sequenced(1, 4)))
    assert code is Code.OUT_OF_ORDER
    assert said == (
        "sequences 1 to 4 of producer 1000 were taken in other batches, at least in part: expected 3, and they are none"
        " of the last batches"
    )


@pytest.mark.parametrize(
    ("first", "count", "code", "divide_at"),
    [
        (0, 4, Code.DUPLICATE, 0),
        (1, 3, Code.DUPLICATE, 0),
        (2, 3, Code.OUT_OF_ORDER, 2),
        (4, 1, Code.OUT_OF_ORDER, 0),
        (4, 3, Code.OUT_OF_ORDER, 2),
        (12, 4, Code.OUT_OF_ORDER, 2),
        (15, 1, Code.OUT_OF_ORDER, 0),
        (0, 14, Code.OUT_OF_ORDER, 4),
        (0, 20, Code.OUT_OF_ORDER, 4),
    ],
)
def test_a_batch_with_other_borders_is_a_duplicate_only_before_what_is_remembered_and_told_where_to_divide_it(
    first: int, count: int, code: Code, divide_at: int
) -> None:
    partition = partition_of()
    for begin in range(0, 14, 2):
        send(partition, sequenced(begin, 2))
    settle(partition)
    [result] = send(partition, sequenced(first, count)).results
    assert isinstance(result, Refusal)
    assert (result.code, result.divide_at) == (code, divide_at)


def test_a_duplicate_whose_place_is_forgotten_waits_until_what_it_repeats_is_acknowledged() -> None:
    partition = partition_of()
    for first in range(7):
        send(partition, sequenced(first))
    again = [send(partition, sequenced(first)) for first in (1, 0)]
    token = token_of(partition.take(0))
    partition.written()
    partition.check()
    assert all(one.missing for one in again)
    partition.synced(0, token)
    assert [refused(one)[0] for one in again] == [Code.DUPLICATE] * 2
    assert sum(one in again for one in finished(partition)) == 2


def test_a_duplicate_whose_place_is_forgotten_is_not_called_one_when_the_disk_fails() -> None:
    partition = partition_of()
    for first in range(7):
        send(partition, sequenced(first))
    again = send(partition, sequenced(0))
    partition.take(0)
    partition.disk_failed(0, "Input/output error")
    assert refused(again)[0] is Code.OUTCOME_UNKNOWN


def test_a_producer_may_bear_an_id_that_is_never_handed_out() -> None:
    partition = partition_of()
    taken = [send(partition, sequenced(0, producer_id=number)) for number in (DERIVED_IDS[0], DERIVED_IDS[-1])]
    settle(partition)
    again = send(partition, sequenced(0, producer_id=DERIVED_IDS[-1]))
    assert again.results == taken[1].results == [Published(0, 1, WALL_MS)]


def test_an_older_epoch_is_fenced_and_a_newer_one_begins_at_zero() -> None:
    partition = partition_of()
    send(partition, sequenced(0, epoch=1))
    assert refused(send(partition, sequenced(1, epoch=0)))[0] is Code.FENCED
    said = "producer 1000 begins epoch 2: expected sequence 0, found 1"
    assert refused(send(partition, sequenced(1, epoch=2))) == (Code.OUT_OF_ORDER, said)
    begun = send(partition, sequenced(0, epoch=2))
    settle(partition)
    assert begun.results == [Published(0, 1, WALL_MS)]
    assert refused(send(partition, sequenced(1, epoch=1))) == (
        Code.FENCED,
        "producer 1000 goes on under epoch 2, epoch 1 is shut out",
    )


def test_a_producer_of_which_nothing_is_known_begins_at_zero() -> None:
    partition = partition_of()
    said = "producer 1000 is not known here, or not any more: expected sequence 0, found 4"
    assert refused(send(partition, sequenced(4))) == (Code.OUT_OF_ORDER, said)
    assert send(partition, sequenced(0)).missing == 1


def test_a_damaged_batch_is_neither_a_duplicate_nor_out_of_order() -> None:
    partition = partition_of()
    send(partition, sequenced(0))
    settle(partition)
    for batch in (sequenced(0), sequenced(7)):
        batch[-1] ^= 1
        assert refused(send(partition, batch))[0] is Code.CORRUPT_BATCH


def test_a_batch_that_is_refused_leaves_its_sequence_free() -> None:
    partition = partition_of(batch_bytes_max=500)
    assert refused(send(partition, sequenced(0, value=bytes(600))))[0] is Code.TOO_LARGE
    accepted = send(partition, sequenced(0))
    settle(partition)
    assert accepted.results == [Published(0, 0, WALL_MS)]


def test_after_a_failed_disk_it_goes_on_from_what_recovery_found() -> None:
    partition = partition_of()
    send(partition, sequenced(0))
    settle(partition)
    survivor = partition.log.producers.encode()
    finished(partition)
    lost = send(partition, sequenced(1))
    partition.take(0)
    again = send(partition, sequenced(1))
    partition.disk_failed(0, "EIO")
    assert {refused(lost)[0], refused(again)[0]} == {Code.OUTCOME_UNKNOWN}
    assert refused(send(partition, sequenced(0)))[0] is Code.UNAVAILABLE
    finished(partition)
    state = beginning(partition.log.config, 1)
    state.producers = Producers.decode(survivor)
    partition.reopened(0, state)
    known, resent = send(partition, sequenced(0)), send(partition, sequenced(1))
    settle(partition)
    assert (known.results, resent.results) == ([Published(0, 0, WALL_MS)], [Published(0, 1, WALL_MS)])


def test_who_awaits_nothing_is_answered_as_the_message_is_taken() -> None:
    partition = partition_of()
    publishing = Publishing(call(1), [None, None], 2, False)
    partition.gather(0, WALL_MS, publishing, [message(b"a"), NewRecord(None, b"b", timestamp=7)], [0, 1])
    assert finished(partition) == [publishing]
    assert publishing.results == [Published(0, NO_OFFSET, WALL_MS), Published(0, NO_OFFSET, 7)]
    loud = publish(partition, message(b"c"))
    effects = partition.take(0)
    assert values(effects) == [[b"a", b"b", b"c"]]
    confirm(partition, effects)
    assert finished(partition) == [loud]
    assert loud.results == [Published(0, 2, WALL_MS)]


def test_who_awaits_nothing_hears_of_a_message_that_cannot_be_taken() -> None:
    partition = partition_of()
    publishing = Publishing(call(1), [None], 1, False)
    partition.gather(0, WALL_MS, publishing, [NewRecord(None, b"b", timestamp=-5)], [0])
    assert finished(partition) == [publishing]
    assert code_of(publishing.results[0]) is Code.CORRUPT_BATCH


@pytest.mark.parametrize("fsync", list(Fsync))
def test_who_awaits_nothing_hears_nothing_of_a_disk_that_fails(fsync: Fsync) -> None:
    partition = partition_of(fsync)
    quiet = [send(partition, sequenced(0), awaits=False), Publishing(call(2), [None], 1, False)]
    partition.gather(0, WALL_MS, quiet[1], [message()], [0])
    assert finished(partition) == quiet
    partition.disk_failed(0, "EIO")
    partition.take(0)
    assert (finished(partition), partition.abandon(Refusal(Code.TOPIC_NOT_FOUND, "gone"))) == ([], [])


def test_a_partition_that_goes_tells_whoever_awaits_something() -> None:
    partition = partition_of()
    quiet, loud = Publishing(call(1), [None], 1, False), Publishing(call(2), [None], 1)
    partition.gather(0, WALL_MS, quiet, [message()], [0])
    partition.gather(0, WALL_MS, loud, [message()], [0])
    assert finished(partition) == [quiet]
    assert partition.abandon(Refusal(Code.TOPIC_NOT_FOUND, "gone")) == [loud]


# --- against a model


@define
class Model:
    """The simplest memory: of each producer the epoch, and every batch of it that was taken, for ever."""

    epochs: dict[int, int] = field(factory=dict)
    taken: dict[int, list[tuple[int, int, int]]] = field(factory=dict)
    # A few of the sequences before the batches above: half of the ring counts as taken, since a checkpoint that is
    # gone, and what compaction took, leave fewer batches than there were.
    earlier: dict[int, list[int]] = field(factory=dict)

    def expects(self, producer_id: int) -> int:
        """The sequence that comes next."""
        batches = self.taken.get(producer_id, [])
        return (batches[-1][1] + 1) % (1 << 31) if batches else 0

    def judge(self, header: Header) -> int | Code | None:
        """The offset of a batch that is known, why another is refused, or None."""
        number, epoch, first = header.producer_id, header.producer_epoch, header.base_sequence
        known = self.epochs.get(number, -1)
        if epoch < known:
            return Code.FENCED
        if epoch > known:
            return None if first == 0 else Code.OUT_OF_ORDER
        if first == self.expects(number):
            return None
        last = (first + header.last_offset_delta) % (1 << 31)
        taken = self.taken[number]
        for begin, end, offset in taken[-5:]:
            if (begin, end) == (first, last):
                return offset
        forgotten = self.earlier.get(number, [])
        forgotten = forgotten + [one for begin, end, _ in taken[:-5] for one in ring(begin, end)]
        return Code.DUPLICATE if set(ring(first, last)) <= set(forgotten) else Code.OUT_OF_ORDER

    def divides(self, header: Header) -> int:
        """After how many records of a batch that is out of order the first border of the last five lies in it."""
        number, first = header.producer_id, header.base_sequence
        if self.epochs.get(number, -1) != header.producer_epoch:
            return 0
        borders = {border for begin, end, _ in self.taken[number][-5:] for border in (begin, advance(end, 1))}
        within = (count for count in range(1, header.last_offset_delta + 1) if advance(first, count) in borders)
        return next(within, 0)

    def enter(self, header: Header, offset: int) -> None:
        """Note a batch that was taken."""
        number, epoch, first = header.producer_id, header.producer_epoch, header.base_sequence
        if self.epochs.get(number) != epoch:
            self.epochs[number], self.taken[number] = epoch, []
            self.earlier[number] = [advance(first, -step) for step in range(1, 20)]
        last = (first + header.last_offset_delta) % (1 << 31)
        self.taken[number].append((first, last, offset))


def ring(first: int, last: int) -> list[int]:
    """All sequences from one to another; after the largest comes zero."""
    return [advance(first, step) for step in range(advance(last, 1 - first))]


attempts = st.lists(
    st.tuples(st.integers(0, 2), st.integers(-1, 1), st.integers(-9, 2), st.integers(1, 4)),
    max_size=60,
)


@given(attempts, st.sampled_from([0, 1, 3, 7]))
def test_the_table_judges_as_a_memory_of_everything_does(
    tried: list[tuple[int, int, int, int]], before_the_end: int
) -> None:
    """Producers send what comes next, a little before or after it, or under another epoch."""
    producers, model, offset = Producers(), Model(), 0
    # Producer 0 has come to the end of the ring.
    begun = read_header(sequenced(advance(INT32_MAX, -before_the_end), producer_id=0))
    producers.enter(begun, 0, WALL_MS)
    model.enter(begun, 0)
    for number, epoch_step, distance, count in tried:
        epoch = max(0, model.epochs.get(number, 0) + epoch_step)
        first = advance(model.expects(number), distance) if epoch_step <= 0 else max(0, distance)
        header = read_header(sequenced(first, count, epoch=epoch, producer_id=number))
        verdict = judge(producers, header)
        expected = model.judge(header)
        if isinstance(verdict, Produced):
            assert verdict.first_offset == expected
        elif isinstance(verdict, Repeated):
            assert verdict.refusal.code is expected
        elif isinstance(verdict, Refusal):
            assert verdict.code is expected
            assert verdict.divide_at == (model.divides(header) if expected is Code.OUT_OF_ORDER else 0)
        else:
            assert expected is None
            offset += 10
            producers.enter(header, offset, WALL_MS)
            model.enter(header, offset)
            producers.check()
