"""When a key comes up, for very many keys: a hierarchical timing wheel with ticks of a millisecond.

It is asked like `Alarms`, and answers to the millisecond: a key comes up at the first tick at or after its time, so
never early and less than a tick late. Setting and dropping cost the same with one key as with millions. Not here: what
a key stands for, and calendar time.

Theory (after Varghese and Lauck, scheme 7). The position is the last tick that was drained. A key lies in a bucket of
the lowest level whose next wider bucket the position is in: buckets of level 0 are a millisecond wide, then a second, a
minute, seven weeks, and so on. Buckets are found by number, their ticks without the lower digits, so only those that
hold something exist, and a bucket's number goes through a heap once.

When the position enters a bucket of a second or a minute, it is sorted once, and that run is handed over as its ticks
come: timers are rarely so dense that a bucket a millisecond would hold more than one. What is set to a tick within that
bucket while it lasts goes to the level below, and is merged in where both have something due. When the position comes
to a wider bucket, its keys are spread over the level below.

What is due of a wide bucket as a whole is sorted and handed over, not spread: after a pause, or a start with a million
keys overdue, that is one sort a bucket.

Dropping and moving leave the old entry behind; what a key's own tick says decides whether an entry is one. Leftovers go
when their bucket comes up, or in a sweep when they are by far the larger part. The traps, and what keeps out of them:

    1 a key set to a tick that is past goes to `_late`, never into the bucket of a tick that was just drained
    2 whoever drops a key while its bucket is handed over by parts touches no bucket
    3 a key in a bucket that came up is due; nobody compares its time with the clock again
    4 the position jumps from bucket to bucket: empty ticks cost nothing, however many

Invariants: every key has an entry where its tick belongs. Buckets are past the position; `_ready` and `_late` are not.
Before `_quiet` nothing comes up. Entries are at most four times the keys, and a few.
"""

from bisect import bisect_left, bisect_right
from collections import deque
from heapq import heappop, heappush
from typing import Generic, TypeVar

from attrs import define, field

Key = TypeVar("Key")

TICK_NS = 1_000_000
# How far the ticks of a bucket are shifted, by level.
_SECOND, _MINUTE = 10, 16
_SHIFTS = (0, _SECOND, _MINUTE, 32, 48, 64)
_REACH = 1 << 16
_TICKS_END = 1 << 70
_LEFTOVERS_MIN = 64
_ENTRIES_A_KEY = 4


def _last_tick(now: int) -> int:
    assert now >= 0
    return now // TICK_NS


@define
class _Level(Generic[Key]):
    """The buckets of one width by their numbers; `order` is a heap of the numbers.

    `run` is the bucket that the position is in, where it was sorted: what is still to come of it begins at `run_at`.
    """

    shift: int
    buckets: dict[int, list[Key]] = field(factory=dict)
    order: list[int] = field(factory=list)
    run: list[Key] = field(factory=list)
    run_ticks: list[int] = field(factory=list)
    run_at: int = 0

    def pop_first(self) -> list[Key]:
        """Take out the bucket that comes first."""
        return self.buckets.pop(heappop(self.order))

    def start(self) -> int:
        """The first tick of the bucket that comes first."""
        return self.order[0] << self.shift if self.order else _TICKS_END

    def run_start(self) -> int:
        """The first tick of the run."""
        return self.run_ticks[self.run_at] if self.run_at < len(self.run) else _TICKS_END

    def due(self, last: int) -> list[Key]:
        """Take what has come by a tick out of the run."""
        begin = self.run_at
        end = self.run_at = bisect_right(self.run_ticks, last, begin)
        keys = self.run[begin:end]
        if end == len(self.run):
            self.run, self.run_ticks, self.run_at = [], [], 0
        return keys


