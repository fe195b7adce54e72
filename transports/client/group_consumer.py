"""Reading as a member of a group: the group divides the partitions, and remembers how far it has come in each.

To whoever reads it is a consumer: messages one by one or batch by batch, of all partitions that are this member's at
the time. Which those are changes while it reads: `membership` decides with the group, `attendance.py` carries what they
say, `handover.py` does what follows from it, `commits.py` brings the offsets. All of that runs beside the caller, so
that a member lives however long it works on a message, and lets go of what it does not have in hand.

How far the group has come is committed by itself every so often, and whenever a partition goes; then it is what was
handed out before the message in hand, and everything once the next one was asked for. Or else by `commit`, and then it
is what the caller says. Either way a message is handed out at least once.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import partial
from operator import length_hint
from typing import Self

from attrs import define

from goqueue.core.client.failure import MISPLACED, PASSING, Failure
from goqueue.core.client.fetching import Cursor
from goqueue.core.client.membership import Membership, Standing
from goqueue.core.groups.beginnings import start_problem
from goqueue.core.groups.plan import SESSION_MS_MAX, SESSION_MS_MIN
from goqueue.core.groups.state import Slot
from goqueue.core.requests.groups import GroupMode, JoinGroup
from goqueue.core.requests.refusals import Code
from goqueue.proto import v1
from goqueue.transports.client.attendance import Attendance
from goqueue.transports.client.brokers import Brokers
from goqueue.transports.client.commits import Commits
from goqueue.transports.client.errors import ClientError, CommitFailed, error_of
from goqueue.transports.client.handover import Handover, Holding, Hooks
from goqueue.transports.client.loops import SECOND_NS, Parking, Task
from goqueue.transports.client.messages import Message
from goqueue.transports.client.placing import spans_of
from goqueue.transports.client.reading import Reader
from goqueue.transports.client.times import MILLISECOND, milliseconds_of, nanoseconds_of

SESSION_TIMEOUT = timedelta(seconds=30)
COMMIT_INTERVAL = timedelta(seconds=5)
AUTO, MANUAL = "auto", "manual"
# How long leaving waits for the last commit.
LAST_COMMIT_NS = 5 * SECOND_NS
NO_ANSWER = Failure("deadline_exceeded", "the group's coordinator did not answer in time")
# What somebody else will read again, or has read already: no fault, where nobody asked for the commit.
_MOVED_ON = frozenset((str(Code.FENCED_GENERATION), str(Code.UNKNOWN_MEMBER), *MISPLACED, *PASSING))


@define
class GroupTerms:
    """What a member was asked to be, checked."""

    join: JoinGroup
    commits_itself: bool
    commit_ns: int
    hooks: Hooks


def group_terms(
    group: str, topics: Iterable[object], instance_id: str, client_id: str, session_timeout: timedelta, assignor: str,
    start: str, commit: str, commit_interval: timedelta, hooks: Hooks,
) -> GroupTerms:  # fmt: skip
    """The terms of a member out of what a user said; raises ValueError or TypeError."""
    if problem := start_problem(start):
        raise ValueError(f"start says where a group begins that is new: {problem}")
    if commit not in (AUTO, MANUAL):
        raise ValueError(f"commit is 'auto' or 'manual', not {commit!r}")
    nanoseconds_of(session_timeout, "session_timeout")
    session_ms = session_timeout // MILLISECOND
    if not SESSION_MS_MIN <= session_ms <= SESSION_MS_MAX:
        least, most = SESSION_MS_MIN * MILLISECOND, SESSION_MS_MAX * MILLISECOND
        raise ValueError(f"session_timeout is from {least} to {most}, not {session_timeout}")
    join = JoinGroup(
        group,
        topics_of(topics),
        instance_id=instance_id,
        client_id=client_id,
        session_timeout_ms=session_ms,
        mode=GroupMode.EXCLUSIVE,
        assignor=assignor,
        config={"start": start},
    )
    commit_ns = nanoseconds_of(commit_interval, "commit_interval", least=timedelta(milliseconds=10))
    return GroupTerms(join, commit == AUTO, commit_ns, hooks)


class GroupConsumer(Reader):
    """A member of a group; made by `group_consumer()` of a connection, used as a block and in `async for`."""

    def __init__(self, brokers: Brokers, terms: GroupTerms) -> None:
        group = terms.join.group
        super().__init__(brokers, ", ".join(terms.join.topics), self._refused)
        self._terms = terms
        self._membership = Membership(terms.join, brokers.random)
        self._commits = Commits(brokers, group, self._membership)
        self._handover = Handover(
            brokers, group, self._membership, self._fetching, self._subscriptions, self._commits, terms.hooks, self,
            self._stir, terms.commits_itself,
        )  # fmt: skip
        self._attendance: Attendance | None = None
        self._joined: Parking = brokers.loop.parking()
        self._tick: Task | None = None
        self._failure: Exception | None = None
        self._paused: dict[Cursor, None] = {}

    async def __aenter__(self) -> Self:
        assert self._attendance is None, "a group consumer is entered once"
        loop, membership = self._loop, self._membership
        self._attendance = Attendance(self._brokers, membership, self._heard)
        due = loop.now() + self._brokers.timeout_ns
        try:
            while membership.standing is Standing.OUT and loop.now() < due:
                await loop.within(due, self._joined.wait)
        except BaseException:
            self._leave()
            raise
        if membership.standing is not Standing.MEMBER:
            self._leave()
            raise error_of(membership.failure or membership.trouble or NO_ANSWER, self._terms.join.group)
        self._handover.begin()
        if self._terms.commits_itself:
            self._tick = loop.start(self._commit_now_and_then)
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._subscriptions.leave()
        try:
            # Who leaves in order is done with what it has in hand; who leaves by an error is not.
            await self._part(self._positions() if error is None else self._done())
        except Exception:
            if error is None:
                raise
        finally:
            self._leave()
        assert self._attendance is not None
        await self._attendance.until_over()
        if error is None and self._failure is not None:
            raise self._failure

    async def _part(self, done: dict[Slot, int]) -> None:
        """Commit what is done, and tell that all partitions go."""
        self._handover.stop()
        if self._tick is not None:
            self._tick.cancel()
        if self._membership.standing is not Standing.MEMBER:
            return
        if self._terms.commits_itself:
            await self._loop.within(self._loop.now() + LAST_COMMIT_NS, partial(self._commit_quietly, done))
        told = [slot for slot, holding in self._handover.holdings.items() if holding.is_told]
        if told:
            await self._handover.tell(self._terms.hooks.on_revoked, told)

    def _leave(self) -> None:
        """End all that runs beside; what says good-bye to the group ends by itself."""
        self._membership.leave(self._loop.now())
        self._stir()
        self._handover.stop()
        if self._tick is not None:
            self._tick.cancel()
        self._commits.stop()

    # --- what the group says

    @property
    def member_id(self) -> str:
        """The member's id, of the group's making; another one after the group had forgotten this member."""
        return self._membership.member_id

    @property
    def generation(self) -> int:
        """The division of partitions that this member knows of."""
        return self._membership.generation

    @property
    def assignment(self) -> list[Slot]:
        """The partitions that are read, as `(topic, partition)`."""
        return sorted(slot for slot, holding in self._handover.holdings.items() if not holding.is_going)

    def _stir(self) -> None:
        if self._attendance is not None:
            self._attendance.stir()

    def _heard(self) -> None:
        self._handover.hear()
        self._joined.wake()
        self._subscriptions.stir()

    def _refused(self, cursor: Cursor, failure: Failure) -> bool:
        return self._handover.refused(cursor, failure)

    # --- reading

    async def _attend(self) -> int | None:
        membership = self._membership
        while True:
            if self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure
            if membership.failure is not None:
                raise error_of(membership.failure, self._terms.join.group)
            if self._is_over or membership.is_certain(self._loop.now()):
                return None
            await self._subscriptions.until_stirred()

    @property
    def _is_over(self) -> bool:
        return self._membership.standing in (Standing.LEAVING, Standing.OVER)

    def _hand_over(self) -> None:
        cursor = self._cursor
        super()._hand_over()
        if cursor is not None:
            self._handover.handed_over(cursor)

    # --- what is in hand

    def holds(self, cursor: Cursor) -> bool:
        """Whether the batch in hand is of this cursor."""
        return cursor is self._cursor

    def withhold(self, cursor: Cursor) -> None:
        """Hand out nothing more of the batch in hand, if it is of this cursor."""
        if cursor is self._cursor:
            del self._batch[len(self._batch) - length_hint(self._messages) :]
            self._messages = iter(())

    def fail(self, error: Exception) -> None:
        """Raise this to whoever asks for the next message; of several the first."""
        if self._failure is None:
            self._failure = error
        self._subscriptions.stir()

    def position(self, topic: str, partition: int) -> int:
        """The offset of the next message of this partition; what was handed out lies before it."""
        return self._position_of(self._holding(topic, partition).cursor)

    async def seek(
        self, topic: str, partition: int, *, offset: int | None = None, time: datetime | None = None
    ) -> None:
        """Go on from an offset, or from the first message at or after a time, for as long as the partition is ours."""
        if (offset is None) == (time is None):
            raise TypeError("seek takes either an offset or a time")
        if offset is not None and offset < 0:
            raise ValueError(f"offset is from 0 on, not {offset}")
        cursor = self._holding(topic, partition).cursor
        if time is not None:
            request = v1.FindOffsetRequest(topic, partition, milliseconds_of(time, "time"))
            reply = await self._brokers.call("Messages/FindOffset", request, v1.FindOffsetReply, topic)
            offset = int(reply.offset)
        assert offset is not None
        if cursor is self._cursor:
            self._forget_batch()
        self._fetching.seek(cursor, offset)
        self._subscriptions.leave(cursor)

    def pause(self, *partitions: Slot) -> None:
        """Hand out nothing of these partitions, as `(topic, partition)`, until `resume`; they stay this member's."""
        for holding in [self._holding(*slot) for slot in partitions]:
            cursor = holding.cursor
            if cursor is self._cursor:
                self._fetching.handed(cursor, self._position_of(cursor))
                if length_hint(self._messages):
                    self._fetching.take_back(cursor)
                self.withhold(cursor)
            self._fetching.pause(cursor)

    def resume(self, *partitions: Slot) -> None:
        """Go on with partitions that were paused."""
        for holding in [self._holding(*slot) for slot in partitions]:
            self._fetching.resume(holding.cursor)
        self._subscriptions.stir()

    async def lag(self) -> dict[Slot, int]:
        """How many messages are left to read in each partition; what was handed out is not."""
        slots = self.assignment
        spans = await spans_of(self._brokers, [*dict.fromkeys(topic for topic, _ in slots)])
        positions = {slot: self._position_of(holding.cursor) for slot, holding in self._handover.holdings.items()}
        return {slot: max(spans[slot][1] - positions[slot], 0) for slot in slots if slot in spans and slot in positions}

    def _holding(self, topic: str, partition: int) -> Holding:
        found = self._handover.holdings.get((topic, partition))
        if found is None:
            raise ValueError(f"partition {partition} of {topic} is not this member's at the time")
        return found

    # --- committing

    async def commit(self, what: Message | Mapping[Slot, int] | None = None) -> None:
        """Say how far the group has come: past everything handed out, past a message, or to offsets by partition.

        An offset is the next to be read. Raises CommitFailed, which names the partitions and why; the others are taken.
        """
        if what is None:
            await self._commits.commit(self._handover.news_for(self._positions()))
        elif isinstance(what, Message):
            await self._commits.commit({(what.topic, what.partition): what.offset + 1})
        else:
            await self._commits.commit(_offsets(what.items()))

    def _positions(self) -> dict[Slot, int]:
        return {slot: self._position_of(holding.cursor) for slot, holding in self._handover.holdings.items()}

    def _done(self) -> dict[Slot, int]:
        """Positions without what the application has in hand."""
        done = self._positions()
        for slot, holding in self._handover.holdings.items():
            if holding.cursor is self._cursor and self._batch:
                handed = len(self._batch) - length_hint(self._messages)
                done[slot] = self._batch[self._list_at if self._list_at >= 0 else handed - 1].offset
        return done

    async def _commit_now_and_then(self) -> None:
        while True:
            await self._loop.pause(self._terms.commit_ns)
            try:
                await self._commit_quietly(self._done())
            except ClientError as error:
                self.fail(error)

    async def _commit_quietly(self, done: dict[Slot, int]) -> None:
        """Commit what is done; what somebody else is to read is no failure."""
        try:
            await self._commits.commit(self._handover.news_for(done))
        except CommitFailed as error:
            if any(each.code not in _MOVED_ON for each in error.failures.values()):
                raise


def _offsets(given: Iterable[tuple[Slot, int]]) -> dict[Slot, int]:
    offsets: dict[Slot, int] = {}
    for slot, offset in given:
        if type(slot) is not tuple or [*map(type, slot)] != [str, int]:
            raise TypeError(f"offsets are given by (topic, partition), not by {slot!r}")
        if type(offset) is not int:
            raise TypeError(f"the offset of partition {slot[1]} of {slot[0]} is a number, not {offset!r}")
        if offset < 0:
            raise ValueError(f"the offset of partition {slot[1]} of {slot[0]} is from 0 on, not {offset}")
        offsets[slot] = offset
    return offsets


def topics_of(given: Iterable[object]) -> list[str]:
    """Topics as they were given, names or lists of names, each once; raises ValueError or TypeError."""
    names: list[str] = []
    for each in given:
        for name in each if isinstance(each, list | tuple) else [each]:
            if not isinstance(name, str):
                raise TypeError(f"topics are given by their names, not as {name!r}")
            names.append(name)
    if not names:
        raise ValueError("a group's member reads topics, at least one")
    return [*dict.fromkeys(names)]
