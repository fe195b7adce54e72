"""Bringing a stream back after a stop of any kind: what is there, what is sound, where the next batch goes.

The checkpoint says which segments make up the log and how far they were certain; only what was appended since is read
back and checked, batch by batch. Three ends are told apart there:

1. zeros, or the end of the file: room that was reserved, nothing was lost;
2. anything else that is not a batch, beyond the place up to which the stream is known to have been synced: the tail
   of a write that a crash interrupted. It was never acknowledged; it is cut off and reported;
3. the same *below* that place (`synced_mark.py`), or in a sealed segment: acknowledged batches are damaged. Cutting
   there would drop what follows without a word, so the stream is refused with file and position, and only
   `repair.py` goes on.

Segments rolled after the checkpoint was written are found by name and follow without a gap, or else go with the torn
tail. Without a checkpoint every segment is read. Everything kept is forced to the disk before recovery answers, since
reading a page back proves only that the cache has it. A segment that goes on behind the checkpoint is read back from
the disk itself (`SegmentFiles.read_back`): after a sync that failed, here or in a process that was killed, the cache
may show pages that never reached the disk and that no later sync will bring there.

What is known of producers is taken from the checkpoint and brought up to date from the headers of later batches
(`recalling.py`), once it is settled which of them stay. A log without producers is not looked at a second time.
"""

from attrs import define, field

from goqueue.core.log.checkpoint import Checkpoint, CheckpointError, decode_checkpoint, encode_checkpoint
from goqueue.core.log.config import LogConfig
from goqueue.core.log.effects import IndexPage, Read
from goqueue.core.log.epochs import EpochCache
from goqueue.core.log.log import LogState
from goqueue.core.log.producers import Producers
from goqueue.core.log.scan import Flaw
from goqueue.core.log.segment import NO_TIMESTAMP, Segment, parse_segment_name, segment_name
from goqueue.core.log.tail import SegmentTail
from goqueue.storage.disk import Disk
from goqueue.storage.errors import DamageError
from goqueue.storage.layout import (
    CHECKPOINT_FILE,
    LOG_ENDING,
    UNFINISHED_ENDING,
    owner_of,
    read_file,
    replace_file,
    segment_files,
    segment_of,
)
from goqueue.storage.reading import locate
from goqueue.storage.recalling import recall
from goqueue.storage.scanning import has_full_pages, has_sound_index, resume_tail, scan_segment
from goqueue.storage.segment_files import SegmentFiles
from goqueue.storage.synced_mark import NO_MARK, SyncedMark, read_mark


@define
class _Scanned:
    """A segment as a scan found it, next to what was certain of it before; without files when there are none yet."""

    certain: Segment
    files: SegmentFiles | None
    tail: SegmentTail
    flaw: Flaw | None
    path: str
    pages: list[IndexPage]
    is_last: bool
    has_producers: bool = False


@define
class Recovery:
    """A stream's state, and what it took to get there."""

    state: LogState
    notes: list[str] = field(factory=list)
    scanned_bytes: int = 0
    cut_bytes: int = 0
    rebuilt_indexes: int = 0


def recover(disk: Disk, folder: str, config: LogConfig, wall_ms: int, *, distrust: bool = True) -> Recovery:
    """Recover the stream in `folder`, or begin one there. Raises DamageError, OSError.

    Without `distrust` reads may be answered from the page cache. Only a process that has recovered the stream before,
    and has seen none of its syncs fail since, knows that the cache shows what the disk has.
    """
    return _Attempt(disk, folder, config, wall_ms, distrust=distrust).run()


