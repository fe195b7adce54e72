"""`goqueue consume --group`: a member of a group that prints what it reads, until something ends it.

What was printed is committed every second and at the end, and the member says that it leaves, so that others have
its partitions at once; a shared group has no partitions to give, and is read as `consume_shared.py` says. Ctrl-C and
SIGTERM do not break into that: they are noted, and looked at between two batches. A second one ends the command where
it stands.
"""

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import wraps
from typing import TYPE_CHECKING, TypeVar

import click
from attrs import define

from goqueue.cli.consume_shared import Sharing, print_shared, sharing_options
from goqueue.cli.endings import Ending, unreachable
from goqueue.cli.group import complete_group
from goqueue.cli.moments import timedelta_given
from goqueue.cli.printer import Printer
from goqueue.cli.server import Server
from goqueue.cli.signals import STATUS, Signals, noted
from goqueue.cli.spool import Closed

if TYPE_CHECKING:
    from goqueue.transports.client.blocking import BlockingConnection
    from goqueue.transports.client.blocking_group_consumer import BlockingGroupConsumer

COMMITS = ("auto", "none")
# How often a signal is looked for while nothing comes.
LOOK = timedelta(milliseconds=100)
# Who looks at a group by hand is to see soon what a member printed.
COMMIT_INTERVAL = timedelta(seconds=1)
# Who wants to stop does not wait long for a broker that is gone.
CALL_TIMEOUT = timedelta(seconds=5)

T = TypeVar("T")


@define
class Membership:
    """Of which group, to read what, and how."""

    group: str
    topics: list[str]
    client_id: str
    instance_id: str
    commit: str
    session_timeout: timedelta | None
    # None in a group whose members have partitions of their own.
    sharing: Sharing | None


def membership_options(command: Callable[..., T]) -> Callable[..., T]:
    """The options that make a reader a member of a group; the command gets them as `member`."""

    @wraps(command)
    def joined(
        topics: tuple[str, ...],
        group: str | None,
        client_id: str | None,
        instance_id: str | None,
        commit: str | None,
        session_timeout: timedelta | None,
        shares: Sharing | None,
        **rest: object,
    ) -> T:
        member = membership(group, topics, client_id, instance_id, commit, session_timeout, shares)
        return command(topics=topics, member=member, **rest)

    chosen = sharing_options(joined)
    for option in reversed(
        (
            click.option(
                "-g",
                "--group",
                shell_complete=complete_group,
                help="Read as a member of this group, from where it is, several topics if wanted.",
            ),
            click.option("--client-id", metavar="NAME", help="What a member is called in lists; console unless given."),
            click.option(
                "--instance-id", metavar="NAME", help="A name under which a member comes back to its partitions."
            ),
            click.option(
                "--commit",
                type=click.Choice(COMMITS),
                help="Whether what a member printed counts as read; auto unless given.",
            ),
            click.option(
                "--session-timeout",
                type=timedelta_given,
                metavar="SPAN",
                help="After how much silence a member counts as gone; 30s unless given.",
            ),
        )
    ):
        chosen = option(chosen)
    return chosen


def membership(
    group: str | None,
    topics: tuple[str, ...],
    client_id: str | None,
    instance_id: str | None,
    commit: str | None,
    session_timeout: timedelta | None,
    shares: Sharing | None,
) -> Membership | None:
    """What the options come to, None for a reader without a group; raises UsageError."""
    if group is not None:
        if shares is not None and commit is not None:
            raise click.UsageError("members of a shared group acknowledge message by message: see --ack, not --commit")
        name = client_id or "console"
        return Membership(group, [*topics], name, instance_id or "", commit or "auto", session_timeout, shares)
    if len(topics) > 1:
        raise click.UsageError(f"{' and '.join(topics)} are several topics; those are read with --group")
    given: dict[str, object] = {
        "client-id": client_id,
        "instance-id": instance_id,
        "commit": commit,
        "session-timeout": session_timeout,
    }
    if shares is not None:
        given["shared"] = shares
    for name, value in given.items():
        if value is not None:
            raise click.UsageError(f"--{name} is for members of a group; say which one with --group")
    return None


def print_as_member(server: Server, wanted: Membership, timeout_ms: int | None, printer: Printer) -> None:
    """Be a member until a signal, `--count` or a silence of `--timeout` ends it."""
    from goqueue.transports.client.connection import connect
    from goqueue.transports.client.errors import ConnectionLost, WrongMode

    tls = server.tls()
    if tls is not None:
        tls.set_alpn_protocols(["h2"])
    try:
        with connect(server.address, tls=tls, timeout=CALL_TIMEOUT) as gq, noted(*STATUS) as signals:
            _say_what_is_missing(gq, wanted.topics)
            if wanted.sharing is not None:
                print_shared(gq, wanted, wanted.sharing, signals, timeout_ms, printer)
            else:
                _print_owned(gq, wanted, signals, timeout_ms, printer)
    except ConnectionLost as error:
        raise unreachable(server.address, str(error)) from error
    except WrongMode as error:
        hint = "say --shared" if wanted.sharing is None else "leave --shared out"
        raise Ending(f"{error}; {hint}") from error
    except Closed:
        sys.exit(0)
    if signals.number:
        sys.exit(STATUS[signals.number])


def _print_owned(
    gq: "BlockingConnection", wanted: Membership, signals: Signals, timeout_ms: int | None, printer: Printer
) -> None:
    with _member(gq, wanted) as consumer:
        _print(consumer, signals, timeout_ms, printer)
        if wanted.commit == "auto":
            consumer.commit()


def _say_what_is_missing(gq: "BlockingConnection", topics: list[str]) -> None:
    from goqueue.transports.client.errors import TopicNotFound

    for topic in topics:
        try:
            gq.topics.describe(topic)
        except TopicNotFound:
            click.echo(f"goqueue: there is no topic {topic!r} yet; it is read once there is", err=True)


def _member(gq: "BlockingConnection", wanted: Membership) -> "BlockingGroupConsumer":
    from goqueue.transports.client.group_consumer import AUTO, MANUAL, SESSION_TIMEOUT

    try:
        return gq.group_consumer(
            wanted.group,
            wanted.topics,
            client_id=wanted.client_id,
            instance_id=wanted.instance_id,
            commit=AUTO if wanted.commit == "auto" else MANUAL,
            commit_interval=COMMIT_INTERVAL,
            session_timeout=wanted.session_timeout or SESSION_TIMEOUT,
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _print(consumer: "BlockingGroupConsumer", signals: Signals, timeout_ms: int | None, printer: Printer) -> None:
    heard = time.monotonic()
    while not signals.number and not printer.is_done:
        batch = consumer.next_batch(LOOK)
        if batch:
            printed = printer.print(batch)
            heard = time.monotonic()
            if printed < len(batch):
                # What is not printed is not read, unless it is another's to read already.
                with suppress(ValueError):
                    consumer.seek(batch[0].topic, batch[0].partition, offset=batch[printed].offset)
        elif timeout_ms is not None and (time.monotonic() - heard) * 1000 >= timeout_ms:
            break
    printer.spool.flush()
