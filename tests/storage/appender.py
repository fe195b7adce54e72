"""A process that appends to a log until it is killed, and says on the way what was acknowledged to it.

Run as a program. `serve` stays at hand, with everything imported, and forks a writer for each line `FOLDER SEED ROUND
CLEANUP`, whose number it answers; the line `reap` waits for its end. `write FOLDER COUNT` and `read FOLDER` each handle
a million messages and print their digest. What a writer did is in the file `FOLDER.said`, a line each, written before
the deed where something is to go and after it where something was acknowledged:

    a OFFSET COUNT SERIAL   so many records, all of batch SERIAL, are acknowledged
    t OFFSET                everything from OFFSET on is about to be taken back
    d OFFSET                everything below OFFSET is about to be deleted
"""

import hashlib
import os
import signal
import sys
from collections import deque
from queue import Empty, SimpleQueue
from random import Random

from attrs import define

from goqueue.core.log.config import UNLIMITED, Cleanup, Fsync
from goqueue.core.records.batch import read_header, split, validate
from goqueue.core.records.build import encode
from goqueue.storage.files import FileDisk
from goqueue.storage.jobs import StreamJob
from goqueue.storage.open_log import OpenLog
from goqueue.storage.threads import DiskThreads
from tests.storage.logbook import NOW_MS, opened

KEYS = 7
RECORDS_KEPT = 2000
BATCH_RECORDS = 100


def value_of(round_number: int, serial: int, at: int) -> bytes:
    """What record `at` of a batch holds: who wrote it, and bytes that follow from that."""
    random = Random(serial * 1000 + at)
    return b"%d.%d.%d:" % (round_number, serial, at) + random.randbytes(random.choice([0, 30, 30, 300]))


def key_of(serial: int) -> bytes:
    """The key of all records of a batch."""
    return b"%d" % (serial % KEYS)


@define
class Waiting:
    """A batch that waits for its acknowledgement."""

    offset: int
    next_offset: int
    serial: int


