"""Bugs of `core/replication` and of leaders: who is in sync, who has what, and whose log is right."""

from goqueue.core.broker import metadata_listener as leading
from goqueue.core.log.effects import Buffer
from goqueue.core.log.epochs import EpochCache
from goqueue.core.partition.leadership import FollowerEnd, Leadership
from goqueue.core.partition.partition import Partition
from goqueue.core.partition.publishing import Share
from goqueue.core.partition.recent import RecentBatches
from goqueue.core.replicas.replica_set import ReplicaSet
from goqueue.core.replication import serving
from goqueue.core.replication.messages import PulledPart, Verdict
from goqueue.core.replication.replica import Replica
from goqueue.core.replication.serving import Served, Serving
from goqueue.fuzz.plants import clusters
from goqueue.fuzz.plants.plant import Plant, Replace


def _stale_leader_serves(replace: Replace) -> None:
    """Whoever has led once goes on with it, and thinks that it need not wait for others."""
    replace(Leadership, "held", lambda *known: known[-1])
    replace(ReplicaSet, "is_in_office", property(lambda _: True, lambda *_: None))


def _truncation_skipped(replace: Replace) -> None:
    replace(Replica, "cut", lambda *_: None)


def _joins_before_the_end(replace: Replace) -> None:
    """Who has what is acknowledged in this term may join, whatever the leader found when the term began."""

    def is_caught_up(partition: Partition, follower: str) -> bool:
        end = partition.ends.get(follower)
        return end is not None and end.kept >= partition.high_watermark

    replace(Partition, "is_caught_up", is_caught_up)


def _slowest_not_awaited(replace: Replace) -> None:
    """A message is acknowledged when all but one of those in sync have it."""

    def held(leadership: Leadership, ends: dict[str, FollowerEnd], kept: int) -> int:
        known = sorted((ends[one].kept if one in ends else -1 for one in leadership.counted), reverse=True)
        return min([kept, *(known[:-1] if len(known) > 1 else known)])

    replace(Leadership, "held", held)


def _confirmed_before_sync(replace: Replace) -> None:
    """A follower says that it has what its disk has not."""
    replace(Replica, "kept_offset", property(lambda replica: replica.log.next_offset))


def _new_leader_trusts_its_end(replace: Replace) -> None:
    """Whoever begins to lead shows all that it has."""
    promoted = vars(leading)["promoted"]

    def trusting(replica: Replica, recent: RecentBatches) -> Partition:
        partition: Partition = promoted(replica, recent)
        partition.high_watermark = replica.log.next_offset
        return partition

    replace(leading, "promoted", trusting)


def _answered_by_the_leader_alone(replace: Replace) -> None:
    """Every publish is answered when the leader has it."""
    wait = Partition._await_acknowledgement

    def hasty(partition: Partition, now: int, offset: int, end: int, timestamp: int, shares: list[Share]) -> None:
        for share in shares:
            share.publishing.needs_all = False
        wait(partition, now, offset, end, timestamp, shares)

    replace(Partition, "_await_acknowledgement", hasty)


def _logs_compared_by_length(replace: Replace) -> None:
    """A log that is no longer than its leader's is taken for a beginning of it."""
    compare = vars(serving)["_compare"]

    def hasty(served: Served, last_epoch: int) -> PulledPart | None:
        log = served.partition.log
        if log.start_offset <= served.offset <= log.next_offset:
            return None
        part: PulledPart | None = compare(served, last_epoch)
        return part

    replace(serving, "_compare", hasty)


def _batch_left_out(replace: Replace) -> None:
    """Of several batches that are sent at once the first is forgotten."""
    send = Serving._send

    def careless(session: Serving, served: Served, runs: list[Buffer], next_offset: int) -> int:
        return send(session, served, runs[1:] if len(runs) > 1 else runs, next_offset)

    replace(Serving, "_send", careless)


def _ends_of_epochs_not_compared(replace: Replace) -> None:
    """A log whose last batch has an epoch that the leader knows is taken for a beginning of the leader's."""
    compare = vars(serving)["_compare"]

    def hasty(served: Served, last_epoch: int) -> PulledPart | None:
        part: PulledPart | None = compare(served, last_epoch)
        return None if part is not None and part.verdict is Verdict.DIVERGED and part.epoch == last_epoch else part

    replace(serving, "_compare", hasty)


