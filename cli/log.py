"""`goqueue log`: look into the logs of a data folder, check them, and go on with one that was damaged.

`show`, `verify` and `dump` only read and may run beside a broker; what it appends meanwhile may look like a torn tail
to them. `repair` takes the folder's lock.
"""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table

from goqueue.cli.output import form_option, print_structure
from goqueue.core.errors import BatchError
from goqueue.core.log.config import TIME_MS_MAX, LogConfig
from goqueue.core.records.batch import read_header
from goqueue.core.records.record import Record, iterate
from goqueue.storage.disk import Disk
from goqueue.storage.files import FileDisk
from goqueue.storage.inspection import Verdict, find_streams, list_segments, sound_batches, verify
from goqueue.storage.layout import FORMAT_FILE, LOCK_FILE, LOG_ENDING, check_format
from goqueue.storage.open_log import system_wall_ms
from goqueue.storage.repair import repair

_FOLDER = click.argument("data_dir", type=click.Path(exists=True, file_okay=False))


@click.group()
def log() -> None:
    """Look into the segments of a log on disk.

    DATA_DIR is a broker's data folder, STREAM a folder in it such as logs/orders/0.
    """


@log.command()
@_FOLDER
@click.argument("stream", required=False)
@form_option
def show(data_dir: str, stream: str | None, form: str) -> None:
    """List streams and their segments: offsets, sizes, times."""
    disk = _disk(data_dir)
    rows = [
        {
            "stream": name,
            "segment": segment.name,
            "from": segment.base,
            "up_to": segment.next_offset if segment.next_offset > segment.base else None,
            "bytes": segment.size,
            "newest": _time(segment.max_timestamp),
        }
        for name in _streams(disk, stream)
        for segment in list_segments(disk, name)[1]
    ]
    if form != "table":
        print_structure(form, rows)
        return
    table = Table("stream", "segment", "from offset", "up to", "bytes", "newest record", box=None, pad_edge=False)
    for row in rows:
        up_to = "(growing)" if row["up_to"] is None else f"{row['up_to']}"
        table.add_row(
            str(row["stream"]),
            str(row["segment"]),
            f"{row['from']}",
            up_to,
            f"{row['bytes']:,}",
            str(row["newest"] or ""),
        )
    # A table that is piped on is for a program or a file: nothing is cut to a screen's width.
    Console(width=None if sys.stdout.isatty() else 200).print(table)


