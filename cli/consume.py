"""`goqueue consume`: the messages of a topic, from somewhere on, to somewhere or for ever, as lines.

Without --follow it ends at what was there when it began, so it can stand in a script. Within a partition messages come
in their order; between partitions there is none. Whoever reads the output may stop early: that is a good end.
"""

import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click
from attrs import define, evolve

from goqueue.cli.consume_group import Membership, membership_options, print_as_member
from goqueue.cli.endings import INTERRUPTED, Ending
from goqueue.cli.moments import place_given, span_given
from goqueue.cli.printer import Printer, printing
from goqueue.cli.renderings import FORMS, Rendering, formatted, keyed, objects, values
from goqueue.cli.server import Server, complete_topic, run_client, server_option
from goqueue.cli.spool import Closed

if TYPE_CHECKING:
    from goqueue.transports.client.blocking_loop import BlockingLoop
    from goqueue.transports.client.connection import Connection
    from goqueue.transports.client.consumer import Consumer
    from goqueue.transports.client.messages import Message

MS_NS = 1_000_000

Place = int | datetime | str


@define
class Extent:
    """What of a topic is read, and until when."""

    topic: str
    partitions: list[int] | None
    start: Place
    stop: Place | None
    timeout_ms: int | None
    follows: bool


@click.command()
@click.argument("topics", nargs=-1, required=True, metavar="TOPIC...", shell_complete=complete_topic)
@membership_options
@click.option(
    "-p", "--partition", "partitions", multiple=True, type=click.IntRange(min=0), help="Only these; all unless given."
)
@click.option("--from-beginning", is_flag=True, help="Begin with the oldest message, with --follow as well.")
@click.option(
    "--from",
    "start",
    type=place_given,
    metavar="PLACE",
    help="Begin at an offset (1234), so long ago (2h), or at a time (12:00).",
)
@click.option(
    "--to",
    "stop",
    type=place_given,
    metavar="PLACE",
    help="End before an offset or a time, without --follow at what is there at the latest.",
)
@click.option(
    "-f", "--follow", is_flag=True, help="Go on with messages as they come, from the end unless told otherwise."
)
@click.option("-n", "--count", type=click.IntRange(min=1), help="End after so many messages.")
@click.option(
    "--timeout", "timeout_ms", type=span_given, metavar="SPAN", help="End when nothing has come for so long, as in 10s."
)
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(FORMS),
    default="value",
    show_default=True,
    help="How to print a message.",
)
@click.option("--format", "template", help="How to print a message: %t %p %o %P %k %v %T %h %a, and \\n \\t.")
@click.option(
    "--key-separator", default="\t", metavar="TEXT", help="What stands between key and value with -o keyed; a tab."
)
@click.option("-0", "--null-delimiter", is_flag=True, help="End messages with a zero byte instead of a line's end.")
@server_option
def consume(
    topics: tuple[str, ...],
    member: Membership | None,
    partitions: tuple[int, ...],
    from_beginning: bool,
    start: int | datetime | None,
    stop: int | datetime | None,
    follow: bool,
    count: int | None,
    timeout_ms: int | None,
    form: str,
    template: str | None,
    key_separator: str,
    null_delimiter: bool,
    server: Server,
) -> None:
    """Print the messages of TOPIC, a line each.

    It begins with the oldest message and ends at what was there when it began. With --follow it begins at the end, as
    `tail -f` does, and goes on until Ctrl-C, --to, --count or --timeout ends it.

    With --group it shares the partitions of its topics with the other members, begins where the group is, and goes on
    until Ctrl-C, --count or --timeout ends it; then it commits what was printed, and leaves.

    With --group and --shared messages are leased to it one by one, whoever else is in the group, and settled as --ack
    says. What was leased and not printed goes back at the end.

    \b
    A format is made of:
      %t topic     %p partition   %o offset    %T time       %P priority
      %k key       %v value       %h headers   %a attempt    %% a per cent sign
    """  # noqa: D301 - click leaves alone what follows the character itself
    rendering, end = _rendering(form, template, key_separator), b"\0" if null_delimiter else b"\n"
    if member is not None:
        if partitions or from_beginning or start is not None or stop is not None:
            raise click.UsageError(
                "a group goes on from where it is, in the partitions that it gives to a member: "
                "leave --partition, --from, --from-beginning and --to out, or see goqueue group reset-offsets"
            )
        with printing(rendering, end, count, at_once=True) as printer:
            print_as_member(server, member, timeout_ms, printer)
        return
    (topic,) = topics
    extent = _extent(topic, partitions, from_beginning, start, stop, timeout_ms, follow)
    with printing(rendering, end, count, at_once=follow) as printer:
        _print_all(server, extent, printer)