class _Attempt:
    """One recovery under way."""

    def __init__(self, disk: Disk, folder: str, config: LogConfig, wall_ms: int, *, distrust: bool) -> None:
        self._disk = disk
        self._folder = folder
        self._config = config
        self._wall_ms = wall_ms
        self._distrust = distrust
        self._is_cut = False
        # What the checkpoint knows of producers; None where it knows nothing, or there is none.
        self._producers: Producers | None = None
        self._untidy: list[Segment] = []
        self._notes: list[str] = []
        self._scanned_bytes = 0
        self._cut_bytes = 0
        self._rebuilt_indexes = 0

    def run(self) -> Recovery:
        disk, folder = self._disk, self._folder
        disk.make_folder(folder)
        names = disk.names(folder)
        checkpoint = self._read_checkpoint(names)
        mark = read_mark(disk, folder)
        self._is_cut = checkpoint is not None and mark.incarnation != checkpoint.incarnation
        certain = checkpoint if checkpoint is not None else Checkpoint(incarnation=mark.incarnation)
        if self._is_cut:
            # It speaks of a tail that was taken back since.
            mark = NO_MARK
        on_disk = _segments_on_disk(names)
        known, found = self._sort_out(certain, on_disk, trusted=checkpoint is not None)
        state = self._rebuild(certain, known, found, mark, names)
        rebuilt = _checkpoint_of(state)
        if rebuilt == checkpoint:
            # Nothing to write, but who wrote it may have been killed before its name was certain.
            disk.sync_folder(folder)
        else:
            replace_file(disk, folder, CHECKPOINT_FILE, encode_checkpoint(rebuilt))
        self._remove_leftovers(names, state)
        return Recovery(state, self._notes, self._scanned_bytes, self._cut_bytes, self._rebuilt_indexes)

    def _read_checkpoint(self, names: list[str]) -> Checkpoint | None:
        if CHECKPOINT_FILE not in names:
            return None
        path = f"{self._folder}/{CHECKPOINT_FILE}"
        try:
            checkpoint = decode_checkpoint(read_file(self._disk, path))
            self._producers = Producers.decode(checkpoint.producers) if checkpoint.producers is not None else None
        except CheckpointError as error:
            if error.newer:
                raise DamageError(path, 0, f"{error}; start the release that wrote it") from error
            self._notes.append(f"{path}: damaged ({error}); every segment is read instead")
            return None
        return checkpoint

    def _sort_out(
        self, certain: Checkpoint, on_disk: list[tuple[int, int]], *, trusted: bool
    ) -> tuple[list[Segment], list[Segment]]:
        """(sealed segments to be believed, segments to be scanned), each in order."""
        if trusted:
            known = certain.segments[:-1]
            self._check_known(known)
            active = certain.segments[-1:]
            after = active[0].base if active else -1
            later = [name for name in on_disk if name[0] > after and name[1] == 0]
        else:
            known, active = [], []
            # Where an old and a compacted segment begin alike, the compacted one holds all that still counts.
            later = sorted(dict(on_disk).items())
        created_ms = self._wall_ms
        found = [Segment(base, generation, 0, base, NO_TIMESTAMP, created_ms) for base, generation in later]
        return known, [*active, *found]

    def _check_known(self, known: list[Segment]) -> None:
        for segment in known:
            path = f"{self._folder}/{segment.name}{LOG_ENDING}"
            if not self._disk.exists(path):
                raise DamageError(path, 0, f"expected a segment of {segment.size} bytes, found no such file")
            files = SegmentFiles(self._disk, self._folder, segment.name)
            size = files.log.size()
            if size < segment.size:
                raise DamageError(path, size, f"expected {segment.size} bytes, found the end of the file")
            if size > segment.size or not has_sound_index(files, segment, self._config):
                self._untidy.append(segment)

    def _tidy(self, segment: Segment) -> None:
        """Make a sealed segment's files what they should be: cut to its size, with indexes that can be believed."""
        files = SegmentFiles(self._disk, self._folder, segment.name)
        if files.log.size() > segment.size:
            files.log.truncate(segment.size)
        if not has_sound_index(files, segment, self._config):
            self._rebuild_index(files, segment)

    def _rebuild_index(self, files: SegmentFiles, segment: Segment) -> None:
        tail = SegmentTail(
            Segment(segment.base, segment.generation, 0, segment.base, NO_TIMESTAMP, segment.created_ms),
            self._config.index_interval_bytes,
        )
        flaw = scan_segment(files.log, tail, EpochCache(), (0, segment.size), files.write_pages).flaw
        if flaw is not None:
            raise DamageError(f"{self._folder}/{files.name}{LOG_ENDING}", flaw.position, flaw.message)
        store_index(files, tail)
        files.sync_indexes()
        self._scanned_bytes += segment.size
        self._rebuilt_indexes += 1
        self._notes.append(f"{self._folder}/{files.name}: index missing or damaged, made anew")

    def _rebuild(
        self, certain: Checkpoint, known: list[Segment], found: list[Segment], mark: SyncedMark, names: list[str]
    ) -> LogState:
        epochs = EpochCache(certain.epochs)
        trusted = bool(certain.segments)
        scanned = self._scan_all(found, epochs, trusted=trusted)
        kept = self._verdict(scanned, mark, trusted=trusted)
        self._check_end(certain, kept, epochs)
        # Nothing on the disk has been changed up to here, so a refusal leaves everything to be looked at.
        self._remove([name for name in names if name.endswith(UNFINISHED_ENDING)])
        for segment in self._untidy:
            self._tidy(segment)
        for one in kept:
            self._settle(one)
        sealed = [*known, *(one.tail.segment for one in kept[:-1])]
        tail = kept[-1].tail if kept else self._begin(sealed[-1].next_offset if sealed else certain.start_offset)
        epochs.cut_from(tail.segment.next_offset)
        # A cut takes a batch whole, and with it records before the offset, below which the log may have begun.
        start_offset = min(certain.start_offset, tail.segment.next_offset)
        if not trusted:
            start_offset = sealed[0].base if sealed else tail.segment.base
        producers = self._recall_producers(known, kept)
        return LogState(sealed, tail, certain.incarnation, start_offset, certain.cleaned_offset, epochs, producers)

    def _recall_producers(self, known: list[Segment], kept: list["_Scanned"]) -> Producers:
        """What the checkpoint knows of producers and every batch after it; without that, every batch there is."""
        producers, begins_after = self._producers, True
        if producers is None:
            producers, begins_after = Producers(), False
            for segment in known:
                recall(producers, SegmentFiles(self._disk, self._folder, segment.name), 0, segment.size, self._wall_ms)
        for one in kept:
            if one.has_producers:
                assert one.files is not None
                begin = one.certain.size if begins_after else 0
                recall(producers, one.files, begin, one.tail.segment.size, self._wall_ms)
        return producers

    def _begin(self, base: int) -> SegmentTail:
        segment = Segment(base, 0, 0, base, NO_TIMESTAMP, self._wall_ms)
        tail = SegmentTail(segment, self._config.index_interval_bytes)
        # Its indexes may have outlived a segment of the same name.
        store_index(SegmentFiles(self._disk, self._folder, segment.name, create=True), tail)
        self._disk.sync_folder(self._folder)
        return tail

    def _scan_all(self, found: list[Segment], epochs: EpochCache, *, trusted: bool) -> list["_Scanned"]:
        scanned: list[_Scanned] = []
        follows = True
        for segment in found:
            forerunner = scanned[-1].tail.segment if scanned else None
            overlaps = forerunner is not None and segment.base < forerunner.next_offset
            if not trusted and forerunner is not None and overlaps and forerunner.generation:
                self._notes.append(f"{self._folder}/{segment.name}: superseded by {forerunner.name}, left out")
                continue
            follows = follows and (not trusted or forerunner is None or segment.base == forerunner.next_offset)
            if not follows:
                # It goes, or the stream is refused; what its batches say of leader epochs must not count.
                scanned.append(self._unread(segment, is_last=segment is found[-1]))
            else:
                scanned.append(self._scan(segment, epochs, is_last=segment is found[-1]))
        return scanned

    def _unread(self, certain: Segment, *, is_last: bool) -> "_Scanned":
        path = f"{self._folder}/{certain.name}{LOG_ENDING}"
        empty = Segment(certain.base, certain.generation, 0, certain.base, NO_TIMESTAMP, certain.created_ms)
        return _Scanned(certain, None, SegmentTail(empty, self._config.index_interval_bytes), None, path, [], is_last)

    def _scan(self, certain: Segment, epochs: EpochCache, *, is_last: bool) -> "_Scanned":
        path = f"{self._folder}/{certain.name}{LOG_ENDING}"
        pages: list[IndexPage] = []
        if not self._disk.exists(path):
            if certain.size:
                raise DamageError(path, 0, f"expected a segment of at least {certain.size} bytes, found no such file")
            return self._unread(certain, is_last=is_last)
        files = SegmentFiles(self._disk, self._folder, certain.name)
        file_bytes = files.log.size()
        # A checkpoint speaks of what had been synced when it was written, so nothing below it is in doubt.
        if self._distrust and file_bytes > certain.size:
            files.read_back()
        if file_bytes < certain.size:
            raise DamageError(path, file_bytes, f"expected at least {certain.size} bytes, found the end of the file")
        tail, begin = resume_tail(files, certain, self._config.index_interval_bytes)
        epochs.cut_from(tail.segment.next_offset)
        # Pages wait for the verdict. Those of a segment that was sealed should be in its files already.
        scan = scan_segment(files.log, tail, epochs, (begin, file_bytes), pages.extend if is_last else _drop_pages)
        self._scanned_bytes += tail.segment.size - begin
        unseen = begin > 0 and self._producers is None
        return _Scanned(certain, files, tail, scan.flaw, path, pages, is_last, scan.saw_producers or unseen)

    def _verdict(self, scanned: list["_Scanned"], mark: SyncedMark, *, trusted: bool) -> list["_Scanned"]:
        """Those to be kept, up to the first torn one; DamageError where what is missing was acknowledged."""
        if mark.base > (scanned[-1].certain.base if scanned else NO_MARK.base):
            path = f"{self._folder}/{segment_name(mark.base, mark.generation)}{LOG_ENDING}"
            raise DamageError(path, 0, f"expected a segment of at least {mark.position} bytes, found no such file")
        for at, one in enumerate(scanned):
            follower = scanned[at + 1] if at + 1 < len(scanned) else None
            # Without a checkpoint nothing tells how the log went on; then only its very end may be torn.
            whole = mark.base > one.certain.base or (follower is not None and not trusted)
            missing = self._missing(one, follower, trusted=trusted)
            certain_bytes = max(one.certain.size, mark.bytes_of(one.certain))
            end = one.tail.segment.size
            if mark.contradicts(one.tail.segment):
                wrong = f"expected offsets up to {mark.next_offset}, found them up to {one.tail.segment.next_offset}"
                raise DamageError(one.path, end, wrong)
            if end < certain_bytes or (whole and missing is not None):
                acknowledged = "" if whole else f"; batches up to byte {certain_bytes} were acknowledged"
                raise DamageError(one.path, end, f"{missing or 'expected another batch'}{acknowledged}")
            if missing is not None:
                for dropped in scanned[at + 1 :]:
                    self._notes.append(f"{dropped.path}: removed, what came before it did not survive")
                return scanned[: at + 1]
        return scanned

    def _missing(self, one: "_Scanned", follower: "_Scanned | None", *, trusted: bool) -> str | None:
        """What is wrong with the end of a segment, given the one that follows; None when all is there."""
        if one.flaw is not None and not one.flaw.blank:
            return one.flaw.message
        if follower is None or follower.certain.base == one.tail.segment.next_offset:
            return None
        # Compaction alone leaves gaps, and only behind segments that it wrote, which are exact.
        overlaps = follower.certain.base < one.tail.segment.next_offset
        if trusted or overlaps or one.flaw is not None or not one.certain.generation:
            found = one.tail.segment.next_offset
            return f"expected batches up to offset {follower.certain.base}, found them up to {found}"
        return None

    def _check_end(self, certain: Checkpoint, kept: list["_Scanned"], epochs: EpochCache) -> None:
        """Hold the last batch against the checkpoint where both end alike: no CRC covers its offset and its epoch."""
        end = kept[-1] if kept else None
        if end is None or not end.certain.size or end.tail.segment.size != end.certain.size:
            return
        found, known_epoch = end.tail.segment.next_offset, EpochCache(certain.epochs).latest
        if found != end.certain.next_offset:
            wrong = f"expected batches up to offset {end.certain.next_offset}, found them up to {found}"
            raise DamageError(end.path, end.certain.size, wrong)
        if epochs.latest != known_epoch:
            wrong = f"expected a last batch of leader epoch {known_epoch}, found {epochs.latest}"
            raise DamageError(end.path, end.certain.size, wrong)

    def _settle(self, one: "_Scanned") -> None:
        """Make the files hold what was found sound, and nothing more, for certain."""
        if one.files is None:
            one.files = SegmentFiles(self._disk, self._folder, one.certain.name, create=True)
        sound_bytes, file_bytes = one.tail.segment.size, one.files.log.size()
        as_left = one.certain.size == sound_bytes == file_bytes and one.is_last and not self._is_cut
        if as_left and not one.pages and _has_pages(one.files, one.tail):
            return
        if file_bytes > sound_bytes:
            if one.flaw is None or not one.flaw.blank:
                reason = one.flaw.reason if one.flaw is not None else "gap"
                self._cut_bytes += file_bytes - sound_bytes
                lost = f"cut {file_bytes - sound_bytes} bytes of a torn tail at byte {sound_bytes}"
                self._notes.append(f"{one.path}: {lost}, offset {one.tail.segment.next_offset} ({reason})")
            one.files.log.truncate(sound_bytes)
        self._settle_index(one, one.files)
        one.files.log.sync()
        one.files.sync_indexes()
        # Its name may be as young as what it holds.
        self._disk.sync_folder(self._folder)

    def _settle_index(self, one: "_Scanned", files: SegmentFiles) -> None:
        files.write_pages(one.pages)
        store_index(files, one.tail)
        sealed = one.tail.segment
        if not one.is_last and not (has_full_pages(files, one.tail) and has_sound_index(files, sealed, self._config)):
            self._rebuild_index(files, sealed)

    def _remove_leftovers(self, names: list[str], state: LogState) -> None:
        """Remove what no segment of the log needs; an index may have outlived its segment."""
        kept = {segment.name for segment in [*state.sealed, state.tail.segment]}
        owners = [(name, owner_of(name)) for name in names]
        self._remove([name for name, owner in owners if owner is not None and owner not in kept])

    def _remove(self, names: list[str]) -> None:
        for name in names:
            self._disk.remove(f"{self._folder}/{name}")
        if names:
            self._disk.sync_folder(self._folder)


