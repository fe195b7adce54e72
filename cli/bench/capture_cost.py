"""Figures of captures: what one costs a broker that takes batches, how large it gets, and how fast it is told again.

One broker runs all the time; a signal begins a capture of it and ends it again, so that rounds with and without one
take turns in the same process. What counts is the broker's CPU: it has a core of its own, and its capture's thread is
on it as well.
"""

import os
import signal
import time
from pathlib import Path

import trio
from attrs import define

from goqueue.cli.bench.broker_publish import publish_all, ring
from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.grpc_load import publish_one_by_one
from goqueue.cli.bench.served_broker import ServedBroker, served
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import BenchError, Workbench
from goqueue.core.capture.digest import HEAD_BYTES
from goqueue.core.requests.messages import Publish, PublishBatch
from goqueue.storage.capture import core_vocabulary
from goqueue.storage.capture_files import CaptureFile, list_captures, read_events, replay

_RECORDS = 100
_VALUE = b"x" * 1024
_WAIT_S = 30.0
_QUIET_S = 0.3


def entries(sizes: Sizes) -> list[Entry]:
    """The figures of this file."""
    room = sizes.publish_batches * _RECORDS * len(_VALUE) * 3
    return [
        Entry(
            "capture_publish", "batches of 100 on one stream, captured; limit: the same broker without a capture",
            publish, [Bar("ratio", least=0.9)], disk_bytes=room,
        ),
        Entry("capture_bytes", "of a captured event, without heads of batches and single messages", size,
              [Bar("value", below=25)], disk_bytes=room),
        Entry("capture_replay", "a broker's capture told again, on one core", told_again,
              [Bar("value", least=30_000)], disk_bytes=room),
    ]  # fmt: skip


def publish(workbench: Workbench) -> Figure:
    """Rounds with a capture and without one, in turns; the ratio is of the broker's CPU."""
    content, count = ring(), workbench.sizes.publish_batches
    walls, used = {True: float("inf"), False: float("inf")}, {True: float("inf"), False: float("inf")}
    with workbench.folder() as folder, served(folder) as broker:
        publish_all(broker, "warm", content, count // 4)
        for done in range(2 * workbench.sizes.broker_rounds):
            captured = done % 2 == 0
            if captured:
                _begin(broker, folder)
            wall, cpu = publish_all(broker, f"publish-{done}", content, count)
            walls[captured], used[captured] = min(walls[captured], wall), min(used[captured], cpu)
            if captured:
                _end(broker, folder)
            workbench.advanced((done + 1) / (2 * workbench.sizes.broker_rounds))
    total = count * _RECORDS
    note = f"{used[True] / count * 1e6:.1f} us of CPU a batch, {used[False] / count * 1e6:.1f} without a capture"
    return Figure(total / walls[True], "msg/s", total / walls[False], used[False] / used[True], note=note)


def size(workbench: Workbench) -> Figure:
    """Bytes an event of a broker that gets batches and single messages."""
    found = _captured(workbench)
    beside = found.stored_bytes - found.heads_bytes - found.messages_bytes
    note = f"{found.stored_bytes / found.events:.1f} bytes with those, {found.events:,} events"
    return Figure(beside / found.events, "bytes", note=note)


def told_again(workbench: Workbench) -> Figure:
    """Events a second of a replay."""
    best = 0.0
    with workbench.folder() as folder:
        files = loaded(folder, workbench)
        for done in range(workbench.sizes.broker_rounds):
            begun = time.process_time()
            outcome = replay(files, core_vocabulary())
            if not outcome.is_identical:
                raise BenchError(f"the capture does not come out the same: {outcome}")
            best = max(best, outcome.events / (time.process_time() - begun))
            workbench.advanced((done + 1) / workbench.sizes.broker_rounds)
    return Figure(best, "events/s")


@define
class _Content:
    """What is in a capture."""

    events: int = 0
    stored_bytes: int = 0
    heads_bytes: int = 0
    messages_bytes: int = 0


def _captured(workbench: Workbench) -> _Content:
    found = _Content()
    with workbench.folder() as folder:
        for file in loaded(folder, workbench):
            found.stored_bytes += Path(file.path).stat().st_size
            for event in read_events(file, core_vocabulary()):
                found.events += 1
                asked = event.args[-1] if event.verb == "ask" else None
                if isinstance(asked, PublishBatch):
                    found.heads_bytes += HEAD_BYTES
                elif isinstance(asked, Publish):
                    found.messages_bytes += sum(len(one.value or b"") for one in asked.records)
    return found


def loaded(folder: Path, workbench: Workbench, *options: str) -> list[CaptureFile]:
    """A capture of a broker that was sent batches, and messages one at a time."""
    content, count = ring(), workbench.sizes.publish_batches
    with served(folder, *options) as broker:
        _begin(broker, folder)
        publish_all(broker, "batches", content, count)
        broker.create("one", fsync="none")
        trio.run(publish_one_by_one, broker.grpc_address, "one", _VALUE, workbench.sizes.singles // 4)
        _end(broker, folder)
    return list_captures(str(folder / "data" / "captures"))


def _begin(broker: ServedBroker, folder: Path) -> None:
    """Have a capture begin, and wait until it has."""
    before = _files(folder)
    os.kill(broker.pid, signal.SIGUSR1)
    until = time.monotonic() + _WAIT_S
    while len(_files(folder)) <= len(before):
        if time.monotonic() > until:
            raise BenchError("the broker began no capture")
        time.sleep(0.01)


def _end(broker: ServedBroker, folder: Path) -> None:
    """Have the capture end, and wait until all of it is written."""
    os.kill(broker.pid, signal.SIGUSR1)
    grown, since = _files(folder), time.monotonic()
    while time.monotonic() < since + _QUIET_S:
        time.sleep(0.02)
        if _files(folder) != grown:
            grown, since = _files(folder), time.monotonic()


def _files(folder: Path) -> list[tuple[str, int]]:
    captures = folder / "data" / "captures"
    found = list_captures(str(captures)) if captures.is_dir() else []
    return [(one.name, Path(one.path).stat().st_size) for one in found]
