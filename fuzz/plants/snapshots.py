"""Bugs of what sums up the metadata of a cluster or the ledger of a work queue, and leaves something out.

Whoever has read every entry knows better; the bug shows where somebody begins with the snapshot.
"""

from collections.abc import Callable, Iterator

from attrs import evolve

from goqueue.core.cluster import apply
from goqueue.core.cluster.apply import FIRST_PRODUCER_ID, ClusterState, Placement, Topic
from goqueue.core.cluster.records import (
    MetadataRecord,
    MetadataSnapshot,
    NodeRegistered,
    NodeStanding,
    PartitionPlaced,
    TopicCreated,
)
from goqueue.core.queues.ledger import Ledger
from goqueue.core.queues.records import Snapshot
from goqueue.fuzz.options import Options
from goqueue.fuzz.plants import clusters, lone
from goqueue.fuzz.plants.plant import Plant, Replace


def _of_metadata(replace: Replace, summed: Callable[[MetadataSnapshot], MetadataSnapshot]) -> None:
    real = ClusterState.snapshot
    replace(ClusterState, "snapshot", lambda state: summed(real(state)))


def _of_others(replace: Replace, told: Callable[[MetadataRecord], bool]) -> None:
    """Records of nodes and places, which `told` may change, and leaves out where it says so."""
    real = ClusterState._others

    def others(state: ClusterState) -> Iterator[MetadataRecord]:
        return (record for record in real(state) if told(record))

    replace(ClusterState, "_others", others)


def _of_places(replace: Replace, forget: Callable[[PartitionPlaced], None]) -> None:
    real = vars(apply)["_placed"]

    def placed(topic: str, partition: int, placement: Placement) -> PartitionPlaced:
        record: PartitionPlaced = real(topic, partition, placement)
        forget(record)
        return record

    replace(apply, "_placed", placed)


def _of_topics(replace: Replace, forget: Callable[[TopicCreated], None]) -> None:
    real = vars(apply)["_created"]

    def created(topic: Topic) -> TopicCreated:
        record: TopicCreated = real(topic)
        forget(record)
        return record

    replace(apply, "_created", created)


def _without_standings(replace: Replace) -> None:
    """What sums up the metadata takes every node for one that lives."""
    _of_others(replace, lambda record: not isinstance(record, NodeStanding))


def _without_processes_before(replace: Replace) -> None:
    """A process of a node that ended a while ago is taken for one that nobody has heard of."""

    def told(record: MetadataRecord) -> bool:
        if isinstance(record, NodeRegistered):
            record.before = []
        return True

    _of_others(replace, told)


def _without_elr(replace: Replace) -> None:
    """What sums up the metadata says of the ISR alone who may lead."""

    def forget(record: PartitionPlaced) -> None:
        record.elr = []

    _of_places(replace, forget)


def _without_moves(replace: Replace) -> None:
    """A move that is under way has no end."""

    def forget(record: PartitionPlaced) -> None:
        record.adding, record.removing = [], []

    _of_places(replace, forget)


def _without_the_last(replace: Replace) -> None:
    """Nobody knows any more who was the last to have everything."""

    def forget(record: PartitionPlaced) -> None:
        record.last = ""

    _of_places(replace, forget)


def _without_sides(replace: Replace) -> None:
    """Ledgers and schedules are opened by nobody who begins with the snapshot."""

    def forget(record: TopicCreated) -> None:
        record.sides = []

    _of_topics(replace, forget)


def _without_weakness(replace: Replace) -> None:
    """A topic that is synced by now is taken for one that always was."""

    def forget(record: TopicCreated) -> None:
        record.was_weak = False

    _of_topics(replace, forget)


def _without_holders(replace: Replace) -> None:
    """What sums up the metadata forgets the topics that are deleted and still have folders."""
    replace(ClusterState, "_holders", lambda _: [])


def _without_given_up(replace: Replace) -> None:
    """Disks that are gone may vote again."""
    _of_metadata(replace, lambda record: evolve(record, given_up=[]))


def _without_producer_ids(replace: Replace) -> None:
    """Ids of producers are handed out once more."""
    _of_metadata(replace, lambda record: evolve(record, next_producer_id=FIRST_PRODUCER_ID))


