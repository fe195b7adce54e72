"""Going on with a damaged stream: sound batches stay at their offsets, nothing is thrown away, and it starts again."""

from itertools import accumulate
from random import Random

import pytest

from goqueue.core.log.config import Fsync, LogConfig
from goqueue.storage.disk import Disk
from goqueue.storage.errors import DamageError
from goqueue.storage.inspection import find_streams, sound_batches, verify
from goqueue.storage.repair import repair
from tests.storage.logbook import (
    NOW_MS,
    STREAM,
    abandon,
    content,
    cut_file,
    everything,
    flip,
    log_file,
    numbered,
    offsets,
    opened,
    stored,
)

SETTINGS: dict[str, object] = {"segment_bytes": 2000, "index_interval_bytes": 300}


def written(disk: Disk, count: int = 40, **settings: object) -> list[bytes]:
    """A stream of some segments, closed in order; what it holds."""
    log = opened(disk, **(SETTINGS | settings))
    for number in range(count):
        log.append(numbered(number, 100))
        log.flush()
    batches = stored(log)
    log.close()
    return batches


def flaws(disk: Disk) -> dict[str, int]:
    """Where `verify` finds damage, by segment."""
    return {
        verdict.segment: verdict.flaw.position
        for verdict in verify(disk, STREAM)
        if verdict.damaged and verdict.flaw is not None
    }


def test_a_sound_stream_is_verified_whole_and_repair_leaves_every_byte(any_disk: Disk) -> None:
    batches = written(any_disk)
    before = everything(any_disk)
    seen: list[int] = []
    verdicts = list(verify(any_disk, STREAM, seen.append))
    assert all(verdict.flaw is None for verdict in verdicts)
    assert sum(verdict.sound_bytes for verdict in verdicts) == sum(map(len, batches)) == sum(seen)
    assert verdicts[-1].next_offset == 40
    assert repair(any_disk, STREAM, LogConfig(), NOW_MS) == []
    assert everything(any_disk) == before


def test_streams_are_found_wherever_they_lie(any_disk: Disk) -> None:
    written(any_disk)
    assert find_streams(any_disk) == [STREAM]
    any_disk.make_folder("logs/empty/0")
    assert find_streams(any_disk, "logs") == [STREAM]


@pytest.mark.parametrize("position", [10, 100, 400, 1900])
def test_a_flipped_bit_in_a_sealed_segment_costs_the_batch_that_holds_it(any_disk: Disk, position: int) -> None:
    batches = written(any_disk)
    first = content(any_disk, log_file(0))
    flip(any_disk, log_file(0), position)
    ends = list(accumulate(map(len, batches)))
    lost = next(number for number, end in enumerate(ends) if end > position)
    begin, end = ends[lost] - len(batches[lost]), ends[lost]
    assert list(flaws(any_disk).values()) == [begin]
    notes = repair(any_disk, STREAM, LogConfig(), NOW_MS)
    kept_aside = f"{STREAM}/00000000000000000000.damaged-{begin}"
    assert notes == [
        f"{log_file(0)}: took out bytes {begin} to {end}, which hold no sound batch; they are kept in {kept_aside}"
    ]
    damaged = bytearray(first[begin:end])
    damaged[position - begin] ^= 1
    assert content(any_disk, kept_aside) == damaged
    assert flaws(any_disk) == {}
    assert stored(opened(any_disk, **SETTINGS)) == batches[:lost] + batches[lost + 1 :]


def test_a_stream_that_is_refused_starts_again_after_its_repair_and_takes_appends(any_disk: Disk) -> None:
    batches = written(any_disk, segment_bytes=100_000, checkpoint_bytes=100_000)
    log = opened(any_disk, segment_bytes=100_000, checkpoint_bytes=100_000)
    for number in range(40, 60):
        log.append(numbered(number, 100))
        log.flush()
    batches = stored(log)
    abandon(log)
    place = sum(map(len, batches[:50]))
    flip(any_disk, log_file(0), place + 70)
    before = everything(any_disk)
    with pytest.raises(DamageError, match=rf"damaged at byte {place}: .*acknowledged") as caught:
        opened(any_disk, segment_bytes=100_000)
    assert f"goqueue log repair DATA_DIR {STREAM}" in caught.value.advice
    assert everything(any_disk) == before
    repair(any_disk, STREAM, LogConfig(), NOW_MS)
    log = opened(any_disk, segment_bytes=100_000)
    assert stored(log) == batches[:50] + batches[51:]
    log.append(numbered(60, 100))
    assert log.flush() == 61
    assert offsets(stored(log))[-3:] == [58, 59, 60]
    log.log.check()


