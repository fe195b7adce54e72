"""The leader's end of a session: what one follower pulls, of all streams that it follows here.

Each stream that the follower has named is compared with the log here first. If the follower's is a beginning of it,
the stream is armed: as soon as there is more, or all are further than the follower has heard, it is ready, and the
pull that waits is answered. After batches or a verdict it is not armed until it is named again, so nothing is sent
twice in a session, and nothing that the follower could not take.

Batches come from memory where they are kept, unwritten ones too, and from the disk otherwise. All ready streams share
the bytes of an answer; those left out are the first in the next.

Invariants: what is ready is armed; while the disk is asked for one answer no other is begun.
"""

from collections import deque

from attrs import define, field

from goqueue.core.log.effects import Buffer, Read, ReadResult
from goqueue.core.log.errors import OffsetOutOfRange
from goqueue.core.partition.partition import Partition
from goqueue.core.partition.recent import RecentBatches
from goqueue.core.replication.messages import Pull, Pulled, PulledPart, PullPart, Verdict
from goqueue.core.replication.pulling import Place

_SHARE_BYTES_MIN = 64 << 10
# An answer that holds so much is not made to wait for the next segment to be read.
_ENOUGH_BYTES = 256 << 10
# How long the follower may not know that all are further, when nothing else is to be said.
_NEWS_DELAY_NS = 25_000_000
_WAIT_NS_MAX = 10_000_000_000
_WAITING_MAX = 2
# However much a follower asks for.
_ANSWER_BYTES_MAX = 16 << 20


@define(eq=False)
class Served:
    """One stream as a follower pulls it."""

    place: Place
    partition: Partition
    epoch: int
    # The end of what was sent, or is there already.
    offset: int
    stamp: int
    # The round in which the follower named it last.
    named: int
    # Whether the follower's log is a beginning of the leader's; if not, what it says of it counts for nothing.
    is_sound: bool = False
    is_armed: bool = False
    told_watermark: int = -1
    told_start: int = -1

    def is_later_about(self, partition: Partition, stamp: int) -> bool:
        """Whether what is known here of the follower's disk is of the same log, and was said after that stamp."""
        is_same = self.partition is partition and self.epoch == partition.leader_epoch
        return is_same and self.is_sound and self.stamp > stamp

    def part(self, verdict: Verdict) -> PulledPart:
        """The beginning of what is said of it."""
        return PulledPart(*self.place, self.epoch, self.named, verdict)


