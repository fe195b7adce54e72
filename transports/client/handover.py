"""Partitions as they come to a member and go: what its news mean for what is read, and in which order all is told.

What must be at once is done when the news come: nothing more is handed out of a partition that is wanted back, or lost.
What takes time is a job, done by one task one after another, so that the application hears of things in their order:
    an assignment   find out where to begin, tell, read on from there
    a revocation    commit, tell, let go: the next member can have it
    a loss          tell
A partition whose messages the application has in hand is let go of when it asks for the next one, and not before.

Invariant: a partition is read only between what is told of its coming and of its going.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from inspect import isawaitable
from typing import Protocol

from attrs import define, field

from goqueue.core.client.failure import MISPLACED, PASSING, Failure
from goqueue.core.client.fetching import Cursor, Fetching
from goqueue.core.client.membership import Assigned, Kept, Lost, Membership, Revoking
from goqueue.core.groups.state import Slot
from goqueue.core.requests.refusals import Code
from goqueue.core.timers.backoff import Backoff
from goqueue.transports.client.brokers import Brokers
from goqueue.transports.client.commits import Commits
from goqueue.transports.client.errors import ClientError, CommitFailed, error_of
from goqueue.transports.client.loops import Parking, Task
from goqueue.transports.client.messages import Message
from goqueue.transports.client.placing import Place, places_of, spans_of
from goqueue.transports.client.subscriptions import Subscriptions

Told = Callable[[list[Slot]], object]


@define
class Hooks:
    """What the application wants to be told, by plain functions or by async ones."""

    on_assigned: Told | None = None
    on_revoked: Told | None = None
    on_lost: Told | None = None


class Hands(Protocol):
    """The application's side: what it has in hand."""

    def holds(self, cursor: Cursor) -> bool:
        """Whether the batch in hand is of this cursor."""
        ...

    def withhold(self, cursor: Cursor) -> None:
        """Hand out nothing more of this cursor's batch."""
        ...

    def fail(self, error: Exception) -> None:
        """Raise this to whoever asks for the next message."""
        ...


@define(eq=False)
class Holding:
    """A partition with its place: whether the application was told of it, and is done with that; and has to let go."""

    slot: Slot
    cursor: Cursor
    is_told: bool = False
    is_ready: bool = False
    is_going: bool = False
    # How often in a row the broker refused to go on with it, and up to where messages had come by the last time.
    refusals: int = 0
    refused_at: int = -1

    def count_refusal(self) -> int:
        """How often in a row the broker has refused to go on, this time included: messages that came end the row."""
        if self.cursor.fetched != self.refused_at:
            self.refusals, self.refused_at = 0, self.cursor.fetched
        self.refusals += 1
        return self.refusals


@define(eq=False)
class _Job:
    """Something to be done for some partitions, not before `due`; an assignment only while its news are the last."""

    work: Callable[["Handover", "_Job"], Awaitable[None]]
    slots: list[Slot]
    news: Assigned | None = None
    due: int = 0


