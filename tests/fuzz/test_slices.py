"""Work in parts: it pauses between operations, ends with its process, and one thread runs at a time."""

from random import Random
from threading import active_count

import pytest

from goqueue.fuzz.faults import Interruptions, PowerCut
from goqueue.fuzz.slices import Slices
from goqueue.storage.simulated import SimulatedDisk


def disk_with_slices() -> tuple[SimulatedDisk, Slices]:
    """A disk, and what runs work on it."""
    disk = SimulatedDisk(1)
    faults = Interruptions(Random(1))
    disk.faults = faults
    return disk, Slices(Random(1), faults)


def test_work_is_done_in_parts_with_others_between() -> None:
    disk, slices = disk_with_slices()
    told: list[str] = []

    def make(name: str) -> None:
        for number in range(20):
            disk.open(f"{name}{number}", create=True).close()
            told.append(name)

    pieces = [slices.begin(lambda: make("a")), slices.begin(lambda: make("b"))]
    while pieces:
        pieces = [piece for piece in pieces if not slices.go_on(piece)]
    assert sorted(told) == ["a"] * 20 + ["b"] * 20
    changes = sum(told[at] != told[at + 1] for at in range(39))
    assert changes > 4
    assert len(disk.paths()) == 40
    slices.close()


def test_work_that_is_paused_ends_with_its_process() -> None:
    disk, slices = disk_with_slices()
    threads = active_count()
    ended: list[str] = []

    def work() -> None:
        try:
            for number in range(100):
                disk.open(f"file{number}", create=True).close()
        finally:
            with pytest.raises(PowerCut):
                disk.remove("file0")
            ended.append("ended")

    begun, idle = slices.begin(work), slices.begin(work)
    assert not slices.go_on(begun)
    made = disk.paths()
    slices.end()
    assert ended == ["ended"]
    assert disk.paths() == made
    assert idle.worker is None
    slices.close()
    assert active_count() == threads


def test_an_error_of_the_work_reaches_whoever_let_it_go_on() -> None:
    _, slices = disk_with_slices()

    def fail() -> None:
        raise ValueError("planted")

    with pytest.raises(ValueError, match="planted"):
        slices.go_on(slices.begin(fail))
    slices.close()
