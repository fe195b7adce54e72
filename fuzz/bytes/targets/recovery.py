"""Recovery of a stream whose files hold anything at all.

The input is a set of files (`stream_files.py`), put on a simulated disk as if they had always been there. Invariants,
for any bytes:
- recovery comes to a state or raises DamageError, and nothing else; so does the next one;
- a refusal changes no batch: every log still begins as it did;
- a state keeps its invariants; files and checkpoint agree with it; nothing that it does not name is left;
- segments that no checkpoint vouches for hold sound batches in order and nothing else, and the state says so of them;
- the log goes on: a batch that is appended has the next offset.

Recovery believes what has a right checksum, and the checkpoint of batches that it need not read. Where nothing that is
believed lies (`truth.py`), though all may be damaged or missing, there is more:
- all segments hold sound batches, the state says so of them, and what is left of indexes is true;
- where the synced mark reaches, and it is of this incarnation, the state reaches too;
- the next refusal is in the same words; the next recovery finds the same state and leaves all files alone;
- the batch that was appended survives and is read back.
"""

from attrs import define

from goqueue.core.clock import Clock
from goqueue.core.log.checkpoint import Checkpoint, CheckpointError, decode_checkpoint
from goqueue.core.log.config import LogConfig
from goqueue.core.log.index import PAGE_BYTES, IndexKind
from goqueue.core.log.log import Log, LogState
from goqueue.core.log.segment import Segment
from goqueue.core.records.build import encode
from goqueue.fuzz.bytes.seeds import NOW_MS, STREAM, streams
from goqueue.fuzz.bytes.stream_files import (
    Kind,
    StoredFile,
    mutate_files,
    pack,
    smaller_files,
    store,
    stored_files,
    unpack,
)
from goqueue.fuzz.bytes.target import Target, attempt
from goqueue.fuzz.bytes.truth import Place, are_true, entries, is_true, size_of, sound_entries, walk
from goqueue.storage.disk import Disk
from goqueue.storage.errors import DamageError
from goqueue.storage.layout import CHECKPOINT_FILE, INDEX_ENDINGS, LOG_ENDING, check_format
from goqueue.storage.open_log import OpenLog
from goqueue.storage.recovery import Recovery, recover
from goqueue.storage.simulated import SimulatedDisk
from goqueue.storage.synced_mark import read_mark

# An index entry for every batch, so that pages fill.
_CONFIG = LogConfig(index_interval_bytes=1)
_SIZE_MAX = 1 << 16
_INDEX_KINDS = {Kind.OFFSETS: IndexKind.OFFSET, Kind.TIMES: IndexKind.TIME}


@define
class _Found:
    """A state in plain values, to be compared."""

    segments: list[Segment]
    incarnation: int
    start_offset: int
    cleaned_offset: int
    epochs: list[tuple[int, int]]


def check(content: bytes) -> None:
    """All invariants, for `content` as the files of a stream."""
    disk = SimulatedDisk()
    check_format(disk)
    store(disk, STREAM, unpack(content))
    before = _files(disk)
    vouched = _vouched(before)
    honest = _is_honest(before, vouched)
    recovery = _attempt(disk)
    if isinstance(recovery, DamageError):
        _check_refusal(disk, before, recovery, honest=honest)
        return
    _check_state(disk, recovery.state)
    _check_verified(disk, recovery.state, vouched, honest=honest)
    if honest:
        _check_mark(before, recovery.state, list(vouched)[:-1])
        _check_again(disk, recovery)
    else:
        again = _attempt(disk)
        if isinstance(again, DamageError):
            return
        _check_state(disk, again.state)
    _check_goes_on(disk, honest=honest)


def _attempt(disk: Disk) -> Recovery | DamageError:
    return attempt(DamageError, lambda: recover(disk, STREAM, _CONFIG, NOW_MS))


def _files(disk: Disk) -> dict[str, StoredFile]:
    """The files by name; an index without a page is as good as none."""
    stored = stored_files(disk, STREAM)
    return {file.name: file for file in stored if file.content or file.kind not in (Kind.OFFSETS, Kind.TIMES)}


def _check_refusal(disk: Disk, before: dict[str, StoredFile], refusal: DamageError, *, honest: bool) -> None:
    after = _files(disk)
    for name, file in before.items():
        if file.kind is Kind.LOG:
            assert file.content.startswith(after[name].content)
    again = _attempt(disk)
    # What the checkpoint vouches for is looked at only for want of an index, and found damaged by that chance.
    if honest:
        assert isinstance(again, DamageError)
        assert str(again) == str(refusal)


def _found(state: LogState) -> _Found:
    return _Found(
        [*state.sealed, state.tail.segment],
        state.incarnation,
        state.start_offset,
        state.cleaned_offset,
        state.epochs.entries(),
    )


def _check_state(disk: Disk, state: LogState) -> None:
    found = _found(state)
    Log(STREAM, _CONFIG, Clock(0, NOW_MS), LogState(list(state.sealed), state.tail, epochs=state.epochs)).check()
    files = _files(disk)
    logs = {file.name: len(file.content) for file in files.values() if file.kind is Kind.LOG}
    assert logs == {f"{segment.name}{LOG_ENDING}": segment.size for segment in found.segments}
    assert Kind.UNFINISHED not in {file.kind for file in files.values()}
    written = decode_checkpoint(files[CHECKPOINT_FILE].content)
    producers = state.producers.encode()
    place = found.incarnation, found.start_offset, found.cleaned_offset
    expected = Checkpoint(*place, found.segments, found.epochs, producers)
    assert written == expected


