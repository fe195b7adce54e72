"""`goqueue produce`: messages from the command line, a file or a pipe into a topic.

Lines come in blocks and are handed to the client's producer, which batches them; whenever nothing more is at hand, what
was taken is on its way and answered before the next line is waited for. Answers are looked at in the order of the
lines, so a refusal is told by its line. Outstanding messages are bounded by the producer's buffer.

Ctrl-C stops the reading; what was taken is still published and counted. A second one stops that as well.
"""

import os
import signal
import stat
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from types import FrameType
from typing import TYPE_CHECKING, Self

import click
from attrs import define

from goqueue.cli.drafts import PRIORITIES, Draft, Reader, WrongLine, keyed, parse_headers, plain, structured
from goqueue.cli.endings import FAILED, INTERRUPTED, Ending
from goqueue.cli.lines import Lines
from goqueue.cli.moments import spelled, time_given, timedelta_given
from goqueue.cli.server import Server, run_client, server_option, topic_argument

if TYPE_CHECKING:
    from goqueue.cli.meter import Meter
    from goqueue.transports.client.blocking_loop import BlockingLoop
    from goqueue.transports.client.connection import Connection
    from goqueue.transports.client.producer import Pending, Producer

STDIN = 0
REFUSALS_SHOWN = 10


class Interruption:
    """Ctrl-C while its block lasts: noted while there is work to finish, an exception where nothing but input waits."""

    def __init__(self) -> None:
        self.came = False
        self.is_waiting = False

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_error: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        if self.came or self.is_waiting:
            raise KeyboardInterrupt
        self.came = True

    def blocks(self, lines: Iterable[list[bytes]]) -> Iterator[list[bytes]]:
        """Blocks until they end, or Ctrl-C ends them."""
        source = iter(lines)
        while not self.came:
            self.is_waiting = True
            try:
                block = next(source, None)
            except KeyboardInterrupt:
                self.came = True
                return
            finally:
                self.is_waiting = False
            if block is None:
                return
            yield block


@define
class Source:
    """Where messages come from: given ones, or lines."""

    blocks: Iterable[list[bytes]]
    lines: Lines | None
    reader: Reader
    size_bytes: int | None
    is_typed: bool


@define
class ProducerOptions:
    """What is asked of the producer itself."""

    acks: str
    compression: str


class Outbox:
    """Messages on their way to one topic, in the order of their lines."""

    def __init__(self, producer: "Producer", topic: str, reader: Reader, *, verbose: bool) -> None:
        self.published = 0
        self.refused = 0
        self.begun = time.monotonic()
        self._producer = producer
        self._topic = topic
        self._reader = reader
        self._verbose = verbose
        self._line = 0
        self._waiting: deque[tuple[int, Pending]] = deque()

    async def take(self, lines: list[bytes]) -> None:
        """Publish lines soon; waits only while the producer's buffer is full."""
        from goqueue.transports.client.errors import PartitionNotFound, TooLarge

        send, topic, reader, append = self._producer.send, self._topic, self._reader, self._waiting.append
        number = self._line
        for line in lines:
            number += 1
            try:
                draft = reader(line)
                pending = await send(
                    topic,
                    draft.value,
                    key=draft.key,
                    headers=draft.headers,
                    partition=draft.partition,
                    timestamp=draft.timestamp,
                    priority=draft.priority,
                    delay=draft.delay,
                    deliver_at=draft.due,
                    ttl=draft.ttl,
                )
            except (WrongLine, PartitionNotFound, TooLarge, ValueError) as error:
                self._refuse(number, error)
            else:
                append((number, pending))
        self._line = number
        self._settle()

    async def flush(self) -> None:
        """Wait for all answers."""
        if self._waiting:
            await self._flush_producer()
        self._settle()
        assert not self._waiting, "a flush leaves nothing without an answer"

    async def _flush_producer(self) -> None:
        from goqueue.transports.client.errors import Unpublished

        try:
            await self._producer.flush()
        except Unpublished:
            # Each of them is looked at by itself.
            return

    def _settle(self) -> None:
        """Look at the answers that came, as far as there is none missing before."""
        from goqueue.transports.client.errors import ClientError

        waiting = self._waiting
        while waiting and waiting[0][1].done:
            number, pending = waiting.popleft()
            try:
                self._accept(pending)
            except ClientError as error:
                self._refuse(number, error)

    def _accept(self, pending: "Pending") -> None:
        published = pending.result()
        self.published += 1
        if self._verbose:
            due = published.deliver_at
            at = "" if due is None else f" {spelled(due)}"
            sys.stdout.write(f"{published.partition}:{published.offset}{at}\n")

    def _refuse(self, number: int, error: Exception) -> None:
        self.refused += 1
        if self.refused <= REFUSALS_SHOWN:
            click.echo(f"goqueue: line {number}: {error}", err=True)


