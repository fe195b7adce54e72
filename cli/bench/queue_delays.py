"""Figures of delayed messages: what a million of them cost while they wait, and how late messages are."""

import time
from functools import partial
from pathlib import Path

import trio

import goqueue
from goqueue.cli.bench.cores import resident_mb
from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.queue_load import publish_kept
from goqueue.cli.bench.served_broker import ServedBroker, served
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import BenchError, Workbench, quantile

_DAY_MS = 86_400_000
_SETTLED_S = 2.0
_PATIENCE_S = 60.0
_LOOK_S = 0.02
# How long there is to publish before the first is due.
_AHEAD_MS = 5_000


def entries(sizes: Sizes) -> list[Entry]:
    """The figures of this file."""
    pending = Pending()
    room = sizes.pending * 2200
    return [
        Entry(
            "delayed_1m_rss", "the broker's memory above empty with 1,000,000 delayed messages pending", pending.memory,
            [Bar("value", below=400)], disk_bytes=room,
        ),
        Entry(
            "delayed_1m_restart", "from the command to ready with all of them known, after a kill", pending.restart,
            [Bar("value", below=15)], disk_bytes=room,
        ),
        Entry("delay_late", "10,000 messages due over 60 s: how late they come", late, [Bar("p99_ms", below=10)]),
    ]  # fmt: skip


class Pending:
    """A million delayed messages: published once for both figures that need them, by whichever comes first."""

    def __init__(self) -> None:
        self._figures: tuple[Figure, Figure] | None = None

    def memory(self, workbench: Workbench) -> Figure:
        """Megabytes above those of the same broker without them."""
        return self._measured(workbench)[0]

    def restart(self, workbench: Workbench) -> Figure:
        """Seconds from the command until the broker is ready and says that all of them are pending."""
        return self._measured(workbench)[1]

    def _measured(self, workbench: Workbench) -> tuple[Figure, Figure]:
        if self._figures is None:
            with workbench.folder() as folder:
                self._figures = _pending(folder, workbench)
        return self._figures


def _pending(folder: Path, workbench: Workbench) -> tuple[Figure, Figure]:
    count = workbench.sizes.pending
    with served(folder) as broker:
        broker.create("kept", fsync="interval")
        empty = resident_mb(broker.pid)
        begun = time.perf_counter()
        begin_ms = time.time_ns() // 1_000_000 + _DAY_MS
        dues = [begin_ms + number * _DAY_MS // count for number in range(count)]
        trio.run(partial(publish_kept, broker.grpc_address, "kept", dues))
        rate = count / (time.perf_counter() - begun)
        workbench.advanced(0.6)
        _await_pending(broker, count)
        time.sleep(_SETTLED_S)
        full = resident_mb(broker.pid)
        broker.process.kill()
    after_kill, again = _restart(folder, count)
    workbench.advanced(0.8)
    after_stop, _ = _restart(folder, count)
    note = (
        f"{empty:.0f} MB when empty; {again - empty:.0f} MB above that after a restart; published at {rate:,.0f} msg/s"
    )
    memory = Figure(full - empty, "MB", note=note)
    return memory, Figure(after_kill, "s", note=f"{after_stop:.1f} s after a clean stop")


def _restart(folder: Path, count: int) -> tuple[float, float]:
    """Seconds until all is known again, and the memory that takes."""
    begun = time.perf_counter()
    with served(folder) as broker:
        _await_pending(broker, count)
        return time.perf_counter() - begun, resident_mb(broker.pid)


def _await_pending(broker: ServedBroker, count: int) -> None:
    until, found = time.perf_counter() + _PATIENCE_S, 0
    while time.perf_counter() < until:
        status, answer = broker.get("/delay/stats")
        found = answer["pending_count"] if status == 200 and isinstance(answer, dict) else 0
        if found == count:
            return
        time.sleep(_LOOK_S)
    raise BenchError(f"{found:,} of {count:,} messages were pending after {_PATIENCE_S:.0f} s")


def late(workbench: Workbench) -> Figure:
    """By the clock of a consumer of the client library in this process; one that comes early ends the run."""
    sizes = workbench.sizes
    with workbench.folder() as folder, served(folder) as broker:
        broker.create("late")
        begin_ms = time.time_ns() // 1_000_000 + _AHEAD_MS
        dues = [begin_ms + number * sizes.late_ms // sizes.late for number in range(sizes.late)]
        trio.run(partial(publish_kept, broker.grpc_address, "late", dues))
        if time.time_ns() // 1_000_000 >= begin_ms:
            raise BenchError(f"{sizes.late:,} messages could not be published in {_AHEAD_MS / 1e3:.0f} s")
        taken = sorted(trio.run(partial(_follow, broker.grpc_address, dues)))
    p50, p99 = quantile(taken, 0.5) / 1e6, quantile(taken, 0.99) / 1e6
    note = f"none early; fsync every; the latest {taken[-1] / 1e6:.1f} ms"
    return Figure(p99, "ms", p50_ms=p50, p99_ms=p99, note=note)


async def _follow(address: str, dues: list[int]) -> list[int]:
    """How long after they were due messages came, in nanoseconds; raises BenchError unless all come, and in order."""
    taken: list[int] = []
    async with goqueue.connect(address) as gq, gq.consumer("late", start="earliest") as consumer:
        async for message in consumer:
            now = time.time_ns()
            due = int.from_bytes((message.value or b"")[:8], "big")
            if due != dues[len(taken)]:
                raise BenchError(f"message {len(taken)} is due at {due}, not at {dues[len(taken)]}")
            if now < due * 1_000_000:
                raise BenchError(f"message {len(taken)} came {due - now / 1e6:.3f} ms early")
            taken.append(now - due * 1_000_000)
            if len(taken) == len(dues):
                break
    return taken
