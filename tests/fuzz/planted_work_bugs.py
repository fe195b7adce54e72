"""Bugs of work queues, delays and dead letters that somebody might write, planted like those of `planted_bugs`."""

from collections.abc import Sequence

import pytest

from goqueue.core.delay.errands import Budget
from goqueue.core.delay.moving import Mover
from goqueue.core.delay.records import ControlRecord
from goqueue.core.delay.schedule import Schedule
from goqueue.core.partition import partition as partitions
from goqueue.core.records.batch import Lane
from goqueue.core.records.headers import Headers
from goqueue.core.work import shelf as shelves
from goqueue.core.work.chains import Chains
from goqueue.core.work.expiry import expiry
from goqueue.core.work.leases import Leases
from goqueue.core.work.proving import Answer
from goqueue.core.work.queue import WorkQueue
from goqueue.core.work.records import WORK_CODEC, Settled
from goqueue.core.work.shares import Shares
from goqueue.core.work.verbs import ReceiptRun
from goqueue.core.work.window import Run, Window
from goqueue.fuzz.options import Options
from tests.fuzz.planted_bugs import Bug


def worked() -> Options:
    """Worlds of workers who forget and change their minds, on a node that does not die."""
    return Options(
        workers=3, shared_groups=1, visibility_ms=200, attempts_max=3, p_stray=0.05, session_ms_max=2_000,
        partitions_max=2, p_topic_change=0.0, value_bytes_max=20, think_ns=30_000_000, consumers=0, steps=250,
    )  # fmt: skip


def worked_by_key() -> Options:
    """The same, and a group that goes by keys."""
    options = worked()
    options.shared_groups = 2
    return options


def worked_in_order() -> Options:
    """Workers who do nothing wrong but take their time."""
    options = worked()
    options.workers, options.p_stray, options.visibility_ms = 1, 0.0, 5_000
    return options


def worked_by_mortals() -> Options:
    """Workers of a node that crashes."""
    options = worked()
    options.p_crash = 0.03
    return options


def expiring() -> Options:
    """Workers who do nothing wrong, of messages that are not delivered for ever."""
    options = worked_in_order()
    options.p_ttl = 0.5
    return options


def worked_to_death() -> Options:
    """Workers of a node that crashes at every turn; whatever is not acknowledged at once is a dead letter."""
    options = worked()
    options.p_cut_inside, options.attempts_max, options.think_ns = 0.3, 1, 3_000_000
    options.topics, options.partitions_max, options.steps = 1, 1, 400
    return options


def piling_up() -> Options:
    """One worker, slower than those who send to it."""
    options = worked_in_order()
    options.shared_groups, options.producers, options.topics, options.partitions_max = 1, 4, 1, 1
    options.p_batch, options.think_ns, options.steps, options.in_flight_max = 0.0, 5_000_000, 1_500, 10
    options.lane_weights = "5/4/3/2/1"
    return options


def starving() -> Options:
    """The same, where a lane that waits for long goes first."""
    options = piling_up()
    options.lane_weights, options.starvation_ms = "50/25/15/7/1", 100
    return options


def delayed() -> Options:
    """Worlds of messages that come later."""
    return Options(
        p_delay=0.7, schedulers=1, p_topic_change=0.0, value_bytes_max=20, think_ns=30_000_000, consumers=1, steps=200,
    )  # fmt: skip


def delayed_by_mortals() -> Options:
    """The same on a node that crashes."""
    options = delayed()
    options.p_crash = 0.03
    return options


# --- leases


def acks_that_change_nothing(patch: pytest.MonkeyPatch) -> None:
    def ack(queue: WorkQueue, now: int, receipts: Sequence[ReceiptRun]) -> Answer:
        return queue._open(now, receipts)[0]

    patch.setattr(WorkQueue, "ack", ack)


def acks_that_are_not_kept(patch: pytest.MonkeyPatch) -> None:
    take = WorkQueue.take

    def forgetful(queue: WorkQueue) -> list[bytes]:
        return [content for content in take(queue) if not isinstance(WORK_CODEC.decode(content), Settled)]

    patch.setattr(WorkQueue, "take", forgetful)


def leases_that_end_early(patch: pytest.MonkeyPatch) -> None:
    add = Leases.add

    def hasty(leases: Leases, now: int, number: int, member: str, span_ms: int, runs: list[Run]) -> None:
        add(leases, now, number, member, span_ms // 3, runs)

    patch.setattr(Leases, "add", hasty)


def attempts_that_count_twice(patch: pytest.MonkeyPatch) -> None:
    fail = Window.fail

    def twice(window: Window, start: int, end: int) -> None:
        fail(window, start, end)
        fail(window, start, end)

    patch.setattr(Window, "fail", twice)


def attempts_that_are_not_counted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Window, "fail", lambda window, start, end: None)


def keys_that_do_not_wait(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Chains, "__contains__", lambda chains, key: False)


