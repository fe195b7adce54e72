"""Reading a partition for whoever picks something out of it: one read at a time, until the pick has enough.

Invariant: there is a read under way, or whoever began has been told how it ended.
"""

from typing import Protocol

from attrs import define, field

from goqueue.core.errors import BatchError, ProtocolError
from goqueue.core.queues.errands import Errands, Sender
from goqueue.core.records.varint import Readable
from goqueue.core.replicas.replica_set import ReplicaSet
from goqueue.core.requests.messages import Fetch, Fetched
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply

_READ_BYTES = 256 << 10
# How often a partition may have lost its beginning since it was looked up, until that is taken for an answer.
_MISSES_MAX = 3


class Pick(Protocol):
    """What picks from a partition."""

    @property
    def position(self) -> int | None:
        """Where to read on; None when it has enough."""

    def within(self, start: int, end: int) -> None:
        """The partition holds what is between these offsets, and nothing else."""

    def read(self, batches: Readable, next_offset: int) -> None:
        """Look through what was read from the position on; BatchError where it is damaged."""


@define(eq=False)
class Reading:
    """A partition that is read for a pick; `refusal` says why it ended before its time."""

    _errands: Errands
    _led: ReplicaSet
    # Who is told, and passes the answer on.
    _sender: Sender
    topic: str
    number: int
    pick: Pick
    refusal: Refusal | None = None
    asked: int = 0
    _misses: int = field(default=0, init=False)

    @property
    def has_ended(self) -> bool:
        """Whether nothing more is read."""
        return not self.asked

    def go(self) -> None:
        """Read on, if there is anything to be read."""
        self.asked = 0
        partition = self._led.partition(self.topic, self.number)
        if isinstance(partition, Refusal):
            self.refusal = partition
            return
        if not partition.is_settled:
            # What the leader before has shown may lie beyond the watermark that is known here: it is not missing.
            message = f"partition {self.number} of {self.topic} waits for its replicas"
            self.refusal = Refusal(Code.UNAVAILABLE, message, retry_after_ms=200)
            return
        self.pick.within(partition.log.start_offset, partition.high_watermark)
        position = self.pick.position
        if position is not None:
            fetch = Fetch(self.topic, self.number, position, _READ_BYTES, looks=True, from_disk=True)
            self.asked = self._errands.ask(self._sender, fetch)

    def answered(self, reply: Reply) -> None:
        """The answer to the read under way."""
        self.asked = 0
        if isinstance(reply, Fetched):
            self._look(reply)
        elif isinstance(reply, Refusal) and reply.code is Code.OFFSET_OUT_OF_RANGE and self._misses < _MISSES_MAX:
            self._misses += 1
            self.go()
        else:
            assert isinstance(reply, Refusal)
            self.refusal = reply

    def _look(self, fetched: Fetched) -> None:
        self._misses = 0
        position = self.pick.position
        assert position is not None
        if not fetched.batches:
            self.pick.within(fetched.start_offset, position)
            return
        try:
            self.pick.read(fetched.batches, fetched.next_offset)
        except (BatchError, ProtocolError) as error:
            message = f"partition {self.number} of {self.topic} is damaged after offset {position}: {error}"
            self.refusal = Refusal(Code.DAMAGED, message)
        else:
            self.go()
