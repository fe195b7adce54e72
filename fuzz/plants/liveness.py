"""Bugs by which something stands still: nothing is lost, and nothing wrong is told, but somebody waits for ever.

Each is found by what looks whether a world goes on: the counts and the patience of `watchdog.py`, the bounds of
`progress.py`, or the wait for rest after the last fault.
"""

from collections import deque
from typing import Any, Never

from goqueue.core.broker.lifecycle import BrokerLifecycle
from goqueue.core.broker.peering import Peering
from goqueue.core.broker.reads import Reads
from goqueue.core.log.log import Log
from goqueue.core.partition.partition import Partition
from goqueue.core.quorum.leader import Leader
from goqueue.core.ready import Letter
from goqueue.core.routing.dispatch import Dispatch
from goqueue.core.routing.errands import Errand
from goqueue.core.routing.outgoing import Outgoing
from goqueue.fuzz.options import Options
from goqueue.fuzz.plants.clusters import short_worlds
from goqueue.fuzz.plants.plant import Plant, Replace
from goqueue.storage.recovery import _Attempt

_HOUR_NS = 3_600_000_000_000

# --- somebody is not woken


def _followers_unnoticed(replace: Replace) -> None:
    """A leader that hears that its followers have more does not look at the publishes that wait for that."""

    def take_moved(peering: Peering) -> list[Partition]:
        peering.replication.lanes.moved = {}
        return []

    replace(Peering, "take_moved", take_moved)


def _polls_without_deadline(replace: Replace) -> None:
    """A node does not say when the next of its long polls is over."""
    replace(Reads, "deadline", lambda _: None)


def _polling() -> Options:
    """Worlds of one node in which little comes, and readers wait for it."""
    return Options(
        steps=100, producers=1, consumers=2, topics=1, partitions_max=1, think_ns=6_000_000_000,
        wait_ns_max=100_000_000, patience_ns=20_000_000_000, p_topic_change=0.0,
    )  # fmt: skip


# --- somebody is not answered


def _lost_with_its_node(replace: Replace) -> None:
    """What was passed on to a node that has died since is waited for, and nobody looks after it."""
    errand = Dispatch._errand

    def endless(dispatch: Dispatch, *request: Any) -> Errand:  # noqa: ANN401 - whatever is asked
        begun = errand(dispatch, *request)
        begun.limit += _HOUR_NS
        begun.deadline = begun.limit
        return begun

    replace(Dispatch, "_errand", endless)
    replace(Outgoing, "nodes_changed", lambda *_: None)
    replace(Outgoing, "wake", lambda *_: None)
    replace(Outgoing, "deadline", lambda _: None)


def _failing_over() -> Options:
    """Worlds in which nodes die that others have asked for something, and clients that never hang up."""
    return short_worlds("kill", "crash", producers=2, consumers=2, patience_ns=200_000_000_000, seconds=15)


def _office_never_regained(replace: Replace) -> None:
    """A node that was once cut off from the controller refuses what only a leader may do, as long as it lives."""
    may_lead = BrokerLifecycle.may_lead
    had: deque[BrokerLifecycle] = deque(maxlen=100)
    lost: deque[BrokerLifecycle] = deque(maxlen=100)

    def may_lead_no_more(attendance: BrokerLifecycle, now: int) -> bool:
        may = may_lead(attendance, now)
        if may:
            had.append(attendance)
        elif any(one is attendance for one in had):
            lost.append(attendance)
        return may and not any(one is attendance for one in lost)

    replace(BrokerLifecycle, "may_lead", may_lead_no_more)


def _seldom_cut_off() -> Options:
    """Worlds in which nodes are cut off for a moment, and then left alone for long."""
    return short_worlds(
        "isolate", "pause", producers=0, consumers=0, library=2, seconds=80, calamity_ns=20_000_000_000,
        calamity_lasts_s=(2.0,), think_ns=200_000_000,
    )  # fmt: skip


# --- something does not end


def _spin(*_: object) -> Never:
    """Do nothing, for ever."""
    while True:
        pass


def _cut_never_ends(replace: Replace) -> None:
    replace(Log, "truncate", _spin)


def _cut_off() -> Options:
    """Worlds in which leaders that are cut off have what others have not, and take it back."""
    return short_worlds(
        "isolate", producers=3, consumers=0, seconds=40, calamity_lasts_s=(5.0,), replica_lag_ns=1_000_000_000,
        letter_ns_max=50_000_000,
    )  # fmt: skip


def _recovery_never_ends(replace: Replace) -> None:
    """What finds itself in a loop here is a piece of work beside the node."""
    replace(_Attempt, "_settle", _spin)


def _restarting() -> Options:
    """Worlds of one node that is killed, and whose work is done in parts."""
    return Options(steps=100, p_kill=0.05, p_split=1.0, p_topic_change=0.0)


def _letters_taken_again(replace: Replace) -> None:
    """What was to be told to peers stays in line when it is taken."""
    take = Peering.take_letters

    def repeated(peering: Peering, now: int) -> list[Letter]:
        before = [*peering.dispatch.letters]
        letters = take(peering, now)
        peering.dispatch.letters = before
        return letters

    replace(Peering, "take_letters", repeated)


def _beats_without_pause(replace: Replace) -> None:
    """A controller tells the others that it leads as soon as it has told them so."""
    beat = Leader._beat

    def hasty(leader: Leader, now: int) -> None:
        beat(leader, now)
        leader._beat_due = now

    replace(Leader, "_beat", hasty)


PLANTS: tuple[Plant, ...] = (
    Plant(
        "followers-unnoticed",
        "A publish is answered when all in sync have it.",
        _followers_unnoticed,
        nodes=3,
        worlds=lambda: short_worlds("kill", seconds=10),
        within=5,
    ),
    Plant(
        "polls-without-deadline",
        "A poll ends when its time is over.",
        _polls_without_deadline,
        nodes=1,
        worlds=_polling,
        within=5,
        finder="Progress",
    ),
    Plant(
        "lost-with-its-node",
        "What was passed on to a node that died is answered.",
        _lost_with_its_node,
        nodes=3,
        worlds=_failing_over,
        within=5,
        tags=("lost_answer",),
    ),
    Plant(
        "office-never-regained",
        "A node that hears its controller again leads again.",
        _office_never_regained,
        nodes=3,
        worlds=_seldom_cut_off,
        within=5,
        finder="Progress",
    ),
    Plant(
        "cut-never-ends",
        "A log that is cut back ends with that.",
        _cut_never_ends,
        nodes=3,
        worlds=_cut_off,
        within=5,
        finder="Patience",
        tags=("truncation",),
    ),
    Plant(
        "recovery-never-ends",
        "A log is recovered in finite time.",
        _recovery_never_ends,
        nodes=1,
        worlds=_restarting,
        within=5,
        finder="Patience",
    ),
    Plant(
        "letters-taken-again",
        "A turn ends when there is nothing more to take.",
        _letters_taken_again,
        nodes=3,
        worlds=lambda: short_worlds(seconds=10),
        within=5,
        finder="Turn",
    ),
    Plant(
        "beats-without-pause",
        "A controller beats at its pace, and no more often.",
        _beats_without_pause,
        nodes=3,
        worlds=lambda: short_worlds(seconds=10),
        within=5,
        finder="Watchdog",
    ),
)
"""These bugs."""
