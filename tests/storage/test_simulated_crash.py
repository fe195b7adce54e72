"""What a crash may leave of a simulated disk: everything synced, some of the rest, and nothing that never was."""

import errno
from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from goqueue.storage.simulated import SimulatedDisk
from tests.storage.simulated_disks import durable_file, whole

SECTOR = 512
PAGE = 4096


def crashes(disk: SimulatedDisk, count: int = 300) -> list[SimulatedDisk]:
    """Copies of a disk that crashed in as many ways."""
    copies = [disk.copy(seed) for seed in range(count)]
    for copy in copies:
        copy.crash()
        copy.check()
    return copies


def outcomes(disk: SimulatedDisk, path: str, count: int = 300) -> set[bytes | None]:
    return {whole(copy, path) for copy in crashes(disk, count)}


def sectors(content: bytes | None) -> str:
    """The first letter of each sector, '.' for zero; every sector has to be of one piece."""
    assert content is not None
    pieces = [content[start : start + SECTOR] for start in range(0, len(content), SECTOR)]
    assert all(len(set(piece)) == 1 for piece in pieces)
    return "".join(chr(piece[0] or ord(".")) for piece in pieces)


def test_what_was_synced_is_there_whatever_happens() -> None:
    disk = SimulatedDisk(1)
    disk.make_folder("f/g")
    durable_file(disk, "f/g/a", b"abc" * 1000)
    assert outcomes(disk, "f/g/a") == {b"abc" * 1000}


def test_sectors_of_unsynced_writes_survive_in_any_combination() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"o" * 4 * SECTOR)
    file.write([b"x" * 2 * SECTOR], 0)
    file.write([b"y" * SECTOR], 2 * SECTOR)
    found = {sectors(content) for content in outcomes(disk, "a")}
    assert found == {a + b + c + "o" for a in "ox" for b in "ox" for c in "oy"}


def test_a_sector_holds_one_of_its_versions_and_never_a_newer_over_a_lost_older_one() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"o" * 6)
    file.write([b"xxx"], 0)
    file.write([b"yyy"], 2)
    file.write([b"z"], 4)
    assert outcomes(disk, "a") == {b"oooooo", b"xxxooo", b"xxyyyo", b"xxyyzo"}


def test_an_append_may_be_short_torn_whole_or_zeros() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"o" * SECTOR)
    file.write([b"x" * 3 * SECTOR], SECTOR)
    found = {sectors(content) for content in outcomes(disk, "a", 3000)}
    assert found == {"o" + "".join(tail) for length in range(4) for tail in product(".x", repeat=length)}


def test_a_length_may_stop_on_the_way_through_one_write_only_at_a_sector() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"o" * 100)
    file.write([b"x" * 1000], 100)
    sizes = {len(content or b"") for content in outcomes(disk, "a")}
    assert sizes == {100, 512, 1024, 1100}


def test_of_several_appends_a_later_one_may_survive_over_a_hole() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"o" * SECTOR)
    for number, letter in enumerate(b"xyz", 1):
        file.write([bytes([letter]) * SECTOR], number * SECTOR)
    found = {sectors(content) for content in outcomes(disk, "a", 1000)}
    assert {"o", "ox", "o.", "oxy", "o.y", "oxyz", "o..z", "ox.z", "o..."} <= found


def test_an_unsynced_truncation_holds_or_does_not() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"o" * 3 * SECTOR)
    file.truncate(SECTOR)
    assert {sectors(content) for content in outcomes(disk, "a")} == {"o", "ooo"}


def test_a_truncation_within_a_sector_may_leave_zeros_behind_the_cut_alone() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"o" * 2 * SECTOR)
    file.truncate(10)
    assert outcomes(disk, "a") == {b"o" * 10, b"o" * 2 * SECTOR, b"o" * 10 + bytes(SECTOR - 10) + b"o" * SECTOR}


def test_bytes_cut_off_do_not_come_back_under_a_later_length() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"o" * 2 * SECTOR)
    file.truncate(0)
    file.allocate(2 * SECTOR)
    assert {sectors(content) for content in outcomes(disk, "a")} == {"", ".", "..", "oo"}


