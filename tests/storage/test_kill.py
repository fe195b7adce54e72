"""Real processes, killed at any moment: what they said was acknowledged is on the disk, and nothing nobody wrote."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from goqueue.core.log.config import Cleanup
from goqueue.core.records.record import Record
from goqueue.storage.files import FileDisk
from goqueue.storage.open_log import OpenLog
from tests.storage.appender import key_of, value_of
from tests.storage.logbook import abandon, opened, records, stored

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, str(Path(__file__).with_name("appender.py"))]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}

Author = tuple[int, int, int]
"""Round, serial number of the batch in it, and place of the record in the batch."""


class Nursery:
    """The process that forks writers."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [*PROGRAM, "serve"], env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def _ask(self, line: str) -> int:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(line + "\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())

    def write_and_kill(self, line: str, after_s: float) -> int:
        """Let a writer work for a while, kill it, and answer how it ended."""
        writer = self._ask(line)
        time.sleep(after_s)
        # It is not reaped before it is asked for, so the number is still its own.
        os.kill(writer, signal.SIGKILL)
        return self._ask("reap")

    def close(self) -> None:
        """End it; it ends its writer."""
        self._server.communicate(timeout=60)


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    started = Nursery()
    yield started
    started.close()


class Witness:
    """What was said and seen of one log, and what must therefore be there."""

    def __init__(self, folder: str, cleanup: Cleanup) -> None:
        self.folder = folder
        self.cleanup = cleanup
        self.expected: dict[int, Author] = {}
        self.floor = 0
        self._heard_bytes = 0

    def listen(self, round_number: int) -> int:
        """Take in what the writer of a round said; how many batches were acknowledged to it."""
        with open(self.folder + ".said", "rb") as said:
            said.seek(self._heard_bytes)
            news = said.read()
        self._heard_bytes += len(news)
        assert news.endswith(b"\n") or not news
        acknowledged = 0
        for line in news.decode().splitlines():
            verb, *numbers = line.split()
            offset = int(numbers[0])
            if verb == "a":
                count, serial = int(numbers[1]), int(numbers[2])
                self.expected |= {offset + at: (round_number, serial, at) for at in range(count)}
                acknowledged += 1
            elif verb == "t":
                self.expected = {at: author for at, author in self.expected.items() if at < offset}
            else:
                self.floor = max(self.floor, offset)
        return acknowledged

    def look(self, round_number: int, seen: dict[int, Author]) -> None:
        """Compare a log with what was said, and go on from what is there."""
        known = self.expected
        newest = {key_of(serial): offset for offset, (_, serial, _) in seen.items()}
        for offset, author in known.items():
            if offset in seen:
                assert seen[offset] == author, f"offset {offset} was {author}, is {seen[offset]}"
            elif offset >= self.floor:
                superseded = self.cleanup.compacts and newest.get(key_of(author[1]), -1) > offset
                assert superseded, f"offset {offset} of {author} is missing"
        authors = list(seen.values())
        assert authors == sorted(authors)
        assert len(set(authors)) == len(authors)
        assert all(author[0] <= round_number for author in authors)
        self.expected = dict(seen)


def author_of(record: Record) -> Author:
    """Who wrote a record, whose bytes must be just what that writer writes."""
    assert record.value is not None
    name = bytes(record.value).partition(b":")[0].split(b".")
    round_number, serial, at = map(int, name)
    assert bytes(record.value) == value_of(round_number, serial, at)
    assert record.key is not None
    assert bytes(record.key) == key_of(serial)
    return round_number, serial, at


def recovered(folder: str, cleanup: Cleanup) -> tuple[OpenLog, dict[int, Author]]:
    """The log as it is now, and who wrote what is in it."""
    log = opened(FileDisk(folder), cleanup=cleanup)
    log.log.check()
    found = [record for record in records(stored(log)) if record.offset >= log.log.start_offset]
    seen = {record.offset: author_of(record) for record in found}
    assert len(seen) == len(found)
    if not cleanup.compacts:
        assert list(seen) == list(range(log.log.start_offset, log.log.next_offset))
    return log, seen


@pytest.mark.parametrize("cleanup", [Cleanup.DELETE, Cleanup.COMPACT])
def test_no_kill_loses_what_was_acknowledged(nursery: Nursery, tmp_path: Path, cleanup: Cleanup) -> None:
    seed = Random().getrandbits(32)
    print(f"seed {seed}")
    random = Random(seed)
    folder = str(tmp_path / "data")
    witness = Witness(folder, cleanup)
    acknowledged = 0
    for round_number in range(100):
        line = f"{folder} {random.getrandbits(32)} {round_number} {cleanup}"
        assert nursery.write_and_kill(line, random.uniform(0, 0.08)) == -signal.SIGKILL
        if not Path(folder + ".said").exists():
            continue
        acknowledged += witness.listen(round_number)
        log, seen = recovered(folder, cleanup)
        assert log.log.start_offset <= witness.floor
        witness.look(round_number, seen)
        if random.random() < 0.5:
            abandon(log)
        else:
            log.close()
    assert acknowledged > 0


def test_a_million_messages_are_the_same_after_a_restart(tmp_path: Path) -> None:
    def said(*arguments: str) -> str:
        command = [*PROGRAM, *arguments]
        return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True).stdout

    written = said("write", str(tmp_path / "data"), "1000000")
    assert written.startswith("1000000 ")
    assert said("read", str(tmp_path / "data")) == written