class Writer:
    """Does at random all that can be done with a log."""

    def __init__(self, folder: str, seed: int, round_number: int, cleanup: Cleanup) -> None:
        self.random = Random(seed)
        self.round_number = round_number
        self.said = os.open(folder + ".said", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.folder, self.cleanup = folder, cleanup
        self.serial = 0
        self.waiting: deque[Waiting] = deque()
        self.done: SimpleQueue[StreamJob] = SimpleQueue()
        self.threads = DiskThreads(self.done.put, 1) if self.random.random() < 0.5 else None
        self.jobs_running = 0
        self.open()

    def open(self) -> None:
        """Open the log with settings as they come."""
        random = self.random
        self.log: OpenLog = opened(
            FileDisk(self.folder),
            fsync=random.choice([Fsync.EVERY, Fsync.EVERY, Fsync.INTERVAL, Fsync.NONE]),
            segment_bytes=random.choice([500, 2000, 20_000]),
            index_interval_bytes=random.choice([0, 300, 4096]),
            checkpoint_bytes=random.choice([1000, 1 << 20]),
            cleanup=self.cleanup,
            retention_ms=UNLIMITED,
            retention_bytes=random.choice([UNLIMITED, 50_000]),
            dirty_ratio=0.0,
        )

    def say(self, line: str) -> None:
        """Say it so that a kill cannot take it back."""
        os.write(self.said, line.encode() + b"\n")

    def go_on(self) -> None:
        """Work until somebody puts an end to it."""
        deeds = [self.append] * 60 + [self.roll, self.compact, self.delete, self.truncate, self.start_again]
        while True:
            self.random.choice(deeds)()

    def append(self) -> None:
        """A few batches in one turn."""
        for _ in range(self.random.choice([1, 1, 3, 8])):
            count = self.random.choice([1, 1, 2, 5])
            values = [value_of(self.round_number, self.serial, at) for at in range(count)]
            key = key_of(self.serial)
            offset = self.log.append(encode([(NOW_MS, key, value, ()) for value in values]))
            self.waiting.append(Waiting(offset, offset + count, self.serial))
            self.serial += 1
        self.log.write()
        self.run_jobs()

    def run_jobs(self, *, wait: bool = False) -> None:
        """Let the disk do its work here or in a thread, and acknowledge what it answers."""
        if self.threads is None:
            self.log.run_jobs()
        else:
            self.hear(wait=wait)
            while jobs := self.log.store.take_jobs():
                for job in jobs:
                    self.threads.submit(job)
                    self.jobs_running += 1
                if wait:
                    self.hear(wait=True)
        self.acknowledge()

    def hear(self, *, wait: bool) -> None:
        """Take back the jobs that the thread has finished, or all."""
        while self.jobs_running:
            try:
                job = self.done.get(block=wait)
            except Empty:
                return
            self.jobs_running -= 1
            self.log.finish(job)

    def acknowledge(self) -> None:
        """Say what may be confirmed by now."""
        end = self.log.log.acknowledged_offset
        while self.waiting and self.waiting[0].next_offset <= end:
            first = self.waiting.popleft()
            self.say(f"a {first.offset} {first.next_offset - first.offset} {first.serial}")

    def roll(self) -> None:
        """End a segment."""
        self.log.log.roll(0)
        self.log.write()
        self.run_jobs()

    def compact(self) -> None:
        """Compact if there is anything to compact."""
        self.run_jobs(wait=True)
        self.log.compact()

    def delete(self) -> None:
        """Keep the log from growing for ever: by what a client says, or by what it may hold."""
        log = self.log.log
        if self.random.random() < 0.5:
            log.delete_before(0, max(log.start_offset, log.next_offset - self.random.randrange(RECORDS_KEPT)))
        else:
            log.retain(0)
        # The disk has not heard of it yet.
        self.say(f"d {log.start_offset}")
        self.log.write()
        self.run_jobs()

    def truncate(self) -> None:
        """Take back some of the last batches, acknowledged or not."""
        self.run_jobs(wait=True)
        log = self.log.log
        offset = max(log.start_offset, log.cleaned_offset + 1, log.next_offset - self.random.randrange(20))
        found = self.log.read(offset, 0) if offset < log.next_offset else None
        if found is not None and (base := read_header(found.batches).base_offset) >= log.start_offset:
            self.waiting.clear()
            self.say(f"t {base}")
            self.log.truncate(base)

    def start_again(self) -> None:
        """Close the log and open it with other settings."""
        self.run_jobs(wait=True)
        self.log.close()
        self.open()


def serve() -> None:
    """Fork writers as asked for, one at a time."""
    writer = 0
    for line in sys.stdin:
        if line.strip() == "reap":
            _, status = os.waitpid(writer, 0)
            writer = 0
            print(os.waitstatus_to_exitcode(status), flush=True)
            continue
        folder, seed, round_number, cleanup = line.split()
        writer = os.fork()
        if not writer:
            write_until_killed(folder, int(seed), int(round_number), Cleanup(cleanup))
        print(writer, flush=True)
    if writer:
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)


def write_until_killed(folder: str, seed: int, round_number: int, cleanup: Cleanup) -> None:
    """What a forked writer does; it never returns into its parent's code."""
    try:
        Writer(folder, seed, round_number, cleanup).go_on()
    except BaseException:  # noqa: BLE001 - a forked child must not return into the program of its parent
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(1)


def write_many(folder: str, count: int) -> str:
    """Write so many messages, and answer the digest of all batches."""
    digest = hashlib.blake2b()
    log = OpenLog(FileDisk(folder), "logs/many/0")
    for begin in range(0, count, BATCH_RECORDS):
        batch = encode([(NOW_MS, None, b"message %d" % number, ()) for number in range(begin, begin + BATCH_RECORDS)])
        log.append(batch)
        digest.update(batch)
        if begin % (100 * BATCH_RECORDS) == 0:
            log.flush()
    acknowledged = log.flush()
    # No close: what comes next finds a log that nobody tidied up.
    return f"{acknowledged} {digest.hexdigest()}"


def read_many(folder: str) -> str:
    """Read all messages back, verified, and answer the same."""
    digest = hashlib.blake2b()
    log = OpenLog(FileDisk(folder), "logs/many/0")
    end = 0
    for run in log.batches():
        for batch in split(run):
            end = validate(batch, base_offset=end).next_offset
            digest.update(batch)
    log.close()
    return f"{end} {digest.hexdigest()}"


def main(arguments: list[str]) -> None:
    """One of the three things that this program does."""
    match arguments:
        case ["serve"]:
            serve()
        case ["write", folder, count]:
            print(write_many(folder, int(count)))
        case ["read", folder]:
            print(read_many(folder))


if __name__ == "__main__":
    main(sys.argv[1:])
