"""The bytes that all clients together may keep in memory: answers being made or not taken yet, requests not whole yet.

Each connection has a share. An answer that costs memory is begun once its share was granted room for it, and what is
queued for a client counts against its share until the client has taken it. So a client that asks and never reads holds
a bounded amount, and a thousand of them no more than the budget. What a client sends and does not finish counts as
well: unfinished frames and messages, and what it has sent ahead while it takes no answer.

Who is served when room is short:

- A connection whose client has taken `PROVEN_BYTES` of what it was sent goes first, in the order of asking, and may use
  the whole budget. All other connections together have a quarter of it, and the last that came goes first: those that
  came before it have waited because the ones before them do not read.
- A client that has taken or sent nothing between two sweeps, while others wait for room, loses what it holds.
- Whoever waits too long is shed by its driver, which calls `forget`.

What costs little (a status, an error, the health of the node) is never asked for and only counted, so `held_bytes` may
pass the bound by that, and by the last batch of each reply, which is never cut.

Invariants: `held_bytes` is the sum over all shares; a ticket is granted once, and never after `forget`.
"""

from collections.abc import Callable

from attrs import define

PROVEN_BYTES = 64 << 10
# What any answer is taken for until it is there, and what one with messages may take while it is being made.
ANSWER_BYTES = 4 << 10
PAGE_BYTES = 8 << 20
# A request that waits takes some ten kilobytes for its task, whatever it waits for.
STREAMS_MAX = 10_000
# The part of the budget for connections whose clients have not taken much yet.
_NEWCOMERS = 4
# Beyond so many that wait, further ones are shed at once.
WAITING_MAX = 1024
# How many of them are looked at when there is room again: that happens with every answer that a client takes.
_LOOKED_AT = 8


@define(eq=False)
class Ticket:
    """A share that waits for room: for `size` bytes, or `least` if there is less; `granted` says how many it got."""

    share: "BufferShare"
    size: int
    least: int
    told: Callable[[], None]
    granted: int = 0


