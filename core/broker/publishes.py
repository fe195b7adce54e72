"""Messages on their way into partitions: one by one or in batches, at once or kept back until they are due.

A publish of single messages goes to as many partitions as its messages do; each is answered by itself, and the whole
when the last of them is. What concerns one partition is in `core/partition`.
"""

from collections.abc import Callable, Sequence

from attrs import define, field

from goqueue.core.clock import Clock
from goqueue.core.delays.leader import DelayLeader
from goqueue.core.delays.publishing import Delayed, HeldBack, delayed, scheduled
from goqueue.core.errors import BatchError
from goqueue.core.partition.partition import Partition
from goqueue.core.partition.producers import is_repetition
from goqueue.core.partition.publishing import Publishing, refusal_of
from goqueue.core.replicas.replica_set import ReplicaSet
from goqueue.core.replicas.topic import HostedTopic
from goqueue.core.requests.call import Call
from goqueue.core.requests.messages import Acks, Due, NewRecord, Publish, PublishBatch, PublishReply, Side
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply

_FULL_RETRY_MS = 5000


@define(eq=False)
class Publishes:
    """All publishes of a turn."""

    _clock: Clock
    _led: ReplicaSet
    _delays: DelayLeader
    _answer: Callable[[Call | None, Reply], None]
    # A partition has something to be taken.
    _touch: Callable[[Partition], None]
    _published: dict[str, HostedTopic] = field(factory=dict)

    def turn(self) -> None:
        """The batches that messages without a key went to are written."""
        if not self._published:
            return
        for leader in self._published.values():
            leader.turn()
        self._published.clear()

    def spread(self, topic: str, records: Sequence[NewRecord]) -> dict[int, list[int]]:
        """Which partitions messages go to, for a topic that is known."""
        leader = self._led.topics[topic]
        self._published[topic] = leader
        return leader.spread(records)

    def finish(self, publishing: Publishing) -> None:
        """Tell whoever published."""
        self._answer(publishing.call, publishing.reply())

    def _disk_full(self, call: Call, partition: Partition | Refusal) -> Refusal | None:
        """Refuse a client's messages to a partition while the disk has no room; None while it has.

        Where another replica is in sync the leader writes on: when its disk refuses, it hands over to that one.
        """
        if not self._led.is_disk_full or call.is_own or isinstance(partition, Refusal):
            return None
        if partition.leadership is not None and partition.leadership.counted:
            return None
        message = f"the disk of node {self._led.node_id} is full: nothing was stored; make room, or delete messages"
        return Refusal(Code.DISK_FULL, message, retry_after_ms=_FULL_RETRY_MS)

    def publish(self, now: int, call: Call, request: Publish) -> None:
        """Take messages one by one."""
        leader = self._led.out_of_office() or self._led.topic(request.topic, to_write=not call.is_own)
        if isinstance(leader, Refusal):
            self._answer(call, leader)
            return
        count, acks = len(request.records), request.acks
        publishing = Publishing(call, [None] * count, count, acks is not Acks.NONE, needs_all=acks is Acks.ALL)
        if not request.records:
            self._answer(call, PublishReply([]))
        wall_ms = self._clock.wall_ms(now)
        later = delayed(wall_ms, request.records, lambda: leader.config(Side.DATA).batch_bytes_max)
        if later is not None:
            self._publish_later(now, wall_ms, publishing, request, leader, later)
            return
        for number, places in self.spread(request.topic, request.records).items():
            self._gather(now, wall_ms, publishing, request.records, places, leader.partition(number))

    def _gather(
        self,
        now: int,
        wall_ms: int,
        publishing: Publishing,
        records: list[NewRecord],
        places: list[int],
        partition: Partition | Refusal,
    ) -> None:
        partition = self._disk_full(publishing.call, partition) or partition
        if not isinstance(partition, Refusal):
            partition.gather(now, wall_ms, publishing, records, places)
            self._touch(partition)
        elif [publishing.answer(at, partition) for at in places][-1]:
            self.finish(publishing)

    def _publish_later(
        self, now: int, wall_ms: int, publishing: Publishing, request: Publish, leader: HostedTopic, later: Delayed
    ) -> None:
        """Messages of which some are to be kept back."""
        for at, refusal in later.refused.items():
            if publishing.answer(at, refusal):
                self.finish(publishing)
        spread = self.spread(request.topic, request.records)
        for number, places in spread.items():
            if some := later.now(places):
                self._gather(now, wall_ms, publishing, later.records, some, leader.partition(number))
        if self._led.is_disk_full:
            self._refuse_delayed(publishing, leader, later, spread)
        if not later.dues:
            return
        if Side.SCHEDULE not in leader.topic.sides or self._delays.is_making(request.topic):
            self._delays.publish(request.topic, later.hold(request.topic, publishing, spread))
            return
        publishing.dues = later.dues
        for number, places in spread.items():
            if some := later.later(places):
                schedule = leader.partition(number, Side.SCHEDULE)
                self._gather(now, wall_ms, publishing, later.records, some, schedule)

    def _refuse_delayed(
        self, publishing: Publishing, leader: HostedTopic, later: Delayed, spread: dict[int, list[int]]
    ) -> None:
        """Refuse the messages that are kept back for partitions without room."""
        for number, places in spread.items():
            full = self._disk_full(publishing.call, leader.partition(number))
            if full is None:
                continue
            for at in later.later(places):
                del later.dues[at]
                if publishing.answer(at, full):
                    self.finish(publishing)

    def publish_batch(self, now: int, call: Call, request: PublishBatch) -> None:
        """Take a batch as its producer made it, or one of the node's own."""
        partition = self._led.partition(request.topic, request.partition, request.side, to_write=not call.is_own)
        if isinstance(partition, Refusal):
            self._answer(call, partition)
            return
        acks = request.acks
        publishing = Publishing(call, [None], 1, acks is not Acks.NONE, needs_all=acks is Acks.ALL)
        if request.due is not Due.NOW:
            self._publish_batch_later(now, publishing, request)
            return
        refusal = self._disk_full(call, partition)
        if refusal is not None and not is_repetition(partition.log.producers, request.batch):
            self._answer(call, refusal)
            return
        partition.publish_batch(now, request.batch, publishing)
        self._touch(partition)

    def _publish_batch_later(self, now: int, publishing: Publishing, request: PublishBatch) -> None:
        """Take a batch whose messages are kept back, for a partition that is led here."""
        leader = self._led.topics[request.topic]
        try:
            bytes_max = leader.config(Side.DATA).batch_bytes_max
            batch = scheduled(self._clock.wall_ms(now), request.batch, request.due, bytes_max)
        except BatchError as error:
            batch = refusal_of(error)
        if isinstance(batch, Refusal):
            self._answer(publishing.call, PublishReply([batch]))
            return
        full = self._disk_full(publishing.call, leader.partition(request.partition))
        if full is None and (Side.SCHEDULE not in leader.topic.sides or self._delays.is_making(request.topic)):
            self._delays.publish(request.topic, HeldBack(publishing, request, [0]))
            return
        schedule = leader.partition(request.partition, Side.SCHEDULE)
        if full is not None and (isinstance(schedule, Refusal) or not is_repetition(schedule.log.producers, batch)):
            schedule = full
        if isinstance(schedule, Refusal):
            self._answer(publishing.call, PublishReply([schedule]))
            return
        publishing.is_kept_back = True
        schedule.publish_batch(now, batch, publishing)
        self._touch(schedule)