def _check_verified(disk: Disk, state: LogState, vouched: dict[tuple[int, int], Segment], *, honest: bool) -> None:
    """Where nothing that was found lies, all that came of it is true; batches not vouched for are sound in any case."""
    files = _files(disk)
    for segment in (*state.sealed, state.tail.segment):
        stored = files[f"{segment.name}{LOG_ENDING}"].content
        places = walk(stored, segment.base)
        if honest or (segment.base, segment.generation) not in vouched:
            assert size_of(places) == segment.size
            assert is_true(segment, places)
        if honest:
            _check_indexes(files, segment, places)
    if honest:
        _check_tail_index(files, state, walk(files[f"{state.tail.name}{LOG_ENDING}"].content, state.tail.segment.base))


def _check_mark(before: dict[str, StoredFile], state: LogState, sealed: list[tuple[int, int]]) -> None:
    """Nothing up to the synced mark is lost without a word, save in a segment of which the checkpoint knows the end."""
    disk = SimulatedDisk()
    store(disk, STREAM, [file for file in before.values() if file.kind is Kind.SYNCED])
    mark = read_mark(disk, STREAM)
    marked = (mark.base, mark.generation)
    if not mark.position or mark.incarnation != state.incarnation or marked in sealed:
        return
    active = state.tail.segment
    assert active.base >= mark.base
    for segment in (*state.sealed, active):
        if (segment.base, segment.generation) == marked:
            assert segment.size >= mark.position


def _vouched(before: dict[str, StoredFile]) -> dict[tuple[int, int], Segment]:
    """What a checkpoint, if one can be read, said of each segment."""
    file = before.get(CHECKPOINT_FILE)
    checkpoint = None if file is None else attempt(CheckpointError, lambda: decode_checkpoint(file.content))
    if not isinstance(checkpoint, Checkpoint):
        return {}
    return {(segment.base, segment.generation): segment for segment in checkpoint.segments}


def _is_honest(before: dict[str, StoredFile], vouched: dict[tuple[int, int], Segment]) -> bool:
    """Whether every index page is damaged or true, and all true what the checkpoint says."""
    logs = {(file.base, file.generation): file.content for file in before.values() if file.kind is Kind.LOG}
    places = {name: walk(content, name[0]) for name, content in logs.items()}
    for file in before.values():
        kind = _INDEX_KINDS.get(file.kind)
        if kind is not None:
            known = places.get((file.base, file.generation), [])
            if not are_true(kind, sound_entries(kind, file.base, file.content), known, exact=True):
                return False
    return all(is_true(segment, places.get(name, [])) for name, segment in vouched.items())


def _check_indexes(files: dict[str, StoredFile], segment: Segment, places: list[Place]) -> None:
    for kind, ending in INDEX_ENDINGS.items():
        index = files.get(f"{segment.name}{ending}")
        if index is not None:
            assert are_true(kind, sound_entries(kind, segment.base, index.content), places)


def _check_tail_index(files: dict[str, StoredFile], state: LogState, places: list[Place]) -> None:
    """The full pages in the files and the entries in memory are one true index; that of offsets has all batches."""
    for tail in (state.tail.offsets, state.tail.times):
        index = files.get(f"{state.tail.name}{INDEX_ENDINGS[tail.kind]}")
        full_pages = b"" if index is None else index.content[: tail.full_pages * PAGE_BYTES]
        stored = entries(tail.kind, tail.base, full_pages)
        assert stored is not None
        entered = [*stored, *zip(tail.keys, tail.offsets, tail.positions, strict=True)]
        assert are_true(tail.kind, entered, places)
        if tail.kind is IndexKind.OFFSET:
            assert [position for _, _, position in entered] == [at for at, _ in places[1:]]


def _check_again(disk: Disk, first: Recovery) -> None:
    before = _files(disk)
    expected = _found(first.state)
    again = recover(disk, STREAM, _CONFIG, NOW_MS)
    assert _found(again.state) == expected
    assert (again.notes, again.cut_bytes, again.rebuilt_indexes) == ([], 0, 0)
    assert _files(disk) == before


def _check_goes_on(disk: SimulatedDisk, *, honest: bool) -> None:
    batch = encode(((NOW_MS, b"key", b"value", ()),))
    log = _opened(disk)
    expected = log.log.next_offset
    epoch = max(log.log.epochs.latest, 0)
    assert log.append(batch, epoch) == expected
    assert log.flush() == expected + 1
    log.close()
    if not honest:
        # What was believed may be found out as soon as it is needed.
        return
    log = _opened(disk)
    found = log.read(expected)
    assert found is not None
    assert bytes(found.batches) == batch
    assert found.next_offset == log.log.next_offset == expected + 1
    log.close()


def _opened(disk: Disk) -> OpenLog:
    ticks = iter(range(1 << 30))
    return OpenLog(disk, STREAM, _CONFIG, now=lambda: next(ticks), wall_ms=lambda: NOW_MS)


def _seeds() -> list[bytes]:
    return [pack(files) for files in streams()]


TARGET = Target("recovery", check, _seeds, mutate_files, smaller_files, _SIZE_MAX)