def test_a_write_after_an_unsynced_truncation_may_lie_over_what_was_cut() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"o" * 3 * SECTOR)
    file.truncate(SECTOR)
    file.write([b"n" * SECTOR], SECTOR)
    found = {sectors(content) for content in outcomes(disk, "a")}
    assert {"ooo", "o", "on", "ono", "o."} <= found
    assert found <= {"ooo", "o", "on", "ono", "o.", "o.o"}


def test_an_unsynced_allocation_holds_or_does_not() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"abc")
    file.allocate(SECTOR)
    assert outcomes(disk, "a") == {b"abc", b"abc".ljust(SECTOR, b"\0")}


def test_a_file_without_a_synced_name_may_vanish_though_it_was_synced() -> None:
    disk = SimulatedDisk(1)
    file = disk.open("a", create=True)
    file.write([b"abc"], 0)
    file.sync()
    assert outcomes(disk, "a") == {None, b"abc"}


def test_a_file_without_a_sync_may_be_empty_though_its_name_was_synced() -> None:
    disk = SimulatedDisk(1)
    file = disk.open("a", create=True)
    file.write([b"abc"], 0)
    disk.sync_folder("")
    assert outcomes(disk, "a") == {b"", bytes(3), b"abc"}


def test_a_replacement_that_was_not_synced_first_may_lose_both_contents() -> None:
    disk = SimulatedDisk(1)
    durable_file(disk, "a", b"old")
    disk.open("a.unfinished", create=True).write([b"new"], 0)
    disk.rename("a.unfinished", "a")
    assert b"" in outcomes(disk, "a")


def test_a_replacement_by_the_book_leaves_the_old_or_the_new() -> None:
    disk = SimulatedDisk(1)
    durable_file(disk, "a", b"old")
    new = disk.open("a.unfinished", create=True)
    new.write([b"new"], 0)
    new.sync()
    disk.rename("a.unfinished", "a")
    assert outcomes(disk, "a") == {b"old", b"new"}
    assert {tuple(copy.names("")) for copy in crashes(disk)} == {("a",), ("a", "a.unfinished")}
    disk.sync_folder("")
    assert outcomes(disk, "a") == {b"new"}


def test_a_removal_may_be_undone_until_the_folder_is_synced() -> None:
    disk = SimulatedDisk(1)
    durable_file(disk, "a", b"abc")
    disk.remove("a")
    assert outcomes(disk, "a") == {None, b"abc"}
    disk.sync_folder("")
    assert outcomes(disk, "a") == {None}


def test_room_of_a_removal_that_was_undone_is_taken_again() -> None:
    disk = SimulatedDisk(1)
    durable_file(disk, "a", bytes(100)).close()
    disk.remove("a")
    assert disk.used_bytes == 0
    disk.crash(survives=0.0)
    disk.open("a").close()
    assert disk.used_bytes == 100
    disk.remove("a")
    assert disk.used_bytes == 0


def test_changes_of_one_folder_survive_in_their_order() -> None:
    disk = SimulatedDisk(1)
    for name in "abcd":
        disk.open(name, create=True)
    disk.rename("a", "z")
    disk.remove("b")
    history = [
        "",
        "a",
        "ab",
        "abc",
        "abcd",
        "bcdz",
        "cdz",
    ]
    assert {"".join(copy.names("")) for copy in crashes(disk, 600)} == set(history)


def test_changes_of_two_folders_survive_independently() -> None:
    disk = SimulatedDisk(1)
    disk.make_folder("f")
    disk.make_folder("g")
    disk.open("f/a", create=True)
    disk.open("g/a", create=True)
    found = {(copy.exists("f/a"), copy.exists("g/a")) for copy in crashes(disk)}
    assert found == {(False, False), (False, True), (True, False), (True, True)}


def test_a_folder_that_was_made_is_durable_and_so_are_those_above() -> None:
    disk = SimulatedDisk(1)
    disk.make_folder("f/g/h")
    disk.crash(survives=0.0)
    assert disk.names("f/g/h") == []


