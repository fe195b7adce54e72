"""`goqueue demo`: a writer is killed in the middle of its work, and nothing that it was promised is missing.

The writer is a process of its own, since only a process can be killed honestly. It reports over a pipe how far its
batches were acknowledged; the parent kills it without warning, recovers the log that it left, and compares.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import click
from attrs import define
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn

from goqueue.core.log.config import LogConfig
from goqueue.core.records.build import encode
from goqueue.storage.files import FileDisk
from goqueue.storage.open_log import OpenLog, system_wall_ms

_STREAM = "logs/demo/0"
_BATCH_RECORDS = 100
_BATCHES_A_FLUSH = 8
_VALUE_BYTES = 1000
_SEGMENT_BYTES = 64 << 20


@define
class Findings:
    """What the recovered log holds, next to what was promised."""

    promised: int
    found: int
    first_wrong: int | None
    seconds: float


@click.command()
@click.option("--seconds", default=3.0, show_default=True, help="How long the writer lives.")
@click.option("--folder", type=click.Path(file_okay=False), help="Where to write; a temporary folder unless given.")
@click.option("--writer", is_flag=True, hidden=True)
def demo(seconds: float, folder: str | None, writer: bool) -> None:
    """Write to a log, kill the writer, recover the log, and read back every message that was acknowledged."""
    if writer:
        assert folder is not None
        _write_until_killed(folder)
    elif folder is not None:
        _demonstrate(folder, seconds)
    else:
        with tempfile.TemporaryDirectory(prefix="goqueue-demo-", dir=Path.cwd()) as temporary:
            _demonstrate(temporary, seconds)


def _open(folder: str) -> OpenLog:
    config = LogConfig(segment_bytes=_SEGMENT_BYTES)
    return OpenLog(FileDisk(folder), _STREAM, config)


def _write_until_killed(folder: str) -> None:
    log = _open(folder)
    number = log.log.next_offset
    padding = b"." * (_VALUE_BYTES - 20)
    while True:
        for _ in range(_BATCHES_A_FLUSH):
            stamp = system_wall_ms()
            entries = [(stamp, None, b"%020d" % at + padding, ()) for at in range(number, number + _BATCH_RECORDS)]
            log.append(encode(entries))
            number += _BATCH_RECORDS
        sys.stdout.write(f"{log.flush()}\n")
        sys.stdout.flush()


def _demonstrate(folder: str, seconds: float) -> None:
    console = Console(highlight=False)
    console.print(f"A process writes messages of {_VALUE_BYTES} bytes, each acknowledged only when it is on the disk.")
    begun = time.perf_counter()
    promised = _run_writer(console, folder, seconds)
    wrote_seconds = time.perf_counter() - begun
    rate = promised / wrote_seconds
    console.print(f"[bold]Wrote[/]      {promised:,} messages acknowledged, {rate:,.0f} a second, every one synced")
    console.print("[bold]Killed[/]     the writer with SIGKILL, in the middle of whatever it did")
    begun = time.perf_counter()
    log = _open(folder)
    milliseconds = (time.perf_counter() - begun) * 1e3
    size = log.log.size_bytes / 1e6
    console.print(
        f"[bold]Recovered[/]  {size:,.0f} MB in {milliseconds:,.0f} ms,"
        f" having read back {log.recovery.scanned_bytes / 1e6:,.0f} MB"
    )
    for note in log.recovery.notes:
        console.print(f"           {note}")
    findings = _read_back(log, promised)
    log.close()
    _conclude(console, findings)


def _run_writer(console: Console, folder: str, seconds: float) -> int:
    command = [sys.executable, "-m", "goqueue", "demo", "--writer", "--folder", folder]
    promised = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:  # noqa: S603 - this very program
        assert child.stdout is not None
        try:
            columns = SpinnerColumn(), TextColumn("{task.description}")
            with Progress(*columns, console=console, transient=True) as progress:
                task = progress.add_task("starting the writer")
                for acknowledged, until in _acknowledgements(child.stdout, seconds):
                    promised = acknowledged
                    progress.update(task, description=f"{promised:,} messages acknowledged, {until:.1f} s to live")
        finally:
            os.kill(child.pid, signal.SIGKILL)
        # What it still managed to say before it died was promised as well.
        for line in child.stdout:
            promised = int(line) if line.endswith("\n") else promised
    if promised == 0:
        raise click.ClickException("the writer ended before it wrote anything; what it said is above")
    return promised


def _acknowledgements(lines: Iterator[str], seconds: float) -> Iterator[tuple[int, float]]:
    end = None
    for line in lines:
        end = time.monotonic() + seconds if end is None else end
        left = end - time.monotonic()
        yield int(line), max(left, 0.0)
        if left <= 0:
            return


def _read_back(log: OpenLog, promised: int) -> Findings:
    begun = time.perf_counter()
    found, first_wrong = 0, None
    for record in log.records():
        written = b"%020d" % found
        if first_wrong is None and (record.offset != found or bytes(record.value or b"")[:20] != written):
            first_wrong = found
        found += 1
    return Findings(promised, found, first_wrong, time.perf_counter() - begun)


def _conclude(console: Console, findings: Findings) -> None:
    rate = findings.found / findings.seconds
    compared = "each compared with what was written"
    console.print(f"[bold]Read back[/]  {findings.found:,} messages, {rate:,.0f} a second, {compared}")
    if findings.first_wrong is not None:
        console.print(f"[red]Message {findings.first_wrong} is not what was written.[/]")
        sys.exit(1)
    if findings.found < findings.promised:
        console.print(f"[red]{findings.promised - findings.found} acknowledged messages are missing.[/]")
        sys.exit(1)
    more = findings.found - findings.promised
    extra = f"; {more} more had reached the disk before the writer was told." if more else "."
    console.print(f"[green]All {findings.promised:,} acknowledged messages are there[/], in order, once{extra}")
