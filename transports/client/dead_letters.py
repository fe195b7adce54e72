"""Dead letters: the messages that work queues gave up on, looked at, sent back, dropped; `gq.dlq`.

A topic is that of the letters, such as `orders.dlq`, or the one that they came from. Which letters are meant is said by
a `LetterFilter`: those that fit everything in it. A redrive goes on by itself at the broker, also across restarts;
whoever wants to see how far it is asks for it, or waits.
"""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime, timedelta
from typing import TypeAlias

from attrs import define, field

from goqueue.core.requests.deadletters import (
    BrowseDead,
    CancelRedrive,
    DescribeRedrive,
    ListDeadTopics,
    ListRedrives,
    PurgeDead,
    RedriveReply,
    Sieve,
    StartRedrive,
)
from goqueue.core.requests.deadletters import DeadLetter as Found
from goqueue.proto import dead, v1
from goqueue.transports.client.brokers import Brokers
from goqueue.transports.client.contents import Content, bytes_of
from goqueue.transports.client.times import milliseconds_of, moment_of, nanoseconds_of

LIMIT_MAX = 1000
RATE_MAX = (1 << 32) - 1
PAUSE = timedelta(milliseconds=250)
After: TypeAlias = dict[int, int]


@define
class LetterFilter:
    """Which letters are meant: why and in which group they died, their key, headers they have, and when they died."""

    reason: str = ""
    group: str = ""
    key: Content | None = None
    headers: Mapping[str, Content] = field(factory=dict)
    since: datetime | None = None
    until: datetime | None = None


ALL = LetterFilter()


@define
class DeadTopic:
    """A topic of dead letters: how many it has that were neither sent back nor purged."""

    topic: str
    letters: int


@define
class DeadLetter:
    """A dead letter: where it lies, what it is, and how it came there."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    header_pairs: tuple[tuple[str, bytes | None], ...]
    reason: str
    group: str
    attempts: int
    died_at: datetime
    source_topic: str
    source_partition: int
    source_offset: int

    @property
    def headers(self) -> dict[str, bytes | None]:
        """Its headers by name; of those with the same name the last."""
        return dict(self.header_pairs)


@define
class DeadLetterPage:
    """Some letters, the oldest of each partition first, and what to go on from; None when that is the end."""

    letters: list[DeadLetter]
    after: After | None


@define
class Redrive:
    """A redrive or a purge: what it is and how far it has come; `state` is running, done, cancelled or failed.

    `total` is how many letters there were to look at, of which so many were `looked` at, `matched` and `moved`.
    """

    redrive_id: str
    topic: str
    to: str
    is_purge: bool
    is_dry_run: bool
    state: str
    total: int
    looked: int
    matched: int
    moved: int
    rate: int
    started_at: datetime
    ended_at: datetime | None
    error: str

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be done."""
        return self.state != "running"


# Within the class `list` is a method.
_TopicList: TypeAlias = list[DeadTopic]
_RedriveList: TypeAlias = list[Redrive]


