"""Bugs that somebody might really write into a cluster, each switched on by `goqueue sim --plant NAME`.

A simulator that finds nothing proves nothing. Each plant changes one place of the product while a world is run, in this
process only, and names the worlds in which it shows: few clients, and often what it takes to bring it out. That each
is caught within a bounded number of seeds is a test of the tests (`tests/fuzz/test_planted_cluster_bugs.py`).

What is planted into a node that is alone is in `tests/fuzz`, since that needs no flag.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from crc32c import crc32c

from goqueue.core import publishes
from goqueue.core.client.failure import Failure
from goqueue.core.client.pipeline import Pipeline
from goqueue.core.client.session import Session
from goqueue.core.cluster import plan_isr, plan_nodes, standstill
from goqueue.core.cluster.apply import ClusterState
from goqueue.core.cluster.draft import Draft
from goqueue.core.cluster.verbs import IsrChange
from goqueue.core.delay.schedule import Schedule
from goqueue.core.groups.leader import GroupLeader
from goqueue.core.led import Led
from goqueue.core.log import log
from goqueue.core.log.log import Log
from goqueue.core.partition import admission
from goqueue.core.partition.leadership import Leadership
from goqueue.core.partition.partition import Partition
from goqueue.core.partition.publishing import Publishing
from goqueue.core.quorum.ballots import Majority
from goqueue.core.quorum.voter_id import node_of
from goqueue.core.records.batch import (
    CRC,
    CRC_COVERS_FROM,
    CRC_POSITION,
    HEADER,
    NO_EPOCH,
    NO_PRODUCER,
    NO_SEQUENCE,
)
from goqueue.core.records.record import RecordCheck
from goqueue.core.records.varint import Readable
from goqueue.core.replication.replica import Replica
from goqueue.core.verbs import Code, Due, Refusal
from goqueue.core.work.leases import Leases
from goqueue.core.work.window import Run
from goqueue.fuzz.inner_plants import INNER_PLANTS
from goqueue.fuzz.options import Options
from goqueue.fuzz.plant import Plant, Replace, short_worlds
from goqueue.storage.vote import VoteSaving

# --- durability and votes


def _acknowledge_before_sync(replace: Replace) -> None:
    replace(Log, "acknowledged_offset", property(lambda log: log.next_offset))


def _vote_not_saved(replace: Replace) -> None:
    replace(VoteSaving, "run", lambda *_: None)


def _wiped_voter_votes(replace: Replace) -> None:
    """A vote counts for the node that gives it, whichever disk it has."""

    def count(ballots: Majority, voter: str, *, is_granted: bool) -> None:
        for one in ballots.electors:
            if node_of(one) == node_of(voter):
                ballots._votes[one] = is_granted

    replace(Majority, "count", count)


def _wiping() -> Options:
    """Worlds in which nothing is done but to elect, by nodes that lose their disks."""
    return short_worlds("wipe", "kill", "isolate", seconds=40, producers=0, consumers=0, calamity_lasts_s=(1.0, 4.0))


def _elections() -> Options:
    """Worlds in which nothing is done but to elect."""
    return short_worlds("kill", seconds=10, producers=0, consumers=0)


# --- leaders and followers


def _stale_leader_serves(replace: Replace) -> None:
    """Whoever has led once goes on with it, and thinks that it need not wait for others."""
    replace(Leadership, "held", lambda *known: known[-1])
    replace(Led, "is_in_office", property(lambda _: True, lambda *_: None))


def _truncation_skipped(replace: Replace) -> None:
    replace(Replica, "cut", lambda *_: None)


def _isr_shrinks_without_epoch(replace: Replace) -> None:
    """The controller believes whoever says that others are out of sync, whatever that speaks of."""

    def problem(state: ClusterState, _: str, change: IsrChange) -> str:
        topic = state.topics.get(change.topic)
        placed = None if topic is None else topic.placements.get(change.partition)
        return "" if placed is not None and change.isr else "there is no such partition"

    replace(plan_isr, "_problem", problem)


def _cut_off() -> Options:
    """Worlds in which leaders that are cut off go on taking what nobody else has."""
    return short_worlds(
        "isolate", calamity_ns=4_000_000_000, calamity_lasts_s=(5.0,), seconds=60, producers=3, consumers=0,
        replica_lag_ns=1_000_000_000, think_ns=400_000_000, letter_ns_max=50_000_000,
    )  # fmt: skip


def _unclean_restart_stays_eligible(replace: Replace) -> None:
    """A node that has lost its power is taken for one that has everything."""
    replace(plan_nodes, "_keeps_acknowledged", lambda *_, **__: True)


def _all_dropped_stay_eligible(replace: Replace) -> None:
    """Who leaves the ISR is eligible, although those who stay acknowledge messages."""
    keep = Draft.keep_in_sync

    def lasting(changed: Draft, members: Iterable[str]) -> None:
        before = changed.min_isr
        changed.min_isr = len(changed.replicas) + 1
        keep(changed, members)
        changed.min_isr = before

    replace(Draft, "keep_in_sync", lasting)
    replace(Draft, "check", lambda *_: None)


def _longest_log_not_awaited(replace: Replace) -> None:
    """Of those who had everything and lost some of it, whoever tells first leads."""
    replace(standstill, "_is_complete", lambda *_: True)


def _power_cuts() -> Options:
    """Worlds of topics that sync now and then, or never, in which the last one in sync loses its power."""
    return short_worlds(
        "last", "kill", fsyncs=("interval", "none"), replicas_max=2, seconds=30, producers=2,
        calamity_lasts_s=(4.0,), calamity_ns=5_000_000_000, think_ns=100_000_000,
    )  # fmt: skip


# --- work queues, delays and groups


def _lease_not_fenced(replace: Replace) -> None:
    """Others are given what a member may believe to have for longer."""
    add = Leases.add

    def hasty(leases: Leases, now: int, number: int, member: str, span_ms: int, runs: list[Run]) -> None:
        add(leases, now, number, member, span_ms // 10, runs)

    replace(Leases, "add", hasty)


def _schedule_moved_twice(replace: Replace) -> None:
    replace(Schedule, "is_moved", lambda *_: False)


def _offset_commit_lost(replace: Replace) -> None:
    """Members are told that a commit is taken before anybody but the coordinator has it."""
    settle = GroupLeader.settle

    def hasty(leader: GroupLeader, now: int) -> None:
        replies, leader.coordinator.replies = leader.coordinator.replies, []
        for to, reply in replies:
            leader._send(to, reply)
        settle(leader, now)

    replace(GroupLeader, "settle", hasty)


def _working() -> Options:
    """Worlds of work queues whose nodes die."""
    return short_worlds(
        "kill", "isolate", consumers=0, workers=2, visibility_ms=5_000, session_ms_max=6_000, attempts_max=4,
        think_ns=100_000_000, patience_ns=3_000_000_000,
    )  # fmt: skip


def _delaying() -> Options:
    """Worlds of messages that come later, from nodes that die."""
    return short_worlds("kill", "isolate", p_delay=0.8, think_ns=100_000_000, seconds=25)


def _committing() -> Options:
    """Worlds of consumer groups whose coordinators die."""
    return short_worlds(
        "kill", "crash", "isolate", consumers=0, eager_members=2, members=1, session_ms_max=18_000,
        think_ns=100_000_000, seconds=40, patience_ns=3_000_000_000,
    )  # fmt: skip


# --- refusals, and who sends again


def _refused_as_undone(replace: Replace) -> None:
    """A leader that is replaced says of all that waits that it was not stored."""

    def abandon(partition: Partition, refusal: Refusal) -> list[Publishing]:
        gathered = [share for gathering in partition._gathering.values() for share in gathering.shares]
        partition._gathering.clear()
        partition._recent.forget(partition.log.stream)
        partition._refuse(gathered, refusal)
        partition._refuse_waiting(refusal)
        done, partition.done = partition.done, []
        return done

    replace(Partition, "abandon", abandon)


def _renumbered_at_once(replace: Replace) -> None:
    """Whatever is refused as out of order is numbered anew, whoever has said so, and with all that is in flight."""
    refused = Session.refused

    def hasty(session: Session, now: int, address: str, request_id: int, failure: Failure) -> None:
        parcel = session._place(address).awaiting.get(request_id)
        refused(session, now, address, request_id, failure)
        if parcel is not None and failure.code == Code.OUT_OF_ORDER:
            parcel.pipeline.renumbers = True

    def renumber(session: Session, pipeline: Pipeline) -> bool:
        for parcel in pipeline.flight:
            parcel.is_doubtful = False
        return session._numbering.renew(pipeline)

    replace(Session, "refused", hasty)
    replace(Session, "_renumber", renumber)


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


def _sending_again(**others: object) -> Options:
    """Worlds in which the library's producers lose sight of their leaders."""
    return short_worlds(
        "isolate", "rift", "pause", "kill", producers=0, library=3, seconds=40, letter_ns_max=50_000_000,
        think_ns=20_000_000, calamity_lasts_s=(1.0, 3.0), p_letter_loss=0.02, **others,
    )  # fmt: skip


