"""What lies where: names, the format of a folder, and small files that are replaced whole or not at all."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.log.segment import parse_segment_name, segment_name
from goqueue.storage.disk import Disk
from goqueue.storage.layout import (
    FORMAT_FILE,
    LOCK_FILE,
    FormatError,
    check_format,
    owner_of,
    read_file,
    replace_file,
    segment_files,
    segment_of,
)
from goqueue.storage.simulated import SimulatedDisk
from goqueue.storage.store import Store
from tests.storage.logbook import (
    STREAM,
    Witness,
    content,
    everything,
    in_stream,
    log_files,
    numbered,
    opened,
    overwrite,
)

NAME = "0" * 18 + "42"


@given(st.integers(0, 10**20 - 1), st.integers(0, 10**6))
def test_a_segments_name_says_base_and_generation(base: int, generation: int) -> None:
    name = segment_name(base, generation)
    assert parse_segment_name(name) == (base, generation)
    for file_name in segment_files(name):
        assert owner_of(file_name) == name
    assert [segment_of(file_name) for file_name in segment_files(name)] == [name, None, None]


@given(st.integers(0, 10**20 - 1), st.integers(0, 10**20 - 1))
def test_names_sort_as_offsets_do(one: int, other: int) -> None:
    assert (segment_name(one, 0) < segment_name(other, 0)) == (one < other)


@pytest.mark.parametrize(
    "file_name",
    [
        "",
        "checkpoint",
        "synced",
        ".log",
        "42.log",
        f"{NAME}",
        f"{NAME}.log.bak",
        f"{NAME}.log.unfinished",
        f"{NAME}.0.log",
        f"{NAME}.01.log",
        f"{NAME}.x.log",
        f"{NAME}..log",
        f"{NAME}.1.2.log",
        f"-{NAME[1:]}.log",
        f"{NAME[:-1]}\N{ARABIC-INDIC DIGIT TWO}.log",
        f"{NAME}.damaged-17",
    ],
)
def test_other_names_belong_to_no_segment(file_name: str) -> None:
    assert owner_of(file_name) is None


@given(st.text(max_size=40))
def test_any_name_can_be_asked_about(file_name: str) -> None:
    owner = owner_of(file_name)
    if owner is not None:
        assert file_name in segment_files(owner)


def test_a_stream_is_a_folder_with_these_files_and_no_others(any_disk: Disk) -> None:
    log = opened(any_disk, segment_bytes=300, index_interval_bytes=0)
    for number in range(5):
        log.append(numbered(number))
        log.flush()
    log.close()
    names = set(any_disk.names(STREAM))
    expected = {"checkpoint", "synced"}
    for name in log_files(any_disk):
        expected |= {name, name.replace(".log", ".index"), name.replace(".log", ".timeindex")}
    assert names <= expected
    assert names >= {"checkpoint", "synced", *log_files(any_disk)}
    assert any_disk.names("") == [FORMAT_FILE, LOCK_FILE, "logs"]


# --- the format


def test_an_empty_folder_becomes_one_of_ours_and_stays_so(any_disk: Disk) -> None:
    any_disk.make_folder("")
    check_format(any_disk)
    before = everything(any_disk)
    assert before == {FORMAT_FILE: b"goqueue data, format 1\n"}
    check_format(any_disk)
    assert everything(any_disk) == before


@pytest.mark.parametrize("name", ["a", ".hidden", "logs", "FORMAT.old"])
def test_a_folder_with_anything_else_in_it_is_left_alone(any_disk: Disk, name: str) -> None:
    any_disk.make_folder("")
    overwrite(any_disk, name, 0, b"x")
    with pytest.raises(FormatError, match=f"'{name}'"):
        check_format(any_disk)
    assert everything(any_disk) == {name: b"x"}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (b"", "expected"),
        (b"goqueue data, format \n", "expected"),
        (b"goqueue data, format x\n", "expected"),
        (b"goqueue data, format -1\n", "expected"),
        (b"GoQueue data, format 1\n", "expected"),
        (b"\xff" * 2000, "expected"),
        (b"goqueue data, format 2\n", "newer than 1"),
        (b"goqueue data, format 10\n", "newer than 1"),
    ],
)
def test_another_format_is_refused_with_a_sentence(any_disk: Disk, found: bytes, said: str) -> None:
    any_disk.make_folder("")
    overwrite(any_disk, FORMAT_FILE, 0, found)
    with pytest.raises(FormatError, match=said) as caught:
        Store(any_disk)
    assert str(caught.value).startswith(f"{FORMAT_FILE}: ")
    assert len(str(caught.value)) < 400
    assert content(any_disk, FORMAT_FILE) == found


def test_a_first_start_that_is_cut_short_anywhere_can_be_repeated() -> None:
    disk = SimulatedDisk(1)
    random = Random(1)

    def look(operation: str) -> None:
        for stopped in (disk.copy(), disk.copy(random.getrandbits(32))):
            if random.random() < 0.5:
                stopped.crash()
            log = opened(stopped)
            log.append(numbered(0))
            assert log.flush() == 1
            log.close()

    disk.faults = witness = Witness(look)
    opened(disk)
    assert witness.looks > 15


# --- small files


def test_a_replaced_file_has_its_new_content_and_leaves_nothing_beside_it(any_disk: Disk) -> None:
    any_disk.make_folder(STREAM)
    for text in (b"first", b"a second that is longer", b"3rd", b""):
        replace_file(any_disk, STREAM, "checkpoint", text)
        assert read_file(any_disk, in_stream("checkpoint")) == text
        assert any_disk.names(STREAM) == ["checkpoint"]
    replace_file(any_disk, "", "FORMAT", b"x")
    assert read_file(any_disk, "FORMAT") == b"x"


def test_a_crash_leaves_the_old_content_or_the_new_and_the_new_once_it_is_answered() -> None:
    old, new = b"old" * 400, b"newer" * 500
    disk = SimulatedDisk(1)
    disk.make_folder(STREAM)
    replace_file(disk, STREAM, "checkpoint", old)
    overwrite(disk, in_stream("checkpoint.unfinished"), 0, b"left by an earlier crash" * 300)
    seen: set[bytes] = set()

    def look(operation: str) -> None:
        for seed in range(20):
            stopped = disk.copy(seed)
            stopped.crash()
            found = content(stopped, in_stream("checkpoint"))
            assert found in (old, new)
            seen.add(found)

    disk.faults = Witness(look)
    replace_file(disk, STREAM, "checkpoint", new)
    assert seen == {old, new}
    seen.clear()
    look("the end")
    assert seen == {new}