@click.command()
@topic_argument
@click.option("-m", "--message", "messages", multiple=True, metavar="VALUE", help="A message; may be repeated.")
@click.option("--file", "path", type=click.Path(exists=True, dir_okay=False), help="A file of messages, a line each.")
@click.option("-k", "--key", help="The key of all messages.")
@click.option("--key-separator", metavar="TEXT", help="What stands between key and value, as in ':'.")
@click.option("-H", "--header", "headers", multiple=True, metavar="NAME=VALUE", help="A header; may be repeated.")
@click.option("-p", "--partition", type=click.IntRange(min=0), help="The partition; by the key unless given.")
@click.option(
    "--timestamp",
    type=time_given,
    metavar="TIME",
    help="The time that the messages bear; the current one unless given.",
)
@click.option("--priority", type=click.Choice(PRIORITIES), default="normal", show_default=True, help="The lane.")
@click.option("--delay", type=timedelta_given, metavar="SPAN", help="Keep messages back for so long, as in 10m.")
@click.option("--at", "due", type=time_given, metavar="TIME", help="Keep messages back until then: 18:00, or RFC 3339.")
@click.option(
    "--ttl", type=timedelta_given, metavar="SPAN", help="Work queues deliver them no more after so long, as in 1h."
)
@click.option(
    "--acks",
    type=click.Choice(["all", "leader", "none"]),
    default="all",
    show_default=True,
    help="Who must have a message before it counts.",
)
@click.option(
    "--compression",
    type=click.Choice(["none", "gzip", "snappy", "lz4", "zstd"]),
    default="none",
    show_default=True,
    help="How batches are packed.",
)
@click.option("--json", "is_json", is_flag=True, help="Messages are JSON objects, as `consume -o json` prints them.")
@click.option("-0", "--null-delimiter", is_flag=True, help="Messages end with a zero byte instead of a line's end.")
@click.option("-v", "--verbose", is_flag=True, help="Print partition:offset of each message, and when it is due.")
@click.option("-q", "--quiet", is_flag=True, help="Print no summary and no progress.")
@server_option
def produce(
    topic: str,
    messages: tuple[str, ...],
    path: str | None,
    key: str | None,
    key_separator: str | None,
    headers: tuple[str, ...],
    partition: int | None,
    timestamp: datetime | None,
    priority: str,
    delay: timedelta | None,
    due: datetime | None,
    ttl: timedelta | None,
    acks: str,
    compression: str,
    is_json: bool,
    null_delimiter: bool,
    verbose: bool,
    quiet: bool,
    server: Server,
) -> None:
    """Publish messages to TOPIC: those given with -m, or the lines of a file, or those of standard input.

    With --json a line is an object with value, and if wanted key, headers, partition, timestamp, priority, delay or
    deliverAt, ttl and encoding (base64). Every other line is a value as it stands, an empty one included.

    A message that is kept back is known by its partition:offset in the schedule, which -v prints, to goqueue delayed.
    """
    if messages and path is not None:
        raise click.UsageError("messages come from -m or from --file, not from both")
    if is_json and key_separator is not None:
        raise click.UsageError("--key-separator means nothing with --json, where a key has its own field")
    if key_separator == "" or (key is not None and key_separator is not None):
        raise click.UsageError("--key-separator is at least a letter, and not used beside --key")
    if delay is not None and due is not None:
        raise click.UsageError("messages are kept back for a --delay or until --at, not both")
    try:
        headers_of_all = parse_headers(headers) or None
        common = Draft(None, _encoded(key), headers_of_all, partition, timestamp, priority, delay, due, ttl)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    reader = structured(common) if is_json else plain(common)
    if key_separator is not None:
        reader = keyed(common, os.fsencode(key_separator))
    with ExitStack() as stack:
        source = _open_source(stack, messages, path, b"\0" if null_delimiter else b"\n", reader)
        _publish(server, topic, source, ProducerOptions(acks, compression), verbose=verbose, quiet=quiet)