def test_a_folder_whose_making_failed_half_way_is_made_durable_by_the_next_attempt() -> None:
    disk = SimulatedDisk(1)
    disk.fail_next("sync_folder", errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        disk.make_folder("f")
    assert disk.is_folder("f")
    copy = disk.copy()
    copy.crash(survives=0.0)
    assert copy.names("") == []
    disk.make_folder("f")
    disk.crash(survives=0.0)
    assert disk.names("") == ["f"]


def test_a_folder_renamed_takes_what_is_in_it_along_or_stays() -> None:
    disk = SimulatedDisk(1)
    disk.make_folder("f")
    durable_file(disk, "f/a", b"abc")
    disk.rename("f", "g")
    assert {(whole(copy, "f/a"), whole(copy, "g/a")) for copy in crashes(disk)} == {(b"abc", None), (None, b"abc")}


def test_a_removed_folder_may_come_back_with_its_content() -> None:
    disk = SimulatedDisk(1)
    disk.make_folder("f")
    durable_file(disk, "f/a", b"abc")
    disk.remove("f/a")
    disk.remove_folder("f")
    assert {tuple(copy.paths()) + tuple(copy.names("")) for copy in crashes(disk)} == {(), ("f",), ("f/a", "f")}


def test_nothing_or_everything_survives_when_told_so() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"abc")
    file.write([b"x" * 2000], 3)
    disk.open("b", create=True).write([b"y" * 2000], 0)
    nothing, everything = disk.copy(), disk.copy()
    nothing.crash(survives=0.0)
    everything.crash(survives=1.0)
    assert (whole(nothing, "a"), whole(nothing, "b")) == (b"abc", None)
    assert (whole(everything, "a"), whole(everything, "b")) == (b"abc" + b"x" * 2000, b"y" * 2000)


def test_losing_all_that_was_not_synced_anywhere_is_no_rare_fate() -> None:
    disk = SimulatedDisk(1)
    for name in "abcdefgh":
        durable_file(disk, name, b"old").write([b"new"], 0)
    lost = [copy for copy in crashes(disk) if {whole(copy, name) for name in "abcdefgh"} == {b"old"}]
    assert len(lost) > 30


def test_a_crash_between_the_halves_of_a_sync_may_lose_what_it_covers() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"old")
    file.write([b"new"], 0)
    file.begin_sync()
    assert outcomes(disk, "a") == {b"old", b"new"}


def test_writes_that_a_failed_sync_lost_survive_no_crash() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"o" * SECTOR)
    file.write([b"x" * SECTOR], 0)
    file.write([b"y" * SECTOR], SECTOR)
    disk.fail_next("sync", errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        file.sync()
    file.write([b"n" * SECTOR], 2 * SECTOR)
    assert {sectors(content) for content in outcomes(disk, "a")} == {"o", "o.", "o..", "o.n"}


def test_a_second_crash_loses_nothing_more() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"o" * 2000)
    file.write([b"x" * 5000], 1000)
    for copy in crashes(disk, 50):
        survived = whole(copy, "a")
        copy.crash()
        assert whole(copy, "a") == survived == copy.durable_bytes("a")