def _cut_one_too_few(replace: Replace) -> None:
    """The message at the end of what two logs share is taken for one of them."""
    cut = Replica.cut

    def sparing(replica: Replica, now: int, offset: int) -> None:
        cut(replica, now, offset + 1)

    replace(Replica, "cut", sparing)


def _epochs_survive_a_cut(replace: Replace) -> None:
    """What is cut away is gone, and its epochs are not."""
    replace(EpochCache, "cut_from", lambda *_: None)


def _asked_and_not_counted(replace: Replace) -> None:
    """A leader waits for those that are agreed to be in sync, and not for those that it has asked for."""
    replace(Leadership, "ask", lambda *_: None)


def _acknowledged_by_too_few(replace: Replace) -> None:
    """A topic that asks for two in sync is content with one."""
    replace(Leadership, "is_short", property(lambda _: False))


PLANTS = (
    Plant(
        "stale-leader-serves",
        "A leader that is deposed acknowledges nothing.",
        _stale_leader_serves,
        nodes=3,
        worlds=clusters.cut_off,
        within=5,
    ),
    Plant(
        "truncation-skipped",
        "A follower cuts away what its leader does not have.",
        _truncation_skipped,
        nodes=3,
        worlds=clusters.cut_off,
        within=5,
        tags=("truncation",),
    ),
    Plant(
        "joins-before-the-end",
        "Who joins those in sync has all that its leader had when its term began.",
        _joins_before_the_end,
        nodes=3,
        worlds=clusters.crashing,
        within=40,
        seed=21,
        finder="InSyncReplicas",
    ),
    Plant(
        "slowest-not-awaited",
        "A message is acknowledged when all in sync have it.",
        _slowest_not_awaited,
        nodes=3,
        worlds=clusters.failing_over,
        within=5,
        finder="InSyncReplicas",
    ),
    Plant(
        "confirmed-before-sync",
        "A follower confirms what is on its disk, where the topic says so.",
        _confirmed_before_sync,
        nodes=3,
        worlds=clusters.failing_over,
        within=5,
        finder="InSyncReplicas",
    ),
    Plant(
        "new-leader-trusts-its-end",
        "A leader shows what all in sync have, also when its term begins.",
        _new_leader_trusts_its_end,
        nodes=3,
        worlds=clusters.failing_over,
        within=30,
        finder="InSyncReplicas",
    ),
    Plant(
        "answered-by-the-leader-alone",
        "`acks=all` is answered when all in sync have the message.",
        _answered_by_the_leader_alone,
        nodes=3,
        worlds=clusters.failing_over,
        within=5,
        finder="PublishedBatches",
    ),
    Plant(
        "logs-compared-by-length",
        "A follower's log is continued only where it is a beginning of its leader's.",
        _logs_compared_by_length,
        nodes=3,
        worlds=clusters.failing_over,
        within=30,
        finder="Lineage",
        tags=("truncation",),
    ),
    Plant(
        "batch-left-out",
        "A follower's log leaves out no offset.",
        _batch_left_out,
        nodes=3,
        worlds=clusters.failing_over,
        within=10,
        finder="Lineage",
    ),
    Plant(
        "ends-of-epochs-not-compared",
        "Of two logs with batches of one epoch the follower's ends no later than that epoch did.",
        _ends_of_epochs_not_compared,
        nodes=3,
        worlds=clusters.cut_off,
        within=10,
        tags=("truncation",),
    ),
    Plant(
        "cut-one-too-few",
        "A follower cuts away all that its leader does not have.",
        _cut_one_too_few,
        nodes=3,
        worlds=clusters.cut_off,
        within=10,
        seed=1,
        tags=("truncation",),
    ),
    Plant(
        "epochs-survive-a-cut",
        "A log knows the epochs of what it has, and of nothing that was cut away.",
        _epochs_survive_a_cut,
        nodes=3,
        worlds=clusters.cut_off,
        within=10,
        tags=("truncation",),
    ),
    Plant(
        "asked-and-not-counted",
        "A message is acknowledged when all have it that may be in sync by now.",
        _asked_and_not_counted,
        nodes=3,
        worlds=clusters.failing_over,
        within=10,
    ),
    Plant(
        "acknowledged-by-too-few",
        "A message is acknowledged by no fewer than `min_insync_replicas`.",
        _acknowledged_by_too_few,
        nodes=3,
        worlds=lambda: clusters.summing_up("kill"),
        within=10,
        seed=3,
    ),
)
"""All bugs of replication."""