class BufferBudget:
    """The bound for all connections of a node."""

    __slots__ = (
        "_newcomers", "_newcomers_max", "_pressed", "_proven", "_shares", "bytes_max", "cut_count", "held_bytes",
        "newcomer_bytes", "shed_count", "stream_count", "streams_max",
    )  # fmt: skip

    def __init__(
        self, bytes_max: int, pressed: Callable[[], None] = lambda: None, *, streams_max: int = STREAMS_MAX
    ) -> None:
        assert bytes_max > 0
        self.bytes_max = bytes_max
        self.streams_max = streams_max
        self.stream_count = 0  # requests that are being served on connections of HTTP/2
        self.held_bytes = 0
        self.newcomer_bytes = 0  # of these, what connections hold whose clients have not taken much yet
        self.shed_count = 0  # answers that were not made for want of room
        self.cut_count = 0  # clients that lost what they did not take
        self._newcomers_max = max(bytes_max // _NEWCOMERS, 1)
        # Who waits, the first to be served at the end.
        self._newcomers: list[Ticket] = []
        self._proven: list[Ticket] = []
        self._shares: dict[BufferShare, None] = {}
        self._pressed = pressed

    @property
    def is_pressed(self) -> bool:
        """Whether somebody waits for room, or more is held than should be."""
        return self.waiting_count > 0 or self.held_bytes > self.bytes_max

    @property
    def waiting_count(self) -> int:
        """How many answers wait for room."""
        return len(self._newcomers) + len(self._proven)

    @property
    def is_overfull(self) -> bool:
        """Whether so much is held that nobody may add to what is not whole."""
        return self.held_bytes > 2 * self.bytes_max

    @property
    def is_crowded(self) -> bool:
        """Whether so many requests are being served that a connection with many of them gets no more."""
        return self.stream_count >= self.streams_max

    def sweep(self) -> None:
        """Have every connection give up what its client has not begun to take since the last sweep."""
        for share in list(self._shares):
            if share.held_bytes:
                self.cut_count += share.cut_stalled()

    def most(self, share: "BufferShare", size: int, least: int) -> int:
        """How much of `size` fits at the moment; 0 if not even `least` does."""
        least = min(least, max(self._newcomers_max // 2, 1), share.bytes_max)
        room = self.bytes_max - self.held_bytes
        if not share.is_proven:
            room = min(room, self._newcomers_max - self.newcomer_bytes)
        room = min(room, share.bytes_max - share.held_bytes)
        if size <= room:
            return size
        return least if least <= room else 0

    def relieve(self) -> None:
        """There is room again: grant it to those who wait."""
        for waiting in (self._proven, self._newcomers):
            while waiting and self._serve_one(waiting):
                pass

    def _serve_one(self, waiting: list[Ticket]) -> bool:
        """Grant room to the first that can have it; False if none of those looked at can."""
        for index in range(len(waiting) - 1, max(len(waiting) - 1 - _LOOKED_AT, -1), -1):
            ticket = waiting[index]
            if self._grant(ticket):
                del waiting[index]
                ticket.told()
                return True
        return False

    def _grant(self, ticket: Ticket) -> bool:
        ticket.granted = self.most(ticket.share, ticket.size, ticket.least)
        if ticket.granted:
            ticket.share.add(ticket.granted)
        return ticket.granted > 0

    def enter(self, ticket: Ticket) -> bool:
        """Wait for room; False if too many wait already."""
        if self.waiting_count >= WAITING_MAX:
            return False
        if ticket.share.is_proven:
            self._proven.insert(0, ticket)
        else:
            self._newcomers.append(ticket)
        self._pressed()
        return True

    def forget(self, ticket: Ticket) -> None:
        """Wait no longer, and give back what was granted in the meantime."""
        if ticket.granted:
            ticket.share.give(ticket.granted)
            ticket.granted = 0
        for waiting in (self._proven, self._newcomers):
            if ticket in waiting:
                waiting.remove(ticket)

    def join(self, share: "BufferShare") -> None:
        """A connection has come."""
        self._shares[share] = None

    def leave(self, share: "BufferShare") -> None:
        """A connection has ended with all that it held."""
        self._shares.pop(share, None)
        self._proven = [ticket for ticket in self._proven if ticket.share is not share]
        self._newcomers = [ticket for ticket in self._newcomers if ticket.share is not share]

    def overflow(self) -> None:
        """More is held than should be: look who holds it for nothing."""
        self._pressed()


class BufferShare:
    """What one connection holds; `cut_stalled` gives up what its client does not take, and counts that.

    Whatever is counted after `close` counts nowhere: tasks of a connection may end after it.
    """

    __slots__ = (
        "_budget", "_is_closed", "_taken_bytes", "bytes_max", "cut_stalled", "held_bytes", "is_proven",
    )  # fmt: skip

    def __init__(self, budget: BufferBudget, bytes_max: int, cut_stalled: Callable[[], int] = lambda: 0) -> None:
        self._budget = budget
        self._taken_bytes = 0
        self._is_closed = False
        self.bytes_max = bytes_max
        self.held_bytes = 0
        self.is_proven = False
        self.cut_stalled = cut_stalled
        budget.join(self)

    @property
    def budget(self) -> BufferBudget:
        """What it is a share of."""
        return self._budget

    def take(self, size: int, least: int) -> int:
        """Room for `size` bytes, or for `least` if there is less, without waiting; 0 if there is none."""
        assert 0 < least <= size
        granted = self._budget.most(self, size, least)
        if granted:
            self.add(granted)
        return granted

    def ask(self, size: int, least: int, told: Callable[[], None]) -> Ticket | None:
        """Wait for such room: `told` is called once it was granted. None if too many wait for some already."""
        ticket = Ticket(self, size, least, told)
        return ticket if self._budget.enter(ticket) else None

    def add(self, size: int) -> None:
        """So many bytes are held, whether there is room for them or not."""
        if self._is_closed:
            return
        self.held_bytes += size
        budget = self._budget
        budget.held_bytes += size
        if not self.is_proven:
            budget.newcomer_bytes += size
        if budget.held_bytes > budget.bytes_max:
            budget.overflow()

    def give(self, size: int) -> None:
        """So many bytes are held no longer."""
        if self._is_closed:
            return
        self.held_bytes -= size
        assert self.held_bytes >= 0
        budget = self._budget
        budget.held_bytes -= size
        if not self.is_proven:
            budget.newcomer_bytes -= size
        if budget.waiting_count:
            budget.relieve()

    def taken(self, size: int) -> None:
        """The client has taken so many of the bytes that are held."""
        if not self.is_proven:
            self._taken_bytes += size
            if self._taken_bytes >= PROVEN_BYTES:
                self.is_proven = True
                self._budget.newcomer_bytes -= self.held_bytes
        self.give(size)

    def doubt(self) -> None:
        """The client did not take what it was to be sent: it has to prove itself again."""
        if self.is_proven:
            self.is_proven = False
            self._budget.newcomer_bytes += self.held_bytes
        self._taken_bytes = 0

    def close(self) -> None:
        """The connection is over, and holds nothing any more."""
        budget = self._budget
        budget.leave(self)
        self.give(self.held_bytes)
        self._is_closed = True
