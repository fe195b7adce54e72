"""The numbers of an idempotent producer: who waits for them, and when those of a pipeline change.

A pipeline gets the producer's id with epoch 0 and counts its records from 0. It begins another epoch when the oldest
batch in flight is refused as out of order and sending everything again under other numbers stores nothing twice, that
is, when no batch in flight may be stored under its old ones:

- each answer to it says that nothing was done, or
- it follows a batch of the epoch that failed, and of which each answer says that nothing was done. Partitions take
  sequences without gaps, so nothing behind that batch was taken by any leader.

Otherwise the refusal proves nothing. Suppose that batches 1 and 2 are acknowledged by leader B, that B stores batch 3
and its answer is lost, and that the client then asks A, which led before and does not know yet that it does so no more.
A has never seen batch 1 and refuses batch 3. Under a new epoch B would take batch 3 once more. So the client finds out
who leads, and sends the same numbers again: B answers with the offset that it gave batch 3. A batch that nobody takes
under its old numbers fails when its delivery time is over, and then it is told that it may be stored.

A topic may be forgotten and found again: a node that hears of it late says that there is none. What is sent then goes
to a partition that knows the producer, and would take another first batch for the one that it has. So such a pipeline
begins with the epoch after the last one that was used there.
"""

from attrs import define, field

from goqueue.core.client.pipeline import EPOCH_MAX, Pipeline


@define(eq=False)
class Numbering:
    """The producer's id as the broker gave it, and the pipelines that cannot send before there is one."""

    _identity: tuple[int, int] | None = None
    _waiting: dict[Pipeline, None] = field(factory=dict)
    # By topic, partition and whether it is the schedule: the last id and epoch that were used there.
    _used: dict[tuple[str, int, bool], tuple[int, int]] = field(factory=dict)

    @property
    def is_wanted(self) -> bool:
        """Whether a pipeline waits for an id."""
        return bool(self._waiting)

    def identified(self, producer_id: int, epoch: int) -> list[Pipeline]:
        """The broker gave the producer an id; returns the pipelines that waited for it."""
        self._identity = producer_id, epoch
        waiting, self._waiting = self._waiting, {}
        return [*waiting]

    def renew(self, pipeline: Pipeline) -> bool:
        """Begin a new epoch of a pipeline, or its first one; False while it waits for an id."""
        place = pipeline.topic, pipeline.partition, pipeline.is_later
        used = self._used.get(place)
        if used is not None and used[1] == EPOCH_MAX and self._identity is not None and used[0] == self._identity[0]:
            # This id has no epoch left.
            self._identity = None
        if self._identity is None:
            self._waiting[pipeline] = None
            return False
        producer_id, epoch = self._identity
        if used is not None and used[0] == producer_id:
            epoch = used[1] + 1
        self._used[place] = producer_id, epoch
        pipeline.identify(producer_id, epoch)
        return True

    def forget(self, pipeline: Pipeline) -> None:
        """The pipeline has nothing to send."""
        self._waiting.pop(pipeline, None)
