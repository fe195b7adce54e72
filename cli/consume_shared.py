"""`goqueue consume --group --shared`: a member of a shared group, which prints the messages leased to it.

Messages are settled once they are printed, as `--ack` says. The end, by Ctrl-C, SIGTERM, --count or a silence, waits
until what was settled is so for good, gives back what was leased and not printed, and leaves the group.
"""

import time
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import TYPE_CHECKING, TypeVar

import click
from attrs import define

from goqueue.cli.moments import timedelta_given
from goqueue.cli.printer import Printer
from goqueue.cli.signals import Signals

if TYPE_CHECKING:
    from goqueue.cli.consume_group import Membership
    from goqueue.transports.client.blocking import BlockingConnection
    from goqueue.transports.client.blocking_work_consumer import BlockingLeasedMessage, BlockingWorkConsumer

OPTIONS = ("ack", "prefetch", "key-ordered", "visibility-timeout", "max-in-flight", "max-attempts")
POLICIES = ("after", "first", "none", "nack", "reject")
PREFETCH = 200
# So many at most are printed by one write and settled together.
GULP = 100
# How often a signal is looked for while nothing comes.
LOOK = timedelta(milliseconds=100)
NOW = timedelta(0)

T = TypeVar("T")


@define
class Sharing:
    """How a member of a shared group takes its messages, and what it makes of them."""

    ack: str
    prefetch: int
    key_ordered: bool | None
    visibility_timeout: timedelta | None
    max_in_flight: int | None
    max_attempts: int | None


def sharing_options(command: Callable[..., T]) -> Callable[..., T]:
    """The options of members of shared groups; the command gets them as `shares`, None without --shared."""

    @wraps(command)
    def sharing(
        shared: bool,
        ack: str | None,
        key_ordered: bool,
        prefetch: int | None,
        visibility_timeout: timedelta | None,
        max_in_flight: int | None,
        max_attempts: int | None,
        **rest: object,
    ) -> T:
        order = True if key_ordered else None
        given = (ack, prefetch, order, visibility_timeout, max_in_flight, max_attempts)
        if shared:
            return command(shares=Sharing(ack or "after", prefetch or PREFETCH, *given[2:]), **rest)
        for name, value in zip(OPTIONS, given, strict=True):
            if value is not None:
                raise click.UsageError(f"--{name} is for members of a shared group; say --shared as well")
        return command(shares=None, **rest)

    chosen: Callable[..., T] = sharing
    for option in reversed(
        (
            click.option("--shared", is_flag=True, help="Any member of the group has any message, leased to it."),
            click.option(
                "--ack", type=click.Choice(POLICIES),
                help="With --shared: messages are acknowledged after they are printed, or first, given back at the end "
                "(none), tried again later (nack), or made dead letters (reject); after unless given.",
            ),
            click.option("--key-ordered", is_flag=True, help="With --shared: a key's messages one by one, in order."),
            click.option(
                "--prefetch", type=click.IntRange(1, 10_000),
                help=f"With --shared: so many are leased ahead at most; {PREFETCH} unless given.",
            ),
            click.option(
                "--visibility-timeout", type=timedelta_given, metavar="SPAN",
                help="With --shared: how long a message is leased; as the group or the topic says unless given.",
            ),
            click.option(
                "--max-in-flight", type=click.IntRange(min=1),
                help="With --shared: so many leased to a member at most, in a group that is made by this.",
            ),
            click.option(
                "--max-attempts", type=click.IntRange(min=1),
                help="With --shared: so many attempts, and a message is dead, in a group that is made by this.",
            ),
        )
    ):  # fmt: skip
        chosen = option(chosen)
    return chosen


def print_shared(
    gq: "BlockingConnection", wanted: "Membership", shares: Sharing, signals: Signals, timeout_ms: int | None,
    printer: Printer,
) -> None:  # fmt: skip
    """Be a member until a signal, `--count` or a silence of `--timeout` ends it."""
    held: list[BlockingLeasedMessage] = []
    with _member(gq, wanted, shares) as consumer:
        heard = time.monotonic()
        while not signals.number and not printer.is_done:
            messages = _gulp(consumer, printer.left)
            if messages:
                held += _print(messages, shares.ack, consumer, printer)
                heard = time.monotonic()
            elif timeout_ms is not None and (time.monotonic() - heard) * 1000 >= timeout_ms:
                break
        printer.spool.flush()
        for message in held:
            message.release()


def _gulp(consumer: "BlockingWorkConsumer", wanted: int | None) -> "list[BlockingLeasedMessage]":
    """What comes within a moment, and what else is at hand then."""
    messages = []
    message = consumer.next(LOOK)
    most = GULP if wanted is None else min(wanted, GULP)
    while message is not None:
        messages.append(message)
        message = consumer.next(NOW) if len(messages) < most else None
    return messages


def _print(
    messages: "list[BlockingLeasedMessage]", policy: str, consumer: "BlockingWorkConsumer", printer: Printer
) -> "list[BlockingLeasedMessage]":
    """Print messages and settle them; those that are to be held until the end are answered."""
    if policy == "first":
        for message in messages:
            message.ack()
        consumer.flush()
    printer.print(messages)
    if policy == "after":
        for message in messages:
            message.ack()
    elif policy == "nack":
        for message in messages:
            message.nack()
    elif policy == "reject":
        for message in messages:
            message.reject()
    elif policy == "none":
        for message in messages:
            # Its lease is prolonged for as long as this command lasts.
            message.processing("manual").begin()
        return messages
    return []


def _member(gq: "BlockingConnection", wanted: "Membership", shares: Sharing) -> "BlockingWorkConsumer":
    from goqueue.transports.client.group_consumer import SESSION_TIMEOUT

    try:
        return gq.work_consumer(
            wanted.group,
            *wanted.topics,
            prefetch=shares.prefetch,
            ack="manual",
            visibility_timeout=shares.visibility_timeout,
            key_ordered=shares.key_ordered,
            max_in_flight=shares.max_in_flight,
            max_attempts=shares.max_attempts,
            client_id=wanted.client_id,
            instance_id=wanted.instance_id,
            session_timeout=wanted.session_timeout or SESSION_TIMEOUT,
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from error