@define(eq=False)
class Handover:
    """See the module."""

    _brokers: Brokers
    _group: str
    _membership: Membership
    _fetching: Fetching[Message]
    _subscriptions: Subscriptions
    _commits: Commits
    _hooks: Hooks
    _hands: Hands
    # Told when the membership was.
    _released: Callable[[], None]
    _commits_itself: bool
    holdings: dict[Slot, Holding] = field(factory=dict)
    _assigned: dict[Slot, Assigned] = field(factory=dict)
    _jobs: list[_Job] = field(factory=list)
    _attempts: int = 0
    _task: Task | None = None
    _stirred: Parking = field(init=False)
    _backoff: Backoff = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._stirred = self._brokers.loop.parking()
        self._backoff = Backoff(self._brokers.random)

    def begin(self) -> None:
        """Do what there is to do, from here on."""
        self._task = self._brokers.loop.start(self._run)

    def stop(self) -> None:
        """Do nothing more."""
        if self._task is not None:
            self._task.cancel()

    # --- at once

    def hear(self) -> None:
        """Follow the news."""
        news, self._membership.news = self._membership.news, []
        for one in news:
            if isinstance(one, Assigned):
                self._add_assignment(one.slots)
            elif isinstance(one, Revoking):
                self._want_back(one.slots)
            elif isinstance(one, Kept):
                self._keep(one.slots)
            else:
                self._lose(one)
        if news:
            self._subscriptions.stir()

    def _add(self, job: _Job) -> None:
        if job.slots:
            self._jobs.append(job)
            self._stirred.wake()

    def _add_assignment(self, slots: list[Slot], due: int = 0) -> None:
        news = Assigned(slots)
        self._assigned.update((slot, news) for slot in slots)
        self._add(_Job(Handover._place, slots, news, due))

    def _want_back(self, slots: list[Slot]) -> None:
        free: list[Slot] = []
        for slot in slots:
            self._assigned.pop(slot, None)
            holding = self.holdings.get(slot)
            if holding is not None:
                holding.is_going = True
                self._withhold(holding)
            if holding is None or not self._hands.holds(holding.cursor):
                free.append(slot)
        self._add(_Job(Handover._let_go, free))

    def _withhold(self, holding: Holding) -> None:
        self._hands.withhold(holding.cursor)
        self._fetching.drop(holding.cursor)
        self._subscriptions.leave(holding.cursor)

    def handed_over(self, cursor: Cursor) -> None:
        """The application has nothing of this cursor in hand any more."""
        holding = self.holdings.get((cursor.topic, cursor.partition))
        if holding is not None and holding.is_going and holding.cursor is cursor:
            self._add(_Job(Handover._let_go, [holding.slot]))

    def _keep(self, slots: list[Slot]) -> None:
        for slot in slots:
            holding = self.holdings.get(slot)
            if holding is None:
                self._add_assignment([slot])
            else:
                holding.is_going = False
                self._read(holding)

    def _read(self, holding: Holding) -> None:
        """Read this partition, if nothing stands against it."""
        is_ours = self.holdings.get(holding.slot) is holding and not holding.is_going
        if is_ours and holding.is_ready and holding.cursor not in self._fetching.cursors:
            self._fetching.cursors.append(holding.cursor)
            self._subscriptions.stir()

    def _lose(self, lost: Lost) -> None:
        told: list[Slot] = []
        for slot in lost.slots:
            self._assigned.pop(slot, None)
            holding = self.holdings.pop(slot, None)
            if holding is not None:
                self._withhold(holding)
                self._fetching.resume(holding.cursor)
                if holding.is_told:
                    told.append(slot)
        self._commits.lose(lost.slots)
        self._add(_Job(Handover._tell_lost, told))

    def refused(self, cursor: Cursor, failure: Failure) -> bool:
        """The broker does not go on with a cursor: find out what can be done, beside."""
        slot = (cursor.topic, cursor.partition)
        holding = self.holdings.get(slot)
        if holding is not None and holding.cursor is cursor and cursor in self._fetching.cursors:
            self._fetching.cursors.remove(cursor)
            due = self._brokers.loop.now() + self._backoff.delay_ns(holding.count_refusal())
            if failure.code == Code.OFFSET_OUT_OF_RANGE:
                self._add(_Job(Handover._move_to_start, [slot]))
            else:
                if failure.code not in PASSING and failure.code not in MISPLACED:
                    self._hands.fail(error_of(failure, cursor.topic))
                self._add(_Job(Handover._go_on, [slot], None, due))
        return True

    # --- jobs

    async def _run(self) -> None:
        loop = self._brokers.loop
        while True:
            now = loop.now()
            job = next((job for job in self._jobs if job.due <= now), None)
            if job is not None:
                self._jobs.remove(job)
                await job.work(self, job)
            elif self._jobs:
                await loop.within(min(job.due for job in self._jobs), self._stirred.wait)
            else:
                await self._stirred.wait()

    async def _place(self, job: _Job) -> None:
        """Find out where to begin, tell of it, and read."""
        try:
            places = await self._begin(self._still_assigned(job))
        except ClientError as error:
            if error.code not in PASSING:
                self._hands.fail(error)
            places = {}
        slots = self._still_assigned(job)
        for slot in slots:
            if slot in places:
                offset = places[slot].offset
                self.holdings[slot] = Holding(slot, Cursor(*slot, offset, offset), is_told=True)
        placed = [slot for slot in slots if slot in places]
        if len(placed) < len(slots):
            self._attempts += 1
            due = self._brokers.loop.now() + self._backoff.delay_ns(self._attempts)
            self._add_assignment([slot for slot in slots if slot not in places], due)
        else:
            self._attempts = 0
        holdings = [self.holdings[slot] for slot in placed]
        if holdings:
            await self.tell(self._hooks.on_assigned, placed)
        for holding in holdings:
            holding.is_ready = True
            self._read(holding)

    def _still_assigned(self, job: _Job) -> list[Slot]:
        reading = self._membership.reading
        return [slot for slot in job.slots if self._assigned.get(slot) is job.news and slot in reading]

    async def _begin(self, slots: list[Slot]) -> dict[Slot, Place]:
        places = await places_of(self._brokers, self._group, slots) if slots else {}
        self._commits.done.update((slot, place.committed) for slot, place in places.items() if place.committed >= 0)
        ends = {slot: place.offset for slot, place in places.items() if place.is_at_end}
        if ends:
            try:
                await self._commits.commit(ends)
            except CommitFailed:
                # Whoever owns them by now does the same.
                places = {slot: place for slot, place in places.items() if slot not in ends}
        return places

    async def _let_go(self, job: _Job) -> None:
        """Commit, tell, and confirm."""
        membership, loop = self._membership, self._brokers.loop
        going = self._still_going(job)
        if self._commits_itself:
            positions = {slot: self.holdings[slot].cursor.position for slot in going if slot in self.holdings}
            # If it fails, somebody reads those messages again.
            with suppress(CommitFailed):
                await self._commits.commit(self.news_for(positions))
            going = self._still_going(job)
        holdings = [self.holdings[slot] for slot in going if slot in self.holdings]
        told = [holding.slot for holding in holdings if holding.is_told]
        for holding in holdings:
            holding.is_told = holding.is_ready = False
        if told:
            await self.tell(self._hooks.on_revoked, told)
        for holding in holdings:
            if self.holdings.get(holding.slot) is holding:
                del self.holdings[holding.slot]
                self._fetching.resume(holding.cursor)
                self._commits.done.pop(holding.slot, None)
        # What is to stay after all comes like anything else.
        self._add_assignment([slot for slot in going if slot in membership.reading])
        membership.released(loop.now(), going)
        self._released()

    def _still_going(self, job: _Job) -> list[Slot]:
        """Without what is to stay after all, and what came into the application's hands meanwhile."""
        holdings, revoking = self.holdings, self._membership.revoking
        going = [slot for slot in job.slots if slot in revoking]
        return [slot for slot in going if slot not in holdings or not self._hands.holds(holdings[slot].cursor)]

    def news_for(self, positions: dict[Slot, int]) -> dict[Slot, int]:
        """Those positions of which the group does not know yet."""
        done = self._commits.done
        return {slot: offset for slot, offset in positions.items() if offset > done.get(slot, 0)}

    async def _tell_lost(self, job: _Job) -> None:
        await self.tell(self._hooks.on_lost, job.slots)

    async def _move_to_start(self, job: _Job) -> None:
        """What was to be read next is gone: go on at the partition's start."""
        (slot,) = job.slots
        holding = self.holdings.get(slot)
        if holding is None:
            return
        try:
            span = (await spans_of(self._brokers, [slot[0]])).get(slot)
        except ClientError:
            span = None
        at = holding.cursor.fetched
        if span is not None and at < span[0]:
            self._fetching.seek(holding.cursor, span[0])
        elif span is not None and at > span[1]:
            said = f"partition {slot[1]} of {slot[0]} ends at {span[1]}, and the group has come to {at}"
            self._hands.fail(error_of(Failure(str(Code.OFFSET_OUT_OF_RANGE), said)))
        self._add(_Job(Handover._go_on, [slot], None, self._brokers.loop.now() + self._backoff.delay_ns(1)))

    async def _go_on(self, job: _Job) -> None:
        for slot in job.slots:
            holding = self.holdings.get(slot)
            if holding is not None:
                self._read(holding)

    async def tell(self, told: Told | None, slots: list[Slot]) -> None:
        """Tell the application; what it raises, it gets back when it asks for the next message."""
        if told is None:
            return
        try:
            waiting = told(slots)
            if isawaitable(waiting):
                await waiting
        except Exception as error:  # noqa: BLE001 - it is the application's own, and goes back there
            self._hands.fail(error)