def _replacing_leaders() -> Options:
    """Worlds in which leaders are replaced while they wait for followers, and much is read at once."""
    return short_worlds(
        "isolate", "rift", "pause", "deafen", producers=4, consumers=4, library=1, seconds=40, letter_ns_max=50_000_000,
        think_ns=10_000_000, calamity_lasts_s=(2.0, 5.0), p_letter_loss=0.02,
    )  # fmt: skip


def _changing_leaders() -> Options:
    """Worlds in which partitions are moved all the time, and nodes hear of it late."""
    return short_worlds(
        "rift", "pause", "deafen", producers=0, library=3, consumers=0, seconds=60, letter_ns_max=300_000_000,
        think_ns=20_000_000, calamity_lasts_s=(1.0, 3.0), stewards=3, p_hang_up=0.06, letters_overtake=True,
        delay_ns_max=400_000_000,
    )  # fmt: skip


# --- hostile clients


def _claims_unchecked(replace: Replace) -> None:
    """A batch has as many records as it says, and whoever reads them will see."""
    replace(log, "check_claims", lambda *_: None)
    replace(admission, "check_claims", lambda *_: None)
    replace(RecordCheck, "advance", lambda *_: True)


def _besieged() -> Options:
    """Worlds in which a client publishes what nobody can read."""
    return short_worlds(hostiles=1, p_batch=1.0, seconds=10)