def remove_segment(disk: Disk, folder: str, name: str) -> None:
    """Remove all files of a segment, finished or not, those that are there."""
    for file_name in segment_files(name):
        for path in (f"{folder}/{file_name}", f"{folder}/{file_name}{UNFINISHED_ENDING}"):
            if disk.exists(path):
                disk.remove(path)


def _segments_on_disk(names: list[str]) -> list[tuple[int, int]]:
    parsed = [parse_segment_name(segment) for segment in map(segment_of, names) if segment is not None]
    return sorted(found for found in parsed if found is not None)


def _checkpoint_of(state: LogState) -> Checkpoint:
    segments, epochs = [*state.sealed, state.tail.segment], state.epochs.entries()
    producers = state.producers.encode()
    return Checkpoint(state.incarnation, state.start_offset, state.cleaned_offset, segments, epochs, producers)


def store_index(files: SegmentFiles, tail: SegmentTail) -> None:
    """Write what a scan found out to the index files, and cut off what they held beyond."""
    files.write_pages(tail.pages)
    files.write_pages(tail.partial_pages())
    tail.pages = []
    for index, pages in zip((tail.offsets, tail.times), tail.index_sizes(), strict=True):
        files.cut_index(index.kind, pages)


def _drop_pages(pages: list[IndexPage]) -> None:
    """Whoever takes the pages for written needs none."""


def _has_pages(files: SegmentFiles, tail: SegmentTail) -> bool:
    """Whether the index files hold what the tail does, as far as the pages' number and the last one tell."""
    for index, pages in zip((tail.offsets, tail.times), tail.index_sizes(), strict=True):
        if files.page_count(index.kind) != pages:
            return False
        last = files.page(index.kind, index.full_pages) if index.keys else None
        if index.keys and (last is None or last.count != len(index.keys)):
            return False
    return True


def find_cut(disk: Disk, folder: str, name: str, offset: int) -> int:
    """The position of the batch in a segment that holds `offset`, or of its end. Raises DamageError."""
    if not disk.exists(f"{folder}/{name}{LOG_ENDING}"):
        return 0
    files = SegmentFiles(disk, folder, name)
    return locate(files, Read(folder, name, offset, -1, files.log.size(), offset, offset + 1, 1))


def cut_back(disk: Disk, folder: str, name: str, position: int) -> None:
    """Make a segment end at `position`, durably; recovery comes next."""
    files = SegmentFiles(disk, folder, name, create=True)
    files.log.truncate(position)
    files.log.sync()
    disk.sync_folder(folder)