class DeadLetters:
    """The dead letters of a broker."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers

    async def list(self) -> _TopicList:
        """The topics of dead letters, and how many there are in each."""
        request = dead.list_dead_topics_message(ListDeadTopics())
        reply = await self._brokers.call("DeadLetters/List", request, v1.ListDeadTopicsReply)
        return [DeadTopic(each.topic, each.letters) for each in dead.read_dead_topics(reply)]

    async def peek(
        self, topic: str, which: LetterFilter = ALL, *, limit: int = 100, after: After | None = None
    ) -> DeadLetterPage:
        """A page of letters; `after` is that of the page before. Nothing is done to them."""
        if not 1 <= limit <= LIMIT_MAX:
            raise ValueError(f"limit is from 1 to {LIMIT_MAX}, not {limit}")
        request = dead.browse_message(BrowseDead(topic, _sieve(which), limit, after or {}))
        reply = dead.read_dead_letters(await self._brokers.call("DeadLetters/Browse", request, v1.BrowseReply, topic))
        return DeadLetterPage([_letter(topic, each) for each in reply.letters], reply.after)

    async def all(self, topic: str, which: LetterFilter = ALL) -> AsyncIterator[DeadLetter]:
        """All letters that are meant, page by page."""
        after: After | None = None
        while True:
            page = await self.peek(topic, which, limit=LIMIT_MAX, after=after)
            for letter in page.letters:
                yield letter
            after = page.after
            if after is None:
                return

    async def redrive(
        self, topic: str, which: LetterFilter = ALL, *, to: str = "", rate: int = 0, limit: int = 0,
        dry_run: bool = False,
    ) -> Redrive:  # fmt: skip
        """Begin to send letters back to where each came from, or to the topic `to`.

        At most `limit` of them and `rate` a second, no bound for 0. With `dry_run` they are only counted.
        """
        if not 0 <= rate <= RATE_MAX or limit < 0:
            raise ValueError(f"rate and limit are from 0 on, which is no bound, not {rate} and {limit}")
        request = dead.redrive_message(StartRedrive(topic, to, _sieve(which), rate, limit, dry_run))
        reply = await self._brokers.call("DeadLetters/Redrive", request, v1.RedriveReply, topic, once=not dry_run)
        return _redrive(dead.read_redrive(reply))

    async def purge(self, topic: str, which: LetterFilter = ALL, *, dry_run: bool = False) -> Redrive:
        """Begin to drop letters."""
        request = dead.purge_message(PurgeDead(topic, _sieve(which), dry_run))
        reply = await self._brokers.call("DeadLetters/Purge", request, v1.RedriveReply, topic, once=not dry_run)
        return _redrive(dead.read_redrive(reply))

    async def status(self, redrive_id: str) -> Redrive:
        """How far a redrive or a purge has come; raises RedriveNotFound."""
        request = dead.describe_redrive_message(DescribeRedrive(redrive_id))
        reply = await self._brokers.call("DeadLetters/DescribeRedrive", request, v1.RedriveReply)
        return _redrive(dead.read_redrive(reply))

    async def wait(self, redrive: Redrive | str, pause: timedelta = PAUSE) -> Redrive:
        """The same once it is over; whoever waits no longer stops nothing."""
        redrive_id = redrive if isinstance(redrive, str) else redrive.redrive_id
        pause_ns = nanoseconds_of(pause, "pause", least=timedelta(milliseconds=1))
        found = await self.status(redrive_id)
        while not found.is_over:
            await self._brokers.loop.pause(pause_ns)
            found = await self.status(redrive_id)
        return found

    async def redrives(self, topic: str = "") -> _RedriveList:
        """Redrives and purges that are remembered, the newest first: of a topic, or all."""
        request = dead.list_redrives_message(ListRedrives(topic))
        reply = await self._brokers.call("DeadLetters/ListRedrives", request, v1.ListRedrivesReply, topic)
        return [_redrive(each) for each in dead.read_redrives(reply)]

    async def cancel(self, redrive: Redrive | str) -> Redrive:
        """Stop a redrive or a purge; what was done stays so."""
        redrive_id = redrive if isinstance(redrive, str) else redrive.redrive_id
        request = dead.cancel_redrive_message(CancelRedrive(redrive_id))
        reply = await self._brokers.call("DeadLetters/CancelRedrive", request, v1.RedriveReply)
        return _redrive(dead.read_redrive(reply))


def _sieve(which: LetterFilter) -> Sieve:
    return Sieve(
        which.reason,
        which.group,
        None if which.key is None else bytes_of(which.key, "key"),
        {name: bytes_of(value, "header") for name, value in which.headers.items()},
        None if which.since is None else milliseconds_of(which.since, "since"),
        None if which.until is None else milliseconds_of(which.until, "until"),
    )


def _letter(topic: str, found: Found) -> DeadLetter:
    return DeadLetter(
        topic, found.partition, found.offset, found.key, found.value, found.headers, found.reason, found.group,
        found.attempts, moment_of(found.died_ms), found.source_topic, found.source_partition, found.source_offset,
    )  # fmt: skip


def _redrive(found: RedriveReply) -> Redrive:
    return Redrive(
        found.redrive_id, found.topic, found.to, found.is_purge, found.is_dry_run, str(found.state), found.total,
        found.looked, found.matched, found.moved, found.rate, moment_of(found.started_ms),
        moment_of(found.ended_ms) if found.ended_ms else None, found.error,
    )  # fmt: skip