def test_a_segment_that_is_missing_or_cut_short_is_named_and_the_rest_goes_on(any_disk: Disk) -> None:
    batches = written(any_disk)
    second, third = (name for name in sorted(flaw.segment for flaw in verify(any_disk, STREAM))[1:3])
    any_disk.remove(f"{STREAM}/{second}.log")
    cut_file(any_disk, f"{STREAM}/{third}.log", 250)
    assert flaws(any_disk).keys() == {second, third}
    notes = repair(any_disk, STREAM, LogConfig(), NOW_MS)
    assert any(f"{second}.log: missing" in note for note in notes)
    assert any(f"{third}.log: took out bytes" in note for note in notes)
    kept = stored(opened(any_disk, **SETTINGS))
    assert set(kept) < set(batches)
    lost_from, third_from = int(second), int(third)
    whole = [number for number in range(40) if number < lost_from or number == third_from]
    assert offsets(kept)[: len(whole)] == whole
    assert offsets(kept)[-1] == 39


def test_repair_can_be_repeated_and_survives_a_lost_checkpoint(any_disk: Disk) -> None:
    batches = written(any_disk)
    flip(any_disk, log_file(0), 100)
    any_disk.remove(f"{STREAM}/checkpoint")
    repair(any_disk, STREAM, LogConfig(), NOW_MS)
    once = stored(opened(any_disk, **SETTINGS))
    assert once == batches[1:]
    assert flaws(any_disk) == {}


@pytest.mark.parametrize("seed", range(12))
def test_whatever_rots_repair_keeps_every_batch_that_did_not(any_disk: Disk, seed: int) -> None:
    batches = written(any_disk, fsync=Fsync.NONE)
    random = Random(seed)
    segments = [verdict.path for verdict in verify(any_disk, STREAM) if verdict.sound_bytes]
    for _ in range(random.randint(1, 4)):
        path = random.choice(segments)
        flip(any_disk, path, random.randrange(len(content(any_disk, path))), random.randrange(8))
    repair(any_disk, STREAM, LogConfig(), NOW_MS)
    kept = stored(opened(any_disk, **SETTINGS))
    # A flip in the epoch or the offset lies outside the CRC; such a batch may be kept as changed, or go.
    untouched = [batch[16:] for batch in batches]
    assert all(batch[16:] in untouched for batch in kept)
    assert offsets(kept) == sorted(set(offsets(kept)))
    assert len(kept) >= len(batches) - 4
    assert flaws(any_disk) == {}


def test_a_leader_epoch_that_its_neighbours_contradict_is_put_right(any_disk: Disk) -> None:
    batches = written(any_disk)
    flip(any_disk, log_file(0), len(batches[0]) + 14, 3)
    assert flaws(any_disk) != {}
    [note] = repair(any_disk, STREAM, LogConfig(), NOW_MS)
    assert note == f"{log_file(0)}: gave the batch at byte {len(batches[0])} its neighbours' leader epoch, 0"
    assert stored(opened(any_disk, **SETTINGS)) == batches
    assert flaws(any_disk) == {}


def test_sound_batches_steps_over_what_is_not(any_disk: Disk) -> None:
    batches = written(any_disk, segment_bytes=100_000)
    flip(any_disk, log_file(0), 3 * len(batches[0]) + 80)
    log = opened(any_disk, segment_bytes=100_000)
    found = [bytes(batch) for _, batch in sound_batches(any_disk, STREAM, log.log.segments[0])]
    assert found == batches[:3] + batches[4:]
