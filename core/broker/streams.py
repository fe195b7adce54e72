"""The open streams of a node, led or followed: what happens to them, and who hears of it.

What the disk says of a stream reaches its partition or replica here, and what comes of that reaches whoever published,
reads, follows, or looks after time. A stream that this node leads anew is shown to rooms only when every replica in
sync has all that its log held then (`Partition.is_settled`).
"""

from collections.abc import Callable

from attrs import define, field

from goqueue.core.broker.metadata_listener import Follower
from goqueue.core.broker.reads import Reads
from goqueue.core.broker.upkeep import Upkeep
from goqueue.core.log.effects import Effect, SyncToken
from goqueue.core.log.log import LogUnsound
from goqueue.core.partition.partition import Partition
from goqueue.core.replicas.replica_set import ReplicaSet
from goqueue.core.replicas.topic import Held
from goqueue.core.replication.replica import Replica
from goqueue.core.replication.replication import Replication
from goqueue.core.requests.call import Call
from goqueue.core.requests.internal import RollSide, TrimSide
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.services.service import Services


@define(eq=False)
class Streams:
    """All open streams, and those of them that have something to be taken."""

    _led: ReplicaSet
    _reads: Reads
    _upkeep: Upkeep
    _services: Services
    # None in a node that is alone.
    _replication: Replication | None
    _answer: Callable[[Call | None, Reply], None]
    _touched: dict[str, Partition] = field(factory=dict)
    # Led streams with batches that are being checked, a part of them a turn.
    _checking: dict[str, Partition] = field(factory=dict)
    # Led streams that services were not shown yet.
    _unsettled: dict[str, Partition] = field(factory=dict)

    def touch(self, held: Held) -> None:
        """A stream may have something to be taken."""
        if isinstance(held, Partition):
            self._touched[held.log.stream] = held
        else:
            assert self._replication is not None
            self._replication.touch(held.log.stream)

    @property
    def has_touched(self) -> bool:
        """Whether something may be taken, or was and is not written yet."""
        return bool(self._touched)

    def take(self, now: int) -> list[Effect]:
        """What is to be done on the disk for all streams that were touched, until `written`."""
        effects: list[Effect] = []
        replication = self._replication
        for partition in self._touched.values():
            effects.extend(partition.take(now))
            if partition.admission.waiting:
                self._checking[partition.log.stream] = partition
            if partition.admission.replaced:
                self._led.timestamps_replaced += partition.admission.replaced
                partition.admission.replaced = 0
            self._upkeep.watch(now, partition)
            if replication is not None:
                replication.appended(now, partition)
            self.settle(now, partition)
        if replication is not None:
            touched = replication.touched()
            effects.extend(replication.take(now))
            for replica in touched:
                # Under other settings something may be due of one that has taken nothing.
                self._upkeep.watch(now, replica)
        return effects

    # --- what rooms ask of the streams that they write

    def roll_side(self, now: int, call: Call, request: RollSide) -> None:
        """Have the next batch begin a segment."""
        partition = self._led.partition(request.topic, request.partition, request.side)
        if isinstance(partition, Partition) and _takes_writes(partition):
            partition.roll(now)
            self.touch(partition)
        self._answer(call, partition if isinstance(partition, Refusal) else None)

    def trim_side(self, now: int, call: Call, request: TrimSide) -> None:
        """Let go of whole segments before an offset."""
        partition = self._led.partition(request.topic, request.partition, request.side)
        if isinstance(partition, Partition) and _takes_writes(partition):
            partition.log.delete_before(now, request.offset)
            self.touch(partition)
        self._answer(call, partition if isinstance(partition, Refusal) else None)

    # --- what the driver says

    def written(self, now: int) -> None:
        """All that was taken is in the hands of the operating system."""
        for partition in self._touched.values():
            partition.written()
            self._advanced(now, partition)
        self._touched.clear()
        if self._replication is not None:
            self._replication.written(now)

    def synced(self, now: int, stream: str, token: SyncToken) -> None:
        """The disk kept a promise."""
        partition = self._led.streams.get(stream)
        if partition is not None:
            partition.synced(now, token)
            self._advanced(now, partition)
        elif self._replication is not None:
            self._replication.synced(now, stream, token)

    def disk_failed(self, now: int, stream: str, why: str) -> None:
        """The disk refused or lost something."""
        partition = self._led.streams.get(stream)
        if partition is None:
            if self._replication is not None:
                self._replication.disk_failed(now, stream, why)
            return
        partition.disk_failed(now, why)
        if self._replication is not None:
            self._replication.led_failed(now, partition)
        self.settle(now, partition)
        self._services.failed(now, stream, why)

    def deadline(self) -> int | None:
        """When `wake` has something to do, besides what `Upkeep` says."""
        return 0 if self._checking else None

    def check_anew(self) -> None:
        """Begin the checks of batches again, of which a part is done: how far each is cannot be written down."""
        for partition in self._checking.values():
            partition.admission.check_anew()

    def wake(self, now: int) -> None:
        """Do what time alone brings about in streams, and go on checking batches."""
        checking, self._checking = self._checking, {}
        for partition in checking.values():
            partition.go_on(now)
            self.touch(partition)
        for held in self._upkeep.wake(now):
            self.touch(held)
            if isinstance(held, Partition):
                self.settle(now, held)

    # --- what streams become; see `Follower`

    def follower(self) -> Follower:
        """What is to be called when a stream becomes something else."""
        return Follower(
            self._answer, self.arrived, self.followed, self.closed, self.altered, self.left, self.dropped,
            self.topics_changed,
        )  # fmt: skip

    def arrived(self, now: int, partition: Partition, is_new: bool) -> None:
        """A stream can be written: for the first time, again after its disk failed, or as a new leader does."""
        self._upkeep.watch(now, partition)
        # Whoever followed before, or had lost the disk, may have left something to be taken.
        self.touch(partition)
        if not is_new and self._replication is not None:
            self._replication.led_failed(now, partition)
        self._unsettled[partition.log.stream] = partition
        self._advanced(now, partition)

    def followed(self, now: int, replica: Replica) -> None:
        """A stream is followed from here on, or again."""
        self._upkeep.watch(now, replica)

    def closed(self, now: int, stream: str, why: str) -> None:
        """A stream is not led here, or cannot be used for now."""
        self._services.failed(now, stream, why)

    def altered(self, held: Held) -> None:
        """What was gathered, asked for or due under the old settings is looked at again under these."""
        self.touch(held)

    def left(self, partition: Partition, refusal: Refusal) -> None:
        """A stream is led here no more; whoever waits for it is told."""
        self._unsettled.pop(partition.log.stream, None)
        self._reads.abandon(partition, refusal)
        for publishing in partition.abandon(refusal):
            self._answer(publishing.call, publishing.reply())

    def dropped(self, held: Held) -> None:
        """A stream is here no more, or has another role."""
        self._touched.pop(held.log.stream, None)
        self._checking.pop(held.log.stream, None)
        self._upkeep.forget(held)

    def topics_changed(self) -> None:
        """There are other topics, or other leaders."""
        self._services.topics_changed()

    # --- who hears of it

    def _advanced(self, now: int, partition: Partition) -> None:
        """A partition's own end may have moved."""
        if self._replication is not None:
            self._replication.advanced(now, partition)
        self.settle(now, partition)

    def settle(self, now: int, partition: Partition) -> None:
        """Send what a partition has finished, and try again what waited for it."""
        if partition.done:
            done, partition.done = partition.done, []
            for publishing in done:
                self._answer(publishing.call, publishing.reply())
        self._reads.news(now, partition)
        if self._replication is not None:
            self._led.noted(now, partition)
        if partition.log.stream in self._unsettled:
            if not partition.is_settled:
                return
            del self._unsettled[partition.log.stream]
            self._services.opened(now, partition)
        self._services.news(now, partition)


def _takes_writes(partition: Partition) -> bool:
    """Whether a stream can be written: its disk has not failed, and the node is not about to stop."""
    try:
        partition.log.refuse_if_unsound()
    except LogUnsound:
        return False
    return True