@log.command("verify")
@_FOLDER
@click.argument("stream", required=False)
@form_option
def verify_command(data_dir: str, stream: str | None, form: str) -> None:
    """Read every batch and check frame, CRC and order; exit status 1 when something is damaged."""
    disk = _disk(data_dir)
    names = _streams(disk, stream)
    total = sum(segment.size for name in names for segment in list_segments(disk, name)[1])
    columns = TextColumn("verifying"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn()
    verdicts: list[tuple[str, Verdict]] = []
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        for name in names:
            verdicts.extend((name, found) for found in verify(disk, name, lambda size: progress.advance(task, size)))
    damaged = [verdict for _, verdict in verdicts if verdict.damaged]
    if form != "table":
        print_structure(form, [_plain(name, verdict) for name, verdict in verdicts])
    else:
        for verdict in damaged:
            assert verdict.flaw is not None
            click.echo(f"{verdict.path}: byte {verdict.flaw.position}: {verdict.flaw.message}")
        sound = sum(verdict.sound_bytes for _, verdict in verdicts)
        counts = f"{len(verdicts)} segments of {len(names)} streams, {sound:,} sound bytes"
        click.echo(f"{counts}, {len(damaged)} damaged segments")
    sys.exit(1 if damaged else 0)


def _plain(stream: str, verdict: Verdict) -> dict[str, object]:
    flaw = verdict.flaw if verdict.damaged else None
    return {
        "stream": stream,
        "segment": verdict.segment,
        "sound_bytes": verdict.sound_bytes,
        "next_offset": verdict.next_offset,
        "damaged_at": flaw.position if flaw is not None else None,
        "message": flaw.message if flaw is not None else None,
    }


@log.command()
@_FOLDER
@click.argument("stream")
@click.option("--from", "offset", default=0, show_default=True, help="The first offset to print.")
@click.option("-n", "--count", default=20, show_default=True, help="How many records to print at most.")
@form_option
def dump(data_dir: str, stream: str, offset: int, count: int, form: str) -> None:
    """Print records with their offsets, times, keys and values; JSON is one object a line, YAML one list."""
    disk = _disk(data_dir)
    [name] = _streams(disk, stream)
    for printed, record in enumerate(_records(disk, name, offset)):
        if printed == count:
            return
        when, key, value = _time(record.timestamp), _text(record.key), _text(record.value)
        if form == "table":
            click.echo(f"{record.offset}  {when or '-'}  {key if key is not None else '-'}  {value}")
            continue
        headers = {header: _text(content) for header, content in record.headers}
        row = {"offset": record.offset, "time": when, "key": key, "value": value, "headers": headers}
        if form == "json":
            click.echo(json.dumps(row))
        else:
            # One list after all, though nobody held all of it.
            print_structure(form, [row])


@log.command("repair")
@_FOLDER
@click.argument("stream")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def repair_command(data_dir: str, stream: str, yes: bool) -> None:
    """Go on with a damaged stream: keep every sound batch, put the bytes between aside.

    The broker must not be running. What is taken out is kept in files named *.damaged-POSITION beside the log.
    """
    disk = _disk(data_dir)
    [name] = _streams(disk, stream)
    lock = disk.lock(LOCK_FILE)
    try:
        if not yes:
            click.confirm(
                f"Rewrite what is damaged in {name}? A copy of the folder is the safer way to try.", abort=True
            )
        notes = repair(disk, name, LogConfig(), system_wall_ms())
    finally:
        lock.release()
    for note in notes:
        click.echo(note)
    click.echo(f"{name} is sound" if not notes else f"{name} is sound again")


def _disk(data_dir: str) -> Disk:
    if not (Path(data_dir) / FORMAT_FILE).exists():
        raise click.BadParameter(f"{data_dir} is not a GoQueue data folder: it holds no file {FORMAT_FILE}")
    disk = FileDisk(data_dir)
    check_format(disk)
    return disk


def _streams(disk: Disk, wanted: str | None) -> list[str]:
    known = find_streams(disk)
    if wanted is None:
        return known
    name = wanted.strip("/")
    if name not in known:
        shown = ", ".join(known[:5]) + (", …" if len(known) > 5 else "")
        raise click.BadParameter(f"there is no stream {wanted}; the folder holds {shown or 'none'}")
    return [name]


def _records(disk: Disk, stream: str, offset: int) -> Iterator[Record]:
    for segment in list_segments(disk, stream)[1]:
        if offset >= segment.next_offset > segment.base:
            continue
        path = f"{stream}/{segment.name}{LOG_ENDING}"
        for position, batch in sound_batches(disk, stream, segment):
            if read_header(batch).next_offset <= offset:
                continue
            try:
                yield from (record for record in iterate(batch) if record.offset >= offset)
            except BatchError as error:
                # The bytes are those that its producer sent: nothing is damaged, and what comes behind can be read.
                header = read_header(batch)
                offsets = f"offsets {header.base_offset} to {header.last_offset}"
                click.echo(f"{path}: byte {position}: {offsets} cannot be read: {error}", err=True)


def _time(timestamp: int) -> str | None:
    if timestamp < 0:
        return None
    # A producer may have claimed any time; the last one that has a date stands for those that have none.
    seconds, milliseconds = divmod(min(timestamp, TIME_MS_MAX), 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{milliseconds:03d}Z"


def _text(content: bytes | bytearray | memoryview | None) -> str | None:
    return None if content is None else bytes(content).decode(errors="backslashreplace")