@define(eq=False)
class Serving:
    """A session with one follower."""

    follower: str
    incarnation: int
    session: int
    _recent: RecentBatches
    round: int = 0
    parts: dict[Place, Served] = field(factory=dict)
    # Pulls that are not answered, and until when each may wait.
    _pulls: deque[tuple[Pull, int]] = field(factory=deque)
    _ready: dict[Place, None] = field(factory=dict)
    _news: dict[Place, None] = field(factory=dict)
    _news_due: int = 0
    # Of the answer that is being put together.
    _answer: dict[Place, PulledPart] = field(factory=dict)
    _reading: dict[Place, None] = field(factory=dict)
    _bytes: int = 0
    # Parts that may be sent only as fast as replicas may catch up have to wait.
    held_until: int = 0

    # --- what the follower says

    def pulled(self, now: int, pull: Pull) -> None:
        """Take the next pull; what it names is given by `name` and `refuse`."""
        assert pull.round == self.round + 1
        assert len(self._pulls) < _WAITING_MAX
        self.round = pull.round
        self._pulls.append((pull, now + min(max(pull.wait_ns, 0), _WAIT_NS_MAX)))

    @property
    def can_take(self) -> bool:
        """Whether one more pull may wait."""
        return len(self._pulls) < _WAITING_MAX

    def refuse(self, named: PullPart) -> None:
        """A stream was named that is not led here, or not in this epoch."""
        place = named.topic_id, named.partition, named.side
        self.forget(place)
        self._answer[place] = PulledPart(*place, named.leader_epoch, self.round, Verdict.NOT_LED)

    def ask_again(self, served: Served) -> None:
        """Have the follower say anew how a stream is."""
        self.forget(served.place)
        self._answer[served.place] = served.part(Verdict.NOT_LED)

    def forget(self, place: Place) -> None:
        """A stream is pulled no more, or led here no more."""
        self.parts.pop(place, None)
        for marks in (self._ready, self._news, self._reading):
            marks.pop(place, None)
        self._answer.pop(place, None)

    def name(self, now: int, named: PullPart, partition: Partition, stamp: int) -> Served | None:
        """A stream is followed from here on as it is named; None if its log is not a beginning of the leader's."""
        place = named.topic_id, named.partition, named.side
        told = self.parts.get(place)
        self.forget(place)
        served = self.parts[place] = Served(place, partition, named.leader_epoch, named.offset, stamp, self.round)
        verdict = _compare(served, named.last_epoch)
        if told is not None and told.partition is partition:
            served.told_watermark, served.told_start = told.told_watermark, told.told_start
        if verdict is not None:
            self._answer[place] = verdict
            return None
        served.is_sound = served.is_armed = True
        self.appended(served)
        self.advanced(now, served)
        return served

    # --- what is to be sent

    def appended(self, served: Served) -> None:
        """A stream may have become longer."""
        if served.is_armed and served.partition.log.next_offset > served.offset and served.place not in self._reading:
            self._ready[served.place] = None

    def advanced(self, now: int, served: Served) -> None:
        """All may be further in a stream, or it may begin elsewhere."""
        partition = served.partition
        if not served.is_armed:
            return
        if partition.high_watermark != served.told_watermark or partition.log.start_offset != served.told_start:
            if not self._news:
                self._news_due = now + _NEWS_DELAY_NS
            self._news[served.place] = None

    def collect(self, now: int, allowance: int | None) -> list[tuple[Served, Read]]:
        """Gather what is ready for the pull that waits; answers what the disk is to be asked for.

        Of streams in which the follower is not in sync, at most `allowance` bytes are gathered.
        """
        reads: list[tuple[Served, Read]] = []
        if not self._pulls or self._reading or self._bytes >= _ENOUGH_BYTES:
            return reads
        budget = min(self._pulls[0][0].max_bytes, _ANSWER_BYTES_MAX) - self._bytes
        share = max(budget // max(len(self._ready), 1), _SHARE_BYTES_MIN)
        for place in list(self._ready):
            if budget <= 0:
                break
            served = self.parts[place]
            size_max = min(share, budget)
            if allowance is not None and not self._is_in_sync(served):
                if allowance <= 0:
                    continue
                size_max = min(size_max, max(allowance, _SHARE_BYTES_MIN))
            del self._ready[place]
            size, read = self._gather(served, size_max)
            if read is not None:
                self._reading[place] = None
                reads.append((served, read))
            budget -= size
            if allowance is not None and not self._is_in_sync(served):
                allowance -= size
        return reads

    def _is_in_sync(self, served: Served) -> bool:
        leadership = served.partition.leadership
        return leadership is not None and self.follower in leadership.isr

    def _gather(self, served: Served, size_max: int) -> tuple[int, Read | None]:
        """What follows of one stream: batches that are in memory go into the answer, others have to be read."""
        log = served.partition.log
        if served.offset >= log.start_offset:
            kept, next_offset = self._recent.batches(log.stream, served.offset, size_max, log.next_offset)
            if kept:
                return self._send(served, kept, next_offset), None
        try:
            read = log.read(served.offset, size_max)
        except OffsetOutOfRange:
            self._judge(served, _restart(served))
            return 0, None
        return (0, None) if read is None else (size_max, read)

    def _send(self, served: Served, runs: list[Buffer], next_offset: int) -> int:
        part = self._answer.get(served.place)
        if part is None:
            part = self._answer[served.place] = served.part(Verdict.GOES_ON)
        part.runs += runs
        served.offset = next_offset
        size = sum(map(len, runs))
        self._bytes += size
        return size

    def _judge(self, served: Served, part: PulledPart) -> None:
        """Say that a stream cannot go on; what was gathered of it is left out."""
        self._ready.pop(served.place, None)
        self._answer[served.place] = part

    def read_done(self, served: Served, read: Read, result: ReadResult | None) -> None:
        """The disk has answered, or cannot: then the stream is tried again when it is named again."""
        if self.parts.get(served.place) is not served or served.place not in self._reading:
            return
        del self._reading[served.place]
        log = served.partition.log
        if result is None:
            self._judge(served, served.part(Verdict.NOT_LED))
        elif log.incarnation != read.incarnation:
            self.appended(served)
        elif len(result.batches):
            log.read_done(read, result.next_offset, result.next_position)
            self._send(served, [result.batches], result.next_offset)
            self.appended(served)
        else:
            # Compaction left nothing here; go on behind the gap.
            served.offset = max(served.offset, result.next_offset)
            self.appended(served)

    # --- answers

    def answer(self, now: int) -> tuple[Pulled, int] | None:
        """The answer to the pull that waits and the bytes of batches in it; None while it waits on."""
        if not self._pulls or self._reading or not self._is_due(now):
            return None
        pull, _ = self._pulls.popleft()
        size = self._bytes
        for place in self._answer:
            if place in self.parts:
                self.parts[place].is_armed = False
                self._ready.pop(place, None)
        for place in self._news:
            if place not in self._answer:
                self._answer[place] = self.parts[place].part(Verdict.GOES_ON)
        parts = [*self._answer.values()]
        self._news.clear()
        self._answer = {}
        self._bytes = 0
        for part in parts:
            self._complete(part)
        return Pulled(self.session, pull.round, True, parts), size

    def slow_bytes(self, pulled: Pulled) -> int:
        """The bytes in an answer of streams in which the follower is not in sync."""
        size = 0
        for part in pulled.parts:
            served = self.parts.get((part.topic_id, part.partition, part.side)) if part.runs else None
            if served is not None and not self._is_in_sync(served):
                size += sum(map(len, part.runs))
        return size

    def _complete(self, part: PulledPart) -> None:
        served = self.parts.get((part.topic_id, part.partition, part.side))
        if served is None:
            return
        partition = served.partition
        part.high_watermark, part.start_offset = partition.high_watermark, partition.log.start_offset
        part.end_offset = partition.log.next_offset
        served.told_watermark, served.told_start = part.high_watermark, part.start_offset

    def _is_due(self, now: int) -> bool:
        if self._answer or len(self._pulls) > 1 or now >= self._pulls[0][1]:
            return True
        return bool(self._news) and now >= self._news_due

    def deadline(self) -> int | None:
        """When there is something to say, come what may."""
        if not self._pulls or self._reading:
            return None
        due = self._pulls[0][1]
        if self._news:
            due = min(due, self._news_due)
        if self._ready and self.held_until:
            due = min(due, self.held_until)
        return due

    def check(self) -> None:
        """Assert the invariants."""
        assert len(self._pulls) <= _WAITING_MAX
        assert all(self.parts[place].is_armed for place in [*self._ready, *self._news])
        assert all(place in self.parts for place in self._reading)


def _compare(served: Served, last_epoch: int) -> PulledPart | None:
    """Why a follower's log is not a beginning of the leader's; None when it is."""
    log = served.partition.log
    if served.offset < log.start_offset or (last_epoch < 0 and served.offset > log.next_offset):
        return _restart(served)
    if last_epoch < 0:
        return None
    found = log.epochs.end_offset(last_epoch, log.next_offset)
    if found is None:
        return _restart(served)
    epoch, end = found
    if epoch == last_epoch and served.offset <= end:
        return None
    part = served.part(Verdict.DIVERGED)
    part.epoch, part.at = epoch, end
    return part


def _restart(served: Served) -> PulledPart:
    """Let the follower begin at or before the batch that holds the start, as the segment here does."""
    log = served.partition.log
    part = served.part(Verdict.RESTART)
    part.at = min(log.segments[0].base, log.start_offset)
    return part
