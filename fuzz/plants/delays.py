"""Bugs of `core/delays`: messages that come too early, too late, twice, never, or although they were cancelled."""

from crc32c import crc32c

from goqueue.core.broker import publishes
from goqueue.core.delays.calendar import Calendar
from goqueue.core.delays.errands import Budget
from goqueue.core.delays.moving import Mover
from goqueue.core.delays.records import ControlRecord
from goqueue.core.delays.schedule import Schedule
from goqueue.core.records.batch import (
    CRC,
    CRC_COVERS_FROM,
    CRC_POSITION,
    HEADER,
    NO_EPOCH,
    NO_PRODUCER,
    NO_SEQUENCE,
    Lane,
)
from goqueue.core.records.varint import Readable
from goqueue.core.requests.messages import Due
from goqueue.core.requests.refusals import Refusal
from goqueue.fuzz.plants import clusters, lone
from goqueue.fuzz.plants.plant import Plant, Replace


def _delays_that_are_rounded_down(replace: Replace) -> None:
    write = Mover.write

    def hasty(mover: Mover, ripe_ms: int, budget: Budget) -> None:
        write(mover, ripe_ms // 1000 * 1000 + 999, budget)

    replace(Mover, "write", hasty)


def _delays_that_take_long(replace: Replace) -> None:
    """What is kept back is filed under a later time."""
    add = Schedule.add

    def late(schedule: Schedule, offset: int, due_ms: int, lane: Lane) -> None:
        add(schedule, offset, due_ms + 4_000, lane)

    replace(Schedule, "add", late)


def _delays_that_are_lost(replace: Replace) -> None:
    add = Schedule.add

    def forgetful(schedule: Schedule, offset: int, due_ms: int, lane: Lane) -> None:
        if offset % 3 != 1:
            add(schedule, offset, due_ms, lane)

    replace(Schedule, "add", forgetful)


def _delays_that_come_again(replace: Replace) -> None:
    replace(Schedule, "is_moved", lambda schedule, sequence: False)


def _cancelled_and_yet_delivered(replace: Replace) -> None:
    apply = Schedule.apply

    def deaf(schedule: Schedule, record: ControlRecord) -> None:
        if type(record).__name__ != "Cancelled":
            apply(schedule, record)

    replace(Schedule, "apply", deaf)


def _cancelled_before_agreed(replace: Replace) -> None:
    """Whoever cancels is told so at once."""
    replace(Calendar, "_durable", property(lambda calendar: calendar._appended, lambda *_: None))
    replace(Calendar, "check", lambda *_: None)


def _delayed_without_numbers(replace: Replace) -> None:
    """The schedule forgets who has sent a batch, and takes it as often as it comes."""
    scheduled = vars(publishes)["scheduled"]

    def anonymous(wall_ms: int, batch: Readable, due: Due, bytes_max: int) -> bytearray | Refusal:
        content: bytearray | Refusal = scheduled(wall_ms, batch, due, bytes_max)
        if not isinstance(content, Refusal):
            header = [*HEADER.unpack_from(content)]
            header[9:12] = NO_PRODUCER, NO_EPOCH, NO_SEQUENCE
            HEADER.pack_into(content, 0, *header)
            CRC.pack_into(content, CRC_POSITION, crc32c(memoryview(content)[CRC_COVERS_FROM:]))
        return content

    replace(publishes, "scheduled", anonymous)


def _durable_in_an_earlier_term(replace: Replace) -> None:
    """What a leader knew to be durable counts when it leads again, and has a schedule that others wrote."""
    close = Calendar.close

    def hasty(calendar: Calendar, why: str) -> None:
        durable = calendar._durable
        close(calendar, why)
        calendar._durable = durable

    replace(Calendar, "close", hasty)
    replace(Calendar, "check", lambda *_: None)


PLANTS = (
    Plant(
        "delays-that-are-rounded-down",
        "No message comes before it is due.",
        _delays_that_are_rounded_down,
        worlds=lone.delayed,
        said="is due",
    ),
    Plant(
        "delays-that-take-long",
        "A message comes soon after it is due.",
        _delays_that_take_long,
        worlds=lone.delayed,
        said="is not moved",
    ),
    Plant(
        "delays-that-are-lost",
        "Every message that is due comes.",
        _delays_that_are_lost,
        worlds=lone.delayed,
        said="is not moved",
    ),
    Plant(
        "delays-that-come-again",
        "A delayed message comes once, also where a crash interrupts its move.",
        _delays_that_come_again,
        worlds=lone.delayed_by_mortals,
    ),
    Plant(
        "schedule-moved-twice",
        "A delayed message comes once, whichever node moves it.",
        _delays_that_come_again,
        nodes=3,
        worlds=clusters.delaying,
        within=5,
    ),
    Plant(
        "cancelled-and-yet-delivered",
        "A message that is cancelled does not come.",
        _cancelled_and_yet_delivered,
        worlds=lone.delayed,
    ),
    Plant(
        "cancelled-before-agreed",
        "Who is told that a message is cancelled is told what the next leader would know.",
        _cancelled_before_agreed,
        nodes=3,
        worlds=clusters.cancelling,
        within=10,
        finder="Schedules",
    ),
    Plant(
        "delayed-without-numbers",
        "A delayed message that is sent again comes once.",
        _delayed_without_numbers,
        nodes=3,
        worlds=lambda: clusters.sending_again(p_delay=0.8),
        within=5,
        tags=("lost_answer",),
    ),
    Plant(
        "schedule-durable-in-an-earlier-term",
        "Who is told that a message is cancelled is told what is durable in that term.",
        _durable_in_an_earlier_term,
        nodes=3,
        worlds=clusters.cancelling_again,
        within=10,
        seed=1,
        finder="Schedules",
        tags=("second_failover",),
    ),
)
"""All bugs of delayed messages."""