class Life(RuleBasedStateMachine):
    """One file, written, synced and crashed, beside the plainest account of what may be in it.

    The account keeps the synced bytes and the changes since; of writes that a failed sync lost, only the length. After
    a crash each byte has to be one that was synced there or written there since; zero where the file was ever shorter;
    and the length one that it had on its way.
    """

    def __init__(self) -> None:
        super().__init__()
        self.disk = SimulatedDisk(0)
        self.file = durable_file(self.disk, "a", b"")
        self.durable = b""
        # Each with the pages that it makes dirty.
        self.changes: list[tuple[Callable[[bytes], bytes], range]] = []
        self.content = b""
        self.has_gone = False
        self.tokens: list[tuple[int, int]] = []

    @staticmethod
    def written(position: int, piece: bytes) -> Callable[[bytes], bytes]:
        return lambda image: image[:position].ljust(position, b"\0") + piece + image[position + len(piece) :]

    @staticmethod
    def resized(size: int) -> Callable[[bytes], bytes]:
        return lambda image: image[:size].ljust(size, b"\0")

    def change(self, change: Callable[[bytes], bytes], pages: range = range(0)) -> None:
        self.changes.append((change, pages))
        self.content = change(self.content)

    @rule(position=st.integers(0, 2500), sizes=st.lists(st.integers(0, 900), max_size=3), letter=st.integers(1, 255))
    def write(self, position: int, sizes: list[int], letter: int) -> None:
        piece = bytes([letter]) * sum(sizes)
        assert self.file.write([bytes([letter]) * size for size in sizes], position) == len(piece)
        if piece:
            pages = range(position // PAGE, (position + len(piece) - 1) // PAGE + 1)
            self.change(self.written(position, piece), pages)

    @rule(size=st.integers(0, 900), letter=st.integers(1, 255))
    def append(self, size: int, letter: int) -> None:
        self.write(len(self.content), [size], letter)

    @rule(size=st.integers(0, 4000))
    def truncate(self, size: int) -> None:
        self.file.truncate(size)
        self.change(self.resized(size))

    @rule(size=st.integers(0, 4000))
    def allocate(self, size: int) -> None:
        self.file.allocate(size)
        if size > len(self.content):
            self.change(self.resized(size))

    @rule(position=st.integers(0, 5000), cached=st.booleans(), size=st.integers(0, 1000))
    def read(self, position: int, size: int, cached: bool) -> None:
        buffer = bytearray(size)
        count = (self.file.read_cached_into if cached else self.file.read_into)(buffer, position)
        if count is None:
            assert cached
        else:
            assert bytes(buffer[:count]) == self.content[position : position + size]

    @precondition(lambda self: not self.has_gone)
    @rule(position=st.integers(0, 5000))
    def forget(self, position: int) -> None:
        self.file.forget_cached(position)

    @rule()
    def evict(self) -> None:
        self.disk.evict("a")
        seen, image = bytearray(self.content), self.images()[-1]
        dirty = {page for _, pages in self.changes for page in pages}
        for page in range(-(-len(image) // PAGE)):
            if page not in dirty:
                seen[page * PAGE : (page + 1) * PAGE] = image[page * PAGE : (page + 1) * PAGE]
        self.content = bytes(seen)
        self.has_gone = self.content != image

    @rule()
    def sync(self) -> None:
        self.file.sync()
        self.durable, self.changes = self.images()[-1], []
        self.tokens.clear()

    @rule()
    def fail_sync(self) -> None:
        self.disk.fail_next("sync", errno.EIO)
        with pytest.raises(OSError, match="Input/output"):
            self.file.sync()
        self.changes = [(self.resized(len(image)), range(0)) for image in self.images()[1:]]
        self.has_gone = True

    @rule()
    def begin_sync(self) -> None:
        self.tokens.append((self.file.begin_sync(), len(self.changes)))

    @rule()
    def finish_sync(self) -> None:
        if not self.tokens:
            return
        token, count = self.tokens.pop()
        self.file.finish_sync(token)
        for change, _ in self.changes[:count]:
            self.durable = change(self.durable)
        del self.changes[:count]
        self.tokens = [(earlier, max(0, covered - count)) for earlier, covered in self.tokens]

    @rule()
    def kill(self) -> None:
        self.disk.kill()
        self.file = self.disk.open("a")
        self.tokens.clear()

    @rule()
    def crash(self) -> None:
        for seed in range(3):
            copy = self.disk.copy(seed)
            copy.crash()
            self.check_survivors(whole(copy, "a") or b"")
        self.disk.crash()
        self.file = self.disk.open("a")
        survived = self.file.read(self.file.size(), 0)
        self.check_survivors(survived)
        self.durable = self.content = survived
        self.changes = []
        self.has_gone = False
        self.tokens.clear()

    def images(self) -> list[bytes]:
        """What the file would hold after none, one, …, all of the changes since it was synced."""
        images = [self.durable]
        for change, _ in self.changes:
            images.append(change(images[-1]))
        return images

    def check_survivors(self, survived: bytes) -> None:
        images = self.images()
        sizes = [len(image) for image in images]
        assert min(sizes) <= len(survived) <= max(sizes)
        for position, byte in enumerate(survived):
            allowed = {image[position] for image in images if position < len(image)}
            if position >= min(sizes):
                allowed.add(0)
            assert byte in allowed

    @invariant()
    def same_content(self) -> None:
        # A copy is read, as reading warms what is cold.
        assert whole(self.disk.copy(0), "a") == self.content
        assert self.file.size() == len(self.content)
        assert self.disk.durable_bytes("a") == self.durable
        self.disk.check()


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=150, stateful_step_count=25, deadline=None)