def _without_attempts(replace: Replace) -> None:
    """Whoever begins with the snapshot of a work queue counts attempts from one on."""
    real = Ledger.snapshot

    def snapshot(ledger: Ledger, now: int) -> Snapshot:
        record = real(ledger, now)
        record.failures = [b"" for _ in record.failures]
        return record

    replace(Ledger, "snapshot", snapshot)


def _working_anew() -> Options:
    """Worlds of work queues that are summed up all the time, on a node that is killed."""
    options = lone.worked()
    options.p_kill, options.ledger_page_bytes = 0.02, 200
    return options


PLANTS = (
    Plant(
        "snapshot-without-standings",
        "A snapshot of the metadata says which nodes live and which are drained.",
        _without_standings,
        nodes=3,
        worlds=lambda: clusters.summing_up("kill"),
        within=10,
        seed=1,
        finder="States",
        tags=("snapshot",),
    ),
    Plant(
        "snapshot-without-processes-before",
        "A snapshot of the metadata says which processes a node has been lately.",
        _without_processes_before,
        nodes=3,
        worlds=lambda: clusters.summing_up("kill"),
        within=10,
        finder="States",
        tags=("snapshot",),
    ),
    Plant(
        "snapshot-without-elr",
        "A snapshot of the metadata says who may lead besides the ISR.",
        _without_elr,
        nodes=3,
        worlds=lambda: clusters.summing_up("kill", "crash"),
        within=20,
        finder="States",
        tags=("snapshot",),
    ),
    Plant(
        "snapshot-without-moves",
        "A snapshot of the metadata says which partitions are being moved.",
        _without_moves,
        nodes=3,
        worlds=lambda: clusters.summing_up("kill", stewards=3, replicas_max=2, partitions_max=3),
        within=10,
        finder="States",
        tags=("snapshot",),
    ),
    Plant(
        "snapshot-without-the-last",
        "A snapshot of the metadata says who was the last to have all that is acknowledged.",
        _without_the_last,
        nodes=3,
        worlds=clusters.standing_still,
        within=10,
        seed=4,
        finder="States",
        tags=("snapshot",),
    ),
    Plant(
        "snapshot-without-sides",
        "A snapshot of the metadata says which topics have ledgers and schedules.",
        _without_sides,
        nodes=3,
        worlds=lambda: clusters.summing_up("kill", p_delay=0.5),
        within=10,
        finder="States",
        tags=("snapshot",),
    ),
    Plant(
        "snapshot-without-weakness",
        "A snapshot of the metadata says which topics have acknowledged what was not synced.",
        _without_weakness,
        nodes=3,
        worlds=lambda: clusters.summing_up("kill", alters_fsync=True, fsyncs=("none",), p_topic_change=0.1),
        within=10,
        seed=2,
        finder="States",
        tags=("snapshot",),
    ),
    Plant(
        "snapshot-without-holders",
        "A snapshot of the metadata says who still has folders of topics that are deleted.",
        _without_holders,
        nodes=3,
        worlds=lambda: clusters.summing_up("kill", p_topic_change=0.05),
        within=20,
        finder="States",
        tags=("snapshot",),
    ),
    Plant(
        "snapshot-without-given-up",
        "A snapshot of the metadata says which disks are gone and vote no more.",
        _without_given_up,
        nodes=3,
        worlds=lambda: clusters.summing_up("wipe", "kill"),
        within=10,
        finder="States",
        tags=("snapshot",),
    ),
    Plant(
        "snapshot-without-producer-ids",
        "No two producers get one id, also where the controller began with a snapshot.",
        _without_producer_ids,
        nodes=3,
        worlds=lambda: clusters.summing_up("kill", sequenced=2),
        within=10,
        finder="States",
        tags=("snapshot",),
    ),
    Plant(
        "snapshot-without-attempts",
        "Attempts of a message go up one by one, also behind a snapshot of its ledger.",
        _without_attempts,
        worlds=_working_anew,
        tags=("snapshot",),
    ),
)
"""All bugs of snapshots."""
