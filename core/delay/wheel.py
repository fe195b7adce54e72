"""When a key comes up, for very many keys: a hierarchical timing wheel with ticks of a millisecond.

It is asked like `Alarms`, and answers to the millisecond: a key comes up at the first tick at or after its time, so
never early and less than a tick late. Setting and dropping cost the same with one key as with millions. Not here: what
a key stands for, and calendar time.

Theory (Varghese and Lauck, scheme 7). The position is the last tick that was drained. A key lies in a bucket of the
level of the highest digit, of ten bits, in which its tick differs from the position: one millisecond wide in level 0, a
second in level 1, seventeen minutes, twelve days, 34 years and so on. As a level's digit is larger than the position's
and all higher ones are the same, the buckets of a level come before those of the next, and never wrap around. When the
position comes to a bucket of a higher level, its keys are spread over the levels below, which are empty then. A
bucket's number goes through a heap once; there are 1,023 of a level at most, however many keys.

What is due of a wide bucket by then is sorted and handed over, not spread: after a pause, or a start with a million
keys overdue, that is one sort a bucket.

Dropping and moving leave the old entry behind; what a key's own tick says decides whether an entry is one. Leftovers go
when their bucket comes up, or in a sweep when they are the larger part. The traps, and what keeps out of them:

    1 a key set to a tick that is past goes to `_late`, never into the bucket of a tick that was just drained
    2 whoever drops a key while its bucket is handed over by parts touches no bucket
    3 a key in a level-0 bucket that came up is due; nobody compares its time with the clock again
    4 the position jumps from bucket to bucket: empty ticks cost nothing, however many

Invariants: every key has an entry in the bucket of its tick. Buckets are past the position; `_ready` and `_late` are
not. Entries are at most twice the keys, and a few.
"""

from collections import deque
from heapq import heappop, heappush
from typing import Generic, TypeVar

from attrs import define, field

Key = TypeVar("Key")

TICK_NS = 1_000_000
_DIGIT_BITS = 10
_LEVELS = 7
_TICKS_END = 1 << _DIGIT_BITS * _LEVELS
_LEFTOVERS_MIN = 64

