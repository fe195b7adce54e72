"""One partition, or one side of it: its log, the publishes that wait to be durable, and how far readers may see.

Single messages that come within a turn become one batch, so that a thousand small publishes cost one write and one
sync. Readers see only what is acknowledged: the high watermark follows what the disk has confirmed, as the topic's
fsync mode demands. Where the partition has replicas, it also follows what those in sync have confirmed, and batches
bear the leader's epoch (`leadership.py`). Without a leadership the node is alone with the partition.

What a leader finds at the end of its log when its term begins may or may not have been acknowledged by the one before.
So nobody is shown how far it is until all in sync have that, which makes it acknowledged: from then on the high
watermark is at least what it ever was.

A disk that lost what was written in an epoch ends the leader's work in that epoch: followers may have what was lost,
and other batches at the same offsets would bear the same epoch, which nobody could tell apart.

A batch that an idempotent producer sends again is answered as the first one was, and no earlier: with its offset, once
that is acknowledged. Who asks for no acknowledgement is answered when the message is taken, with no offset, which a
crash might give to another message. Fetches that wait for news are in `core/broker/reads.py`.

Invariants: every publish is answered once, in the order of offsets; while sound, the high watermark never goes back.
"""

from collections import deque
from collections.abc import Sequence

from goqueue.core.errors import BatchError
from goqueue.core.log.config import Validation
from goqueue.core.log.effects import Effect, Read, SyncToken
from goqueue.core.log.errors import OffsetOutOfRange
from goqueue.core.log.log import Log, LogState, LogUnsound
from goqueue.core.log.producers import OWN_IDS, Produced
from goqueue.core.partition.admission import Admission, Incoming, Unfinished
from goqueue.core.partition.history import History
from goqueue.core.partition.lanes import LaneIndex
from goqueue.core.partition.leadership import FollowerEnd, Leadership
from goqueue.core.partition.producers import Repeated, Verdict, judge
from goqueue.core.partition.publishing import (
    ANY_TIME,
    Echo,
    Gathering,
    Publishing,
    Share,
    Times,
    Unacknowledged,
    acknowledge_below,
    enqueue,
    entries_of,
    problem,
    refusal_of,
    take_expired,
)
from goqueue.core.partition.recent import RecentBatches
from goqueue.core.records.batch import NO_TIMESTAMP, Header, Lane, Writable, locate, read_header, validate_exact
from goqueue.core.records.build import BatchBuilder, Entry
from goqueue.core.requests.messages import NO_OFFSET, Fetch, Fetched, NewRecord, Published, Side
from goqueue.core.requests.refusals import Code, Refusal

# Messages of other sides are read again one by one, from among all in their batch: as `delay.publishing` has it.
_SIDE_BATCH_BYTES = 64 << 10