def _extent(
    topic: str,
    partitions: tuple[int, ...],
    from_beginning: bool,
    start: int | datetime | None,
    stop: int | datetime | None,
    timeout_ms: int | None,
    follow: bool,
) -> Extent:
    if from_beginning and start is not None:
        raise click.UsageError("reading begins at --from or with --from-beginning, not both")
    first: Place = "latest" if follow and not from_beginning else "earliest"
    last: Place | None = None if follow else "latest"
    if not follow and isinstance(stop, datetime) and stop > datetime.now(UTC):
        stop = None
    return Extent(
        topic,
        list(partitions) or None,
        first if start is None else start,
        last if stop is None else stop,
        timeout_ms,
        follow,
    )


def _rendering(form: str, template: str | None, separator: str) -> Rendering:
    if template is not None and form != "value":
        raise click.UsageError("messages are printed as --format says or as --output says, not both")
    if template is None:
        return {"value": values, "keyed": keyed(os.fsencode(separator)), "json": objects}[form]
    try:
        return formatted(template)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _print_all(server: Server, extent: Extent, printer: Printer) -> None:
    async def work(loop: "BlockingLoop", connection: "Connection") -> None:
        await _check_start(connection, extent)
        for part in await _parts(connection, extent):
            consumer = connection.consumer(part.topic, start=part.start, stop=part.stop, partitions=part.partitions)
            async with consumer:
                await _read(loop, consumer, part, printer)
            if printer.is_done:
                return

    try:
        try:
            run_client(server, work)
        except KeyboardInterrupt:
            printer.spool.flush()
            sys.exit(INTERRUPTED)
        printer.spool.flush()
    except Closed:
        sys.exit(0)


async def _check_start(connection: "Connection", extent: Extent) -> None:
    """Raise Ending for an offset to begin at that lies beyond the end of every partition: nothing stands there yet."""
    if not isinstance(extent.start, int):
        return
    found = await connection.topics.partitions(extent.topic)
    read = [each for each in found if extent.partitions is None or each.partition in extent.partitions]
    if not read or any(extent.start <= each.high_watermark for each in read):
        return
    last = max(read, key=lambda each: each.high_watermark)
    raise Ending(
        f"{extent.topic} ends at offset {last.high_watermark} in partition {last.partition}, before --from "
        f"{extent.start}; --from-beginning reads what is there, --follow waits for what comes"
    )


async def _parts(connection: "Connection", extent: Extent) -> list[Extent]:
    """What to read one after the other: an offset to end before may lie beyond the end of some partitions."""
    if extent.follows or not isinstance(extent.stop, int):
        return [extent]
    found = await connection.topics.partitions(extent.topic)
    if extent.partitions is not None and max(extent.partitions) >= len(found):
        return [extent]
    return [
        evolve(extent, partitions=[each.partition], stop=min(extent.stop, each.high_watermark))
        for each in found
        if extent.partitions is None or each.partition in extent.partitions
    ]


async def _read(loop: "BlockingLoop", consumer: "Consumer", extent: Extent, printer: Printer) -> None:
    batch: list[Message] = []

    async def receive() -> None:
        nonlocal batch
        try:
            batch = await consumer.next_batch()
        except StopAsyncIteration:
            batch = []

    while not printer.is_done:
        if extent.timeout_ms is None:
            await receive()
        elif not await loop.within(loop.now() + extent.timeout_ms * MS_NS, receive):
            return
        if not batch:
            return
        printer.print(batch)