PLANTS: dict[str, Plant] = {
    "acknowledge-before-sync": Plant(_acknowledge_before_sync, lambda: short_worlds("crash")),
    "vote-not-saved": Plant(_vote_not_saved, _elections),
    "wiped-voter-votes": Plant(_wiped_voter_votes, _wiping, within=10),
    "stale-leader-serves": Plant(_stale_leader_serves, _cut_off),
    "truncation-skipped": Plant(_truncation_skipped, _cut_off),
    "isr-shrinks-without-epoch": Plant(_isr_shrinks_without_epoch, _cut_off),
    "unclean-restart-stays-eligible": Plant(_unclean_restart_stays_eligible, _power_cuts),
    "all-dropped-stay-eligible": Plant(_all_dropped_stay_eligible, _power_cuts),
    "longest-log-not-awaited": Plant(_longest_log_not_awaited, _power_cuts),
    "lease-not-fenced": Plant(_lease_not_fenced, _working, within=10),
    "schedule-moved-twice": Plant(_schedule_moved_twice, _delaying),
    "claims-unchecked": Plant(_claims_unchecked, _besieged),
    "offset-commit-lost": Plant(_offset_commit_lost, _committing, finder="Commits"),
    "refused-as-undone": Plant(_refused_as_undone, _replacing_leaders, within=15),
    "renumbered-at-once": Plant(_renumbered_at_once, _changing_leaders, within=30),
    "delayed-without-numbers": Plant(_delayed_without_numbers, lambda: _sending_again(p_delay=0.8)),
    **INNER_PLANTS,
}
"""All plants by their names."""


@contextmanager
def planted(name: str) -> Iterator[None]:
    """The product with a bug, until the block ends."""
    before: list[tuple[object, str, object]] = []

    def replace(owner: object, attribute: str, value: object) -> None:
        own = vars(owner)
        assert attribute in own, f"{owner} has no {attribute}"
        before.append((owner, attribute, own[attribute]))
        setattr(owner, attribute, value)

    PLANTS[name].sow(replace)
    try:
        yield
    finally:
        for owner, attribute, value in reversed(before):
            setattr(owner, attribute, value)
