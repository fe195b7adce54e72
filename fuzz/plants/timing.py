"""Bugs about when something is done, and about what goes with a message: lanes, times to live, floors that are told."""

from collections.abc import Sequence

from goqueue.core.broker.reads import Reads
from goqueue.core.delays import moving
from goqueue.core.delays.records import ControlRecord, Rescheduled
from goqueue.core.delays.schedule import Schedule
from goqueue.core.log.config import TIME_MS_MAX
from goqueue.core.log.effects import FindTime
from goqueue.core.log.log import Log
from goqueue.core.partition.partition import Partition
from goqueue.core.queues.proving import Answer
from goqueue.core.queues.queue import WorkQueue
from goqueue.core.queues.reader import QueueReader
from goqueue.core.records.batch import Lane
from goqueue.core.requests.queues import ReceiptRun
from goqueue.fuzz.options import Options
from goqueue.fuzz.plants import lone
from goqueue.fuzz.plants.plant import Plant, Replace


def _synced_by_interval() -> Options:
    """Worlds in which much is written to topics that are synced by an interval."""
    return Options(fsyncs=("interval",), p_topic_change=0.0, think_ns=300_000, value_bytes_max=50)


def _followed_by_many() -> Options:
    """Worlds in which many wait for the next message of one partition."""
    options = lone.quiet()
    options.topics, options.partitions_max, options.consumers, options.think_ns = 1, 1, 4, 3_000_000
    options.wait_ns_max = 100_000_000
    return options


def _put_off_and_expiring() -> Options:
    """Worlds in which messages are put off that are not to be delivered for ever."""
    options = lone.delayed()
    options.p_ttl = 0.5
    return options


def _looked_after() -> Options:
    """Workers, and somebody who asks how far they are."""
    options = lone.worked()
    options.undertakers, options.think_ns = 3, 10_000_000
    return options


# --- logs and reads


def _syncs_that_are_put_off(replace: Replace) -> None:
    """Whatever is appended begins the interval anew."""
    ask_sync = Log._ask_sync

    def lazy(log: Log, now: int) -> None:
        if log.next_offset > log._sync_asked_offset:
            log._sync_due = 1 << 63
        ask_sync(log, now)

    replace(Log, "_ask_sync", lazy)


def _one_of_many_is_woken(replace: Replace) -> None:
    def news(reads: Reads, now: int, partition: Partition) -> None:
        for waiting in list(reads._by_stream.get(partition.log.stream, {}).values())[:1]:
            if waiting.fetch.offset < partition.high_watermark:
                reads._leave(waiting)
                reads._try_fetch(now, waiting)

    replace(Reads, "news", news)


def _look_ups_that_begin_late(replace: Replace) -> None:
    """What is of the time that was asked for, or of a few moments after, is passed over."""
    find_time = Log.find_time

    def late(log: Log, timestamp: int, latest_ms: int = TIME_MS_MAX) -> FindTime | None:
        return find_time(log, timestamp + 20 if timestamp else 0, latest_ms)

    replace(Log, "find_time", late)


# --- work and delays


def _tried_again_at_once(replace: Replace) -> None:
    nack = WorkQueue.nack

    def hasty(queue: WorkQueue, now: int, receipts: Sequence[ReceiptRun], delay_ms: int | None = None) -> Answer:
        return nack(queue, now, receipts, 0)

    replace(WorkQueue, "nack", hasty)


def _told_ahead_of_the_disk(replace: Replace) -> None:
    """A group is told that it has come as far as memory says."""
    written = QueueReader.written

    def hasty(reader: QueueReader) -> None:
        written(reader)
        reader.floor = reader.queue.floor

    replace(QueueReader, "written", hasty)


def _lanes_lost_when_put_off(replace: Replace) -> None:
    apply = Schedule.apply

    def careless(schedule: Schedule, record: ControlRecord) -> None:
        if isinstance(record, Rescheduled) and record.offset in schedule:
            schedule._remove(record.offset)
            schedule.add(record.offset, record.due_ms, Lane.NORMAL)
        else:
            apply(schedule, record)

    replace(Schedule, "apply", careless)


def _expiring_as_before(replace: Replace) -> None:
    """What was put off expires as if it had not been."""
    replace(moving, "shifted", lambda headers, span_ms: headers)


PLANTS: tuple[Plant, ...] = (
    Plant(
        "syncs-that-are-put-off",
        "What is appended to a topic with an interval is synced within it.",
        _syncs_that_are_put_off,
        worlds=_synced_by_interval,
        said="is asked to be synced up to",
    ),
    Plant(
        "one-of-many-is-woken",
        "Whoever waits for a message gets it when it is there.",
        _one_of_many_is_woken,
        worlds=_followed_by_many,
        said="waits over two turns",
    ),
    Plant(
        "look-ups-that-begin-late",
        "A look-up by time finds the first message of that time or later.",
        _look_ups_that_begin_late,
        worlds=_followed_by_many,
        said="is said to be at",
    ),
    Plant(
        "tried-again-at-once",
        "A message that is to be tried again later is not given before.",
        _tried_again_at_once,
        worlds=lone.worked,
        said="was to wait until",
    ),
    Plant(
        "told-ahead-of-the-disk",
        "What is told of a group's progress is in its agreed ledger.",
        _told_ahead_of_the_disk,
        worlds=_looked_after,
        said="is not settled in the ledger",
    ),
    Plant(
        "lanes-lost-when-put-off",
        "A message keeps its lane, whatever becomes of it.",
        _lanes_lost_when_put_off,
        worlds=lone.delayed,
        said="was sent in lane",
    ),
    Plant(
        "expiring-as-before",
        "A message that is put off lives as long after its time as it was to.",
        _expiring_as_before,
        worlds=_put_off_and_expiring,
        said="and to live for",
    ),
)
"""These bugs."""
