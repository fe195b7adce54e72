"""The targets of byte fuzzing hold for their seeds, for mutations that are the same every time, and for what was found.

And they can fail: a check that is taken out of the product is missed within a few mutations.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random
from types import ModuleType

import pytest
from attrs import evolve

from goqueue.core.log import index, scan
from goqueue.core.records import batch, compression, record
from goqueue.fuzz.bytes.bounds import MEMORY_BYTES_MAX, BeyondBounds, check_memory
from goqueue.fuzz.bytes.mutation import havoc
from goqueue.fuzz.bytes.shrinking import failure
from goqueue.fuzz.bytes.stream_files import Kind, pack, unpack
from goqueue.fuzz.bytes.target import Target
from goqueue.fuzz.bytes.targets import NAMES, load
from goqueue.storage import recovery, synced_mark
from tests.fuzz import planted

REGRESSIONS = Path(__file__).parent / "regressions"
FOUND = sorted(path.relative_to(REGRESSIONS) for path in REGRESSIONS.glob("*/*"))

# Enough for seconds, not minutes: the recovery of a stream is a hundred times the work of a mark.
MUTATIONS = {
    "batch": 4000,
    "admission": 1000,
    "compression": 3000,
    "scan": 3000,
    "index": 2000,
    "checkpoint": 6000,
    "mark": 3000,
    "recovery": 1500,
}


def mutations(target: Target, seed: int) -> Iterator[bytes]:
    """Mutations of the seeds without end, the same for the same `seed`."""
    random, seeds = Random(seed), target.seeds()
    while True:
        content = random.choice(seeds)
        for _ in range(random.choice((1, 1, 2, 3))):
            content = target.mutate(content, target.size_max, random, havoc)
        yield content


@pytest.mark.parametrize("name", NAMES)
def test_a_target_accepts_its_seeds(name: str) -> None:
    target = load(name)
    for content in target.seeds():
        assert len(content) <= target.size_max
        check_memory(target.check, content)


@pytest.mark.parametrize("name", NAMES)
def test_a_target_holds_for_mutations_of_its_seeds(name: str) -> None:
    target = load(name)
    for content in islice(mutations(target, 1), MUTATIONS[name]):
        assert len(content) <= target.size_max
        check_memory(target.check, content)


@pytest.mark.parametrize("name", NAMES)
def test_a_target_holds_for_bytes_of_no_format(name: str) -> None:
    target, random = load(name), Random(2)
    for size in range(0, 200, 7):
        target.check(random.randbytes(size))
        target.check(bytes(size))
        target.check(b"\xff" * size)


@pytest.mark.parametrize("path", FOUND, ids=str)
def test_what_was_found_stays_repaired(path: Path) -> None:
    check_memory(load(path.parts[0]).check, (REGRESSIONS / path).read_bytes())


def test_a_damaged_page_of_a_long_index_is_made_anew() -> None:
    target = load("recovery")
    files = unpack(max(target.seeds(), key=len))
    for kind in (Kind.OFFSETS, Kind.TIMES):
        damaged = [evolve(file, content=b"?" + file.content[1:]) if file.kind is kind else file for file in files]
        assert damaged != files
        target.check(pack(damaged))


@pytest.mark.parametrize(
    ("name", "place", "attribute", "forgetful"),
    [
        ("batch", batch, "crc32c", planted.agreeable_crc),
        ("batch", batch, "_check_fields", planted.any_fields),
        ("batch", record, "decode_varint", planted.padded_varint),
        ("batch", record, "decode_headers", planted.unfinished_headers),
        ("compression", compression, "min", planted.second_of),
        ("scan", scan, "crc32c", planted.agreeable_crc),
        ("index", index, "crc32c", planted.agreeable_crc),
        ("mark", synced_mark, "crc32c", planted.agreeable_crc),
        ("recovery", scan, "crc32c", planted.agreeable_crc),
        ("recovery", recovery, "read_mark", planted.no_mark),
    ],
)
def test_a_check_that_the_product_forgets_is_missed(
    monkeypatch: pytest.MonkeyPatch, name: str, place: ModuleType, attribute: str, forgetful: object
) -> None:
    target = load(name)
    contents = list(islice(mutations(target, 1), MUTATIONS[name]))
    monkeypatch.setattr(place, attribute, forgetful, raising=attribute != "min")
    assert any(failure(target.check, content) for content in contents)


def test_a_check_that_takes_too_much_memory_is_refused() -> None:
    taken: list[bytes] = []

    def check_often(content: bytes) -> None:
        # What other tests had at their peak may be there for nothing, but not many times over.
        for _ in range(40):
            check_memory(lambda content: taken.append(b"\xff" * (MEMORY_BYTES_MAX + (16 << 20))), content)

    with pytest.raises(BeyondBounds, match="MiB"):
        check_often(b"")