def _encoded(text: str | None) -> bytes | None:
    return None if text is None else os.fsencode(text)


def _open_source(
    stack: ExitStack, messages: tuple[str, ...], path: str | None, delimiter: bytes, reader: Reader
) -> Source:
    if messages:
        return Source([[os.fsencode(message) for message in messages]], None, reader, None, is_typed=True)
    descriptor = STDIN
    if path is not None:
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except OSError as error:
            raise Ending(f"{path}: {error.strerror}") from error
        stack.callback(os.close, descriptor)
    elif os.isatty(STDIN):
        click.echo("one message a line; Ctrl-D ends", err=True)
    lines = Lines(descriptor, delimiter)
    status = os.fstat(descriptor)
    return Source(lines, lines, reader, status.st_size if stat.S_ISREG(status.st_mode) else None, os.isatty(descriptor))


def _publish(
    server: Server, topic: str, source: Source, options: ProducerOptions, *, verbose: bool, quiet: bool
) -> None:
    with Interruption() as interruption, ExitStack() as stack:
        meter = None
        if not quiet and not verbose and sys.stderr.isatty() and not source.is_typed:
            from goqueue.cli.meter import Meter

            meter = stack.enter_context(Meter("publishing", source.size_bytes))

        async def work(_loop: "BlockingLoop", connection: "Connection") -> Outbox:
            return await _send(connection, topic, source, options, interruption, meter, verbose=verbose)

        outbox = run_client(server, work)
        sys.stdout.flush()
    seconds = time.monotonic() - outbox.begun
    if not quiet:
        rate = f"{outbox.published / max(seconds, 0.001):,.0f} msg/s"
        noun = "message" if outbox.published == 1 else "messages"
        interrupted = "interrupted: " if interruption.came else ""
        said = f"{interrupted}published {outbox.published:,} {noun} to {topic} in {seconds:.2f} s ({rate})"
        click.echo(said, err=True)
    if outbox.refused:
        noun = "message was" if outbox.refused == 1 else "messages were"
        said = f"{outbox.refused:,} {noun} not published"
        raise Ending(said, INTERRUPTED if interruption.came else FAILED)
    if interruption.came:
        sys.exit(INTERRUPTED)


async def _send(
    connection: "Connection",
    topic: str,
    source: Source,
    options: ProducerOptions,
    interruption: Interruption,
    meter: "Meter | None",
    *,
    verbose: bool,
) -> Outbox:
    async with connection.producer(acks=options.acks, compression=options.compression) as producer:
        outbox = Outbox(producer, topic, source.reader, verbose=verbose)
        # Reading blocks the loop; that is fine, since all that was taken is answered before input is waited for.
        for lines in interruption.blocks(source.blocks):
            await outbox.take(lines)
            if meter is not None:
                meter.advance(len(lines), sum(map(len, lines)) + len(lines))
            if source.lines is not None and not source.lines.has_more:
                await outbox.flush()
                sys.stdout.flush()
        await outbox.flush()
    return outbox