@define
class Wheel(Generic[Key]):
    """A set of keys, each with the time at which it comes up; `now` is where the wheel begins."""

    # No converter: with one, attrs runs code of its own at every assignment to any field.
    _start: int = field(default=0, alias="now")
    _position: int = field(init=False)
    # Before the first nothing comes up, and before the other no bucket does.
    _quiet: int = field(default=_TICKS_END, init=False)
    _calm: int = field(default=_TICKS_END, init=False)
    _ticks: dict[Key, int] = field(factory=dict, init=False)
    _levels: list[_Level[Key]] = field(factory=lambda: [_Level(shift) for shift in _SHIFTS], init=False)
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
        if ticks.get(key) == tick:
            return
        ticks[key] = tick
        self._entries += 1
        # Nearly every key finds its bucket there, and is in the right place if it does.
        bucket = self._levels[2].buckets.get(tick >> _MINUTE)
        if bucket is not None:
            bucket.append(key)
        else:
            self._place(key, tick)
        if self._entries > _LEFTOVERS_MIN + _ENTRIES_A_KEY * len(ticks):
            self._sweep()

    def drop(self, key: Key) -> None:
        """Have `key` come up no more."""
        ticks = self._ticks
        if ticks.pop(key, None) is not None and self._entries > _LEFTOVERS_MIN + _ENTRIES_A_KEY * len(ticks):
            self._sweep()

    def deadline(self) -> int | None:
        """When to call `due` next: not after the first key comes up, maybe before, to sort or spread a bucket."""
        if (self._ready or self._late) and self._has_ready():
            return self._position * TICK_NS
        ticks, first = self._ticks, _TICKS_END
        for level in self._levels[1:3]:
            run, run_ticks = level.run, level.run_ticks
            while level.run_at < len(run) and ticks.get(run[level.run_at]) != run_ticks[level.run_at]:
                level.run_at += 1
                self._entries -= 1
            if level.run_at < len(run) and run_ticks[level.run_at] < first:
                first = run_ticks[level.run_at]
        if self._calm < first:
            first = self._first_bucket(first)
        return None if first == _TICKS_END else first * TICK_NS

    def _first_bucket(self, first: int) -> int:
        """The start of the first bucket that has anything, or a tick before it; leftovers on the way are dropped."""
        ticks = self._ticks
        for level in self._levels:
            while level.start() < first:
                number = level.order[0]
                bucket = level.buckets[number]
                while bucket and ticks.get(bucket[-1], -1) >> level.shift != number:
                    bucket.pop()
                    self._entries -= 1
                if bucket:
                    first = number << level.shift
                else:
                    level.pop_first()
        return first

    def due(self, now: int, count: int = _TICKS_END) -> list[Key]:
        """The keys that came up, at most `count`, in order of their ticks; they are set no more.

        While there are more, `deadline` is past. What is set to a past time meanwhile comes after them.
        """
        last = now // TICK_NS
        if last >= self._quiet:
            self._advance(last)
        come: list[Key] = []
        ready = self._ready
        if not ready:
            return come
        ticks, position = self._ticks, self._position
        take, waiting = ticks.pop, len(ready)
        while ready and len(come) < count:
            key = ready.popleft()
            tick = take(key, _TICKS_END)
            if tick <= position:
                come.append(key)
            elif tick != _TICKS_END:
                ticks[key] = tick
        self._entries -= waiting - len(ready)
        if self._entries > _LEFTOVERS_MIN + _ENTRIES_A_KEY * len(ticks):
            self._sweep()
        return come

    def _place(self, key: Key, tick: int) -> None:
        """Put an entry where it belongs as of the position."""
        position = self._position
        if tick <= position:
            self._late.append(key)
            self._quiet = 0
            return
        if tick >> _SECOND == position >> _SECOND:
            level = self._levels[0]
        elif tick >> _MINUTE == position >> _MINUTE:
            level = self._levels[1]
        else:
            level = next(each for each in self._levels[2:] if (tick - position) >> each.shift < _REACH)
        self._put(level, tick >> level.shift, key)

    def _put(self, level: _Level[Key], number: int, key: Key) -> None:
        bucket = level.buckets.get(number)
        if bucket is not None:
            bucket.append(key)
            return
        level.buckets[number] = [key]
        heappush(level.order, number)
        start = number << level.shift
        if start < self._calm:
            self._calm = start
            self._quiet = min(self._quiet, start)

    # --- moving

    def _advance(self, last: int) -> None:
        """Move the position to a tick, from bucket to bucket."""
        if self._late:
            late, self._late = self._late, []
            self._hand_over(late)
        while self._calm <= last:
            self._open(last)
        self._drain(last)

    def _drain(self, last: int) -> None:
        """Move the position to a tick before which no bucket begins, and hand over what is due of the runs."""
        if self._position < last:
            self._position = last
        seconds, minutes = self._levels[1], self._levels[2]
        keys, first = minutes.due(last), minutes.run_start()
        if seconds.run:
            self._hand_over(keys + seconds.due(last))
            first = min(first, seconds.run_start())
        else:
            self._ready.extend(keys)
        self._quiet = min(self._calm, first)

    def _open(self, last: int) -> None:
        """Move the position to the bucket that comes first, and hand it over, sort it or spread it."""
        start = min([level.start() for level in self._levels])
        if start <= last:
            self._drain(start - 1)
            above = max(at for at, level in enumerate(self._levels) if level.start() == start)
            level = self._levels[above]
            bucket, end = level.pop_first(), start + (1 << level.shift) - 1
            if end <= last and all(each.start() > end for each in self._levels[:above]):
                self._drain(end)
                self._hand_over(bucket)
            elif above <= 2:
                self._sort(level, bucket, start >> level.shift)
            else:
                self._spread(level, self._levels[above - 1], bucket, start >> level.shift)
        self._calm = min([level.start() for level in self._levels])

    def _sort(self, level: _Level[Key], bucket: list[Key], number: int) -> None:
        """Make a bucket the run of its level."""
        assert level.run_at == len(level.run)
        keys = self._sorted(bucket)
        ticks = [*map(self._ticks.__getitem__, keys)]
        begin, end = bisect_left(ticks, number << level.shift), bisect_left(ticks, number + 1 << level.shift)
        level.run, level.run_ticks, level.run_at = keys[begin:end], ticks[begin:end], 0
        self._entries -= len(bucket) - (end - begin)

    def _spread(self, level: _Level[Key], below: _Level[Key], bucket: list[Key], number: int) -> None:
        """Put the keys of a wide bucket into narrower ones."""
        ticks, shift, kept = self._ticks, level.shift, 0
        for key in bucket:
            tick = ticks.get(key, -1)
            if tick >> shift == number:
                self._put(below, tick >> below.shift, key)
                kept += 1
        self._entries -= len(bucket) - kept

    def _hand_over(self, keys: list[Key]) -> None:
        """Let those keys that are due be ready, in order of their ticks; the others are no entries any more."""
        found = self._sorted(keys)
        ticks = self._ticks
        while found and ticks[found[-1]] > self._position:
            found.pop()
        self._entries -= len(keys) - len(found)
        self._ready.extend(found)

    def _sorted(self, keys: list[Key]) -> list[Key]:
        """Those keys that are set, in order of their ticks, each as often as it is there."""
        ticks = self._ticks
        try:
            return sorted(keys, key=ticks.__getitem__)
        except KeyError:
            return sorted([key for key in keys if key in ticks], key=ticks.__getitem__)

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
        self._levels = [_Level(shift) for shift in _SHIFTS]
        self._calm = self._quiet = _TICKS_END
        self._ready, self._late = deque(), []
        self._entries = len(self._ticks)
        for key, tick in self._ticks.items():
            self._place(key, tick)

    def check(self) -> None:
        """Assert the invariants."""
        ticks, position = self._ticks, self._position
        assert self._entries <= _LEFTOVERS_MIN + _ENTRIES_A_KEY * len(ticks) + 1
        passed = [*self._ready, *self._late]
        entries = len(passed)
        found: set[Key] = {key for key in passed if ticks.get(key, _TICKS_END) <= position}
        for level in self._levels:
            assert sorted(level.order) == sorted(level.buckets)
            entries += sum(map(len, level.buckets.values())) + len(level.run) - level.run_at
            for number, bucket in level.buckets.items():
                assert number << level.shift > position
                found.update(key for key in bucket if ticks.get(key, -1) >> level.shift == number)
            for key, tick in [*zip(level.run, level.run_ticks, strict=True)][level.run_at :]:
                assert tick > position
                assert tick >> level.shift == position >> level.shift
                found.update([key] if ticks.get(key) == tick else [])
            assert self._calm <= level.start()
            assert self._quiet <= min(level.start(), level.run_start())
        assert entries == self._entries
        assert found == ticks.keys(), "a key has no entry where its tick belongs"