# The level of a tick by the length of what differs between it and the position, and how far its digit is shifted.
_LEVEL = tuple((max(bits, 1) - 1) // _DIGIT_BITS for bits in range(_DIGIT_BITS * _LEVELS + 1))
_SHIFT = tuple(level * _DIGIT_BITS for level in range(_LEVELS))


def _last_tick(now: int) -> int:
    assert now >= 0
    return now // TICK_NS


@define
class _Level(Generic[Key]):
    """The buckets of one width by their numbers, ticks without the lower digits; `order` is a heap of the numbers."""

    buckets: dict[int, list[Key]] = field(factory=dict)
    order: list[int] = field(factory=list)

    def pop_first(self) -> list[Key]:
        """Take out the bucket that comes first."""
        return self.buckets.pop(heappop(self.order))


@define
class Wheel(Generic[Key]):
    """A set of keys, each with the time at which it comes up; `now` is where the wheel begins."""

    # No converter: with one, attrs runs code of its own at every assignment to any field.
    _start: int = field(default=0, alias="now")
    _position: int = field(init=False)
    _ticks: dict[Key, int] = field(factory=dict, init=False)
    _levels: list[_Level[Key]] = field(factory=lambda: [_Level() for _ in range(_LEVELS)], init=False)
    # What has come and was not handed over yet, in order.
    _ready: deque[Key] = field(factory=deque, init=False)
    # What was set to a time that was past.
    _late: list[Key] = field(factory=list, init=False)
    _entries: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self._position = _last_tick(self._start)

    def __len__(self) -> int:
        return len(self._ticks)

    def __contains__(self, key: Key) -> bool:
        return key in self._ticks

    def time(self, key: Key) -> int | None:
        """The time at which a key comes up, to the tick; None when it is not set."""
        tick = self._ticks.get(key)
        return None if tick is None else tick * TICK_NS

    def set(self, key: Key, due: int) -> None:
        """Have `key` come up at `due`, and no longer when it was set to before."""
        tick = -(-due // TICK_NS)
        assert tick < _TICKS_END, "no time is that far away"
        ticks = self._ticks
        if ticks.get(key) != tick:
            ticks[key] = tick
            self._entries += 1
            self._place(key, tick)
            if self._entries > _LEFTOVERS_MIN + 2 * len(ticks):
                self._sweep()

    def drop(self, key: Key) -> None:
        """Have `key` come up no more."""
        ticks = self._ticks
        if ticks.pop(key, None) is not None and self._entries > _LEFTOVERS_MIN + 2 * len(ticks):
            self._sweep()

    def deadline(self) -> int | None:
        """When to call `due` next: not after the first key comes up, maybe before, to spread a wide bucket."""
        if self._has_ready():
            return self._position * TICK_NS
        ticks = self._ticks
        for shift, level in zip(_SHIFT, self._levels, strict=True):
            while level.order:
                number = level.order[0]
                bucket = level.buckets[number]
                while bucket and ticks.get(bucket[-1], -1) >> shift != number:
                    bucket.pop()
                    self._entries -= 1
                if bucket:
                    return (number << shift) * TICK_NS
                level.pop_first()
        return None

    def due(self, now: int, count: int = _TICKS_END) -> list[Key]:
        """The keys that came up, at most `count`, in order of their ticks; they are set no more.

        While there are more, `deadline` is past. What is set to a past time meanwhile comes after them.
        """
        self._advance(_last_tick(now))
        come: list[Key] = []
        ready, ticks, position = self._ready, self._ticks, self._position
        take, waiting = ticks.pop, len(ready)
        while ready and len(come) < count:
            key = ready.popleft()
            tick = take(key, _TICKS_END)
            if tick <= position:
                come.append(key)
            elif tick != _TICKS_END:
                ticks[key] = tick
        self._entries -= waiting - len(ready)
        return come

    def _place(self, key: Key, tick: int) -> None:
        """Put an entry where it belongs as of the position."""
        position = self._position
        if tick <= position:
            self._late.append(key)
            return
        index = _LEVEL[(tick ^ position).bit_length()]
        level = self._levels[index]
        number = tick >> _SHIFT[index]
        bucket = level.buckets.get(number)
        if bucket is None:
            level.buckets[number] = [key]
            heappush(level.order, number)
        else:
            bucket.append(key)

    def _advance(self, last: int) -> None:
        """Move the position to a tick, from bucket to bucket."""
        if self._late:
            late, self._late = self._late, []
            self._ready.extend(self._in_order(late))
        for shift, level in zip(_SHIFT, self._levels, strict=True):
            order = level.order
            while order and order[0] << shift <= last:
                number = order[0]
                bucket = level.pop_first()
                if shift:
                    self._position = min((number + 1 << shift) - 1, last)
                    self._spread(bucket, shift, number)
                else:
                    self._position = number
                    self._ready.extend(bucket)
        if self._position < last:
            self._position = last

    def _spread(self, bucket: list[Key], shift: int, number: int) -> None:
        """Hand over what is due of a wide bucket, and put the rest into narrower ones."""
        ticks, position = self._ticks, self._position
        self._ready.extend(self._in_order(bucket))
        if (number + 1 << shift) - 1 == position:
            return
        for key in bucket:
            tick = ticks.get(key, -1)
            if tick > position and tick >> shift == number:
                self._entries += 1
                self._place(key, tick)

    def _in_order(self, keys: list[Key]) -> list[Key]:
        """Those keys that are due, in order of their ticks; the others are no entries any more."""
        ticks, position = self._ticks, self._position
        found = [ticks.get(key, _TICKS_END) for key in keys]
        order = [at for at in sorted(range(len(found)), key=found.__getitem__) if found[at] <= position]
        self._entries -= len(keys) - len(order)
        return [keys[at] for at in order]

    def _has_ready(self) -> bool:
        """Whether something waits to be handed over; leftovers in front of it are dropped."""
        ready, late, ticks, position = self._ready, self._late, self._ticks, self._position
        while ready and ticks.get(ready[0], _TICKS_END) > position:
            ready.popleft()
            self._entries -= 1
        while late and ticks.get(late[-1], _TICKS_END) > position:
            late.pop()
            self._entries -= 1
        return bool(ready or late)

    def _sweep(self) -> None:
        """Make all entries anew, one a key."""
        self._levels = [_Level() for _ in range(_LEVELS)]
        self._ready, self._late = deque(), []
        self._entries = len(self._ticks)
        for key, tick in self._ticks.items():
            self._place(key, tick)

    def check(self) -> None:
        """Assert the invariants."""
        assert self._entries <= _LEFTOVERS_MIN + 2 * len(self._ticks) + 1
        entries = len(self._ready) + len(self._late)
        passed = {*self._ready, *self._late}
        found: set[Key] = {key for key in passed if self._ticks.get(key, _TICKS_END) <= self._position}
        for shift, level in zip(_SHIFT, self._levels, strict=True):
            assert sorted(level.order) == sorted(level.buckets)
            for number, bucket in level.buckets.items():
                assert number << shift > self._position
                assert number >> _DIGIT_BITS == self._position >> shift + _DIGIT_BITS
                entries += len(bucket)
                found.update(key for key in bucket if self._ticks.get(key, -1) >> shift == number)
        assert entries == self._entries
        assert found == self._ticks.keys(), "a key has no entry in the bucket of its tick"
