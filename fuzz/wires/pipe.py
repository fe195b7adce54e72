"""One direction of a connection: bytes that arrive later, in order, and in other pieces than they were written in.

What was written and has not arrived is bounded, and so is what has arrived and was not read: then a writer has to wait.
Each delivery brings as much as chance has it of what is on its way: all of it mostly, joined whatever the writes were;
else a part that ends anywhere, a byte after the beginning of a frame as well as before its end.

A direction ends in order, behind all that was written, or by a reset, which overtakes everything. It may also be dead:
the machine at one end is gone, and nothing ever arrives. While its route is cut nothing arrives either, and all of it
does later: TCP sends again what is lost.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import TYPE_CHECKING, Protocol

from goqueue.core.records.varint import Readable

if TYPE_CHECKING:
    from goqueue.fuzz.world import World

_ALL, _ANY = 0.6, 0.85
_FEW_BYTES = 12


class Route(Protocol):
    """The way from one host to another."""

    name: str

    def delay_ns(self) -> int:
        """How long it takes this time."""
        ...

    def open_at(self) -> int | None:
        """From when on anything passes: the moment itself, a later one, or None while nobody knows."""
        ...

    def p_damage(self) -> float:
        """How likely a byte of a delivery is changed on its way."""
        ...

    def park(self, pipe: "Pipe") -> None:
        """Call `resume` once that may be known."""
        ...


class Pipe:
    """See the module; `arrived` is called when there is something for the reader, `taken` when there is room again."""

    def __init__(self, world: "World", random: Random, route: Route, bytes_max: int) -> None:
        self._world = world
        self._random = random
        self._route = route
        self._bytes_max = bytes_max
        self._moving = bytearray()
        self._here = bytearray()
        self._is_due = False
        self.is_ended = False
        self.is_broken = False
        self.is_dead = False
        self.has_end = False
        self.moved_ns = world.now
        self.arrived: Callable[[], None] = _nothing
        self.taken: Callable[[], None] = _nothing
        # What happens to bytes that come to a reader who has closed its end; None while it has not.
        self.refuse: Callable[[], None] | None = None

    # --- the writer's end

    @property
    def room(self) -> int:
        """How many bytes can be written."""
        return self._bytes_max - len(self._moving)

    def write(self, pieces: Sequence[Readable]) -> int:
        """Take as much of these as there is room for."""
        size, room = 0, self.room
        for piece in pieces:
            part = piece if len(piece) <= room - size else memoryview(piece)[: room - size]
            self._moving += part
            size += len(part)
            if size == room:
                break
        self._come()
        return size

    def end(self) -> None:
        """Nothing more will be written."""
        self.is_ended = True
        self._come()

    def reset(self) -> None:
        """Whoever reads learns after a while that the connection is broken; what is on its way is lost."""
        self.is_broken, self.is_dead = True, False
        self._moving.clear()
        self._come()

    def reset_now(self) -> None:
        """The same, said by somebody in between."""
        self.reset()
        self._here.clear()
        self.has_end = True
        self.arrived()

    # --- the reader's end

    @property
    def is_readable(self) -> bool:
        """Whether there are bytes, or their end."""
        return bool(self._here) or self.has_end

    @property
    def unread(self) -> int:
        """How many bytes have arrived that nobody has read."""
        return len(self._here)

    def read(self, size: int) -> bytes:
        """Up to so many bytes of those that have arrived."""
        content = bytes(self._here[:size])
        del self._here[:size]
        if self._moving:
            self._come()
        return content

    # --- between them

    def _come(self) -> None:
        """Let something arrive after a while."""
        if not (self._is_due or self.is_dead):
            self._is_due = True
            self._world.later(self._route.delay_ns(), self._arrive)

    def resume(self) -> None:
        """The way is open again, as far as is known."""
        self._world.later(self._route.delay_ns(), self._arrive)

    def die(self) -> None:
        """The machine at one end is gone: nothing arrives any more."""
        self.is_dead = True
        self._moving.clear()

    def _arrive(self, _: object) -> None:
        open_at, now = self._route.open_at(), self._world.now
        if open_at is None:
            self._route.park(self)
            return
        if open_at > now:
            self._world.later(open_at - now, self._arrive)
            return
        self._is_due = False
        self._bring()

    def _bring(self) -> None:
        if self.is_dead:
            return
        if self.is_broken:
            self.has_end = True
            self._here.clear()
            self.arrived()
            return
        if self.refuse is not None and self._moving:
            self._moving.clear()
            self.refuse()
            return
        size = min(self._drawn(len(self._moving)), self._bytes_max - len(self._here))
        if size:
            self._damage(size)
            self.moved_ns = self._world.now
            self._here += self._moving[:size]
            del self._moving[:size]
            self._world.note(None, "bytes", self._route.name, size)
            self.arrived()
            self.taken()
        if self._moving:
            if len(self._here) < self._bytes_max:
                self._come()
        elif self.is_ended and not self.has_end:
            self.has_end = True
            self.arrived()

    def _damage(self, size: int) -> None:
        """Change a byte of the next so many, if chance has it."""
        rate = self._route.p_damage()
        if rate and self._random.random() < rate:
            self._world.count("byte changed on its way")
            self._moving[self._random.randrange(size)] ^= 1 << self._random.randrange(8)

    def _drawn(self, size: int) -> int:
        drawn = self._random.random()
        if drawn < _ALL or size < 2:
            return size
        return self._random.randint(1, size if drawn < _ANY else min(size, _FEW_BYTES))


def _nothing() -> None:
    pass