class Partition:
    """The leader's side of one partition."""

    def __init__(self, topic: str, number: int, log: Log, recent: RecentBatches, side: Side = Side.DATA) -> None:
        self.topic = topic
        self.number = number
        self.side = side
        self.log = log
        self._recent = recent
        self.high_watermark = log.next_offset
        self.taken_offset = log.next_offset
        self.written_offset = log.next_offset
        # None while the node is alone with the partition; how far each follower is, who counts or not.
        self.leadership: Leadership | None = None
        self.ends: dict[str, FollowerEnd] = {}
        self.leader_epoch = max(log.epochs.latest, 0)
        self._settled_offset = 0
        # Where the log ended when its disk failed in this term, and whether it came back shorter.
        self.failed_offset: int | None = None
        self.has_lost = False
        self.done: list[Publishing] = []
        # Where what is appended is noted by lane, if somebody delivers by lanes.
        self.lanes: LaneIndex | None = None
        self.history = History()
        self.admission = Admission()
        self._gathering: dict[Lane, Gathering] = {}
        self._unacknowledged: deque[Unacknowledged] = deque()
        # Those who want no more than the leader, where there are others.
        self._hasty: deque[Unacknowledged] = deque()

    # --- publishing

    def gather(
        self, now: int, wall_ms: int, publishing: Publishing, records: Sequence[NewRecord], places: list[int]
    ) -> None:
        """Take the messages at `places` of a publish into the batches of this turn."""
        refusal = None if self.leadership is None else self._barrier(publishing)
        if refusal is not None:
            for at in places:
                self._answer(publishing, at, refusal)
            return
        lane = records[places[0]].lane
        if all(records[at].lane is lane for at in places):
            self._gather_lane(now, wall_ms, lane, publishing, records, places)
            return
        for one in dict.fromkeys(records[at].lane for at in places):
            of_lane = [at for at in places if records[at].lane is one]
            self._gather_lane(now, wall_ms, one, publishing, records, of_lane)

    def _gather_lane(
        self,
        now: int,
        wall_ms: int,
        lane: Lane,
        publishing: Publishing,
        records: Sequence[NewRecord],
        places: list[int],
    ) -> None:
        gathering = self._gathering.get(lane)
        if gathering is None:
            gathering = self._begin(lane, wall_ms)
        is_client = self.side is Side.DATA and not publishing.call.is_own
        times = Times.of(self.log.config, wall_ms) if is_client else ANY_TIME
        entries, size, untimely = entries_of(records, places, wall_ms, times)
        if untimely:
            records, places, refused = self.admission.sift(self.log.config, wall_ms, records, places, untimely)
            for at, refusal in refused.items():
                self._answer(publishing, at, refusal)
            if places:
                self._gather_lane(now, wall_ms, lane, publishing, records, places)
            return
        if not gathering.has_room(len(places), size, self._gather_bytes):
            if len(places) > 1 and self.side is not Side.DATA:
                # Several batches: all but the messages at their ends go in by the hundred.
                half = len(places) // 2
                self._gather_lane(now, wall_ms, lane, publishing, records, places[:half])
                self._gather_lane(now, wall_ms, lane, publishing, records, places[half:])
                return
            self._gather_singly(now, wall_ms, lane, publishing, entries, places)
            return
        begin = gathering.builder.count
        try:
            gathering.builder.extend(entries)
        except BatchError:
            # One of them cannot be written; the others have done nothing wrong.
            self._gather_singly(now, wall_ms, lane, publishing, entries, places)
        else:
            self._gathered(gathering, Share(publishing, places, begin), entries)

    def _begin(self, lane: Lane, wall_ms: int) -> Gathering:
        """A batch of messages that are kept back says when they were published, as their timestamps do not."""
        base_timestamp = wall_ms if self.side is Side.SCHEDULE else None
        gathering = self._gathering[lane] = Gathering(BatchBuilder(base_timestamp=base_timestamp))
        return gathering

    @property
    def _gather_bytes(self) -> int:
        bytes_max = self.log.config.batch_bytes_max
        return bytes_max if self.side is Side.DATA else min(bytes_max, _SIDE_BATCH_BYTES)

    def _gather_singly(
        self, now: int, wall_ms: int, lane: Lane, publishing: Publishing, entries: list[Entry], places: list[int]
    ) -> None:
        for at, entry in zip(places, entries, strict=True):
            gathering = self._gathering.get(lane)
            if gathering is not None and not gathering.fits(entry, self._gather_bytes):
                self._write_lane(now, lane)
                gathering = None
            if gathering is None:
                gathering = self._begin(lane, wall_ms)
            try:
                gathering.builder.add(*entry)
            except BatchError as error:
                self._answer(publishing, at, refusal_of(error))
            else:
                self._gathered(gathering, Share(publishing, [at], gathering.builder.count - 1), [entry])

    def _gathered(self, gathering: Gathering, share: Share, entries: list[Entry]) -> None:
        if share.publishing.awaits:
            gathering.shares.append(share)
            return
        for at, entry in zip(share.places, entries, strict=True):
            self._answer(share.publishing, at, Published(self.number, NO_OFFSET, entry[0]))

    def publish_batch(self, now: int, batch: bytearray | memoryview, publishing: Publishing) -> None:
        """Take over a client's batch, or one of the node's own."""
        waiting, validation = self.admission.waiting, self.log.config.validation
        is_plain = not waiting and validation is Validation.HEADERS
        incoming = None if is_plain else Incoming(batch, publishing, validation)
        if waiting or not self._take_in(now, batch, publishing, incoming):
            waiting.append(incoming or Incoming(batch, publishing, validation))

    def go_on(self, now: int) -> None:
        """Go on with the batches that are being checked, in a turn that begins."""
        waiting = self.admission.waiting
        self.admission.renew()
        while waiting and self._take_in(now, waiting[0].batch, waiting[0].publishing, waiting[0]):
            waiting.popleft()

    def _take_in(self, now: int, batch: Writable, publishing: Publishing, incoming: Incoming | None) -> bool:
        """Append a batch or refuse it; False while it is being checked."""
        try:
            header, is_client = locate(batch), not publishing.call.is_own
            verdict = self._judge(now, header, publishing, is_client)
            if verdict is None:
                if is_client:
                    header = self.admission.admit(self.log.config, self.log.clock.wall_ms(now), batch, incoming, header)
                verdict = self._append(now, header, batch)
            else:
                # No answer may rest on a header that changed on its way.
                validate_exact(batch)
        except Unfinished:
            return False
        except (BatchError, LogUnsound) as error:
            verdict = refusal_of(error)
        if isinstance(verdict, Refusal):
            self._answer(publishing, 0, verdict)
        elif isinstance(verdict, Repeated):
            self._await_acknowledgement(
                now, verdict.end, verdict.end, NO_TIMESTAMP, [Echo(publishing, [0], 0, verdict.refusal)]
            )
        elif publishing.awaits:
            ends = verdict.first_offset, verdict.next_offset
            self._await_acknowledgement(now, *ends, verdict.timestamp, [Share(publishing, [0], 0)])
        else:
            self._answer(publishing, 0, Published(self.number, NO_OFFSET, verdict.timestamp))
        return True

    def _judge(self, now: int, header: Header, publishing: Publishing, is_client: bool) -> Verdict:
        """What a batch's header alone says: it is refused, it was taken before, or None."""
        wrong = problem(header) if is_client else ""
        if wrong:
            return Refusal(Code.INVALID, wrong, "batch")
        barrier = None if self.leadership is None else self._barrier(publishing)
        if barrier is not None:
            return barrier
        if not header.has_producer or header.producer_id in OWN_IDS:
            return None
        # What was taken before a disk failed may be lost, so nothing can be said of it.
        self.log.refuse_if_unsound()
        return judge(self.log.producers, header, self.log.clock.wall_ms(now))

    def _barrier(self, publishing: Publishing) -> Refusal | None:
        """Why a leader takes nothing at the moment, or not what is to be on all replicas."""
        assert self.leadership is not None
        if self.has_lost:
            message = f"partition {self.number} of {self.topic} has lost its disk and waits for another leader"
            return Refusal(Code.UNAVAILABLE, message, retry_after_ms=500)
        if publishing.awaits and publishing.needs_all and self.leadership.is_short:
            return self.leadership.shortage(self.topic, self.number)
        return None

    def _append(self, now: int, header: Header, batch: bytearray | memoryview) -> Produced:
        self._write_gathered(now)
        offset = self._enter(now, batch)
        return Produced(0, header.last_offset_delta, offset, header.max_timestamp)

    def _enter(self, now: int, batch: bytearray | memoryview) -> int:
        offset = self.log.append(now, batch, self.leader_epoch)
        self._recent.add(self.log.stream, offset, self.log.next_offset, batch)
        if self.lanes is not None:
            self.lanes.add_batches(batch, now)
        return offset

    def take(self, now: int) -> list[Effect]:
        """Everything to be done on the disk."""
        self._write_gathered(now)
        if now >= self.history.due and self.log.next_offset > self.taken_offset:
            self.history.note(now, self.taken_offset, self.log.start_offset)
        self.taken_offset = self.log.next_offset
        if not self.admission.waiting:
            self.admission.renew()
        return self.log.take(now)

    def roll(self, now: int) -> None:
        """Have the next batch begin a segment. Raises LogUnsound."""
        self._write_gathered(now)
        self.log.roll(now)

    def close(self, now: int) -> None:
        """Leave everything so that the next start needs to read nothing back; `take` what that means."""
        self._write_gathered(now)
        self.log.close(now)

    def _write_gathered(self, now: int) -> None:
        for lane in list(self._gathering):
            self._write_lane(now, lane)

    def _write_lane(self, now: int, lane: Lane) -> None:
        gathering = self._gathering.pop(lane)
        if not gathering.builder.count:
            return
        try:
            batch = gathering.builder.build(lane=lane)
            offset = self._enter(now, batch)
        except (BatchError, LogUnsound) as error:
            self._refuse(gathering.shares, refusal_of(error))
            return
        if gathering.shares:
            timestamp = read_header(batch).max_timestamp
            self._await_acknowledgement(now, offset, self.log.next_offset, timestamp, gathering.shares)

    def _await_acknowledgement(self, now: int, offset: int, end: int, timestamp: int, shares: list[Share]) -> None:
        """Answer when all below `end` is acknowledged; that may be so already."""
        hasty = [] if self.leadership is None else [share for share in shares if not share.publishing.needs_all]
        if hasty:
            shares = [share for share in shares if share.publishing.needs_all]
            enqueue(self._hasty, Unacknowledged(offset, end, timestamp, hasty, now))
        if shares:
            enqueue(self._unacknowledged, Unacknowledged(offset, end, timestamp, shares, now))
        if hasty or end <= self.high_watermark:
            self.acknowledge()

    def _refuse(self, shares: list[Share], refusal: Refusal) -> None:
        for share in shares:
            for at in share.places:
                self._answer(share.publishing, at, refusal)

    def _answer(self, publishing: Publishing, at: int, result: Published | Refusal) -> None:
        if publishing.answer(at, result):
            self.done.append(publishing)

    # --- what the disk says

    def written(self) -> None:
        """All that was taken is in the hands of the operating system."""
        self.written_offset = self.taken_offset
        self.acknowledge()

    def synced(self, now: int, token: SyncToken) -> None:
        """The disk kept a promise."""
        self.log.synced(now, token)
        self.acknowledge()

    @property
    def kept_offset(self) -> int:
        """The end of what is as durable here as the topic says."""
        # What was appended since the last `take` is still in memory, whatever the fsync mode says.
        return min(self.log.acknowledged_offset, self.written_offset)

    def acknowledge(self) -> None:
        """Answer whoever waits for what is durable here, and on others where there are any."""
        if self.log.unsound is not None or self.has_lost:
            return
        held = kept = self.kept_offset
        if self.leadership is not None:
            held = self.leadership.held(self.ends, kept)
            self.done += acknowledge_below(self._hasty, kept, self.number)
            self.log.held_from = max(held, self.high_watermark)
        if held > self.high_watermark:
            self.high_watermark = held
        self.done += acknowledge_below(self._unacknowledged, self.high_watermark, self.number)

    def disk_failed(self, now: int, why: str) -> None:
        """What was not acknowledged may or may not be there; whoever waits for it is told so."""
        if self.leadership is not None:
            self.failed_offset = max(self.log.next_offset, self.failed_offset or 0)
        self.log.disk_failed(now, why)
        self._recent.forget(self.log.stream)
        message = f"partition {self.number} of {self.topic} has lost its disk, and perhaps this with it: {why}"
        self._refuse_waiting(Refusal(Code.OUTCOME_UNKNOWN, message, retry_after_ms=1000))

    def abandon(self, refusal: Refusal) -> list[Publishing]:
        """Refuse every publish that waits, since nothing is taken here any more; those that are complete with it.

        What was gathered and not appended is in no log. What was appended may be on other replicas, and may stay
        there, unless the topic itself is gone.
        """
        for publishing in self.admission.abandon():
            self._answer(publishing, 0, refusal)
        gathered = [share for gathering in self._gathering.values() for share in gathering.shares]
        self._gathering.clear()
        self._recent.forget(self.log.stream)
        self._refuse(gathered, refusal)
        if refusal.code is not Code.TOPIC_NOT_FOUND:
            message = f"{refusal.message}; what was appended before that may or may not be stored"
            refusal = Refusal(Code.OUTCOME_UNKNOWN, message, retry_after_ms=refusal.retry_after_ms)
        self._refuse_waiting(refusal)
        done, self.done = self.done, []
        return done

    def _refuse_waiting(self, refusal: Refusal) -> None:
        for waiting in (self._hasty, self._unacknowledged):
            while waiting:
                self._refuse(waiting.popleft().shares, refusal)

    def recovery_failed(self, why: str) -> None:
        """What a failed disk left cannot be taken up again yet, or ever: that is the reason from here on."""
        assert self.log.unsound is not None
        self.log.unsound = why

    def reopened(self, now: int, state: LogState) -> None:
        """Go on from what recovery found."""
        self.log.reopened(now, state)
        self._recent.forget(self.log.stream)
        self.history.cut(self.log.next_offset)
        self.taken_offset = self.written_offset = self.log.next_offset
        if self.leadership is None:
            self.high_watermark, self.leader_epoch = self.log.next_offset, max(self.log.epochs.latest, 0)
            return
        # What was lost once is lost for this epoch, also where the disk fails again and has nothing more to lose.
        if self.failed_offset is not None and self.log.next_offset < self.failed_offset:
            self.has_lost = True
        self.failed_offset = None
        self._settled_offset = self.log.next_offset
        self.high_watermark = min(self.high_watermark, self.log.next_offset)
        self.acknowledge()

    # --- replicas

    def lead(self, leadership: Leadership) -> None:
        """Begin a term, or go on in one of which something else is agreed on."""
        assert leadership.epoch >= self.leader_epoch
        if self.leadership is None or leadership.epoch > self.leader_epoch:
            self.ends, self._settled_offset = {}, self.log.next_offset
        if self.leadership is not None and leadership.epoch > self.leader_epoch:
            self.failed_offset, self.has_lost = self.log.next_offset if self.log.unsound is not None else None, False
        self.leadership, self.leader_epoch = leadership, leadership.epoch
        self.acknowledge()

    @property
    def is_settled(self) -> bool:
        """Whether all that the leaders before acknowledged is known to be acknowledged."""
        return self.leadership is None or (not self.has_lost and self.high_watermark >= self._settled_offset)

    @property
    def has_failed(self) -> bool:
        """Whether the disk failed in this term and has not come back with all that it had."""
        return self.has_lost or self.failed_offset is not None

    def is_caught_up(self, follower: str) -> bool:
        """Whether a follower has all that a replica in sync must have."""
        end = self.ends.get(follower)
        return end is not None and end.kept >= max(self.high_watermark, self._settled_offset)

    def expire(self, now: int, wait_ns: int) -> int | None:
        """Tell clients that have waited for replicas for so long; answers when to look again."""
        assert self.leadership is not None
        message = (
            f"partition {self.number} of {self.topic} has stored this, but not all replicas in sync have confirmed it"
            f" within {wait_ns // 1_000_000} ms: it may yet be confirmed, or be lost with its leader"
        )
        expired, due = take_expired(self._unacknowledged, now - wait_ns)
        self._refuse(expired, Refusal(Code.OUTCOME_UNKNOWN, message))
        return None if due is None else due + wait_ns

    @property
    def waits_since(self) -> int | None:
        """Since when the first of those has waited who want all replicas; None when there is nobody."""
        return self._unacknowledged[0].since if self._unacknowledged else None

    # --- reading

    def read(self, fetch: Fetch) -> Fetched | Read | Refusal | None:
        """The answer to a fetch, or the read that finds it; None when there is nothing yet."""
        log, offset = self.log, fetch.offset
        if not self.is_settled:
            return None
        if log.start_offset <= offset < self.high_watermark and not fetch.from_disk:
            kept = self._recent.read(log.stream, offset, fetch.max_bytes, self.high_watermark)
            if kept is not None:
                return Fetched(*kept, self.high_watermark, log.start_offset)
        try:
            read = self.log.read(fetch.offset, fetch.max_bytes, self.high_watermark)
        except OffsetOutOfRange as error:
            return Refusal(Code.OFFSET_OUT_OF_RANGE, str(error), "offset")
        return self.withheld(offset) if read is None else read

    def withheld(self, offset: int) -> Refusal | None:
        """Why acknowledged records at `offset` or behind it cannot be read; None where that is not so.

        Of what was acknowledged before it was synced, a disk that failed may have anything or nothing.
        """
        log = self.log
        if log.unsound is None or max(offset, log.synced_offset) >= self.high_watermark:
            return None
        message = f"partition {self.number} of {self.topic} cannot be read from offset {log.synced_offset} on"
        return Refusal(Code.UNAVAILABLE, f"{message}: {log.unsound}", retry_after_ms=1000)

    def nothing(self, offset: int) -> Fetched | Refusal:
        """The answer to a fetch whose time is up."""
        if not self.is_settled:
            message = (
                f"partition {self.number} of {self.topic} has a new leader that is not sure yet of how far it goes"
            )
            return Refusal(Code.UNAVAILABLE, message, retry_after_ms=100)
        return Fetched(b"", offset, self.high_watermark, self.log.start_offset)

    def check(self) -> None:
        """Assert the invariants."""
        self.log.check()
        self.history.check()
        assert self.high_watermark <= self.log.next_offset or self.log.unsound is not None
        for waiting in (self._hasty, self._unacknowledged):
            ends = [one.next_offset for one in waiting]
            assert ends == sorted(ends)
        if self.leadership is not None:
            self.leadership.check()
            assert self.leadership.epoch == self.leader_epoch >= self.log.epochs.latest
