"""Figures of a broker under attack: its memory, its health, and what is left for a reader that behaves.

Four of each attack: `rss_mb`, the most memory while it lasts; `after_mb`, what is left of it three seconds after it has
ended, over what there was before; `health_ms`, the longest that a probe waited; and `reader_ratio`, the speed of a
reader beside the attack over its speed alone. `health_failures` counts the probes that were answered with anything but
200, or not at all. The attackers run in one process and the reader in another.
"""

import http.client
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import trio
from attrs import define

from goqueue.cli.bench.cores import resident_mb
from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.grpc_load import codec, publish_stream
from goqueue.cli.bench.served_broker import ServedBroker, served
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import BenchError, Workbench
from goqueue.core.records.build import encode
from goqueue.proto import v1

_TOPIC = "hostile"
_VALUE_BYTES = 32 << 10
_BATCH_RECORDS = 25
_BATCHES = 80
_PROBE_S = 0.05
_PROBE_PATIENCE_S = 5.0
_AFTER_S = 3.0
# Around the attack, so that the reader is beside it from its first moment to its last.
_MARGIN_S = 0.3
_BARS = (
    Bar("rss_mb", below=300), Bar("after_mb", below=50), Bar("health_ms", below=250), Bar("health_failures", below=1),
    Bar("reader_ratio", least=0.5),
)  # fmt: skip


def entries(_sizes: Sizes) -> list[Entry]:
    """The figures of this file."""
    room = 3 * _BATCHES * _BATCH_RECORDS * _VALUE_BYTES
    titles = {
        ("closed_window_http", "http"): "1,000 requests of 100 messages that are never read",
        ("closed_window_grpc", "grpc"): "1,000 calls that read 8 MiB and take none of it",
        ("slow_headers", "http"): "1,000 connections that send a byte every half second",
        ("floods", "http"): "connections, pings, settings, resets and small requests without end",
    }
    return [
        Entry(name, title, partial(_measure, name, reader), _BARS, disk_bytes=room)
        for (name, reader), title in titles.items()
    ]


@define
class _Watched:
    """What is seen of a broker while it is watched."""

    rss_mb: float = 0.0
    health_ms: float = 0.0
    health_failures: int = 0
    probes: int = 0


def _measure(name: str, reader: str, workbench: Workbench) -> Figure:
    """One attack on a broker of its own."""
    seconds = workbench.sizes.attack_seconds
    with workbench.folder() as folder, served(folder) as broker:
        _fill(broker)
        alone = float(_ended(_reader(reader, broker, seconds), seconds))
        workbench.advanced(0.4)
        before_mb = resident_mb(broker.pid)
        with _watching(broker) as seen:
            beside = _reader(reader, broker, seconds + 2 * _MARGIN_S)
            time.sleep(_MARGIN_S)
            attackers = _started("hostile_client", name, str(broker.http_port), str(seconds), _TOPIC)
            returned = int(_ended(attackers, seconds))
        ratio = float(_ended(beside, seconds)) / alone
        workbench.advanced(0.9)
        time.sleep(_AFTER_S - _MARGIN_S)
        after_mb = resident_mb(broker.pid) - before_mb
    parts = {
        "rss_mb": seen.rss_mb, "after_mb": after_mb, "health_ms": seen.health_ms,
        "health_failures": float(seen.health_failures), "reader_ratio": ratio,
    }  # fmt: skip
    note = (
        f"from {before_mb:.0f} MB, {after_mb:+.0f} MB after; health {seen.health_ms:.0f} ms at most, "
        f"{seen.health_failures} of {seen.probes} probes failed; a reader at {ratio:.2f} of {alone:,.0f} msg/s; "
        f"hostile clients came again {returned} times"
    )
    return Figure(seen.rss_mb, "MB", ratio=ratio, note=note, parts=parts)


def _fill(broker: ServedBroker) -> None:
    broker.create(_TOPIC, fsync="none")
    stamp = time.time_ns() // 1_000_000
    values = [bytes([97 + number]) * _VALUE_BYTES for number in range(_BATCH_RECORDS)]
    batch = bytes(encode([(stamp, None, value, ()) for value in values]))
    message = codec.encode(v1.PublishBatchRequest(topic=_TOPIC, batch=batch))
    trio.run(partial(publish_stream, broker.grpc_address, [message], _BATCHES, 4))


def _reader(kind: str, broker: ServedBroker, seconds: float) -> "subprocess.Popen[bytes]":
    return _started("hostile_reader", kind, str(broker.http_port), str(seconds), _TOPIC)


def _started(module: str, *arguments: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", f"goqueue.cli.bench.{module}", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # noqa: S603 - our own command


def _ended(process: "subprocess.Popen[bytes]", seconds: float) -> bytes:
    """What a process said that ends by itself; one that does not is killed."""
    try:
        output, errors = process.communicate(timeout=seconds + 60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise BenchError("a process of the attack does not end") from None
    if process.returncode:
        raise BenchError(errors.decode(errors="replace")[-1000:])
    return output


@contextmanager
def _watching(broker: ServedBroker) -> Iterator[_Watched]:
    """Look at the broker's memory and health until the block ends."""
    seen, over = _Watched(), threading.Event()

    def weigh() -> None:
        while not over.wait(_PROBE_S / 2):
            seen.rss_mb = max(seen.rss_mb, resident_mb(broker.pid))

    def probe() -> None:
        while not over.wait(_PROBE_S):
            seen.probes += 1
            begun = time.perf_counter()
            seen.health_failures += not _is_healthy(broker.http_port)
            seen.health_ms = max(seen.health_ms, (time.perf_counter() - begun) * 1e3)

    threads = [threading.Thread(target=work) for work in (weigh, probe)]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        over.set()
        for thread in threads:
            thread.join()


def _is_healthy(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PROBE_PATIENCE_S)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