def the_last_first(patch: pytest.MonkeyPatch) -> None:
    """Of a run that is wanted only the end is, and what is before it is left for later."""
    wanted = WorkQueue.wanted

    def hasty(queue: WorkQueue, now: int, member: str, count: int) -> list[Run]:
        reach = queue.ledger.window.reach
        if not reach and not queue.settings.key_ordered:
            return [(1, count + 1)]
        return wanted(queue, now, member, count)

    patch.setattr(WorkQueue, "wanted", hasty)


# --- lanes


def lanes_that_share_alike(patch: pytest.MonkeyPatch) -> None:
    """Every lane has the same share, whatever the topic says."""
    set_up = Shares.__attrs_post_init__

    def alike(shares: Shares) -> None:
        shares.weights = (3,) * len(shares.weights)
        set_up(shares)

    patch.setattr(Shares, "__attrs_post_init__", alike)


def lanes_that_starve(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Shares, "_starving", lambda shares, now: [])


# --- messages that expire


def delivered_when_expired(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(shelves, "expiry", lambda headers: None)


def expired_too_early(patch: pytest.MonkeyPatch) -> None:
    """What is to last for a quarter of an hour is gone at once."""

    def hasty(headers: Headers) -> int | None:
        until_ms = expiry(headers)
        return None if until_ms is None else until_ms - 1_000_000

    patch.setattr(shelves, "expiry", hasty)


# --- dead letters


def rejected_and_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(WorkQueue, "reject", lambda queue, now, receipts, reason: queue.ack(now, receipts))


def letters_that_are_sent_again(patch: pytest.MonkeyPatch) -> None:
    """The target of a move does not look whether it has it."""
    patch.setattr(partitions, "judge", lambda producers, header, wall_ms=None: None)


# --- delays


def delays_that_are_rounded_down(patch: pytest.MonkeyPatch) -> None:
    write = Mover.write

    def hasty(mover: Mover, ripe_ms: int, budget: Budget) -> None:
        write(mover, ripe_ms // 1000 * 1000 + 999, budget)

    patch.setattr(Mover, "write", hasty)


def delays_that_take_long(patch: pytest.MonkeyPatch) -> None:
    """What is kept back is filed under a later time."""
    add = Schedule.add

    def late(schedule: Schedule, offset: int, due_ms: int, lane: Lane) -> None:
        add(schedule, offset, due_ms + 4_000, lane)

    patch.setattr(Schedule, "add", late)


def delays_that_are_lost(patch: pytest.MonkeyPatch) -> None:
    add = Schedule.add

    def forgetful(schedule: Schedule, offset: int, due_ms: int, lane: Lane) -> None:
        if offset % 3 != 1:
            add(schedule, offset, due_ms, lane)

    patch.setattr(Schedule, "add", forgetful)


def delays_that_come_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Schedule, "is_moved", lambda schedule, sequence: False)


def cancelled_and_yet_delivered(patch: pytest.MonkeyPatch) -> None:
    apply = Schedule.apply

    def deaf(schedule: Schedule, record: ControlRecord) -> None:
        if type(record).__name__ != "Cancelled":
            apply(schedule, record)

    patch.setattr(Schedule, "apply", deaf)


WORK_BUGS = (
    Bug("acks that change nothing", acks_that_change_nothing, worked, "the ledger does not say so"),
    Bug("acks that are not kept", acks_that_are_not_kept, worked_by_mortals, ""),
    Bug("leases that end early", leases_that_end_early, worked, "is given to somebody"),
    Bug("attempts that are not counted", attempts_that_are_not_counted, worked, "at least"),
    Bug("attempts that count twice", attempts_that_count_twice, worked, "as attempt"),
    Bug("delivered when expired", delivered_when_expired, expiring, "was to be given until"),
    Bug("expired too early", expired_too_early, expiring, "that it has expired"),
    Bug("lanes that share alike", lanes_that_share_alike, piling_up, "by weights of"),
    Bug("lanes that starve", lanes_that_starve, starving, "have starved"),
    Bug("keys that do not wait", keys_that_do_not_wait, worked_by_key, ""),
    Bug("the last first", the_last_first, worked_in_order, ""),
    Bug("rejected and forgotten", rejected_and_forgotten, worked, "neither acknowledged nor given up"),
    Bug("letters that are sent again", letters_that_are_sent_again, worked_to_death, "is a letter of"),
    Bug("delays that are rounded down", delays_that_are_rounded_down, delayed, "is due"),
    Bug("delays that take long", delays_that_take_long, delayed, "is not moved"),
    Bug("delays that are lost", delays_that_are_lost, delayed, "is not moved"),
    Bug("delays that come again", delays_that_come_again, delayed_by_mortals, ""),
    Bug("cancelled and yet delivered", cancelled_and_yet_delivered, delayed, ""),
)
